"""The effort of a measured record against its motion: how late or early it is, told where that explains or moves much.

A command is logged before it acts, a filtered current after. A lag D makes tau = W x - D tau', so that tau' is one more column.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

import numpy as np

from blocksim.estimation.encoder_pair import shifted_by

EFFORT_ROUNDS = 6  # of shifting by the lag that is left
GAIN_TO_TELL = 0.2  # share of the residual that a cause must explain to be told
CERTAIN = 4.0  # standard deviations
MOVED = 2.0  # standard deviations of a parameter by which a lag must move it to be told, where it explains little


@dataclass(frozen=True)
class LagRound:
    """What one regression says: the lag that is left, and parameters and residual with a column for it and without."""

    lag: float
    std: float
    after: float  # of the residual, with the column
    before: float
    values: np.ndarray  # with the column
    plain: np.ndarray  # without
    spread: np.ndarray  # standard deviations of these, their residuals' colour in them


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
    regression: Callable[[Mapping[str, np.ndarray]], LagRound],
    signals: Mapping[str, np.ndarray],
    drive: str,
    step: float,
    names: tuple[str, ...],
) -> EffortLag | None:
    """The lag of the effort, shifted away until none is left; None where it does not settle. `names` are of the parameters."""
    lag = 0.0
    first: LagRound | None = None
    values = np.asarray(signals[drive], dtype=float)
    for _ in range(EFFORT_ROUNDS):
        turn = regression({**signals, drive: shifted_by(values, lag / step) if lag else values})
        first = first or turn
        if not np.isfinite(turn.lag) or abs(lag + turn.lag) > 0.1 * len(values) * step:
            return None
        lag += turn.lag
        if abs(turn.lag) < max(1e-3 * step, 0.1 * turn.std):
            return EffortLag(lag, turn.std, step, first.before, turn.after, most_moved(names, first, turn))
    return None


def most_moved(names: tuple[str, ...], first: LagRound, last: LagRound) -> tuple[str, float, float]:
    """The determined parameter that moves most where the lag is gone: its name, by which share, in standard deviations."""
    with np.errstate(divide="ignore", invalid="ignore"):
        sizes = np.abs(last.values - first.plain) / first.spread
        shares = last.values / first.plain - 1
    sizes[~np.isfinite(sizes) | ~np.isfinite(shares) | (first.spread > 0.3 * np.abs(first.plain))] = 0.0
    most = int(np.argmax(sizes))
    return names[most], float(shares[most]) if sizes[most] else 0.0, float(sizes[most])
