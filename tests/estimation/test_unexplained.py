"""Data that explain nothing, stand still or are not settled: told of simulated and of measured records alike."""

import numpy as np
import pytest

import blocksim as bs

#: A joint without gravity, J qdd + Fv qd + Fc sign(qd) = tau, whose Ms shows in nothing.
JOINT = """
format: 1
simulate: {stop: 4, solver: rk4, step: 1e-3}
blocks:
  drive:   {type: Sine, amplitude: 1.0, frequency: 1.0}
  joint:   {type: GravityJoint, J: 0.02, Fv: 0.05, Fc: 0.1, Ms: 0.03, N: 1, in: drive}
  encoder: {type: Encoder, Ts: 1e-3, resolution: 1e-6, in: joint.q}
  motion:  {type: BandPassDerivatives, cutoff: 40, factor: 1, in: encoder}
  ls:      {type: LeastSquares, model: joint, decimate: 10, skip: 0.3,
            in: {q: motion.q, qd: motion.qd, qdd: motion.qdd, tau: drive}}
"""


@pytest.fixture(scope="module")
def measured():
    """q and the torque of J = 0.02, Fv = 0.05, Fc = 0.1 without gravity, by the formula."""
    t = np.arange(0, 4.0005, 1e-3)
    w = 2 * np.pi * np.array([1.0, 2.3])
    a = np.array([0.5, 0.2])
    q, qd, qdd = (
        a @ f for f in (np.sin(np.outer(w, t)), w[:, None] * np.cos(np.outer(w, t)), -(w**2)[:, None] * np.sin(np.outer(w, t)))
    )
    return t, q, 0.02 * qdd + 0.05 * qd + 0.1 * np.sign(qd)


def identified(t, q, tau):
    return bs.identify(JOINT, bs.Record.from_arrays(t, {"encoder.q_hat": q, "drive.y": tau})).estimates["ls"]


def test_what_a_measured_record_does_not_determine_is_told(measured):
    estimates = identified(*measured)
    assert estimates["J"].value == pytest.approx(0.02, rel=0.02) and abs(estimates["Ms"].value) < 0.003  # in truth 0
    (told,) = [w for w in estimates.warnings if w.startswith("not determined by these data: ")]
    assert "Ms (std" in told and "J (std" not in told
    assert not any("explains little" in w or "never changes" in w for w in estimates.warnings)


def test_an_effort_that_the_motion_does_not_explain_is_told(measured):
    t, q, _ = measured
    noise = np.random.default_rng(1).standard_normal(len(t)).cumsum()  # of another axis
    told = " ".join(identified(t, q, noise).warnings)
    assert "explains little: " in told and "% of the effort is left. Look whether these are the right signals" in told


def test_an_input_that_stands_still_is_told(measured):
    t, q, tau = measured
    assert "input 'tau' of 'ls' never changes: drive.y is 0 throughout." in identified(t, q, 0 * tau).warnings
    told = identified(t, 0 * q, tau).warnings
    assert "input 'qd' of 'ls' never changes: motion.qd is 0 throughout." in told


#: A filter whose start is far off and which believes in no noise: it claims more than it knows.
HASTY = """
format: 1
simulate: {stop: 1, solver: rk4, step: 1e-3, seed: 3}
blocks:
  push:  {type: Sine, amplitude: 0.5, frequency: 2.0}
  joint: {type: GravityJoint, J: 0.02, Fv: 0.05, Fc: 0, Ms: 0, N: 1, in: push}
  y:     {type: NoisySensor, Ts: 1e-3, std: 1e-3, in: joint.q}
  ekf:   {type: JointEKF, model: joint, Ts: 1e-3, estimate: [J], start: {J: 0.03}, parameters: {Fv: FV}, measures: [q],
          discretisation: rk4, x0: [0, 0], Q: [0, 0], R: [R], P0: [1e-6, 1e-6], P0_parameters: [1e-4], in: {y: y, u: push}}
"""


@pytest.mark.parametrize("friction, variance, hasty", [(0.2, 1e-12, True), (0.05, 1e-6, False)])
def test_estimates_that_move_on_by_more_than_they_claimed_are_not_settled(friction, variance, hasty):
    estimates = bs.simulate(HASTY.replace("FV", str(friction)).replace("R: [R]", f"R: [{variance}]")).estimates["ekf"]
    told = [w for w in estimates.warnings if w.startswith("not settled: in the last fifth of the run estimates moved on")]
    assert len(told) == hasty and all("(J " in w for w in told)
    assert abs(estimates["J"].z) > 6 or not hasty


def test_an_estimate_that_flies_apart_is_not_blamed_on_the_loop():
    text = """
format: 1
simulate: {stop: 1, solver: rk4, step: 1e-3, seed: 7}
blocks:
  ref:   {type: Constant, value: 0}
  error: {type: Sum, signs: "+-", in: [ref, y]}
  push:  {type: PID, Ts: 1e-3, kp: 20, ki: 10, kd: 0.3, Tf: 5e-3, in: error}
  shake: {type: WhiteNoise, std: 5e-4, Ts: 1e-3}
  moved: {type: Sum, in: [joint.q, shake]}
  joint: {type: GravityJoint, J: 0.02, Fv: 0.05, Fc: 0.1, Ms: 0.03, N: 1, in: push}
  y:     {type: Encoder, Ts: 1e-3, resolution: 1e-4, in: moved}
  rpem:  {type: RPEM, Ts: 1e-3, model: joint, start: {J: 0.023, Fv: 0.045, Fc: 0.115, Ms: 0.027}, in: {y: y, u: push}}
"""
    with pytest.raises(bs.SimulationError, match="of block 'rpem' became") as caught:
        bs.simulate(text)
    assert "It is the estimate that flew apart, and not what it looks at: look at its first values" in str(caught.value)
    assert "signs and gains" not in str(caught.value)


def test_estimates_that_no_plant_can_have_are_kept_and_their_bias_is_not_told():
    # Sensor noise drowns a joint at rest: dry friction comes out below 0, and the experiment cannot be simulated again with that.
    text = """
format: 1
simulate: {stop: 1, solver: rk4, step: 1e-3, seed: 1}
blocks:
  ref:     {type: Constant, value: 0}
  error:   {type: Sum, signs: "+-", in: [ref, encoder]}
  pid:     {type: PID, Ts: 1e-3, kp: 20, ki: 10, kd: 0.3, Tf: 5e-3, in: error}
  joint:   {type: GravityJoint, J: 0.02, Fv: 0.05, Fc: 0.1, Ms: 0.03, N: 1, in: pid}
  encoder: {type: Encoder, Ts: 1e-3, resolution: 1e-4, noise_std: 0.3, in: joint.q}
  motion:  {type: BandPassDerivatives, cutoff: 60, factor: 1, in: encoder}
  ls:      {type: LeastSquares, model: joint, bias: told, decimate: 10,
            in: {q: motion.q, qd: motion.qd, qdd: motion.qdd, tau: pid}}
"""
    estimates = bs.simulate(text).estimates["ls"]
    assert estimates["Fc"].value < 0 and len(estimates) == 4
    told = " ".join(estimates.warnings)
    assert "bias: with these estimates the experiment cannot be simulated again: block 'joint': Fc: must be at least 0" in told
