"""Poles of sampled loops before a run, of one rate and of several, against maps worked out by hand and by scipy."""

from fractions import Fraction

import numpy as np
import pytest
from loop_file import LOOP, blocksim
from scipy.linalg import expm
from scipy.signal import cont2discrete

import blocksim as bs
from blocksim.checking.poles import loop_poles
from blocksim.linear.monodromy import common_period, stretches


def sizes(text, params=None):
    """|z| of the poles, the largest first, and the period."""
    poles = loop_poles(bs.experiment(text, params or {}))
    assert poles is not None
    return sorted(map(abs, poles.poles), reverse=True), poles.period


TWO_GAINS = """
format: 1
simulate: {stop: 2, solver: rk4, step: 1e-3}
blocks:
  fast: {type: ZeroOrderHold, Ts: FAST, in: x}
  slow: {type: ZeroOrderHold, Ts: SLOW, in: x}
  u1:   {type: Gain, k: -8, in: fast}
  u2:   {type: Gain, k: -5, in: slow}
  u:    {type: Sum, in: [u1, u2]}
  x:    {type: FirstOrderLag, x: 1.0, T: 0.2, k: 0.2, in: u}
"""


def two_gains(fast, slow):
    return TWO_GAINS.replace("FAST", str(fast)).replace("SLOW", str(slow))


def lag(h, T=0.2):
    """x' = -x / T + u over h: x -> a x + b u."""
    return np.exp(-h / T), T * (1 - np.exp(-h / T))


def test_two_rates_of_which_one_divides_the_other():
    # Over two fast samples, with u1 = -8 x at each and u2 = -5 x held from the first: x -> (a - 8 b)((a - 8 b - 5 b)) x - 5 b x.
    a, b = lag(0.02)
    (pole,), period = sizes(two_gains(0.02, 0.04))
    assert period == pytest.approx(0.04)
    assert pole == pytest.approx(abs((a - 8 * b) * (a - 13 * b) - 5 * b), rel=1e-8)


def test_two_rates_neither_of_which_divides_the_other():
    # 2 and 3 samples in the common period of 60 ms: both act at 0, the first at 20 and 40 ms, the second at 30 ms.
    pole, fast, slow = 1.0, 0.0, 0.0
    for both, seconds in (("fs", 0.02), ("f", 0.01), ("s", 0.01), ("f", 0.02)):
        fast, slow = (pole if "f" in both else fast), (pole if "s" in both else slow)
        a, b = lag(seconds)
        pole = a * pole + b * (-8 * fast - 5 * slow)
    (found,), period = sizes(two_gains(0.02, 0.03))
    assert period == pytest.approx(0.06) and found == pytest.approx(abs(pole), rel=1e-8)


CASCADE = """
format: 1
simulate: {stop: 2, solver: rk4, step: 1e-3}
blocks:
  ref:   {type: Step, time: 0.1}
  e:     {type: Sum, signs: "+-", in: [ref, place]}
  outer: {type: DiscreteTransferFunction, Ts: 8e-3, num: [14, -10], den: [1, -0.6], in: e}
  ev:    {type: Sum, signs: "+-", in: [outer, speed]}
  inner: {type: Gain, k: 0.9, in: ev}
  hold:  {type: ZeroOrderHold, Ts: 2e-3, in: inner}
  joint: {type: GravityJoint, J: 0.02, Fv: 0.05, Fc: 0, Ms: 0, N: 1, in: hold}
  place: {type: ZeroOrderHold, Ts: 8e-3, in: joint.q}
  speed: {type: ZeroOrderHold, Ts: 2e-3, in: joint.qd}
"""


def test_a_cascade_of_two_rates_is_the_lifted_system_that_scipy_gives():
    # J qdd = u - Fv qd, held for 2 ms; u = 0.9 (v - qd); v = (14 - 10/z)/(1 - 0.6/z) e at each fourth: w+ = 0.6 w + e,
    # v = 14 e + (14 * 0.6 - 10) w with e = -q.
    A, B = np.array([[0, 1], [0, -0.05 / 0.02]]), np.array([[0], [1 / 0.02]])
    Ad, Bd, *_ = cont2discrete((A, B, np.eye(2), np.zeros((2, 1))), 2e-3, "zoh")
    measured_speed = np.array([[0, 1.0]])
    whole = np.zeros((3, 3))
    for column, (q, qd, w) in enumerate(np.eye(3)):
        x, e = np.array([[q], [qd]]), -q
        v = 14 * e + (14 * 0.6 - 10) * w
        for _ in range(4):
            x = Ad @ x + Bd * (0.9 * (v - measured_speed @ x))
        whole[:, column] = [*x[:, 0], 0.6 * w + e]
    expected = sorted(abs(np.linalg.eigvals(whole)), reverse=True)
    found, period = sizes(CASCADE)
    assert period == pytest.approx(8e-3)
    assert found[:3] == pytest.approx(expected, rel=1e-6) and max(found[3:], default=0.0) < 1e-9


def test_a_pendulum_is_linearised_where_it_hangs():
    # J qdd = u - Fv qd - Ms g cos(q + theta0), at rest at q = 0 with theta0 = -pi/2: the slope of the weight is Ms g.
    text = CASCADE.replace("Ms: 0, N: 1", "Ms: 0.03, N: 1, theta0: -1.5707963267948966, g: 9.81")
    text = text.replace("time: 0.1", "time: 1.9")
    A = np.array([[0, 1], [-0.03 * 9.81 / 0.02, -0.05 / 0.02]])
    block = expm(np.block([[A, np.array([[0], [1 / 0.02]])], [np.zeros((1, 3))]]) * 2e-3)
    Ad, Bd = block[:2, :2], block[:2, 2:]
    whole = np.zeros((3, 3))
    for column, (q, qd, w) in enumerate(np.eye(3)):
        x, v = np.array([[q], [qd]]), -14 * q + (14 * 0.6 - 10) * w
        for _ in range(4):
            x = Ad @ x + Bd * (0.9 * (v - x[1, 0]))
        whole[:, column] = [*x[:, 0], 0.6 * w - q]
    found, _ = sizes(text)
    assert found[:3] == pytest.approx(sorted(abs(np.linalg.eigvals(whole)), reverse=True), rel=1e-6)


def test_one_rate_is_the_map_over_its_period():
    a, b = lag(0.02)
    (pole,), period = sizes(two_gains(0.02, 0.02))
    assert period == pytest.approx(0.02) and pole == pytest.approx(abs(a - 13 * b), rel=1e-8)


@pytest.mark.parametrize("gain, stable", [(14, True), (140, False)])  # by the lifted system above: 0.91 and 1.11
def test_an_unstable_loop_of_two_rates_is_told_and_grows(tmp_path, monkeypatch, gain, stable):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "loop.yaml").write_text(CASCADE.replace("[14, -10]", f"[{gain}, -10]"), encoding="utf-8")
    told = blocksim("check", "loop.yaml")
    assert "closed-loop poles every 0.008 s, the common period of 0.002 s, 0.008 s: largest |z| = " in told.stdout
    assert ("[unstable-loop]" in told.stderr) != stable
    if stable:
        # q follows the reference: where the largest pole is z, what is left dies out with the time constant that is told.
        largest = max(sizes("loop.yaml")[0])
        assert f"a time constant of {-0.008 / np.log(largest):.2g} s" in told.stdout
    q = bs.simulate("loop.yaml", stop=1.5)["joint.q"]
    late, earlier = (np.abs(part - 1).max() for part in (q[-200:], q[200:400]))
    assert (late < 0.5 * earlier) if stable else (late > 10 * earlier)


def test_loops_that_are_no_straight_lines_are_passed_over_in_silence():
    """Dry friction at rest, a relay at its edge: what moves them a little moves them otherwise."""
    stuck = CASCADE.replace("Fc: 0, ", "Fc: 0.1, friction: sign, ").replace("type: Step, time: 0.1", "type: Constant, value: 0")
    edge = CASCADE.replace("{type: Gain, k: 0.9, in: ev}", "{type: Sign, in: ev}").replace(
        "type: Step, time: 0.1", "type: Constant, value: 0"
    )
    assert "in: ev}" in edge and "Sign" in edge
    for text in (stuck, edge):
        assert loop_poles(bs.experiment(text)) is None
        assert not [f for f in bs.findings(text) if f.name == "unstable-loop"]


def test_a_common_period_that_is_too_long_is_not_waited_for():
    text = two_gains(0.02, "0.020001")  # 20 001 samples of one to 20 000 of the other
    assert loop_poles(bs.experiment(text)) is None


def test_who_acts_when():
    two, three, half = Fraction(2), Fraction(3), Fraction(1, 2)
    assert common_period([Fraction(1, 3), Fraction(1, 2)]) == 1
    assert stretches([two, three], [Fraction(0), Fraction(0)], 10) == [
        ([0, 1], two), ([0], 1), ([1], 1), ([0], two),
    ]  # fmt: skip
    assert stretches([two, two], [Fraction(0), half], 10) == [([0], half), ([1], Fraction(3, 2))]
    assert stretches([two], [half], 10) == [([], half), ([0], Fraction(3, 2))]  # from an instant at which nobody acts
    assert stretches([two, three], [Fraction(0), Fraction(0)], 4) == []


def test_blocks_beside_the_loop_at_another_rate_have_no_say():
    beside = LOOP + "  slow:    {type: ZeroOrderHold, Ts: 7e-3, in: encoder}\n"
    assert str(loop_poles(bs.experiment(beside))) == str(loop_poles(bs.experiment(LOOP)))
