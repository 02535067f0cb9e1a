"""The joint EKF: its arithmetic against exact fractions, its two forms against each other, and what it refuses."""

from fractions import Fraction

import numpy as np
import pytest

import blocksim as bs
from blocks.joint_ekf import JointEKF, factor_output, factor_update
from blocksim.errors import DiagramError

EXACT = np.vectorize(lambda v: Fraction(float(v)), otypes=[object])


def unpacked(packed, N):
    """U and D of factors as the filter packs them."""
    square = np.asarray(packed).reshape(N, N)
    return np.triu(square, 1) + np.eye(N, dtype=int), np.diag(np.diag(square))


def exact_update(P, H, y, z, variances):
    """Kalman's measurement update in exact fractions, one reading after another."""
    P, z = EXACT(P), EXACT(z)
    for h, value, variance in zip(EXACT(H), EXACT(y), EXACT(variances), strict=True):
        gain = P @ h / (h @ P @ h + variance)
        z = z + gain * (value - h @ z)
        P = P - np.outer(gain, h @ P)
    return P, z


def update(form, z, P, y, variances, where):
    """The library's own update: means and covariance, read from its outputs."""
    N, m = len(z), len(where)
    out = np.zeros(2 * N + 2 * N * N + m + 1 + N * m + 2 * N)
    if form == "udu":
        factor_output(y, z, P.ravel(), variances, N, 0, N, m, where, out)
    else:
        JointEKF.functions["output"](y, z, P.ravel(), variances, N, 0, N, m, where, out)
    return out[:N].copy(), out[2 * N : 2 * N + N * N].reshape(N, N).copy()


def nearly_dependent():
    """Two readings that differ by 1e-5 of what they measure, with little noise and no knowledge before.

    In the coordinates of the readings, z1 = x1 and z2 = x1 + 1e-5 x2 with x ~ (0, 1e5): factors of their covariance are known.
    """
    e, P0 = 1e-5, 1e5
    # P = T diag(P0, P0) T', T = [[1, 0], [1, e]]; as U D U' with U = [[1, u], [0, 1]].
    d2 = Fraction(P0) + Fraction(e) ** 2 * Fraction(P0)
    u = Fraction(P0) / d2
    d1 = Fraction(P0) - u * u * d2
    return np.array([[float(d1), float(u)], [0.0, float(d2)]]), np.array([1e-4, 1e-4])


def test_bierman_keeps_its_digits_where_the_plain_update_loses_them():
    factors, variances = nearly_dependent()
    U, D = unpacked(EXACT(factors), 2)
    P = U @ D @ U.T  # exactly what the factors say
    z, y = np.zeros(2), np.array([1.0, 1.0 + 3e-5])
    wanted, mean = exact_update(P, np.eye(2), y, z, variances)
    errors = {}
    for form, given in (("udu", factors), ("plain", P.astype(float))):
        found, covariance = update(form, z, given, y, variances, (0, 1))
        # what the experiment is about: x2 = (z2 - z1) / 1e-5, of which the two readings know little
        far, sure = (found[1] - found[0]) / 1e-5, (mean[1] - mean[0]) / Fraction(1e-5)
        spread = covariance[0, 0] - 2 * covariance[0, 1] + covariance[1, 1]
        exact = wanted[0, 0] - 2 * wanted[0, 1] + wanted[1, 1]
        errors[form] = abs(far / float(sure) - 1), abs(spread / float(exact) - 1)
    assert errors["udu"][0] < 1e-6 and errors["plain"][0] > 1e-4
    assert errors["plain"][0] > 1e3 * errors["udu"][0]


def test_the_covariance_cannot_lose_its_sign():
    """Many readings of one state without noise to speak of: P stays positive in factors, and only there is that certain."""
    N, P0, variances = 3, 1e8, np.array([1e-12])
    rng = np.random.default_rng(2)
    factors = np.diag([P0] * N) + np.triu(rng.standard_normal((N, N)), 1)
    z = np.zeros(N)
    for _ in range(30):
        out = np.zeros(2 * N + 2 * N * N + 2 + N + 2 * N)
        factor_output(np.array([1.0]), z, factors.ravel(), variances, N, 0, N, 1, (1,), out)
        start = 2 * N + N * N + 2 + N + N
        z, factors = out[:N].copy(), out[start : start + N * N].reshape(N, N).copy()
        assert (np.diag(factors) >= 0).all()
    assert z[1] == pytest.approx(1.0)


def no_motion(z_next, S, x_hat, u, own, Ts, n, d, turns, work):
    for i in range(n):
        z_next[i] = x_hat[i]


@pytest.mark.parametrize("seed", range(5))
def test_thorntons_prediction_is_the_plain_one(seed):
    """U' D' U'^T = F U D U^T F^T + Q in exact fractions; some Q and D are zero."""
    from blocks.observed import with_helpers

    rng = np.random.default_rng(seed)
    n, d = 3, 2
    N = n + d
    D = 10.0 ** rng.uniform(-6, 6, N)
    D[seed % N] = 0.0
    factors = np.triu(rng.standard_normal((N, N)), 1) + np.diag(D)
    S = rng.standard_normal((n, N))
    drift = np.concatenate((10.0 ** rng.uniform(-6, 2, n), np.zeros(d)))
    x, theta, P_next, work = np.zeros(n), np.zeros(d), np.zeros(N * N), np.zeros(2 * N * N)
    step = with_helpers(factor_update, transition=no_motion)
    step(x, theta, factors.ravel(), x, np.zeros(N), P_next, S.ravel(), theta, work, theta, drift, 1e-3, n, d, N, (0, 1), 0)
    F = EXACT(np.vstack((S, np.eye(N)[n:])))
    U, weights = unpacked(EXACT(factors), N)
    wanted = F @ U @ weights @ U.T @ F.T + np.diag(EXACT(drift))
    V, found = unpacked(EXACT(P_next), N)
    scale = np.sqrt(np.abs(np.diag(wanted).astype(float)))
    assert (np.abs((V @ found @ V.T - wanted).astype(float)) <= 1e-12 * np.outer(scale, scale) + 1e-300).all()


LOOP = JointEKF.example


@pytest.mark.parametrize("rule", ["euler", "rk4"])
def test_plain_and_factorised_agree_where_nothing_is_hard(rule):
    records = [
        bs.simulate(
            LOOP.replace("discretisation: rk4", f"discretisation: {rule}, form: {form}").replace("Q: 0", "Q: 1e-8"), stop=1
        )
        for form in ("udu", "plain")
    ]
    for signal in ("ekf.theta", "ekf.x_hat", "ekf.std", "ekf.P", "ekf.nis"):
        one, other = (r[signal] for r in records)
        assert one == pytest.approx(other, rel=1e-6, abs=1e-9 * np.abs(other).max())


def test_both_engines_give_the_same_bits():
    for form in ("udu", "plain"):
        text = LOOP.replace("discretisation: rk4", f"discretisation: rk4, form: {form}")
        one, other = (bs.simulate(text, stop=0.1, engine=engine) for engine in ("python", "compiled"))
        assert all(np.array_equal(one[s], other[s]) for s in one)


def test_a_true_model_gives_honest_estimates():
    """Noise as believed and a start within 10 %: z of all four parameters, and innovations of the size foretold."""
    runs = bs.simulate_many(LOOP, seeds=range(16), collect=lambda r: (r.estimates["ekf"], r["ekf.nis"][1000:].mean()))
    z = np.array([[e.z for e in found.values()] for found, _ in runs])
    assert (np.abs(z.mean(axis=0)) < 1.5).all() and (np.sqrt((z**2).mean(axis=0)) < 2.2).all()
    assert np.mean([nis for _, nis in runs]) == pytest.approx(1.0, abs=0.05)


def test_a_parameter_without_variance_stays():
    text = LOOP.replace("P0_parameters: [1e-9, 1e-8, 1e-4, 1e-5]", "P0_parameters: [1e-9, 0, 1e-4, 0]").replace(
        "factor: 0.9", "start: {Fv: 1.5e-4, Ms: 0.012}"
    )
    for form in ("udu", "plain"):
        record = bs.simulate(text.replace("Q: 0", f"Q: 1e-8, form: {form}"), stop=0.5)
        assert (record["ekf.Fv_hat"] == 1.5e-4).all() and (record["ekf.Ms_hat"] == 0.012).all()
        assert np.ptp(record["ekf.J_hat"]) > 0
        assert record.estimates["ekf"]["Fv"].std == 0


def test_the_last_estimates_are_among_those_of_the_record():
    record = bs.simulate(LOOP, stop=0.5)
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
        ("start: {J: 0}", r"start: J: must be above 0, found 0.*solved for its accelerations"),
        ("start: {Jx: 1}", r"start: 'Jx' is not estimated.*Did you mean 'J'|start: 'Jx' is not estimated"),
        ("estimate: [J, mass]", r"do not depend on 'mass'"),
        ("P0_parameters: [1, 2, 3]", r"P0_parameters: found 3 numbers"),
        ("substeps: 0", r"substeps: must be at least 1"),
    ],
)
def test_what_is_refused(setting, words):
    text = LOOP.replace("P0_parameters: [1e-9, 1e-8, 1e-4, 1e-5],", "").replace("factor: 0.9", setting)
    with pytest.raises(DiagramError, match=words):
        bs.simulate(text, stop=0.01)


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
