"""The encoder of an arm in a regression: how late it is and where its zero lies, told, or taken out of the equations.

The arm's equation is 0 = Ja dw_a - k1 phi - d w: nothing stands on its left, so that an error of phi is met by smaller
parameters, all of them, down to none. A zero z of the encoder adds k1 z, a constant; a lag D adds k1 D w_a. Both are columns.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from blocksim.errors import RecordError
from blocksim.estimation.encoder_pair import shifted_by

if TYPE_CHECKING:
    from blocksim.contract.plant import Plant

LAG_ROUNDS = 8  # of shifting by the lag that is left
SIGNIFICANT = 4.0  # standard deviations from which a lag or a zero is told
SLIGHT = 0.01  # of a sample and of the twist's own size: less harms nothing
NUISANCES = ("zero of the arm's encoder", "lag of the arm's encoder")


@dataclass(frozen=True)
class ArmChannel:
    """Lag and zero of the arm's encoder against the motor's, as the equations of motion show them."""

    lag: float  # s
    lag_std: float
    zero: float  # rad
    zero_std: float
    step: float  # s, between samples
    twist: float  # rad, root mean square

    def remarks(self) -> list[str]:
        """In words: what is off, and what it does to the parameters."""
        texts = []
        if abs(self.zero) > max(SIGNIFICANT * self.zero_std, SLIGHT * self.twist):
            texts.append(
                f"the zero of the arm's encoder is {1e3 * self.zero:+.3g} mrad off (+- {1e3 * self.zero_std:.2g}), where the "
                f"gear twists by {1e3 * self.twist:.3g} mrad: stiffness and inertias shrink. Say channels: estimated, or map the "
                f"column with offset: {-self.zero:.4g}"
            )
        if abs(self.lag) > max(SIGNIFICANT * self.lag_std, SLIGHT * self.step):
            texts.append(
                f"the arm's encoder is {1e3 * self.lag:.3g} ms late (+- {1e3 * self.lag_std:.2g}): damping and friction take "
                f"that for theirs. Say channels: estimated, or map the column with delay: {self.lag:.4g}"
            )
        return texts

    def removed_from(self, plant: Plant, signals: Mapping[str, np.ndarray]) -> dict[str, np.ndarray]:
        """The signals as an encoder without lag and zero would have shown them."""
        moved = late_shifted(plant, signals, self.lag / self.step)
        return {**moved, "phi_a": moved["phi_a"] - self.zero}


def has_arm(plant: Plant) -> bool:
    return hasattr(plant.kind, "late_signals")


def sought_channel(solve: Any, task_of: Any, plant: Plant, t: np.ndarray, signals: Mapping[str, np.ndarray]) -> ArmChannel:
    """Lag and zero by the regression itself: columns for both, the arm's signals shifted by the lag until none is left.

    `task_of` makes the system of signals, (task, columns of the plant), and `solve` a fit with these columns beside its own.
    """
    step = float(t[-1] - t[0]) / (len(t) - 1)
    lag, slack = 0.0, float(plant.values["Ja"]) / max(float(plant.values["k1"]), 1e-300)
    for _ in range(LAG_ROUNDS):
        moved_signals = late_shifted(plant, signals, lag / step)
        fit, std, stiffness, inertia = solve(task_of(moved_signals), channel_rows(plant, moved_signals, slack, step))
        if not stiffness > 0:
            raise RecordError("no stiffness was found.")
        change = float(fit[1]) / stiffness
        lag, slack = lag + change, inertia / stiffness
        if abs(change) < 1e-3 * step:
            break
        if abs(lag) > 0.2 * (t[-1] - t[0]):
            raise RecordError("no lag was found.")
    twist = float(plant.settings["r"]) * moved_signals["phi_m"] - moved_signals["phi_a"]
    zero = float(fit[0]) / stiffness
    return ArmChannel(lag, float(std[1]) / stiffness, zero, float(std[0]) / stiffness, step, float(np.std(twist)))


def late_shifted(plant: Plant, signals: Mapping[str, np.ndarray], samples: float) -> dict[str, np.ndarray]:
    """The signals with those of the arm moved to when they happened."""
    late = plant.kind.late_signals  # type: ignore[attr-defined]
    return {n: shifted_by(np.asarray(v, dtype=float), samples) if n in late and samples else v for n, v in signals.items()}


def channel_rows(plant: Plant, signals: Mapping[str, np.ndarray], slack: float, step: float) -> np.ndarray:
    """What k1 times the zero and k1 times the lag add to the rows of motor and arm, (samples, 2, 2); slack is Ja / k1."""
    w_a, r = np.asarray(signals["w_a"], dtype=float), float(plant.settings["r"])
    jerk = np.gradient(np.asarray(signals["dw_a"], dtype=float), step)
    motor, arm = (r * np.ones_like(w_a), -r * w_a), (-r * np.ones_like(w_a), r * w_a + r * slack * jerk)
    return np.stack([np.stack(row, axis=-1) for row in (motor, arm)], axis=-2)


def balanced(values: np.ndarray, plant: Plant) -> np.ndarray:
    """Rows (samples, rows, ...) with the motor's replaced by the whole axis', in which no gear is: it fixes the scale of all."""
    mix = getattr(plant.kind, "balance", None)
    return values if mix is None else np.einsum("ij,kj...->ki...", np.asarray(mix, dtype=float), values)


def projected_out(task: Any, columns: np.ndarray) -> Any:
    """The system with these columns projected out of the last rows of each sample, the arm's; weights there are all alike."""
    arm = (task.groups == task.groups.max()) & task.used
    basis = np.linalg.qr(columns[arm])[0]
    W, y = task.W.copy(), task.y.copy()
    W[arm] -= basis @ (basis.T @ W[arm])
    y[arm] -= basis @ (basis.T @ y[arm])
    return replace(task, W=W, y=y)
