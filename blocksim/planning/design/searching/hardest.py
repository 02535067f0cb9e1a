"""HardestDraws: at which draws of a prior candidates are tried while the worst of them counts.

The worst truth is one of few, and which they are shows as soon as one candidate has been tried at all draws. So a search over
many draws costs little more than one at the middle, and no design is made for a handful of draws that fails at the next one.
"""

from __future__ import annotations

import math
from dataclasses import replace

from ..bench import Bench
from .trial import Trial

#: Between two trials at every draw a search does so many times their work.
WORK_BETWEEN = 3


class HardestDraws:
    """The draws known to decide, in `bench.order`; what was the best at these is now and then tried at every draw.

    A draw that was left out and makes it worse counts from then on, and the search goes on from the last that was `sure`.
    """

    def __init__(self, bench: Bench):
        self.bench = bench
        #: Whether candidates are tried at some draws only: where others than the worst count, each is tried at all of them.
        self.partly = bench.spec.prior.take == "worst" and len(bench.samples) > 1
        self.sure: Trial | None = None  # of this start, the best that was tried at every draw
        self.cost = len(bench.samples) * (len(bench.names) + 2)  # simulations of a trial at every draw
        self.last = 0  # and those made until then

    @property
    def deciders(self) -> frozenset[int]:
        return frozenset(self.bench.order)

    @property
    def due(self) -> bool:
        """Whether it is time for a trial at every draw."""
        return self.bench.simulations - self.last >= WORK_BETWEEN * self.cost

    def covers(self, trial: Trial) -> bool:
        """Whether it was tried at every draw."""
        return len(trial.hardest) == len(self.bench.samples)

    def tried_everywhere(self, trial: Trial, above: float) -> Trial:
        """A candidate at every draw, those known to decide first; up to the one that shows that it does not come below."""
        bench = self.bench
        others = [place for place in (self.sure.hardest if self.sure else bench.everywhere) if place not in bench.order]
        whole = bench.try_out(trial.x, math.inf, above, (*bench.order, *others))
        self.last = bench.simulations
        return whole

    def begin(self, whole: Trial) -> None:
        """Those draws are known to decide that do so for a first candidate, which was tried at every one."""
        self.bench.order, self.last = whole.decisive, self.bench.simulations

    def put_first(self, trial: Trial) -> None:
        """Begin with those that are hardest for what the search goes on from: a candidate of no use shows it there."""
        if self.deciders == set(trial.hardest):
            self.bench.order = trial.hardest

    def learn(self, whole: Trial, above: float) -> Trial:
        """The trial to go on from after one at every draw, judged at those that decide, now with those that did so here."""
        if self.covers(whole) and whole.merit < above:
            self.sure = whole
        deciders = self.deciders | set(whole.decisive)
        going_on = self.sure or whole
        order = [place for place in going_on.hardest if place in deciders]
        self.bench.order = (*order, *sorted(deciders - set(order)))
        return replace(going_on, hardest=self.bench.order)
