"""Legend: what the numbers of a program stand for, as comments above its text.

It is no part of the program, so that equal programs are shared whatever their blocks are called.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterable

from ..contract.declarations import Outport
from ..schedule.schedule import Schedule
from ..schedule.units import infer_units
from ..solvers.stores import CLOCK, STORES, F
from .codegen import Source
from .slots import Slot

Line = tuple[str, ...]  # address, whose it is, unit, meaning


def legend(source: Source, schedule: Schedule) -> str:
    """Every store with its addresses, their owners, units and meaning."""
    slots, owners = source.slots, Owners(schedule)
    lines: dict[str, list[Line]] = {name: owners.lines(name, getattr(slots, name)) for name in ("x", "p", "m")}
    lines["clock"] = [(f"clock[{i}]", word.lower(), "", meaning) for i, (word, meaning) in enumerate(CLOCK.items())]
    lines["f"] = [(f"f[{i}]", word.lower(), "", meaning) for i, (word, meaning) in enumerate(F.items())]
    lines["hits"] = [
        (f"hits[{2 * i}], hits[{2 * i + 1}]", f"every {g.period} s" + (f" from {g.offset} s on" if g.offset else ""))
        for i, g in enumerate(schedule.groups)
    ]
    lines["g"] = [(f"g[{i}]", f"{unit.path}.{name}") for i, (unit, name, _) in enumerate(source.guards)]
    lines["noise"] = [(f"noise[o[{at}]]", *owners.of(slot), kind) for slot, kind, at in slots.streams]
    lines["a"] = [
        (f"a[o[{r.index}]:o[{r.index + 1}]]", *owners.of(Slot(schedule.units[r.unit].path, r.name)))
        if r.unit >= 0
        else (f"a[o[{r.index}]:o[{r.index + 1}]]", f"algebraic loop {-r.unit}: {r.name}")
        for r in slots.regions
    ]
    rows: list[str] = ["What the numbers in this program are: first the diagram's, then the solver's.", ""]
    for store in sorted(STORES, key=lambda store: "derivative" not in store.functions):
        rows += [f"{store.name}: {store.meaning}", *legend_table(lines.get(store.name, []))]
    return "".join(f"# {row}".rstrip() + "\n" for row in rows)


class Owners:
    """Whose a number is, in what unit, and what it means."""

    def __init__(self, schedule: Schedule):
        self.units, self.inferred = {unit.path: unit for unit in schedule.units}, infer_units(schedule)

    def lines(self, store: str, slots: list[Slot]) -> list[Line]:
        """One line for the numbers of one name."""
        lines: list[Line] = []
        start = 0
        for _, group in itertools.groupby(slots, lambda slot: (slot.path, slot.name)):
            members = list(group)
            end = start + len(members) - 1
            lines.append((f"{store}[{start}]" if start == end else f"{store}[{start}..{end}]", *self.of(members[0])))
            start = end + 1
        return lines

    def of(self, slot: Slot) -> Line:
        unit = self.units.get(slot.path)
        if unit is None:
            return ("the algebraic loop that has no solution, 0: none",)
        declared = unit.kind.declared.get(slot.name)
        if declared is None:  # the generator's own: a memory's next value, the argument of a function
            return (f"{slot.path}.{slot.name}",)
        inferred = self.inferred.get((unit.index, slot.name), "") if isinstance(declared, Outport) else ""
        return f"{slot.path}.{slot.name}", getattr(declared, "unit", "") or inferred, declared.doc


def legend_table(lines: Iterable[Line]) -> list[str]:
    """Lines in columns."""
    padded = [(*line, *[""] * (4 - len(line))) for line in lines]
    widths = [max((len(line[i]) for line in padded), default=0) for i in range(3)]
    return ["    " + "  ".join([*(f"{text:{w}}" for text, w in zip(line, widths, strict=False)), line[3]]) for line in padded]
