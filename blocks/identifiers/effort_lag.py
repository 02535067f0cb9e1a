"""The effort of a measured record against its motion: how late or early it is, told where that explains or moves much.

A command is logged before it acts, a filtered current after. A lag D makes tau = W x - D tau', so that tau' is one more column.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from blocksim.estimation.encoder_pair import shifted_by

EFFORT_ROUNDS = 6  # of shifting by the lag that is left
GAIN_TO_TELL = 0.2  # share of the residual that a cause must explain to be told
CERTAIN = 4.0  # standard deviations
LEFT_AT_ONCE = 0.25  # share of a lag that may be left once it was taken away
MOVED = 2.0  # standard deviations of a parameter by which a lag must move it to be told, where it explains little


@dataclass(frozen=True)
class EffortLag:
    """How late the effort is behind the motion, s, and what of it no model explains, with the lag and without it."""

    lag: float
    std: float
    step: float  # s, between samples
    before: float
    after: float
    moved: tuple[str, float, float] = ("", 0.0, 0.0)  # the parameter that the lag moves most, its share and standard deviations

    def remarks(self) -> list[str]:
        """In words: how much, and what to write."""
        explains = self.after <= (1 - GAIN_TO_TELL) * self.before
        name, share, sizes = self.moved
        if abs(self.lag) <= CERTAIN * self.std or not (explains or sizes > MOVED):
            return []
        word = "late behind" if self.lag > 0 else "ahead of"
        less = f"{100 * (1 - self.after / self.before):.0f} % less is left of it"
        moves = f"{name} is {100 * share:+.2g} % from what stands here, {sizes:.2g} standard deviations"
        return [
            f"the effort is {1e3 * abs(self.lag):.3g} ms {word} the motion (+- {1e3 * self.std:.2g} ms, "
            f"{abs(self.lag) / self.step:.2g} samples): without that {less if explains else moves}. Map its column with "
            f"delay: {self.lag:.4g}. A command that is held for a sample acts half a sample later"
        ]


def sought_effort_lag(
    left: Callable[[np.ndarray], tuple[float, float]], effort: np.ndarray, step: float, lag: float = 0.0
) -> float | None:
    """The lag of the effort, shifted away from a first value on until none is left; None where it does not settle.

    `left` gives the lag that is left in an effort, and its standard deviation, or a lower bound of it. A lag is away at once,
    or nearly. What goes by small steps is no lag: noise of the sensor that a controller put into the effort looks like one.
    """
    first = 0.0
    for k in range(EFFORT_ROUNDS):
        change, std = left(put_right(effort, lag / step))
        if not np.isfinite(change) or abs(lag + change) > 0.1 * len(effort) * step:
            return None
        if k and abs(change) > max(LEFT_AT_ONCE * abs(first), std):
            return None
        lag, first = lag + change, first or change
        if abs(change) < max(1e-3 * step, 0.1 * std):
            return lag
    return None


def put_right(effort: np.ndarray, samples: float) -> np.ndarray:
    """The effort as it was, its lag taken away."""
    return shifted_by(effort, samples) if samples else effort


def most_moved(names: Sequence[str], values: np.ndarray, plain: np.ndarray, spread: np.ndarray) -> tuple[str, float, float]:
    """The determined parameter that moves most where the lag is gone: its name, by which share, in standard deviations."""
    with np.errstate(divide="ignore", invalid="ignore"):
        sizes = np.abs(values - plain) / spread
        shares = values / plain - 1
    sizes[~np.isfinite(sizes) | ~np.isfinite(shares) | (spread > 0.3 * np.abs(plain))] = 0.0
    most = int(np.argmax(sizes))
    return names[most], float(shares[most]) if sizes[most] else 0.0, float(sizes[most])
