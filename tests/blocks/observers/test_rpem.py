"""Recursive prediction error methods: against least squares, finite differences and numpy's own recursion."""

import numpy as np
import pytest

import blocksim as bs
from blocks.observers.rpem import RPEM, contained, regularised
from blocksim.errors import DiagramError


class CubicLag(bs.Block):
    """x' = -a x + b1 u + b3 u^3: the output is linear in b1 and b3."""

    a: float = bs.param(2.0, "rate", "1/s")
    b1: float = bs.param(3.0, "gain")
    b3: float = bs.param(-0.5, "cubic gain")
    u = bs.inport("input")
    x: float = bs.state(0.0, "output", port=True)

    @staticmethod
    def derivative(x, u, a, b1, b3):
        return -a * x + b1 * u + b3 * u**3


class GaugedLag(CubicLag):
    """The same behind a gauge s = c x + x^2 / 10: an output that is no state and has a parameter of its own."""

    c: float = bs.param(0.5, "gain of the gauge")
    s = bs.outport("what the gauge shows")

    @staticmethod
    def output_s(x, c):
        return c * x + x * x / 10.0


TS, SIGMA = 0.02, 0.05


@pytest.fixture(autouse=True, scope="module")
def lag():
    bs.register(CubicLag)
    bs.register(GaugedLag)


def lagged(settings, stop=10, engine="python", **params):
    text = f"""
format: 1
simulate: {{stop: {stop}, solver: rk4, step: {TS}, seed: 4}}
blocks:
  wave: {{type: Multisine, f_min: 0.1, f_max: 5.0, lines: 20, amplitude: 2.0, phases: schroeder}}
  u:    {{type: ZeroOrderHold, Ts: {TS}, in: wave}}
  lag:  {{type: CubicLag, in: u}}
  y:    {{type: TorqueSensor, std: {SIGMA}, Ts: {TS}, in: lag.x}}
  rpem: {{type: RPEM, Ts: {TS}, model: lag, measures: x, estimate: [b1, b3], {settings} in: {{y: y, u: u}}}}
"""
    return bs.simulate(text, engine=engine, params=params or None)


def rows(record):
    """What b1 and b3 alone would give, from the exact solution for a held input."""
    u = record["u.y"]
    decay, psi = np.exp(-2.0 * TS), np.zeros((len(u), 2))
    for k in range(len(u) - 1):
        psi[k + 1] = decay * psi[k] + (1 - decay) / 2.0 * np.array([u[k], u[k] ** 3])
    return psi


def test_it_is_least_squares_where_the_model_is_linear():
    """At every sample, the first guess being rows of its own."""
    record = lagged("factor: 0.5, P0: [4, 9], substeps: 4,")
    psi, y, start, spread = rows(record), record["y.tau_hat"], np.array([1.5, -0.25]), np.array([3.0, 0.75])
    for k in (1, 2, 10, 100, 400, len(y)):
        A, b = np.vstack((psi[:k] / SIGMA, np.diag(1 / spread))), np.concatenate((y[:k] / SIGMA, start / spread))
        assert record["rpem.theta"][k - 1] == pytest.approx(np.linalg.lstsq(A, b, rcond=None)[0], rel=1e-8)
        wanted = np.sqrt(np.diag(np.linalg.inv(A.T @ A)))
        assert record["rpem.std"][k - 1] == pytest.approx(wanted, rel=1e-8)
    assert record["rpem.psi"] == pytest.approx(psi, abs=1e-8)


def test_a_state_that_does_not_follow_keeps_old_errors():
    """The thesis' recursion is not least squares: the state still holds what the first guess made of it."""
    moved, kept = (lagged(f"factor: 0.5, follow: {follow},", stop=4) for follow in ("true", "false"))
    error, std = kept["rpem.theta"][29] - moved["rpem.theta"][29], moved["rpem.std"][29]
    assert (np.abs(error) > 5 * std).all()
    assert (np.abs(moved["rpem.theta"][29] - [3.0, -0.5]) < 3 * std).all()


def test_a_static_relation():
    """With a fast lag the plant is y = (b1 u + b3 u^3) / a of one sample before: ordinary regression."""
    record = lagged("factor: 0.5, P0: 1e6, parameters: {a: 60}, substeps: 4,", **{"lag.a": 60.0})
    u, y = record["u.y"], record["y.tau_hat"]
    decay, W = np.exp(-60 * TS), np.zeros((len(u), 2))
    for k in range(len(u) - 1):
        W[k + 1] = decay * W[k] + (1 - decay) / 60 * np.array([u[k], u[k] ** 3])
    assert record["rpem.theta"][-1] == pytest.approx(np.linalg.lstsq(W, y, rcond=None)[0], rel=1e-3)


ROBOT = """
format: 1
simulate: {stop: 0.4, solver: rk4, step: 1e-3, every: 2e-3, seed: 1}
blocks:
  wave:  {type: Multisine, f_min: 2.5, f_max: 25, lines: 10, amplitude: 30, phases: schroeder}
  u:     {type: ZeroOrderHold, Ts: 2e-3, in: wave}
  robot: {type: TwoMassRobot, alpha: 1e3, A: 1e7, in: u}
  y:     {type: TorqueSensor, std: 0.1, Ts: 2e-3, in: robot.w_m}
  rpem:  {type: RPEM, Ts: 2e-3, model: robot, measures: w_m, estimate: [Jm, Fc, k1, k3, alpha, A], start: truth, P0: 1e-30,
          substeps: 2, in: {y: y, u: u}}
log: [robot.w_m, rpem.psi, rpem.y_hat, rpem.theta]
"""


def test_sensitivities_are_finite_differences():
    """psi of six parameters of the robot with hysteresis, along a run at its own values."""
    record = bs.simulate(ROBOT, engine="python")
    assert record["rpem.y_hat"] == pytest.approx(record["robot.w_m"], abs=1e-9)
    values = {"Jm": 1.21e-2, "Fc": 6.44e-1, "k1": 1.46e6, "k3": 3.72e10, "alpha": 1e3, "A": 1e7}
    plant = ROBOT[: ROBOT.index("  rpem:")] + "log: [robot.w_m]\n"
    moves = [{f"robot.{n}": v * (1 + s)} for n, v in values.items() for s in (1e-5, -1e-5)]
    runs = bs.simulate_many(plant, params=moves, collect=lambda r: r["robot.w_m"])
    for k, (name, value) in enumerate(values.items()):
        wanted = (runs[2 * k] - runs[2 * k + 1]) / (2e-5 * value)
        assert record["rpem.psi"][:, k] == pytest.approx(wanted, abs=2e-5 * np.abs(wanted).max()), name


PLANTS = {
    "GravityJoint": ("theta0: 0.3", [0.4], "q", {"J": 1.9e-4, "Fv": 2e-4, "Fc": 0.02, "Ms": 0.0133, "N": 15.0, "theta0": 0.3}),
    "ElectroMechanicalPositioner": ("", [3.0], "[q, qd]", {"M": 95.1089, "Fv": 203.5034, "Fc": 20.3935, "offset": -3.1648}),
    "ScaraRobot": ("LMY2: 0.02", [8.0, 1.0], "q", {"ZZR1": 3.42, "Fs1": 0.58, "ZZ2": 0.064, "LMX2": 0.131, "LMY2": 0.02}),
    "ThreeMassRobot": ("", [20.0], "[w_m, w_a]", {"Jm": None, "Fv": None, "Fc": None, "k1": None}),
    "GaugedLag": ("", [2.0], "[s, x]", {"a": 2.0, "b1": 3.0, "b3": -0.5, "c": 0.5}),
}


@pytest.mark.parametrize("kind", PLANTS)
def test_sensitivities_of_every_plant_are_finite_differences(kind):
    """psi along a run at the plant's own values; of several readings, and of outputs that are no states."""
    settings, amplitudes, measures, values = PLANTS[kind]
    values = {n: bs.library()[kind]().settings[n] if v is None else v for n, v in values.items()}
    waves = "".join(
        f"  wave{k}: {{type: Sine, amplitude: {a}, frequency: {2.5 + k}, phase: 0.3}}\n" for k, a in enumerate(amplitudes)
    )
    ports = measures.strip("[]").split(", ")
    plant = f"""
format: 1
simulate: {{stop: 0.6, solver: rk4, step: 1e-3, every: 2e-3}}
blocks:
{waves}  both:  {{type: Mux, in: [{", ".join(f"wave{k}" for k in range(len(amplitudes)))}]}}
  u:     {{type: ZeroOrderHold, Ts: 2e-3, in: both}}
  plant: {{type: {kind}, {settings + "," if settings else ""} in: u}}
  y:     {{type: Mux, in: [{", ".join(f"plant.{p}" for p in ports)}]}}
"""
    method = f"""
  rpem:  {{type: RPEM, Ts: 2e-3, model: plant, measures: {measures}, estimate: [{", ".join(values)}], start: truth, P0: 0, R2: 1,
          substeps: 2, in: {{y: y, u: u}}}}
"""
    record = bs.simulate(plant + method, engine="python")
    seen = np.reshape(record["y"], (len(record.t), -1))
    assert np.reshape(record["rpem.y_hat"], seen.shape) == pytest.approx(seen, abs=1e-9 * np.abs(seen).max())
    moves = [{f"plant.{n}": v * (1 + s)} for n, v in values.items() for s in (1e-6, -1e-6)]
    runs = bs.simulate_many(plant + "log: [y]\n", params=moves, collect=lambda r: np.reshape(r["y"], seen.shape))
    psi = record["rpem.psi"].reshape(*seen.shape, len(values))
    for k, (name, value) in enumerate(values.items()):
        wanted = (runs[2 * k] - runs[2 * k + 1]) / (2e-6 * value)
        for found, column in zip(psi[:, :, k].T, wanted.T, strict=True):
            assert found == pytest.approx(column, abs=1e-5 * np.abs(wanted).max()), name


def test_an_output_that_is_no_state_finds_the_parameters_behind_it():
    """The gauge's own gain and the lag's, from half their values and both readings: all within three standard deviations."""
    text = f"""
format: 1
simulate: {{stop: 20, solver: rk4, step: {TS}, seed: 4}}
blocks:
  wave: {{type: Multisine, f_min: 0.1, f_max: 5.0, lines: 20, amplitude: 2.0, phases: schroeder}}
  u:    {{type: ZeroOrderHold, Ts: {TS}, in: wave}}
  lag:  {{type: GaugedLag, in: u}}
  both: {{type: Mux, in: [lag.s, lag.x]}}
  y:    {{type: TorqueSensor, std: {SIGMA}, Ts: {TS}, in: both}}
  rpem: {{type: RPEM, Ts: {TS}, model: lag, measures: [s, x], estimate: [a, b1, c], factor: 0.5, in: {{y: y, u: u}}}}
"""
    found = bs.simulate(text, engine="python").estimates["rpem"]
    assert max(abs(e.relative_error) for e in found.values()) < 0.02
    assert found.nees < 16.3  # 99.9 % of chi-square with three degrees of freedom


def recursion(psi, e, theta, units, lam=None, R1=0.0, R2=1.0, P0=1.0, printed="none"):
    """(3.24)-(3.31) as they stand, on parameters divided by `units`; psi by the parameters themselves."""
    P, found = P0 * np.eye(len(theta)), [theta]
    for row, error in zip(psi, e, strict=True):
        g = row if printed in ("scaling", "both") else row * units
        if lam is not None:
            K = P @ g / (lam + g @ P @ g)
            P = (P - np.outer(P @ g, g @ P) / (lam + g @ P @ g)) / lam
        else:
            old = P
            P = P - np.outer(P @ g, g @ P) / (R2 + g @ P @ g)
            used = P if printed in ("gain", "both") else old
            K = used @ g / (R2 + g @ used @ g)
            P = P + R1 * np.eye(len(theta))
        found.append(found[-1] + units * K * error)
    return np.array(found[1:])


def test_forgetting_is_the_printed_algorithm():
    """(3.24)-(3.27), whose first P is divided by lambda once more."""
    record = lagged("factor: 0.8, algorithm: forgetting, forgetting: 0.98, P0: 2, R2: 1, follow: false,", stop=4)
    psi, e = record["rpem.psi"], record["rpem.error"]
    units = np.array([2.4, 0.4])
    wanted = recursion(psi, e, np.array([2.4, -0.4]), units, lam=0.98, P0=2 * 0.98)
    assert record["rpem.theta"] == pytest.approx(wanted, rel=1e-10)


@pytest.mark.parametrize("printed", ["none", "scaling", "gain", "both"])
def test_the_kalman_form_and_the_mistakes_of_its_print(printed):
    """(3.28)-(3.31), and the appendix: P before K, a gradient by the unscaled parameters."""
    record = lagged(f"factor: 0.8, P0: 2, R1: 1e-4, R2: 0.5, scale: [3, 0.5], follow: false, printed: {printed},", stop=4)
    psi, e = record["rpem.psi"], record["rpem.error"]
    wanted = recursion(psi, e, np.array([2.4, -0.4]), np.array([3, 0.5]), R1=1e-4, R2=0.5, P0=2.0, printed=printed)
    assert record["rpem.theta"] == pytest.approx(wanted, rel=1e-10)


@pytest.mark.parametrize("mu", [1e-6, 0.3, 1e4])
def test_regularisation(mu):
    """(3.18), which is the inverse of (3.17)."""
    rng = np.random.default_rng(1)
    root = rng.standard_normal((4, 4))
    P = root @ root.T
    result = regularised(P, mu, 4)
    wanted = P @ np.linalg.inv(np.eye(4) + mu * P)
    assert result == pytest.approx(wanted, rel=1e-9, abs=1e-12)
    assert np.linalg.inv(result) == pytest.approx(np.linalg.inv(P) + mu * np.eye(4), rel=1e-6, abs=1e-8)


def test_forgetting_that_settles():
    """At the end it is nearly as quiet as none, where one that stays is restless."""
    always, settling, never = (
        lagged(f"factor: 0.3, algorithm: forgetting, forgetting: {f}, settling: {s},", stop=20)
        for f, s in ((0.9, 0), (0.9, 1), (1, 0))
    )
    late = slice(700, None)
    restless, settled, quiet = (record["rpem.theta"][late].std(axis=0) for record in (always, settling, never))
    assert (settled < 2 * quiet).all() and (restless > 3 * settled).all()


def test_both_engines_give_the_same_bits():
    one, other = (lagged("factor: 0.5, mu: 1e-6, R1: 1e-9,", stop=1, engine=e) for e in ("python", "compiled"))
    assert all(np.array_equal(one[s], other[s]) for s in one)


def test_estimates_stay_within_the_limits_of_the_plant():
    text = ROBOT.replace(
        "estimate: [Jm, Fc, k1, k3, alpha, A], start: truth, P0: 1e-30",
        "estimate: [Fv, Fc], start: {Fv: truth, Fc: 0.01}, P0: 1e4",
    )
    record = bs.simulate(text, engine="python")
    assert (record["rpem.theta"] >= 0).all() and (record["rpem.theta"] == 0).any()


@pytest.mark.parametrize("seed", range(6))
def test_one_that_is_stopped_takes_the_others_along(seed):
    """The possible estimates nearest to those found, as P measures distances: against scipy's optimiser."""
    from scipy.optimize import minimize

    draw = np.random.default_rng(seed)
    root, units = draw.standard_normal((3, 3)), 10.0 ** draw.uniform(-2, 2, 3)
    P = root @ root.T
    theta = units * np.array([-0.7, 0.4, 2.0])
    wanted = theta / units
    inverse = np.linalg.inv(P)
    lowest, highest = units * np.array([0.0, -1e9, -1e9]), np.full(3, np.inf)
    nearest = minimize(
        lambda v: (v - wanted) @ inverse @ (v - wanted),
        np.array([1.0, 0.0, 0.0]),
        jac=lambda v: 2 * inverse @ (v - wanted),
        bounds=[(0, None), (None, None), (None, None)],
        tol=1e-14,
    )
    inside = contained(theta, lowest, highest, units, P, 3)
    assert inside / units == pytest.approx(nearest.x, rel=1e-4, abs=1e-4)
    assert np.array_equal(contained(inside, lowest, highest, units, P, 3), inside), "what is possible stays"


def test_last_estimates_know_the_truth_of_every_parameter():
    """alpha is none of the inverse model's parameters, and P is that of scaled ones."""
    text = ROBOT.replace("P0: 1e-30", "P0: 0.01").replace("rpem.theta]", "rpem.theta, rpem.std, rpem.P]")
    record = bs.simulate(text, engine="python")
    found = record.estimates["rpem"]
    assert found["alpha"].truth == 1e3 and found["alpha"].unit == "1/rad"
    assert found.covariance.shape == (6, 6) and found.std_vector() == pytest.approx(record["rpem.std"][-1])
    assert found.nees < 25


@pytest.mark.parametrize(
    ("settings", "words"),
    [
        ("start: {b1: 0}, factor: 0.5,", "scale: 'b1' starts at 0, which says nothing of its size"),
        ("factor: 0.5, scale: [1, 2, 3],", "scale: found 3 numbers"),
        ("substeps: 0,", "substeps: must be at least 1"),
        ("substeps: 2147483648,", "substeps: at most 200 steps"),
        ("printed: all,", "printed"),
        ("forgetting: 1.5,", "forgetting"),
    ],
)
def test_what_is_refused(settings, words):
    with pytest.raises(DiagramError, match=words):
        lagged(settings, stop=0.1)


@pytest.mark.parametrize(
    ("port", "why"),
    [
        ("tau_s", r"TwoMassRobot depends on its memory 'side', which an observer does not have\. What can be: phi_m, w_m"),
        ("speed", r"there is no such outport\. What can be: phi_m, w_m"),
    ],
)
def test_what_cannot_be_measured_is_refused(port, why):
    text = RPEM.example.replace("measures: w_m", f"measures: {port}")
    with pytest.raises(DiagramError, match=f"block 'rpem': measures: '{port}' of 'robot' .* cannot be measured: {why}"):
        bs.simulate(text, stop=0.01)
