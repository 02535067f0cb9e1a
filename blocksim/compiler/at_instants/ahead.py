"""Signals that depend on time and parameters alone, at sample hits: runs that differ in other numbers compute them once.

`hit` computes them where they are due, or reads them where they were computed ahead of the run: `compute_ahead` writes a row for
every hit of a group into the store `ahead`. Which of both a whole number in `o` says: the place of the next row, -1 without rows.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Sequence

from ...contract.declarations import Noise, Outport, State
from ...contract.definition import arguments
from ...contract.vocabulary import LIBM
from ...schedule.schedule import Element, Evaluation, evaluation_of
from ...solvers.stores import signature
from ...tracing.code import Code, code
from ..following import written
from ..generator import Generator, program_function
from ..scope import Scope, indented
from ..slots import AheadRows

#: What is worth keeping: an elementary function, or a function of the program.
CALL = re.compile(rf"\b({'|'.join(LIBM)}|\w+_output\w*)\(")


def timed_entries(generator: Generator, entries: Sequence[list[Evaluation]]) -> list[list[Evaluation]]:
    """Those that depend on time and parameters alone; outputs of sampled blocks and of switched subsystems are no such."""
    timed: set[Evaluation] = set()
    for entry in entries:
        unit, sources = generator.units[entry[0][0]], generator.schedule.needs[entry[0]]
        declared = [unit.kind.declared.get(name) for name in arguments(unit.kind.functions[entry[0][1]])]
        stays = unit.kind.sampled or unit.gates or any(isinstance(one, (State, Noise, Outport)) for one in declared)
        if len(entry) == 1 and not stays and all(source in timed for source in sources):
            timed.add(entry[0])
    return [entry for entry in entries if entry[0] in timed]


def outputs_ahead(generator: Generator, scope: Scope, shared: Scope, group: int, entries: Sequence[list[Evaluation]]) -> None:
    """Write those of a group's evaluations that depend on time alone: computed, or read where they were computed ahead."""
    live = Scope()
    for entry in timed_entries(generator, entries):
        generator.write_entry(live, entry)
    if not live.done:
        return
    body = generator.finish(live, f"ahead_{group}", signature("retain"))  # what `hit` and `compute_ahead` both have
    shared.signals.update(live.signals)
    shared.done.update(live.done)
    names = [name for element in asked_for(generator, live.done) if (name := name_of(live, element)) is not None]
    if names and any(CALL.search(block) for block in body):
        place = generator.number_table([-1, 0])
        reads = [str(code(name, f" = ahead[o[{place}] + {k}]")) for k, name in enumerate(names)]
        generator.ahead_text += rows_text(group, place, body, names)
        p, regions = numbers_read(generator, {evaluation[0] for evaluation in live.done})
        generator.slots.ahead.append(AheadRows(group, place, len(names), p, regions))
        body = [f"if o[{place}] < 0:\n{indented(body)}\nelse:\n{indented(reads)}"]
    scope.nest(f"if due_{group}:", body)


def name_of(live: Scope, element: Element) -> Code | None:
    """What a signal is called that was computed; None of one that is a number or a parameter, which is the same everywhere."""
    value = live.signals.get(element)
    return value if isinstance(value, Code) and value.shape != ("p[", None, "]") else None


def asked_for(generator: Generator, timed: Collection[Evaluation]) -> list[Element]:
    """The signals of these evaluations that anything else reads."""
    read = {element for group in generator.logs for _, elements in group.signals for element in elements}
    for unit in generator.units:
        functions = [f for name, f in unit.kind.functions.items() if (unit.index, name) not in timed]
        read.update(generator.elements_read(unit, functions))
    return sorted(e for e in read if evaluation_of(generator.units[e[0]], e[1]) in timed)


def rows_text(group: int, place: int, body: list[str], names: Sequence[Code]) -> list[str]:
    """A loop over the hits of a group, as text."""
    stores = [str(code(f"ahead[at + {k}] = ", written(name))) for k, name in enumerate(names)]
    turn = ["t = seconds(tick, clock)", *body, *stores, f"at += {len(names)}", f"tick += hits[{2 * group + 1}]"]
    return [f"tick = hits[{2 * group}]", f"at = o[{place}]", f"while tick <= end:\n{indented(turn)}"]


def ahead_function(text: list[str]) -> list[str]:
    return [program_function("compute_ahead", signature("compute_ahead"), text)] if text else []


def numbers_read(generator: Generator, units: Iterable[int]) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """The addresses of parameters and arrays of some units."""
    slots, p, regions = generator.slots, [], []
    for index in units:
        kind = generator.units[index].kind
        for name, declared in kind.declared.items():
            if (index, name) in slots.arrays:
                regions.append(slots.arrays[(index, name)].index)
            elif (index, name) in slots.where and not isinstance(declared, (State, Noise, Outport)):
                p += slots.where[(index, name)]
    return tuple(sorted(p)), tuple(sorted(regions))
