"""The integrated random walk smoother: against Hodrick-Prescott, dense covariances, statsmodels, and data it made itself."""

import warnings

import numpy as np
import pytest

import blocksim as bs
from blocks.irw import IRWSmoother, half_amplitude, recursions
from blocksim.errors import RecordError

ORDERS = (2, 3)
STEP = 0.5


def walk(samples, n, nvr, sigma, seed=1):
    """An integrated random walk and its noisy samples."""
    draw = np.random.default_rng(seed)
    x = sigma * np.sqrt(nvr) * draw.standard_normal(samples)
    for _ in range(n):
        x = np.cumsum(x)
    return x, x + sigma * draw.standard_normal(samples)


def times(y):
    return STEP * np.arange(len(y))


@pytest.mark.parametrize("n", ORDERS)
@pytest.mark.parametrize("nvr", [10.0, 1e-2, 1e-6])
def test_it_is_the_hodrick_prescott_filter(n, nvr):
    from scipy.sparse import csc_matrix, eye
    from scipy.sparse.linalg import spsolve

    _, y = walk(1000, n, 1e-3, 1.0)
    y = y / np.ptp(y) + 5.0
    D = csc_matrix(np.diff(np.eye(len(y)), n, axis=0))
    wanted = spsolve(csc_matrix(eye(len(y)) + D.T @ D / nvr), y)
    x = IRWSmoother(order=n, nvr=nvr).process(times(y), y)[0]
    assert x == pytest.approx(wanted, abs=1e-8)


@pytest.mark.parametrize("n", ORDERS)
@pytest.mark.parametrize("differences", ["centred", "forward"])
@pytest.mark.parametrize("missing", [(), (0, 1, 30, *range(80, 95), 150, 199)], ids=["all", "missing"])
def test_means_and_standard_deviations_are_those_of_the_dense_solution(n, differences, missing):
    nvr, N = 3e-3, 200
    _, y = walk(N, n, nvr, 0.2)
    y[list(missing)] = np.nan
    # All samples and one before, two after: generalised least squares with no knowledge of the start.
    weight = np.concatenate(([0.0], ~np.isnan(y), [0.0, 0.0]))
    D = np.diff(np.eye(N + 3), n, axis=0)
    covariance = np.linalg.inv(np.diag(weight) + D.T @ D / nvr)
    mean = covariance @ np.concatenate(([0.0], np.nan_to_num(y), [0.0, 0.0]))
    at = np.eye(N + 3)
    k = np.arange(1, N + 1)
    first = (at[k + 1] - at[k - 1]) / 2 if differences == "centred" else at[k + 1] - at[k]
    late = k + (differences == "forward")
    second = at[late + 1] - 2 * at[late] + at[late - 1]
    block = IRWSmoother(order=n, nvr=nvr, differences=differences)
    found = block.process(times(y), y)
    sigma = block.result["sigma_e"][0]
    for row, got, std, unit in zip((at[k], first, second), found[:3], found[3:], (1, STEP, STEP**2), strict=True):
        assert got == pytest.approx(row @ mean / unit, rel=1e-6, abs=1e-8 * np.nanmax(np.abs(y)))
        assert std == pytest.approx(sigma * np.sqrt(np.einsum("ki,ij,kj->k", row, covariance, row)) / unit, rel=1e-6)
    # (22): the weighted sum of squares left over, by the samples less the order.
    left = weight[1:-2] @ np.nan_to_num(y - mean[1:-2]) ** 2 + np.sum((D @ mean) ** 2) / nvr
    assert sigma == pytest.approx(np.sqrt(left / (weight.sum() - n)), rel=1e-8)


def test_statsmodels_finds_the_same_states_and_the_same_ratio():
    structural = pytest.importorskip("statsmodels.tsa.statespace.structural")
    _, y = walk(300, 2, 0.02, 1.5)
    block = IRWSmoother(order=2, differences="forward")
    x, dx, _, std_x, std_dx, _ = block.process(times(y), y)
    nvr, sigma = block.result["nvr"][0], block.result["sigma_e"][0]
    model = structural.UnobservedComponents(y, "strend", use_exact_diffuse=True)
    model.ssm.tolerance = 0
    smoothed = model.smooth([sigma**2, nvr * sigma**2])
    assert smoothed.smoothed_state[0] == pytest.approx(x, abs=1e-8 * np.ptp(y))
    assert smoothed.smoothed_state[1] == pytest.approx(dx * STEP, abs=1e-8 * np.ptp(y))
    stds = np.sqrt(np.diagonal(smoothed.smoothed_state_cov))
    assert stds == pytest.approx(np.column_stack((std_x, std_dx * STEP)), rel=1e-6)
    # Theirs counts the two diffuse samples at a density of 1 / sqrt(2 pi) each.
    assert block.result["log_likelihood"][0] - smoothed.llf == pytest.approx(np.log(2 * np.pi), abs=1e-6)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        fitted = model.fit([sigma**2, sigma**2 * 0.01], disp=0, method="lbfgs", pgtol=1e-10, factr=10, maxiter=500)
        fitted = model.fit(fitted.params, disp=0, method="nm", xtol=1e-9, ftol=1e-12, maxiter=2000)
    assert fitted.params[1] / fitted.params[0] == pytest.approx(nvr, rel=1e-3)


@pytest.mark.parametrize("n", ORDERS)
def test_half_the_amplitude_passes_at_the_bandwidth(n):
    t = np.arange(4000) * 1e-3
    wave = np.sin(2 * np.pi * 10 * t)
    block = IRWSmoother(order=n, bandwidth=10)
    x = block.process(t, wave)[0]
    assert block.result["nvr"][0] == pytest.approx((2 * np.pi * 10e-3) ** (2 * n))  # f = fs NVR^(1/2n) / 2 pi
    assert x[1500:2500] == pytest.approx(0.5 * wave[1500:2500], abs=1e-3)
    exact = half_amplitude(0.3, n)
    assert (2 - 2 * np.cos(2 * np.pi * exact)) ** n == pytest.approx(0.3)
    assert half_amplitude(1e4, n) == 0.5


@pytest.mark.parametrize("n", ORDERS)
def test_likelihood_finds_noise_and_ratio_of_its_own_model(n):
    nvr, sigma, N = 1e-2, 0.3, 4000
    truth, y = walk(N, n, nvr, sigma)
    block = IRWSmoother(order=n)
    x, _, _, std_x, _, _ = block.process(times(y), y)
    assert block.result["sigma_e"][0] == pytest.approx(sigma, rel=4 / np.sqrt(2 * N))
    assert block.result["nvr"][0] == pytest.approx(nvr, rel=0.3)
    z = (x - truth) / std_x
    assert np.sqrt(np.mean(z**2)) == pytest.approx(1.0, abs=0.08)
    assert np.mean(np.abs(z) < 1.96) == pytest.approx(0.95, abs=0.02)


@pytest.mark.parametrize("n", ORDERS)
def test_compiled_and_interpreted_give_the_same_bits(n):
    _, y = walk(300, n, 1e-2, 1.0)
    y[40:50] = np.nan
    results = []
    for compiled in (False, True):
        forward, combine = recursions(compiled)
        stored = np.empty((300, n, n)), np.empty((300, n))
        results.append([*forward(y, n, 1e-2, *stored), *stored, *combine(y, n, 1e-2, *stored)])
    for interpreted, translated in zip(*results, strict=True):
        assert np.array_equal(interpreted, translated)


def test_elements_are_smoothed_each_by_itself():
    first, second = walk(150, 2, 1e-2, 1.0)[1], walk(150, 2, 1e-3, 0.1, seed=5)[1]
    both = np.column_stack((first, second))
    block, alone = IRWSmoother(), IRWSmoother()
    found, single = block.process(times(first), both), alone.process(times(first), second)
    assert all(np.array_equal(wide[:, 1], narrow) for wide, narrow in zip(found, single, strict=True))
    assert block.result["nvr"].shape == (2,) and block.result["nvr"][1] == alone.result["nvr"][0]


def test_a_polynomial_is_its_own_smooth_version():
    t = times(np.zeros(60))
    x, dx, ddx, *_ = IRWSmoother(order=3, nvr=1e-6).process(t, 3 + 2 * t - 0.5 * t**2)
    assert x == pytest.approx(3 + 2 * t - 0.5 * t**2) and dx == pytest.approx(2 - t) and ddx == pytest.approx(-np.ones(60))


def test_likelihood_that_follows_the_noise_warns():
    t = np.arange(400) * 1e-3
    counts = np.round(np.sin(2 * np.pi * 12 * t) / 1e-6) * 1e-6  # a fine encoder: no noise to speak of
    with pytest.warns(UserWarning, match="seems to follow the noise.* above a tenth of the sampling frequency of 1000 Hz"):
        IRWSmoother(order=2).process(t, counts)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        IRWSmoother(order=2, nvr=10.0).process(t, counts)
        IRWSmoother(order=2).process(*(lambda y: (times(y), y))(walk(200, 2, 1e-3, 1.0)[1]))


def test_it_runs_in_a_diagram():
    diagram = bs.Diagram()
    diagram.add("wave", "Sine", frequency=1.0)
    diagram.add("encoder", "Encoder", inputs="wave", Ts=0.01, resolution=0.01)
    diagram.add("smooth", "IRWSmoother", inputs="encoder", order=3, bandwidth=6)
    record = bs.simulate(diagram, stop=3, solver="rk4", step=0.01, engine="python")
    middle = slice(50, -50)
    truth = 2 * np.pi * np.cos(2 * np.pi * record.t)
    assert record["smooth.dx"][middle] == pytest.approx(truth[middle], abs=0.2)
    assert np.std((record["smooth.dx"] - truth)[middle]) < 3 * record["smooth.std_dx"][150]


def test_what_cannot_be_smoothed_is_refused():
    with pytest.raises(bs.DiagramError, match="give nvr or bandwidth, one of the two; found both"):
        IRWSmoother(nvr=1e-3, bandwidth=5)
    with pytest.raises(bs.DiagramError, match="4 is not one of 2, 3"):
        IRWSmoother(order=4)
    y = np.full(10, np.nan)
    y[[1, 4, 8]] = 1.0
    with pytest.raises(RecordError, match="order 3 needs at least 4 samples that are not missing, found 3"):
        IRWSmoother(order=3, nvr=1.0).process(times(y), y)
    with pytest.raises(RecordError, match=r"bandwidth is 1\.5 Hz; it must be below the Nyquist frequency of the record, 1 Hz"):
        IRWSmoother(bandwidth=1.5).process(times(y), y)
    with pytest.raises(RecordError, match="infinite"):
        IRWSmoother(nvr=1.0).process(times(y), np.full(10, np.inf))
