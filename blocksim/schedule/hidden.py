"""Hidden signals: what a simulation knows and an experimenter would not.

The outputs of a plant are truth, and so is whatever is made of them, until a sensor delivers it. What a controller puts out is
known to whoever runs it, and so are references and all that is made of known signals.
"""

from __future__ import annotations

from ..contract.block import Block
from ..contract.declarations import Noise, Outport
from .schedule import Schedule, Unit


def is_plant(kind: type[Block]) -> bool:
    return kind.colour == "plant" or bool(getattr(kind, "inverse_parameters", ()))


def hidden(schedule: Schedule) -> set[tuple[int, str]]:
    """The outputs (unit index, port) that are truth: those of plants, and what follows from them without a sensor."""
    readers: dict[int, list[tuple[Unit, str]]] = {}
    for unit in schedule.units:
        for signals in unit.elements.values():
            for index, port in {element[:2] for signal in signals for element in signal}:
                readers.setdefault(index, []).append((unit, port))
    found: set[tuple[int, str]] = set()
    pending = [unit for unit in schedule.units if is_plant(unit.kind)]
    while pending:
        unit = pending.pop()
        fresh = {(unit.index, p) for p, d in unit.kind.of(Outport).items() if not d.measured} - found
        found |= fresh
        reading = [reader for reader, port in readers.get(unit.index, ()) if (unit.index, port) in fresh]
        pending += [r for r in reading if r.kind.family != "control" and not is_sensor(r, schedule)]
    return found


def is_sensor(unit: Unit, schedule: Schedule) -> bool:
    """Whether a sum adds noise to what it reads: what comes out is a reading, as of any sensor."""
    sources = {element[0] for signals in unit.elements.values() for signal in signals for element in signal}
    return unit.kind.same_unit and any(schedule.units[i].kind.of(Noise) and not schedule.units[i].inputs for i in sources)
