"""Simulation: one run of an experiment in progress, from its first tick to its record."""

from __future__ import annotations

import math
import time as wall
from collections.abc import Callable, Mapping
from typing import Any

from ..records.grid import Grid, Signal
from ..records.record import Record
from ..solvers import kernel, stores
from ..solvers.stores import LOG
from .beside import compile_beside, compiles_beside
from .experiment import Experiment
from .failures import InterruptedRun, failure
from .machine import fresh_machine
from .many.ahead import read_ahead, share_signals
from .noise import Draws, draw_noise
from .overrides import Overrides
from .pace import CHOSEN_STEPS, LOOK, Pace

#: Seconds that compiling (with so many for each character of the program, or, from disk, loading) is taken to cost when CPython
#: and compiled code are weighed, and that importing the compiler adds to either.
COMPILING, PER_CHARACTER, LOADING, IMPORTING = 0.03, 2e-5, 0.03, 0.15
#: Seconds under CPython that are not worth a look.
WARM = 0.05
#: Seconds under CPython after which another process begins to compile.
BESIDE = 0.5
#: How many times what compiling costs another process may take before this one begins as well.
BESIDE_PATIENCE = 4.0
#: Steps between looks at the clock.
FIRST_SLICE = 100
#: What a run counts of its work.
WORK_COUNTERS = {"steps": stores.STEPS, "rejected": stores.REJECTED, "evaluations": stores.EVALUATIONS, "events": stores.EVENTS}
Progress = Callable[[float], None]


def run_experiment(
    experiment: Experiment,
    changes: Mapping[str, Any] | None,
    noise: Draws,
    engine: str = "auto",
    progress: Progress | None = None,
    named: Mapping[str, Any] | None = None,
    limit: int | None = None,
) -> Record:
    """Experiment and noise -> Record: run the program from its first tick to its last, in at most `limit` steps.

    `named` are the changes as they were asked for, where parameters of the file stand for settings of blocks.
    """
    return Simulation(experiment, changes, noise, engine, named, limit).run(progress)


class Simulation:
    """A run in progress. `step` carries it on, `set_input` and `set` change it in between, `record` is what it logged."""

    def __init__(
        self,
        experiment: Experiment,
        changes: Mapping[str, Any] | None = None,
        noise: Draws | None = None,
        engine: str = "auto",
        named: Mapping[str, Any] | None = None,
        limit: int | None = None,
    ):
        self.experiment, self.engine = experiment, engine
        self.limit = max(CHOSEN_STEPS, 4 * experiment.length) if limit is None else limit
        self.params = dict(changes or {})
        self.named = self.params if named is None or self.params.keys() <= named.keys() else dict(named)
        noise = draw_noise(experiment) if noise is None else noise
        self.seed, self.end = noise.seed, experiment.clock.end
        numbers = Overrides(self.params).numbers(experiment)
        noise.address(experiment, numbers.o)
        self.machine = fresh_machine(experiment.blank, numbers, noise.values)
        if experiment.program.compiled and engine != "python" and experiment.method.compiled:
            share_signals(experiment, [self.machine])

    # ---- running ---------------------------------------------------------------------------------------------------

    @property
    def t(self) -> float:
        """The time reached."""
        clock, f = self.machine.clock, self.machine.f
        return float(f[stores.NOW]) if clock[stores.HANDLED] else self.experiment.clock.seconds(int(clock[stores.TICK]))

    def run(self, progress: Progress | None = None) -> Record:
        """Run to the end; a run that fails raises SimulationError with the record so far, and so does an interrupted one."""
        try:
            if not self.experiment.method.compiled:
                from .scipy_bridge import advance_scipy

                status = advance_scipy(self, progress)
            else:
                status = self.run_to(self.end, progress)
        except KeyboardInterrupt as interrupt:
            raise InterruptedRun(self.t, self.record()) from interrupt
        self.raise_failure(status)
        return self.record()

    def raise_failure(self, status: int) -> None:
        """What ended the run, with the record so far."""
        if status:
            error = failure(self.experiment, self.machine, status)
            error.record = self.record()
            raise error

    def run_to(self, end: int, progress: Progress | None = None) -> int:
        """Carry on to a tick, in CPython or compiled, whichever is sooner done; both give the same bits."""
        machine, program = self.machine, self.machine.program
        self.weigh(0.0)
        used = float(machine.f[stores.STEPS])
        if progress is None and (self.engine == "compiled" or (self.engine == "auto" and program.compiled)):
            machine.f[stores.BUDGET] = used + min(LOOK, self.limit)
            status = machine.run_fast(end)
            if status != kernel.PAUSED:
                return status
        pace = Pace(used + self.limit, float(machine.f[stores.STEPS]), self.t)
        last = self.experiment.clock.seconds(end)
        slice_steps = float(FIRST_SLICE)
        first, fraction_begun = wall.perf_counter(), self.fraction(end)
        while True:
            fast = self.engine == "compiled" or (self.engine == "auto" and program.compiled)
            unwatched = fast and progress is None
            machine.f[stores.BUDGET] = pace.next if unwatched else min(machine.f[stores.STEPS] + slice_steps, pace.next)
            started = wall.perf_counter()
            status = machine.run_fast(end) if fast else machine.run_plain(end)
            spent = wall.perf_counter() - started
            program.code.spent += 0.0 if fast else spent
            if status != kernel.PAUSED:
                if progress:
                    progress(1.0)
                return status
            if pace.stuck(machine.f, last):
                return kernel.STANDSTILL
            done = self.fraction(end)
            if progress:
                progress(done)
            slice_steps *= 2.0 if spent < 0.1 else 1.0
            if self.engine == "auto" and not fast:
                elapsed = wall.perf_counter() - first
                gained = done - fraction_begun
                self.weigh(elapsed * (1.0 - done) / gained if gained > 0.0 else 10.0 * elapsed)

    def weigh(self, left: float) -> None:
        """Compile where what is left of this run, or what all runs of the program took so far, costs more than compiling."""
        program = self.machine.program
        worth = max(left, program.code.spent)
        if self.engine != "auto" or program.compiled or worth < WARM:
            return
        if worth > self.cost_of_compiling() * (BESIDE_PATIENCE if compiles_beside(program.code) else 1.0):
            program.fast()
        elif worth > BESIDE and not program.cached():
            compile_beside(program.code)

    def fraction(self, end: int) -> float:
        clock = self.experiment.clock
        start, stop = clock.seconds(clock.start), clock.seconds(end)
        return (self.t - start) / (stop - start) if stop > start else 1.0

    def cost_of_compiling(self) -> float:
        import sys

        program = self.machine.program
        importing = 0.0 if "llvmlite.binding" in sys.modules else IMPORTING
        return importing + (LOADING if program.cached() else COMPILING + PER_CHARACTER * len(program.code.text))

    # ---- by hand ---------------------------------------------------------------------------------------------------

    def step(self, seconds: float | None = None) -> float:
        """Carry on to the next sample hit (or log instant), or by some seconds; gives the time reached."""
        machine, clock = self.machine, self.experiment.clock
        now = int(machine.clock[stores.TICK])
        if machine.clock[stores.HANDLED] == 0:
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
        self.raise_failure(self.run_to(target))
        return self.t

    def set(self, name: str, value: float) -> None:
        """Change a parameter from now on: sim.set("plant.J", 0.02)."""
        Overrides({name: value}).into_running(self.experiment, self.machine.p)
        read_ahead(self.experiment, self.machine, None)
        self.machine.f[stores.FRESH] = 0.0

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
            for name, column, size, unit, port, steady in columns:
                first = start + column * rows
                values = machine.record[first : first + filled * size]
                signals[name] = Signal(
                    values if size == 1 else values.reshape(filled, size), unit, port.doc, port.measured, steady
                )
            grids.append(Grid.trusted(experiment.instants(j, filled), signals))
        return Record(grids, self.provenance(), experiment.aliases)

    def provenance(self) -> dict[str, Any]:
        """What it takes to run this again."""
        work = {name: int(self.machine.f[place]) for name, place in WORK_COUNTERS.items()}
        own = {"parameters": {n: plain(v) for n, v in self.named.items()}, "seed": self.seed, "work": work}
        return {**self.experiment.origin, **own}


def plain(value: Any) -> Any:
    return value.tolist() if hasattr(value, "tolist") else value
