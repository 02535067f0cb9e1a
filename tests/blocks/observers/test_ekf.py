"""The extended Kalman filter: against filters written from the papers' equations, filterpy, and integrators of scipy."""

from functools import cache

import numpy as np
import pytest
from kalman import filtered, same
from scipy.integrate import solve_ivp

import blocksim as bs
from blocks import LIBRARY
from blocks.observers.observed import equations_of
from blocks.observers.transition import rates_of, transition
from blocksim.contract.plant import Plant
from blocksim.errors import DiagramError

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
JOINT = {"J": 1.9e-4, "Fv": 2e-4, "Fc": 0.02, "Ms": 0.0133, "N": 15.0, "theta0": 0.3, "g": 9.81, "beta": 10.0, "offset": 0.0}
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
    slope = [load * np.sin(angle) / (b["N"] * b["J"]), -(b["Fv"] + b["Fc"] * b["beta"] * (1 - speed**2)) / b["J"]]
    by_w = np.array([-qdd, -b["Fv"] * x[1] / b["J"], -b["Fc"] * speed / b["J"], -load * np.cos(angle) / b["J"]])
    F = np.eye(2) + Ts * np.array([[0.0, 1.0], slope])
    return x + Ts * np.array([x[1], qdd]), F, Ts * np.stack([np.zeros(4), by_w])


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
    for port, wanted in (("x_hat", np.array([x for x, _ in found])), ("P", np.array([P for _, P in found]))):
        worst = np.abs(record[f"ekf.{port}"] - wanted).max(axis=0)
        assert (worst <= 1e-9 * np.abs(wanted).max(axis=0)).all(), port


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
    values = [p[name] for name in eq.parameters]
    x_next, F, G = transition(rates_of(plant, plant.parameters), list(x), [tau], values, Ts, 2, 4, turns)
    return np.array(x_next), np.hstack([F, G])


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
        ("discretisation: rk4, substeps: 201", "substeps: at most 200 steps"),
        ("substeps: 4", "Euler's rule takes one step"),
        ("sigma_w2: -1", "sigma_w2"),
        ("factor: 0", "factor"),
    ],
)
def test_a_wrong_setting_is_named(settings, words):
    assert words in refusal(settings)


def test_a_plant_of_which_nothing_is_measured_by_default():
    words = refusal("sigma_w2: 0", LOOP.replace("model: joint", "model: TwoMassRobot"))
    assert "say which outputs of TwoMassRobot y measures" in words and "w_m" in words


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
