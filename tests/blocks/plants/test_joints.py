"""GravityJoint and ElectroMechanicalPositioner: equilibria, energy, exact rest and break-away against closed forms."""

from __future__ import annotations

import math

import numpy as np
import pytest

import blocks
import blocksim as bs
from blocks.plants.joints import StickingGravityJoint, StickingPositioner, cosine

EXACT = {"solver": "dopri5", "rtol": 1e-11, "atol": 1e-13, "every": "1/100", "engine": "python"}
JOINT = {"J": 2e-4, "Fv": 3e-4, "Fc": 0.02, "Ms": 0.0133, "N": 15.0, "theta0": 0.3, "g": 9.81, "offset": 0.0, "beta": 10.0}
CARRIAGE = {"M": 95.0, "Fv": 203.0, "Fc": 20.0, "offset": -3.0, "gtau": 35.0, "beta": 1e3}


def run(text, stop, **options):
    return bs.simulate(f"format: 1\nsimulate: {{stop: {stop}}}\nblocks:\n" + text, **{**EXACT, **options})


def settings(values):
    return ", ".join(f"{name}: {value}" for name, value in values.items())


def test_the_handle_hangs_where_its_moment_balances_the_torque():
    record = run(
        "  tau: {type: Constant, value: 0.06}\n  joint: {type: GravityJoint, Fc: 0.0, Fv: 3e-3, q: -20.0, in: tau}\n", 8.0
    )
    assert record["joint.q"][-1] == pytest.approx(-15 * math.acos(0.06 / (0.0133 * 9.81)), rel=1e-7)
    assert abs(record["joint.qdd"][-1]) < 1e-6


def test_small_swings_have_the_period_of_the_linear_joint():
    """About the hanging handle, q = -N pi/2, the stiffness is Ms g / N."""
    start = -15 * math.pi / 2 + 1e-3
    record = run(
        f"  tau: {{type: Constant, value: 0.0}}\n  joint: {{type: GravityJoint, Fc: 0.0, Fv: 0.0, q: {start}, in: tau}}\n", 3.0
    )
    swing = (record["joint.q"] + 15 * math.pi / 2) / 1e-3
    assert swing == pytest.approx(np.cos(math.sqrt(0.0133 * 9.81 / 15 / 1.9e-4) * record.t), abs=1e-5)


@pytest.mark.parametrize("friction", ["tanh", "sign"])
def test_energy_of_the_joint_is_work_less_losses(friction):
    dry = "abs(u1)" if friction == "sign" else "u1 * tanh(10 * u1)"
    record = run(
        "  tau: {type: Sine, amplitude: 0.05, frequency: 1.5, bias: 0.12}\n"
        f"  joint: {{type: GravityJoint, friction: {friction}, qd: 4.0, {settings(JOINT)}, in: tau}}\n"
        "  power: {type: Product, in: [tau, joint.qd]}\n  work: {type: Integrator, in: power}\n"
        f"  loss: {{type: Function, expression: '3e-4 * u1**2 + 0.02 * {dry}', in: joint.qd}}\n"
        "  lost: {type: Integrator, in: loss}\n",
        3.0,
    )
    stored = 1e-4 * record["joint.qd"] ** 2 + 15 * 0.0133 * 9.81 * np.sin(record["joint.q"] / 15 + 0.3)
    assert stored - stored[0] == pytest.approx(record["work"] - record["lost"], abs=1e-8)
    assert record["lost"][-1] > 0.1


@pytest.mark.parametrize("friction", ["tanh", "sign"])
def test_energy_of_the_carriage_is_work_less_losses(friction):
    dry = "abs(u1)" if friction == "sign" else "u1 * tanh(1000 * u1)"
    record = run(
        "  v: {type: Sine, amplitude: 2.0, frequency: 1.0}\n"
        f"  emps: {{type: ElectroMechanicalPositioner, friction: {friction}, {settings(CARRIAGE)}, in: v}}\n"
        "  power: {type: Function, expression: '(35 * u1 + 3) * u2', in: [v, emps.qd]}\n  work: {type: Integrator, in: power}\n"
        f"  loss: {{type: Function, expression: '203 * u1**2 + 20 * {dry}', in: emps.qd}}\n"
        "  lost: {type: Integrator, in: loss}\n",
        3.0,
    )
    assert 47.5 * record["emps.qd"] ** 2 == pytest.approx(record["work"] - record["lost"], abs=1e-8)
    assert record["lost"][-1] > 1.0


def test_coulomb_friction_stops_the_joint_where_the_closed_form_says_and_it_rests_exactly():
    record = run("  tau: {type: Constant, value: 0.0}\n"
                 "  joint: {type: GravityJoint, friction: sign, Fv: 0.0, Ms: 0.0, qd: 10.0, in: tau}\n", 0.3)  # fmt: skip
    stops = 10.0 * 1.9e-4 / 0.02
    rest = record.t > stops
    assert np.all(record["joint.qd"][rest] == 0.0) and np.all(record["joint.qdd"][rest] == 0.0)
    assert np.all(record["joint.q"][rest] == record["joint.q"][-1])
    assert record["joint.q"][-1] == pytest.approx(0.5 * 10.0 * stops, rel=1e-12)


@pytest.mark.parametrize("solver", ["dopri5", "rk4", "rodas4"])
def test_friction_holds_the_joint_against_gravity(solver):
    """Ms g = 0.1305 N m pulls, Fc = 0.15 N m holds: after a push the joint rests for good, wherever it is."""
    record = run("  tau: {type: Pulse, amplitude: 0.4, period: 10.0, duty: 0.01}\n"
                 "  joint: {type: GravityJoint, friction: sign, Fc: 0.15, in: tau}\n", 1.0,
                 solver=solver, **({"step": 1e-3} if solver == "rk4" else {}))  # fmt: skip
    rest = record.t > 0.4
    assert record["joint.q"][-1] > 1.0
    assert np.all(record["joint.qd"][rest] == 0.0) and np.ptp(record["joint.q"][rest]) == 0.0
    assert record.provenance["work"]["evaluations"] < 20_000  # it does not chatter


def test_the_joint_breaks_away_at_the_instant_the_load_exceeds_friction():
    """tau = 0.1 t against Fc and gravity, constant for this N: from the break on J q'' = 0.1 (t - break)."""
    record = run("  tau: {type: Ramp, slope: 0.1}\n"
                 "  joint: {type: GravityJoint, friction: sign, Fv: 0.0, Fc: 0.15, N: 1e13, theta0: 0.5, in: tau}\n",
                 4.0)  # fmt: skip
    breaks = (0.15 + 0.0133 * 9.81 * math.cos(0.5)) / 0.1
    after = np.maximum(record.t - breaks, 0.0)
    assert record["joint.q"] == pytest.approx(0.1 * after**3 / (6 * 1.9e-4), rel=1e-9, abs=1e-12)
    assert np.all(record["joint.qd"][record.t <= breaks] == 0.0) and record["joint.qd"][-1] > 100.0


def test_the_carriage_sticks_between_its_two_break_away_voltages():
    """|gtau v - offset| <= Fc: v from (offset - Fc) / gtau to (offset + Fc) / gtau."""
    record = run("  v: {type: Ramp, slope: 1.0}\n  emps: {type: ElectroMechanicalPositioner, friction: sign, in: v}\n", 1.0)
    leaves = (20.3935 - 3.1648) / 35.15065188
    assert np.all(record["emps.qd"][record.t < leaves] == 0.0) and np.all(record["emps.qd"][record.t > leaves + 0.01] > 0.0)


def test_regressors_reproduce_the_input_on_random_motion():
    rng = np.random.default_rng(1)
    q, qd, u = rng.normal(size=(3, 50))
    for friction, joint, carriage in (("tanh", blocks.LIBRARY["GravityJoint"], blocks.LIBRARY["ElectroMechanicalPositioner"]),
                                      ("sign", StickingGravityJoint, StickingPositioner)):  # fmt: skip
        given = JOINT if friction == "tanh" else {k: v for k, v in JOINT.items() if k != "beta"}
        moving = [{} if friction == "tanh" else {"mode": np.sign(v)} for v in qd]
        qdd = [joint.output(q=a, qd=b, tau=c, **given, **m) for a, b, c, m in zip(q, qd, u, moving, strict=True)]
        rows = joint.regressor(q, qd, np.array(qdd), JOINT["N"], JOINT["theta0"], JOINT["g"], friction, JOINT["beta"])
        assert rows.shape == (50, 4)
        assert rows @ [JOINT[p] for p in joint.inverse_parameters] == pytest.approx(joint.effort(u, 0.0), abs=1e-12)
        given = CARRIAGE if friction == "tanh" else {k: v for k, v in CARRIAGE.items() if k != "beta"}
        qdd = [carriage.output(qd=b, v=c, **given, **m) for b, c, m in zip(qd, u, moving, strict=True)]
        rows = carriage.regressor(q, qd, np.array(qdd), friction, CARRIAGE["beta"])
        assert rows @ [CARRIAGE[p] for p in carriage.inverse_parameters] == pytest.approx(35.0 * u, abs=1e-10)


def test_two_joints_in_one_block_run_as_two_blocks_do():
    both = run("  tau: {type: Sine, amplitude: [0.2, 0.1], frequency: 1.0}\n"
               "  joint: {type: GravityJoint, friction: sign, Fc: [0.02, 0.05], J: [2e-4, 3e-4], in: tau}\n", 1.0)  # fmt: skip
    for k, (size, Fc, J) in enumerate([(0.2, 0.02, 2e-4), (0.1, 0.05, 3e-4)]):
        alone = run(f"  tau: {{type: Sine, amplitude: {size}, frequency: 1.0}}\n"
                    f"  joint: {{type: GravityJoint, friction: sign, Fc: {Fc}, J: {J}, in: tau}}\n", 1.0)  # fmt: skip
        assert both["joint.q"][:, k] == pytest.approx(alone["joint.q"], rel=1e-7, abs=1e-9)


def test_wrong_numbers_are_refused():
    with pytest.raises(bs.DiagramError, match="J: must be above 0, found -1"):
        blocks.LIBRARY["GravityJoint"](J=-1.0)
    with pytest.raises(bs.DiagramError, match="'coulomb' is not one of tanh, sign"):
        blocks.LIBRARY["ElectroMechanicalPositioner"](friction="coulomb")


def test_an_offset_is_a_torque_that_is_lost():
    """It breaks away at Fc + offset."""
    text = "  tau: {type: Ramp, slope: 1.0}\n  joint: {type: GravityJoint, Ms: 0, offset: 0.01, friction: sign, in: tau}\n"
    record = run(text, 0.3)
    assert np.all(record["joint.qd"][record.t < 0.03] == 0.0) and np.all(record["joint.qd"][record.t > 0.04] > 0.0)


def test_cosines_by_tangents_are_those_of_libm():
    """Poles of the tangent among them."""
    x = np.concatenate([np.random.default_rng(2).uniform(-200, 200, 50_000), np.arange(-40, 41) * math.pi / 2])
    np.testing.assert_allclose(cosine(x), [math.cos(v) for v in x], rtol=0, atol=2 * np.finfo(float).eps)
