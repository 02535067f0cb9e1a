"""Truth beside estimates: values of the plant where they are known, and a warning where truth went in."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from ..contract.block import Block
from ..contract.plant import Plant
from ..diagram.diagram import walk
from .estimates import Estimates

if TYPE_CHECKING:
    from ..diagram.diagram import Diagram
    from ..records.record import Record
    from ..schedule.schedule import Unit


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
