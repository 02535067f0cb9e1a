"""The verdict names what is not seen, and why, in words: one constructed case for each reason."""

from __future__ import annotations

import math

import pytest

import blocksim as bs

LAG = """
format: 1
simulate: {stop: 2.0, solver: rk4, step: 1e-3, every: 1e-2}
blocks:
  u:    {type: Sine, amplitude: 1.0, frequency: 1.0}
  in:   {type: Gain, k: 3.0, in: u}
  lag:  {type: FirstOrderLag, k: 2.0, T: 0.5, in: in}
  side: {type: Gain, k: 5.0, in: lag}
"""


def robot(u, stop=4, **settings):
    """The two-mass robot driven by a source."""
    own = ", ".join(f"{k}: {v}" for k, v in settings.items())
    return f"""
format: 1
simulate: {{stop: {stop}, solver: rk4, step: 1e-3, every: 4e-3}}
blocks:
  u:     {u}
  robot: {{type: TwoMassRobot, {own + ", " if own else ""}in: u}}
log: [robot.w_m]
"""


HYSTERESIS = {"alpha": 1e3, "A": 1e7}


def judge(diagram, parameters, outputs, noise, **options):
    return bs.information(diagram, parameters, outputs, noise_std=noise, **options)


def test_dead():
    info = judge(LAG, ["side.k", "lag.k"], "lag", 0.05)
    assert info.findings[0].kind == "dead" and info.findings[0].parameters == ("side.k",)
    assert info.verdict.startswith("side.k is dead here: no output depends on it at all")
    assert math.isinf(info.std["side.k"]) and info.std["lag.k"] == pytest.approx(judge(LAG, ["lag.k"], "lag", 0.05).std["lag.k"])


def test_collinear_as_a_product():
    info = judge(LAG, ["in.k", "lag.k", "lag.T"], "lag", 0.05)
    assert "in.k and lag.k cannot be told apart here: only in.k * lag.k is seen" in info.verdict
    assert math.isinf(info.std["in.k"]) and math.isfinite(info.std["lag.T"])
    (direction,) = info.null_directions
    assert direction["in.k"] / 3.0 == pytest.approx(-direction["lag.k"] / 2.0, rel=1e-3) and "lag.T" not in direction


def test_collinear_as_a_sum():
    both = LAG.replace("in: in}", "in: both}") + "  one:  {type: Gain, k: 1.0, in: u}\n  both: {type: Sum, in: [in, one]}\n"
    assert "only in.k + one.k is seen" in judge(both, ["in.k", "one.k"], "lag", 0.05).verdict


def test_a_sum_of_stiffnesses_below_the_bend_of_the_hysteresis():
    soft = robot("{type: Multisine, f_min: 1, f_max: 30, lines: 59, amplitude: 1.0}", **HYSTERESIS)
    info = judge(soft, ["robot.k1", "robot.A"], "robot.w_m", 0.05)
    assert info.findings[0].kind == "alike" and set(info.findings[0].parameters) == {"robot.k1", "robot.A"}
    assert "robot.k1 and robot.A cannot be told apart here: only robot.k1 + robot.A is seen" in info.verdict
    assert "the hysteresis bends over 1/alpha = 0.001 rad" in info.verdict
    assert "Raise u.y near" in info.verdict and info.verdict.endswith("Hz.")


def test_a_gap_that_never_opens():
    pressed = robot("{type: Constant, value: 20.0}", stop=0.5, q="1e-3", phi_m=0.527)
    info = judge(pressed, ["robot.q", "robot.phi_m"], "robot.w_m", 0.05)
    assert "the gap never opens: the gear stays in contact on one side" in info.verdict
    assert "robot.q" in info.findings[0].parameters


def test_a_gap_that_never_closes():
    tiny = robot("{type: Sine, amplitude: 0.05, frequency: 20.0}", stop=0.5, q=0.1, phi_m=0.0, Fv=0.5)
    info = judge(tiny, ["robot.q"], "robot.w_m", 0.05)
    assert info.findings[0].kind == "dead" and "the gap never closes" in info.verdict


def test_a_saturated_hysteresis():
    pushed = robot("{type: Constant, value: 30.0}", stop=6, alpha=1e3, A=1e6, k1=1e5, k3=0)
    info = judge(pushed, ["robot.alpha", "robot.A"], "robot.w_m", 0.02, skip=3.0)
    assert "the hysteresis is saturated at A/alpha = 1e+03 N m" in info.verdict


def test_a_cubic_spring_that_is_not_bent():
    info = judge(robot("{type: Sine, amplitude: 1.0, frequency: 2.0}"), ["robot.k3"], "robot.w_m", 0.05)
    assert info.findings[0].kind == "quiet" and "robot.k3 is hardly seen" in info.verdict
    assert "the cubic spring gives" in info.verdict and "% of the linear one" in info.verdict


def test_too_short():
    """A lag of 100 s watched for 2 s: k / T is seen at once, T only as the answer bends."""
    slow = LAG.replace("T: 0.5", "T: 100.0").replace(
        "{type: Sine, amplitude: 1.0, frequency: 1.0}", "{type: Constant, value: 1.0}"
    )
    info = judge(slow, ["lag.k", "lag.T"], "lag", 0.002)
    assert "only lag.k / lag.T is seen" in info.verdict and "The run is too short" in info.verdict
    assert not judge(slow, ["lag.k", "lag.T"], "lag", 0.002, stop=400, every=0.1).findings


def test_too_quiet():
    info = judge(LAG, ["lag.k"], "lag", 5.0)
    assert info.findings[0].kind == "quiet" and "lag.k is hardly seen" in info.verdict and "in noise of 5" in info.verdict
    factor = info.relative_std["lag.k"] / 0.1
    assert f"It takes {factor:.2g} times the amplitude" in info.verdict
    louder = judge(LAG, ["lag.k"], "lag", 5.0, params={"u.amplitude": 1.1 * factor})
    assert louder.relative_std["lag.k"] < 0.1 and not louder.findings


def test_quantisation_swallows():
    info = judge(LAG, ["lag.k"], "lag", {"resolution": 30.0})
    assert (
        info.findings[0].kind == "quantised" and "Quantisation swallows it" in info.verdict and "one step of 30" in info.verdict
    )


LOOP = """
format: 1
simulate: {stop: 3.0, solver: rk4, step: 1e-3, every: 1e-2}
blocks:
  ref:   {type: Sine, amplitude: 1.0, frequency: 0.2}
  error: {type: Sum, signs: "+-", in: [ref, lag]}
  p:     {type: Gain, k: 300.0, in: error}
  lag:   {type: FirstOrderLag, k: 2.0, T: 0.5, in: p}
"""


def test_a_controller_that_hides():
    info = judge(LOOP, ["lag.k"], "lag", 0.01)
    assert info.findings[0].kind == "hidden" and "The controller hides it" in info.verdict and "Read 'p.y' too" in info.verdict
    assert not judge(LOOP, ["lag.k"], ["lag", "p"], 0.01).findings


def test_an_initial_state():
    info = judge(LAG.replace("T: 0.5", "T: 0.05, x: 0.3"), ["lag.x"], "lag", 0.5)
    assert info.findings[0].kind == "start" and "a start value, whose effect dies out" in info.verdict
    assert "More time does not help" in info.verdict


def test_friction_at_low_speed():
    info = judge(robot("{type: Sine, amplitude: 0.01, frequency: 1.0}"), ["robot.Fv", "robot.Fc"], "robot.w_m", 1e-5)
    assert "robot.Fv and robot.Fc cannot be told apart" in info.verdict and "only Fv + beta Fc acts" in info.verdict


def test_rattling_gets_no_number():
    """The logistic map at 3.99 is chaos: differences of two step sizes have nothing in common."""
    rattle = """
format: 1
simulate: {stop: 20.0, solver: euler, step: 0.01}
blocks:
  x:    {type: UnitDelay, Ts: 0.01, x: 0.3, in: map}
  gain: {type: Gain, k: 3.99, in: x}
  map:  {type: Function, expression: "u1 * (1 - u2)", in: [gain, x]}
  add:  {type: Gain, k: 1.0, in: x}
"""
    info = judge(rattle, ["gain.k", "add.k"], "add", 0.01)
    assert info.findings[0].kind == "rough" and math.isnan(info.std["gain.k"]) and math.isfinite(info.std["add.k"])
    assert "Two step sizes of its differences disagree by" in info.verdict and "no bound is told" in info.verdict


#: A motor and an arm from parts: friction, a gap and a hysteresis in between, each a block of its own.
DRIVE = """
format: 1
simulate: {stop: 2.0, solver: rk4, step: 5e-4, every: 4e-3}
blocks:
  u:        {type: Sine, amplitude: PUSH, frequency: 2.0}
  friction: {type: Coulomb, Fc: 0.05, Fv: 0.1, beta: 20.0, in: motor.w}
  motor:    {type: Inertia, J: 0.01, in: {tau: u, load: sum}}
  sum:      {type: Sum, in: [friction, torque]}
  shaft:    {type: ElastoBacklash, k1: 50.0, k3: 10.0, d: 0.2, q: 0.1, law: elasto,
             in: {phi_a: motor.phi, w_a: motor.w, phi_b: arm.phi, w_b: arm.w}}
  bent:     {type: Hysteresis, alpha: 20.0, A: 5.0, in: {w_a: motor.w, w_b: arm.w}}
  torque:   {type: Sum, in: [shaft.tau, bent]}
  arm:      {type: Inertia, J: 0.05, in: torque}
"""


@pytest.mark.parametrize(("push", "name", "words"), [
    (0.02, "shaft.q", "the gap never closes: the wind-up stays within"),
    (0.02, "bent.alpha", "the hysteresis is hardly bent: its torque stays at"),
    (1.0, "shaft.k3", "where the cubic spring gives"),
    (5e-4, "friction.Fc", "the body stays below"),
    (0.0, "friction.Fc", "the body never moves"),
])  # fmt: skip
def test_parts_of_a_drive_say_why_they_are_not_seen(push, name, words):
    assert words in judge(DRIVE.replace("PUSH", str(push)), [name], "motor.w", 0.2).verdict


def test_an_encoder_that_never_leaves_a_step():
    """Its own noise: a position that stays within one count is read without any scatter, and nothing is learnt of it."""
    still = LAG.replace("amplitude: 1.0", "amplitude: 1e-3") + "  seen: {type: Encoder, Ts: 1e-2, resolution: 0.05, in: lag}\n"
    info = judge(still, ["lag.k"], "seen", None)
    assert info.findings[0].kind == "quantised" and "less than one step of 0.05" in info.verdict
    assert info.noise_stds == pytest.approx([0.05 / math.sqrt(12)])
    loud = judge(still, ["lag.k"], "seen", None, params={"u.amplitude": 1.0})
    assert not loud.findings and loud.noise_stds == pytest.approx([0.05 / math.sqrt(12)], rel=0.15)
