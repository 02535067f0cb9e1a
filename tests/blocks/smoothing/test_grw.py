"""The general random walk smoother: against the integrated one, dense covariances, and data that it made itself."""

import numpy as np
import pytest

import blocksim as bs
from blocks.smoothing.grw import GRWSmoother, filter_samples
from blocks.smoothing.irw import IRWSmoother
from blocksim.errors import RecordError

STEP = 0.5


def walk(samples, alpha, beta, gamma, level, slope, sigma, seed=1):
    """A general random walk, and its noisy samples."""
    draw = np.random.default_rng(seed)
    x, v, states = 0.0, 0.0, []
    for _ in range(samples):
        states.append((x, v))
        x = alpha * x + beta * v + level * sigma * draw.standard_normal()
        v = gamma * v + slope * sigma * draw.standard_normal()
    x, v = np.array(states).T
    return x, v, x + sigma * draw.standard_normal(samples)


@pytest.mark.parametrize("nvr", [1.0, 1e-3, 1e-8])
@pytest.mark.parametrize("missing", [(), (0, 1, 30, *range(80, 95), 199)], ids=["all", "missing"])
def test_its_default_is_the_integrated_random_walk(nvr, missing):
    y = 7 + walk(200, 1, 1, 1, 0, 0.03, 0.2)[2]
    y[list(missing)] = np.nan
    t = STEP * np.arange(len(y))
    ours, theirs = GRWSmoother(nvr=nvr), IRWSmoother(nvr=nvr)
    found, expected = ours.process(t, y), theirs.process(t, y)
    assert found[0] == pytest.approx(expected[0], rel=1e-9)
    assert found[1][1:] == pytest.approx(expected[1][1:], rel=1e-6, abs=1e-9)
    assert found[2] == pytest.approx(expected[3], rel=1e-6)
    assert np.all(found[3][1:] >= expected[4][1:] * (1 - 1e-9))  # the mean of two deviations is never too small
    assert ours.result["sigma_e"] == pytest.approx(theirs.result["sigma_e"], rel=1e-9)
    assert ours.result["log_likelihood"] == pytest.approx(theirs.result["log_likelihood"], rel=1e-9)


@pytest.mark.parametrize("missing", [(), (0, 3, 20, *range(30, 40))], ids=["all", "missing"])
def test_means_and_standard_deviations_are_those_of_the_dense_solution(missing):
    alpha, beta, gamma, delta, kappa, nvr, N = 0.97, 0.8, 0.9, 0.5, 1.2, (0.02, 0.003), 60
    y = walk(N, alpha, beta, gamma, 0.1, 0.06, 0.2)[2]
    y[list(missing)] = np.nan
    there = ~np.isnan(y)
    A, Q = np.array([[alpha, beta], [0, gamma]]), np.diag([delta**2 * nvr[0], kappa**2 * nvr[1]])
    moves = np.zeros((2 * (N - 1), 2 * N))
    for k in range(N - 1):
        moves[2 * k : 2 * k + 2, 2 * k : 2 * k + 2], moves[2 * k : 2 * k + 2, 2 * k + 2 : 2 * k + 4] = -A, np.eye(2)
    weight = np.kron(np.eye(N - 1), np.linalg.inv(Q))
    seen = np.zeros((N, 2 * N))
    seen[np.arange(N), 2 * np.arange(N)] = there
    covariance = np.linalg.inv(moves.T @ weight @ moves + seen.T @ seen)
    mean = covariance @ seen.T @ np.nan_to_num(y)
    left = np.sum((np.nan_to_num(y) - seen @ mean) ** 2) + (moves @ mean) @ weight @ (moves @ mean)
    sigma = np.sqrt(left / (there.sum() - 2))
    block = GRWSmoother(alpha=alpha, beta=beta, gamma=gamma, delta=delta, kappa=kappa, nvr=list(nvr), differences="forward")
    x, dx, std_x, std_dx = block.process(STEP * np.arange(N), y)
    assert x == pytest.approx(mean[::2], rel=1e-8) and dx == pytest.approx(beta * mean[1::2] / STEP, rel=1e-8)
    assert block.result["sigma_e"][0] == pytest.approx(sigma, rel=1e-9)
    deviations = sigma * np.sqrt(np.diag(covariance))
    assert std_x == pytest.approx(deviations[::2], rel=1e-8)
    assert std_dx == pytest.approx(beta * deviations[1::2] / STEP, rel=1e-8)


def test_a_level_without_slope_is_a_random_walk():
    y = walk(100, 1, 0, 1, 0.3, 0, 1.0)[2]
    D = np.diff(np.eye(100), axis=0)
    expected = np.linalg.solve(np.eye(100) + D.T @ D / 0.09, y)
    x, dx, *_ = GRWSmoother(beta=0, delta=1, nvr=0.09).process(STEP * np.arange(100), y)
    assert x == pytest.approx(expected, rel=1e-9) and not dx.any()


def test_likelihood_finds_both_ratios_and_the_intervals_hold():
    x, v, y = walk(4000, 1, 1, 0.95, 0.3, 0.02, 1.0, seed=4)
    block = GRWSmoother(gamma=0.95, delta=1, nvr=[0, 0], differences="forward")
    found = block.process(STEP * np.arange(len(y)), y)
    assert np.log10(block.result["nvr"][0]) == pytest.approx(np.log10([0.09, 4e-4]), abs=0.3)
    assert block.result["sigma_e"][0] == pytest.approx(1.0, abs=0.05)
    for truth, value, std in ((x, found[0], found[2]), (v / STEP, found[1], found[3])):
        assert np.mean(np.abs(value - truth) < 1.96 * std) == pytest.approx(0.95, abs=0.03)


def test_compiled_it_gives_the_same():
    from numba import njit

    y = walk(50, 1, 1, 1, 0, 0.1, 1.0)[2]
    kept = np.empty((2, 50, 5))
    sums = [
        run(y, 1.0, 1.0, 0.9, 0.1, 0.01, False, out)
        for run, out in zip((filter_samples, njit(filter_samples)), kept, strict=True)
    ]
    assert sums[1] == pytest.approx(sums[0], rel=1e-12) and kept[1] == pytest.approx(kept[0], rel=1e-12)


def test_mistakes_are_told():
    with pytest.raises(RecordError, match="at least 3 samples"):
        GRWSmoother(nvr=1).process(np.arange(3.0), np.array([1.0, np.nan, 2.0]))
    text = GRWSmoother.example.replace("gamma: 0.98, nvr: 1e-2", "kappa: 0")
    with pytest.raises(bs.DiagramError, match="one noise at least"):
        bs.simulate(text)
