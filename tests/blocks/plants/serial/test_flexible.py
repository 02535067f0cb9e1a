"""Springs between motors and links: the two masses of TwoMassRobot, the energy of all parts, the links by pinocchio."""

import numpy as np
import pytest
from arms import ARM, driven, energy, tumbling

import blocksim as bs
from blocks.plants.serial.robot import SerialRobot

TWO_MASSES = """
format: 1
simulate: {stop: 2.0, solver: dopri5, rtol: 1.0e-10, atol: 1.0e-12, every: 1.0e-2}
blocks:
  torque: {type: Chirp, amplitude: 1.5, f_start: 0.2, f_end: 15.0, duration: 2.0}
  drive:  {type: TwoMassRobot, r: 0.01, Jm: 0.012, Ja: 110, Fv: 0.013, Fc: 0.6, k1: 1.0e5, k3: CUBIC, d: 200,
           friction: LAW, beta: 2, in: torque}
  robot:  {type: SerialRobot, gravity: [0, 0, 0], input: motor, friction: LAW, beta: 200, in: "torque.y",
           joints: [{ZZ: 110, Ia: 120, Fv: 130, Fc: 60, N: 100, K: 1.0e5, Kc: CUBIC, D: 200}]}
"""  # on the joint's side: inertia and viscous friction by r^2, dry friction by r, beta times r
SPRUNG = [{**ARM[0], "Ia": 0.3, "K": 40.0, "D": 0.0}, ARM[1], {**ARM[2], "Ia": 0.05, "K": 6.0, "Kc": 40.0}]


@pytest.mark.parametrize("friction", ["tanh", "sign"])
@pytest.mark.parametrize("cubic", [0.0, 1e9])
def test_one_flexible_joint_is_two_masses(friction, cubic):
    record = bs.simulate(TWO_MASSES.replace("LAW", friction).replace("CUBIC", str(cubic)))
    for ours, theirs, ratio in (
        ("q", "phi_a", 1),
        ("qd", "w_a", 1),
        ("qm", "phi_m", 0.01),
        ("qmd", "w_m", 0.01),
        ("tau_s", "tau_s", 1),
    ):
        wanted = ratio * record[f"drive.{theirs}"]
        assert np.allclose(record[f"robot.{ours}"].ravel(), wanted, rtol=0, atol=1e-7 * np.abs(wanted).max()), ours
    if friction == "sign":
        assert np.any(record["robot.qmd"][20:] == 0.0)  # it sticks, exactly


def test_energy_of_links_motors_and_springs_is_kept():
    record = tumbling(SPRUNG, {"robot.q": [0.3, -0.4, 0.8], "robot.qd": [1.0, 0.5, -2.0], "robot.wm": [1.0, -2.0]})
    links = np.array([energy(q, qd) for q, qd in zip(record["robot.q"], record["robot.qd"], strict=True)])
    wm, twist = record["robot.wm"], record["robot.torsion"]
    motors = (0.3 * wm[:, 0] ** 2 + 0.05 * wm[:, 1] ** 2) / 2
    springs = (40.0 * twist[:, 0] ** 2 + 6.0 * twist[:, 1] ** 2) / 2 + 40.0 * twist[:, 1] ** 4 / 4
    total = links + motors + springs
    assert np.ptp(springs) > 0.1 and np.ptp(total) < 1e-7 * np.abs(total).max()


def test_links_are_pinocchios_under_the_efforts_of_springs():
    record = driven(SerialRobot(joints=SPRUNG), [3.0, -2.0, 1.0], stop=0.5, params={"robot.q": [0.3, -0.4, 0.8]})
    pin = pytest.importorskip("pinocchio")
    from chains import pinocchio_model

    model = pinocchio_model(SPRUNG, [0, 0, -9.81])
    data = model.createData()
    for k in range(len(record.t)):
        spring = record["robot.tau_s"][k]
        expected = pin.aba(model, data, record["robot.q"][k], record["robot.qd"][k], np.array([spring[0], -2.0, spring[1]]))
        assert np.allclose(record["robot.qdd"][k], expected, rtol=0, atol=1e-9 * np.abs(expected).max())


def test_a_stiff_spring_is_no_spring():
    """With friction: the motor's angle differs by the torque over the stiffness, the motion of the link by no more."""
    rigid = [{**row, "Ia": 0.2, "Fv": 2.0, "Fc": 0.5} for row in ARM]
    stiff = [rigid[0], {**rigid[1], "K": 1e6, "D": 500.0}, rigid[2]]
    one, other = (driven(SerialRobot(joints=rows), [3.0, -12.0, 1.0], stop=0.5) for rows in (rigid, stiff))
    assert np.allclose(one["robot.q"], other["robot.q"], atol=2e-4)
    assert np.array_equal(other["robot.qm"][:, 0], other["robot.q"][:, 0])  # a rigid joint's motor is where its link is
    assert np.allclose(other["robot.qm"][:, 1], other["robot.q"][:, 1] + other["robot.torsion"].ravel(), atol=1e-15)


@pytest.mark.parametrize("friction", ["tanh", "sign"])
def test_both_engines_give_the_same_bits(friction):
    rows = [{**SPRUNG[0], "Fc": 1.0, "D": 3.0}, {**ARM[1], "Fc": 0.5}, {**SPRUNG[2], "Fc": 0.2, "D": 0.3}]
    fast, plain = (
        driven(SerialRobot(joints=rows, friction=friction), [3.0, -2.0, 1.0], stop=0.3, engine=engine)
        for engine in ("compiled", "python")
    )
    assert all(np.array_equal(fast[f"robot.{s}"], plain[f"robot.{s}"]) for s in ("q", "qd", "torsion", "wm", "qdd"))


def test_a_filter_estimates_the_stiffness_from_the_motor():
    """K of one joint by closed-loop output error from the motor's encoder, the links never seen."""
    text = """
format: 1
simulate: {stop: 3.0, solver: rk4, step: 5e-4, seed: 2}
blocks:
  push:  {type: Multisine, f_min: 0.4, f_max: 12, lines: 12, amplitude: 12, phases: schroeder}
  zero:  {type: Constant}
  both:  {type: Mux, in: [push, zero]}
  hold:  {type: PD, kp: 200, kd: 20, Ts: 5e-4, in: {e: error, qd_hat: robot.qmd}}
  error: {type: Gain, k: -1, in: encoder}
  tau:   {type: Sum, in: [both, hold]}
  robot: {type: SerialRobot, gravity: [0, 0, 0], in: tau,
          joints: [{ZZ: 1.0, M: 3, Ia: 0.5, Fv: 1, K: 600, D: 1}, {a: 0.4, ZZ: 0.3, MX: 0.3, M: 2.0, Ia: 0.1, Fv: 1}]}
  encoder: {type: Encoder, Ts: 5e-4, resolution: 1e-5, noise_std: 1, in: robot.qm}
  cloe:  {type: CLOE, parameters: [robot.K1, robot.D1], start: 0.8, output: robot.qm, in: encoder}
"""
    found = bs.simulate(text).estimates["cloe"]
    assert all(abs(e.z) < 4 for e in found.values()) and abs(found["robot.K1"].relative_error) < 0.01


def test_output_error_and_filters_work_from_the_motors():
    """Open loop, the links never seen: springs by output error and as it goes, and a filter that follows the links."""
    text = """
format: 1
simulate: {stop: 1.5, solver: rk4, step: 5e-4, seed: 2}
blocks:
  push:  {type: Multisine, f_min: 0.7, f_max: 12, lines: 12, amplitude: 12, phases: schroeder}
  other: {type: Multisine, f_min: 0.7, f_max: 9, lines: 9, amplitude: 3, phases: schroeder}
  tau:   {type: Mux, in: [push, other]}
  robot: {type: SerialRobot, gravity: [0, 0, 0], in: tau,
          joints: [{ZZ: 1.0, M: 3, Ia: 0.5, Fv: 2, K: 600, D: 1}, {a: 0.4, ZZ: 0.3, MX: 0.3, M: 2.0, Ia: 0.1, Fv: 1}]}
  encoder: {type: Encoder, Ts: 5e-4, resolution: 1e-5, noise_std: 1, in: robot.qm}
  oe:    {type: OutputError, model: robot, parameters: [robot.K1, robot.D1], start: 0.8, output: robot.qm, hold: linear,
          in: {y: encoder, u: tau}}
  joint: {type: JointEKF, Ts: 5e-4, model: robot, measures: qm, estimate: [K1, Fv2], start: {K1: 480.0, Fv2: 0.8},
          P0_parameters: [40000.0, 0.04], Q: 1e-10, P0: 1e-8, discretisation: rk4, in: {y: encoder, u: tau}}
  ekf:   {type: EKF, Ts: 5e-4, model: robot, measures: qm, sigma_w2: 0.01, discretisation: rk4, in: {y: encoder, u: tau}}
"""
    record = bs.simulate(text)
    for block, share in (("oe", 1e-3), ("joint", 0.03)):
        for estimate in record.estimates[block].values():
            assert abs(estimate.relative_error) < share and abs(estimate.z) < 4, (block, estimate)
    rest = record["ekf.x_hat"][500:, :2] - record["robot.q"][500:]
    assert np.sqrt(np.mean(rest**2)) < 1e-4  # the spring winds up to 100 times as far
    assert np.abs(record["robot.torsion"]).max() > 0.01


BAD = {
    "joints: [{ZZ: 1, K: 10}]": "joint 1 is flexible, and its motor has the inertia Ia1 = 0: it must be above 0",
    "joints: [{ZZ: 1, D: 10}]": "row 1: D belongs to a spring between motor and link: give its stiffness K",
    "joints: [{ZZ: 1}], flexible: [2]": "flexible: a list of joints is wanted, each from 1 to 1; found [2]",
    "joints: [{Ia: 1, K: 10}]": "joint 1 has the inertia 0 at q = [0]. Give link 1 (or one it carries) an inertia about its axis",
    "joints: [{ZZ: 1, Ia: 1, K: -10}]": "K1",
    "joints: [{ZZ: 1}, {ZZ: 1, K: 5, Ia: 1}], coupling: [[1, 0], [1, 1]]": "joint 2 takes part in the coupling",
}


@pytest.mark.parametrize("settings", BAD)
def test_mistakes_are_named(settings):
    with pytest.raises(bs.DiagramError) as error:
        bs.build(bs.load(f"format: 1\nblocks:\n  robot: {{type: SerialRobot, {settings}}}\n"))
    assert BAD[settings] in str(error.value) and "block 'robot'" in str(error.value)
