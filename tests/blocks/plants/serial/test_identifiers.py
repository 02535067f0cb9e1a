"""Every kind of identifier on a serial robot of two joints: base parameters by the inverse model, settings by the outputs."""

import numpy as np

import blocksim as bs

ARM = """
format: 1
simulate: {stop: 6.0, solver: rk4, step: 1e-3, seed: 3}
blocks:
  ref:   {type: FourierTrajectory, base_frequency: 0.1667, a: [[0.3, 0.2, 0.1, -0.2], [0.5, -0.3, 0.2, 0.1]],
          b: [[0.2, -0.1, 0.15, 0.1], [-0.2, 0.2, -0.3, 0.2]]}
  error: {type: Sum, signs: "+-", in: [ref.q, encoder]}
  slip:  {type: Sum, signs: "+-", in: [robot.qd, ref.qd]}
  pd:    {type: PD, kp: [900, 300], kd: [60, 20], Ts: 1e-3, in: {e: error, qd_hat: slip}}
  robot:
    type: SerialRobot
    joints:
      - {alpha: "${pi / 2}", ZZ: 0.4, M: 3.0, MX: 0.6, Fv: 1.0, Fc: 0.5}
      - {a: 0.4, ZZ: 0.1, M: 1.0, MX: 0.2, Ia: 0.05, Fv: 0.4, Fc: 0.2}
    in: pd
  encoder: {type: Encoder, Ts: 1e-3, resolution: 1e-4, noise_std: 1, in: robot.q}
  sensor:  {type: TorqueSensor, std: [0.3, 0.1], Ts: 1e-3, in: pd}
  smooth:  {type: IRWSmoother, order: 3, bandwidth: 20, in: encoder}
"""
WIRES = "in: {q: smooth.x, qd: smooth.dx, qdd: smooth.ddx, tau: sensor}"
REGRESSIONS = f"""
  ls:    {{type: LeastSquares, model: robot, skip: 0.5, decimate: 10, {WIRES}}}
  iv:    {{type: InstrumentalVariable, model: robot, skip: 0.5, decimate: 10, start: ls, {WIRES}}}
  didim: {{type: DIDIM, model: robot, skip: 0.5, decimate: 10, start: ls, {WIRES}}}
"""


def test_regressions_find_the_base_parameters():
    record = bs.simulate(ARM + REGRESSIONS)
    for method in ("ls", "iv", "didim"):
        found = record.estimates[method]
        assert len(found) == 13 and found["ZZ1R"].truth == 0.4 + 0.16 * 1.0  # ZZ1 + Ia1 + a^2 M2
        z = np.array([e.z for e in found.values()])
        assert np.sqrt(np.mean(z**2)) < 1.6 and np.abs(z).max() < 4, method
    assert record.estimates["ls"].details["formulas"]["ZZ1R"] == "ZZ1 + Ia1 + 0.16 M2"


def test_regressions_of_a_flexible_robot_find_the_rigid_one_below_its_resonance():
    """A spring of 3000 N m/rad in the second joint (28 Hz with its motor held), encoders on the motors."""
    text = ARM.replace("Fv: 0.4, Fc: 0.2}", "Fv: 0.4, Fc: 0.2, K: 3000, D: 5}").replace("in: robot.q}", "in: robot.qm}")
    record = bs.simulate(text + REGRESSIONS)
    for method in ("ls", "iv", "didim"):
        z = np.array([e.z for e in record.estimates[method].values()])
        assert len(z) == 13 and np.sqrt(np.mean(z**2)) < 1.8 and np.abs(z).max() < 4.5, method


def test_outputs_find_settings_and_a_filter_follows():
    text = (
        ARM
        + """
  cloe: {type: CLOE, parameters: [robot.ZZ1, robot.MX2, robot.Fv2], start: 0.8, output: robot.q, in: encoder}
  ekf:  {type: EKF, Ts: 1e-3, model: robot, sigma_w2: 0.09, in: {y: encoder, u: pd}}
"""
    )
    record = bs.simulate(text, stop=3.0)
    assert all(abs(e.z) < 4 and abs(e.relative_error) < 0.02 for e in record.estimates["cloe"].values())
    rest = record["ekf.x_hat"][500:, :2] - record["robot.q"][500:]
    assert np.sqrt(np.mean(rest**2)) < 1.05e-4  # not worse than the encoder, whose noise is one count


def test_output_error_and_a_joint_filter_find_settings():
    """Open loop: torques of both joints drive a model, whose angles are compared; and a filter that estimates as it goes."""
    text = """
format: 1
simulate: {stop: 3.0, solver: rk4, step: 1e-3, seed: 4}
blocks:
  push:  {type: Multisine, f_min: 0.4, f_max: 4, lines: 9, amplitude: 8.0, phases: schroeder}
  other: {type: Multisine, f_min: 0.5, f_max: 5, lines: 7, amplitude: 2.0, phases: schroeder}
  tau:   {type: Mux, in: [push, other]}
  robot:
    type: SerialRobot
    gravity: [0, 0, 0]
    joints: [{ZZ: 0.4, M: 3.0, Fv: 3.0}, {a: 0.4, ZZ: 0.1, M: 1.0, MX: 0.2, Ia: 0.05, Fv: 0.8}]
    in: tau
  encoder: {type: Encoder, Ts: 1e-3, resolution: 1e-4, noise_std: 1, in: robot.q}
  oe:  {type: OutputError, model: robot, parameters: [robot.ZZ1, robot.MX2, robot.Fv2], start: 0.8, output: robot.q, hold: linear,
        in: {y: encoder, u: tau}}
  ekf: {type: JointEKF, Ts: 1e-3, model: robot, estimate: [ZZ1, Fv2], start: {ZZ1: 0.5, Fv2: 1.0}, P0_parameters: 0.04,
        in: {y: encoder, u: tau}}
"""
    record = bs.simulate(text)
    for block in ("oe", "ekf"):
        for estimate in record.estimates[block].values():
            assert abs(estimate.relative_error) < 0.03 and abs(estimate.z) < 4, (block, estimate)


LEAST_SQUARES = REGRESSIONS[: REGRESSIONS.index("  iv:")]


def test_a_second_trajectory_judges_base_parameters():
    """By the inverse model and by the loop: within the noise of the sensor, and not so where a base parameter is off."""
    text = ARM + LEAST_SQUARES
    found = bs.simulate(text).estimates["ls"]
    second = bs.simulate(text, seed=9, params={"ref.a": [[0.2, -0.3, 0.2, 0.1], [-0.4, 0.3, 0.1, 0.2]]})
    entry = bs.validate(text, second, estimates=found, mode="inverse").entries[0]
    inner = entry.residual[500:-500]  # without the ends, where a smoother knows one side only
    assert np.sqrt(np.mean(inner**2)) < 0.4  # 0.3 and 0.1 N m of noise, and what encoder noise makes of speeds at rest
    loop = bs.validate(text, second, estimates=found, initial="diagram")
    assert all(np.isfinite(one.rms) for one in loop.entries)
