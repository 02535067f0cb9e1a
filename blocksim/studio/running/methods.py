"""The methods of a diagram, each with its colour, the same wherever it is drawn; their estimates as rows for the page."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

from ...estimation.running_estimates import estimators
from ...pictures.palette import look

if TYPE_CHECKING:
    from ...estimation.estimates import Estimate, Estimates
    from ...schedule.schedule import Schedule


def method_paths(schedule: Schedule) -> list[str]:
    """The blocks that estimate, in the order of the file."""
    running = {unit.path for unit in estimators(schedule)}
    order = [unit.path for unit in schedule.units] + [unit.path for unit in schedule.after_run]
    after = {unit.path for unit in schedule.after_run if is_method(unit)}
    file_order = {name: place for place, name in enumerate(schedule.diagram.nodes)}
    paths = [path for path in dict.fromkeys(order) if path in running | after]
    return sorted(paths, key=lambda path: file_order.get(path.split(".")[0], len(file_order)))


def is_method(unit: Any) -> bool:
    """Whether a record block identifies: it says so by naming a model, or by its family."""
    return unit.kind.family in ("identifiers", "identification") or bool(unit.plants)


def methods_data(schedule: Schedule) -> list[dict[str, Any]]:
    """Name, type and colour of each."""
    units = {unit.path: unit for unit in [*schedule.units, *schedule.after_run]}
    return [
        {"name": path, "type": units[path].kind.__name__, "colour": look(number).colour, "mark": look(number).mark}
        for number, path in enumerate(method_paths(schedule))
    ]


def estimates_data(estimates: Estimates) -> dict[str, Any]:
    """The table as `print` has it, number for number, and what bars and ellipses are drawn from."""
    return {
        "method": estimates.method,
        "model": estimates.model,
        "rows": [row_data(entry) for entry in estimates.entries],
        "covariance": None if estimates.covariance is None else estimates.covariance.tolist(),
        "notes": estimates.notes(),
        "converged": estimates.converged,
    }


def row_data(entry: Estimate) -> dict[str, Any]:
    """One parameter: its printed cells and its numbers."""
    _, value, std, percent, truth, error, z, unit, note = entry.row()
    cells = {"value": value, "std": std, "percent": percent, "truth": truth, "error": error, "z": z, "unit": unit, "note": note}
    low, high = entry.interval
    numbers = {"value": entry.value, "truth": entry.truth, "z": entry.z, "low": low, "high": high, "std": entry.std}
    return {"name": entry.name, "cells": cells, **numbers, "alarm": bool(math.isfinite(entry.z) and abs(entry.z) > 3)}
