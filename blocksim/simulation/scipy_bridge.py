"""scipy's solvers on the same program: the independent reference, with the same hits, events and log grid.

Between two sample hits `solve_ivp` integrates, locates events and interpolates by its own means; the program's functions
`hit`, `derivative`, `guards` and `reset` run under CPython.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from ..solvers import kernel
from ..solvers.driver import LOG

if TYPE_CHECKING:
    from .simulation import Progress, Simulation

#: Clusters of events closer than this, relative to the time, count as chattering (as in the compiled driver).
NEAR, MANY = 1e-9, 100


class Bridge:
    """One run: the stores as lists, and the program's functions bound to them."""

    def __init__(self, sim: Simulation):
        self.sim, self.machine = sim, sim.machine
        self.functions = self.machine.program.careful()
        self.method = str(sim.experiment.options.solver).partition(":")[2]
        m = self.machine
        self.clock, self.hits, self.logs = m.clock.tolist(), m.hits.tolist(), m.logs.tolist()
        self.g, self.armed, self.f = m.g.tolist(), m.armed.tolist(), m.f.tolist()
        self.x, self.rest = m.x.tolist(), (m.p.tolist(), m.m.tolist(), m.a, m.noise, m.o.tolist())
        self.states, self.guards = len(self.x), len(self.g)
        self.events = 0

    def seconds(self, tick: int) -> float:
        return float(self.functions["seconds"](tick, self.clock))

    def hit(self, tick: int, t: float, x: list[float]) -> int:
        return int(
            self.functions["hit"](tick, t, self.hits, self.logs, self.machine.log, self.g, self.armed, self.f, x, *self.rest)
        )

    def settle(self, t: float) -> int:
        return int(self.functions["settle"](t, self.g, self.armed, self.f, self.x, *self.rest)) if self.guards else 0

    def slope(self, t: float, x: Any) -> list[float]:
        dx = [0.0] * self.states
        self.functions["derivative"](t, dx, x.tolist(), *self.rest)
        self.f[kernel.EVALUATIONS] += 1.0
        return dx

    def margin(self, i: int) -> Callable[[float, Any], float]:
        """Guard i as an event of solve_ivp: ends the integration when the margin falls through zero."""

        def event(t: float, x: Any) -> float:
            self.functions["guards"](t, self.g, x.tolist(), *self.rest)
            return float((self.armed[self.guards + i] or 1.0) * self.g[i])

        event.terminal, event.direction = True, -1  # type: ignore[attr-defined]
        return event

    def integrate(self, t: float, t1: float, stop: int) -> int:
        """From t to t1 with events and log rows; 0, or why it failed."""
        import numpy as np
        from scipy.integrate import solve_ivp

        now = t
        while now < t1:
            try:
                found = solve_ivp(
                    self.slope,
                    (now, t1),
                    np.array(self.x),
                    method=self.method,
                    rtol=self.f[kernel.RTOL],
                    atol=self.f[kernel.ATOL],
                    max_step=self.f[kernel.H_MAX],
                    dense_output=True,
                    events=[self.margin(i) for i in range(self.guards)],
                )
            except (ValueError, ArithmeticError):  # scipy's linear algebra refuses nan and inf
                found = None
            if found is None or found.status < 0 or not all(map(math.isfinite, found.y[:, -1])):
                self.f[kernel.NOW] = now if found is None else float(found.t[-1])
                self.machine.y[:] = math.nan if found is None else found.y[:, -1]
                return kernel.DIVERGED if found is None or found.status >= 0 else kernel.TOLERANCE
            then = float(found.t[-1])
            self.log_rows(found.sol, then, stop)
            self.x[:] = found.y[:, -1].tolist()
            self.f[kernel.STEPS] += len(found.t) - 1
            self.f[kernel.NOW] = now = then
            if found.status == 1:
                status = self.fire(next(i for i, times in enumerate(found.t_events) if len(times)), now)
                if status:
                    return status
        return 0

    def log_rows(self, solution: Any, then: float, stop: int) -> None:
        for j in range(0, len(self.logs), LOG):
            while self.logs[j] < stop and self.seconds(self.logs[j]) <= then:
                at = self.seconds(self.logs[j])
                self.hit(self.logs[j], at, solution(at).tolist())

    def fire(self, i: int, t: float) -> int:
        """Apply the reset of a located event, then whatever follows from it."""
        close = t - self.f[kernel.EVENT] < NEAR * max(1.0, abs(t))
        self.f[kernel.COUNTED] = self.f[kernel.COUNTED] + 1.0 if close else 0.0
        self.f[kernel.EVENT], self.f[kernel.FIRED] = t, float(i)
        self.f[kernel.EVENTS] += 1.0
        if self.armed[2 * self.guards + i] == 0.0:
            self.armed[self.guards + i] = -self.armed[self.guards + i]
        else:
            self.armed[i] = 0.0
        self.functions["reset"](i, t, self.x, *self.rest)
        return kernel.CHATTERING if self.settle(t) < 0 or self.f[kernel.COUNTED] >= MANY else 0

    def advance(self, end: int, progress: Progress | None) -> int:
        """The same loop as the compiled driver's."""
        start = self.clock[kernel.TICK]
        while True:
            tick = self.clock[kernel.TICK]
            t = self.f[kernel.NOW] = self.seconds(tick)
            if self.settle(t) < 0:
                return kernel.CHATTERING
            status = self.hit(tick, t, self.x)
            if status:
                return status
            if not all(map(math.isfinite, self.rest[1])):
                return kernel.DIVERGED
            self.clock[kernel.HANDLED] = 1
            if tick >= end:
                return 0
            stop = min([end, *self.hits[::2]])
            status = self.integrate(t, self.seconds(stop), stop)
            if status:
                return status
            self.clock[kernel.TICK], self.clock[kernel.HANDLED] = stop, 0
            if progress:
                progress((stop - start) / (end - start))

    def finish(self) -> None:
        """Back into the machine's arrays, so that the record and the failure are read as always."""
        m = self.machine
        m.clock[:], m.hits[:], m.logs[:], m.x[:] = self.clock, self.hits, self.logs, self.x
        m.f[: len(self.f)], m.m[:] = self.f, self.rest[1]


def advance_scipy(sim: Simulation, progress: Progress | None = None) -> int:
    """Run a simulation to its end with one of scipy's methods; 0, or why it ended early."""
    import numpy as np

    with np.errstate(all="ignore"):
        if not len(sim.machine.x):  # nothing to integrate: only hits and events in time
            return sim.run_to(sim.end, progress)
        bridge = Bridge(sim)
        try:
            return bridge.advance(sim.end, progress)
        finally:
            bridge.finish()
