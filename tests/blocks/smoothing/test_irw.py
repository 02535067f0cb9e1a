"""The integrated random walk smoother: against Hodrick-Prescott, dense covariances, statsmodels, and data it made itself."""

import os
import subprocess
import sys
import tracemalloc
import warnings

import numpy as np
import pytest

import blocksim as bs
from blocks.smoothing.irw import LARGE, ROOM, IRWSmoother, half_amplitude, most_likely, passes
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


def statsmodels_walk(y, n):
    """statsmodels' own model: the smooth trend for order 2; for order 3, which it has no name for, its state space."""
    structural = pytest.importorskip("statsmodels.tsa.statespace.structural")
    if n == 2:
        model = structural.UnobservedComponents(y, "strend", use_exact_diffuse=True)
    else:
        from statsmodels.tsa.statespace.mlemodel import MLEModel

        class Walk(MLEModel):
            param_names = ["sigma2.irregular", "sigma2.trend"]

            def __init__(self):
                super().__init__(y, k_states=n, k_posdef=1)
                self["design"], self["selection"] = np.eye(n)[:1], np.eye(n)[:, -1:]
                self["transition"] = np.eye(n) + np.eye(n, k=1)
                self.ssm.initialize_diffuse()

            def update(self, params, **kwargs):
                params = super().update(params, **kwargs)
                self["obs_cov", 0, 0], self["state_cov", 0, 0] = params

            def transform_params(self, unconstrained):
                return unconstrained**2

            def untransform_params(self, constrained):
                return constrained**0.5

        model = Walk()
    model.ssm.tolerance = 0
    return model


@pytest.mark.parametrize("n", ORDERS)
def test_statsmodels_finds_the_same_states_and_the_same_ratio(n):
    _, y = walk(300, n, 0.02, 1.5)
    block = IRWSmoother(order=n, differences="forward")
    x, dx, ddx, std_x, std_dx, std_ddx = block.process(times(y), y)
    nvr, sigma = block.result["nvr"][0], block.result["sigma_e"][0]
    model = statsmodels_walk(y, n)
    smoothed = model.smooth([sigma**2, nvr * sigma**2])
    stds = np.sqrt(np.diagonal(smoothed.smoothed_state_cov))
    ours = [(x, std_x), (dx * STEP, std_dx * STEP), (ddx * STEP**2, std_ddx * STEP**2)]
    for k, (mean, std) in enumerate(ours[:n]):
        assert smoothed.smoothed_state[k] == pytest.approx(mean, abs=1e-8 * np.ptp(y))
        assert stds[:, k] == pytest.approx(std, rel=1e-6)
    # Theirs counts the n diffuse samples at a density of 1 / sqrt(2 pi) each.
    assert block.result["log_likelihood"][0] - smoothed.llf == pytest.approx(0.5 * n * np.log(2 * np.pi), abs=1e-6)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        fitted = model.fit([sigma**2, sigma**2 * 0.01], disp=0, method="lbfgs", pgtol=1e-10, factr=10, maxiter=500)
        fitted = model.fit(fitted.params, disp=0, method="nm", xtol=1e-9, ftol=1e-12, maxiter=2000)
    assert fitted.params[1] / fitted.params[0] == pytest.approx(nvr, rel=1e-3)
    assert np.sqrt(fitted.params[0]) == pytest.approx(sigma, rel=1e-4)  # (22)


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
    for share, above in ((0.1, 1.017), (0.25, 1.150)):
        assert np.arcsin(np.pi * share) / (np.pi * share) == pytest.approx(above, abs=5e-4)
        assert half_amplitude((2 * np.pi * share) ** (2 * n), n) / share == pytest.approx(above, abs=5e-4)


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
    _, y = walk(600, n, 1e-2, 1.0)
    y[[0, *range(40, 50), 599]] = np.nan
    results = []
    for compiled in (False, True):
        forward, backward = passes(n, compiled)
        limit, steady, out = np.zeros((n, n)), np.zeros(600, bool), np.zeros((6, 600))
        information = np.zeros((n * (n + 1) // 2, 600))
        sums = forward(y, 0.5, n, 1e-1, np.zeros(ROOM), limit, steady, information, out)
        assert 300 < np.count_nonzero(steady) < 580, "both ways of going on should be there"
        filtered = out.copy()
        backward(y, 0.5, n, 1e-1, True, np.arange(1.0, 7.0), np.zeros(ROOM), limit, steady, information, out)
        results.append([*sums, limit, steady, information, filtered, out])
    for interpreted, translated in zip(*results, strict=True):
        assert np.array_equal(interpreted, translated)


GAPS = {
    "none": (),
    "ends": (0, 1, 2, 498, 499),
    "single": (1, 3, 5, 200, 202, 496, 498),
    "long": (*range(100, 200), *range(330, 332)),
    "nearly all": (*range(3, 250), *range(251, 495)),
}


def dense(y, n, nvr, centred):
    """x, dx, ddx per sample and their deviations over sigma_e, by the normal equations of all samples, one before and two after.

    Solved by QR of [W; D / sqrt(nvr)], whose condition is the root of that of the equations themselves.
    """
    N = len(y)
    there = np.flatnonzero(~np.isnan(y))
    rows = np.vstack((np.eye(N + 3)[there + 1], np.diff(np.eye(N + 3), n, axis=0) / np.sqrt(nvr)))
    Q, R = np.linalg.qr(rows)
    root = np.linalg.inv(R)
    mean = root @ (Q[: len(there)].T @ y[there])
    one, k = np.eye(N + 3), np.arange(1, N + 1)
    late = k + (not centred)
    first = (one[k + 1] - one[k - 1]) / 2 if centred else one[k + 1] - one[k]
    wanted = one[k], first, one[late + 1] - 2 * one[late] + one[late - 1]
    return [row @ mean for row in wanted], [np.linalg.norm(row @ root, axis=1) for row in wanted]


@pytest.mark.parametrize("n", ORDERS)
@pytest.mark.parametrize("centred", [True, False], ids=["centred", "forward"])
@pytest.mark.parametrize("gaps", GAPS)
def test_constant_gains_and_gaps_between_them_change_nothing(n, centred, gaps):
    nvr = 0.3 ** (2 * n)
    y = 2.0 + np.sin(np.arange(500) / 40) + 0.1 * np.random.default_rng(2).standard_normal(500)
    y[list(GAPS[gaps])] = np.nan
    steady = np.zeros(500, bool)
    passes(n, False)[0](y, 2.0, n, nvr, np.zeros(ROOM), np.zeros((n, n)), steady, np.zeros((6, 500)), np.zeros((6, 500)))
    assert (np.count_nonzero(steady) > 50) == (gaps != "nearly all"), "much of it should be run with a constant gain"
    block = IRWSmoother(order=n, nvr=nvr, differences="centred" if centred else "forward")
    found = block.process(times(y), y)
    means, deviations = dense(y - 2.0, n, nvr, centred)
    means[0] += 2.0
    for power, (mean, deviation) in enumerate(zip(means, deviations, strict=True)):
        assert found[power] * STEP**power == pytest.approx(mean, abs=1e-9 * np.abs(mean).max())
        assert found[3 + power] * STEP**power == pytest.approx(block.result["sigma_e"][0] * deviation, rel=1e-9)


@pytest.mark.parametrize("n", ORDERS)
def test_a_narrow_band_keeps_its_digits(n):
    """A polynomial with noise, an NVR of 1e-12 and less: where the gain becomes constant nothing may jump."""
    k = np.arange(LARGE + 10_000.0)
    y = 1e3 + 0.1 * k + 1e-6 * k**2 + np.random.default_rng(4).standard_normal(len(k))
    block = IRWSmoother(order=n, nvr=1e-3 ** (2 * n) * 30)
    x, dx, _, std_x, std_dx, _ = block.process(k, y)
    flipped = block.process(k, y[::-1])
    assert np.abs(x - flipped[0][::-1]).max() < 1e-9 * np.ptp(y) and np.abs(dx + flipped[1][::-1]).max() < 1e-12 * np.ptp(y)
    assert flipped[3][::-1] == pytest.approx(std_x, rel=1e-10) and flipped[4][::-1] == pytest.approx(std_dx, rel=1e-10)
    assert np.abs(np.diff(std_x)).max() < 1e-2 * std_x.min()


@pytest.mark.parametrize("n", ORDERS)
@pytest.mark.parametrize("missing", [0, 2], ids=["all", "every other"])
def test_memory_is_a_few_numbers_per_sample(n, missing):
    peaks = []
    for samples in (2 * LARGE, 8 * LARGE):
        t, y = np.arange(float(samples)), np.sin(np.arange(samples) / 50)
        if missing:
            y[::missing] = np.nan
        block = IRWSmoother(order=n, nvr=1e-3)
        block.process(t, y)  # compiled and imported before it counts
        tracemalloc.start()
        kept = block.process(t, y)
        peaks.append(tracemalloc.get_traced_memory()[1] / samples / 8)
        tracemalloc.stop()
        assert len(kept) == 6
    assert peaks[1] == pytest.approx(peaks[0], rel=0.01)
    assert peaks[1] < 6 + n * (n + 1) / 2 + 1


def test_likelihood_stores_nothing_per_sample():
    y = walk(LARGE, 2, 1e-2, 1.0)[1]
    most_likely(y, 0.0, 2, LARGE)
    tracemalloc.start()
    most_likely(y, 0.0, 2, LARGE)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < LARGE


def test_what_was_compiled_is_found_on_disk(tmp_path):
    code = (
        "import sys, numba, blocks.smoothing.irw as irw\n"
        "with numba.core.event.install_recorder('numba:compile') as seen: irw.passes(2, True)\n"
        "print(len(seen.buffer))"
    )
    command, environment = [sys.executable, "-c", code], {**os.environ, "BLOCKSIM_CACHE": str(tmp_path / "cache")}
    counts = [int(subprocess.run(command, env=environment, check=True, capture_output=True).stdout) for _ in range(2)]
    assert counts[0] > 0 and counts[1] == 0
    lazy = "import sys, blocks.smoothing.irw; sys.exit('numba' in sys.modules)"
    subprocess.run([sys.executable, "-c", lazy], check=True)


def test_records_that_may_not_be_written_are_smoothed():
    both = np.column_stack([walk(LARGE + 1, 2, 1e-2, 1.0, seed)[1] for seed in (1, 2)])
    both.flags.writeable = False
    found = IRWSmoother(nvr=1e-2).process(times(both), both)
    alone = IRWSmoother(nvr=1e-2).process(times(both), both[:, 1])
    assert all(np.array_equal(wide[:, 1], narrow) for wide, narrow in zip(found, alone, strict=True))


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
