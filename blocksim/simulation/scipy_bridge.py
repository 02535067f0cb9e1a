"""scipy's solvers on the same program: the independent reference, with the same hits, events and log grid.

scipy's steps and scipy's dense output take the place of the program's own; everything else is the program, under CPython.
"""

from __future__ import annotations

import warnings
from typing import TYPE_CHECKING, Any

from ..solvers import kernel, stores
from .pace import SCIPY_LOOK, Pace

if TYPE_CHECKING:
    from .simulation import Progress, Simulation


class Bridge:
    """One run: the program's functions, with scipy in place of `integrate` and `interpolate`."""

    def __init__(self, sim: Simulation, progress: Progress | None):
        import scipy.integrate

        self.sim, self.progress = sim, progress
        self.begin = int(sim.machine.clock[stores.TICK])
        self.functions = sim.machine.program.code.namespace()
        self.functions.update(integrate=self.integrate, interpolate=self.interpolate)
        self.stepper = getattr(scipy.integrate, sim.experiment.method.method)
        self.loops = bool(sim.machine.program.source.loops)
        self.inside: Any = None  # the dense output of the step just made
        clock = sim.experiment.clock
        self.last = clock.seconds(sim.end)
        self.pace = Pace(sim.limit, 0.0, clock.seconds(self.begin), SCIPY_LOOK)

    def run(self) -> int:
        return self.sim.machine.interpret(self.functions["advance"], self.sim.end)

    def interpolate(self, theta: float, now: float, h: float, f: Any, k: Any, y: Any, z: Any, *rest: Any) -> None:
        z[:] = self.inside(now + theta * h).tolist()

    def stretch(self, now: float, t1: float, f: list[float], x: list[float], rest: tuple[Any, ...]) -> Any:
        """scipy's solver at the begin of a stretch without events."""
        import numpy as np

        def slope(t: float, x: Any) -> list[float]:
            dx = [0.0] * len(x)
            self.functions["derivative"](t, dx, x.tolist(), *rest)
            f[stores.EVALUATIONS] += 1.0
            return dx

        tolerance = {"rtol": f[stores.RTOL], "atol": f[stores.ATOL], "max_step": f[stores.H_MAX]}
        return self.stepper(slope, now, np.array(x), t1, **tolerance)

    def integrate(self, t: float, t1: float, stop: int, *given: Any) -> int:
        """From t to t1 with located events and log rows, as the program's own; 0, or why it failed."""
        f, x, rest, m = store_called(given, "f"), store_called(given, "x"), after(given, "x"), store_called(given, "m")
        solver: Any = None
        while f[stores.NOW] < t1:
            try:
                solver = solver or self.stretch(f[stores.NOW], t1, f, x, rest)
                solver.step()
            except (ValueError, ArithmeticError):  # scipy's linear algebra refuses nan and inf
                return kernel.TOLERANCE
            f[stores.STEPS] += 1.0
            if self.loops and m[-1] > 0.0:
                return kernel.LOOP
            if solver.status == "failed" or not solver.t > solver.t_old:  # LSODA goes on without moving
                return kernel.TOLERANCE
            self.inside = solver.dense_output()
            status, event = self.accept(solver, stop, *given)
            if status:
                return status
            if self.pace.stuck(f, self.last):
                return kernel.STANDSTILL
            if event:
                solver = None
        if self.progress:
            self.progress((stop - self.begin) / (self.sim.end - self.begin))
        return 0

    def accept(self, solver: Any, stop: int, *given: Any) -> tuple[int, bool]:
        """Events, rows and the new state of one step of scipy's: (why it failed or 0, whether an event ended the step)."""
        functions = self.functions
        g, armed, f, k, y, x, rest = (*(store_called(given, n) for n in ("g", "armed", "f", "k", "y", "x")), after(given, "x"))
        now, h = solver.t_old, solver.t - solver.t_old
        y[:] = solver.y.tolist()
        if not functions["credible"](y, len(y), kernel.STATE_STRETCH):
            return kernel.DIVERGED, False
        theta = functions["crossing"](now, h, f, k, y, g, armed, x, *rest) if g else 2.0
        if theta < 0.0:
            return kernel.CHATTERING, False
        event = theta <= 1.0
        then = now + theta * h if event else float(solver.t)
        if "rows" in functions:
            functions["rows"](now, h, then, event, stop, *given)
        if event:
            y[:] = self.inside(then).tolist()
        f[stores.NOW], x[:] = then, y
        if event and "retain" in functions:
            functions["retain"](then, x, *rest)
        if event and (functions["settle"](then, g, armed, f, x, *rest) < 0 or not functions["count_event"](then, f)):
            return kernel.CHATTERING, True
        return 0, event


def store_called(passed: tuple[Any, ...], name: str) -> Any:
    """A store by its name among those handed to `advance`."""
    return passed[stores.NAMES.index(name)]


def after(result: tuple[Any, ...], name: str) -> tuple[Any, ...]:
    return result[stores.NAMES.index(name) + 1 :]


def advance_scipy(sim: Simulation, progress: Progress | None = None) -> int:
    """Run a simulation to its end with one of scipy's methods; 0, or why it ended early."""
    import numpy as np

    if not len(sim.machine.x):  # nothing to integrate: only hits and events in time
        return sim.run_to(sim.end, progress)
    with np.errstate(all="ignore"), warnings.catch_warnings():
        warnings.simplefilter("ignore")  # LSODA says in passing what the failure says in words
        return Bridge(sim, progress).run()
