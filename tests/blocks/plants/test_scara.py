"""ScaraRobot against pinocchio, the printed regressor and its own energy; stiction joint by joint; the computed torque loop."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy.optimize import minimize

import blocks
import blocksim as bs
from blocks.plants.scara import scara_accelerate, scara_modes

SCARA = blocks.LIBRARY["ScaraRobot"]
VALUES = {"ZZR1": 3.42, "Fv1": 0.07, "Fs1": 0.58, "ZZ2": 0.064, "LMX2": 0.131, "LMY2": 0.02, "Fv2": 0.015, "Fs2": 0.156}
INERTIA = {name: VALUES[name] for name in ("ZZR1", "ZZ2", "LMX2", "LMY2")}
EXACT = {"solver": "dopri5", "rtol": 1e-11, "atol": 1e-13, "every": "1/100", "engine": "python"}


WIRES = "in: {q_ref: ref.q, qd_ref: ref.qd, qdd_ref: ref.qdd, q: robot.q, qd: robot.qd}"


def run(text, stop, **options):
    return bs.simulate(f"format: 1\nsimulate: {{stop: {stop}}}\nblocks:\n" + text, **{**EXACT, **options})


def random_motion(samples=40):
    return np.random.default_rng(2).normal(size=(3, samples, 2))


def direct(q, qd, tau):
    return np.array([SCARA.output(q=a, qd=b, tau=c, beta=50.0, **VALUES) for a, b, c in zip(q, qd, tau, strict=True)])


def test_the_defaults_are_the_a_priori_values_of_table_1():
    assert [SCARA.declared[p].default for p in SCARA.inverse_parameters] == [3.42, 0.07, 0.58, 0.064, 0.131, 0.0, 0.015, 0.156]


def test_accelerations_are_those_of_pinocchio():
    pin = pytest.importorskip("pinocchio", reason="the package pin is not installed")
    L, mass = 0.5, 2.0
    model = pin.Model()
    first = model.addJoint(0, pin.JointModelRZ(), pin.SE3.Identity(), "1")
    second = model.addJoint(first, pin.JointModelRZ(), pin.SE3(np.eye(3), np.array([L, 0.0, 0.0])), "2")
    alone = VALUES["ZZR1"] - mass * L**2
    model.appendBodyToJoint(first, pin.Inertia(1.0, np.zeros(3), np.diag([1.0, 1.0, alone])), pin.SE3.Identity())
    centre = np.array([VALUES["LMX2"], VALUES["LMY2"], 0.0]) / (L * mass)
    turning = VALUES["ZZ2"] - mass * centre @ centre
    model.appendBodyToJoint(second, pin.Inertia(mass, centre, np.diag([0.1, 0.1, turning])), pin.SE3.Identity())
    q, qd, tau = random_motion()
    friction = qd * [0.07, 0.015] + np.tanh(50.0 * qd) * [0.58, 0.156]
    expected = [pin.aba(model, model.createData(), a, b, c) for a, b, c in zip(q, qd, tau - friction, strict=True)]
    assert direct(q, qd, tau) == pytest.approx(np.array(expected), rel=1e-10, abs=1e-10)


def test_the_regressor_gives_the_torque_and_reads_as_printed():
    q, qd, tau = random_motion()
    qdd = direct(q, qd, tau)
    rows = SCARA.regressor(q, qd, qdd, "tanh", 50.0)
    assert rows.shape == (40, 2, 8)
    assert rows @ [VALUES[p] for p in SCARA.inverse_parameters] == pytest.approx(tau, abs=1e-11)
    (a1, a2), (v1, v2), (C2, S2) = qdd[7], qd[7], (math.cos(q[7, 1]), math.sin(q[7, 1]))
    printed = [
        [a1, v1, np.sign(v1), a1 + a2,
         (2 * a1 + a2) * C2 - v2 * (2 * v1 + v2) * S2, -(2 * a1 + a2) * S2 - v2 * (2 * v1 + v2) * C2, 0, 0],
        [0, 0, 0, a1 + a2, a1 * C2 + v1**2 * S2, v1**2 * C2 - a1 * S2, v2, np.sign(v2)],
    ]  # fmt: skip
    assert SCARA.regressor(q, qd, qdd, "sign", 50.0)[7] == pytest.approx(np.array(printed))


@pytest.mark.parametrize("friction", ["tanh", "sign"])
def test_energy_is_work_less_losses(friction):
    dry = "abs(u{0})" if friction == "sign" else "u{0} * tanh(50 * u{0})"
    losses = f"0.07 * u1**2 + 0.58 * {dry.format(1)} + 0.015 * u2**2 + 0.156 * {dry.format(2)}"
    given = ", ".join(f"{k}: {v}" for k, v in VALUES.items())
    record = run(
        "  tau: {type: Sine, amplitude: [4.0, 0.6], frequency: [0.7, 1.1]}\n"
        f"  robot: {{type: ScaraRobot, friction: {friction}, beta: 50.0, {given}, q: [0.2, 1.0], qd: [0.3, -2.0], in: tau}}\n"
        "  power: {type: Function, expression: 'u1 * u2 + u3 * u4', in: ['tau[0]', 'robot.qd[0]', 'tau[1]', 'robot.qd[1]']}\n"
        "  work: {type: Integrator, in: power}\n"
        f"  loss: {{type: Function, expression: '{losses}', in: ['robot.qd[0]', 'robot.qd[1]']}}\n"
        "  lost: {type: Integrator, in: loss}\n",
        3.0,
    )
    (v1, v2), q2 = record["robot.qd"].T, record["robot.q"][:, 1]
    h = VALUES["LMX2"] * np.cos(q2) - VALUES["LMY2"] * np.sin(q2)
    M11, M12 = VALUES["ZZR1"] + VALUES["ZZ2"] + 2 * h, VALUES["ZZ2"] + h
    energy = 0.5 * (M11 * v1**2 + 2 * M12 * v1 * v2 + VALUES["ZZ2"] * v2**2)
    assert energy - energy[0] == pytest.approx(record["work"] - record["lost"], abs=2e-8)
    assert record["lost"][-1] > 0.5


def test_joints_at_rest_slip_as_the_convex_problem_says():
    """The acceleration from rest minimises a' M a / 2 - b' a + Fs1 |a1| + Fs2 |a2|; whether a joint slips is read from it."""
    rng, seen = np.random.default_rng(3), set()
    for _ in range(60):
        b, q2 = rng.normal(size=2) * [1.0, 0.25], rng.uniform(-3, 3)
        h = VALUES["LMX2"] * math.cos(q2) - VALUES["LMY2"] * math.sin(q2)
        M = np.array([[3.42 + 0.064 + 2 * h, 0.064 + h], [0.064 + h, 0.064]])
        found = scara_modes(b[0], b[1], 0.0, 0.0, q2, Fs1=0.58, Fs2=0.156, **INERTIA)
        a = np.array(scara_accelerate(b[0], b[1], *found, q2, Fs1=0.58, Fs2=0.156, **INERTIA))

        def cost(z, M=M, b=b):  # a = up - down, both at least 0, makes |a| smooth
            a = z[:2] - z[2:]
            return 0.5 * a @ M @ a - b @ a + [0.58, 0.156] @ (z[:2] + z[2:])

        best = minimize(cost, np.full(4, 0.1), bounds=[(0, None)] * 4, tol=1e-14)
        assert a == pytest.approx(best.x[:2] - best.x[2:], abs=2e-4)
        assert np.all((np.sign(a) == found) | (a == 0.0))
        seen.add(found)
    assert len(seen) >= 8


def test_each_joint_sticks_on_its_own():
    """Joint 1 is pushed across its friction, joint 2 only dragged: it stays exactly where it is while M12 qdd1 is below Fs2."""
    record = run(
        "  tau: {type: Sine, amplitude: [2.0, 0.0], frequency: 0.5}\n  robot: {type: ScaraRobot, friction: sign, in: tau}\n", 2.0
    )
    assert np.all(record["robot.qd"][:, 1] == 0.0) and np.ptp(record["robot.q"][:, 0]) > 0.1
    hard = run(
        "  tau: {type: Sine, amplitude: [20.0, 0.0], frequency: 0.5}\n  robot: {type: ScaraRobot, friction: sign, in: tau}\n", 2.0
    )
    assert np.ptp(hard["robot.q"][:, 1]) > 0.5


def test_both_joints_come_to_exact_rest():
    record = run("  tau: {type: Constant, value: [0.3, 0.1]}\n"
                 "  robot: {type: ScaraRobot, friction: sign, q: [0.0, 0.5], qd: [0.4, -3.0], in: tau}\n", 9.0)  # fmt: skip
    rest = record.t > 8.0
    assert np.all(record["robot.qd"][rest] == 0.0) and np.all(record["robot.qdd"][rest] == 0.0)
    assert record.provenance["work"]["evaluations"] < 20_000


def test_computed_torque_makes_the_error_linear():
    """e'' + 40 e' + 400 e = 0: from rest, e = e(0) (1 + 20 t) exp(-20 t)."""
    record = run(
        "  still: {type: Constant, value: [0.0, 0.0]}\n"
        "  torque: {type: ComputedTorque, in: {q_ref: still, qd_ref: still, qdd_ref: still, q: robot.q, qd: robot.qd}}\n"
        "  robot: {type: ScaraRobot, q: [0.3, -0.5], in: torque}\n",
        1.0,
    )
    t = record.t
    assert record["robot.q"] == pytest.approx(np.outer((1 + 20 * t) * np.exp(-20 * t), [0.3, -0.5]), abs=1e-8)


@pytest.mark.parametrize(
    ("form", "gains", "worst"), [("computed", "", 1e-6), ("feedforward", "kp: [900.0, 90.0], kd: [90.0, 9.0],", 1e-3)]
)
def test_computed_torque_follows_a_trajectory(form, gains, worst):
    record = run(
        "  ref: {type: FourierTrajectory, base_frequency: 0.25, a: [[0.5, 0.2], [0.8, -0.3]]}\n"
        f"  torque: {{type: ComputedTorque, form: {form}, {gains} {WIRES}}}\n"
        "  robot: {type: ScaraRobot, in: torque}\n",
        4.0,
    )
    assert np.abs(record["robot.q"] - record["ref.q"])[record.t > 2].max() < worst


def test_a_sampled_computed_torque_holds_between_hits():
    record = run(
        "  ref: {type: FourierTrajectory, base_frequency: 0.25, a: [[0.5, 0.2], [0.8, -0.3]]}\n"
        f"  torque: {{type: ComputedTorque, Ts: 5e-3, {WIRES}}}\n"
        "  robot: {type: ScaraRobot, in: torque}\n",
        2.0, solver="rk4", step=1e-3, every="1/1000",
    )  # fmt: skip
    held = record["torque"][:-1].reshape(-1, 5, 2)
    assert np.all(held == held[:, :1]) and np.abs(record["robot.q"] - record["ref.q"])[1500:].max() < 5e-3


def test_compiled_and_interpreted_runs_are_equal_bit_for_bit():
    text = (
        "  ref: {type: FourierTrajectory, base_frequency: 0.5, a: [[0.3, 0.1], [0.4, -0.2]]}\n"
        f"  torque: {{type: ComputedTorque, Ts: 2e-3, {WIRES}}}\n"
        "  robot: {type: ScaraRobot, friction: sign, in: torque}\n"
    )
    slow, fast = (run(text, 2.0, solver="rk4", step=1e-3, engine=engine) for engine in ("python", "compiled"))
    assert all(np.array_equal(slow[name], fast[name]) for name in slow)


def test_an_impossible_inertia_is_refused():
    with pytest.raises(bs.DiagramError, match=r"ZZR1 ZZ2 must be above LMX2\^2 \+ LMY2\^2"):
        SCARA(LMX2=0.5)


def test_inertias_of_any_size_are_refused_in_words():
    with pytest.raises(bs.DiagramError, match="must be above LMX2"):
        SCARA(**{**VALUES, "LMX2": 1e200})
