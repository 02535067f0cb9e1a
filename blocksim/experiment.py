"""Experiment: a diagram made ready to run, with its program, its clock and the numbers of its blocks.

Making one costs milliseconds and fixes the structure; parameters, initial values, seed and stop time change per run.
"""

from __future__ import annotations

import functools
from dataclasses import dataclass, field, replace
from typing import Any

from .clock import Clock, exact_times, make_clock, place_of
from .codegen import LogGroup, generate
from .contract import arguments
from .declarations import Memory, Outport, Param, Period, State, Static, Table
from .diagram import Diagram
from .errors import DiagramError, Problem, did_you_mean, listing
from .flatten import flatten, kind_for
from .logs import log_groups
from .program import Program, code_of
from .schedule import Schedule, Unit
from .slots import Numbers, array_value, fill
from .solvers import DEFAULT, SCIPY, check_solver
from .spec import SimulateSpec

#: Refused above, unless `limit=` asks for more: steps (or log rows) of one run.
MAX_STEPS = 10**9
MAX_BYTES = 4 * 2**30
RTOL, ATOL = 1e-8, 1e-10


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
    changed: dict[str, Any] = field(default_factory=dict)  # parameters given beside the diagram's own

    @property
    def slots(self) -> Any:
        return self.program.source.slots

    @functools.cached_property
    def text(self) -> str:
        """The diagram as YAML, for the provenance of every record; '' where a part made in Python has no text."""
        from .loader import dump

        try:
            return dump(self.diagram)
        except DiagramError:
            return ""

    @functools.cached_property
    def aliases(self) -> dict[str, str]:
        """Blocks with one output, which may be named without it."""
        single = {u.path: list(u.kind.of(Outport)) for u in self.schedule.units}
        return {path: f"{path}.{ports[0]}" for path, ports in single.items() if len(ports) == 1}

    def with_parameters(self, params: dict[str, Any]) -> Numbers:
        """The numbers of a run with some settings changed: `{"plant.J": 0.02}`; structure must stay."""
        if not params:
            return self.numbers
        numbers = self.numbers.copy()
        rebuild = False
        for name, value in params.items():
            unit, key = find_setting(self.schedule, name)
            check_setting(unit, key, value, name)
            addresses = self.slots.where.get((unit.index, key))
            declaration = unit.kind.declared[key]
            simple = addresses is not None and isinstance(value, (int, float)) and not used_in_tables(unit, key)
            if simple and isinstance(declaration, State):
                (numbers.m if isinstance(declaration, Memory) else numbers.x)[addresses] = value
            elif simple and isinstance(declaration, Param):
                numbers.p[addresses] = value
            else:
                rebuild = True
        return self.rebuilt(params) if rebuild else numbers

    def rebuilt(self, params: dict[str, Any]) -> Numbers:
        """Numbers computed anew, for changes that reach tables or arrays."""
        units = [replace(u, settings=dict(u.settings), tables={}) for u in self.schedule.units]
        schedule = replace(self.schedule, units=units)
        for name, value in params.items():
            unit, key = find_setting(schedule, name)
            unit.settings[key] = value
        return fill(schedule, self.slots)

    def recompiles(self, params: dict[str, Any]) -> bool:
        """Whether these changes shape the code or the clock, so that the experiment must be made again."""
        for name, value in params.items():
            if "." not in name:
                return True
            unit, key = find_setting(self.schedule, name)
            check_setting(unit, key, value, name)
            declaration = unit.kind.declared[key]
            old = unit.settings.get(key)
            lists = isinstance(value, (list, tuple)) or isinstance(old, (list, tuple))
            if isinstance(declaration, (Static, Period)) or (lists and shape_of(value) != shape_of(old)):
                return True
            if any(key in arguments(f) for n, f in unit.kind.functions.items() if n.startswith("size_")):
                return True
            changed = type(unit.block)(**{**unit.block.settings, key: value})
            if kind_for(changed, unit.inputs) is not unit.kind:
                return True
            if used_in_tables(unit, key) and self.lengths_change(
                replace(unit, settings={**unit.settings, key: value}, tables={})
            ):
                return True
        return False

    def lengths_change(self, unit: Unit) -> bool:
        """Whether an array whose length is part of the code has another length in this unit."""
        regions = [r for r in self.slots.regions if r.unit == unit.index and r.index in self.slots.fixed]
        tables = [r for r in regions if r.name in unit.kind.of(Table)]
        return any(array_value(unit, r.name).size != self.slots.fixed[r.index] for r in tables)


def shape_of(value: Any) -> tuple[int, ...]:
    if hasattr(value, "shape"):
        return tuple(value.shape)
    if isinstance(value, (list, tuple)):
        return (len(value), *(shape_of(value[0]) if value else ()))
    return ()


def used_in_tables(unit: Unit, key: str) -> bool:
    return any(key in arguments(f) for n, f in unit.kind.functions.items() if n.startswith(("table_", "size_")))


def find_setting(schedule: Schedule, name: str) -> tuple[Unit, str]:
    """'plant.J' -> the unit and its setting; an error says what there is."""
    path, _, key = name.rpartition(".")
    if not path:
        parameters = schedule.diagram.spec.parameters if schedule.diagram.spec is not None else {}
        raise DiagramError(
            f"'{name}' is no parameter. Write block.parameter, or one of the diagram's parameters: {listing(parameters)}."
            + did_you_mean(name, parameters)
        )
    unit = schedule.unit(path)
    takes = [n for n, d in unit.kind.declared.items() if d.settable]
    if key not in takes:
        raise DiagramError(
            f"block '{path}' has no parameter '{key}'. {type(unit.block).__name__} takes: {listing(takes)}."
            + did_you_mean(key, takes)
        )
    return unit, key


def check_setting(unit: Unit, key: str, value: Any, name: str) -> None:
    problems = type(unit.block).problems({**unit.block.settings, key: value})
    if problems:
        raise DiagramError([Problem(f"{name}: {text}") for _, text in problems])


def make_experiment(diagram: Diagram, **options: Any) -> Experiment:
    """Flatten, fix the clock, write the program. Options override the diagram's `simulate:`."""
    settings = merge(diagram, options)
    schedule = flatten(replace_simulate(diagram, settings))
    solver = check_solver_at(diagram, settings.solver or DEFAULT)
    moving = any(n for u in schedule.units for n, d in u.kind.of(State).items() if type(d) is State)
    times = exact_times(diagram, settings, schedule, solver, moving)
    logs = log_groups(diagram, schedule, times["every"])
    clock = make_clock(schedule, times, logs)
    for group, (first, period) in zip(logs, clock.logs, strict=True):
        group.follows = next((g for g, hit in enumerate(clock.hits) if hit == (first, period)), None)
    written = DEFAULT if solver in SCIPY else solver  # scipy's solvers use the program's functions, not its driver
    source = generate(schedule, logs, written)
    settings = replace(settings, solver=solver)
    return Experiment(
        diagram,
        schedule,
        Program(source, code_of(source.text, written)),
        settings,
        clock,
        logs,
        fill(schedule, source.slots),
    )


def merge(diagram: Diagram, options: dict[str, Any]) -> SimulateSpec:
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
        raise DiagramError([Problem(p.what, place_of(diagram, "simulate.solver")) for p in error.problems]) from None
