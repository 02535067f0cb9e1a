"""Regression against statsmodels, closed forms and repeated draws."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest
import statsmodels.api as sm
from scipy.linalg import toeplitz
from scipy.signal import lfilter
from statsmodels.stats.diagnostic import acorr_ljungbox

from blocks.identifiers.noise.noise_spectrum import noise_spectra
from blocks.identifiers.regression import spectrum
from blocks.identifiers.regression.colour import autocovariance, colour_of, ljung_box
from blocks.identifiers.regression.regression import fit, upper
from blocks.identifiers.regression.spectrum import spectral_spread
from blocks.identifiers.regression.stacked_rows import product
from blocks.identifiers.regression.system.huber import huber
from blocks.identifiers.regression.system.total import total
from blocks.identifiers.regression.words import null_words
from blocksim.errors import RecordError

TRUE = np.array([1.0, 2.0, 0.5, -0.3])
DRAWS = 400


def system(n=1000):
    """Columns of a joint: acceleration, speed, its sign, ones."""
    t = np.arange(n) * 0.01
    qd = np.sin(np.pi * t) + 0.4 * np.sin(2.6 * np.pi * t)
    return np.c_[np.gradient(qd, 0.01), qd, np.sign(qd), np.ones(n)]


@pytest.fixture
def noisy(rng):
    W = system()
    return W, W @ TRUE + rng.standard_t(3, len(W)) * 0.2


@pytest.fixture
def rng():
    return np.random.default_rng(7)


def test_ordinary_least_squares_are_those_of_statsmodels(noisy):
    W, y = noisy
    found, other = fit(W, y), sm.OLS(y, W).fit()
    np.testing.assert_allclose(found.values, other.params, rtol=1e-10)
    np.testing.assert_allclose(found.covariance, other.cov_params(), rtol=1e-8, atol=1e-18)
    assert found.condition == pytest.approx(np.linalg.cond(W), rel=1e-9)
    assert found.relative_condition == pytest.approx(np.linalg.cond(W * other.params), rel=1e-9)
    assert found.sigma**2 == pytest.approx(other.mse_resid)


def test_given_weights_are_roots_of_those_of_statsmodels(noisy, rng):
    W, y = noisy
    weights = rng.uniform(0.1, 3, len(y))
    found, other = fit(W, y, weights=np.sqrt(weights)), sm.WLS(y, W, weights=weights).fit()
    np.testing.assert_allclose(found.values, other.params, rtol=1e-10)
    np.testing.assert_allclose(found.std, other.bse, rtol=1e-9)


def test_rows_without_weight_do_not_count(noisy):
    W, y = noisy
    used = np.arange(len(y)) % 3 > 0
    found, other = fit(W, y, weights=used.astype(float)), fit(W[used], y[used])
    np.testing.assert_allclose(found.values, other.values, rtol=1e-10)
    np.testing.assert_allclose(found.std, other.std, rtol=1e-10)


def test_joints_are_weighted_by_their_own_regressions(rng):
    """Gautier 2001 (6)-(8) written out: p^j counts the columns that joint has."""
    A, n = system(), 1000
    W = np.zeros((2 * n, 6))
    W[:n, :4], W[n:, 2:] = A, A[:, [1, 0, 2, 3]]
    y = W @ np.arange(1.0, 7.0) + np.r_[rng.normal(size=n) * 0.1, rng.normal(size=n) * 5]
    found = fit(W, y, groups=np.repeat([0, 1], n))
    sigma = [np.sqrt(np.linalg.lstsq(Wj, yj)[1][0] / (n - 4)) for Wj, yj in ((W[:n, :4], y[:n]), (W[n:, 2:], y[n:]))]
    s = 1 / np.repeat(sigma, n)
    np.testing.assert_allclose(found.weights, s, rtol=1e-9)
    np.testing.assert_allclose(found.values, np.linalg.lstsq(W * s[:, None], y * s)[0], rtol=1e-9)
    np.testing.assert_allclose(found.covariance, np.linalg.inv((W * s[:, None]).T @ (W * s[:, None])), rtol=1e-7)


def test_hubers_estimate_is_that_of_statsmodels(noisy):
    W, y = noisy
    y[::50] += 30
    found, other = huber(W, y), sm.RLM(y, W).fit(maxiter=300, tol=1e-13)
    np.testing.assert_allclose(found.values, other.params, rtol=1e-8)
    np.testing.assert_allclose(found.std, other.bse, rtol=1e-7)
    assert np.abs(found.values - TRUE).max() < 0.1 < np.abs(fit(W, y).values - TRUE).max()


def test_total_least_squares_of_one_column_is_demings_line(rng):
    """y = b x with errors of equal size in both: b = (d + sqrt(d^2 + 4 c^2)) / 2 c, d = Syy - Sxx, c = Sxy (Deming)."""
    x = rng.normal(size=500)
    u, v = x + rng.normal(size=500) * 0.3, 2 * x + rng.normal(size=500) * 0.3
    d, c = v @ v - u @ u, u @ v
    found = total(u[:, None], v, [0.3], 0.3)
    assert found.values[0] == pytest.approx((d + np.sqrt(d**2 + 4 * c**2)) / (2 * c), rel=1e-10)
    scaled = total(1000 * u[:, None], v, [300.0], 0.3)
    assert scaled.values[0] == pytest.approx(found.values[0] / 1000, rel=1e-10)
    assert scaled.std[0] == pytest.approx(found.std[0] / 1000, rel=1e-8)


def test_total_least_squares_solve_the_shifted_normal_equations(rng):
    """(W'W - s^2 I) x = W'y with s the smallest singular value of [W y] (Golub and Van Loan)."""
    W = rng.normal(size=(300, 3))
    y = W @ [1, -2, 3] + rng.normal(size=300) * 0.2
    s = np.linalg.svd(np.c_[W, y], compute_uv=False)[-1]
    expected = np.linalg.solve(W.T @ W - s**2 * np.eye(3), W.T @ y)
    np.testing.assert_allclose(total(W, y, [1, 1, 1], 1).values, expected, rtol=1e-10)


def test_total_least_squares_with_only_exact_columns_are_ordinary_ones(noisy):
    W, y = noisy
    np.testing.assert_allclose(total(W, y, [0, 0, 0, 0], 1.0).values, fit(W, y).values, rtol=1e-9)
    np.testing.assert_allclose(total(W, y, [0, 0, 0, 0], 1.0).std, fit(W, y).std, rtol=1e-9)


def test_total_least_squares_remove_the_bias_and_know_their_error(rng):
    W, sizes = system(), np.array([0.6, 0.2, 0.0, 0.0])
    z, plain = [], []
    for _ in range(DRAWS):
        seen, y = W + rng.normal(size=W.shape) * sizes, W @ TRUE + rng.normal(size=len(W)) * 0.3
        found = total(seen, y, sizes, 0.3)
        z.append((found.values - TRUE) / found.std)
        plain.append(fit(seen, y).values)
    assert np.abs(np.mean(z, axis=0)).max() < 4 / np.sqrt(DRAWS)
    assert np.mean(np.abs(z) < 1.96, axis=0) == pytest.approx(0.95, abs=0.035)
    assert np.mean(plain, axis=0)[1] < 0.9 * TRUE[1]  # what noise in the motion does to least squares


def test_whiteness_is_tested_as_statsmodels_do(rng):
    e = lfilter([1], [1, -0.1], rng.normal(size=800))
    other = acorr_ljungbox(e, lags=[20])
    Q, p = ljung_box(e, 20)  # statsmodels subtract the mean, the residuals of a fit need not have none
    Qc, pc = ljung_box(e - e.mean(), 20)
    assert (Qc, pc) == pytest.approx((other.lb_stat.iloc[0], other.lb_pvalue.iloc[0]), rel=1e-9)
    assert p == pytest.approx(pc, abs=0.2) and Q > 0


def spread_of(W, found, used=None, lines=0.0):
    """The spectral covariance of a least squares fit of one series."""
    used = np.ones(len(W), dtype=bool) if used is None else used
    G = W * found.weights[:, None]
    return spectral_spread(G @ found.bread, G, found.scores, used, np.zeros(len(W), dtype=int), lines)


def test_autocovariance_is_the_mean_of_products(rng):
    e = rng.normal(size=500)
    np.testing.assert_allclose(autocovariance(e, 10), [e[: 500 - k] @ e[k:] / 500 for k in range(11)], rtol=1e-9)


def test_a_known_covariance_is_carried_to_the_parameters(rng):
    """X' C X with C[i, j] = phi^|i - j| / (1 - phi^2), written out."""
    n, phi = 1500, 0.8
    W = system(n)
    X = W @ np.linalg.inv(W.T @ W)
    C = toeplitz(phi ** np.arange(float(n))) / (1 - phi**2)
    used, groups = np.ones(n, dtype=bool), np.zeros(n, dtype=int)
    draws = [lfilter([1], [1, -phi], rng.normal(size=n + 200))[200:] for _ in range(160)]  # one tells within 40 %
    spreads = [spectral_spread(X, 0 * W, e, used, groups, 0.0) for e in draws]
    np.testing.assert_allclose(np.mean([np.diag(s.covariance) for s in spreads], axis=0), np.diag(X.T @ C @ X), rtol=0.15)
    assert spreads[0].lines == 32


@pytest.mark.parametrize("rows", [60, 120, 250, 1000])
@pytest.mark.parametrize("phi", [0.0, 0.5, 0.9])
def test_intervals_for_coloured_noise_cover_the_truth(phi, rows, rng):
    """95 % intervals over 400 draws; those of white noise and of Newey and West are too short when phi is 0.9."""
    W, hits = system(1000)[:: 1000 // rows][:rows], np.zeros((3, 4))
    for _ in range(DRAWS):
        y = W @ TRUE + lfilter([1], [1, -phi], rng.normal(size=rows + 500))[500:] * 0.3
        found = fit(W, y)
        spread = spread_of(W, found)
        kernel = sm.OLS(y, W).fit(cov_type="HAC", cov_kwds={"maxlags": 6}).bse  # 4 (n / 100)^(2 / 9)
        reach = [spread.quantile * np.sqrt(np.diag(spread.claim)), 1.96 * found.std, 1.96 * kernel]
        hits += np.abs(found.values - TRUE) < np.array(reach)
    shares = hits / DRAWS
    least = 0.86 if phi == 0.9 and rows == 60 else 0.915  # six independent samples are hardly a record
    assert np.all(shares[0] > least) and np.all(shares[0] < 0.995), shares
    if phi == 0.9 and rows == 1000:
        assert shares[1].max() < 0.6 and shares[2].max() < 0.88


@pytest.mark.parametrize("phi", [0.0, 0.5, 0.9])
def test_scattered_gaps_make_intervals_wider_never_shorter(phi, rng):
    """Every other row missing at random."""
    W, hits = system(500), np.zeros(4)
    for _ in range(DRAWS // 2):
        used = rng.random(500) < 0.5
        y = W @ TRUE + lfilter([1], [1, -phi], rng.normal(size=1000))[500:] * 0.3
        found = fit(W, y, weights=used.astype(float))
        spread = spread_of(W, found, used)
        hits += np.abs(found.values - TRUE) < spread.quantile * np.sqrt(np.diag(spread.claim))
    assert np.all(hits / (DRAWS // 2) > 0.87), hits / (DRAWS // 2)


def test_a_dip_in_the_noise_is_seen(rng):
    """A controller takes the noise away where the motion is: differenced noise, whose power at a line is (2 sin(w / 2))^2."""
    n, draws = 4000, 100
    t = np.arange(n) / n
    W = np.stack([np.sin(8 * np.pi * t), np.cos(8 * np.pi * t), np.sin(20 * np.pi * t)], axis=1)
    errors, claimed = [], []
    for _ in range(draws):
        e = np.diff(rng.normal(size=n + 1))
        e = e + 0.02 * rng.normal(size=n)  # what a loop leaves
        found = fit(W, e)
        errors.append(found.values)
        claimed.append(np.sqrt(np.diag(spread_of(W, found).covariance)))
    ratio = np.std(errors, axis=0) / np.sqrt(np.mean(np.square(claimed), axis=0))
    assert np.all((ratio > 0.6) & (ratio < 1.15)), ratio
    white = np.sqrt(2.0 / (n / 2))
    assert np.all(np.std(errors, axis=0) < 0.1 * white)


def test_long_gaps_do_not_disturb_the_coloured_covariance(rng):
    W, n = system(4000), 4000
    used = (np.arange(n) // 100) % 4 > 0
    y = W @ TRUE + lfilter([1], [1, -0.9], rng.normal(size=n))
    y[~used] = 1e6
    found = fit(W, y, weights=used.astype(float))
    std = np.sqrt(np.diag(spread_of(W, found, used).covariance))
    C = toeplitz(0.9 ** np.arange(n)) / (1 - 0.81)
    V = W * used[:, None]
    B = np.linalg.inv(V.T @ V)
    np.testing.assert_allclose(std, np.sqrt(np.diag(B @ V.T @ C @ V @ B)), rtol=0.35)


def test_what_the_data_do_not_determine_is_said_in_words(noisy):
    W, y = noisy
    wide = np.c_[W, W[:, 1] * 0.8, np.zeros(len(W))]
    found = fit(wide, y)
    names = ("J", "Fv", "Fc", "offset", "Fx", "k")
    assert found.rank == 4
    assert null_words(found, names) == ["k does not show in these data", "Fv, Fx move together: only Fv + 0.8 Fx is determined"]
    assert np.isinf(found.std[[1, 4, 5]]).all() and np.isfinite(found.std[[0, 2, 3]]).all()
    np.testing.assert_allclose(wide @ found.null.T, 0, atol=1e-9)
    np.testing.assert_allclose(found.std[[0, 2, 3]], fit(W, y).std[[0, 2, 3]], rtol=1e-2)
    np.testing.assert_allclose(found.residuals, fit(W, y).residuals, atol=1e-9)


def test_units_do_not_decide_the_rank(noisy):
    W, y = noisy
    scale = np.array([1e-9, 1.0, 1e12, 1e3])
    found = fit(W * scale, y)
    assert found.rank == 4
    np.testing.assert_allclose(found.values * scale, fit(W, y).values, rtol=1e-9)


@pytest.mark.parametrize(
    ("W", "y", "words"),
    [
        (np.ones((3, 3)), np.ones(3), "3 rows are too few for 3 parameters"),
        (np.ones((5, 2)), np.ones(4), r"found \(5, 2\) and \(4,\)"),
        (np.full((5, 2), np.nan), np.ones(5), "10 values of the regressor are missing"),
        (np.ones((5, 2)), np.array([1, 2, np.inf, 4, 5]), "1 values of the effort are missing"),
    ],
)
def test_what_cannot_be_solved_is_refused(W, y, words):
    with pytest.raises(RecordError, match=words):
        fit(W, y)


@pytest.mark.parametrize("n", [60, 120])
def test_few_rows_are_tested_for_colour_too(n, rng):
    """Of white noise about one series in a hundred is called coloured; of noise with the memory 0.9^k nearly all are."""
    from scipy.signal import lfilter

    noise = rng.standard_normal((300, n + 100))
    used = np.ones(n, dtype=bool)
    for phi, low, high in ((0.0, 0.0, 0.04), (0.9, 0.95, 1.0)):
        series = lfilter([1.0], [1.0, -phi], noise, axis=1)[:, 100:]
        found = np.mean([colour_of(e, e, used) is not None for e in series])
        assert low <= found <= high


@pytest.mark.parametrize("rows", [200, 1500])
def test_expected_scores_are_those_of_matrices_written_out(rows):
    """Sums of x' D_j M C M' D_j x over j, M = I - G X', C[i, j] = phi^|i - j|: all lines of a short record, sums of fast ones."""
    t, phi, count = np.arange(rows), 0.7, 24
    W = np.stack([np.sin(0.02 * t), np.sign(np.cos(0.05 * t)), np.ones(rows)], axis=1)
    X = W @ np.linalg.inv(W.T @ W)
    (series,) = spectrum.time_series(X, W, np.ones(rows), np.ones(rows, dtype=bool), np.zeros(rows, dtype=int))
    size = series.rows
    (lines,) = noise_spectra([series])
    power = (1 - phi**2) / (1 + phi**2 - 2 * phi * np.cos(np.pi / size * np.arange(size + 1))) / size
    power[[0, -1]] /= 2
    known = dataclasses.replace(lines, power=power, parts=power * np.abs(lines.X) ** 2)
    C, M = toeplitz(phi ** np.arange(float(rows))), np.eye(rows) - W @ X.T
    D = np.sqrt(2) * np.cos(np.pi / size * np.outer(np.arange(1, count + 1), t + 0.5))
    for i, (whole, neighbours, squares) in enumerate(spectrum.expected_scores([series], [known], count)):
        shifts = M.T @ (D * X[:, i]).T
        K = shifts.T @ C @ shifts
        assert whole == pytest.approx(X[:, i] @ C @ X[:, i], rel=1e-6) and neighbours == pytest.approx(np.trace(K), rel=0.02)
        assert squares == pytest.approx(np.sum(K**2), rel=0.2)  # from a sample of the lines


@pytest.mark.parametrize(("rows", "columns"), [(50, 3), (3000, 9), (40_000, 4)])
def test_products_and_triangles_of_any_length_are_those_of_the_whole(rows, columns):
    A = np.random.default_rng(3).standard_normal((rows, columns))
    B = np.asfortranarray(A[:, ::-1] ** 2)
    np.testing.assert_allclose(product(A, B), A.T @ B, rtol=1e-10, atol=1e-10)
    R = upper(A, B[:, 0])
    whole = np.column_stack((A, B[:, 0]))
    np.testing.assert_allclose(R.T @ R, whole.T @ whole, rtol=1e-9, atol=1e-9 * rows)
