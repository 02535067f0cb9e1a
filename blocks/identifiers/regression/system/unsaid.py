"""Torques that a diagram does not say, found by the regression itself: a weight at another angle, a torque always lost."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from blocksim.errors import RecordError

from ...arm_channel import channel_rows, has_arm
from ...weight_angle import ANGLE, WEIGHT, LostTorque, UnsaidTorques, WeightAngle, offset_column, turned_angle, weight_columns
from ..ends import ends_of
from .channels import widened_task
from .solution import LinearSolution, solve
from .task import LinearTask, rows_of, task_of

if TYPE_CHECKING:
    from blocksim.contract.plant import Plant


@dataclass(frozen=True)
class WideTask:
    """The system with columns beside its own: for lag and zero of an arm's encoder, for an offset, for a weight."""

    block: Any
    task: LinearTask
    own: tuple[str, ...]
    groups: dict[str, tuple[str, ...]]

    def solved(self, *groups: str) -> tuple[LinearSolution, float]:
        """The regression with these groups of columns, and the size of what it leaves."""
        names = (*self.own, *(name for group in groups for name in self.groups[group]))
        solution = solve(self.block, self.task, tuple(n for n in self.task.names if n in names))
        return solution, float(np.linalg.norm(solution.fit.residuals[self.task.used]))


def unsaid_torques(block: Any, t: np.ndarray, plant: Plant, names: tuple[str, ...], signals: Any) -> UnsaidTorques:
    """What the motion shows of a weight and an offset that the diagram has otherwise."""
    if block.channels == "off" or block.method not in ("ols", "wls") or len(t) < 3:
        return UnsaidTorques()
    signals = {n: np.asarray(v, dtype=float) for n, v in signals.items()}
    try:
        columns = {"offset": offset_column(plant, signals), "weight": weight_columns(plant, names, signals)}
        present = {group: values for group, values in columns.items() if values is not None}
        if not present:
            return UnsaidTorques()
        if has_arm(plant):  # so that a late encoder, or another zero, is not taken for a weight
            slack = float(plant.values["Ja"]) / max(float(plant.values["k1"]), 1e-300)
            present["arm"] = channel_rows(plant, signals, slack, float(t[-1] - t[0]) / (len(t) - 1))
        wide = wide_task(block, t, plant, names, signals, present)
        weight = weight_angle(wide, plant) if "weight" in present else None
        lost = lost_torque(wide, weight is not None and weight.found) if "offset" in present else None
    except RecordError:
        return UnsaidTorques()
    return UnsaidTorques(weight, lost)


def wide_task(
    block: Any, t: np.ndarray, plant: Plant, names: tuple[str, ...], signals: Any, columns: dict[str, np.ndarray]
) -> WideTask:
    task = task_of(block, t, rows_of(plant, signals), signals, names, plant)
    ends = ends_of(t, block.skip, block.decimate, block.settings["edges"])
    groups = {group: tuple(f"{group} {k}" for k in range(values.shape[-1])) for group, values in columns.items()}
    beside = tuple(name for group in groups.values() for name in group)
    return WideTask(
        block, widened_task(task, np.concatenate(list(columns.values()), axis=-1), beside, ends, plant), names, groups
    )


def weight_angle(wide: WideTask, plant: Plant) -> WeightAngle:
    """Where the weight of a plant acts."""
    rest = [group for group in wide.groups if group != "weight"]
    (_, before), (tilted, after) = wide.solved(*rest), wide.solved(*wide.groups)
    along = WEIGHT if WEIGHT in wide.own else wide.groups["weight"][0]
    pair = [tilted.names.index(name) for name in (along, wide.groups["weight"][-1])]
    values = [float(tilted.fit.values[k]) for k in pair]
    angle, std = turned_angle(values[0], values[1], tilted.covariance[np.ix_(pair, pair)])
    start, moment = float(plant.settings[ANGLE]), math.hypot(*values)
    absent = WEIGHT not in plant.parameters
    return WeightAngle(moment, start + angle, std, start, absent, before, after, str(wide.block.settings["model"]))


def lost_torque(wide: WideTask, turned: bool) -> LostTorque:
    """What is always lost, with the weight where it acts."""
    rest = [group for group in wide.groups if group != "offset" and (turned or group != "weight")]
    (_, before), (solution, after) = wide.solved(*rest), wide.solved(*rest, "offset")
    place = solution.names.index(wide.groups["offset"][0])
    std = float(np.sqrt(solution.covariance[place, place]))
    return LostTorque(float(solution.fit.values[place]), std, before, after, str(wide.block.settings["model"]))
