"""Solvers against closed forms: measured order, error and work under error control, dense output, independence of the log."""

import math

import numpy as np
import pytest
from scipy.integrate import solve_ivp

import blocksim as bs
from blocksim.contract.block import Block, outport, param, state
from blocksim.contract.vocabulary import cos
from blocksim.solvers import find_solver, solver_names

COMPILED = [name for name in solver_names() if find_solver(name).compiled]
ADAPTIVE = [name for name in COMPILED if find_solver(name).adaptive]
FIXED = [name for name in COMPILED if name not in ADAPTIVE]
ORDER = {name: find_solver(name).order for name in COMPILED}


class Oscillator(Block):
    """x'' = -w^2 x: from (0, w) the solution is x = sin(w t)."""

    w: float = param(1.0, "angular frequency", "rad/s")
    y = outport("position")
    v = outport("speed")
    q: float = state(0.0, "position")
    p: float = state(1.0, "speed")

    @staticmethod
    def output(q, p):
        return q, p

    @staticmethod
    def derivative(q, p, w):
        return p, -w * w * q


class Logistic(Block):
    """x' = x (1 - x): from x0 the solution is x0 e^t / (1 + x0 (e^t - 1))."""

    y = outport("population")
    x: float = state(0.1, "population")

    @staticmethod
    def output(x):
        return x

    @staticmethod
    def derivative(x):
        return x * (1.0 - x)


class Seasons(Block):
    """x' = x cos t: from 1 the solution is exp(sin t)."""

    y = outport("population")
    x: float = state(1.0, "population")

    @staticmethod
    def output(x):
        return x

    @staticmethod
    def derivative(t, x):
        return x * cos(t)


PROBLEMS = {
    "oscillator": (Oscillator, np.sin),
    "logistic": (Logistic, lambda t: 0.1 * np.exp(t) / (1 + 0.1 * np.expm1(t))),
    "nonautonomous": (Seasons, lambda t: np.exp(np.sin(t))),
}


def diagram(block):
    made = bs.Diagram("one block")
    made.add("b", block)
    return made


def solve(block, engine="python", **options):
    record = bs.simulate(diagram(block), engine=engine, **options)
    return record.t, record["b.y"], record.provenance["work"]


def error_with_step(problem, solver, h, stop):
    """The largest error of a run in steps of h; under error control, tolerances that accept everything and max_step make them."""
    block, truth = PROBLEMS[problem]
    options = {"step": h} if solver in FIXED else {"rtol": 1e3, "atol": 1e3, "max_step": h}
    t, y, work = solve(block(), solver=solver, stop=stop, every=0.2, **options)
    assert work["rejected"] == 0
    return np.max(np.abs(y - truth(t)))


@pytest.mark.parametrize("problem", PROBLEMS)
@pytest.mark.parametrize("solver", COMPILED)
def test_measured_order(solver, problem):
    # error = C h^p for small h: halving h divides the error by 2^p. A special equation may show more, never less.
    stop = 8.0
    steps = [0.04, 0.02, 0.01] if ORDER[solver] < 4 else [0.1, 0.05, 0.025]
    errors = [error_with_step(problem, solver, h, stop) for h in steps]
    slope = np.polyfit(np.log(steps), np.log(errors), 1)[0]
    assert ORDER[solver] - 0.25 < slope < ORDER[solver] + 1.5


RIGHT_SIDES = {
    "oscillator": (lambda t, x: [x[1], -x[0]], [0.0, 1.0]),
    "logistic": (lambda t, x: x * (1 - x), [0.1]),
    "nonautonomous": (lambda t, x: x * np.cos(t), [1.0]),
}


@pytest.mark.parametrize("problem", PROBLEMS)
@pytest.mark.parametrize(("solver", "more"), [("dopri5", 1.1), ("rodas4", 7)])
def test_error_and_work_at_the_default_tolerance(problem, solver, more):
    # scipy's RK45 is the same pair of Dormand and Prince; a method of order 4 with a Jacobian may cost several times as much.
    block, truth = PROBLEMS[problem]
    peer = solve_ivp(*RIGHT_SIDES[problem][:1], (0, 10), RIGHT_SIDES[problem][1], rtol=1e-8, atol=1e-10)
    t, y, work = solve(block(), solver=solver, stop=10, max_step=10)
    assert np.max(np.abs(y - truth(t))) < 3e-7
    assert work["evaluations"] < more * peer.nfev


@pytest.mark.parametrize("solver", ADAPTIVE)
@pytest.mark.parametrize("problem", PROBLEMS)
def test_error_follows_the_tolerance(problem, solver):
    block, truth = PROBLEMS[problem]
    for tolerance in (1e-4, 1e-6, 1e-9):
        t, y, _ = solve(block(), solver=solver, stop=10, rtol=tolerance, atol=tolerance)
        assert np.max(np.abs(y - truth(t))) < 50 * tolerance


@pytest.mark.parametrize("solver", ADAPTIVE)
def test_work_follows_the_tolerance(solver):
    # A step's error is C h^(q + 1), q the order of the estimate: a tolerance 1000 times tighter takes 1000^(1 / (q + 1)) times
    # the evaluations, and no more than that: an estimate of the wrong size, or steps thrown away, would show.
    evaluations = []
    for tolerance in (1e-5, 1e-8):
        _, _, work = solve(Oscillator(), solver=solver, stop=20, every=20, rtol=tolerance, atol=tolerance, max_step=20)
        assert work["rejected"] < 0.15 * work["steps"]
        evaluations.append(work["evaluations"])
    wanted = 1000 ** (1 / (find_solver(solver).error_order + 1))
    assert 0.8 * wanted < evaluations[1] / evaluations[0] < 1.25 * wanted


def test_dopri5_counts_what_it_evaluates():
    # Six slopes a step, a rejected one too, the seventh being the next step's first; two for the first size, one at the start.
    _, _, work = solve(Oscillator(), solver="dopri5", stop=10, every=10)
    assert work["evaluations"] == 6 * work["steps"] + 3


@pytest.mark.parametrize("solver", ADAPTIVE)
def test_dense_output_is_as_accurate_as_the_steps(solver):
    # 2000 log rows over at most half as many steps: every other row and more lies inside a step.
    tolerance = 1e-6 if ORDER[solver] > 3 else 1e-5
    t, y, work = solve(Oscillator(), solver=solver, stop=20, every=0.01, rtol=tolerance, atol=tolerance, max_step=20)
    assert len(t) == 2001 and work["steps"] < 1000
    assert np.max(np.abs(y - np.sin(t))) < (20 if ORDER[solver] > 3 else 50) * tolerance


@pytest.mark.parametrize("solver", FIXED)
def test_rows_inside_a_fixed_step_have_the_order_of_the_method(solver):
    # A row between two steps is a shorter step from the earlier one, so its error is that of the method, not of a straight line.
    worst = []
    for h in (0.1, 0.05):
        t, y, _ = solve(Oscillator(), solver=solver, step=h, every=0.01, stop=2)
        worst.append(np.max(np.abs(y - np.sin(t))))
    assert worst[0] / worst[1] > 0.8 * 2 ** ORDER[solver]


@pytest.mark.parametrize("solver", COMPILED)
def test_the_log_grid_does_not_change_the_solution(solver):
    options = {"step": 0.1} if solver in FIXED else {}
    _, _, alone = solve(Oscillator(), solver=solver, stop=3, every=3, **options)
    runs = {every: solve(Oscillator(), solver=solver, stop=3, every=every, **options) for every in (0.3, 0.1, 0.025, 3 / 7)}
    t, y, work = runs[0.025]
    fine = dict(zip(t, y, strict=True))
    for other_t, other_y, other_work in runs.values():
        assert other_y[-1] == y[-1]
        assert other_work["steps"] == work["steps"] == alone["steps"]
        common = [k for k, time in enumerate(other_t) if time in fine]
        assert [other_y[k] for k in common] == [fine[other_t[k]] for k in common]
    assert len([k for k in runs[0.3][0] if k in fine]) == 11


@pytest.mark.parametrize("solver", ADAPTIVE)
def test_a_stop_that_cuts_a_step_does_not_slow_what_follows(solver):
    # Hits of a sampled block cut every step; the step size found before goes on. 200 hits cannot cost much more than 200 steps.
    made = diagram(Oscillator())
    made.add("hold", "ZeroOrderHold", Ts=0.05, inputs="b.y")
    tolerance = 1e-6 if ORDER[solver] > 3 else 1e-3  # for steps longer than 50 ms
    record = bs.simulate(made, solver=solver, stop=10, rtol=tolerance, atol=tolerance / 100, engine="python")
    assert record["b.y"] == pytest.approx(np.sin(record.t), abs=10 * tolerance)
    assert record.provenance["work"]["steps"] <= 210


def test_a_short_stop_after_a_long_rest_keeps_the_step():
    # Hits at 1.0 and 1.0001 s: the tiny stretch between them must not make the next stretch start with tiny steps.
    made = diagram(Oscillator())
    made.add("first", "ZeroOrderHold", Ts=1, inputs="b.y")
    made.add("second", "ZeroOrderHold", Ts=1, offset=0.0001, inputs="b.y")
    record = bs.simulate(made, stop=20, rtol=1e-6, atol=1e-6, max_step=1, every=1, engine="python")
    assert record.provenance["work"]["steps"] < 150
    assert record["b.y"] == pytest.approx(np.sin(record.t), abs=1e-4)


def test_tiny_first_scales_in_a_long_run():
    # A transient of 1e-6 s in a run of 1e10 s: the smallest step that makes sense goes by the present time, not by the end.
    fast = bs.Diagram("fast start")
    fast.add("one", "Constant", value=1.0)
    fast.add("lag", "FirstOrderLag", T=1e-6, inputs="one")
    record = bs.simulate(fast, solver="rodas4", stop=1e10, every=1e8, engine="python")
    assert record["lag"][1:] == pytest.approx(np.ones(100), abs=1e-8)
    assert record.provenance["work"]["steps"] < 1000


def test_max_step_bounds_every_step():
    _, _, work = solve(Logistic(), stop=10, max_step=0.01)
    assert work["steps"] >= 1000


@pytest.mark.parametrize("solver", ["scipy:RK45", "scipy:DOP853", "scipy:Radau", "scipy:BDF", "scipy:LSODA"])
def test_scipy_solvers_run_the_same_diagram(solver):
    t, y, _ = solve(Oscillator(), engine="auto", solver=solver, stop=3, rtol=1e-9, atol=1e-11)
    assert np.max(np.abs(y - np.sin(t))) < 1e-6


def test_unknown_solver_lists_the_known_ones():
    with pytest.raises(bs.DiagramError, match=r"no solver 'ode45'.*euler, heun, rk4, dopri5, rodas4, scipy:RK45"):
        bs.simulate(diagram(Logistic()), stop=1, solver="ode45")


def test_a_fixed_solver_needs_a_step():
    with pytest.raises(bs.DiagramError, match="rk4 needs a 'step'"):
        bs.simulate(diagram(Logistic()), stop=1, solver="rk4")


def test_a_parameter_scan_gives_each_closed_form():
    for w in (0.5, 2.0):
        t, y, _ = solve(Oscillator(w=w, p=w), stop=math.pi / w)
        assert y == pytest.approx(np.sin(w * t), abs=1e-6)
