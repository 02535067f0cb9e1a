"""The joint EKF: its arithmetic against exact fractions, its two forms against each other, and what it refuses."""

from fractions import Fraction

import numpy as np
import pytest

import blocksim as bs
from blocks.observers.joint_ekf import JointEKF, factor_output, factor_update
from blocksim.errors import DiagramError

EXACT = np.vectorize(lambda v: Fraction(float(v)), otypes=[object])


def unpacked(packed, N):
    """U and D of factors as the filter packs them."""
    square = np.asarray(packed).reshape(N, N)
    return np.triu(square, 1) + np.eye(N, dtype=int), np.diag(np.diag(square))


def factorised(P):
    """The factors of an exact P, packed as the filter packs them."""
    N, P = len(P), P.copy()
    packed = np.full((N, N), Fraction(0), dtype=object)
    for j in reversed(range(N)):
        packed[j, j] = P[j, j]
        for i in range(j):
            packed[i, j] = P[i, j] / P[j, j] if P[j, j] else Fraction(0)
        P[:j, :j] -= np.outer(packed[:j, j], packed[:j, j]) * packed[j, j]
    return packed


def updated(form, z, carried, y, variances, H):
    """The library's own measurement update with readings H z: the mean, P, and what it carries on."""
    N, m = len(z), len(H)
    update = factor_output if form == "udu" else JointEKF.functions["output"]
    results = update(y, z, carried.ravel(), z, lambda x, u, p: (*(H @ x), *H.ravel()), variances, N, 0, N, m)
    return np.array(results[0]), np.array(results[2]), np.array(results[-1] if form == "udu" else results[2])


def textbook(H, y, R, P0):
    """K = P h / (R + h^T P h), P = (I - K h^T) P as printed everywhere, reading by reading; exact where H and y are fractions."""
    N, one = len(H[0]), Fraction(1) if H.dtype == object else 1.0
    mean, P = 0 * H[0], P0 * one * np.eye(N, dtype=int)
    for h, value in zip(H, y, strict=True):
        K = P @ h / (h @ P @ h + R)
        mean, P = mean + K * (value - h @ mean), (np.eye(N, dtype=int) - np.outer(K, h)) @ P
    return mean, P


def filtered(form, H, y, R, P0):
    """The same by the library's own update: the mean, P, what it carries."""
    z, P, carried = np.zeros(len(H[0])), None, P0 * np.eye(len(H[0]))
    for h, value in zip(H, y, strict=True):
        z, P, carried = updated(form, z, carried, np.array([value]), np.array([R]), h[None])
    return z, P, carried


@pytest.mark.parametrize(("R", "lost"), [(1e-4, 1e-9), (1e-8, 1e-5)])
def test_bierman_keeps_the_digits_that_the_plain_update_loses(R, lost):
    """x1 and x1 + 1e-5 x2 are read ten times, x being known to 1e5: against exact fractions, which no rounding disturbs."""
    H = np.array([[1.0, 0.0], [1.0, 1e-5]] * 10)
    y = H @ [1.0, 2.0]
    mean, P = textbook(EXACT(H), EXACT(y), Fraction(R), 10**5)
    found = {form: filtered(form, H, y, R, 1e5) for form in ("udu", "plain")}
    means = {form: np.abs(z / mean.astype(float) - 1).max() for form, (z, _, _) in found.items()}
    variances = {form: np.abs(np.diag(C) / np.diag(P).astype(float) - 1).max() for form, (_, C, _) in found.items()}
    assert variances["udu"] < 1e-14 and variances["plain"] > lost
    assert means["udu"] < 1e-11 and means["plain"] > 1e3 * means["udu"]


def test_bierman_on_readings_that_are_nearly_the_same():
    """Eight parameters, twenty readings whose rows differ by 1e-5, P0 = 1e5, R = 1e-4: the worst of eight draws.

    As printed in textbooks the update errs by 1e-2 in the estimates. What the library calls plain keeps P symmetric and errs by
    1e-6; the factors by 1e-10. The variance of a reading yet to come, h^T P h, is 1e-9 of P: as printed it is off by some per
    cent. A P put together from the factors has it to 1e-7 and a little more, as doubles can; the factors themselves to 1e-11.
    """
    errors = []
    for seed in range(8):
        draw = np.random.default_rng(seed)
        H = draw.standard_normal(8) + 1e-5 * draw.standard_normal((20, 8))
        y = H @ np.arange(1.0, 9.0)
        mean, P = textbook(EXACT(H), EXACT(y), Fraction(1e-4), 10**5)
        h, row = H[0], EXACT(H[0])
        coming = float(row @ P @ row)
        found = {"printed": textbook(H, y, 1e-4, 1e5), **{form: filtered(form, H, y, 1e-4, 1e5) for form in ("plain", "udu")}}
        U, D = unpacked(EXACT(found["udu"][2]), 8)
        errors.append(
            [np.abs(one[0] - mean.astype(float)).max() for one in found.values()]
            + [abs(h @ one[1] @ h / coming - 1) for one in found.values()]
            + [abs(float(row @ U @ D @ U.T @ row) / coming - 1)]
        )
    printed, plain, udu, printed_ahead, plain_ahead, udu_ahead, factors_ahead = np.max(errors, axis=0)
    assert printed > 5e-3 and plain < 1e-4 and udu < 1e-9
    assert printed_ahead > 1e-2 and max(plain_ahead, udu_ahead) < 1e-4 and factors_ahead < 1e-9


def test_the_covariance_cannot_lose_its_sign():
    """Readings of one state with next to no noise, and a first P that knows nothing."""
    N = 3
    factors = np.diag([1e8] * N) + np.triu(np.random.default_rng(2).standard_normal((N, N)), 1)
    z = np.zeros(N)
    for _ in range(30):
        z, _, factors = updated("udu", z, factors, np.array([1.0]), np.array([1e-12]), np.array([[0.0, 1.0, 0.0]]))
        assert (np.diag(factors) >= 0).all()
    assert z[1] == pytest.approx(1.0)


@pytest.mark.parametrize("seed", range(5))
def test_thorntons_prediction_is_the_plain_one(seed):
    """U' D' U'^T = F U D U^T F^T + Q in exact fractions; some Q and D are zero."""
    rng = np.random.default_rng(seed)
    n, d = 3, 2
    N = n + d
    D = 10.0 ** rng.uniform(-6, 6, N)
    D[seed % N] = 0.0
    factors = np.triu(rng.standard_normal((N, N)), 1) + np.diag(D)
    slopes = rng.standard_normal((n, N)) / 1e-3

    def rates(x, u, p):
        return (*np.zeros(n), *slopes[:, :n].ravel(), *slopes[:, n:].ravel())

    drift = np.concatenate((10.0 ** rng.uniform(-6, 2, n), np.zeros(d)))
    x, theta, memories = np.zeros(n), np.zeros(d), (np.zeros(N), np.zeros(N * N), np.zeros(d))
    P_next = factor_update(x, theta, factors.ravel(), x, *memories, rates, theta, drift, 1e-3, n, d, N, (0, 1), 0)["P_next"]
    F = EXACT(np.vstack((np.eye(n, N) + 1e-3 * slopes, np.eye(N)[n:])))
    U, weights = unpacked(EXACT(factors), N)
    wanted = F @ U @ weights @ U.T @ F.T + np.diag(EXACT(drift))
    V, found = unpacked(EXACT(P_next), N)
    scale = np.sqrt(np.abs(np.diag(wanted).astype(float)))
    assert (np.abs((V @ found @ V.T - wanted).astype(float)) <= 1e-12 * np.outer(scale, scale) + 1e-300).all()


LOOP = JointEKF.example


@pytest.mark.parametrize("rule", ["euler", "rk4"])
def test_plain_and_factorised_agree_where_nothing_is_hard(rule):
    text = LOOP.replace("Q: 0", "Q: 1e-8")
    one, other = (
        bs.simulate(text.replace("rk4,\n", f"{rule}, form: {form},\n"), stop=0.3, engine="python") for form in ("udu", "plain")
    )
    for signal in ("ekf.theta", "ekf.x_hat", "ekf.std", "ekf.nis"):
        scale = np.abs(other[signal]).max(axis=0)
        assert (np.abs(one[signal] - other[signal]) <= 1e-9 * scale).all()


@pytest.mark.parametrize("form", ["udu", "plain"])
def test_both_engines_give_the_same_bits(form):
    text = LOOP.replace("Q: 0", f"Q: 0, form: {form}")
    if form == "plain":  # one parameter: less to compile
        text = text.replace("P0_parameters: [1e-9, 1e-8, 1e-4, 1e-5]", "estimate: J").replace("rk4,\n", "euler,\n")
    one, other = (bs.simulate(text, stop=0.1, engine=engine) for engine in ("python", "compiled"))
    assert all(np.array_equal(one[s], other[s]) for s in one)


def test_a_true_model_gives_true_estimates():
    """Noise as believed and a start 10 % off: to 0.05 %, and innovations of the size foretold.

    The standard deviations are some 0.005 %, and what straight lines do to the first samples is twice that.
    """
    runs = bs.simulate_many(
        LOOP.replace("Q: 0", "Q: 0, form: udu"),
        seeds=range(8),
        collect=lambda r: (r.estimates["ekf"], r["ekf.nis"][1000:].mean()),
    )
    errors = np.array([[e.relative_error for e in found.values()] for found, _ in runs])
    z = np.array([[e.z for e in found.values()] for found, _ in runs])
    assert (np.abs(errors) < 5e-4).all() and (np.sqrt((z**2).mean(axis=0)) < 5).all()
    assert np.mean([nis for _, nis in runs]) == pytest.approx(1.0, abs=0.05)


def test_a_parameter_without_variance_stays():
    text = LOOP.replace("P0_parameters: [1e-9, 1e-8, 1e-4, 1e-5]", "P0_parameters: [1e-9, 0, 1e-4, 0]").replace(
        "factor: 0.9", "factor: 0.9, start: {Fv: 1.5e-4, Ms: 0.012}"
    )
    for form in ("udu", "plain"):
        record = bs.simulate(text.replace("Q: 0", f"Q: 1e-8, form: {form}"), stop=0.2, engine="python")
        assert (record["ekf.Fv_hat"] == 1.5e-4).all() and (record["ekf.Ms_hat"] == 0.012).all()
        assert np.ptp(record["ekf.J_hat"]) > 0
        assert record.estimates["ekf"]["Fv"].std == 0


def test_the_last_estimates_are_among_those_of_the_record():
    record = bs.simulate(LOOP, stop=0.2, engine="python")
    found = record.estimates["ekf"]
    assert found.method == "JointEKF" and found.model == "joint" and list(found) == ["J", "Fv", "Fc", "Ms"]
    assert found.vector() == pytest.approx(record["ekf.theta"][-1], rel=0, abs=0)
    assert found.std_vector() == pytest.approx(record["ekf.std"][-1, 2:], rel=1e-12)
    assert found.truth_vector() == pytest.approx([1.9e-4, 2e-4, 0.02, 0.0133])
    P = record["ekf.P"][-1].reshape(6, 6)[2:, 2:]
    assert found.covariance == pytest.approx(P, rel=1e-6, abs=1e-30)


@pytest.mark.parametrize(
    ("setting", "words"),
    [
        ("factor: 0.9, start: {J: 0}", r"start: J: must be above 0, found 0.*solved for its accelerations"),
        ("start: {Jx: 1}", r"start: 'Jx' is not estimated.*Did you mean 'J'|start: 'Jx' is not estimated"),
        ("estimate: [J, mass]", r"do not depend on 'mass'"),
        ("factor: 0.9, P0_parameters: [1, 2, 3]", r"P0_parameters: found 3 numbers"),
        ("substeps: 0", r"substeps: must be at least 1"),
        ("estimate: []", r"estimate: name at least one parameter"),
        ("estimate: [J, J]", r"estimate: 'J' is named twice"),
        ("factor: 0.9, start: {J: heavy}", r"block 'ekf': start: 'heavy' is neither a number nor 'truth' nor a block"),
        ("Q: 0", r"block 'ekf': start: J, Fv, Fc, Ms: nothing is said of the start.*the truth, proves nothing.*say start: truth"),
        ("factor: 1", r"block 'ekf': start: J, Fv, Fc, Ms: factor: 1 starts at the plant's own values.*a factor other than 1"),
        ("start: {J: 2e-4, Fv: 1e-4}", r"block 'ekf': start: Fc, Ms: nothing is said"),
        ("measures: qdd", r"measures: 'qdd' of 'joint' \(GravityJoint\) cannot be measured: it depends on its input.*: q, qd\."),
        ("P0_parameters: -1", r"P0_parameters: must be at least 0, found -1"),
        ("Q: 1e-8, R: 0", r"R: must be above 0, found 0"),
    ],
)
def test_what_is_refused(setting, words):
    text = LOOP.replace("P0_parameters: [1e-9, 1e-8, 1e-4, 1e-5],", "").replace("factor: 0.9, Q: 0", setting)
    with pytest.raises(DiagramError, match=words):
        bs.simulate(text, stop=0.01)


def test_eulers_rule_takes_one_step():
    with pytest.raises(DiagramError, match=r"ekf.: substeps: Euler.s rule takes one step; for more, say discretisation: rk4"):
        bs.simulate(LOOP.replace("discretisation: rk4", "substeps: 3"), stop=0.01)


@pytest.mark.parametrize(
    ("start", "words"),
    [
        ({}, "ZZR1: must be above 0"),
        ({"ZZR1": 1e-3}, "ZZ2: must be above 0"),
        ({"ZZR1": 1e-3, "ZZ2": 1e-3, "LMX2": 1e-2}, r"ZZR1 ZZ2 must be above LMX2\^2 \+ LMY2\^2"),
    ],
)
def test_parameters_cannot_start_where_the_robot_has_no_inertia(start, words):
    """Gautier's case 1 as printed, all parameters 0: no arithmetic helps where the direct model does not exist."""
    diagram = bs.Diagram("case 1")
    diagram.add("torque", "Constant", value=[1.0, 0.1])
    diagram.add("robot", "ScaraRobot", "torque")
    first = dict.fromkeys(("ZZR1", "Fv1", "Fs1", "ZZ2", "LMX2", "LMY2", "Fv2", "Fs2"), 0.0) | start
    diagram.add("ekf", "JointEKF", {"y": "robot.q", "u": "torque"}, Ts=1e-2, model="robot", start=first, R=1e-3)
    with pytest.raises(DiagramError, match=words):
        bs.simulate(diagram, stop=0.1, solver="rk4", step=1e-3)


@pytest.mark.parametrize(("R", "words"), [(1e-12, "its readings surprise it"), (1.0, "it hardly listens")])
def test_innovations_that_do_not_fit_the_variances_are_told(R, words):
    """The noise of the readings has a variance of 1e-6; a filter that takes another for granted is told by its nis."""
    text = f"""
format: 1
simulate: {{stop: 2, solver: rk4, step: 1e-3, seed: 1}}
blocks:
  push:  {{type: Sine, amplitude: 0.3, frequency: 1}}
  joint: {{type: GravityJoint, J: 0.02, Fv: 0.05, Fc: 0.1, Ms: 0.03, N: 1, beta: 10, in: push}}
  noise: {{type: WhiteNoise, Ts: 1e-3, std: 1e-3}}
  y:     {{type: Sum, in: [joint.q, noise]}}
  ekf:   {{type: JointEKF, Ts: 1e-3, model: joint, estimate: Fv, start: truth, P0: 1e-4, P0_parameters: 1e-4, Q: 0, R: {R},
          in: {{y: y, u: push}}}}
"""
    assert any(words in w for w in bs.simulate(text).estimates["ekf"].warnings)
    honest = bs.simulate(text.replace(f"R: {R}", "R: 1e-6, discretisation: rk4"))
    assert not any("nis" in w for w in honest.estimates["ekf"].warnings)
