"""Pace: how fast a run gets on, and whether it will end within the steps it may take."""

from __future__ import annotations

from typing import Any

from ..solvers import stores

#: Steps that a run may take of its own choice, unless `limit=` says otherwise: minutes of them.
PATIENCE = 10**8
#: Steps between looks at the pace of a run: compiled or under CPython, and with scipy's solvers, which are far slower.
LOOK, SCIPY_LOOK = 1_000_000, 50_000


class Pace:
    """Watches a run: it is stuck when it has used up its steps, or would at the pace of its last stretch of steps."""

    def __init__(self, limit: int, start: float, every: int | None = None):
        self.limit = limit
        self.every = min(every or LOOK, limit)
        self.steps, self.t = 0.0, start

    @property
    def next(self) -> float:
        """The number of steps at which to look again."""
        return self.steps + self.every

    def stuck(self, f: Any, end: float) -> bool:
        """Whether a run that is to end at that time gets nowhere, seen from the solver's numbers."""
        steps, t = float(f[stores.STEPS]), float(f[stores.NOW])
        if steps < self.next:
            return False
        if steps >= self.limit and t < end:
            return True
        slow = (t - self.t) * self.limit < (end - t) * (steps - self.steps)
        self.steps, self.t = steps, t
        return slow
