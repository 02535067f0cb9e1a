"""Time in whole ticks: exact hits, holds, order at coincident hits, log timing, against loops written by hand."""

from fractions import Fraction

import numpy as np
import pytest

import blocksim as bs
from blocksim.contract.block import Block, SampledBlock, inport, memory, outport, param, period, state
from blocksim.solvers.tableaus import OWN


class Watch(SampledBlock):
    """y = the time of the last hit, n = hits before it."""

    y = outport("time of the last hit", "s")
    n = outport("hits before it")
    count: float = memory(0.0, "hits so far")

    @staticmethod
    def output(t, count):
        return t, count

    @staticmethod
    def update(count):
        return count + 1.0


class Through(SampledBlock):
    """y[k] = u[k] + 1: passes its input on at once."""

    u = inport("input")
    y = outport("input and one")

    @staticmethod
    def output(u):
        return u + 1.0


class PID(SampledBlock):
    """u = kp e + i + kd (e - e_last) / Ts, i the integral by forward Euler."""

    kp: float = param(8.0, "proportional gain")
    ki: float = param(4.0, "integral gain")
    kd: float = param(0.5, "derivative gain")
    e = inport("error")
    u = outport("control")
    i: float = memory(0.0, "integral")
    last: float = memory(0.0, "last error")

    @staticmethod
    def step(e, i, last, kp, ki, kd, Ts):
        return kp * e + i + kd * (e - last) / Ts, i + ki * Ts * e, e


class Mass(Block):
    """m q'' = f - d q'."""

    m: float = param(2.0, "mass", "kg", above=0)
    d: float = param(0.7, "damping", "N s/m")
    f = inport("force", "N")
    q = outport("position", "m")
    x: float = state(0.0, "position", "m")
    v: float = state(0.0, "speed", "m/s")

    @staticmethod
    def output(x):
        return x

    @staticmethod
    def derivative(v, f, m, d):
        return v, (f - d * v) / m


class Kept(Block):
    """y(t) = how many hits are over: not sampled itself, but with a memory that changes at hits."""

    Ts = period(doc="sample time", required=True)
    y = outport("hits that are over")
    n: float = memory(0.0, "hits that are over")

    @staticmethod
    def output(n):
        return n

    @staticmethod
    def update(n):
        return n + 1.0


def diagram(**blocks):
    """Blocks by name: (Block or type name, inputs, settings)."""
    made = bs.Diagram("sampling")
    for name, (kind, inputs, settings) in blocks.items():
        made.add(name, kind, inputs, **settings)
    return made


def run(made, **options):
    return bs.simulate(made, **{"engine": "python", "solver": "rk4", **options})


# exact time


def test_a_million_hits_at_exact_rational_times():
    # Hits every 1, 3 and 7 ms with offsets of 0, 1 and 2 ms over 1000 s. The time of the last hit at the row of k ms is a
    # quotient of whole numbers, rounded once: k/1000, (3 floor((k - 1)/3) + 1)/1000, (7 floor((k - 2)/7) + 2)/1000.
    watches = {"one": (1, 0), "three": (3, 1), "seven": (7, 2)}
    made = bs.Diagram("watches")
    for name, (ts, offset) in watches.items():
        made.add(name, Watch(Ts=Fraction(ts, 1000), offset=Fraction(offset, 1000)))
    record = bs.simulate(made, solver="rk4", stop=1000, every=0.001, engine="compiled")
    k = np.arange(1_000_001)
    assert np.array_equal(record.t, k / 1000)
    assert all(record.t[i] == float(Fraction(int(i), 1000)) for i in np.linspace(0, 10**6, 997).astype(int))
    for name, (ts, offset) in watches.items():
        hits = (k - offset) // ts
        expected = np.where(k >= offset, (ts * hits + offset) / 1000, 0.0)
        assert np.array_equal(record[f"{name}.y"], expected)
        assert np.array_equal(record[f"{name}.n"], np.maximum(hits, 0))


@pytest.mark.parametrize("ts", ["1/3", Fraction(1, 3), "2/7", 0.1, 1e-3])
def test_sample_times_are_the_rational_a_person_means(ts):
    record = run(diagram(w=(Watch(Ts=ts), None, {})), stop=2)
    exact = Fraction(str(ts)) if isinstance(ts, float) else Fraction(ts)
    count = 2 // exact
    assert list(record["w.y"]) == [float(k * exact) for k in range(count + 1)]
    assert list(record.t) == list(record["w.y"])


def test_float_time_is_never_added_up():
    # Ten times 0.1 is 1 exactly: the hit of the slow block and that of the fast one are one instant.
    made = diagram(fast=(Watch(Ts=0.1), None, {}), slow=("ZeroOrderHold", "fast.n", {"Ts": 1}))
    record = run(made, stop=100)
    assert list(record["slow"][::10]) == [10 * k for k in range(101)]


# holds, first tick, log


def test_first_hit_is_at_the_start_and_outputs_hold():
    record = run(diagram(t=("Ramp", None, {}), hold=("ZeroOrderHold", "t", {"Ts": 0.2})), stop=1, every=0.05)
    k = np.arange(21)
    assert record["hold"] == pytest.approx(0.2 * (k // 4), abs=1e-15)


def test_offset_delays_the_first_hit():
    record = run(diagram(w=(Watch(Ts=0.3, offset=0.2), None, {})), stop=1.2, every=0.1)
    assert record["w.y"] == pytest.approx([0, 0, 0.2, 0.2, 0.2, 0.5, 0.5, 0.5, 0.8, 0.8, 0.8, 1.1, 1.1], abs=1e-15)


@pytest.mark.parametrize(("start", "first"), [(0.55, 0.6), (0.6, 0.6), (-0.3, 0.0)])
def test_a_late_start_keeps_the_hits_where_they_are(start, first):
    # Hits belong to absolute time: multiples of 0.2 s, from the first one that is not before the start.
    record = run(diagram(w=(Watch(Ts=0.2), None, {})), start=start, stop=1.21, every=0.01)
    assert record.t[0] == start
    assert record.t[-1] == pytest.approx(1.21)
    seen = np.unique(np.round(record["w.y"][record.t >= first - 1e-9], 10))
    assert seen == pytest.approx(np.arange(first, 1.21, 0.2))


def test_stop_between_hits():
    record = run(
        diagram(w=(Watch(Ts=0.3), None, {}), one=("Constant", None, {}), area=("Integrator", "one", {})), stop=1, every=0.25
    )
    assert list(record.t) == [0, 0.25, 0.5, 0.75, 1.0]
    assert record["w.y"] == pytest.approx([0, 0, 0.3, 0.6, 0.9], abs=1e-15)
    assert record["area"] == pytest.approx(record.t, abs=1e-14)


def test_a_log_that_does_not_reach_the_stop():
    record = run(diagram(w=(Watch(Ts=0.25), None, {})), stop=1, every=0.3)
    assert record.t == pytest.approx([0, 0.3, 0.6, 0.9])


def test_start_of_a_continuous_run():
    # x' = cos(2 pi t) from t = 2.25 with x = 1: x = 1 + (sin(2 pi t) - 1) / 2 pi.
    made = diagram(push=("Sine", None, {"phase": np.pi / 2}), area=("Integrator", "push", {"x": 1.0}))
    record = run(made, solver="dopri5", start=2.25, stop=3, every=0.05)
    assert record.t[0] == 2.25
    assert record["area"] == pytest.approx(1 + (np.sin(2 * np.pi * record.t) - 1) / (2 * np.pi), abs=1e-8)


@pytest.mark.parametrize("solver", OWN)
def test_a_diagram_without_states_is_the_same_under_every_solver(solver):
    made = diagram(
        one=("Constant", None, {}),
        sum=("Sum", ["one", "x"], {}),
        x=("UnitDelay", "sum", {"Ts": 0.1}),
        twice=("Gain", "x", {"k": 2}),
    )
    record = run(made, solver=solver, stop=1)
    assert list(record["twice"]) == [2.0 * k for k in range(11)]


def test_signals_may_have_log_grids_of_their_own():
    record = run(TWO_GRIDS)
    assert len(record.time("fast")) == 11 and len(record.time("slow")) == 3
    assert record["slow"] == pytest.approx([0, 0.5, 1.0])


TWO_GRIDS = """
format: 1
simulate: {stop: 1.0, step: 0.1, every: 0.1}
blocks:
  fast: {type: Ramp}
  slow: {type: Gain, in: fast}
log: [fast, {signal: slow, every: 0.5}]
"""


# order at coincident hits


def test_a_fast_block_reads_a_slow_one_at_once():
    # At a common hit the slow output comes first where the fast one needs it: fast[k] = slow at the same instant + 1.
    made = diagram(fast=(Through(Ts=0.1), "slow", {}), slow=(Through(Ts=0.3), "time", {}), time=("Ramp", None, {}))
    record = run(made, stop=0.9)
    k = np.arange(10)
    assert record["slow"] == pytest.approx(0.3 * (k // 3) + 1, abs=1e-15)
    assert record["fast"] == pytest.approx(0.3 * (k // 3) + 2, abs=1e-15)


def test_a_slow_block_reads_a_fast_one_at_once():
    made = diagram(slow=(Through(Ts=0.3), "fast", {}), fast=(Through(Ts=0.1), "time", {}), time=("Ramp", None, {}))
    record = run(made, stop=0.9)
    k = np.arange(10)
    assert record["fast"] == pytest.approx(0.1 * k + 1, abs=1e-15)
    assert record["slow"] == pytest.approx(0.3 * (k // 3) + 2, abs=1e-15)


def test_a_slow_block_reads_a_fast_one_through_continuous_blocks():
    made = diagram(
        slow=(Through(Ts=0.3), "sum", {}),
        sum=("Sum", ["twice", "time"], {}),
        twice=("Gain", "fast", {"k": 2.0}),
        fast=(Through(Ts=0.1), "time", {}),
        time=("Ramp", None, {}),
    )
    record = run(made, stop=0.9)
    k = np.arange(10)
    held = 0.3 * (k // 3)
    assert record["slow"] == pytest.approx(2 * (held + 1) + held + 1, abs=1e-14)
    assert record["sum"] == pytest.approx(2 * (0.1 * k + 1) + 0.1 * k, abs=1e-14)


def test_a_chain_of_unit_delays_shifts_all_at_once():
    # d1 -> d2 -> d3, named so that any order of updating would show: every memory takes what its input was before.
    for order in (("d1", "d2", "d3"), ("d3", "d2", "d1"), ("d2", "d3", "d1")):
        made = bs.Diagram("chain")
        made.add("w", Watch(Ts=1))
        for name in order:
            made.add(name, "UnitDelay", {"d1": "w.n", "d2": "d1", "d3": "d2"}[name], Ts=1, x=-1.0)
        record = run(made, stop=6)
        assert [list(record[d]) for d in ("d1", "d2", "d3")] == [
            [-1, 0, 1, 2, 3, 4, 5],
            [-1, -1, 0, 1, 2, 3, 4],
            [-1, -1, -1, 0, 1, 2, 3],
        ]


def test_a_ring_of_unit_delays_turns():
    made = diagram(
        a=("UnitDelay", "c", {"Ts": 1, "x": 1.0}),
        b=("UnitDelay", "a", {"Ts": 1, "x": 2.0}),
        c=("UnitDelay", "b", {"Ts": 1, "x": 3.0}),
    )
    record = run(made, stop=5)
    assert list(record["a"]) == [1, 3, 2, 1, 3, 2]


def test_delays_of_different_rates_take_what_was_before_the_hit():
    # Both keep the count of hits that are over, which changes at the same instants: each must see it as it was before the hit.
    # At the row of k the count is k, so the slow delay shows what was counted at the even hit before: 0, 0, 0, 0, 2, 2, 4, 4.
    for names in (("kept", "slow"), ("slow", "kept")):
        made = bs.Diagram("rates")
        for name in names:
            if name == "kept":
                made.add("kept", Kept(Ts=1))
            else:
                made.add("slow", "UnitDelay", "kept", Ts=2)
        record = run(made, stop=7, every=1)
        assert list(record["kept"]) == [0, 1, 2, 3, 4, 5, 6, 7]
        assert list(record["slow"]) == [0, 0, 0, 0, 2, 2, 4, 4]


# loops written by hand


def test_sampled_pid_around_a_mass_equals_a_plain_loop():
    """Reference at 0.3 s, control every 10 ms, Runge-Kutta steps of 2 ms: the same loop in ordinary Python."""
    made = diagram(
        ref=("Step", None, {"time": 0.3}),
        error=("Sum", ["ref", "mass"], {"signs": "+-"}),
        pid=(PID(Ts=0.01), "error", {}),
        mass=(Mass(), "pid", {}),
    )
    record = run(made, step=0.002, stop=2, every=0.002)
    q, v, i, last, u, rows = 0.0, 0.0, 0.0, 0.0, 0.0, []

    def slope(q, v):
        return v, (u - 0.7 * v) / 2.0

    for k in range(1001):
        if k % 5 == 0:
            e = (1.0 if k >= 150 else 0.0) - q
            u, i, last = 8.0 * e + i + 0.5 * (e - last) / 0.01, i + 4.0 * 0.01 * e, e
        rows.append((q, u))
        h = 0.002
        a = slope(q, v)
        b = slope(q + h / 2 * a[0], v + h / 2 * a[1])
        c = slope(q + h / 2 * b[0], v + h / 2 * b[1])
        d = slope(q + h * c[0], v + h * c[1])
        q, v = q + h / 6 * (a[0] + 2 * b[0] + 2 * c[0] + d[0]), v + h / 6 * (a[1] + 2 * b[1] + 2 * c[1] + d[1])
    expected = np.array(rows)
    assert record["mass"] == pytest.approx(expected[:, 0], abs=1e-12)
    assert record["pid"] == pytest.approx(expected[:, 1], abs=1e-10)


def test_a_purely_discrete_loop_equals_a_plain_loop_bit_for_bit():
    # x[k+1] = 3.9 x[k] (1 - x[k]): chaotic, so that one wrong bit or one sample of delay would show at once.
    made = diagram(x=("UnitDelay", "next", {"Ts": 1, "x": 0.3}), next=("Function", "x", {"expression": "3.9 * u * (1 - u)"}))
    record = run(made, stop=500)
    x, expected = 0.3, []
    for _ in range(501):
        expected.append(x)
        x = 3.9 * x * (1 - x)
    assert list(record["x"]) == expected


def test_zero_order_hold_of_a_plant_equals_the_exact_discretisation():
    # T y' = u - y with u held over Ts: y[k+1] = a y[k] + (1 - a) u[k], a = exp(-Ts / T). Here u[k] = 1 - y[k].
    made = diagram(
        one=("Constant", None, {}),
        error=("Sum", ["one", "lag"], {"signs": "+-"}),
        hold=("ZeroOrderHold", "error", {"Ts": 0.3}),
        lag=("FirstOrderLag", "hold", {"T": 0.5, "k": 2.0}),
    )
    a = np.exp(-0.3 / 0.5)
    y, expected = 0.0, []
    for _ in range(11):
        expected.append(y)
        y = a * y + (1 - a) * 2.0 * (1 - y)
    for solver, options in {
        "dopri5": {"rtol": 1e-10, "atol": 1e-12},
        "rodas4": {"rtol": 1e-10, "atol": 1e-12},
        "rk4": {"step": 0.01},
    }.items():
        record = run(made, solver=solver, stop=3, **{"every": 0.3, **options})
        assert record["lag"] == pytest.approx(expected, abs=2e-9)


def test_a_step_that_does_not_divide_the_sample_time():
    # Steps of 70 ms and hits every 200 ms: the solver stops at both.
    made = diagram(t=("Ramp", None, {}), hold=("ZeroOrderHold", "t", {"Ts": 0.2}), area=("Integrator", "hold", {}))
    record = run(made, step=0.07, stop=1, every=0.2)
    assert record["area"] == pytest.approx([0.2 * 0.2 * sum(range(k)) for k in range(6)], abs=1e-14)


def test_times_without_a_common_base_are_refused_in_words():
    with pytest.raises(bs.DiagramError, match="too many to count exactly"):
        run(diagram(w=(Watch(Ts=Fraction(1, 999_999_937)), None, {}), v=(Watch(Ts=Fraction(1, 999_999_929)), None, {})), stop=10)
