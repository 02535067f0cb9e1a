"""Signals that are late, found by the regression itself: the encoder of an arm, and the effort behind the motion."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from blocksim.errors import RecordError

from ...arm_channel import NUISANCES, ArmChannel, balanced, has_arm, sought_channel
from ...effort_lag import EffortLag, LagRound, sought_effort_lag
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


def effort_lag_of(
    block: Any, t: np.ndarray, plant: Plant, names: tuple[str, ...], signals: Any, channel: ArmChannel | None
) -> EffortLag | None:
    """How late the effort is behind the motion, the encoder of an arm put right; None where nothing can be told."""
    if block.channels == "off" or block.method not in ("ols", "wls") or len(t) < 3:
        return None
    if channel is not None:
        signals = channel.removed_from(plant, signals)
    ends = ends_of(t, block.skip, block.decimate, block.settings["edges"])
    step = float(t[-1] - t[0]) / (len(t) - 1)

    def regression(moved: Mapping[str, np.ndarray]) -> LagRound:
        rows = rows_of(plant, moved)
        task = task_of(block, t, rows, moved, names, plant)
        slope = -np.gradient(rows.y, step, axis=0)[..., None]
        wide = widened_task(task, slope, ("lag",), ends, plant)
        with_lag, without = solve(block, wide, wide.names), solve(block, task, task.names)
        left = [float(np.linalg.norm(one.fit.residuals[task.used])) for one in (with_lag, without)]
        std = float(np.sqrt(with_lag.covariance[-1, -1]))
        spread = without.fit.std if without.coloured is None else np.sqrt(np.diag(without.coloured.claim))
        lag, values = float(with_lag.fit.values[-1]), with_lag.fit.values[:-1]
        return LagRound(lag, std, left[0], left[1], values, without.fit.values, spread)

    try:
        return sought_effort_lag(regression, signals, plant.drive, step, names)
    except RecordError:
        return None


def widened_task(task: LinearTask, columns: np.ndarray, names: tuple[str, ...], ends: Ends, plant: Plant) -> LinearTask:
    """The system with more columns (samples, joints, columns) behind its own."""
    return replace(task, W=np.c_[task.W, stacked_columns(columns, ends, plant)], names=(*task.names, *names))


def stacked_columns(columns: np.ndarray, ends: Ends, plant: Plant) -> np.ndarray:
    """Columns (samples, joints, columns) as rows of the system: without the ends, decimated, one joint after another."""
    return joint_after_joint(balanced(ends.rows(columns), plant))
