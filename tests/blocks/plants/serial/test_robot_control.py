"""Control of n joints: the inverse model as a block, computed torque, feedforward, and what takes a number per joint."""

import numpy as np
import pytest

import blocksim as bs

ROBOT = """
  robot:
    type: SerialRobot
    SETTINGS
    joints:
      - {ZZ: 0.3, M: 3.0, MX: 0.1, Ia: 0.2, Fv: 1.0, Fc: 0.5, off: 0.3}
      - {alpha: "${-pi / 2}", XX: 0.05, YY: 0.3, ZZ: 0.3, M: 3.0, MX: 0.6, Ia: 0.1, Fv: 0.4, Fc: 0.2}
      - {a: 0.4, d: 0.1, XX: 0.01, YY: 0.1, ZZ: 0.1, M: 1.0, MX: 0.2, Ia: 0.05, Fv: 0.4, Fc: 0.2}
    in: control
"""
LOOP = """
format: 1
simulate: {stop: 1.5, solver: dopri5, rtol: 1.0e-9, atol: 1.0e-11, every: 0.01}
blocks:
  ref: {type: FourierTrajectory, base_frequency: 0.5, a: [[0.5, 0.2], [0.8, -0.3], [0.4, 0.4]]}
"""
WIRES = "in: {q_ref: ref.q, qd_ref: ref.qd, qdd_ref: ref.qdd, q: robot.q, qd: robot.qd}"


def run(control, settings="", **options):
    return bs.simulate(LOOP + control + ROBOT.replace("SETTINGS", settings), **options)


def test_computed_torque_makes_every_joint_linear():
    """e'' + kd e' + kp e = 0 of each joint, whatever the others do: the error is the closed form's from wherever it starts."""
    control = f"  control: {{type: ComputedTorque, model: robot, kp: [100, 100, 100], kd: [20, 20, 20], {WIRES}}}\n"
    record = run(control, params={"robot.q": [0.3, -0.2, 0.4], "robot.qd": [0.0, 0.0, 0.0]})
    e0 = record["ref.q"][0] - np.array([0.3, -0.2, 0.4])
    v0 = record["ref.qd"][0]
    t = record.t[:, None]
    wanted = (e0 + (v0 + 10 * e0) * t) * np.exp(-10 * t)  # twice the pole -10
    assert np.allclose(record["ref.q"] - record["robot.q"], wanted, atol=1e-6)


@pytest.mark.parametrize("form", ["computed", "feedforward"])
def test_started_on_the_reference_it_stays_there(form):
    control = f"  control: {{type: ComputedTorque, model: robot, form: {form}, {WIRES}}}\n"
    start = bs.simulate(LOOP, stop=0.01)
    record = run(control, params={"robot.q": start["ref.q"][0].tolist(), "robot.qd": start["ref.qd"][0].tolist()})
    assert np.abs(record["ref.q"] - record["robot.q"]).max() < 1e-6
    wrong = run(control.replace("model: robot,", "model: robot, parameters: {M3: 2.0},"))
    assert np.abs(wrong["ref.q"] - wrong["robot.q"])[-1].max() > 1e-4


def test_through_gears_and_a_coupling():
    """The motors' torques of the inverse model move the joints along the reference, too."""
    motors = "input: motor, coupling: [[1, 0, 0], [0, 1, 0], [0, 1, 1]], N1: 10, N2: -20, N3: 5, Iam3: 0.05, Fvm3: 0.1, Fcm3: 0.1"
    motors = (
        motors.replace("]], ", "]]\n    ").replace("motor, ", "motor\n    ").replace(", N", "\n    N").replace("5, I", "5\n    I")
    )
    motors = motors.replace("5, F", "5\n    F").replace("1, F", "1\n    F")
    start = bs.simulate(LOOP, stop=0.01)
    control = "  control: {type: InverseDynamics, model: robot, in: {q: ref.q, qd: ref.qd, qdd: ref.qdd}}\n"
    record = run(
        control, motors, stop=0.3, params={"robot.q": start["ref.q"][0].tolist(), "robot.qd": start["ref.qd"][0].tolist()}
    )
    assert np.abs(record["ref.q"] - record["robot.q"]).max() < 1e-6


def test_gravity_alone_holds_a_robot():
    """With q alone it is gravity and offsets: the robot stays where it is, without a controller."""
    record = run("  control: {type: InverseDynamics, model: robot, in: robot.q}\n", params={"robot.q": [0.3, -0.7, 0.4]})
    assert np.allclose(record["robot.q"], [0.3, -0.7, 0.4], atol=1e-9)
    weight = -9.81 * (0.6 * np.cos(-0.7) + 1.0 * (0.4 * np.cos(-0.7) + 0.2 * np.cos(-0.3)))  # of links 2 and 3 about joint 2
    assert record["control.tau"][0, 1] == pytest.approx(weight, rel=1e-9)


def test_sampled_with_both_engines():
    control = f"  control: {{type: ComputedTorque, model: robot, Ts: 1e-3, {WIRES}}}\n"
    fast, plain = (run(control, stop=0.1, solver="rk4", step=1e-3, engine=engine) for engine in ("compiled", "python"))
    assert np.array_equal(fast["robot.q"], plain["robot.q"])


PER_JOINT = {
    "PID": "{type: PID, Ts: 1e-3, kp: [900, 900, 300], ki: [900, 900, 300], kd: [60, 60, 20], Tf: 2e-3, in: error}",
    "PD": "{type: PD, Ts: 1e-3, kp: [900, 900, 300], kd: [60, 60, 20], in: {e: error, qd_hat: robot.qd, ff: model}}",
    "CascadePPI": "{type: CascadePPI, Ts: 1e-3, kp: [15, 15, 15], kv: [60, 60, 20], ki: [5, 5, 5], in: {q_ref: ref.q, "
    "q: encoder, qd: robot.qd, qd_ref: ref.qd, ff: model}}",
}


@pytest.mark.parametrize("controller", PER_JOINT)
def test_controllers_encoders_and_trajectories_take_a_number_per_joint(controller):
    text = f"""
format: 1
simulate: {{stop: 2.0, solver: rk4, step: 1e-3}}
blocks:
  ref:     {{type: TrapezoidTrajectory, points: [[0, 1, 0], [0, -0.5, 0], [0, 0.8, 0]], speed: [2, 1, 3],
             acceleration: [8, 4, 20]}}
  encoder: {{type: Encoder, Ts: 1e-3, resolution: [1e-4, 2e-4, 5e-4], in: robot.q}}
  error:   {{type: Sum, signs: "+-", in: [ref.q, encoder]}}
  model:   {{type: InverseDynamics, model: robot, Ts: 1e-3, in: encoder}}
  control: {PER_JOINT[controller]}
"""
    record = bs.simulate(text + ROBOT.replace("SETTINGS", ""))
    steps = record["encoder"] / np.array([1e-4, 2e-4, 5e-4])
    assert np.allclose(steps, np.round(steps), atol=1e-6)
    speeds = np.abs(record["ref.qd"]).max(axis=0)
    assert np.all(speeds <= np.array([2, 1, 3]) * (1 + 1e-9))
    assert np.abs(record["robot.q"][-1]).max() < 0.05


def test_mistakes_are_named():
    control = f"  control: {{type: ComputedTorque, model: robot, kp: [100, 50], {WIRES}}}\n"
    with pytest.raises(bs.DiagramError, match="kp: 3 numbers are wanted, one for each joint; found 2"):
        run(control)
    with pytest.raises(bs.DiagramError, match=r"parameters: 'robot' \(SerialRobot\) has no number 'M9'"):
        run("  control: {type: InverseDynamics, model: robot, parameters: {M9: 1}, in: ref.q}\n")
    with pytest.raises(bs.DiagramError, match=r"'ref' .* is no SerialRobot"):
        run("  control: {type: InverseDynamics, model: ref, in: ref.q}\n")
