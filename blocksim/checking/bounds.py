"""What a run shows of bounds: limits that held for most of it, tables that were read beyond their ends."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

from ..contract.declarations import Outport, Param
from ..errors import Finding
from ..records.record import Record
from ..schedule.schedule import Schedule, Unit
from ..simulation.overrides import Overrides

if TYPE_CHECKING:
    from ..contract.arrays import FloatArray

#: Shares of the rows from which on a limit, and the ends of a table, are worth a word.
MOST_LIMITED, MOST_OUTSIDE = 0.8, 0.01
#: An output this near to a bound is at it.
NEAR_BOUND = 1e-9


def bound_findings(schedule: Schedule, record: Record, changes: Mapping[str, Any]) -> Iterator[Finding]:
    """Of every block with limits, or with points, whose signals were logged."""
    import numpy as np

    overrides = Overrides(changes)
    for unit in schedule.units:
        settings = overrides.block(unit).settings
        bounds, port = unit_limits(unit, settings), next(iter(unit.kind.of(Outport)), "")
        values = logged_values(record, f"{unit.path}.{port}")
        if bounds is not None and values is not None:
            low, high = (value - NEAR_BOUND * abs(value) for value in (-bounds[0], bounds[1]))
            share = float(np.mean((values >= high) | (-values >= low)))
            if share > MOST_LIMITED:
                yield Finding(
                    "at-limit",
                    f"block '{unit.path}' ({type(unit.block).__name__}) stood at its limit in {100 * share:.0f} % of the run: "
                    "what goes into it had no say there.",
                    "Look at the limit and its unit, at gains, and at how much the reference asks for.",
                    unit.node.at("limit"),
                )
        yield from outside_findings(unit, settings, record)


def unit_limits(unit: Unit, settings: Mapping[str, Any]) -> tuple[float, float] | None:
    """The smallest and largest output of a controller or a saturation, where it has such."""
    declared = unit.kind.of(Param)
    if "limit" in declared and unit.kind.family == "control":
        return (-settings["limit"], settings["limit"]) if isinstance(settings["limit"], (int, float)) else None
    if {"lower", "upper"} <= declared.keys() and unit.kind.same_unit:
        ends = settings["lower"], settings["upper"]
        return ends if all(isinstance(end, (int, float)) for end in ends) else None
    return None


def outside_findings(unit: Unit, settings: Mapping[str, Any], record: Record) -> Iterator[Finding]:
    """Inputs of a table beyond its first or last point."""
    import numpy as np

    points = settings.get("points")
    values = logged_values(record, *(str(ref) for ref in unit.inputs.get("u", ())))
    if values is None or not isinstance(points, (list, tuple)) or settings.get("outside") is None:
        return
    share = float(np.mean((values < points[0]) | (values > points[-1])))
    if share > MOST_OUTSIDE:
        way = "its end values held" if settings["outside"] == "clip" else "it went straight on"
        yield Finding(
            "outside-table",
            f"the input of block '{unit.path}' ({type(unit.block).__name__}) went from {values.min():g} to {values.max():g}, and "
            f"its points from {points[0]:g} to {points[-1]:g}: beyond them {way}, in {100 * share:.0f} % of the run.",
            "Give it points for all that comes in.",
            unit.node.at("points"),
        )


def logged_values(record: Record, *names: str) -> FloatArray | None:
    """A signal of one element that was logged."""
    if len(names) != 1 or names[0] not in record:
        return None
    values = record[names[0]]
    return values if values.ndim == 1 and len(values) > 1 else None
