"""IDIM-IV against the truth of its loop, the bias of least squares, and the EMPS record."""

from __future__ import annotations

import numpy as np
import pytest
from test_didim import NAMES, TRUTH, emps_diagram, emps_record, needs_data

import blocksim as bs

#: White noise on a signal of the regressor, outside the loop: errors in variables as in a textbook.
LOOP = """
format: 1
simulate: {stop: 4.0, solver: rk4, step: 2e-3, every: 4e-3, seed: 1}
blocks:
  ref:    {type: FourierTrajectory, base_frequency: 0.25, a: [0.8, 0, 0, 0.3, -0.4], b: [-0.4, 0.3, 0, 0.2, -0.1]}
  error:  {type: Sum, signs: "+-", in: [ref.q, joint.q]}
  pid:    {type: PID, Ts: 2e-3, kp: 100, ki: 100, kd: 2, Tf: 4e-3, in: error}
  joint:  {type: GravityJoint, J: 0.02, Fv: 0.05, Fc: 0.1, Ms: 0.0306, N: 1, beta: 1, in: pid}
  torque: {type: TorqueSensor, Ts: 4e-3, std: STD, in: pid}
  q:      {type: TorqueSensor, Ts: 4e-3, std: 0, in: joint.q}
  qd:     {type: TorqueSensor, Ts: 4e-3, std: 0, in: joint.qd}
  qdd:    {type: TorqueSensor, Ts: 4e-3, std: NOISE, in: joint.qdd}
  found:  {type: InstrumentalVariable, model: joint, OPTIONS, in: {tau: torque, q: q, qd: qd, qdd: qdd}}
  ls:     {type: LeastSquares, model: joint, in: {tau: torque, q: q, qd: qd, qdd: qdd}}
log: [joint, pid]
"""


def loop(std=0.0, noise=0.0, options="tol: 1e-9"):
    return LOOP.replace("STD", str(std)).replace("NOISE", str(noise)).replace("OPTIONS", options)


@pytest.mark.parametrize("start", ["ls", "0.5", "{J: 0.05, Fv: 0, Fc: 0, Ms: 0}"])
def test_without_noise_it_finds_the_truth(start):
    found = bs.simulate(loop(options=f"start: {start}, tol: 1e-10")).estimates["found"]
    np.testing.assert_allclose(found.vector(), TRUTH, rtol=1e-8)
    np.testing.assert_allclose(found.details["relevance"], 1, atol=1e-6)
    assert found.reason.startswith("converged in ")


def test_filters_on_all_sides_do_not_distort():
    found = bs.simulate(loop(options="cutoff: 25, decimate: 4, tol: 1e-10")).estimates["found"]
    np.testing.assert_allclose(found.vector(), TRUTH, rtol=1e-7)


@pytest.fixture(scope="module")
def study():
    """200 runs with noise on the torque and on the acceleration."""
    text = loop(std=0.02, noise=4.0, options="tol: 1e-4")
    return bs.simulate_many(text, seeds=range(200), collect=lambda r: (r.estimates["found"], r.estimates["ls"]))


def test_least_squares_is_biased_and_instruments_are_not(study):
    iv, ls = (np.array([pair[k].vector(NAMES) for pair in study]) for k in (0, 1))
    off = (iv.mean(axis=0) - TRUTH) / (iv.std(axis=0) / np.sqrt(len(study)))
    assert np.all(np.abs(off) < 2.6), off
    assert (ls[:, 0].mean() - TRUTH[0]) / (ls[:, 0].std() / np.sqrt(len(study))) < -20  # J is damped by noise in its column


def test_attenuation_is_that_of_the_textbook(study):
    """One noisy column: least squares loses the share s^2 / (|M w|^2 / n + s^2) of J, M taking out the other columns."""
    record = bs.simulate(loop())
    W = np.stack([record["joint.qdd"], record["joint.qd"], np.tanh(record["joint.qd"]), 9.81 * np.cos(record["joint.q"])], axis=1)
    w = W[:, 0] - W[:, 1:] @ np.linalg.lstsq(W[:, 1:], W[:, 0], rcond=None)[0]
    share = 16.0 / (np.mean(w**2) + 16.0)
    found = np.mean([pair[1]["J"].value for pair in study])
    assert 1 - found / TRUTH[0] == pytest.approx(share, rel=0.05)


def test_intervals_are_honest(study):
    values = np.array([pair[0].vector(NAMES) for pair in study])
    std = np.array([pair[0].std_vector(NAMES) for pair in study])
    assert 0.92 <= np.mean([inside(pair[0]) for pair in study]) <= 0.98
    ratio = values.std(axis=0) / np.sqrt(np.mean(std**2, axis=0))
    assert np.all((ratio > 0.85) & (ratio < 1.15)), ratio


def inside(found):
    """Of every parameter whether its 95 % interval holds the truth."""
    return [found[n].interval[0] < truth < found[n].interval[1] for n, truth in zip(NAMES, TRUTH, strict=True)]


def test_weak_instruments_are_named():
    found = bs.simulate(loop(std=0.02, noise=100.0, options="start: 0.9, tol: 1e-3")).estimates["found"]
    assert any(w.startswith("weak instruments: ") and "J (" in w and "Fv" not in w for w in found.warnings)


def test_a_motion_that_tells_nothing_apart():
    """Without gravity Ms has no column."""
    found = bs.simulate(loop(options="start: 0.7").replace("N: 1,", "N: 1, g: 0,")).estimates["found"]
    assert any("nearly singular" in w for w in found.warnings)


def test_the_motion_must_be_connected():
    text = loop().replace("in: {tau: torque, q: q, qd: qd, qdd: qdd}}\n  ls", "in: {tau: torque, q: q}}\n  ls")
    with pytest.raises(bs.DiagramError, match=r"block 'found': input 'qd' \(measured qd of the plant\) is not connected"):
        bs.open_diagram(text)


def test_several_joints_are_weighted():
    """Two joints with noise of sizes as different as their torques; estimates of either have the precision of its own noise."""
    text = """
format: 1
simulate: {stop: 4, solver: rk4, step: 2e-3, every: 1e-2, seed: 2}
blocks:
  ref:   {type: PolynomialTrajectory, times: [0, 0.8, 1.6, 2.4, 3.2, 4],
          points: [[0, 0.6, -0.4, 0.8, -0.5, 0], [0, -0.8, 0.6, 1.2, -0.3, 0]]}
  error: {type: Sum, signs: "+-", in: [ref.q, robot.q]}
  pd:    {type: PD, Ts: 2e-3, kp: [8500, 250], kd: [300, 8], Tf: 4e-3, in: error}
  robot: {type: ScaraRobot, beta: 5, in: pd}
  tau:   {type: TorqueSensor, Ts: 1e-2, std: [1.0, 0.02], in: pd}
  iv:    {type: InstrumentalVariable, model: robot, in: {tau: tau, q: robot.q, qd: robot.qd, qdd: robot.qdd}}
  didim: {type: DIDIM, model: robot, start: 0.8, in: tau}
"""
    both = bs.simulate_many(text, seeds=range(30), collect=lambda r: (r.estimates["iv"], r.estimates["didim"]))
    for k in (0, 1):
        z = np.array([[e.z for e in pair[k].entries] for pair in both])
        assert 0.8 < np.sqrt(np.mean(z**2)) < 1.25
        assert np.mean([pair[k]["Fv2"].std for pair in both]) < 0.3 * np.mean([pair[k]["Fv1"].std for pair in both])


@needs_data
def test_emps():
    lab, begin = emps_record()
    diagram = emps_diagram(begin)
    diagram.add("motion", "BandPassDerivatives", cutoff=100, factor=1, inputs="encoder")
    wires = {"v": "loop", "q": "motion.q", "qd": "motion.qd", "qdd": "motion.qdd"}
    diagram.add("iv", "InstrumentalVariable", model="carriage", decimate=10, skip=[0.049, 0], edges=5, rest="keep", inputs=wires)
    found = bs.process(diagram, lab, simulated=False).estimates["iv"]
    np.testing.assert_allclose(found.vector(), [95.175, 203.16, 20.436, -3.179], rtol=2e-3)


@pytest.mark.parametrize("std", ["[1.0, 1e-8]", "[1.0, 0]"])
def test_joints_of_very_different_noise_keep_their_standard_deviations(std):
    """Weights then differ by eight decades and more, which is no reason to take directions for unknown."""
    text = f"""
format: 1
simulate: {{stop: 4, solver: rk4, step: 2e-3, every: 1e-2, seed: 2}}
blocks:
  ref:   {{type: PolynomialTrajectory, times: [0, 0.8, 1.6, 2.4, 3.2, 4],
          points: [[0, 0.6, -0.4, 0.8, -0.5, 0], [0, -0.8, 0.6, 1.2, -0.3, 0]]}}
  error: {{type: Sum, signs: "+-", in: [ref.q, robot.q]}}
  pd:    {{type: PD, Ts: 2e-3, kp: [8500, 250], kd: [300, 8], Tf: 4e-3, in: error}}
  robot: {{type: ScaraRobot, LMY2: 0.02, beta: 5, in: pd}}
  tau:   {{type: TorqueSensor, Ts: 1e-2, std: {std}, in: pd}}
  iv:    {{type: InstrumentalVariable, model: robot, in: {{tau: tau, q: robot.q, qd: robot.qd, qdd: robot.qdd}}}}
  ls:    {{type: LeastSquares, model: robot, errors: white, in: {{tau: tau, q: robot.q, qd: robot.qd, qdd: robot.qdd}}}}
"""
    found = bs.simulate(text).estimates
    for name in ("Fv1", "Fs1"):  # those of the noisy joint alone
        assert found["iv"][name].std == pytest.approx(found["ls"][name].std, rel=0.2)


def test_a_parameter_that_is_zero_without_noise_is_found():
    """LMY2 = 0 and no noise: its size is that of rounding, and a step of it is none."""
    text = """
format: 1
simulate: {stop: 4, solver: rk4, step: 2e-3, every: 1e-2, seed: 2}
blocks:
  ref:   {type: PolynomialTrajectory, times: [0, 0.8, 1.6, 2.4, 3.2, 4],
          points: [[0, 0.6, -0.4, 0.8, -0.5, 0], [0, -0.8, 0.6, 1.2, -0.3, 0]]}
  error: {type: Sum, signs: "+-", in: [ref.q, robot.q]}
  pd:    {type: PD, Ts: 2e-3, kp: [8500, 250], kd: [300, 8], Tf: 4e-3, in: error}
  robot: {type: ScaraRobot, LMY2: 0, beta: 5, in: pd}
  iv:    {type: InstrumentalVariable, model: robot, in: {tau: pd, q: robot.q, qd: robot.qd, qdd: robot.qdd}}
  didim: {type: DIDIM, model: robot, start: 0.9, in: pd}
"""
    found = bs.simulate(text).estimates
    for one in found.values():
        assert one.reason.startswith("converged") and one.details["iterations"] < 12
        assert abs(one["LMY2"].value) < 1e-6


# ---- filters that bend the motion -------------------------------------------------------------------------------------

BENT = """
format: 1
simulate: {stop: 6, solver: rk4, step: 1e-3, every: 2e-3, seed: 7}
blocks:
  ref:     {type: FourierTrajectory, base_frequency: 0.5, a: [0.6, 0, -0.2], b: [0.3, -0.2, -0.1]}
  error:   {type: Sum, signs: "+-", in: [ref.q, encoder]}
  pid:     {type: PID, Ts: 2e-3, kp: 20, ki: 10, kd: 0.3, Tf: 5e-3, in: error}
  joint:   {type: GravityJoint, J: 0.02, Fv: 0.05, Fc: 0.1, Ms: 0.03, N: 1, in: pid}
  encoder: {type: Encoder, Ts: 2e-3, resolution: 2e-4, noise_std: 0.5, in: joint.q}
  torque:  {type: MovingAverage, window: 2, Ts: 2e-3, in: pid}
  smooth:  {type: IRWSmoother, order: 3, bandwidth: 8, in: encoder}    # too narrow
  iv:      {type: InstrumentalVariable, model: joint, skip: 0.3, decimate: 10, draws: 2,
            in: {q: smooth.x, qd: smooth.dx, qdd: smooth.ddx, tau: torque}}
"""


def test_the_bias_of_a_narrow_filter_is_told_and_taken_away():
    """Told within a third of what it is over three draws, which hardly scatter; what is left of it is inside the interval."""
    runs = [bs.simulate(BENT, seed=s).estimates["iv"] for s in range(20, 23)]
    bias = np.mean([run.vector() - run.truth_vector() for run in runs], axis=0)
    assert max(abs(entry.z) for entry in runs[0].values()) > 3 and not any("bias" in text for text in runs[0].warnings)
    right = bs.simulate(BENT, params={"iv.bias": "corrected"}).estimates["iv"]
    np.testing.assert_allclose(right.details["bias"], bias, rtol=1 / 3)
    assert max(abs(entry.z) for entry in right.values()) < 2
    beyond = bs.simulate(BENT, params={"iv.bias": "told"}).estimates["iv"]
    assert any("the bias of J, Fv, Fc is more than the 95 % interval" in text for text in beyond.warnings)


def test_the_bias_of_filters_is_not_told_of_a_measured_record():
    record = bs.simulate(BENT)
    with pytest.raises(bs.DiagramError, match="bias: the noise of a measured record cannot be drawn again"):
        bs.identify(BENT, record, params={"iv.bias": "told"})
