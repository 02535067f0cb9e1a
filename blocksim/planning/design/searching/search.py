"""The search: many cheap candidates, then the best of them polished until time, simulations or improvements run out.

Unknowns that are numbers go down the gradient, taken by differences in one batch, and then wander along the limits; bits are
exchanged: single ones, stretches, switches moved by a tick. Over a prior whose worst draw counts, candidates are tried at the
hardest draws only, and the best at all of them. All take seeds, so the same budget of simulations on the same number of threads
finds the same design.
"""

from __future__ import annotations

import contextlib
import math
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from ....simulation.many.threads import cores, share_out
from ..bench import Bench
from .hardest import HardestDraws
from .trial import ENOUGH_DESCENT, Settled, Slope, Trial

if TYPE_CHECKING:
    import numpy as np

    from ....contract.arrays import FloatArray

#: Candidates that are tried together in an exchange, and how many in a row without an improvement, for each bit, end it.
TOGETHER, FRUITLESS = 8, 3
#: So few numbers go down by quadratic programs, along limits; of more unknowns random steps are cheaper there.
FEW_UNKNOWNS = 12
#: Random steps around a candidate: the first and the last length, in units of an unknown, and their change after luck and none.
FIRST_WANDER, LAST_WANDER, WANDER_LONGER, WANDER_SHORTER = 0.05, 5e-4, 1.5, 0.8
#: Of few numbers, the first length before any descent: it leaps over the ripple that the end of a run makes over frequency.
FIRST_LEAP, LEAP_SHORTER = 0.3, 0.7
#: So many candidates to the power of the numbers are near enough to any place without.
COVERING = 4
#: How many bests are remembered: the last one may break a limit on the fine grid, where an earlier one keeps it.
KEPT_BESTS = 200
#: How many of the drawn candidates are polished, one after the other; and of few numbers.
POLISHED, POLISHED_FEW = 4, 3


@dataclass
class SearchProgress:
    """How far a search is: the best so far, simulations, seconds; `stop` says why it ended."""

    best: Trial | None = None
    nearest: Trial | None = None  # of those that break limits, the one that breaks them least
    seconds: float = 0.0
    simulations: int = 0
    share: float = 0.0
    stop: str = ""
    history: list[tuple[int, float, float]] = field(default_factory=list)  # simulations, seconds, criterion
    bests: list[Trial] = field(default_factory=list, repr=False)  # every one that was the best for a while, the last ones of them

    def summary(self) -> str:
        best = "nothing allowed yet" if self.best is None else f"best {self.best.criterion:.4g}"
        return f"{best}, {self.simulations} simulations{'; judging it on the fine grid' if self.stop else ''}"


class Ended(Exception):
    """The budget is used, or the target reached."""


class DesignSearch:
    """A search on a bench; `progress.best` is the best candidate that keeps its limits."""

    def __init__(self, bench: Bench, watch: Callable[[SearchProgress], None] | None = None, start: FloatArray | None = None):
        import numpy as np

        self.bench, self.watch, self.start = bench, watch, start
        self.spec = bench.spec.search
        self.jobs = self.spec.jobs or cores()
        self.random = np.random.default_rng(self.spec.seed)
        self.progress = SearchProgress()
        self.begun = time.perf_counter()
        self.binary = np.concatenate([f.bits() for f in bench.families])
        self.low = np.concatenate([np.full(f.unknowns, f.low) for f in bench.families])
        self.few = np.count_nonzero(~self.binary) <= FEW_UNKNOWNS
        self.draws = HardestDraws(bench)
        self.unsure: Trial | None = None  # the best at the draws known to decide, not tried at the others yet

    def run(self) -> SearchProgress:
        """Draw, polish, and again, until the budget is used; an interrupt keeps the best."""
        try:
            while True:
                self.round()
                self.start = None
                if not self.bench.unknowns:
                    raise Ended("nothing varies")
        except Ended as end:
            self.progress.stop = str(end)
        except KeyboardInterrupt:
            self.progress.stop = "interrupted"
        if self.unsure is not None and self.promises(self.unsure):
            self.look(self.draws.tried_everywhere(self.unsure, self.to_beat))
        self.count()
        if self.watch:
            self.watch(self.progress)
        return self.progress

    def round(self) -> None:
        """One draw of candidates, and the best of them polished."""
        first = self.bench.original if self.start is None and not self.progress.simulations else self.start
        drawn = [] if first is None else [first]
        drawn += [self.bench.draw(self.random) for _ in range(self.spec.candidates - len(drawn))]
        if self.draws.partly and not self.draws.last:
            self.draws.begin(self.tried(drawn[:1], math.inf)[0])
        trials = sorted(self.tried(drawn, math.inf), key=lambda trial: trial.merit)
        if not trials[0].sees:
            raise Ended("no candidate shows something of every parameter")
        if self.start is not None:
            starts = trials[:1]
        elif self.few and not self.binary.any() and len(drawn) < COVERING ** len(self.binary):
            leaps = [self.wander(trial, FIRST_LEAP, FIRST_WANDER, 1.0, LEAP_SHORTER) for trial in trials[:POLISHED_FEW]]
            starts = sorted(leaps, key=lambda trial: trial.merit)
        else:
            starts = trials[:POLISHED]
        for trial in starts:
            self.polish(trial)

    def polish(self, trial: Trial) -> None:
        """Down from one start until nothing helps any more, at every draw of the prior that decides."""
        self.draws.sure, before, deciders = None, math.inf, self.draws.deciders
        while before - trial.merit > ENOUGH_DESCENT or deciders != self.draws.deciders:
            before, deciders = trial.merit, self.draws.deciders
            if not self.binary.all():
                trial = self.wander(self.descend(trial))
            if self.binary.any():
                trial = self.exchange(trial)
            trial = self.made_sure(trial)

    # ---- judging ---------------------------------------------------------------------------------------------------

    def tried(self, candidates: list[FloatArray], *below: float, others: bool = True) -> list[Trial]:
        """The trials of several candidates; a merit below this, one number for all or one for each, is made sure of.

        The merit of the others may be told too low, still not below, where it is of no use.
        """
        bounds = list(below) if len(below) > 1 else [*below] * len(candidates)
        trials: list[Trial] = []
        size = TOGETHER * self.jobs  # between parts the time is looked at
        while len(trials) < len(candidates) and time.perf_counter() - self.begun < self.spec.seconds:
            rows = slice(len(trials), len(trials) + size)
            trials += self.tried_together(candidates[rows], bounds[rows], others)
        self.budget()
        return trials

    def tried_together(self, candidates: list[FloatArray], bounds: list[float], others: bool) -> list[Trial]:
        """The same on all cores."""

        def try_out(k: int) -> Trial:
            return self.bench.try_out(candidates[k], bounds[k], math.inf if others else bounds[k])

        trials: list[Trial] = share_out(len(candidates), try_out, self.jobs)
        for trial, bound in zip(trials, bounds, strict=True):
            if trial.merit < bound:
                self.look(trial)
        return trials

    def look(self, trial: Trial) -> None:
        progress = self.progress
        if trial.sees and not trial.allowed and (progress.nearest is None or trial.excess < progress.nearest.excess):
            progress.nearest = trial
        if not trial.allowed or not self.promises(trial):
            return
        if not self.draws.covers(trial):
            if self.unsure is None or trial.criterion < self.unsure.criterion:
                self.unsure, self.bench.order = trial, trial.hardest
        else:
            progress.best = trial
            progress.bests = [*progress.bests[1 - KEPT_BESTS :], trial]
            progress.history.append((self.bench.simulations, time.perf_counter() - self.begun, trial.criterion))

    def promises(self, trial: Trial) -> bool:
        """Whether it may be better than the best: draws it was not tried at can only make it worse."""
        return self.progress.best is None or trial.criterion < self.progress.best.criterion

    @property
    def to_beat(self) -> float:
        return math.inf if self.progress.best is None else self.progress.best.merit

    def made_sure(self, trial: Trial, now: bool = True) -> Trial:
        """What to go on from: where it is due, the trial is tried at every draw of the prior."""
        if not self.draws.partly:
            return trial
        self.draws.put_first(trial)
        if not self.promises(trial):
            return trial
        if now or self.draws.due or trial.criterion <= self.spec.target:
            above, self.unsure = self.to_beat, None
            whole = self.draws.tried_everywhere(trial, above)
            self.look(whole)
            trial = self.draws.learn(whole, above)
            self.budget()
        return trial

    def count(self) -> None:
        self.progress.seconds, self.progress.simulations = time.perf_counter() - self.begun, self.bench.simulations

    def budget(self) -> None:
        """Tell how far it is, and end where the budget is used."""
        progress, spec = self.progress, self.spec
        self.count()
        progress.share = min(1.0, max(progress.seconds / spec.seconds, progress.simulations / spec.simulations))
        if self.watch:
            self.watch(progress)
        if progress.best is not None and progress.best.criterion <= spec.target:
            raise Ended(f"the target of {spec.target:g} is reached")
        if progress.seconds >= spec.seconds:
            raise Ended(f"{spec.seconds:g} s are used")
        last = self.draws.cost if self.unsure is not None else 0  # what making sure of it will take
        if progress.simulations + last >= spec.simulations:
            raise Ended(f"{spec.simulations} simulations are used")

    # ---- numbers ---------------------------------------------------------------------------------------------------

    def descend(self, trial: Trial) -> Trial:
        """Down the gradient within the bounds; few numbers go along the limits as well, by quadratic programs. Bits stay."""
        from scipy.optimize import minimize

        slope = Slope(self, trial)
        bounds, free = [(float(low), 1.0) for low in self.low[slope.free]], slope.free
        with contextlib.suppress(Settled):
            if self.few and trial.margins:
                limits = {"type": "ineq", "fun": slope.room, "jac": slope.room_gradient}
                options = {"maxiter": 60, "ftol": 0.1 * ENOUGH_DESCENT}
                minimize(slope.value, trial.x[free], jac=slope.gradient, method="SLSQP", bounds=bounds, constraints=limits,
                         options=options)  # fmt: skip
            else:
                options = {"maxiter": 200, "ftol": 1e-7}
                minimize(slope.merit, trial.x[free], jac=slope.merit_gradient, method="L-BFGS-B", bounds=bounds, options=options)
        return slope.best

    def wander(
        self, trial: Trial, length: float = FIRST_WANDER, last: float = LAST_WANDER, longer: float = WANDER_LONGER,
        shorter: float = WANDER_SHORTER,
    ) -> Trial:  # fmt: skip
        """Random steps, longer after one that helps and shorter after none: along limits, where a gradient has a kink."""
        import numpy as np

        free = np.flatnonzero(~self.binary)
        while length > last:
            candidates = []
            for _ in range(TOGETHER):
                x = trial.x.copy()
                some = free[self.random.uniform(size=len(free)) < self.random.uniform(0.1, 1.0)]
                x[some] = np.clip(x[some] + length * self.random.standard_normal(len(some)), self.low[some], 1.0)
                candidates.append(x)
            best = min(self.tried(candidates, trial.merit, others=False), key=lambda one: one.merit)
            length *= longer if best.merit < trial.merit else shorter
            trial = self.made_sure(min([trial, best], key=lambda one: one.merit), now=False)
        return trial

    # ---- bits ------------------------------------------------------------------------------------------------------

    def exchange(self, trial: Trial) -> Trial:
        """Try changed bits, several at a time; those that help are also tried together."""
        import numpy as np

        places = np.flatnonzero(self.binary)
        fruitless = 0
        while fruitless * TOGETHER < max(FRUITLESS * len(places), 40):
            moves = [self.move(trial.x, places) for _ in range(TOGETHER)]
            trials = self.tried([flipped(trial.x, move) for move in moves], trial.merit, others=False)
            good = sorted((k for k in range(TOGETHER) if trials[k].merit < trial.merit), key=lambda k: trials[k].merit)
            if not good:
                fruitless += 1
                continue
            before, trial, fruitless = trial, trials[good[0]], 0
            if len(good) > 1:
                union = np.unique(np.concatenate([moves[k] for k in good]))
                both = self.tried([flipped(before.x, union)], trial.merit, others=False)
                trial = min([trial, *both], key=lambda one: one.merit)
            trial = self.made_sure(trial, now=False)
        return trial

    def move(self, x: FloatArray, places: np.ndarray) -> np.ndarray:
        """Which bits to turn: one beside a switch, a single one, or a stretch."""
        import numpy as np

        kind = self.random.uniform()
        switches = np.flatnonzero(np.diff(x[places]))
        if kind < 0.5 and len(switches):
            place = int(self.random.choice(switches)) + int(self.random.integers(0, 2))
            return places[place : place + 1]
        if kind < 0.75:
            place = int(self.random.integers(0, len(places)))
            return places[place : place + 1]
        length = int(2 ** self.random.uniform(1.0, np.log2(max(4.0, len(places) / 4))))
        place = int(self.random.integers(0, max(1, len(places) - length)))
        return places[place : place + length]


def flipped(x: FloatArray, places: np.ndarray) -> FloatArray:
    result = x.copy()
    result[places] = -result[places]
    return result
