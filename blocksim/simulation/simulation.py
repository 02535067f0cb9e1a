"""Simulation: one run of an experiment in progress, from its first tick to its record."""

from __future__ import annotations

import math
import time as wall
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from ..compiler.instants import LOG
from ..contract.declarations import State
from ..errors import DiagramError, RecordError
from ..records.grid import Grid, Signal
from ..records.record import Record
from ..solvers import SCIPY, kernel
from .experiment import MAX_BYTES, MAX_STEPS, Experiment
from .failures import failure
from .machine import Machine, blank_machine, fresh_machine
from .noise import draw, generator
from .overrides import changed_numbers, find_setting, shaping, used_in_tables

if TYPE_CHECKING:
    import numpy as np

#: Seconds that compiling (or, from disk, loading) is taken to cost when CPython and compiled code are weighed.
COMPILING, PER_BLOCK, LOADING, WARM = 2.5, 0.01, 0.7, 0.15
#: Steps between looks at the clock.
FIRST_SLICE = 100
#: What a run counts of its work.
WORK = {"steps": kernel.STEPS, "rejected": kernel.REJECTED, "evaluations": kernel.EVALUATIONS, "events": kernel.EVENTS}
Progress = Callable[[float], None]


class Simulation:
    """A run in progress. `step` carries it on, `set_input` and `set` change it in between, `record` is what it logged."""

    def __init__(
        self,
        experiment: Experiment,
        params: dict[str, Any] | None = None,
        seed: int | None = None,
        engine: str = "auto",
        stop: float | None = None,
        limit: int = MAX_STEPS,
    ):
        self.experiment = experiment
        self.engine = engine
        self.seed = experiment.options.seed if seed is None else seed
        self.params = params or {}
        self.end = experiment.clock.end if stop is None else math.floor(stop / experiment.clock.base + 1e-9)
        self.rows = self.check_length(limit)
        self.machine = self.make_machine()
        self.finished = False

    # ---- preparation -----------------------------------------------------------------------------------------------

    def check_length(self, limit: int) -> list[int]:
        """Rows of every log grid; refuse what cannot end or fit."""
        clock = self.experiment.clock
        if (self.end, limit) in self.experiment.checked:
            return self.experiment.checked[(self.end, limit)]
        span = self.end - clock.start
        steps = max([span // p for _, p in clock.hits] + ([span // clock.step] if clock.step else []) + [0])
        if steps > limit:
            raise DiagramError(
                f"this run takes {steps:.3g} steps, more than the limit of {limit:.3g}: shorten it, or ask for more with limit=."
            )
        rows = [span // period + 1 for _, period in clock.logs]
        size = 8 * sum(n * g.width for n, g in zip(rows, self.experiment.logs, strict=True))
        if size > MAX_BYTES:
            raise DiagramError(
                f"the log of this run takes {size / 2**30:.1f} GiB, more than {MAX_BYTES / 2**30:.0f}: log less (log:) or more "
                "seldom (simulate: {every: ...})."
            )
        self.experiment.checked[(self.end, limit)] = rows
        return rows

    def make_machine(self) -> Machine:
        experiment = self.experiment
        numbers = changed_numbers(experiment, self.params)
        blank = experiment.blank if self.end == experiment.clock.end else blank_machine(experiment, self.end, self.rows)
        return fresh_machine(blank, numbers, self.draw_noise(numbers.o))

    def draw_noise(self, o: np.ndarray) -> np.ndarray:
        """Every random number of the run; o says where each stream starts."""
        import numpy as np

        clock, position = self.experiment.clock, 0
        counts = [max((self.end - clock.hits[g][0]) // clock.hits[g][1] + 1, 0) for g in self.experiment.stream_groups]
        noise = np.empty(sum(counts))
        for (owner, kind, address), count in zip(self.experiment.slots.streams, counts, strict=True):
            draw(generator(self.seed, owner), kind, noise[position : position + count])
            o[address] = position
            position += count
        return noise

    # ---- running ---------------------------------------------------------------------------------------------------

    @property
    def t(self) -> float:
        """The time reached."""
        machine = self.machine
        return float(machine.f[kernel.NOW]) if machine.clock[1] else self.experiment.clock.seconds(int(machine.clock[0]))

    def run(self, progress: Progress | None = None) -> Record:
        """Run to the end; a run that fails raises SimulationError with the record so far."""
        if self.experiment.options.solver in SCIPY:
            from .scipy_bridge import advance_scipy

            status = advance_scipy(self, progress)
        else:
            status = self.run_to(self.end, progress)
        self.finished = True
        if status:
            error = failure(self.experiment, self.machine, status)
            error.record = self.record()
            raise error
        return self.record()

    def run_to(self, end: int, progress: Progress | None = None) -> int:
        """Carry on to a tick, in CPython or compiled, whichever is sooner done; both give the same bits."""
        machine, program = self.machine, self.machine.program
        if progress is None and (self.engine == "compiled" or (self.engine == "auto" and program.compiled)):
            machine.f[kernel.BUDGET] = math.inf
            return machine.run_fast(end)
        slice_steps = float(FIRST_SLICE)
        begun, fraction_begun = wall.perf_counter(), self.fraction(end)
        while True:
            fast = self.engine == "compiled" or (self.engine == "auto" and program.compiled)
            machine.f[kernel.BUDGET] = machine.f[kernel.STEPS] + slice_steps
            started = wall.perf_counter()
            status = machine.run_fast(end) if fast else machine.run_plain(end)
            spent = wall.perf_counter() - started
            if status != kernel.PAUSED:
                if progress:
                    progress(1.0)
                return status
            done = self.fraction(end)
            if progress:
                progress(done)
            slice_steps *= 2.0 if spent < 0.1 else 1.0
            if self.engine == "auto" and not fast and done > fraction_begun:
                elapsed = wall.perf_counter() - begun
                left = elapsed * (1.0 - done) / (done - fraction_begun)
                if left > self.cost_of_compiling():
                    program.fast()

    def fraction(self, end: int) -> float:
        clock = self.experiment.clock
        start, stop = clock.seconds(clock.start), clock.seconds(end)
        return (self.t - start) / (stop - start) if stop > start else 1.0

    def cost_of_compiling(self) -> float:
        import sys

        if self.machine.program.cached():
            return WARM if "numba" in sys.modules else LOADING
        return COMPILING + PER_BLOCK * len(self.experiment.schedule.units)

    # ---- by hand ---------------------------------------------------------------------------------------------------

    def step(self, seconds: float | None = None) -> float:
        """Carry on to the next sample hit (or log instant), or by some seconds; gives the time reached."""
        machine, clock = self.machine, self.experiment.clock
        now = int(machine.clock[0])
        if machine.clock[1] == 0:
            target = now
        elif seconds is not None:
            from ..contract.times import exact

            target = now + max(1, math.floor(exact(seconds) / clock.base))
        else:
            upcoming = [int(machine.hits[2 * g]) for g in range(len(clock.hits))] or [
                int(machine.logs[LOG * j]) for j in range(len(clock.logs))
            ]
            target = min(upcoming, default=self.end)
        target = min(target, self.end)
        status = self.run_to(target)
        if status:
            error = failure(self.experiment, self.machine, status)
            error.record = self.record()
            raise error
        return self.t

    def set(self, name: str, value: float) -> None:
        """Change a parameter from now on: sim.set("plant.J", 0.02)."""
        unit, key = find_setting(self.experiment.schedule, name)
        addresses = self.experiment.slots.where.get((unit.index, key))
        shapes = shaping(self.experiment, {name: value}) or used_in_tables(unit, key)
        if addresses is None or shapes or isinstance(unit.kind.declared[key], State):
            raise DiagramError(f"'{name}' cannot change while the simulation runs.")
        self.machine.p[addresses] = value
        self.machine.f[kernel.FRESH] = 0.0

    def set_input(self, name: str, value: Any) -> None:
        """Drive a Constant from outside: sim.set_input("u", 0.3)."""
        self.set(f"{name}.value", value)

    def get(self, name: str) -> Any:
        """The last logged value of a signal."""
        return self.record()[name][-1]

    # ---- results ---------------------------------------------------------------------------------------------------

    def record(self) -> Record:
        """What has been logged so far, as views of the log."""
        experiment, machine = self.experiment, self.machine
        grids = []
        for j, columns in enumerate(experiment.columns):
            _, _, filled, rows, start = machine.logs[LOG * j : LOG * (j + 1)].tolist()
            signals = {}
            for name, column, size, unit, port, held in columns:
                first = start + column * rows
                values = machine.log[first : first + filled * size]
                signals[name] = Signal(values if size == 1 else values.reshape(filled, size), unit, port.doc, port.measured, held)
            grids.append(Grid.trusted(experiment.instants(j, filled), signals))
        return Record(grids, self.provenance(), experiment.aliases)

    def provenance(self) -> dict[str, Any]:
        """What it takes to run this again."""
        work = {name: int(self.machine.f[place]) for name, place in WORK.items()}
        stop = (
            str(self.experiment.clock.base * self.end)
            if self.end != self.experiment.clock.end
            else self.experiment.origin["stop"]
        )
        own = {"parameters": {n: plain(v) for n, v in self.params.items()}, "seed": self.seed, "stop": stop, "work": work}
        return {**self.experiment.origin, **own}


def plain(value: Any) -> Any:
    return value.tolist() if hasattr(value, "tolist") else value


__all__ = ["Progress", "RecordError", "Simulation"]
