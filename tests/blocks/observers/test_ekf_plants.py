"""The extended Kalman filter of other plants: against filters in numpy, with equations by hand or the plant's own."""

from functools import cache

import numpy as np
import pytest
from kalman import complex_step, differences, filtered, same

import blocksim as bs
from blocks import LIBRARY
from blocks.observers.ekf import EKF
from blocksim.contract.block import Block, inport, outport, param, state
from blocksim.contract.declarations import Fixed, Inport, Memory, State
from blocksim.contract.definition import arguments
from blocksim.contract.vocabulary import exp, sin

Ts = 1e-3


@cache
def ran(settings, text):
    return bs.simulate(bs.open_diagram(text.format(settings=settings)))


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


LIBRARY_LOOP = """
format: 1
simulate: {{stop: {stop}, solver: rk4, step: {Ts}, seed: 1}}
blocks:
  wave:  {{type: Multisine, f_min: 2.5, f_max: 25, lines: 10, amplitude: {amplitude}, phases: schroeder}}
  u:     {{type: ZeroOrderHold, Ts: {Ts}, in: wave}}
  plant: {{type: {kind}, {settings}in: u}}
  y:     {{type: TorqueSensor, Ts: {Ts}, std: {std}, in: plant.{port}}}
  ekf:   {{type: EKF, Ts: {Ts}, model: plant, measures: {port}, sigma_w2: 1e-4, Q: 1e-9, P0: {P0}, in: {{y: y, u: u}}}}
"""
CASES = {
    "joint": ("GravityJoint", {"theta0": 0.3}, 0.3, "q", 1e-3),
    "positioner": ("ElectroMechanicalPositioner", {}, 3.0, "q", 1e-5),
    "asymmetric positioner": ("AsymmetricPositioner", {}, 3.0, "q", 1e-5),
    "hysteresis": ("TwoMassRobot", {"alpha": 1e3, "A": 1e7}, 30.0, "w_m", 0.01),
    "backlash": ("TwoMassRobot", {"q": 1e-4, "backlash": "elasto"}, 30.0, "w_m", 0.01),
    "stribeck": ("TwoMassRobot", {"friction": "stribeck", "Fs": 1.1, "vs": 3.0}, 30.0, "w_m", 0.01),
    "three masses": ("ThreeMassRobot", {}, 30.0, "w_m", 0.01),
    "three masses, all of it": ("ThreeMassRobot", {"alpha": 1e3, "A": 1e7, "q": 1e-4, "backlash": "elasto2"}, 30.0, "w_m", 0.01),
}


@pytest.mark.parametrize("case", CASES)
def test_every_plant_of_the_library(case):
    """The plant's own rates, called as the functions they are, and differences of them in place of exact derivatives."""
    kind, settings, amplitude, port, std = CASES[case]
    written = "".join(f"{name}: {value}, " for name, value in settings.items())
    Ts, P0 = (1e-4, 1e-8) if kind == "ThreeMassRobot" else (1e-3, 1e-4)  # Euler's rule must be stable
    text = LIBRARY_LOOP.format(kind=kind, settings=written, amplitude=amplitude, port=port, std=std, Ts=Ts, P0=P0, stop=400 * Ts)
    record = bs.simulate(text, engine="python")
    block = LIBRARY[kind](**settings)
    law = block.variant(1).functions.get("equations") or block.variant(1).functions["derivative"]
    states = [name for name in block.of(State) if name not in block.of(Memory)]
    n, at = len(states), np.eye(len(states))[states.index(port)]
    names = [name for name in type(block).inverse_parameters if block.settings[name] != 0]
    drive = next(iter(block.of(Inport)))

    def rates(x, u, p):
        values = {n: d.default for n, d in block.of(Fixed, Inport).items()}  # constants; inputs that are left open
        values |= {**block.settings, **p, **dict(zip(states, x, strict=True)), drive: u}
        return np.array(law(**{a: values[a] for a in arguments(law)}))

    wanted = filtered(
        record["y"],
        record["u"],
        lambda x, u: differences(rates, x, u, {name: block.settings[name] for name in names}, Ts),
        1e-4 * np.eye(len(names)),
        1e-9 * np.eye(n),
        np.diag([std**2]),
        np.zeros(n),
        P0 * np.eye(n),
        lambda x: (x @ at[:, None], at[None]),
    )
    same(record, wanted, 1e-6)


def test_no_plant_of_the_library_is_left_out():
    plants = {name for name, kind in LIBRARY.items() if getattr(kind, "inverse_parameters", ())}
    assert plants == {kind for kind, *_ in CASES.values()} | {
        "ScaraRobot",
        "SerialRobot",
    }  # of several joints: tests of their own


class Clocked(Block):
    """x' = u exp(-t): a rate that depends on the time."""

    k: float = param(1.0, "gain")
    u = inport("input")
    x: float = state(0.0, "state", port=True)

    @staticmethod
    def derivative(u, t, k):
        return k * u * exp(-t)


@pytest.mark.parametrize("observer", ["EKF", "JointEKF", "RPEM"])
def test_a_plant_that_depends_on_the_time_is_refused(observer):
    diagram = bs.Diagram("clock")
    diagram.add("u", "Constant", value=1.0)
    diagram.add("plant", Clocked(), inputs="u")
    given = {"R2" if observer == "RPEM" else "R": 1.0} | ({} if observer == "EKF" else {"estimate": "k", "start": {"k": 2.0}})
    diagram.add("ekf", observer, {"y": "plant.x", "u": "u"}, Ts=1e-2, model="plant", measures="x", **given)
    with pytest.raises(bs.DiagramError, match=r"block 'ekf': model: the equations of .*Clocked.* depend on the time"):
        bs.simulate(diagram, stop=0.1, solver="rk4", step=1e-2)


def test_a_plant_without_a_state_called_qd_is_compiled():
    text = """
format: 1
simulate: {stop: 0.5, solver: rk4, step: 1e-3}
blocks:
  push:  {type: Sine, amplitude: 2, frequency: 1}
  robot: {type: TwoMassRobot, in: push}
  speed: {type: TorqueSensor, Ts: 2e-3, std: 0.05, in: robot.w_m}
  ekf:   {type: EKF, Ts: 2e-3, model: robot, measures: w_m, Q: 1e-6, in: {y: speed, u: push}}
"""
    plain, compiled = (bs.simulate(text, engine=engine) for engine in ("python", "compiled"))
    np.testing.assert_array_equal(plain["ekf.x_hat"], compiled["ekf.x_hat"])
