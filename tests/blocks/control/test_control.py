"""PID, PD and CascadePPI against hand-written loops, scipy's linear systems and closed forms; limits, tracking, widening."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy import signal

import blocks
import blocksim as bs

EXACT = {"solver": "dopri5", "rtol": 1e-11, "atol": 1e-13, "every": "1/100", "engine": "python"}
FIXED = {"solver": "rk4", "step": "1/1000", "every": "1/1000", "engine": "python"}
SERVO = """  ref: {type: FourierTrajectory, base_frequency: 0.2, a: [1.0, 0.4, 0.25], b: [0.1, 0.2, -0.3]}
  error: {type: Sum, signs: "+-", in: [ref.q, encoder]}
  pid: {type: PID, Ts: 1e-3, kp: 20.0, ki: 10.0, kd: 0.3, %s in: error}
  joint: {type: GravityJoint, J: 0.02, Fv: 0.05, Fc: 0.1, Ms: 0.0306, beta: 100.0, in: pid}
  encoder: {type: Encoder, Ts: 1e-3, resolution: 3.1416e-3, in: joint.q}
"""
LAG = """  ref: {type: Step}
  error: {type: Sum, signs: "+-", in: [ref, plant]}
  plant: {type: FirstOrderLag, k: 2.0, T: 0.5, in: %s}
"""


def run(text, stop, **options):
    return bs.simulate(f"format: 1\nsimulate: {{stop: {stop}}}\nblocks:\n" + text, **{**EXACT, **options})


@pytest.mark.parametrize("Tf", [0.0, 4e-3])
def test_a_sampled_pid_is_the_hand_written_loop_bit_for_bit(Tf):
    record = run(SERVO % f"Tf: {Tf}, ", 1.0, **FIXED)
    kp, ki, kd, Ts = 20.0, 10.0, 0.3, 1e-3
    integral = before = d = 0.0
    for e, u in zip(record["error"].tolist(), record["pid"].tolist(), strict=True):
        integral += ki * Ts * e
        d = kd * (e - before) / Ts if Tf == 0 else (Tf * d + kd * (e - before)) / (Tf + Ts)
        before = e
        assert u == kp * e + integral + d
    assert np.abs(record["error"])[500:].max() < 0.1


def test_a_continuous_pid_closes_the_loop_as_the_transfer_function_says():
    kp, ki, kd, Tf = 3.0, 4.0, 0.2, 0.05
    record = run(LAG % "pid" + f"  pid: {{type: PID, kp: {kp}, ki: {ki}, kd: {kd}, Tf: {Tf}, in: error}}\n", 3.0)
    controller = np.polyadd(np.polymul([kp, ki], [Tf, 1.0]), [kd, 0.0, 0.0])  # over s (Tf s + 1)
    opened, below = 2.0 * controller, np.polymul([Tf, 1.0, 0.0], [0.5, 1.0])
    _, y = signal.step((opened, np.polyadd(below, opened)), T=record.t)
    assert record["plant"] == pytest.approx(y, abs=1e-8)


def test_the_ideal_form_is_the_parallel_one_with_other_numbers():
    sampled, continuous = "Ts: 1e-2, ", "Tf: 0.03, "
    for kind in (sampled, continuous):
        parallel, ideal = (
            run(LAG % "pid" + f"  pid: {{type: PID, {kind} {gains}, in: error}}\n", 2.0)
            for gains in ("kp: 2.0, ki: 3.0, kd: 0.1", "form: ideal, kp: 2.0, ki: 1.5, kd: 0.05")
        )
        assert parallel["pid"] == pytest.approx(ideal["pid"], rel=1e-9)


def test_without_tf_a_continuous_derivative_is_filtered_with_a_tenth_of_the_derivative_time():
    given, own = (run(LAG % "pd" + f"  pd: {{type: PD, kp: 2.0, kd: 0.4, {Tf} in: error}}\n", 2.0) for Tf in ("Tf: 0.02,", ""))
    assert own["pd"] == pytest.approx(given["pd"], rel=1e-8)


@pytest.mark.parametrize("kind", ["PD", "PID"])
def test_a_measured_speed_replaces_the_derivative(kind):
    """u = kp e - kd qd on an inertia: J q'' + kd q' + kp q = kp, without a kick from the reference's step."""
    record = run(
        "  ref: {type: Step}\n  error: {type: Sum, signs: '+-', in: [ref, joint.q]}\n"
        f"  c: {{type: {kind}, kp: 4.0, kd: 2.0, in: {{e: error, qd_hat: joint.qd}}}}\n"
        "  joint: {type: GravityJoint, J: 0.5, Fv: 0.0, Fc: 0.0, Ms: 0.0, in: c}\n",
        3.0,
    )
    t = record.t
    assert record["joint.q"] == pytest.approx(1 - np.exp(-2 * t) * (np.cos(2 * t) + np.sin(2 * t)), abs=1e-8)
    assert record["c"][0] == 4.0


def test_pd_is_pid_without_its_integral():
    for form in ("Ts: 1e-2,", "Tf: 0.05,"):
        pd, pid = (
            run(LAG % "c" + "  push: {type: Ramp}\n"
                f"  c: {{type: {kind}, kp: 2.0, kd: 0.1, limit: 1.5, {form} in: {{e: error, ff: push}}}}\n", 1.0)
            for kind in ("PD", "PID")
        )  # fmt: skip
        assert pd["c"] == pytest.approx(pid["c"], rel=1e-7) and pd["c"].max() == 1.5


@pytest.mark.parametrize("form", ["Ts: 1e-2,", ""])
def test_anti_windup_bounds_the_overshoot(form):
    """u within 0.6 can just hold 1.2 times the reference: the rise is slow, and an integral that kept growing overshoots far."""
    inside = run(LAG % "pid" + f"  pid: {{type: PID, {form} kp: 2.0, ki: 8.0, limit: 0.6, in: error}}\n", 8.0)
    behind = run(LAG % "limit" + f"  pid: {{type: PID, {form} kp: 2.0, ki: 8.0, in: error}}\n"
                 "  limit: {type: Saturation, lower: -0.6, upper: 0.6, in: pid}\n", 8.0)  # fmt: skip
    assert np.abs(inside["pid"]).max() == 0.6
    assert inside["plant"].max() < 1.05 and behind["plant"].max() > 1.15
    assert inside["plant"][-1] == pytest.approx(1.0, abs=1e-3)


@pytest.mark.parametrize("form", ["Ts: 1e-2,", ""])
def test_tracking_an_actuator_behind_equals_the_limit_inside(form):
    inside = run(LAG % "pid" + f"  pid: {{type: PID, {form} kp: 2.0, ki: 8.0, limit: 0.6, in: error}}\n", 4.0)
    behind = run(LAG % "limit" + f"  pid: {{type: PID, {form} kp: 2.0, ki: 8.0, in: {{e: error, track: limit}}}}\n"
                 "  limit: {type: Saturation, lower: -0.6, upper: 0.6, in: pid}\n", 4.0)  # fmt: skip
    assert behind["plant"] == pytest.approx(inside["plant"], abs=1e-8)


@pytest.mark.parametrize("track", [", track: applied", ""], ids=["tracking", "winding up"])
def test_taking_over_from_a_manual_mode_makes_no_bump(track):
    """Manual until t = 4 at u = 0.3, then automatic: with `track` the integral has followed, without it has wound up."""
    text = (
        "  ref: {type: Constant, value: 1.0}\n  error: {type: Sum, signs: '+-', in: [ref, plant]}\n"
        f"  pid: {{type: PID, Ts: 1e-2, kp: 1.0, ki: 2.0, Tt: 1e-2, in: {{e: error{track}}}}}\n"
        "  manual: {type: Constant, value: 0.3}\n  mode: {type: Step, time: 4.0}\n"
        "  applied: {type: Switch, threshold: 0.5, in: [pid, mode, manual]}\n"
        "  plant: {type: FirstOrderLag, k: 2.0, T: 0.5, in: applied}\n"
    )
    u = run(text, 6.0)["applied"]
    jump = abs(u[400] - u[399])
    if track:
        assert jump == pytest.approx(2.0 * 1e-2 * 0.4, rel=2e-3)  # one step of the integral, ki Ts e, at the steady error of 0.4
    else:
        assert jump > 1.0


def test_the_integral_starts_where_it_is_told():
    text = "  none: {type: Constant, value: 0.0}\n  pid: {type: PID, ki: 1.0, integral: 0.7, %s in: none}\n"
    assert np.all(run(text % "Ts: 0.1,", 1.0)["pid"] == 0.7) and np.all(run(text % "", 1.0)["pid"] == 0.7)


def test_the_derivative_starts_from_before():
    text = "  one: {type: Constant}\n  pd: {type: PD, kp: 1.0, kd: 1.0, before: 1.0, %s in: one}\n"
    assert np.all(run(text % "Ts: 0.1,", 1.0)["pd"] == 1.0) and np.all(run(text % "Tf: 0.1,", 1.0)["pd"] == 1.0)


def test_one_controller_serves_two_joints():
    wide = run("  e: {type: Sine, amplitude: [1.0, 0.5], frequency: 1.0}\n"
               "  pid: {type: PID, Ts: 1e-2, kp: [2.0, 3.0], ki: 1.0, kd: [0.1, 0.0], limit: [1.2, 9.0], in: e}\n",
               1.0)  # fmt: skip
    for k, (size, kp, kd, limit) in enumerate([(1.0, 2.0, 0.1, 1.2), (0.5, 3.0, 0.0, 9.0)]):
        alone = run(f"  e: {{type: Sine, amplitude: {size}, frequency: 1.0}}\n"
                    f"  pid: {{type: PID, Ts: 1e-2, kp: {kp}, ki: 1.0, kd: {kd}, limit: {limit}, in: e}}\n", 1.0)  # fmt: skip
        assert np.array_equal(wide["pid"][:, k], alone["pid"])


def test_a_continuous_cascade_has_the_poles_of_its_two_loops():
    """M q'' = kv (kp (r - q) - q'): with M = 1, kv = 5, kp = 1.2, (s + 2)(s + 3) q = 6 r."""
    record = run("  ref: {type: Step}\n  c: {type: CascadePPI, kp: 1.2, kv: 5.0, in: {q_ref: ref, q: cart.q, qd: cart.qd}}\n"
                 "  cart: {type: GravityJoint, J: 1.0, Fv: 0.0, Fc: 0.0, Ms: 0.0, in: c}\n", 3.0)  # fmt: skip
    t = record.t
    assert record["cart.q"] == pytest.approx(1 - 3 * np.exp(-2 * t) + 2 * np.exp(-3 * t), abs=1e-8)


@pytest.mark.parametrize("form", ["Ts: 1e-3,", "Tf: 1e-3,"])
def test_the_integral_of_the_speed_loop_takes_the_load(form):
    text = ("  ref: {type: Step, time: 0.5}\n  load: {type: Constant, value: -2.0}\n"
            "  c: {type: CascadePPI, kp: 4.0, kv: 5.0, ki: 3.0, limit: 9.0, %s in: {q_ref: ref, q: cart.q}}\n"
            "  push: {type: Sum, in: [c, load]}\n"
            "  cart: {type: GravityJoint, J: 0.2, Fv: 0.1, Fc: 0.0, Ms: 0.0, in: push}\n")  # fmt: skip
    record = run(text % form, 6.0, **FIXED)
    assert record["cart.q"][-1] == pytest.approx(1.0, abs=1e-4) and record["c"][-1] == pytest.approx(2.0, abs=1e-3)


@pytest.mark.parametrize("span", [1, 2])
def test_a_sampled_cascade_is_the_hand_written_loop_bit_for_bit(span):
    record = run("  ref: {type: Sine, frequency: 0.5}\n  wish: {type: Sine, amplitude: 3.0, frequency: 0.5, phase: 1.5}\n"
                 f"  c: {{type: CascadePPI, kp: 8.0, kv: 5.0, ki: 3.0, span: {span}, qd0: 0.5, Ts: 1e-2, "
                 "in: {q_ref: ref, q: cart.q, qd_ref: wish}}\n"
                 "  cart: {type: GravityJoint, J: 0.2, Fv: 0.1, Fc: 0.0, Ms: 0.0, q: 0.1, qd: 0.5, in: c}\n", 1.0)  # fmt: skip
    q = record["cart.q"].tolist()
    past, integral = [q[0] - 2.0 * 0.5 * 1e-2, q[0] - 0.5 * 1e-2, *q], 0.0
    for k, (r, wish, u) in enumerate(zip(record["ref"].tolist(), record["wish"].tolist(), record["c"].tolist(), strict=True)):
        speed = (q[k] - past[k + 1]) / 1e-2 if span == 1 else (q[k] - past[k]) / (2.0 * 1e-2)
        w = 8.0 * (r - q[k]) + wish - speed
        integral += 5.0 * 3.0 * 1e-2 * w
        assert u == 5.0 * w + integral


@pytest.mark.parametrize(("kind", "settings", "words"), [
    ("PID", {"kp": 0.0, "kd": 1.0}, "Tf: with kp = 0 a continuous derivative has no filter"),
    ("PID", {"kp": 0.0, "ki": 1.0, "limit": 2.0, "Ts": 0.1}, "Tt: with kp = 0 there is no integral time"),
    ("PID", {"kq": 1.0}, "no parameter 'kq'. PID takes: kp, ki, kd, Tf, limit, Tt, form, Ts, integral, before."),
    ("PD", {"limit": 0.0}, "limit: must be above 0, found 0"),
    ("PD", {"Ts": -1}, "Ts: must be at least 0, found -1"),
    ("CascadePPI", {"span": 3}, "3 is not one of 1, 2"),
])  # fmt: skip
def test_settings_that_make_no_controller_are_refused(kind, settings, words):
    with pytest.raises(bs.DiagramError) as found:
        blocks.LIBRARY[kind](**settings)
    assert words in str(found.value)


def test_compiled_and_interpreted_runs_are_equal_bit_for_bit():
    """Every controller of this file, sampled and continuous, on joints with true stiction."""
    text = (
        (SERVO % "Tf: 2e-3, limit: 4.0, ").replace("beta: 100.0", "friction: sign")
        + "  pd: {type: PD, kp: 3.0, kd: 0.4, Tf: 0.02, limit: 3.0, in: error}\n"
        "  arm: {type: GravityJoint, J: 0.02, Fc: 0.1, friction: sign, in: pd}\n"
        "  off: {type: Sum, signs: '+-', in: [ref.q, arm.q]}\n"
        "  pi: {type: PID, kp: 3.0, ki: 2.0, limit: 1.0, in: {e: off, qd_hat: arm.qd, track: pd}}\n"
        "  loop: {type: CascadePPI, kp: 9.0, kv: 2.0, ki: 1.0, span: 2, limit: 5.0, Ts: 2e-3, in: {q_ref: ref.q, q: arm.q}}\n"
        "  slow: {type: CascadePPI, kp: 9.0, kv: 2.0, ki: 1.0, limit: 5.0, in: {q_ref: ref.q, q: cart.q}}\n"
        "  cart: {type: ElectroMechanicalPositioner, friction: sign, in: slow}\n"
    )
    slow, fast = (run(text, 1.0, **{**FIXED, "engine": engine}) for engine in ("python", "compiled"))
    assert all(np.array_equal(slow[name], fast[name]) for name in slow)
    assert all(math.isfinite(np.abs(slow[name]).max()) for name in slow)
