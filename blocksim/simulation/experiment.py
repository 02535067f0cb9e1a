"""Experiment: a diagram made ready to run, with its program, its clock and the numbers of its blocks.

Making one costs milliseconds and fixes the structure; parameters, initial values, seed and stop time change per run.
"""

from __future__ import annotations

import functools
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

from .. import __version__
from ..compiler.codegen import generate
from ..compiler.program import Program, code_of
from ..compiler.slots import Numbers, fill
from ..contract.declarations import Memory, Outport, State
from ..diagram.diagram import Diagram
from ..diagram.spec import SimulateSpec
from ..errors import DiagramError, Problem, did_you_mean, listing
from ..schedule.clock import Clock, exact_times, key_place, make_clock
from ..schedule.flatten import flatten
from ..schedule.logs import log_groups
from ..schedule.schedule import LogGroup, Schedule
from ..schedule.true_outputs import true_outputs
from ..schedule.units import infer_units
from ..solvers import DEFAULT, SCIPY, check_solver
from .machine import Machine, blank_machine

if TYPE_CHECKING:
    import numpy as np

#: Refused above, unless `limit=` asks for more: steps (or log rows) of one run.
MAX_STEPS = 10**9
MAX_BYTES = 4 * 2**30


@dataclass
class Experiment:
    """A diagram with its program. `run` options: see `blocksim.simulate`."""

    diagram: Diagram
    schedule: Schedule
    program: Program
    options: SimulateSpec
    clock: Clock
    logs: list[LogGroup]
    numbers: Numbers
    grid_times: dict[int, np.ndarray] = field(default_factory=dict)
    checked: dict[tuple[int, int], list[int]] = field(default_factory=dict)  # rows of lengths found to be possible
    direct: dict[str, Any] = field(default_factory=dict)  # settings that are a plain number, with their places

    @property
    def slots(self) -> Any:
        return self.program.source.slots

    @functools.cached_property
    def text(self) -> str:
        """The diagram as YAML, for the provenance of every record; '' where a part made in Python has no text."""
        from ..diagram.loader import dump

        try:
            return dump(self.diagram)
        except DiagramError:
            return ""

    @functools.cached_property
    def origin(self) -> dict[str, Any]:
        """What the provenance of every run says of the experiment."""
        options, clock = self.options, self.clock
        written = {n: None if (v := getattr(options, n)) is None else str(v) for n in ("step", "every")}
        kept = {n: getattr(options, n) for n in ("solver", "rtol", "atol", "max_step", "algebraic_loops")}
        times = {"start": str(clock.base * clock.start), "stop": str(clock.base * clock.end)}
        named = {"name": self.diagram.name, "diagram": self.text, "path": self.diagram.path, "version": __version__}
        return {**named, **kept, **written, **times}

    @functools.cached_property
    def blank(self) -> Machine:
        """A machine at the start of the run, to be copied for each."""
        span = self.clock.end - self.clock.start
        return blank_machine(self, self.clock.end, [span // period + 1 for _, period in self.clock.logs])

    @functools.cached_property
    def stream_groups(self) -> list[int]:
        """For each stream of noise, the sample group of the block that draws from it."""
        groups = {u.path: u.group for u in self.schedule.units if u.group is not None}
        return [groups[owner.path] for owner, _, _ in self.slots.streams]

    @functools.cached_property
    def columns(self) -> list[list[tuple[str, int, int, str, Outport, bool]]]:
        """For each log grid, its signals: name, first column, size, unit, port, whether it holds between samples."""
        units, grids = self.schedule.units, []
        named, unknown = infer_units(self.schedule), true_outputs(self.schedule)
        for group in self.logs:
            column, signals = 0, []
            for name, elements in group.signals:
                unit = units[elements[0][0]]
                port = elements[0][1]
                declared = replace(unit.kind.of(Outport)[port], measured=not any(e[:2] in unknown for e in elements))
                signals.append((name, column, len(elements), named[(unit.index, port)], declared, unit.kind.sampled))
                column += len(elements)
            grids.append(signals)
        return grids

    def instants(self, j: int, rows: int) -> np.ndarray:
        """The times of the first rows of a log grid; computed once, copied for each record."""
        known = self.grid_times.get(j)
        if known is None or len(known) < rows:
            import numpy as np

            first, every = self.clock.logs[j]
            known = (first + every * np.arange(rows)) * self.clock.base.numerator / self.clock.base.denominator
            self.grid_times[j] = known
        return known[:rows].copy()

    @functools.cached_property
    def aliases(self) -> dict[str, str]:
        """Blocks with one output, which may be named without it."""
        single = {u.path: list(u.kind.of(Outport)) for u in self.schedule.units}
        return {path: f"{path}.{ports[0]}" for path, ports in single.items() if len(ports) == 1}


def make_experiment(diagram: Diagram, **options: Any) -> Experiment:
    """Flatten, fix the clock, write the program. Options override the diagram's `simulate:`."""
    settings = merge(diagram, options)
    schedule = flatten(replace_simulate(diagram, settings))
    solver = check_solver_at(diagram, settings.solver or DEFAULT)
    moving = any(not isinstance(d, Memory) for u in schedule.units for d in u.kind.of(State).values())
    times = exact_times(diagram, settings, schedule, solver, moving)
    logs = log_groups(diagram, schedule, times["every"])
    clock = make_clock(schedule, times, logs)
    for group, (first, period) in zip(logs, clock.logs, strict=True):
        group.follows = next((g for g, hit in enumerate(clock.hits) if hit == (first, period)), None)
    written = DEFAULT if solver in SCIPY else solver  # scipy's solvers use the program's functions, not its driver
    source = generate(schedule, logs, written)
    settings = replace(settings, solver=solver)
    return Experiment(
        diagram, schedule, Program(source, code_of(source.text, written)), settings, clock, logs, fill(schedule, source.slots)
    )


def merge(diagram: Diagram, options: Mapping[str, Any]) -> SimulateSpec:
    known = SimulateSpec.__dataclass_fields__
    for name in options:
        if name not in known:
            raise DiagramError(f"there is no option '{name}'. Options are: {listing(known)}." + did_you_mean(name, known))
    return replace(diagram.simulate, **{n: v for n, v in options.items() if v is not None})


def replace_simulate(diagram: Diagram, settings: SimulateSpec) -> Diagram:
    return replace(diagram, simulate=settings)


def check_solver_at(diagram: Diagram, name: str) -> str:
    try:
        return check_solver(name)
    except DiagramError as error:
        raise DiagramError([Problem(p.what, key_place(diagram, "simulate.solver")) for p in error.problems]) from None
