"""The lag of the effort behind the motion, found by the regression itself."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from blocksim.errors import RecordError

from ...arm_channel import ArmChannel, balanced
from ...effort_lag import EffortLag, most_moved, put_right, sought_effort_lag
from ..ends import Ends, ends_of
from ..regression import Fit, fit
from .channels import widened_task
from .solution import solve
from .task import LinearTask, joint_after_joint, rows_of, task_of

if TYPE_CHECKING:
    from blocksim.contract.plant import Plant

REWEIGHTED = 3  # how often rows are weighted anew while their effort is shifted


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
    drive = np.asarray(signals[plant.drive], dtype=float)
    try:
        task = task_of(block, t, rows_of(plant, signals), signals, names, plant)
        late = LateEffort(plant, task, ends, step)
        lag = late.settled(drive, block.method == "wls")
        if lag is None:
            return None
        wide = late.widened(put_right(drive, lag / step))
        plain, last = solve(block, task, task.names), solve(block, wide, wide.names)
    except RecordError:
        return None
    before, after = (float(np.linalg.norm(one.fit.residuals[task.used])) for one in (plain, last))
    spread = plain.fit.std if plain.coloured is None else np.sqrt(np.diag(plain.coloured.claim))
    moved = most_moved(names, last.fit.values[:-1], plain.fit.values, spread)
    return EffortLag(lag, float(np.sqrt(last.covariance[-1, -1])), step, before, after, moved)


@dataclass(frozen=True)
class LateEffort:
    """The system of a motion, for efforts that come sooner or later.

    The motion's rows stay, and with them what their regression needs: another effort, and its slope as one more column, are
    projected past them. Factorised anew for each, a robot of six joints took a minute.
    """

    plant: Plant
    task: LinearTask
    ends: Ends
    step: float

    def settled(self, drive: np.ndarray, weighted: bool) -> float | None:
        """The lag; weights of rows, which know the residuals, are those with the lag away."""
        groups, used, lag = self.task.groups if weighted else None, self.task.used.astype(float), 0.0
        for _ in range(REWEIGHTED if weighted else 1):
            plain = fit(self.task.W, self.widened(put_right(drive, lag / self.step)).y, groups, used)
            before, after = lag, sought_effort_lag(partial(self.left, plain=plain), drive, self.step, lag)
            if after is None or abs(after - before) < 1e-2 * self.step:
                return after
            lag = after
        return lag

    def left(self, drive: np.ndarray, plain: Fit) -> tuple[float, float]:
        """The lag in an effort by one regression, and its standard deviation were the residuals white: a lower bound."""
        wide = self.widened(drive)
        rest, slope = self.projected(wide.y, plain), self.projected(wide.W[:, -1], plain)
        length = float(slope @ slope)
        if not length:
            return np.nan, np.nan
        lag = float(rest @ slope) / length
        freedom = max(1, int(np.count_nonzero(plain.weights)) - len(wide.names))
        return lag, float(np.linalg.norm(rest - lag * slope)) / float(np.sqrt(freedom * length))

    def widened(self, drive: np.ndarray) -> LinearTask:
        """The system with this effort, and with its slope for one more column."""
        effort = self.plant.effort(drive)
        fixed = self.task.effort - self.task.y  # the part of known parameters
        y = joint_after_joint(balanced(self.ends.rows(effort), self.plant)[..., None])[:, 0]
        slope = -np.gradient(effort, self.step, axis=0)[..., None]
        return widened_task(replace(self.task, y=y - fixed, effort=y), slope, ("lag",), self.ends, self.plant)

    def projected(self, column: np.ndarray, plain: Fit) -> np.ndarray:
        """What the motion's rows leave of a column, weighted; twice, for the digits."""
        rest = column * plain.weights
        for _ in range(2):
            rest = rest - plain.weights * (self.task.W @ (plain.bread @ (self.task.W.T @ (plain.weights * rest))))
        return rest
