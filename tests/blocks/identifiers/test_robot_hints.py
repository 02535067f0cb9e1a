"""What is said of a bad fit of a robot: joints at rest, efforts of the other sign, other kinematics. The arm is one pendulum."""

import numpy as np
import pytest

import blocksim as bs
from blocks.identifiers.regression.ends import slow_rows
from blocks.plants.serial.robot import SerialRobot
from blocksim.contract.plant import Plant

ARM = """format: 1
blocks:
  torque: {type: Constant, value: [0.0]}
  robot:  {type: SerialRobot, friction: sign, joints: [{alpha: ALPHA}], in: torque}
  smooth: {type: IRWSmoother, order: 3, bandwidth: 20, in: robot.q}
  ls: {type: LeastSquares, model: robot, drop_slow: SLOW, in: {q: smooth.x, qd: smooth.dx, qdd: smooth.ddx, tau: torque}}
record: {every: 0.01, signals: {robot.q: q, torque: {column: tau, scale: SCALE}}}
"""


def identified(folder, alpha=np.pi / 2, slow=0.0, scale=1.0, rest=0.0):
    """A pendulum about a horizontal axis, 0.3 qdd + 2 * 9.81 cos(q) + 0.8 qd + 1.5 sign(qd), at rest at first."""
    t = 0.01 * np.arange(3000)
    moving = np.clip(t - rest * t[-1], 0, None)
    fade = np.clip(moving, 0, 1) ** 2 * (3 - 2 * np.clip(moving, 0, 1))
    q = fade * (1.5 * np.sin(1.9 * moving) + 0.8 * np.sin(4.1 * moving))
    qd, qdd = np.gradient(q, t), np.gradient(np.gradient(q, t), t)
    tau = 0.3 * qdd + 2 * 9.81 * np.cos(q) + 0.8 * qd + 1.5 * np.sign(qd)
    noise = np.random.default_rng(1).normal(size=(2, len(t)))
    table = np.c_[q + 1e-5 * noise[0], tau + 0.02 * noise[1]]
    np.savetxt(folder / "lab.csv", table, delimiter=",", header="q,tau", comments="")
    text = ARM.replace("ALPHA", f"{alpha}").replace("SLOW", f"{slow}").replace("SCALE", f"{scale}")
    (folder / "arm.yaml").write_text(text)
    return bs.identify(folder / "arm.yaml", folder / "lab.csv").estimates["ls"]


def test_a_good_record_has_no_hints_and_tells_rank(tmp_path):
    found = identified(tmp_path, slow=0.02)
    assert found["MX1"].value == pytest.approx(2.0, rel=0.01)
    assert "rank 6 of 6" in found.reason
    assert not any(word in text for text in found.warnings for word in ("at rest", "other sign", "does not explain"))


def test_joints_at_rest_are_told_and_cost_friction(tmp_path):
    found = identified(tmp_path, rest=0.4)
    assert any("joints at rest: 1 (4" in text and "drop_slow: 0.02" in text for text in found.warnings)
    assert found["Fc1"].value < 1.4
    assert not any("at rest" in text for text in identified(tmp_path, rest=0.4, slow=0.02).warnings)


def test_an_effort_of_the_other_sign_is_told(tmp_path):
    found = identified(tmp_path, slow=0.02, scale=-1)
    assert any("friction of joint 1 is negative beyond doubt" in text and "scale: -1" in text for text in found.warnings)


def test_other_kinematics_are_told(tmp_path):
    """A vertical axis has no weight: what gravity does is left, and it repeats."""
    found = identified(tmp_path, alpha=0.0, slow=0.02)
    assert any("the model does not explain joint 1" in text and "convention of the table" in text for text in found.warnings)


def test_a_resting_motor_that_two_joints_turn_leaves_out_the_rows_of_both():
    """Joints 2 and 3 turn motor 3: while they move against each other it rests, and joint 1 has nothing to do with it."""
    joints = [{"ZZ": 1.0}, {"a": 0.3, "ZZ": 1.0}, {"a": 0.3, "ZZ": 1.0}]
    robot = SerialRobot(joints=joints, coupling=[[1, 0, 0], [0, 1, 0], [0, 1, 1]], Ia2=0.2, Ia3=0.1, Iam3=0.1)
    plant = Plant(type(robot), robot.settings)
    speeds = np.array([[1.0, 1.0, 1.0], [1.0, 1.0, -1.0], [1.0, 0.01, -1.0], [0.05, 1.0, 0.5]])
    slow = [[False, False, False], [False, True, True], [False, True, False], [True, False, False]]
    assert slow_rows(0.1, None, speeds, plant).tolist() == slow
    assert slow_rows(0.1, 0.0, speeds, plant).tolist() == [slow[0], [False] * 3, *slow[2:]]
    assert slow_rows(0.1, None, speeds, Plant(type(SerialRobot(joints=joints)))).tolist()[1] == [False] * 3


SLIDE = """format: 1
blocks:
  torque: {type: Constant, value: [0.0, 0.0]}
  robot:  {type: SerialRobot, friction: sign, joints: [{}, {a: 0.3, joint: prismatic}], in: torque}
  smooth: {type: IRWSmoother, order: 3, bandwidth: 20, in: robot.q}
  ls: {type: LeastSquares, model: robot, drop_slow: 0.02, in: {q: smooth.x, qd: smooth.dx, qdd: smooth.ddx, tau: torque}}
record: {every: 0.01, signals: {robot.q: COLUMNS, torque: [u1, u2]}}
"""


def slide(folder, head, columns):
    """A turn and a slide, logged in degrees and millimetres: the signal that was read, and what the fit says."""
    t = 0.01 * np.arange(3000)
    q = np.c_[1.5 * np.sin(1.9 * t), 0.1 + 0.08 * np.sin(2.3 * t)]
    tau = np.gradient(np.gradient(q, t, axis=0), t, axis=0) * [0.5, 4.0] + np.sign(np.gradient(q, t, axis=0)) + [0, 4 * 9.81]
    noise = np.random.default_rng(2).normal(size=tau.shape) * 0.02
    table = np.c_[np.degrees(q[:, 0]), 1000 * q[:, 1], tau + noise]
    np.savetxt(folder / "lab.csv", table, delimiter=",", header=f"{head},u1,u2", comments="")
    (folder / "arm.yaml").write_text(SLIDE.replace("COLUMNS", columns))
    record = bs.identify(folder / "arm.yaml", folder / "lab.csv")
    return record, q


@pytest.mark.parametrize(
    ("head", "columns"),
    [
        ("q1 [deg],q2 [mm]", "[q1, q2]"),
        ("q1,q2", "{column: [q1, q2], unit: [deg, mm]}"),
        ("q1 [deg],q2", "{column: [q1, q2], unit: ['', mm]}"),
    ],
)
def test_columns_of_one_signal_may_differ_in_unit(tmp_path, head, columns):
    record, q = slide(tmp_path, head, columns)
    assert np.allclose(record["robot.q"], q, atol=1e-12)
    assert record.estimates["ls"]["Ia2R"].value == pytest.approx(4.0, rel=0.02)  # and M2
    assert not any("no joint goes so far" in text for text in record.estimates["ls"].warnings)


def test_one_unit_for_a_turn_and_a_slide_is_refused(tmp_path):
    words = r"arm.yaml:7: .*column q2 is in deg, the signal in m.*Elements of 'robot.q' are in rad, m"
    with pytest.raises(bs.DiagramError, match=words):
        slide(tmp_path, "q1,q2", "{column: [q1, q2], unit: deg}")
    with pytest.raises(bs.DiagramError, match=r"'robot.q' has 2 elements, and unit: names 3"):
        slide(tmp_path, "q1,q2", "{column: [q1, q2], unit: [deg, mm, mm]}")


def test_degrees_and_millimetres_without_a_word_are_told(tmp_path):
    record, _ = slide(tmp_path, "q1,q2", "[q1, q2]")
    hint = next(text for text in record.estimates["ls"].warnings if "no joint goes so far" in text)
    assert "1 through 172 rad, 2 through 160 m" in hint and "unit: [deg, mm]}" in hint
