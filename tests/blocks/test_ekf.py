"""The extended Kalman filter: against filters written from the papers' equations, filterpy, and integrators of scipy."""

from functools import cache

import numpy as np
import pytest
from scipy.integrate import solve_ivp

import blocksim as bs
from blocks import LIBRARY
from blocks.ekf import EKF
from blocks.observed import equations_of
from blocks.transition import transition_of
from blocksim.block import Block, inport, outport, param, state
from blocksim.errors import DiagramError
from blocksim.plant import Plant
from blocksim.vocabulary import sin

LOOP = """
format: 1
simulate: {{stop: 1.0, solver: rk4, step: 1e-3, seed: 1}}
blocks:
  ref:     {{type: FourierTrajectory, base_frequency: 0.5, a: [4, 0, -1], b: [-2, 1, 1]}}
  error:   {{type: Sum, signs: "+-", in: [ref.q, encoder]}}
  pid:     {{type: PID, Ts: 1e-3, kp: 1.0, ki: 10, kd: 0.025, Tf: 2e-3, limit: 0.6, in: error}}
  joint:   {{type: GravityJoint, theta0: 0.3, in: pid}}
  encoder: {{type: Encoder, Ts: 1e-3, counts_per_turn: 2000, in: joint.q}}
  ekf:     {{type: EKF, Ts: 1e-3, model: joint, {settings}, in: {{y: encoder, u: pid}}}}
"""
JOINT = {"J": 1.9e-4, "Fv": 2e-4, "Fc": 0.02, "Ms": 0.0133, "N": 15.0, "theta0": 0.3, "g": 9.81, "beta": 10.0}
R0 = (2 * np.pi / 2000) ** 2 / 12  # (14)
Ts = 1e-3


@cache
def ran(settings, engine="auto", text=LOOP):
    return bs.simulate(bs.open_diagram(text.format(settings=settings)), engine=engine)


def joint_step(x, tau, b):
    """(16), its derivatives by the state and by the w of (12), with w = 0; derived by hand."""
    load, speed = b["Ms"] * b["g"], np.tanh(b["beta"] * x[1])
    angle = x[0] / b["N"] + b["theta0"]
    qdd = (tau - b["Fv"] * x[1] - b["Fc"] * speed - load * np.cos(angle)) / b["J"]
    slope = [
        load * np.sin(angle) / (b["N"] * b["J"]),
        -(b["Fv"] + b["Fc"] * b["beta"] * (1 - speed**2)) / b["J"],
    ]
    by_w = np.array([-qdd, -b["Fv"] * x[1] / b["J"], -b["Fc"] * speed / b["J"], -load * np.cos(angle) / b["J"]])
    F = np.eye(2) + Ts * np.array([[0.0, 1.0], slope])
    return x + Ts * np.array([x[1], qdd]), F, Ts * np.stack([np.zeros(4), by_w])


def filtered(y, u, step, W, Q, R, x, P, read=None):
    """The extended Kalman filter, all readings at once: x, P, innovation, normalised innovation squared and gain by sample."""
    found = []
    for reading, drive in zip(np.reshape(y, (len(y), -1)), u, strict=True):
        h, H = read(x)
        S = H @ P @ H.T + R
        K = np.linalg.solve(S, H @ P).T
        e = reading - h
        x, P = x + K @ e, P - K @ S @ K.T
        found.append((x, P.ravel(), e, e @ np.linalg.solve(S, e), K.ravel()))
        x, F, G = step(x, drive)
        P = F @ P @ F.T + G @ W @ G.T + Q
    return [np.array(column) for column in zip(*found, strict=True)]


def complex_step(f, x, u, p, names, Ts):
    """Euler's rule and its derivatives by the state and by relative changes of parameters, by a step in the complex plane."""
    h = 1e-30
    F = [np.eye(len(x))[:, k] + Ts * np.imag(f(x + 1j * h * np.eye(len(x))[k], u, p)) / h for k in range(len(x))]
    G = [Ts * np.imag(f(x.astype(complex), u, {**p, n: p[n] * (1 + 1j * h)})) / h for n in names]
    return x + Ts * np.real(f(x.astype(complex), u, p)), np.stack(F, axis=-1), np.stack(G, axis=-1)


def same(record, wanted, tolerance=1e-9, path="ekf"):
    for port, values in zip(("x_hat", "P", "innovation", "nis", "gain"), wanted, strict=True):
        found = np.reshape(record[f"{path}.{port}"], (len(values), -1))
        values = np.reshape(values, (len(values), -1))
        scale = np.abs(values).max(axis=0)
        assert np.abs(found - values).max(axis=0) == pytest.approx(np.zeros(len(scale)), abs=tolerance * scale.max()), port


SETTINGS = {
    "as in the paper": ("factor: 0.7, sigma_w2: 0.09", 0.7, np.full(4, 0.09), np.zeros(2), R0, (R0, 0.1), (0.0, 0.0)),
    "each its own": (
        "sigma_w2: [0.01, 0, 0.04, 0.09], Q: [1e-10, 1e-4], R: 1e-6, P0: [1e-3, 2], x0: [0.1, -1]",
        1.0,
        np.array([0.01, 0, 0.04, 0.09]),
        np.array([1e-10, 1e-4]),
        1e-6,
        (1e-3, 2.0),
        (0.1, -1.0),
    ),
    "additive alone": ("sigma_w2: 0, Q: 1e-6", 1.0, np.zeros(4), np.full(2, 1e-6), R0, (R0, 0.1), (0.0, 0.0)),
}


@pytest.mark.parametrize("case", SETTINGS)
def test_it_is_the_filter_of_the_paper(case):
    """(10)-(14) with derivatives by hand."""
    text, factor, sigma2, Q, R, P0, x0 = SETTINGS[case]
    record = ran(text)
    b = {**JOINT, **{n: factor * JOINT[n] for n in ("J", "Fv", "Fc", "Ms")}}
    reading = lambda x: (x[:1], np.eye(2)[:1])
    wanted = filtered(
        record["encoder"],
        record["pid"],
        lambda x, tau: joint_step(x, tau, b),
        np.diag(sigma2),
        np.diag(Q),
        np.diag([R]),
        np.array(x0),
        np.diag(P0),
        reading,
    )
    same(record, wanted)
    assert np.array_equal(record["ekf.q_hat"], record["ekf.x_hat"][:, 0])
    assert np.array_equal(record["ekf.qd_hat"], record["ekf.x_hat"][:, 1])
    x, u = record["ekf.x_hat"], record["pid"]
    acceleration = [(joint_step(x[k], u[k], b)[0][1] - x[k, 1]) / Ts for k in range(len(u) - 1)]
    assert record["ekf.qdd_hat"][1:] == pytest.approx(np.array(acceleration), rel=1e-9, abs=1e-7)


def test_filterpy_finds_the_same():
    kalman = pytest.importorskip("filterpy.kalman")
    record = ran("factor: 0.7, sigma_w2: 0.09")
    b = {**JOINT, **{n: 0.7 * JOINT[n] for n in ("J", "Fv", "Fc", "Ms")}}

    class Filter(kalman.ExtendedKalmanFilter):
        def predict_x(self, u=0):
            self.x, self.F, G = joint_step(self.x, u, b)
            self.Q = G @ (0.09 * np.eye(4)) @ G.T

    one = Filter(dim_x=2, dim_z=1)
    one.x, one.P, one.R = np.zeros(2), np.diag([R0, 0.1]), np.array([[R0]])
    found = []
    for y, tau in zip(record["encoder"], record["pid"], strict=True):
        one.update(np.array([y]), lambda x: np.eye(2)[:1], lambda x: x[:1])
        found.append((one.x.copy(), one.P.copy().ravel()))
        one.predict(tau)
    assert record["ekf.x_hat"] == pytest.approx(np.array([x for x, _ in found]), rel=1e-9, abs=1e-9)
    assert record["ekf.P"] == pytest.approx(np.array([P for _, P in found]), rel=1e-7, abs=1e-12)


@pytest.mark.parametrize("settings", ["sigma_w2: 0.09", "sigma_w2: 0.09, discretisation: rk4, substeps: 2"])
def test_both_engines_agree_to_the_last_bit(settings):
    fast, plain = ran(settings, "compiled"), ran(settings, "python")
    assert all(np.array_equal(fast[name], plain[name]) for name in plain)


@pytest.mark.parametrize("friction", ["tanh", "sign"])
def test_the_believed_friction_may_be_another(friction):
    record = ran(f"parameters: {{friction: {friction}, Fc: 0.03}}")
    assert np.isfinite(record["ekf.x_hat"]).all()
    x, tau = record["ekf.x_hat"][500], record["pid"][500]
    dry = np.sign(x[1]) if friction == "sign" else np.tanh(10 * x[1])
    load = JOINT["Ms"] * JOINT["g"] * np.cos(x[0] / 15 + 0.3)
    qdd = (tau - JOINT["Fv"] * x[1] - 0.03 * dry - load) / JOINT["J"]
    assert record["ekf.qdd_hat"][501] == pytest.approx(qdd, rel=1e-9)


# Discretisation of order 4


def flow(x, tau, p):
    """Where the joint's equations lead in one sample."""

    def rates(t, x):
        load = p["Ms"] * p["g"] * np.cos(x[0] / p["N"] + p["theta0"])
        return [x[1], (tau - p["Fv"] * x[1] - p["Fc"] * np.tanh(p["beta"] * x[1]) - load) / p["J"]]

    return solve_ivp(rates, (0, Ts), x, method="DOP853", rtol=1e-13, atol=1e-15).y[:, -1]


def carried(x, tau, turns, p=JOINT):
    """The filter's transition and its derivatives."""
    plant = Plant(LIBRARY["GravityJoint"], LIBRARY["GravityJoint"](**p).settings)
    eq = equations_of(plant)
    x_next, S, work = np.zeros(2), np.zeros(12), np.zeros(3 * 14)
    values = [p[name] for name in eq.parameters]
    transition_of(plant, eq, turns, plant.parameters)(x_next, S, list(x), [tau], values, Ts, 2, 4, turns, work)
    return x_next, S.reshape(2, 6)


POINTS = [((0.3, 0.05), 0.2), ((4.0, -3.0), -0.1), ((-2.0, 0.0), 0.13)]


@pytest.mark.parametrize(("x", "tau"), POINTS)
def test_rk4_follows_the_equations(x, tau):
    wanted = flow(np.array(x), tau, JOINT)
    errors = [np.abs(carried(x, tau, turns)[0] - wanted)[1] for turns in (16, 32, 64)]
    assert errors[2] < 1e-9
    assert errors[0] < 1e-11 or 12 < errors[0] / errors[1] < 20, "half the step, a sixteenth of the error"


@pytest.mark.parametrize(("x", "tau"), POINTS)
def test_rk4_differentiates_the_flow(x, tau):
    x, names = np.array(x), ("J", "Fv", "Fc", "Ms")
    S = carried(x, tau, 16)[1]
    for k in range(2):
        h = 1e-4 * np.eye(2)[k]
        assert S[:, k] == pytest.approx((flow(x + h, tau, JOINT) - flow(x - h, tau, JOINT)) / 2e-4, rel=1e-5, abs=1e-7)
    for k, name in enumerate(names):
        h = 1e-4 * JOINT[name]
        more, less = ({**JOINT, name: JOINT[name] + sign * h} for sign in (1, -1))
        slope = (flow(x, tau, more) - flow(x, tau, less)) / (2 * h)
        assert S[:, 2 + k] == pytest.approx(slope, rel=1e-5, abs=1e-6 * np.abs(slope).max())


def test_the_filter_with_rk4_predicts_along_the_flow():
    record = ran("sigma_w2: 0.09, discretisation: rk4, substeps: 16")
    x, e, y = record["ekf.x_hat"], record["ekf.innovation"], record["encoder"]
    for k in (100, 400, 800):
        assert y[k + 1] - e[k + 1] == pytest.approx(flow(x[k], record["pid"][k], JOINT)[0], abs=1e-10)


# Other plants

SCARA = """
format: 1
simulate: {{stop: 0.5, solver: rk4, step: 1e-3, seed: 1}}
blocks:
  ref:     {{type: PolynomialTrajectory, times: [0, 0.25, 0.5], points: [[0, 0.4, 0], [0, -0.8, 0]]}}
  error:   {{type: Sum, signs: "+-", in: [ref.q, encoder]}}
  pd:      {{type: PD, Ts: 1e-3, kp: [850, 25], kd: [90, 2], Tf: 5e-3, in: error}}
  robot:   {{type: ScaraRobot, LMY2: 0.02, beta: 10, in: pd}}
  encoder: {{type: Encoder, Ts: 1e-3, resolution: [1e-4, 2e-4], in: robot.q}}
  ekf:     {{type: EKF, Ts: 1e-3, model: robot, {settings}, in: {{y: encoder, u: pd}}}}
"""


def scara(x, tau, p):
    C2, S2 = np.cos(x[1]), np.sin(x[1])
    h, c = p["LMX2"] * C2 - p["LMY2"] * S2, p["LMX2"] * S2 + p["LMY2"] * C2
    M = np.array([[p["ZZR1"] + p["ZZ2"] + 2 * h, p["ZZ2"] + h], [p["ZZ2"] + h, p["ZZ2"]]])
    N = np.array([-c * x[3] * (x[3] + 2 * x[2]), c * x[2] ** 2])
    friction = [p[f"Fv{j}"] * x[1 + j] + p[f"Fs{j}"] * np.tanh(p["beta"] * x[1 + j]) for j in (1, 2)]
    return np.concatenate((x[2:], np.linalg.solve(M, tau - N - friction)))


def test_a_robot_of_two_joints():
    """Two readings: what is taken one after another is the same as all at once, the gain included."""
    record = ran("sigma_w2: 0.01, Q: 1e-8", text=SCARA)
    kind = LIBRARY["ScaraRobot"]
    p = {**kind(LMY2=0.02, beta=10.0).settings}
    R = np.array([1e-4, 2e-4]) ** 2 / 12
    wanted = filtered(
        record["encoder"],
        record["pd"],
        lambda x, tau: complex_step(scara, x, tau, p, kind.inverse_parameters, Ts),
        0.01 * np.eye(8),
        1e-8 * np.eye(4),
        np.diag(R),
        np.zeros(4),
        np.diag([*R, 0.1, 0.1]),
        lambda x: (x[:2], np.eye(4)[:2]),
    )
    same(record, wanted)
    assert record["ekf.qd_hat"].shape == record["ekf.qdd_hat"].shape == (501, 2)


TWO_MASS = """
format: 1
simulate: {{stop: 0.5, solver: rk4, step: 1e-3, seed: 1}}
blocks:
  u:     {{type: Multisine, f_min: 2, f_max: 25, lines: 10, amplitude: 20}}
  robot: {{type: TwoMassRobot, in: u}}
  speed: {{type: TorqueSensor, Ts: 1e-3, std: 0.01, in: robot.w_m}}
  ekf:   {{type: EKF, Ts: 1e-3, model: robot, {settings}, in: {{y: speed, u: u}}}}
"""


def two_masses(x, tau, p):
    phi, w = p["r"] * x[0] - x[2], p["r"] * x[1] - x[3]
    tau_s = p["k1"] * phi + p["k3"] * phi**3 + p["d"] * w + x[4]
    dry = p["Fc"] * np.tanh(p["beta"] * x[1])
    return np.array([x[1], (tau - p["r"] * tau_s - dry - p["Fv"] * x[1]) / p["Jm"], x[3], tau_s / p["Ja"], 0 * w])


@pytest.mark.parametrize("measures", ["w_m", "[w_m]"])
def test_a_robot_whose_motor_speed_is_measured(measures):
    record = ran(f"measures: {measures}, sigma_w2: 1e-4, Q: 1e-9, P0: 1e-4", text=TWO_MASS)
    kind = LIBRARY["TwoMassRobot"]
    wanted = filtered(
        record["speed"],
        record["u"],
        lambda x, tau: complex_step(two_masses, x, tau, kind().settings, kind.inverse_parameters[:-1], Ts),
        1e-4 * np.eye(7),
        1e-9 * np.eye(5),
        np.diag([1e-4]),
        np.zeros(5),
        1e-4 * np.eye(5),
        lambda x: (x[1:2], np.eye(5)[1:2]),
    )
    same(record, wanted)
    assert {"ekf.phi_m_hat", "ekf.w_m_hat", "ekf.phi_a_hat", "ekf.w_a_hat", "ekf.z_hat"} <= set(record)


class Pendulum(Block):
    """L q'' = u - g sin q: seen from the side and from below, s = L sin q."""

    L: float = param(0.7, "length", above=0)
    u = inport("push")
    q: float = state(0.2, "angle", "rad")
    qd: float = state(0.0, "speed", "rad/s")
    s = outport("sideways")
    fast = outport("speed of the tip")
    force = outport("needs the input")

    @staticmethod
    def output_s(q, L):
        return L * sin(q)

    @staticmethod
    def output_fast(qd, L):
        return L * qd

    @staticmethod
    def output_force(q, u):
        return u - 9.81 * sin(q)

    @staticmethod
    def derivative(q, qd, u, L):
        return qd, (u - 9.81 * sin(q)) / L


def pendulum(**settings):
    diagram = bs.Diagram("pendulum")
    diagram.add("u", "Sine", amplitude=3.0, frequency=0.5)
    diagram.add("plant", Pendulum(), inputs="u")
    signal = settings.pop("of", ["plant.s", "plant.fast"])
    diagram.add("both", "Mux", inputs=signal)
    diagram.add("hold", "ZeroOrderHold", Ts=1e-2, inputs="both")
    diagram.add("ekf", EKF(Ts=1e-2, model="plant", **settings), inputs={"y": "hold", "u": "u"})
    return diagram


def test_outputs_that_are_no_states_are_measured_through_their_own_derivatives():
    diagram = pendulum(measures=["s", "fast"], Q=[1e-8, 1e-5], R=[1e-4, 4e-4], P0=[0.1, 0.2], x0=[0.5, 0.3])
    record = bs.simulate(diagram, stop=3.0, step=1e-2, solver="rk4")

    def step(x, u):
        F = np.eye(2) + 1e-2 * np.array([[0, 1], [-9.81 * np.cos(x[0]) / 0.7, 0]])
        return x + 1e-2 * np.array([x[1], (u - 9.81 * np.sin(x[0])) / 0.7]), F, np.zeros((2, 1))

    def read(x):
        return 0.7 * np.array([np.sin(x[0]), x[1]]), 0.7 * np.diag([np.cos(x[0]), 1.0])

    wanted = filtered(
        record["hold"],
        record["u"],
        step,
        np.zeros((1, 1)),
        np.diag([1e-8, 1e-5]),
        np.diag([1e-4, 4e-4]),
        np.array([0.5, 0.3]),
        np.diag([0.1, 0.2]),
        read,
    )
    same(record, wanted)


def test_it_works_after_the_run_as_beside_it():
    """Replayed over a record it gives the same estimates, to the last bit."""
    text = LOOP.replace("in: {{y: encoder", "sensor: encoder, in: {{y: late")
    text += "  late:    {{type: Resample, every: 1e-3, in: encoder}}\n"
    beside, after = ran("sigma_w2: 0.09"), ran("sigma_w2: 0.09", text=text)
    assert np.array_equal(beside["ekf.x_hat"], after["ekf.x_hat"])


def test_settings_of_the_plant_and_the_filter_may_be_swept():
    diagram = bs.open_diagram(LOOP.format(settings="sigma_w2: 0.09"))
    changed = bs.simulate(diagram, params={"joint.J": 2.5e-4, "ekf.factor": 0.8, "ekf.sigma_w2": 0.01})
    written = bs.simulate(
        bs.open_diagram(LOOP.format(settings="sigma_w2: 0.01, factor: 0.8").replace("theta0: 0.3", "theta0: 0.3, J: 2.5e-4"))
    )
    assert np.array_equal(changed["ekf.x_hat"], written["ekf.x_hat"])


# What is refused


def refusal(settings, text=LOOP):
    with pytest.raises(DiagramError) as caught:
        bs.simulate(bs.open_diagram(text.format(settings=settings)), stop=0.01)
    assert "ekf" in str(caught.value)
    return str(caught.value)


@pytest.mark.parametrize(
    ("settings", "words"),
    [
        ("sigma_w2: [0.1, 0.2]", "sigma_w2: found 2 numbers; one for all is wanted, or one for each of: J, Fv, Fc, Ms"),
        ("Q: [1, 1, 1]", "Q: found 3 numbers; one for all is wanted, or one for each of: q, qd"),
        ("P0: [1, 1, 1]", "P0: found 3 numbers"),
        ("x0: [1, 1, 1]", "x0: found 3 numbers"),
        ("R: [1, 1]", "R: one variance above 0 for each of 1 readings is wanted, found [1.0, 1.0]"),
        ("parameters: {K: 1}", "has no parameter 'K'. It takes: J, Fv"),
        ("parameters: {J: -1}", "J"),
        (
            "measures: speed",
            "'speed' of 'joint' (GravityJoint) cannot be measured: there is no such outport. What can be: q, qd.",
        ),
        ("measures: qdd", "depends on its input at the same instant"),
        ("discretisation: rk4, substeps: 0", "substeps: must be at least 1, found 0"),
        ("substeps: 4", "Euler's rule takes one step"),
        ("sigma_w2: -1", "sigma_w2"),
        ("factor: 0", "factor"),
    ],
)
def test_a_wrong_setting_is_named(settings, words):
    assert words in refusal(settings)


def test_a_plant_of_which_nothing_is_measured_by_default():
    words = refusal("sigma_w2: 0", TWO_MASS)
    assert "say which outputs of 'robot' (TwoMassRobot) y measures" in words and "w_m" in words


def test_a_signal_without_a_sensor_needs_its_variance():
    text = LOOP.replace("y: encoder", "y: joint.q")
    assert "R: the variance of the readings is taken from the sensor" in refusal("factor: 1", text)
    assert np.isfinite(ran("R: 1e-6", text=text)["ekf.nis"]).all()


def test_a_plant_without_states():
    assert "has no continuous states" in refusal(
        "factor: 1", LOOP.replace("model: joint", "model: pid").replace("Ts: 1e-3, kp", "Ts: 1e-3, kp")
    )


def test_an_unknown_model_is_named():
    assert "'joit' is neither a block of the diagram nor a block type" in refusal(
        "factor: 1", LOOP.replace("model: joint", "model: joit")
    )
