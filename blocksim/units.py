"""Units of signals: declared where a block knows them, else inferred along the wires.

A Sum adds like with like, a sensor or a hold passes on what it reads (`Block.same_unit`), and what drives an input measured
in N m is in N m. A unit that would be contradicted by another is left out.
"""

from __future__ import annotations

from .declarations import Inport, Outport
from .schedule import Schedule

Signal = tuple[int, str]


def infer_units(schedule: Schedule) -> dict[Signal, str]:
    """The unit of every output (unit index, port), '' where nothing tells."""
    parent: dict[Signal, Signal] = {}

    def root(signal: Signal) -> Signal:
        while parent.setdefault(signal, signal) != signal:
            signal = parent[signal]
        return signal

    told: dict[Signal, set[str]] = {}
    wanted: list[tuple[Signal, str]] = []
    for unit in schedule.units:
        arriving = {p: [es[0][:2] for es in ess if es] for p, ess in unit.elements.items()}
        for port, declaration in unit.kind.of(Outport).items():
            if unit.kind.same_unit:
                for source in [s for sources in arriving.values() for s in sources]:
                    parent[root(source)] = root((unit.index, port))
            elif declaration.unit and " or " not in declaration.unit:  # 'rad or m' tells nothing
                told.setdefault((unit.index, port), set()).add(declaration.unit)
        for port, declaration in unit.kind.of(Inport).items():
            if declaration.unit and " or " not in declaration.unit and not unit.kind.same_unit:
                wanted += [(source, declaration.unit) for source in arriving.get(port, [])]
    known: dict[Signal, set[str]] = {}
    for signal, names in told.items():
        known.setdefault(root(signal), set()).update(names)
    asked: dict[Signal, set[str]] = {}
    for signal, name in wanted:  # what is declared by the makers of a signal weighs more than what its readers expect
        asked.setdefault(root(signal), set()).add(name)
    units = {}
    for unit in schedule.units:
        for port, declaration in unit.kind.of(Outport).items():
            signal = (unit.index, port)
            found = known.get(root(signal)) or asked.get(root(signal)) or set()
            own = "" if unit.kind.same_unit else declaration.unit
            units[signal] = own or (next(iter(found)) if len(found) == 1 else "")
    return units
