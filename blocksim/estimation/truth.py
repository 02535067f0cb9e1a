"""Truth: what a simulation knows and an experimenter would not.

The outputs of a plant are truth, and so is whatever is made of them, until a sensor delivers it. What a controller puts out is
known to whoever runs it, and so are references and all that is made of known signals.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from ..contract.block import Block
from ..contract.declarations import Outport
from ..contract.plant import Plant
from ..diagram.diagram import walk
from .estimates import Estimates

if TYPE_CHECKING:
    from ..diagram.diagram import Diagram
    from ..records.record import Record
    from ..schedule.schedule import Schedule, Unit


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
        pending += [r for r, port in readers.get(unit.index, ()) if (unit.index, port) in fresh and r.kind.family != "control"]
    return found


def leaks(unit: Unit, record: Record) -> list[str]:
    """In words: the inputs of a block that nobody could measure."""
    told = []
    for port, refs in unit.inputs.items():
        names = [f"{ref.block}.{ref.port}" for ref in refs]
        told += [
            f"input '{port}' of '{unit.path}' is {name}" for name in names if name in record and not record.signal(name).measured
        ]
    if not told:
        return []
    return [f"leak of truth: {'; '.join(told)}: no sensor delivers that. Fit for a check, not for a claim."]


def scored(found: Estimates, diagram: Diagram, changes: Mapping[str, Any]) -> Estimates:
    """Estimates of a type beside the values of the one plant of that type in the diagram, with a warning where the two differ."""
    taken = found.details.get("assumed")
    if found.model or taken is None or len(found) == 0:
        return found
    same = [(p, n.block) for p, n in walk(diagram) if isinstance(n.block, Block) and type(n.block).__name__ == taken["type"]]
    if len(same) != 1:
        return found
    path, block = same[0]
    changed = {k.rpartition(".")[2]: v for k, v in changes.items() if k.rpartition(".")[0] == path}
    return replace(found.score(Plant(type(block), {**block.settings, **changed}, path)), model=path)
