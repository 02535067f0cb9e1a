"""SerialRobot as a block: its parameters, its errors, its energy, the SCARA as a special case, the same bits in both engines."""

import numpy as np
import pytest
from arms import ARM, driven, energy, tumbling

import blocksim as bs
from blocks.plants.serial.robot import SerialRobot
from blocks.plants.serial.soundness import pseudo_inertia

LOOP = """
format: 1
simulate: {stop: 3.0, solver: dopri5, rtol: 1.0e-9, atol: 1.0e-11, every: 1.0e-2}
blocks:
  ref:   {type: PolynomialTrajectory, times: [0.0, 1.0, 3.0], points: [[0.0, 1.0, 0.0], [0.0, -2.0, 0.0]]}
  error: {type: Sum, signs: "+-", in: [ref.q, robot.q]}
  pd:    {type: PD, kp: [400.0, 40.0], kd: [80.0, 4.0], in: {e: error, qd_hat: robot.qd}}
  robot: {ROBOT, in: pd}
"""
# ScaraRobot's values with a first link of 0.5 m: LMX2 = 0.5 MX2, LMY2 = 0.5 MY2.
PLANAR = (
    "type: SerialRobot, gravity: [0, 0, 0], joints: [{ZZ: 3.42, Fv: 0.07, Fc: 0.58}, "
    "{a: 0.5, ZZ: 0.064, MX: 0.262, MY: 0.04, Fv: 0.015, Fc: 0.156}]"
)


@pytest.mark.parametrize("friction", ["tanh", "sign"])
def test_a_scara_is_a_special_case(friction):
    ours = bs.simulate(LOOP.replace("ROBOT", f"{PLANAR}, friction: {friction}"))
    theirs = bs.simulate(LOOP.replace("ROBOT", f"type: ScaraRobot, LMY2: 0.02, friction: {friction}"))
    for signal in ("q", "qd"):
        assert np.allclose(ours[f"robot.{signal}"], theirs[f"robot.{signal}"], rtol=0, atol=1e-8)


def test_its_base_parameters_are_those_of_the_scara():
    robot = SerialRobot(joints=[{"ZZ": 1.0}, {"a": 0.5, "ZZ": 0.1, "Ia": 0.01}], gravity=[0.0, 0.0, 0.0])
    assert type(robot).grouping().formulas()["ZZ1R"] == "ZZ1 + Ia1 + 0.25 M2"
    assert {"MX2", "MY2", "ZZ2"} <= set(type(robot).grouping().names)


@pytest.mark.parametrize("friction", ["tanh", "sign"])
def test_both_engines_give_the_same_bits(friction):
    text = LOOP.replace("ROBOT", f"{PLANAR}, friction: {friction}").replace("stop: 3.0", "stop: 0.5")
    fast, plain = (bs.simulate(text, engine=engine) for engine in ("compiled", "python"))
    assert all(np.array_equal(fast[f"robot.{s}"], plain[f"robot.{s}"]) for s in ("q", "qd", "qdd"))


def test_energy_is_kept_and_friction_takes_it():
    """Kinetic and potential energy by the definition, of points and balls, along a free motion."""
    record = tumbling(ARM, {"robot.q": [0.3, -0.4, 0.8], "robot.qd": [1.0, 0.5, -2.0]})
    energies = [energy(q, qd) for q, qd in zip(record["robot.q"], record["robot.qd"], strict=True)]
    assert np.ptp(energies) < 1e-7 * max(abs(e) for e in energies)
    slowed = tumbling([{**row, "Fv": 0.2} for row in ARM], {"robot.qd": [1.0, 0.5, -2.0]})
    assert np.all(np.diff([energy(q, qd) for q, qd in zip(slowed["robot.q"], slowed["robot.qd"], strict=True)]) < 0)


def test_numbers_are_parameters_by_name():
    """A row gives a number, a setting of its name wins, and a run changes it without another program."""
    robot = SerialRobot(joints=ARM, ZZ1=0.02, Fv3=0.1)
    assert (robot.settings["ZZ1"], robot.settings["M2"], robot.settings["Fv3"]) == (0.02, 2.0, 0.1)
    text = LOOP.replace("ROBOT", PLANAR)
    heavier = bs.simulate(text, params={"robot.ZZ1": 5.0})
    written = bs.simulate(text.replace("ZZ: 3.42", "ZZ: 5.0"))
    assert np.array_equal(heavier["robot.q"], written["robot.q"])


def test_a_payload_is_a_body_of_the_last_link():
    load = {"M": 0.5, "MZ": 0.05, "XX": 0.01, "YY": 0.01, "ZZ": 0.01}
    held = [*ARM[:-1], {**ARM[-1], **{k: ARM[-1][k] + v for k, v in load.items()}}]
    one, other = tumbling(ARM, payload=load), tumbling(held)
    assert np.allclose(one["robot.q"], other["robot.q"], atol=1e-9)
    names = type(SerialRobot(joints=ARM, payload=load)).grouping().formulas()
    assert names["ZZ3R"] == "ZZ3 + ZZL"


def test_motor_torques_pass_gears_and_coupling():
    """tau_joint = C' N tau_motor: the same motion by either way of driving it."""
    coupling = [[1, 0, 0], [0, 1, 0], [0, 1, 1]]
    torque = [0.2, -0.3, 0.1]
    ratios = [10.0, 20.0, -5.0]
    motors = SerialRobot(joints=ARM, coupling=coupling, input="motor", N1=10.0, N2=20.0, N3=-5.0, Iam3=0.01, Ia3=0.01, Ia2=0.02)
    joints = SerialRobot(joints=ARM, coupling=coupling, Iam3=0.01, Ia3=0.01, Ia2=0.02)
    efforts = np.array(coupling).T @ (np.array(ratios) * torque)
    one, other = driven(motors, torque, stop=0.3), driven(joints, efforts.tolist(), stop=0.3)
    assert np.allclose(one["robot.q"], other["robot.q"], atol=1e-9)


BAD = {
    "joints: []": "joints: a list with a row for each joint is wanted",
    "joints: [{alpha: 0, parent: 1}]": "an open chain has one link after another, without branches and loops",
    "joints: [{alpha: 0, beta: 1}]": "row 1 has no 'beta'",
    "joints: [{joint: ball}]": "joint: 'ball' is not one of revolute, prismatic",
    "joints: [{a: long}]": "row 1: a: found 'long'; a finite number is wanted",
    "joints: [{ZZ: 1}], gravity: [0, 9.81]": "gravity: three numbers are wanted",
    "joints: [{ZZ: 1}], coupling: [[1, 0]]": "coupling: a matrix of 1 rows of 1 numbers",
    "joints: [{ZZ: 1}], coupling: [[2]]": "coupling: its diagonal is 1",
    "joints: [{ZZ: 1}], payload: {weight: 1}": "payload has no 'weight'",
    "joints: [{ZZ: 1, M: -1}]": "link 1 has the mass -1",
    "joints: [{ZZ: 1}, {a: 0.5, M: 1}]": "the mass matrix is singular: joint 2 has the inertia 0 at q = [0, 0]",
    "joints: [{ZZ: 1}, {a: 0.5, ZZ: -0.1}]": "not positive definite: joint 2 has the inertia -0.1",
    "joints: [{XX: 0.1, YY: 0.1, ZZ: 1, M: 1}]": "link 1 is no body: with its centre of mass at (0, 0, 0) m",
    "joints: [{ZZ: 1}], ZZ2: 1": "no parameter 'ZZ2'",
    "beta: 10": "give `joints`, a table with a row per joint, or `file`",
}


@pytest.mark.parametrize("settings", BAD)
def test_mistakes_are_named(settings):
    text = f"format: 1\nblocks:\n  robot: {{type: SerialRobot, {settings}}}\n"
    with pytest.raises(bs.DiagramError) as error:
        bs.build(bs.load(text))
    assert BAD[settings] in str(error.value)
    assert "block 'robot'" in str(error.value)


def test_a_run_that_meets_a_singular_mass_matrix_names_link_and_configuration():
    """A robot without inertia is a model of kinematics; simulated, it says what is missing. So does one that a run spoils."""
    with pytest.raises(bs.SimulationError, match=r"mass matrix is singular: joint 1 has the inertia 0 at q = \[0, 0\].*Ia1"):
        bs.simulate(LOOP.replace("ROBOT", "type: SerialRobot, joints: [{}, {a: 0.5}]"), solver="rk4", step=1e-3)


def test_sizes_that_do_not_fit_are_named():
    text = LOOP.replace("ROBOT", PLANAR).replace("in: pd}", "in: 'pd.u[0]'}")
    with pytest.raises(bs.DiagramError, match=r"input 'tau' of 'robot' \(SerialRobot\) takes 2"):
        bs.simulate(text)


def test_a_class_without_a_chain_says_what_it_wants():
    rest = np.zeros((3, 1))
    with pytest.raises(bs.DiagramError, match=r"SerialRobot without a chain has no inverse model: give `joints`.*or `file`"):
        SerialRobot.regressor(rest, rest, rest)


def test_the_pseudo_inertia_of_a_point_has_rank_one():
    x, y, z, m = 0.1, -0.2, 0.3, 2.0
    J = m * ((x * x + y * y + z * z) * np.eye(3) - np.outer([x, y, z], [x, y, z]))
    ten = [J[0, 0], J[0, 1], J[0, 2], J[1, 1], J[1, 2], J[2, 2], m * x, m * y, m * z, m]
    r = np.array([x, y, z, 1.0])
    assert np.allclose(pseudo_inertia(ten), m * np.outer(r, r))
