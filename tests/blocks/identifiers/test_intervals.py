"""Standard deviations where noise is neither white nor steady; the bias that noise in the regressor makes; parts of a record."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.linalg import toeplitz
from scipy.signal import lfilter

import blocksim as bs
from blocks.identifiers.regression.regression import fit
from blocks.identifiers.regression.spectrum import Spread, spectral_spread


@pytest.fixture
def rng():
    return np.random.default_rng(11)


def claimed(X, G, rest, groups):
    return spectral_spread(X, G, rest, np.ones(len(rest), dtype=bool), groups, 0.0)


def test_noise_that_follows_the_motion_is_seen(rng):
    """e_t = |sin| w_t where the column is a sine, and the other way round: the variance is X' diag(v) X, not white's."""
    n, draws = 1500, 80
    angle = 2 * np.pi * 5 * np.arange(n) / n
    W = np.stack([np.sin(angle), np.cos(angle)], axis=1)
    X, size = W / (n / 2), 2 * np.sin(angle) ** 2
    truth = np.sqrt(np.diag(X.T @ (size[:, None] * X)))
    stds, whites = [], []
    for _ in range(draws):
        found = fit(W, np.sqrt(size) * rng.normal(size=n))
        stds.append(np.diag(claimed(X, W, found.residuals, np.zeros(n, dtype=int)).covariance))
        whites.append(found.std)
    np.testing.assert_allclose(np.sqrt(np.mean(stds, axis=0)), truth, rtol=0.1)
    assert truth[0] / np.mean(whites, axis=0)[0] > 1.2 and truth[1] / np.mean(whites, axis=0)[1] < 0.75


@pytest.mark.parametrize("same", [True, False])
def test_noise_that_two_joints_share_counts_twice(same, rng):
    """x' (e1 + e2): of one noise the variance is 4 |x|^2, of two 2 |x|^2. Rows of one joint stand under those of the other."""
    n, draws = 800, 100
    x = np.sin(2 * np.pi * 4 * np.arange(n) / n)
    W, groups = np.r_[x, x][:, None], np.repeat([0, 1], n)
    X, variances = W / float(np.sum(W**2)), []
    for _ in range(draws):
        first = rng.normal(size=n)
        y = np.r_[first, first if same else rng.normal(size=n)]
        variances.append(claimed(X, W, fit(W, y).residuals, groups).covariance[0, 0])
    assert np.mean(variances) == pytest.approx((4 if same else 2) * np.sum(x**2) / np.sum(W**2) ** 2, rel=0.15)


@pytest.mark.parametrize("share", [0.8, 0.0])
def test_noise_that_two_joints_share_correlates_their_parameters(share, rng):
    """A parameter for each joint, columns x and y: estimates of one white noise are correlated by x'y / |x| |y|, here 0.71."""
    n, draws = 800, 60
    angle = 2 * np.pi * 4 * np.arange(n) / n
    x, y = np.sin(angle), np.sin(angle + np.pi / 4)
    W, groups = np.zeros((2 * n, 2)), np.repeat([0, 1], n)
    W[:n, 0], W[n:, 1] = x, y
    X, found = W / np.sum(W**2, axis=0), []
    for _ in range(draws):
        first, second = rng.normal(size=(2, n))
        e = np.r_[first, share * first + np.sqrt(1 - share**2) * second]
        C = claimed(X, W, fit(W, e).residuals, groups).covariance
        found.append(C[0, 1] / np.sqrt(C[0, 0] * C[1, 1]))
    assert np.mean(found) == pytest.approx(share * np.sqrt(0.5), abs=0.08)


def test_a_deep_dip_costs_no_width(rng):
    """Twice differenced noise over a motion of a few lines: intervals hold in about 95 of 100 draws, neither 80 nor 100.

    All three together, too: the mean of e' C^-1 e is 3 for the covariance C of the errors e.
    """
    n, draws = 2000, 100
    t = np.arange(n) / n
    W = np.stack([np.sin(24 * np.pi * t), np.cos(32 * np.pi * t), np.sign(np.sin(24 * np.pi * t))], axis=1)
    z, hits, together = [], 0, []
    for _ in range(draws):
        e = np.diff(rng.normal(size=n + 1)) + 0.05 * lfilter([1], [1, -0.5], rng.normal(size=n))
        found = fit(W, e)
        spread = claimed(W @ found.bread, W, found.residuals, np.zeros(n, dtype=int))
        z.append(found.values / np.sqrt(np.diag(spread.claim)))
        hits += np.abs(z[-1]) < spread.quantile
        together.append(found.values @ np.linalg.solve(spread.claim, found.values))
    assert 2.3 < np.mean(together) < 3.9, np.mean(together)
    assert np.all((np.std(z, axis=0) > 0.8) & (np.std(z, axis=0) < 1.25)), np.std(z, axis=0)
    assert np.all(hits / draws > 0.9), hits / draws


def test_what_a_fit_takes_from_a_resonance_is_given_back(rng):
    """Noise rings where the columns are, and the fit takes a quarter of it; X' C X of an autoregression, written out."""
    n, draws, radius, angle = 1000, 60, 0.97, 2 * np.pi * 10 / 1000
    a = [1, -2 * radius * np.cos(angle), radius**2]
    t = np.arange(n) * angle
    W = np.stack([f(r * t) for r in (0.6, 0.8, 1.0, 1.2) for f in (np.sin, np.cos)], axis=1)
    X = W @ np.linalg.inv(W.T @ W)
    ringing = lfilter([1], a, np.r_[1.0, np.zeros(2 * n)])
    covariance = toeplitz([ringing[: len(ringing) - k] @ ringing[k:] for k in range(n)])
    truth = np.sqrt(np.diag(X.T @ covariance @ X))
    stds, taken = [], []
    for _ in range(draws):
        e = lfilter([1], a, rng.normal(size=n + 500))[500:]
        left = e - W @ (X.T @ e)
        stds.append(np.diag(claimed(X, W, left, np.zeros(n, dtype=int)).covariance))
        taken.append(1 - np.sum(left**2) / np.sum(e**2))
    assert np.mean(taken) > 0.2
    np.testing.assert_allclose(np.sqrt(np.mean(stds, axis=0)), truth, rtol=0.2)


def test_a_claim_has_the_doubt_about_itself_in_it():
    """Student's t has the variance nu / (nu - 2), so that z is 1 with it; the interval is Student's all the same."""
    spread = Spread(np.diag([4.0, 4.0, 4.0]), np.array([6.0, 12.0, np.inf]))
    np.testing.assert_allclose(np.diag(spread.claim), [6.0, 4.8, 4.0])
    np.testing.assert_allclose(spread.quantile * np.sqrt(np.diag(spread.claim)), [2 * 2.4469, 2 * 2.1788, 2 * 1.95996], rtol=1e-4)


EXPERIMENT = """
format: 1
simulate: {stop: 6, solver: rk4, step: 2e-3, seed: 5}
parameters: {std: 0.25}
blocks:
  push:   {type: Multisine, f_min: 0.5, f_max: 4.0, lines: 8, amplitude: 1.0, phases: schroeder}
  joint:  {type: GravityJoint, J: 0.05, Fv: 0.4, Fc: 0.0, Ms: 0.1, N: 1, theta0: -1.57, in: push}
  shake:  {type: WhiteNoise, std: "${std}", Ts: 2e-3}
  speed:  {type: Sum, in: [joint.qd, shake]}
  drive:  {type: TorqueSensor, std: 0.01, Ts: 2e-3, in: push}
  ls:     {type: LeastSquares, model: joint, parameters: [J, Fv, Ms], known: {Fc: 0.0}, bias: told, draws: 12,
           in: {q: joint.q, qd: speed, qdd: joint.qdd, tau: drive}}
log: [joint.q, joint.qd, joint.qdd, speed, drive]
"""


def attenuation(record, std):
    """-(W'W + n S)^-1 n S x, S the variance of the noise of the columns: errors in variables, first principles."""
    q, qd, qdd = (record[f"joint.{n}"] for n in ("q", "qd", "qdd"))
    W = np.stack([qdd, qd, 9.81 * np.cos(q - 1.57)], axis=1)
    S = np.diag([0.0, len(q) * std**2, 0.0])
    return -np.linalg.solve(W.T @ W + S, S @ np.array([0.05, 0.4, 0.1]))


def test_the_bias_that_noise_in_the_regressor_makes_is_told():
    record = bs.simulate(EXPERIMENT)
    found, due = record.estimates["ls"], attenuation(record, 0.25)
    told = found.details["bias"]
    assert abs(due[1]) > 0.01 * 0.4  # the viscous friction loses more than a hundredth
    np.testing.assert_allclose(told[1], due[1], rtol=1 / 3)
    assert "bias J" in found.reason and "(12 draws)" in found.reason
    assert any("the bias of" in text and "Fv" in text and "bias: corrected or widened" in text for text in found.warnings)
    right = bs.simulate(EXPERIMENT, params={"ls.bias": "corrected"}).estimates["ls"]
    assert right["Fv"].value == pytest.approx(found["Fv"].value - told[1], rel=1e-9)
    assert abs(right["Fv"].z) < 3 < abs(found["Fv"].z)
    wide = bs.simulate(EXPERIMENT, params={"ls.bias": "widened"}).estimates["ls"]
    assert wide["Fv"].value == found["Fv"].value and wide["Fv"].std > abs(told[1]) and abs(wide["Fv"].z) < 3


def test_the_bias_is_told_on_a_measured_record_too():
    """Nobody can draw its noise again: noise as large as the record shows is added once more."""
    record = bs.simulate(EXPERIMENT)
    found, due = bs.identify(EXPERIMENT, record).estimates["ls"], attenuation(record, 0.25)
    assert found.details["bias_noise"]["speed.y"] == pytest.approx(0.25, rel=0.1)
    np.testing.assert_allclose(found.details["bias"][1], due[1], rtol=1 / 3)
    assert "12 draws of noise added again" in found.reason and any("the bias of Fv" in text for text in found.warnings)
    right = bs.identify(EXPERIMENT, record, params={"ls.bias": "corrected"}).estimates["ls"]
    assert abs(right["Fv"].value - 0.4) < abs(found["Fv"].value - 0.4) / 2
    with pytest.raises(bs.DiagramError, match="errors: the noise of a measured record cannot be drawn again"):
        bs.identify(EXPERIMENT, record, params={"ls.errors": "drawn"})


def test_a_bias_of_nothing_is_told_as_nothing():
    found = bs.simulate(EXPERIMENT, params={"std": 0.0}).estimates["ls"]
    assert np.all(np.abs(found.details["bias"]) < 4 * found.details["bias_std"] + 1e-12)
    assert not any("the bias of" in text for text in found.warnings)


DRIFTING = """
format: 1
simulate: {stop: 12, solver: rk4, step: 2e-3, every: 1e-2, seed: 2}
parameters: {extra: 0.0}
blocks:
  push:   {type: Multisine, f_min: 0.5, f_max: 3.0, lines: 6, amplitude: 1.0, phases: schroeder}
  late:   {type: Step, time: 6, after: "${extra}"}
  drag:   {type: Product, in: [late, joint.qd]}
  felt:   {type: Sum, signs: "+-", in: [push, drag]}
  joint:  {type: GravityJoint, J: 0.05, Fv: 0.4, Fc: 0.1, Ms: 0.1, N: 1, theta0: -1.57, in: felt}
  drive:  {type: TorqueSensor, std: 0.02, Ts: 1e-2, in: push}
  angle:  {type: TorqueSensor, std: 1e-4, Ts: 1e-2, in: joint.q}
  ls:     {type: LeastSquares, model: joint, errors: blocks, parts: 4,
           in: {q: joint.q, qd: joint.qd, qdd: joint.qdd, tau: drive}}
  oe:     {type: OutputError, model: joint, output: joint.q, errors: blocks, parts: 3, skip: 0.2,
           parameters: {joint.J: 0.04, joint.Fv: 0.3, joint.Ms: 0.12}, in: {u: push, y: angle}}
"""


def test_parts_that_disagree_are_told_and_widen_the_interval():
    """From 6 s on the joint drags more than its model knows: halves of the record do not agree on Fv."""
    steady, drifting = (bs.simulate(DRIFTING, params={"extra": extra}).estimates for extra in (0.0, 0.1))
    assert not any("disagree" in text for text in steady["ls"].warnings)
    assert steady["ls"].details["parts"].shape == (4, 4) and steady["oe"].details["parts"].shape == (3, 3)
    found = drifting["ls"]
    assert any("4 parts of the record disagree on" in text and "Fv (" in text for text in found.warnings), found.warnings
    parts = found.details["parts"][:, list(found).index("Fv")]
    np.testing.assert_allclose(parts, [0.4, 0.4, 0.5, 0.5], atol=0.02)
    low, high = found["Fv"].interval
    assert low < 0.4 and high > 0.5 and found["Fv"].std > 3 * found.details["std_statistical"][list(found).index("Fv")]


def test_parts_too_short_are_refused():
    with pytest.raises(bs.DiagramError, match="part 1 of 200 has 7 rows for 4 parameters; fewer parts are wanted"):
        bs.simulate(DRIFTING, params={"ls.parts": 200})


LOOP = """
format: 1
simulate: {stop: 6, solver: rk4, step: 1e-3, seed: 3}
blocks:
  ref:   {type: FourierTrajectory, base_frequency: 0.5, a: [0.6, 0, -0.2], b: [0.3, -0.2, -0.1]}
  error: {type: Sum, signs: "+-", in: [ref.q, seen]}
  pid:   {type: PID, Ts: 1e-3, kp: 20, ki: 10, kd: 0.6, Tf: 5e-3, in: error}
  joint: {type: GravityJoint, J: 0.02, Fv: 0.05, Fc: 0.1, Ms: 0.03, N: 1, in: pid}
  shake: {type: WhiteNoise, std: 3e-4, Ts: 1e-3}
  seen:  {type: Sum, in: [joint.q, shake]}
  plain: {type: CLOE, parameters: {joint.J: 0.015, joint.Ms: 0.04}, output: pid, skip: 0.5, in: pid}
  slow:  {type: CLOE, parameters: {joint.J: 0.015, joint.Ms: 0.04}, output: pid, skip: 0.5, decimate: 40, in: pid}
  low:   {type: CLOE, parameters: {joint.J: 0.015, joint.Ms: 0.04}, output: pid, skip: [0.5, 0.2], cutoff: 10, in: pid}
"""


def test_output_error_of_filtered_signals():
    """Fast noise of the torque is filtered away: smaller standard deviations that hold, from fewer rows."""
    found = bs.simulate(LOOP).estimates
    assert found["slow"].details["rows"] == 5000 // 40 - 10 + 1 and found["plain"].details["rows"] == 5001
    for name in ("plain", "slow", "low"):
        assert all(abs(found[name][p].z) < 4 for p in ("J", "Ms")), found[name]
    assert found["slow"]["J"].std < found["plain"]["J"].std


def test_skip_of_output_error_means_both_ends():
    with pytest.raises(bs.DiagramError, match=r"no row is left: skip: 3\.1 s at the ends of 6 s leaves 0 rows"):
        bs.simulate(LOOP, params={"plain.skip": 3.1})
