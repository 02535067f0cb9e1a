"""The run on whole ticks: defaults of its times, one base for all of them, first hits after a late start."""

from __future__ import annotations

import math
from dataclasses import replace
from fractions import Fraction

import pytest

from blocksim.diagram.build import open_diagram
from blocksim.diagram.spec import SimulateSpec
from blocksim.errors import DiagramError
from blocksim.schedule.clock import exact_times, make_clock, tame
from blocksim.schedule.flatten import flatten
from blocksim.schedule.schedule import LogGroup

#: Two rates: 1/300 s, and 1 ms that starts half a millisecond late.
SAMPLED = """
format: 1
blocks:
  u:    {type: Constant}
  slow: {type: UnitDelay, Ts: 1/300, in: u}
  fast: {type: UnitDelay, Ts: 1e-3, offset: 5e-4, in: u}
"""
MOVING = """
format: 1
blocks:
  u: {type: Constant}
  x: {type: Integrator, in: u}
"""


def times_of(text: str, solver: str, moving: bool = True, **settings) -> dict[str, Fraction]:
    diagram = open_diagram(text)
    return exact_times(diagram, replace(SimulateSpec(), **settings), flatten(diagram), solver, moving)


@pytest.mark.parametrize(
    ("text", "solver", "settings", "step", "every"),
    [
        (MOVING, "rk4", {"stop": 1, "step": 0.01}, "1/100", "1/100"),
        (MOVING, "rk4", {"stop": 1, "step": 0.01, "every": 0.1}, "1/100", "1/10"),
        (MOVING, "dopri5", {"stop": 2}, "0", "1/500"),  # a thousandth of the run
        (MOVING, "dopri5", {"start": 1, "stop": 2, "step": 0.01}, "0", "1/1000"),  # an adaptive solver has no step
        (SAMPLED, "rk4", {"stop": 1}, "1/1000", "1/1000"),  # the fastest sample time
        (SAMPLED, "dopri5", {"stop": 1}, "0", "1/1000"),
    ],
)
def test_what_is_not_given_follows(text, solver, settings, step, every):
    times = times_of(text, solver, **settings)
    assert (times["step"], times["every"]) == (Fraction(step), Fraction(every))


def test_without_states_the_log_is_the_step():
    times = times_of(MOVING.replace("  x: {type: Integrator, in: u}\n", ""), "rk4", moving=False, stop=1)
    assert times["step"] == times["every"] == Fraction(1, 1000)


@pytest.mark.parametrize(
    ("settings", "words"),
    [
        ({}, ["simulate: 'stop' must be given", "the fixed-step solver rk4 needs a 'step'"]),
        ({"stop": "late", "step": 0}, ["simulate.stop: found 'late', which is not", "simulate.step: must be above 0, found 0"]),
        ({"start": 2, "stop": 1, "step": 0.1}, ["simulate.stop: 1 is not after the start at 2"]),
        ({"stop": 1, "step": 0.1, "every": -1}, ["simulate.every: must be above 0, found -1"]),
    ],
)  # fmt: skip
def test_every_wrong_time_is_named_at_once(settings, words):
    with pytest.raises(DiagramError) as caught:
        times_of(MOVING, "rk4", **settings)
    assert len(caught.value.problems) == len(words)
    assert all(word in str(caught.value) for word in words)


def test_sixteen_digits_mean_the_nearest_simple_fraction():
    assert tame(Fraction(1, 3000)) == Fraction(1, 3000)
    ten_pi = tame(Fraction(repr(10 * math.pi)))
    assert ten_pi.denominator <= 10**9 and float(ten_pi) == 10 * math.pi


def test_all_rates_are_whole_ticks_of_one_base():
    schedule = flatten(open_diagram(SAMPLED))
    times = {"start": Fraction(0), "stop": Fraction(1), "step": Fraction(1, 1000), "every": Fraction(1, 100)}
    clock = make_clock(schedule, times, [LogGroup(Fraction(1, 100), [])])
    # 1/300 and 1/2000 (the offset) are multiples of 1/6000, and of nothing larger.
    assert clock.base == Fraction(1, 6000)
    assert (clock.start, clock.end, clock.step) == (0, 6000, 6)
    assert clock.hits == ((0, 20), (3, 6)) and clock.logs == ((0, 60),)
    assert clock.seconds(2000) == 1 / 3


def test_hits_start_at_or_after_a_late_start():
    schedule = flatten(open_diagram(SAMPLED))
    start = Fraction(1, 250)  # 4 ms: between the hits at 1/300 and 2/300, and between those at 3.5 and 4.5 ms
    times = {"start": start, "stop": Fraction(1), "step": Fraction(0), "every": Fraction(1)}
    clock = make_clock(schedule, times, [LogGroup(Fraction(1, 100), [])])
    (slow, slow_period), (fast, _) = clock.hits
    assert clock.base * slow == Fraction(2, 300) and clock.base * slow_period == Fraction(1, 300)
    assert clock.base * fast == Fraction(9, 2000)
    assert clock.base * clock.logs[0][0] == start


def test_too_many_ticks_are_refused():
    schedule = flatten(open_diagram(MOVING))
    times = {"start": Fraction(0), "stop": Fraction(1000), "step": Fraction(1, 10**9 + 7), "every": Fraction(1, 10**9 + 9)}
    with pytest.raises(DiagramError, match=r"no common base above 1e-18 s, which makes 1e\+21 ticks: too many .* Use rounder"):
        make_clock(schedule, times, [LogGroup(times["every"], [])])


def test_ticks_beyond_all_numbers_are_refused_in_words():
    schedule = flatten(open_diagram(MOVING))
    stop, finest = Fraction(10**14), Fraction(1, 10**320)  # their quotient is no floating-point number
    times = {"start": Fraction(0), "stop": stop, "step": finest, "every": stop}
    with pytest.raises(DiagramError, match=r"which makes 1e334 ticks: too many to count exactly"):
        make_clock(schedule, times, [LogGroup(stop, [])])
