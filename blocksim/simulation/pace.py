"""Pace: how fast a run gets on, and whether it will end within the steps it may take."""

from __future__ import annotations

from typing import Any

from ..solvers import stores

#: Steps that a run may take of its own choice, unless `limit=` says otherwise: minutes of them.
CHOSEN_STEPS = 10**8
#: Steps between looks at the pace of a run: compiled or under CPython, and with scipy's solvers, which are far slower.
LOOK, SCIPY_LOOK = 1_000_000, 50_000


class Pace:
    """Watches a run: it is stuck when it has used up its steps, or would at the pace of its last stretch of steps."""

    def __init__(self, most: float, steps: float, t: float, every: int | None = None):
        self.most = most  # the number of steps at which it ends
        self.every = every or LOOK
        self.steps, self.t = steps, t  # at the last look

    @property
    def next(self) -> float:
        """The number of steps at which to look again."""
        return min(self.steps + self.every, self.most)

    def stuck(self, f: Any, end: float) -> bool:
        """Whether a run that is to end at that time gets nowhere, seen from the solver's numbers."""
        steps, t = float(f[stores.STEPS]), float(f[stores.NOW])
        if steps < self.next:
            return False
        if steps >= self.most:
            return t < end
        slow = (t - self.t) * (self.most - steps) < (end - t) * (steps - self.steps)
        self.steps, self.t = steps, t
        return slow
