"""Every identifier against the truth: exact without noise, unbiased and honest with it, biased where theory says so."""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
import pytest
from scipy.stats import norm

import blocksim as bs

# ---- without noise --------------------------------------------------------------------------------------------------------

FOURIER = "{type: FourierTrajectory, base_frequency: 0.5, a: [%s], b: [%s]}"
#: Reference, controller, plant, its drive, the parameters that output error looks for.
LOOPS = {
    "GravityJoint": (
        FOURIER % ("0.8, 0, 0, 0.3, -0.4", "-0.4, 0.3, 0, 0.2, -0.1"),
        "{type: PID, Ts: 2e-3, kp: 20, ki: 10, kd: 0.6, Tf: 4e-3, in: error}",
        "{type: GravityJoint, J: 0.02, Fv: 0.05, Fc: 0.1, Ms: 0.0306, N: 1, beta: 20, in: pid}",
        "tau",
        "plant.J, plant.Fv, plant.Fc, plant.Ms",
    ),
    "ElectroMechanicalPositioner": (
        FOURIER % ("0.08, 0, 0, 0.03, -0.04", "-0.04, 0.03, 0, 0.02, -0.01"),
        "{type: PID, Ts: 2e-3, kp: 3900, kd: 200, Tf: 4e-3, in: error}",
        "{type: ElectroMechanicalPositioner, M: 95, Fv: 203, Fc: 20.4, offset: -3.2, beta: 200, in: pid}",
        "v",
        "plant.M, plant.Fv, plant.Fc, plant.offset",
    ),
    "ScaraRobot": (
        "{type: PolynomialTrajectory, times: [0, 0.8, 1.6, 2.4, 3.2, 4], "
        "points: [[0, 0.6, -0.4, 0.8, -0.5, 0], [0, -0.8, 0.6, 1.2, -0.3, 0]]}",
        "{type: PD, Ts: 2e-3, kp: [8500, 250], kd: [300, 8], Tf: 4e-3, in: error}",
        "{type: ScaraRobot, beta: 5, in: pid}",
        "tau",
        "plant.ZZR1, plant.ZZ2, plant.LMX2, plant.Fv2",
    ),
}
METHODS = ("ols", "wls", "irls", "total", "iv", "didim", "oe", "cloe")


def noise_free(name: str) -> str:
    """The loop around a plant with ideal sensors, and every identifier that takes a record."""
    reference, controller, plant, drive, sought = LOOPS[name]
    motion = f"in: {{{drive}: pid, q: plant.q, qd: plant.qd, qdd: plant.qdd}}"
    squares = "".join(f"  {m}: {{type: LeastSquares, model: plant, method: {m}, {motion}}}\n" for m in METHODS[:4])
    return f"""
format: 1
simulate: {{stop: {4.0 if name == "ScaraRobot" else 1.2}, solver: rk4, step: 2e-3, seed: 1}}
blocks:
  ref:   {reference}
  error: {{type: Sum, signs: "+-", in: [ref.q, plant.q]}}
  pid:   {controller}
  plant: {plant}
{squares}
  iv:    {{type: InstrumentalVariable, model: plant, start: 0.8, tol: 1e-10, {motion}}}
  didim: {{type: DIDIM, model: plant, start: 0.8, tol: 1e-10, in: pid}}
  oe:    {{type: OutputError, model: plant, parameters: [{sought}], start: 0.8, tol: 1e-12, output: plant.q,
          in: {{u: pid, y: plant.q}}}}
  cloe:  {{type: CLOE, parameters: [{sought}], start: 0.8, tol: 1e-12, output: [plant.q, pid.u], in: [plant.q, pid.u]}}
"""


@pytest.fixture(scope="module")
def exact():
    """The estimates of every identifier in the loop of each plant."""
    return {name: bs.simulate(noise_free(name)).estimates for name in LOOPS}


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("plant", LOOPS)
def test_without_noise_the_truth_comes_out(exact, plant, method):
    """To rounding where a method solves, to its tolerance where it iterates."""
    found = exact[plant][method]
    within = 1e-8 if method in ("didim", "oe", "cloe") else 1e-9
    np.testing.assert_allclose(found.vector(), found.truth_vector(), rtol=within, atol=1e-12)
    assert all(w.startswith("leak of truth") for w in found.warnings), found.warnings


TWO_MASSES = """
format: 1
simulate: {stop: 4, solver: rk4, step: 2e-3, seed: 1}
blocks:
  wave:   {type: Multisine, f_min: 0.5, f_max: 20, lines: 24, amplitude: 10, phases: schroeder}
  u:      {type: ZeroOrderHold, Ts: 2e-3, in: wave}
  robot:  {type: TwoMassRobot, in: u}
  oe:     {type: OutputError, model: robot, parameters: [robot.Jm, robot.k1, robot.d], start: 0.8, tol: 1e-12, output: robot.w_m,
           in: {u: u, y: robot.w_m}}
  hybrid: {type: RPEMHybrid, model: robot, signal: w_m, start: {Jm: 0.01, k1: 1.2e6, d: 2.2e3}, in: [u, robot.w_m]}
  rpem:   {type: RPEM, Ts: 2e-3, model: robot, measures: w_m, estimate: [Jm, d], start: {Jm: 0.011, d: 2400}, R2: 1e-4, P0: 0.1,
           in: {y: robot.w_m, u: u}}
"""
RECURSIVE = """
format: 1
simulate: {stop: 8, solver: rk4, step: 1e-3, seed: 1}
blocks:
  wave:  {type: Multisine, f_min: 0.25, f_max: 5, lines: 10, amplitude: 0.5, phases: schroeder}
  u:     {type: ZeroOrderHold, Ts: 1e-3, in: wave}
  joint: {type: GravityJoint, J: 0.02, Fv: 0.05, Fc: 0.1, Ms: 0.03, N: 1, beta: 5, in: u}
  ekf:   {type: JointEKF, Ts: 1e-3, model: joint, measures: q, discretisation: rk4, factor: 0.9, R: 1e-8, Q: 0, P0: 1e-12,
          P0_parameters: [1e-5, 1e-4, 1e-4, 1e-5], in: {y: joint.q, u: u}}
"""


@pytest.fixture(scope="module")
def two_masses():
    return bs.simulate(TWO_MASSES).estimates


@pytest.mark.parametrize(("method", "within"), [("oe", 1e-7), ("hybrid", 1e-5), ("rpem", 2e-3)])
def test_without_noise_two_masses_come_out(two_masses, method, within):
    """A recursion sees every sample once, from a start 10 % off, so that it converges and is not exact."""
    found = two_masses[method]
    np.testing.assert_allclose(found.vector(), found.truth_vector(), rtol=within)


def test_without_noise_a_filter_with_parameters_converges():
    found = bs.simulate(RECURSIVE).estimates["ekf"]
    np.testing.assert_allclose(found.vector(), found.truth_vector(), rtol=2e-3)


# ---- by hand --------------------------------------------------------------------------------------------------------------


def test_a_hand_written_identification_of_the_same_loop_gives_the_same_numbers():
    """The loop and its twin in C, least squares and DIDIM in numpy and scipy, written for the benchmark without the library."""
    sys.path.insert(0, str(Path(__file__).parents[2] / "benchmarks"))
    import native
    import study

    if native.compiler() is None:
        pytest.skip("no C compiler (cc)")
    record = bs.simulate(study.LOOP)
    units = np.array([1, 1, 1, 0.1])  # by hand the fourth is Ms g, and g is 10
    values, std = study.least_squares(record["torque"], record["encoder"], coloured=False)
    np.testing.assert_allclose(record.estimates["ls"].vector(), values * units, rtol=1e-9)
    np.testing.assert_allclose(record.estimates["ls"].details["std_white"], std * units, rtol=1e-6)
    values, _, loops = study.didim(record["torque"], coloured=False)
    np.testing.assert_allclose(record.estimates["didim"].vector(), values * units, rtol=1e-9)
    assert record.estimates["didim"].details["simulations"] == loops


# ---- with noise -----------------------------------------------------------------------------------------------------------

RUNS = 200
NAMES = ("J", "Fv", "Ms")
TRUTH = np.array([0.02, 0.05, 0.03])
JOINT = "{type: GravityJoint, J: 0.02, Fv: 0.05, Fc: 0, Ms: 0.03, N: 1, beta: 1, in: u}"
#: One motion, read with white noise by sensors outside the loop. Torque is read with 0.02 N m, position with 2 mrad.
NOISY = f"""
format: 1
simulate: {{stop: 2.0, solver: rk4, step: 5e-3, every: 1e-2, seed: 1}}
blocks:
  ref:   {{type: FourierTrajectory, base_frequency: 0.5, a: [0.8, 0, 0, 0.3, -0.4], b: [-0.4, 0.3, 0, 0.2, -0.1]}}
  error: {{type: Sum, signs: "+-", in: [ref.q, joint.q]}}
  u:     {{type: PD, Ts: 1e-2, kp: 3, kd: 0.2, Tf: 2e-2, in: error}}
  joint: {JOINT}
  tau:   {{type: TorqueSensor, Ts: 1e-2, std: 0.02, in: u}}
  y:     {{type: TorqueSensor, Ts: 1e-2, std: 2e-3, in: joint.q}}
"""
MOTION = "in: {tau: tau, q: joint.q, qd: joint.qd, qdd: joint.qdd}"
SOUGHT = "parameters: [joint.J, joint.Fv, joint.Ms], start: 0.9, tol: 1e-7, output: joint.q"
IDENTIFIERS = f"""
  wls:    {{type: LeastSquares, model: joint, parameters: [J, Fv, Ms], known: {{Fc: 0}}, {MOTION}}}
  irls:   {{type: LeastSquares, model: joint, method: irls, parameters: [J, Fv, Ms], known: {{Fc: 0}}, {MOTION}}}
  oe:     {{type: OutputError, model: joint, {SOUGHT}, in: {{u: u, y: y}}}}
  cloe:   {{type: CLOE, {SOUGHT}, in: y}}
  hybrid: {{type: RPEMHybrid, model: joint, signal: q, start: {{J: 0.018, Fv: 0.045, Ms: 0.027}}, known: {{Fc: 0}}, in: [u, y]}}
"""
#: These estimate all four parameters, so that the joint has dry friction for them, and DIDIM wants a stiff loop.
STIFF = (
    NOISY.replace("Fc: 0,", "Fc: 0.1,")
    .replace("beta: 1", "beta: 10")
    .replace("step: 5e-3", "step: 2e-3")
    .replace("{type: PD, Ts: 1e-2, kp: 3, kd: 0.2, Tf: 2e-2,", "{type: PID, Ts: 2e-3, kp: 100, ki: 100, kd: 2, Tf: 4e-3,")
)
FOUR = f"""{STIFF}
  iv:     {{type: InstrumentalVariable, model: joint, tol: 1e-4, {MOTION}}}
  didim:  {{type: DIDIM, model: joint, start: 0.9, in: tau}}
"""


def signal_at(diagram, name, values):
    return bs.simulate(diagram, params={f"joint.{n}": float(v) for n, v in values.items()})[name]


def slopes(text: str, name: str, truth: dict[str, float]) -> np.ndarray:
    """d signal / d parameters by central differences of plain simulations."""
    diagram = bs.open_diagram(text)
    columns = []
    for n, v in truth.items():
        up, down = (signal_at(diagram, name, {**truth, n: v * (1 + h)}) for h in (1e-5, -1e-5))
        columns.append((up - down) / (2e-5 * v))
    return np.stack(columns, axis=1)


def driven_alone(text: str) -> str:
    """The joint driven by the recorded torque of the loop, as a table."""
    u = bs.simulate(bs.open_diagram(text))["u"]
    lines = [line for line in text.splitlines() if line.split(":")[0].strip() not in ("ref", "error", "u")]
    steps = ", ".join(f"{k * 1e-2:.2f}" for k in range(len(u)))
    held = f"  w: {{type: LookupTable, points: [{steps}], values: [{', '.join(map(repr, u.tolist()))}], in: clock}}"
    clock = "  clock: {type: Ramp, slope: 1}\n  u: {type: ZeroOrderHold, Ts: 1e-2, in: w}"
    return "\n".join([*lines, held, clock, ""])


def bound(G: np.ndarray, sigma: float) -> np.ndarray:
    """Of Cramér and Rao for white noise."""
    return sigma * np.sqrt(np.diag(np.linalg.inv(G.T @ G)))


def projected(W: np.ndarray, G: np.ndarray, sigma: float) -> np.ndarray:
    """What DIDIM can attain: it solves W'(tau - W b) = 0 with W for the slopes G, so that its error is (W'G)^-1 W'e."""
    K = np.linalg.solve(W.T @ G, W.T)
    return sigma * np.sqrt(np.diag(K @ K.T))


@pytest.fixture(scope="module")
def table():
    """By method: names, truth, estimates and standard deviations of every run, the bound."""
    three, four = dict(zip(NAMES, TRUTH, strict=True)), {"J": 0.02, "Fv": 0.05, "Fc": 0.1, "Ms": 0.03}
    rows = {}
    clean = [bs.simulate(text) for text in (NOISY, STIFF)]
    W3, W4 = (
        np.stack([r["joint.qdd"], r["joint.qd"], np.tanh(10 * r["joint.qd"]), 9.81 * np.cos(r["joint.q"])], axis=1) for r in clean
    )
    bounds = {
        "wls": bound(W3[:, [0, 1, 3]], 0.02),
        "irls": bound(W3[:, [0, 1, 3]], 0.02),
        "oe": bound(slopes(driven_alone(NOISY), "joint.q", three), 2e-3),
        "cloe": bound(slopes(NOISY, "joint.q", three), 2e-3),
        "iv": bound(W4, 0.02),
        "didim": projected(W4, slopes(STIFF, "u", four), 0.02),
    }
    bounds["hybrid"] = bounds["oe"]
    for text, truth, methods in (
        (NOISY + IDENTIFIERS, three, ("wls", "irls", "oe", "cloe", "hybrid")),
        (FOUR, four, ("iv", "didim")),
    ):
        runs = bs.simulate_many(text, seeds=range(RUNS), collect=lambda record: record.estimates)
        for method in methods:
            names = [f"joint.{n}" if method in ("oe", "cloe") else n for n in truth]
            values, std = (np.array([getattr(r[method], what)(names) for r in runs]) for what in ("vector", "std_vector"))
            true = np.array(list(truth.values()))
            ends = np.array([[r[method][n].interval for n in names] for r in runs])
            inside = (ends[:, :, 0] < true) & (true < ends[:, :, 1])
            rows[method] = tuple(truth), true, values, std, inside, bounds[method]
    return rows


def told(table) -> str:
    """The table as people read it."""
    lines = [f"{'':8}{'':4}{'bias/se':>9}{'std/bound':>11}{'said/bound':>12}{'coverage':>10}"]
    for method, (names, truth, values, std, inside, low) in table.items():
        off = (values.mean(axis=0) - truth) / (values.std(axis=0, ddof=1) / np.sqrt(len(values)))
        cells = zip(names, off, values.std(axis=0, ddof=1) / low, std.mean(axis=0) / low, inside.mean(axis=0), strict=True)
        lines += [f"{method:8}{n:4}{a:9.2f}{b:11.3f}{c:12.3f}{100 * d:9.1f} %" for n, a, b, c, d in cells]
    return "\n".join(lines)


CONSISTENT = ("wls", "irls", "iv", "didim", "oe", "cloe", "hybrid")


@pytest.mark.parametrize("method", CONSISTENT)
def test_with_white_noise_it_is_unbiased_efficient_and_honest(table, method):
    """Bias within two standard errors, widened for as many looks as the table has cells; 5 % of intervals miss."""
    _, truth, values, _, inside, low = table[method]
    off = (values.mean(axis=0) - truth) / (values.std(axis=0, ddof=1) / np.sqrt(RUNS))
    looks = sum(len(row[0]) for row in table.values())
    widest = norm.ppf(1 - 0.0455 / 2 / looks)  # 4.55 % is what lies beyond two standard errors
    assert np.abs(off).max() < widest, told(table)
    ratio = values.std(axis=0, ddof=1) / low
    assert 0.9 < np.sqrt(np.mean(ratio**2)) < 1.15, told(table)
    assert np.all(np.abs(ratio - 1) < 4 / np.sqrt(2 * RUNS)), told(table)  # that of a sampled standard deviation
    assert 0.92 < inside.mean() < 0.98, told(table)


# ---- where theory says biased ---------------------------------------------------------------------------------------------

#: Position noise e goes round the loop; speed and acceleration are raw differences of what is read.
RAW = """
format: 1
simulate: {stop: 4.0, solver: rk4, step: 2e-3, seed: 1}
parameters: {std: 0.0}
blocks:
  ref:   {type: FourierTrajectory, base_frequency: 0.25, a: [0.8, 0, 0, 0.3, -0.4], b: [-0.4, 0.3, 0, 0.2, -0.1]}
  error: {type: Sum, signs: "+-", in: [ref.q, FED]}
  pid:   {type: PID, Ts: 2e-3, kp: 40, kd: 1, in: error}
  joint: {type: GravityJoint, J: 0.02, Fv: 0.05, Fc: 0, Ms: 0, N: 1, in: pid}
  y:     {type: TorqueSensor, Ts: 2e-3, std: "${std}", in: joint.q}
  qd:    {type: CentralDifference, in: y}
  qdd:   {type: CentralDifference, order: 2, in: y}
  ls:    {type: LeastSquares, model: joint, method: ols, known: {Fc: 0, Ms: 0}, skip: 0.01,
          in: {tau: pid, q: y, qd: qd, qdd: qdd}}
log: [pid, qd, qdd]
"""
STD, TS, KP, KD, J = 2e-5, 2e-3, 40.0, 1.0, 0.02


def raw(fed: str, runs: int = 200) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Mean of J and Fv over seeds, its standard error, and the limit that errors in variables have.

    Differences of q + e err by d2 = (e[k+1] - 2 e[k] + e[k-1]) / Ts^2 and d1 = (e[k+1] - e[k-1]) / (2 Ts), of variances
    6 s^2 / Ts^4 and s^2 / (2 Ts^2), uncorrelated. In the loop the torque errs by v[k] = -(kp + kd / Ts) e[k] + kd / Ts e[k-1] and
    moves the joint, whose second difference is then off by (v[k] + v[k-1]) / (2 J). Least squares goes to (M + S)^-1 (m + c),
    M = W'W / n and m = W'tau / n without noise, S and c what the noise adds to them.
    """
    text = RAW.replace("FED", fed)
    clean = bs.simulate(text)
    W = np.stack([clean["qdd"], clean["qd"]], axis=1)[5:-5]
    M, m = W.T @ W / len(W), W.T @ clean["pid"][5:-5] / len(W)
    S, c, a, b = np.diag([6 / TS**4, 1 / (2 * TS**2)]), np.zeros(2), KP + KD / TS, KD / TS
    if fed == "y":
        together = (a**2 + b**2 - a * b) / 2  # E v[k] (v[k] + v[k-1]) / 2, which is also E (v[k] + v[k-1])^2 / 4
        S[0, 0] += (a + b) / (J * TS**2) + together / J**2  # 2 E d2 (v[k] + v[k-1]) / (2 J), and its own square
        c = np.array([(2 * a + b) / TS**2 + together / J, -b / (2 * TS)])
    names, many = ["J", "Fv"], {"params": [{"std": STD}], "seeds": range(runs)}
    found = bs.simulate_many(text, **many, collect=lambda record: record.estimates["ls"].vector(names))
    limit = np.linalg.solve(M + STD**2 * S, m + STD**2 * c)
    return np.mean(found, axis=0), np.std(found, axis=0, ddof=1) / np.sqrt(runs), limit


@pytest.fixture(scope="module")
def raws():
    return {fed: raw(fed) for fed in ("y", "joint.q")}


@pytest.mark.parametrize("fed", ["y", "joint.q"], ids=["closed", "cut"])
def test_raw_derivatives_bias_least_squares_as_errors_in_variables_do(raws, fed):
    """Noise in the acceleration draws J down; its size is that of the closed form."""
    mean, error, limit = raws[fed]
    assert (mean[0] - J) / error[0] < -50, "the bias should be plain to see"
    assert np.all(np.abs(mean - limit) < 0.002 * np.array([J, 0.05]) + 4 * error), (mean, limit, error)


def test_with_the_feedback_cut_the_bias_is_another(raws):
    """In the loop torque and noise are correlated: J is drawn to (2 kp + 3 kd / Ts) Ts^2 / 6, the controller, and not to 0."""
    (closed, error, limit), (cut, _, alone) = raws["y"], raws["joint.q"]
    difference = closed[0] - cut[0]
    assert abs(difference) > 8 * error[0]
    assert abs(difference - (limit[0] - alone[0])) < 6 * error[0] + 0.1 * abs(difference)
