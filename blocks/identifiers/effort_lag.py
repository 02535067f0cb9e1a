"""The effort of a measured record against its motion: how late or early it is, told where that explains much of what is left.

A command is logged before it acts, a filtered current after. A lag D makes tau = W x - D tau', so that tau' is one more column.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

import numpy as np

from blocksim.estimation.encoder_pair import shifted_by

EFFORT_ROUNDS = 6  # of shifting by the lag that is left
GAIN_TO_TELL = 0.2  # share of the residual that a lag must explain to be told
CERTAIN = 4.0  # standard deviations

#: What one regression says: the lag that is left, its standard deviation, the residual with and without a column for it.
LagRound = tuple[float, float, float, float]


@dataclass(frozen=True)
class EffortLag:
    """How late the effort is behind the motion, s, and what of it no model explains, with the lag and without it."""

    lag: float
    std: float
    step: float  # s, between samples
    before: float
    after: float

    def remarks(self) -> list[str]:
        """In words: how much, and what to write."""
        if abs(self.lag) <= CERTAIN * self.std or self.after > (1 - GAIN_TO_TELL) * self.before:
            return []
        word = "late behind" if self.lag > 0 else "ahead of"
        return [
            f"the effort is {1e3 * abs(self.lag):.3g} ms {word} the motion (+- {1e3 * self.std:.2g} ms, "
            f"{abs(self.lag) / self.step:.2g} samples): without that {100 * (1 - self.after / self.before):.0f} % less is left "
            f"of it. Map its column with delay: {self.lag:.4g}. A command that is held for a sample acts half a sample later"
        ]


def sought_effort_lag(
    regression: Callable[[Mapping[str, np.ndarray]], LagRound], signals: Mapping[str, np.ndarray], drive: str, step: float
) -> EffortLag | None:
    """The lag of the effort, shifted away until none is left; None where it does not settle."""
    lag, first = 0.0, 0.0
    values = np.asarray(signals[drive], dtype=float)
    for k in range(EFFORT_ROUNDS):
        change, std, after, before = regression({**signals, drive: shifted_by(values, lag / step) if lag else values})
        first = before if k == 0 else first
        if not np.isfinite(change) or abs(lag + change) > 0.1 * len(values) * step:
            return None
        lag += change
        if abs(change) < max(1e-3 * step, 0.1 * std):
            return EffortLag(lag, std, step, first, after)
    return None
