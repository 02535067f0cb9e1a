"""Experiment: a diagram made ready to run, with its program, its clock and the numbers of its blocks.

Making one costs milliseconds and fixes the structure; parameters, initial values, seed and stop time change per run.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field, replace
from fractions import Fraction
from typing import Any

from .codegen import LogGroup, generate
from .contract import arguments
from .declarations import Outport, Param, Period, State, Static
from .diagram import Diagram
from .errors import DiagramError, Place, Problem, did_you_mean, listing
from .flatten import Element, Schedule, Unit, flatten, kind_for
from .program import Program
from .slots import Numbers, fill
from .solvers import DEFAULT, FIXED, SCIPY, check_solver
from .spec import LogSpec, SimulateSpec
from .ticks import common_base, exact

#: Refused above, unless `limit=` asks for more: steps (or log rows) of one run.
MAX_STEPS = 10**9
MAX_BYTES = 4 * 2**30
RTOL, ATOL = 1e-8, 1e-10
#: Largest whole number a float holds exactly: ticks must stay below.
EXACT = 2**53


@dataclass(frozen=True)
class Clock:
    """The run on whole ticks: base, start, end, and for each group and log grid its first tick and its period."""

    base: Fraction
    start: int
    end: int
    step: int  # 0: no fixed grid
    hits: tuple[tuple[int, int], ...]
    logs: tuple[tuple[int, int], ...]

    def seconds(self, tick: int) -> float:
        return float(self.base * tick)


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
                (numbers.m if (unit.index, key) in memory_keys(self.schedule) else numbers.x)[addresses] = value
            elif simple and isinstance(declaration, Param):
                numbers.p[addresses] = value
            else:
                rebuild = True
        return self.rebuilt(params) if rebuild else numbers

    def rebuilt(self, params: dict[str, Any]) -> Numbers:
        """Numbers computed anew, for changes that reach tables or arrays."""
        units = [replace(u, settings=dict(u.settings)) for u in self.schedule.units]
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
        return False


def shape_of(value: Any) -> tuple[int, ...]:
    if hasattr(value, "shape"):
        return tuple(value.shape)
    if isinstance(value, (list, tuple)):
        return (len(value), *(shape_of(value[0]) if value else ()))
    return ()


def used_in_tables(unit: Unit, key: str) -> bool:
    return any(key in arguments(f) for n, f in unit.kind.functions.items() if n.startswith(("table_", "size_")))


def memory_keys(schedule: Schedule) -> set[tuple[int, str]]:
    from .declarations import Memory

    return {(u.index, n) for u in schedule.units for n in u.kind.of(Memory)}


def find_setting(schedule: Schedule, name: str) -> tuple[Unit, str]:
    """'plant.J' -> the unit and its setting; an error says what there is."""
    path, _, key = name.rpartition(".")
    if not path:
        parameters = schedule.diagram.spec.parameters if schedule.diagram.spec is not None else {}
        raise DiagramError(f"'{name}' is no parameter. Write block.parameter, or one of the diagram's parameters: {listing(parameters)}."
                           + did_you_mean(name, parameters))
    unit = schedule.unit(path)
    takes = [n for n, d in unit.kind.declared.items() if d.settable]
    if key not in takes:
        raise DiagramError(f"block '{path}' has no parameter '{key}'. {type(unit.block).__name__} takes: {listing(takes)}."
                           + did_you_mean(key, takes))
    return unit, key


def check_setting(unit: Unit, key: str, value: Any, name: str) -> None:
    problems = type(unit.block).problems({**unit.settings, key: value})
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
    source = generate(schedule, logs, "rk4" if solver in SCIPY else solver)
    settings = replace(settings, solver=solver)
    return Experiment(diagram, schedule, program_of(source, "rk4" if solver in SCIPY else solver), settings, clock, logs,
                      fill(schedule, source.slots))


PROGRAMS: dict[str, Program] = {}


def program_of(source: Any, solver: str) -> Program:
    """One Program per text in a process, so that a second experiment finds it compiled."""
    program = Program(source, solver)
    known = PROGRAMS.setdefault(program.key, program)
    return known if known is program else replace_source(known, source)


def replace_source(known: Program, source: Any) -> Program:
    """The same compiled functions, this experiment's own addresses."""
    twin = Program(source, known.solver)
    twin._plain, twin._careful, twin._fast, twin._lock = known._plain, known._careful, known._fast, known._lock
    if known._fast is None:
        PROGRAMS[twin.key] = twin
    return twin


def merge(diagram: Diagram, options: dict[str, Any]) -> SimulateSpec:
    known = SimulateSpec.__dataclass_fields__
    for name in options:
        if name not in known:
            raise DiagramError(f"there is no option '{name}'. Options are: {listing(known)}." + did_you_mean(name, known))
    return replace(diagram.simulate, **{n: v for n, v in options.items() if v is not None})


def replace_simulate(diagram: Diagram, settings: SimulateSpec) -> Diagram:
    return replace(diagram, simulate=settings)


def place_of(diagram: Diagram, key: str) -> Place | None:
    return diagram.spec.places.get(key) if diagram.spec is not None else None


def check_solver_at(diagram: Diagram, name: str) -> str:
    try:
        return check_solver(name)
    except DiagramError as error:
        raise DiagramError([Problem(p.what, place_of(diagram, "simulate.solver")) for p in error.problems]) from None


def exact_times(diagram: Diagram, settings: SimulateSpec, schedule: Schedule, solver: str, moving: bool) -> dict[str, Fraction]:
    """start, stop, step, every as exact fractions, with their defaults; every problem named."""
    problems: list[Problem] = []

    def read(key: str, positive: bool) -> Fraction | None:
        value = getattr(settings, key)
        if value is None:
            return None
        try:
            time = tame(exact(value))
        except ValueError as error:
            problems.append(Problem(f"simulate.{key}: {error} Seconds are wanted.", place_of(diagram, f"simulate.{key}")))
            return None
        if positive and time <= 0:
            problems.append(Problem(f"simulate.{key}: must be above 0, found {value}.", place_of(diagram, f"simulate.{key}")))
            return None
        return time

    start = read("start", False) or Fraction(0)
    stop, step, every = read("stop", False), read("step", True), read("every", True)
    fastest = min((g.period for g in schedule.groups), default=None)
    if settings.stop is None:
        problems.append(Problem("simulate: 'stop' must be given: the time the run ends [s], e.g. simulate: {stop: 10}.",
                                place_of(diagram, "simulate")))
    elif stop is not None and stop <= start:
        problems.append(Problem(f"simulate.stop: {settings.stop} is not after the start at {settings.start}.", place_of(diagram, "simulate.stop")))
    if solver in FIXED and step is None:
        step = fastest
        if moving and step is None:
            problems.append(Problem(f"simulate: the fixed-step solver {solver} needs a 'step' [s]; dopri5 finds its own.",
                                    place_of(diagram, "simulate.solver") or place_of(diagram, "simulate")))
    if problems:
        raise DiagramError(problems)
    assert stop is not None
    if solver not in FIXED:
        step = None
    if every is None:
        every = step or fastest or (stop - start) / 1000
    return {"start": start, "stop": stop, "step": step or Fraction(0), "every": every}


def tame(time: Fraction) -> Fraction:
    """A time written with 16 digits (ten times pi, say) means the nearest simple fraction."""
    return time if time.denominator <= 10**12 else time.limit_denominator(10**9)


def make_clock(schedule: Schedule, times: dict[str, Fraction], logs: list[LogGroup]) -> Clock:
    """Everything on one exact base."""
    start, stop = times["start"], times["stop"]
    grids = [(Fraction(0), g.every) for g in logs]
    groups = [(g.offset, g.period) for g in schedule.groups]
    base = common_base([start, stop, times["step"], *(v for pair in (*grids, *groups) for v in pair)])
    last = max(abs(start), abs(stop)) / base
    if last * base.numerator >= EXACT or base.denominator >= EXACT:
        raise DiagramError(f"the times of this diagram (start, stop, step, every, sample times) have no common base above {float(base):.3g} s, "
                           f"which makes {float(last):.3g} ticks: too many to count exactly. Use rounder numbers.")
    begin = int(start / base)

    def ticks(offset: Fraction, period: Fraction) -> tuple[int, int]:
        first = offset if offset >= start else offset + math.ceil((start - offset) / period) * period
        return int(first / base), int(period / base)

    return Clock(base, begin, int(stop / base), int(times["step"] / base), tuple(ticks(*g) for g in groups),
                 tuple((begin, int(period / base)) for _, period in grids))


def log_groups(diagram: Diagram, schedule: Schedule, every: Fraction) -> list[LogGroup]:
    """What is logged, by grid; signals that record blocks read are logged too."""
    entries = diagram.log
    if entries is None:
        entries = [LogSpec(f"{u.path}.{p}") for u in schedule.units for p in u.kind.of(Outport)]
    wanted: dict[Fraction, dict[str, list[Element]]] = {every: {}}
    problems: list[Problem] = []
    for entry in entries:
        grid = tame(exact(entry.every)) if entry.every is not None else every
        for name, elements in named_signals(schedule, entry, problems):
            wanted.setdefault(grid, {}).setdefault(name, elements)
    if problems:
        raise DiagramError(problems)
    for unit in schedule.after_run:
        for refs in unit.inputs.values():
            for ref in refs:
                name = f"{ref.block}.{ref.port}"
                source = next((u for u in schedule.units if u.path == ref.block), None)
                if source is not None and not any(name in g for g in wanted.values()):
                    wanted[every][name] = [(source.index, ref.port, k) for k in range(source.sizes[ref.port])]
    return [LogGroup(grid, list(signals.items())) for grid, signals in wanted.items() if signals]


def named_signals(schedule: Schedule, entry: LogSpec, problems: list[Problem]) -> list[tuple[str, list[Element]]]:
    """A log entry as full signal names: 'joint' means all its outputs, 'sub.joint.q' reaches into a subsystem."""
    from .diagram import REFERENCE

    match = REFERENCE.match(entry.signal) if isinstance(entry.signal, str) else None
    if not match:
        problems.append(Problem(f"log: '{entry.signal}' is not a signal. Write block, block.port or block.port[element].", entry.place))
        return []
    path, element = match["path"], match["element"]
    by_path = {u.path: u for u in schedule.units}
    if path in by_path:
        unit, ports = by_path[path], list(by_path[path].kind.of(Outport))
    elif path.rpartition(".")[0] in by_path and path.rpartition(".")[2] in by_path[path.rpartition(".")[0]].kind.of(Outport):
        unit, ports = by_path[path.rpartition(".")[0]], [path.rpartition(".")[2]]
    else:
        found = subsystem_output(schedule, path)
        if found is None:
            known = [*by_path, *(f"{p}.{o}" for p, u in by_path.items() for o in u.kind.of(Outport))]
            problems.append(Problem(f"log: there is no signal '{entry.signal}'. Blocks are: {listing(by_path)}." + did_you_mean(path, known),
                                    entry.place))
            return []
        return [(path, found)]
    named = []
    for port in ports:
        elements: list[Element] = [(unit.index, port, k) for k in range(unit.sizes[port])]
        if element is not None:
            if not 0 <= int(element) < len(elements):
                problems.append(Problem(f"log: '{entry.signal}' asks for element {element} of {len(elements)} (counted from 0).", entry.place))
                return []
            elements = [elements[int(element)]]
        named.append((f"{unit.path}.{port}" + (f"[{element}]" if element is not None else ""), elements))
    return named


def subsystem_output(schedule: Schedule, path: str) -> list[Element] | None:
    """'drive.q' where drive is a subsystem: the elements of the block that makes it."""
    head, _, port = path.rpartition(".")
    part: Any = schedule.diagram
    for name in head.split(".") if head else []:
        node = part.nodes.get(name) if isinstance(part, Diagram) else None
        part = node.block if node else None
    if not isinstance(part, Diagram) or part.ports is None or port not in part.ports.outputs:
        return None
    entry = LogSpec(f"{head}.{part.ports.outputs[port]}")
    found = named_signals(schedule, entry, [])
    return found[0][1] if len(found) == 1 else None
