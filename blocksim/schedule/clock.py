"""RunClock: a run on whole ticks of one exact base."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction

from ..contract.declarations import Period
from ..contract.times import common_base, exact
from ..diagram.diagram import Diagram
from ..diagram.spec import SimulateSpec
from ..errors import DiagramError, Place, Problem
from ..solvers import find_solver
from .schedule import LogGroup, Schedule

#: Largest whole number a float holds exactly: ticks must stay below.
EXACT = 2**53


@dataclass(frozen=True)
class RunClock:
    """The run on whole ticks: base, start, end, and for each group and log grid its first tick and its period."""

    base: Fraction
    start: int
    end: int
    step: int  # 0: no fixed grid
    hits: tuple[tuple[int, int], ...]
    logs: tuple[tuple[int, int], ...]

    def seconds(self, tick: int) -> float:
        return float(self.base * tick)

    def count(self, group: int) -> int:
        """How many sample hits a group has."""
        first, period = self.hits[group]
        return max((self.end - first) // period + 1, 0)


def key_place(diagram: Diagram, key: str) -> Place | None:
    return diagram.spec.places.get(key) if diagram.spec is not None else None


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
            problems.append(Problem(f"simulate.{key}: {error} Seconds are wanted.", key_place(diagram, f"simulate.{key}")))
            return None
        if positive and time <= 0:
            problems.append(Problem(f"simulate.{key}: must be above 0, found {value}.", key_place(diagram, f"simulate.{key}")))
            return None
        return time

    start = read("start", False) or Fraction(0)
    stop, step, every = read("stop", False), read("step", True), read("every", True)
    fastest = min((g.period for g in schedule.groups), default=None)
    if settings.stop is None:
        problems.append(
            Problem(
                "simulate: 'stop' must be given: the time the run ends [s], e.g. simulate: {stop: 10}.",
                key_place(diagram, "simulate"),
            )
        )
    elif stop is not None and stop <= start:
        problems.append(
            Problem(
                f"simulate.stop: {settings.stop} is not after the start at {settings.start}.", key_place(diagram, "simulate.stop")
            )
        )
    fixed = not find_solver(solver).adaptive
    if fixed and settings.step is None:
        step = fastest
        if moving and step is None:
            problems.append(
                Problem(
                    f"simulate: the fixed-step solver {solver} needs a 'step' [s]; dopri5 finds its own.",
                    key_place(diagram, "simulate.solver") or key_place(diagram, "simulate"),
                )
            )
    if problems:
        raise DiagramError(problems)
    assert stop is not None
    if not fixed:
        step = None
    if every is None:
        every = step or fastest or (stop - start) / 1000
    if fixed and step is None:  # nothing to integrate, but events in time are still looked for
        step = every
    return {"start": start, "stop": stop, "step": step or Fraction(0), "every": every}


def tame(time: Fraction) -> Fraction:
    """A time written with 16 digits (ten times pi, say) means the nearest simple fraction."""
    return time if time.denominator <= 10**12 else time.limit_denominator(10**9)


def named_times(schedule: Schedule, times: dict[str, Fraction], logs: list[LogGroup]) -> list[tuple[str, Fraction, Place | None]]:
    """Every time of a run with its name and its line."""
    diagram = schedule.diagram
    general = key_place(diagram, "simulate")
    named = [(f"simulate.{key}", time, key_place(diagram, f"simulate.{key}") or general) for key, time in times.items()]
    grids = {grid.every for grid in logs} - {times["every"]}
    named += [
        ("log: every", tame(exact(e.every)), e.place) for e in diagram.log or () if e.every and tame(exact(e.every)) in grids
    ]
    for unit in (*schedule.units, *schedule.after_run):
        settings = {name: unit.settings.get(name) for name in unit.kind.of(Period)}
        named += [(f"block '{unit.path}': {name}", exact(v), unit.node.at(name)) for name, v in settings.items() if v is not None]
    return named


def countless(schedule: Schedule, times: dict[str, Fraction], logs: list[LogGroup], base: Fraction) -> list[Problem]:
    """Times that cannot be counted in ticks of the base, in words."""
    named = named_times(schedule, times, logs)
    most = f"at most {EXACT:.3g}"
    keys = [key for key in times if getattr(schedule.diagram.simulate, key) is not None]
    named = [entry for entry in named if not entry[0].startswith("simulate.") or entry[0][9:] in keys] or named
    endless = [
        Problem(f"{n}: {float(t):.3g} s is too long to be counted exactly; {most} s is.", p) for n, t, p in named if t >= EXACT
    ]
    if endless:
        return endless
    last = max(abs(times["start"]), abs(times["stop"])) / base
    if last * base.numerator >= EXACT or base.denominator >= EXACT:
        name, finest, place = max(named, key=lambda entry: entry[1].denominator)
        return [
            Problem(
                f"the times of this diagram (start, stop, step, every, sample times) have no common base above {float(base):.3g} "
                f"s, which makes {in_words(last)} ticks: too many to count exactly. Use rounder numbers; the least round is "
                f"{name}, {float(finest)!r} s.",
                place,
            )
        ]
    return [
        Problem(
            f"{name}: {float(time):.3g} s is {in_words(time / base)} ticks of {float(base):.3g} s; {most} are counted.", place
        )
        for name, time, place in named
        if time / base >= EXACT
    ]


def in_words(count: Fraction) -> str:
    """A number in three digits, also one that is beyond all floating-point numbers."""
    try:
        return f"{float(count):.3g}"
    except OverflowError:
        return f"1e{math.floor(math.log10(count.numerator) - math.log10(count.denominator))}"


def make_clock(schedule: Schedule, times: dict[str, Fraction], logs: list[LogGroup]) -> RunClock:
    """Everything on one exact base."""
    start, stop = times["start"], times["stop"]
    grids = [(Fraction(0), g.every) for g in logs]
    groups = [(g.offset, g.period) for g in schedule.groups]
    base = common_base([start, stop, times["step"], *(v for pair in (*grids, *groups) for v in pair)])
    if problems := countless(schedule, times, logs, base):
        raise DiagramError(problems)
    begin = int(start / base)

    def ticks(offset: Fraction, period: Fraction) -> tuple[int, int]:
        first = offset if offset >= start else offset + math.ceil((start - offset) / period) * period
        return int(first / base), int(period / base)

    return RunClock(
        base,
        begin,
        int(stop / base),
        int(times["step"] / base),
        tuple(ticks(*g) for g in groups),
        tuple((begin, int(period / base)) for _, period in grids),
    )
