"""An encoder of an arm that is late or has another zero, found by the regression itself."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from blocksim.errors import RecordError

from ...arm_channel import NUISANCES, ArmChannel, balanced, has_arm, sought_channel
from ..ends import Ends, ends_of
from .solution import solve
from .task import LinearTask, joint_after_joint, rows_of, task_of

if TYPE_CHECKING:
    from blocksim.contract.plant import Plant


def arm_channel_of(block: Any, t: np.ndarray, plant: Plant, names: tuple[str, ...], signals: Any) -> ArmChannel | None:
    """Lag and zero of an arm's encoder; None where the plant has none, or where nothing can be told."""
    if block.channels == "off" or not has_arm(plant) or "k1" not in names or block.method not in ("ols", "wls"):
        return None
    ends = ends_of(t, block.skip, block.decimate, block.settings["edges"])

    def task_at(moved: Mapping[str, np.ndarray]) -> LinearTask:
        return task_of(block, t, rows_of(plant, moved), moved, names, plant)

    def solve_with(task: LinearTask, columns: np.ndarray) -> tuple[np.ndarray, np.ndarray, float, float]:
        wide = widened_task(task, columns, NUISANCES, ends, plant)
        result = solve(block, wide, wide.names)
        values = dict(zip(result.names, result.fit.values, strict=True))
        std = np.sqrt(np.diag(result.covariance))[-2:]
        inertia = float(values.get("Ja", task.held.get("Ja", 0.0)))
        return result.fit.values[-2:], std, float(values["k1"]), inertia

    try:
        return sought_channel(solve_with, task_at, plant, t, {n: np.asarray(v, dtype=float) for n, v in signals.items()})
    except RecordError:
        return None


def widened_task(task: LinearTask, columns: np.ndarray, names: tuple[str, ...], ends: Ends, plant: Plant) -> LinearTask:
    """The system with more columns (samples, joints, columns) behind its own."""
    return replace(task, W=np.c_[task.W, stacked_columns(columns, ends, plant)], names=(*task.names, *names))


def stacked_columns(columns: np.ndarray, ends: Ends, plant: Plant) -> np.ndarray:
    """Columns (samples, joints, columns) as rows of the system: without the ends, decimated, one joint after another."""
    return joint_after_joint(balanced(ends.rows(columns), plant))
