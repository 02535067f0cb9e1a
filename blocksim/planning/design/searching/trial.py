"""Trial: a candidate that was tried, and how it was judged; Slope: how that changes around it."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from ..criteria import SEES_NOTHING, together
from ..limits import Margin
from ..spec import PriorSpec

if TYPE_CHECKING:
    from ....contract.arrays import FloatArray
    from .search import DesignSearch

#: A limit that is broken costs so many times its excess, in the logarithm of the criterion.
PENALTY = 20.0
#: Step of the differences of the criterion, in units of an unknown.
GRADIENT_STEP = 1e-4
#: A descent that lowers the logarithm of the criterion by less has ended.
ENOUGH_DESCENT = 1e-5
#: Gradients without any such gain that end it as well: kinks of limits can keep it busy for ever.
GRADIENTS_IN_VAIN = 4
#: Along limits a step of an unknown that is the last one; and what is left of a limit there, as a share, so that it is kept.
SHORT_STEP, LIMIT_SPARE = 1e-4, 1e-4


@dataclass(frozen=True)
class Trial:
    """A candidate that was tried: its merit, the lower the better, and what it is made of."""

    x: FloatArray
    merit: float  # logarithm of the criterion, limits included
    criterion: float
    stds: FloatArray  # relative, of the worst sample of the prior
    margins: tuple[Margin, ...]
    hardest: tuple[int, ...] = ()  # the draws of the prior it was tried at, the worst first
    decisive: tuple[int, ...] = ()  # those of them that make its merit: at these alone it would have the same

    @property
    def sees(self) -> bool:
        """Whether it ran, and something of every parameter shows."""
        return self.criterion < SEES_NOTHING

    @property
    def excess(self) -> float:
        """How far it breaks its limits, all together."""
        return excess_of(self.margins)

    @property
    def allowed(self) -> bool:
        return self.sees and not any(margin.broken for margin in self.margins)


def merit_of(criterion: float, margins: Sequence[Margin]) -> float:
    """log(criterion), and more for each limit that is broken."""
    return math.log(criterion) + PENALTY * excess_of(margins)


def excess_of(margins: Sequence[Margin]) -> float:
    return sum(max(margin.excess, 0.0) for margin in margins)


def trial_over(
    x: FloatArray, prior: PriorSpec, places: Sequence[int], judgements: Sequence[tuple[float, FloatArray, Sequence[Margin]]]
) -> Trial:
    """The trial of a candidate from criterion, deviations and margins at each of these draws of a prior."""
    import numpy as np

    values, stds, margins = zip(*judgements, strict=True)
    criterion = together(values, prior.take, prior.quantile)
    limits = list(zip(*margins, strict=True))
    worst = tuple(max(column, key=lambda margin: margin.excess) for column in limits)
    hardest = np.argsort([merit_of(value, own) for value, _, own in judgements])[::-1]
    decisive = {int(hardest[0]), int(np.argmax(values))}
    decisive |= {int(np.argmax([one.excess for one in column])) for column in limits if max(one.excess for one in column) > 0}
    return Trial(x, merit_of(criterion, worst), criterion, stds[int(np.argmax(values))], worst,
                 tuple(places[k] for k in hardest), tuple(places[k] for k in sorted(decisive)))  # fmt: skip


class Settled(Exception):
    """A descent gets no further."""


class Slope:
    """The logarithm of the criterion and what is left of every limit around a trial, with their gradients, by its numbers."""

    def __init__(self, search: DesignSearch, trial: Trial):
        import numpy as np

        self.search, self.best, self.middle = search, trial, trial
        self.x, self.free = trial.x, np.flatnonzero(~search.binary)
        self.around: list[Trial] = []
        self.before = math.inf
        self.last: FloatArray | None = None  # where the last gradient was taken
        self.patience = self.most = GRADIENTS_IN_VAIN if trial.margins else math.inf

    def whole(self, part: FloatArray) -> FloatArray:
        x = self.x.copy()
        x[self.free] = part
        return x

    def move(self, part: FloatArray) -> Trial:
        """The trial at these numbers."""
        x = self.whole(part)
        if not (x == self.middle.x).all():
            self.middle, self.around = self.search.tried([x], self.best.merit)[0], []
            self.best = min([self.best, self.middle], key=lambda one: one.merit)
        return self.middle

    def neighbours(self, part: FloatArray) -> tuple[list[Trial], FloatArray]:
        """Trials a step away in each number, all in one batch, and those steps."""
        import numpy as np

        self.move(part)
        steps = np.where(part + GRADIENT_STEP <= 1.0, GRADIENT_STEP, -GRADIENT_STEP)
        if not self.around:
            points = [self.whole(part + steps * (np.arange(len(part)) == k)) for k in range(len(part))]
            self.around = self.search.tried(points, -math.inf)
        return self.around, steps

    def value(self, part: FloatArray) -> float:
        return math.log(self.move(part).criterion)

    def gradient(self, part: FloatArray) -> FloatArray:
        import numpy as np

        if self.last is not None and np.abs(part - self.last).max() < SHORT_STEP:
            raise Settled
        self.last = part.copy()
        trials, steps = self.neighbours(part)
        return np.array([math.log(trial.criterion) - self.value(part) for trial in trials]) / steps

    def settle(self) -> None:
        """End where the last gradients gained nothing."""
        gain, self.before = self.before - self.best.merit, self.best.merit
        self.patience = self.most if gain > ENOUGH_DESCENT else self.patience - 1
        if not self.patience:
            raise Settled

    def merit(self, part: FloatArray) -> float:
        return self.move(part).merit

    def merit_gradient(self, part: FloatArray) -> FloatArray:
        import numpy as np

        self.settle()
        trials, steps = self.neighbours(part)
        return np.array([trial.merit - self.merit(part) for trial in trials]) / steps

    def room(self, part: FloatArray) -> FloatArray:
        return room_of(self.move(part), len(self.best.margins))

    def room_gradient(self, part: FloatArray) -> FloatArray:
        import numpy as np

        trials, steps = self.neighbours(part)
        return np.array([room_of(trial, len(self.best.margins)) - self.room(part) for trial in trials]).T / steps


def room_of(trial: Trial, count: int) -> FloatArray:
    """What is left of every limit, as a share; nothing of one that did not run."""
    import numpy as np

    return np.array([-margin.excess - LIMIT_SPARE for margin in trial.margins] or [0.0] * count, float)
