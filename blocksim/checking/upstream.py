"""What has a part in a signal: the blocks it is made of, over any number of wires."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping

from ..diagram.diagram import Ref
from ..schedule.schedule import Schedule, Unit


def units_by_path(schedule: Schedule) -> dict[str, Unit]:
    """All blocks, those that work after the run too."""
    return {unit.path: unit for unit in (*schedule.units, *schedule.after_run)}


def signals_into(unit: Unit) -> list[Ref]:
    return [ref for refs in unit.inputs.values() for ref in refs]


def upstream(refs: Iterable[Ref], units: Mapping[str, Unit], through: Callable[[Unit], bool] = lambda _: True) -> dict[str, Unit]:
    """The blocks that have a part in these signals, nearest first; nothing behind those that `through` stops at."""
    parts: dict[str, Unit] = {}
    waiting = list(refs)
    for ref in waiting:
        unit = units.get(ref.block)
        if unit is not None and unit.path not in parts:
            parts[unit.path] = unit
            waiting += signals_into(unit) if through(unit) else []
    return parts
