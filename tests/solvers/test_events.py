"""Located events against closed forms: impacts, relays, steps; chattering; guards in every direction; events at sample hits."""

import math

import numpy as np
import pytest
from scipy.optimize import brentq

import blocksim as bs
from blocksim.contract.block import Block, both, falling, inport, memory, outport, param, rising, state
from blocksim.solvers import find_solver, solver_names

COMPILED = {name: find_solver(name) for name in solver_names() if find_solver(name).compiled}
#: Every solver that is exact on a parabola, with what it needs.
WAYS = {name: {} if method.adaptive else {"step": 0.01} for name, method in COMPILED.items() if method.order > 1}


class Ball(Block):
    """h'' = -g above the floor; at the floor v becomes -e v."""

    g: float = param(9.81, "gravity", "m/s^2")
    e: float = param(0.9, "restitution")
    height = outport("height", "m")
    bounces = outport("impacts so far")
    last = outport("time of the last impact", "s")
    h: float = state(1.0, "height", "m")
    v: float = state(0.0, "speed", "m/s")
    count: float = memory(0.0, "impacts so far")
    at: float = memory(0.0, "time of the last impact", "s")

    @staticmethod
    def output(h, count, at):
        return h, count, at

    @staticmethod
    def derivative(v, g):
        return v, -g

    @staticmethod
    def guard_impact(h):
        return h

    @staticmethod
    def reset_impact(t, v, e, count):
        return {"v": -e * v, "count": count + 1.0, "at": t}


class Counter(Block):
    """Counts the zero crossings of its input: those where it falls, those where it rises, and both."""

    u = inport("input")
    falls = outport("falls through zero")
    rises = outport("rises through zero")
    changes = outport("changes of sign")
    last = outport("time of the last change of sign")
    before = outport("time of the one before")
    n_falls: float = memory(0.0, "falls")
    n_rises: float = memory(0.0, "rises")
    n_both: float = memory(0.0, "changes")
    t1: float = memory(0.0, "last change")
    t0: float = memory(0.0, "the one before")

    @staticmethod
    def output(n_falls, n_rises, n_both, t1, t0):
        return n_falls, n_rises, n_both, t1, t0

    @staticmethod
    @falling
    def guard_fall(u):
        return u

    @staticmethod
    def reset_fall(n_falls):
        return {"n_falls": n_falls + 1.0}

    @staticmethod
    @rising
    def guard_rise(u):
        return u

    @staticmethod
    def reset_rise(n_rises):
        return {"n_rises": n_rises + 1.0}

    @staticmethod
    @both
    def guard_change(u):
        return u

    @staticmethod
    def reset_change(t, n_both, t1):
        return {"n_both": n_both + 1.0, "t1": t, "t0": t1}


class Dip(Block):
    """Counts how often a margin that is negative only within 1 ms of c is seen to be so."""

    c: float = param(0.5, "centre", "s")
    y = outport("times seen")
    n: float = memory(0.0, "times seen")

    @staticmethod
    def output(n):
        return n

    @staticmethod
    def guard_dip(t, c):
        return -1.0 if abs(t - c) < 1e-3 else 1.0

    @staticmethod
    def reset_dip(n):
        return {"n": n + 1.0}


def diagram(**blocks):
    """Blocks by name: a Block, or (Block or type name, inputs, settings)."""
    made = bs.Diagram("events")
    for name, what in blocks.items():
        kind, inputs, settings = what if isinstance(what, tuple) else (what, None, {})
        made.add(name, kind, inputs, **settings)
    return made


def run(made, solver="dopri5", engine="python", **options):
    return bs.simulate(made, solver=solver, engine=engine, **{**WAYS.get(solver, {}), **options})


def moving(**blocks):
    """The blocks, with a state that keeps the solver busy."""
    return diagram(**blocks, one=("Constant", None, {}), clock=("Integrator", "one", {}))


# the bouncing ball


def impact_times(first, flight, e, count):
    """After the impact at `first`, flights of e^0, e^1, ... times `flight`."""
    return first + np.concatenate([[0], np.cumsum(flight * e ** np.arange(count - 1))])


@pytest.mark.parametrize("solver", WAYS)
def test_forty_bounces_at_their_closed_form_times(solver):
    # Falling from h takes sqrt(2 h / g); a flight with speed v takes 2 v / g, and v is e times the last impact's.
    e, g, h = 0.9, 9.81, 1.0
    fall = math.sqrt(2 * h / g)
    times = impact_times(fall, 2 * e * fall, e, 60)
    record = run(diagram(ball=Ball(e=e)), solver, stop=8.5, every=0.01)
    found = np.unique(record["ball.last"])[1:]
    assert len(found) >= 40
    assert found == pytest.approx(times[: len(found)], abs=1e-10)
    assert record["ball.bounces"][-1] == np.sum(times <= 8.5)
    assert record["ball.height"].min() > -1e-12


@pytest.mark.parametrize("solver", WAYS)
def test_a_ball_thrown_from_the_floor_flies_before_it_falls(solver):
    # It starts with a margin of exactly zero: that is no impact. Flights take 2 v / g, v = 5, 5 e, 5 e^2 ...
    times = np.cumsum(2 * 5 / 9.81 * 0.9 ** np.arange(40))
    record = run(diagram(ball=Ball(h=0.0, v=5.0)), solver, stop=6)
    assert np.unique(record["ball.last"])[1:] == pytest.approx(times[times < 6], abs=1e-10)
    assert record["ball.height"].min() > -1e-12


@pytest.mark.parametrize("solver", ["dopri5", "rk4"])
def test_flights_far_shorter_than_a_step(solver):
    # e = 0.1: the second flight takes 9 ms, the third 0.9 ms, the fourth 90 us, all inside one step of 50 ms.
    fall = math.sqrt(2 / 9.81)
    times = impact_times(fall, 0.2 * fall, 0.1, 5)
    stop = times[-1] + 1e-6
    record = run(diagram(ball=Ball(e=0.1)), solver, stop=stop, every=stop, **{"step" if WAYS[solver] else "max_step": 0.05})
    assert record["ball.bounces"][-1] == 5
    assert record["ball.last"][-1] == pytest.approx(times[-1], abs=1e-10)


@pytest.mark.parametrize("solver", ["dopri5", "rk4"])
def test_guards_that_stay_negative_do_not_disturb_others(solver):
    # The counter's input falls at 0.2 s and stays below zero for good; the ball goes on bouncing at its own times.
    fall = math.sqrt(2 / 9.81)
    times = impact_times(fall, 2 * 0.3 * fall, 0.3, 5)
    made = diagram(
        ball=Ball(e=0.3), low=("Step", None, {"time": 0.2, "before": 1.0, "after": -1.0}), count=(Counter(), "low", {})
    )
    stop = times[4] + 1e-4
    record = run(made, solver, stop=stop, every=stop)
    assert record["ball.bounces"][-1] == 5
    assert record["ball.last"][-1] == pytest.approx(times[4], abs=1e-10)
    assert (record["count.falls"][-1], record["count.changes"][-1]) == (1, 1)


@pytest.mark.parametrize("solver", WAYS)
def test_zeno_ball_is_named_and_its_record_kept(solver):
    # All impacts are over at fall (1 + e) / (1 - e) = 3 fall for e = 1/2; after that there is no solution of these equations.
    end = 3 * math.sqrt(2 / 9.81)
    with pytest.raises(bs.SimulationError, match=r"chattering at t = 1\.3545.*guard 'impact' of block 'ball' \(Ball\)") as caught:
        run(diagram(ball=Ball(e=0.5)), solver, stop=3)
    error = caught.value
    assert error.time == pytest.approx(end, abs=1e-8)
    assert error.block == "ball"
    assert error.record.t[-1] == pytest.approx(end, abs=0.02)
    assert error.record["ball.height"].min() > -1e-12


def test_zeno_ball_beside_another_ball():
    made = diagram(tired=Ball(e=0.5), lively=Ball(e=0.95, h=1.1))
    with pytest.raises(bs.SimulationError, match="block 'tired'"):
        run(made, stop=3)


class Burst(Block):
    """Fires n times, once every `gap` from 0.5 s on."""

    n: float = param(100.0, "how often")
    gap: float = param(1e-10, "between two", "s")
    y = outport("times fired")
    count: float = memory(0.0, "times fired")

    @staticmethod
    def output(count):
        return count

    @staticmethod
    def guard_burst(t, count, n, gap):
        return 0.5 + gap * count - t if count < n else 1.0

    @staticmethod
    def reset_burst(count):
        return {"count": count + 1.0}


class Flip(Block):
    """Two guards that set each other off n times at the instant 0.5 s."""

    n: float = param(100.0, "how often")
    y = outport("times fired")
    count: float = memory(0.0, "times fired")
    side: float = memory(1.0, "the one that fires next: 1 or -1")

    @staticmethod
    def output(count):
        return count

    @staticmethod
    def guard_one(t, count, n, side):
        return -1.0 if side > 0 and count < n and t >= 0.5 else 1.0

    @staticmethod
    def reset_one(count, side):
        return {"count": count + 1.0, "side": -side}

    @staticmethod
    def guard_two(t, count, n, side):
        return -1.0 if side < 0 and count < n and t >= 0.5 else 1.0

    @staticmethod
    def reset_two(count, side):
        return {"count": count + 1.0, "side": -side}


@pytest.mark.parametrize("solver", ["dopri5", "rk4", "scipy:RK45"])
def test_a_hundred_events_after_the_first_without_time_between_are_chattering(solver):
    # The first of a row counts as 0, so 100 events are borne and the one after them is not; at 1e-8 s between them none counts.
    options = {"step": 0.01} if solver == "rk4" else {}
    assert run(moving(burst=Burst(n=100)), solver, stop=1, **options)["burst"][-1] == 100
    assert run(moving(burst=Burst(n=150, gap=1e-8)), solver, stop=1, **options)["burst"][-1] == 150
    with pytest.raises(bs.SimulationError, match=r"chattering at t = 0\.50000001 s: guard 'burst' of block 'burst'") as caught:
        run(moving(burst=Burst(n=101)), solver, stop=1, **options)
    assert caught.value.record.provenance["work"]["events"] == 101


@pytest.mark.parametrize("solver", ["dopri5", "rk4", "scipy:RK45"])
def test_resets_at_one_instant_are_borne_a_hundred_times_and_ten_more_a_guard(solver):
    options = {"step": 0.01} if solver == "rk4" else {}
    assert run(moving(flip=Flip(n=120)), solver, stop=1, **options)["flip"][-1] == 120
    with pytest.raises(bs.SimulationError, match=r"chattering at t = 0\.5 s: guard 'one' of block 'flip'"):
        run(moving(flip=Flip(n=121)), solver, stop=1, **options)


@pytest.mark.parametrize("solver", [*WAYS, "scipy:DOP853"])
def test_a_guard_that_returns_in_the_step_in_which_another_fires(solver):
    # The wave falls at 0.1 s, is back at 0.5 s and falls again at 0.9 s; the step comes at 0.3 s, all within one step of 1 s.
    # That the wave will be back must not count at 0.3 s, where it is still negative.
    made = moving(
        wave=("Sine", None, {"frequency": 1.25, "phase": 0.75 * math.pi}),
        count=(Counter(), "wave", {}),
        jump=("Step", None, {"time": 0.3}),
    )
    record = run(made, solver, stop=1, every=1, **({"step": 1} if WAYS.get(solver) else {"max_step": 1}))
    assert (record["count.falls"][-1], record["count.rises"][-1]) == (2, 2)  # one rise at the start, where it is positive
    assert (record["count.before"][-1], record["count.last"][-1]) == pytest.approx((0.5, 0.9), abs=1e-12)
    assert record["jump"][-1] == 1


# relays


def relay_loop(*plant, width, size=1.0):
    """A relay of +-size with the hysteresis +-width in negative feedback around a plant."""
    names = [f"p{i}" for i in range(len(plant))]
    settings = {"on_point": width, "off_point": -width, "on_value": -size, "off_value": size}
    made = diagram(relay=("Relay", names[-1], settings), watch=(Counter(), "relay", {}))
    for name, source, (kind, more) in zip(names, ["relay", *names], plant, strict=False):
        made.add(name, kind, source, **more)
    return made


@pytest.mark.parametrize("solver", WAYS)
def test_relay_around_an_integrator(solver):
    # y' = +-M between +-d: a triangle of amplitude d and period 4 d / M.
    width, size = 0.25, 2.0
    record = run(relay_loop(("Integrator", {}), width=width, size=size), solver, stop=5)
    assert 2 * (record["watch.last"][-1] - record["watch.before"][-1]) == pytest.approx(4 * width / size, abs=1e-10)
    # The first switch comes at d / M, then one every 2 d / M.
    assert record["watch.changes"][-1] == math.floor((5 - width / size) / (2 * width / size)) + 1
    late = record["p0"][record.t > 1]
    assert late.max() <= width + 1e-10 and late.min() >= -width - 1e-10
    assert late.max() == pytest.approx(width, abs=0.02)


@pytest.mark.parametrize("solver", WAYS)
def test_relay_around_a_motor(solver):
    # y'' = -y' +- M switched at +-d. In the limit cycle half a period h reverses position and speed:
    #   V = M tanh(h / 2)           speed at a switch, from -V = -M + (V + M) exp(-h)
    #   h - 2 tanh(h / 2) = 2 d / M      from y(h) = -d
    #   y_max = d + V - M log((V + M) / M)  where the speed is zero
    width, size = 0.1, 1.0
    half = brentq(lambda h: h - 2 * math.tanh(h / 2) - 2 * width / size, 1e-3, 10)
    speed = size * math.tanh(half / 2)
    top = width + speed - size * math.log((speed + size) / size)
    plant = ("FirstOrderLag", {"T": 1.0}), ("Integrator", {})
    record = run(
        relay_loop(*plant, width=width, size=size), solver, stop=60, every=0.005, **({"step": 0.005} if WAYS[solver] else {})
    )
    # Fixed steps of 5 ms, order 2: an error of about 1e-6; the cycle is approached to that in 60 s.
    close = 1e-5 if COMPILED[solver].order < 3 else 1e-7
    assert record["watch.last"][-1] - record["watch.before"][-1] == pytest.approx(half, abs=close)
    assert record["p1"][record.t > 50].max() == pytest.approx(top, abs=1e-5)


@pytest.mark.parametrize("solver", COMPILED)
def test_relay_without_hysteresis_chatters_and_is_named(solver):
    made = relay_loop(("Integrator", {"x": 1.0}), width=0.0)
    with pytest.raises(
        bs.SimulationError, match=r"chattering at t = 1 s: guard 'switch' of block 'relay' \(Relay\).*hysteresis"
    ) as caught:
        run(made, solver, stop=3, **({} if COMPILED[solver].adaptive else {"step": 0.01}))
    assert caught.value.block == "relay"
    record = caught.value.record
    assert record["p0"] == pytest.approx(1 - record.t, abs=1e-9)
    assert record.t[-1] == pytest.approx(1, abs=0.02)


# steps


@pytest.mark.parametrize("solver", COMPILED)
def test_step_at_an_odd_time(solver):
    # The integral of a step at T is t - T after it; a step smeared over a solver step would miss by up to h / 2.
    time = 0.123456789
    options = {} if COMPILED[solver].adaptive else {"step": 0.1}
    record = run(
        diagram(jump=("Step", None, {"time": time}), area=("Integrator", "jump", {})), solver, stop=1, every=0.1, **options
    )
    assert record["area"] == pytest.approx(np.maximum(record.t - time, 0), abs=1e-14)
    assert record.provenance["work"]["events"] == 1


@pytest.mark.parametrize("solver", COMPILED)
@pytest.mark.parametrize("step", [0.25, 0.1, 0.3])
def test_a_row_at_the_instant_of_a_step_shows_what_comes_after(solver, step):
    options = {} if COMPILED[solver].adaptive else {"step": step}
    record = run(
        diagram(jump=("Step", None, {"time": 1.0}), area=("Integrator", "jump", {})), solver, stop=2, every=0.25, **options
    )
    assert list(record["jump"]) == [0, 0, 0, 0, 1, 1, 1, 1, 1]


@pytest.mark.parametrize("time", [0.0, -1.0])
@pytest.mark.parametrize("solver", ["dopri5", "rk4"])
def test_step_at_the_start(solver, time):
    record = run(diagram(jump=("Step", None, {"time": time}), area=("Integrator", "jump", {})), solver, stop=1, every=0.1)
    assert list(record["jump"]) == [1] * 11
    assert record["area"] == pytest.approx(record.t, abs=1e-14)


def test_step_without_any_state():
    record = run(diagram(jump=("Step", None, {"time": 0.3}), twice=("Gain", "jump", {"k": 2.0})), stop=1, every=0.1)
    assert list(record["twice"]) == [0, 0, 0, 2, 2, 2, 2, 2, 2, 2, 2]


def test_pulses_have_their_exact_area():
    # Three pulses of height 2 lasting 0.3 of 0.7 s from 0.11 s on: area 3 * 2 * 0.21.
    beat = {"amplitude": 2.0, "period": 0.7, "duty": 0.3, "delay": 0.11}
    record = run(diagram(beat=("Pulse", None, beat), area=("Integrator", "beat", {})), stop=2.1)
    assert record["area"][-1] == pytest.approx(3 * 2 * 0.21, abs=1e-12)
    assert record.provenance["work"]["events"] == 6


def test_simultaneous_events_all_fire():
    made = diagram(
        a=("Step", None, {"time": 0.4}),
        b=("Step", None, {"time": 0.4, "after": 2.0}),
        sum=("Sum", ["a", "b"], {}),
        area=("Integrator", "sum", {}),
        left=Ball(),
        right=Ball(),
    )
    record = run(made, stop=1.0, every=0.1)
    assert record["area"][-1] == pytest.approx(3 * 0.6, abs=1e-14)
    assert record["left.bounces"][-1] == record["right.bounces"][-1] == 1
    assert list(record["left.height"]) == list(record["right.height"])
    assert record.provenance["work"]["events"] == 2


def test_a_chain_of_events_at_one_instant():
    # The step switches the relay, which switches the switch: all at 0.35 s, none a step late.
    made = diagram(
        jump=("Step", None, {"time": 0.35, "after": 3.0}),
        relay=("Relay", "jump", {"on_point": 1.0, "off_point": 1.0, "on_value": 5.0}),
        one=("Constant", None, {}),
        zero=("Constant", None, {"value": 0.0}),
        which=("Switch", ["one", "relay", "zero"], {}),
        area=("Integrator", "which", {}),
    )
    record = run(made, stop=1, every=0.05)
    assert record["area"][-1] == pytest.approx(0.65, abs=1e-14)
    assert list(record["which"]) == list((record.t >= 0.35).astype(float))


# directions


@pytest.mark.parametrize("solver", WAYS)
@pytest.mark.parametrize("phase", [0.0, 0.5])
def test_falling_rising_and_both(solver, phase):
    # sin(2 pi t + phase) over 3.2 periods. It starts at zero and rises, or above it: for a rising guard that is a crossing at the
    # start, as it must be for a relay that starts on; a change of sign it is not.
    record = run(moving(wave=("Sine", None, {"phase": phase}), count=(Counter(), "wave", {})), solver, stop=3.2)
    shift = phase / math.tau
    falls = [k + 0.5 - shift for k in range(4) if k + 0.5 - shift <= 3.2]
    rises = [k - shift for k in range(1, 5) if k - shift <= 3.2]
    assert record["count.falls"][-1] == len(falls)
    assert record["count.rises"][-1] == 1 + len(rises)
    assert record["count.changes"][-1] == len(falls) + len(rises)
    assert record["count.last"][-1] == pytest.approx(max(falls + rises), abs=1e-12)


def test_sign_of_a_wave_is_exact():
    # The integral of sign(sin) over n whole periods is 0 and over half a period more 0.5 T.
    record = run(
        diagram(wave=("Sine", None, {"frequency": 3.0}), way=("Sign", "wave", {}), area=("Integrator", "way", {})), stop=2.5
    )
    assert record["area"][-1] == pytest.approx(1 / 6, abs=1e-12)
    assert set(np.unique(record["way"])) <= {-1.0, 0.0, 1.0}


# events and samples


def test_a_guard_fires_because_a_sampled_input_jumps():
    # The ramp passes 0.33 between hits; the held ramp passes it at the hit of 0.4 s, and the relay with it.
    made = diagram(
        rise=("Ramp", None, {}),
        hold=("ZeroOrderHold", "rise", {"Ts": 0.1}),
        relay=("Relay", "hold", {"on_point": 0.33, "off_point": 0.33}),
        area=("Integrator", "relay", {}),
    )
    for solver in WAYS:
        record = run(made, solver, stop=1, every=0.05)
        assert list(record["relay"]) == list((record.t >= 0.399).astype(float))
        assert record["area"][-1] == pytest.approx(0.6, abs=1e-12)


def test_unit_delay_sign_unit_delay_is_not_late():
    # y[k] = sign(u[k-1])[k-1]: two delays and nothing more. u = -2, -1, 0, 1, 2 ...
    made = diagram(
        one=("Constant", None, {}),
        count=("DiscreteIntegrator", "one", {"Ts": 1, "x": -2.0}),
        first=("UnitDelay", "count", {"Ts": 1}),
        way=("Sign", "first", {}),
        second=("UnitDelay", "way", {"Ts": 1}),
    )
    for solver in ("rk4", "dopri5"):
        record = bs.simulate(made, stop=7, solver=solver, engine="python")
        counted = [-2.0, -1, 0, 1, 2, 3, 4, 5]
        assert list(record["first"]) == [0, *counted[:-1]]
        assert list(record["way"]) == [float(np.sign(u)) for u in [0, *counted[:-1]]]
        assert list(record["second"]) == [0, *[float(np.sign(u)) for u in [0, *counted[:-2]]]]


def test_a_sampled_block_sees_an_event_at_its_own_hit():
    # At 0.5 s the step and the sample coincide: the sample is taken after the step.
    made = diagram(
        jump=("Step", None, {"time": 0.5}), hold=("ZeroOrderHold", "jump", {"Ts": 0.25}), area=("Integrator", "hold", {})
    )
    for solver, options in WAYS.items():
        record = bs.simulate(made, stop=1, solver=solver, engine="python", every=0.25, **options)
        assert list(record["hold"]) == [0, 0, 1, 1, 1]
        assert record["area"][-1] == pytest.approx(0.5, abs=1e-14)


@pytest.mark.parametrize("solver", ["dopri5", "rk4"])
def test_the_log_grid_does_not_change_events(solver):
    made = diagram(ball=Ball(), hold=("ZeroOrderHold", "ball.height", {"Ts": 0.7}))
    runs = [run(made, solver, stop=4.2, every=every) for every in (4.2, 0.7, 0.013, "1/30")]
    for record in runs:
        assert record["ball.height"][-1] == runs[0]["ball.height"][-1] or record.t[-1] != 4.2
        assert record["ball.last"][-1] == runs[0]["ball.last"][-1]
        assert record.provenance["work"]["events"] == runs[0].provenance["work"]["events"]


def test_a_row_does_not_find_what_the_solver_passed_over():
    # A dip of 2 ms between the points where steps of 20 ms look is not seen; a log row inside it must not change that.
    for c in (0.5 + 0.0024, 0.5 + 0.0076):
        made = diagram(
            dip=Dip(c=c), one=("Constant", None, {}), clock=("Integrator", "one", {}), hold=("ZeroOrderHold", "clock", {"Ts": 1})
        )
        seen = {every: run(made, stop=1, every=every, max_step=0.02)["dip"][-1] for every in (1, 0.0001)}
        assert seen[1] == seen[0.0001]


def test_limited_integrator_holds_and_leaves_its_limit_exactly():
    # x' = cos(2 pi t) from 0: reaches 0.1 at asin(0.2 pi) / 2 pi, held until cos turns at 0.25 s, then 0.1 + (sin - 1) / 2 pi.
    made = diagram(push=("Sine", None, {"phase": math.pi / 2}), tank=("Integrator", "push", {"upper": 0.1}))
    record = run(made, stop=0.7, every=0.01)
    t = record.t
    reach = math.asin(0.2 * math.pi) / math.tau
    expected = np.where(
        t < reach, np.sin(math.tau * t) / math.tau, np.where(t < 0.25, 0.1, 0.1 + (np.sin(math.tau * t) - 1) / math.tau)
    )
    assert record["tank"] == pytest.approx(expected, abs=1e-9)


def test_many_events_in_one_run():
    # A quantiser with 100 levels per period of a sine: 4 * 25 changes each time, and the error never above half a step.
    made = diagram(wave=("Sine", None, {}), stairs=("Quantizer", "wave", {"step": 0.04}), clock=("Integrator", "wave", {}))
    record = run(made, stop=2, every=0.001)
    assert record.provenance["work"]["events"] == 200
    assert np.max(np.abs(record["stairs"] - record["wave"])) <= 0.02 + 1e-9
