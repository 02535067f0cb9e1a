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
from ..compiler.program import Program, compile_program
from ..compiler.slots import Numbers, fill
from ..contract.declarations import Memory, Outport, State
from ..diagram.checks import raise_all, simulate_problems
from ..diagram.diagram import Diagram
from ..diagram.spec import SimulateSpec
from ..errors import DiagramError, Place, Problem, did_you_mean, listing
from ..schedule.clock import RunClock, exact_times, key_place, make_clock
from ..schedule.flatten import flatten
from ..schedule.logs import log_groups
from ..schedule.schedule import LogGroup, Schedule
from ..schedule.true_outputs import true_outputs
from ..schedule.units import infer_units
from ..solvers import DEFAULT, find_solver
from .machine import Machine, blank_machine
from .many.ahead import SharedSignals

if TYPE_CHECKING:
    import numpy as np

    from .remembering.opened import OpenedDiagram

#: Refused above: steps of one run, unless `limit=` asks for more, and bytes of its log, noise and tables together.
MAX_STEPS = 10**9
MAX_BYTES = 4 * 2**30


@dataclass
class Experiment:
    """A diagram with its program. `run` options: see `blocksim.simulate`."""

    diagram: Diagram
    schedule: Schedule
    program: Program
    options: SimulateSpec
    clock: RunClock
    logs: list[LogGroup]
    numbers: Numbers
    grid_times: dict[int, np.ndarray] = field(default_factory=dict)
    places: dict[str, Any] = field(default_factory=dict)  # of settings that are a plain number; see `overrides`
    free: dict[str, bool] = field(default_factory=dict)  # settings that never change the code; see `overrides`
    shared: SharedSignals = field(default_factory=SharedSignals)

    @property
    def slots(self) -> Any:
        return self.program.source.slots

    @functools.cached_property
    def opened(self) -> OpenedDiagram:
        """The diagram it was made from, with what was made of it by changes that shape the code."""
        from .remembering.opened import OpenedDiagram

        return OpenedDiagram(self.diagram, self.schedule, vars(self.options), self)

    @functools.cached_property
    def method(self) -> Any:
        """The solver."""
        return find_solver(str(self.options.solver))

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
        text = {n: None if (v := getattr(options, n)) is None else str(v) for n in ("step", "every")}
        settings = {n: getattr(options, n) for n in ("solver", "rtol", "atol", "max_step", "algebraic_loops", "math")}
        times = {"start": str(clock.base * clock.start), "stop": str(clock.base * clock.end)}
        named = {"name": self.diagram.name, "diagram": self.text, "path": self.diagram.path, "version": __version__}
        return {**named, **settings, **text, **times}

    @functools.cached_property
    def rows(self) -> list[int]:
        """The rows of every log grid."""
        return [(self.clock.end - self.clock.start) // period + 1 for _, period in self.clock.logs]

    @functools.cached_property
    def length(self) -> int:
        """The steps a run takes at least, from sample hit to sample hit or of a fixed-step solver."""
        span = self.clock.end - self.clock.start
        return max([span // p for _, p in self.clock.hits] + ([span // self.clock.step] if self.clock.step else []), default=0)

    @functools.cached_property
    def room(self) -> dict[str, int]:
        """The bytes a run takes, by what they are for."""
        log = sum(n * g.width for n, g in zip(self.rows, self.logs, strict=True))
        return {"log": 8 * log, "noise": 8 * sum(self.draws), "tables": 8 * len(self.numbers.a)}

    def check_length(self, limit: int | None = None) -> None:
        """Refuse a run that cannot end or fit, before anything is allocated; `limit` is the number of steps that may be taken."""
        limit = MAX_STEPS if limit is None else limit
        own = self.options.stop == self.diagram.simulate.stop  # where another was asked for, the file is not to blame
        where = key_place(self.diagram, "simulate.stop") or key_place(self.diagram, "simulate") if own else None
        if self.length > limit:
            text = f"this run takes {self.length:.3g} steps, more than the limit of {limit:.3g}"
            raise DiagramError([Problem(f"{text}: shorten it; in Python limit= allows more.", where)])
        check_room(self.room, where)

    @functools.cached_property
    def blank(self) -> Machine:
        """A machine at the start of the run, to be copied for each."""
        return blank_machine(self)

    @functools.cached_property
    def draws(self) -> list[int]:
        """For each stream of noise, how many numbers the block that draws from it takes: one a sample hit."""
        groups = {u.path: u.group for u in self.schedule.units if u.group is not None}
        return [self.clock.count(groups[owner.path]) for owner, _, _ in self.slots.streams]

    @functools.cached_property
    def shared_size(self) -> int:
        """How many numbers runs can share that are computed ahead."""
        return sum(self.clock.count(rows.group) * rows.width for rows in self.slots.ahead)

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
        times = self.grid_times.get(j)
        if times is None or len(times) < rows:
            import numpy as np

            first, every = self.clock.logs[j]
            times = (first + every * np.arange(rows)) * self.clock.base.numerator / self.clock.base.denominator
            self.grid_times[j] = times
        return times[:rows].copy()

    @functools.cached_property
    def aliases(self) -> dict[str, str]:
        """Blocks with one output, which may be named without it."""
        single = {u.path: list(u.kind.of(Outport)) for u in self.schedule.units}
        return {path: f"{path}.{ports[0]}" for path, ports in single.items() if len(ports) == 1}


def check_room(room: Mapping[str, int], where: Place | None = None) -> None:
    """Refuse a run that does not fit into memory: log, noise and tables together."""
    whole = sum(room.values())
    if whole <= MAX_BYTES:
        return
    advice = {
        "log": "Log less (log:) or more seldom (simulate: {every: ...}).",
        "noise": "Draw noise more seldom (Ts), or shorten the run.",
        "tables": "Make delays and tables shorter.",
    }
    parts = ", ".join(f"{name} {size / 2**30:.1f}" for name, size in room.items())
    text = f"this run takes {whole / 2**30:.1f} GiB ({parts}), more than {MAX_BYTES / 2**30:.0f}."
    raise DiagramError([Problem(f"{text} {advice[max(room, key=lambda name: room[name])]}", where)])


def check_tables(schedule: Schedule) -> None:
    """Refuse memories that do not fit, such as that of a long delay, before they are made."""
    for unit in schedule.units:
        arrays = [name for name, d in unit.kind.of(Memory).items() if d.array]
        check_room({"tables": 8 * unit.width * sum(unit.sizes.get(name, 1) for name in arrays)}, unit.node.place)


def make_experiment(diagram: Diagram, schedule: Schedule | None = None, **options: Any) -> Experiment:
    """Flatten, fix the clock, write and compile the program. Options override the diagram's `simulate:`.

    A diagram that has been flattened with these options already comes with its schedule.
    """
    settings = merge(diagram, options)
    schedule = schedule or flatten(replace(diagram, simulate=settings))
    solver = check_solver_at(diagram, settings.solver or DEFAULT)
    moving = any(not isinstance(d, Memory) for u in schedule.units for d in u.kind.of(State).values())
    times = exact_times(diagram, settings, schedule, solver, moving)
    logs = log_groups(diagram, schedule, times["every"])
    clock = make_clock(schedule, times, logs)
    for group, (first, period) in zip(logs, clock.logs, strict=True):
        group.follows = next((g for g, hit in enumerate(clock.hits) if hit == (first, period)), None)
    solver_name = (
        solver if find_solver(solver).compiled else DEFAULT
    )  # scipy's solvers use the program's functions, not its driver
    check_tables(schedule)
    program = compile_program(generate(schedule, logs, solver_name, settings.math), solver_name)
    numbers = fill(schedule, program.source.slots)
    return Experiment(diagram, schedule, program, replace(settings, solver=solver), clock, logs, numbers)


def merge(diagram: Diagram, options: Mapping[str, Any]) -> SimulateSpec:
    fields = SimulateSpec.__dataclass_fields__
    for name in options:
        if name not in fields:
            raise DiagramError(f"there is no option '{name}'. Options are: {listing(fields)}." + did_you_mean(name, fields))
    changes = {n: v for n, v in options.items() if v is not None}
    times = ("start", "stop", "step", "every")  # `exact_times` looks at these
    raise_all(simulate_problems(replace(SimulateSpec(), **{n: v for n, v in changes.items() if n not in times}), {}))
    return replace(diagram.simulate, **changes)


def check_solver_at(diagram: Diagram, name: str) -> str:
    try:
        find_solver(name)
        return name
    except DiagramError as error:
        raise DiagramError([Problem(p.what, key_place(diagram, "simulate.solver")) for p in error.problems]) from None
