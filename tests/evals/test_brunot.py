"""Brunot et al. (2017) with known truth: the result is one of bandwidth, not of the filter."""

from __future__ import annotations

from functools import cache

import numpy as np
import pytest
from short_studies import scores, short

import blocksim as bs

METHODS = ("classical", "irwsm1", "irwsm2")
NAMES = ("J", "Fv", "Fc", "Ms")
TRUTH = np.array([1.09, 5.62, 7.90, 2.22])  # Table 1, joint 2
GOOD = (("f", 50), ("factor", 200), ("share1", 0.895), ("share2", 2.336))  # NVR 1e-5: 45 and 117 Hz
POOR = (("f", 200), ("factor", 20), ("share1", 0.2237), ("share2", 0.584))


def kept(record):
    return {name: (e.vector(), e.details["relative_error"]) for name, e in record.estimates.items()}


@cache
def runs(*params, seeds=6):
    return bs.simulate_many("brunot2017/three_filters", params=[dict(params)], seeds=range(seeds), collect=kept)


def error(found, method, name):
    """Of each run, in % of the truth."""
    at = NAMES.index(name)
    return np.array([100 * (run[method][0][at] / TRUTH[at] - 1) for run in found])


def relative_error(found):
    return {m: np.mean([run[m][1] for run in found]) for m in METHODS}


def test_bandwidths_are_those_of_the_paper():
    """fs NVR^(1/2n) / 2 pi with NVR 1e-5 at 5 kHz."""
    f1, f2 = (5000 * 1e-5 ** (1 / (2 * n)) / (2 * np.pi) for n in (2, 3))
    for case in (GOOD, POOR):
        p = dict(case)
        assert (p["f"] * p["share1"], p["f"] * p["share2"]) == pytest.approx((f1, f2), rel=2e-3)


def test_good_knowledge_the_three_are_one():
    """Table 2: 5.1 % for all. Same seeds: differences of the methods have little noise."""
    found = runs(*GOOD)
    sizes = relative_error(found)
    assert max(sizes.values()) - min(sizes.values()) < 0.1 and 4 < sizes["classical"] < 6
    for method in METHODS[1:]:
        assert np.abs(error(found, method, "J") - error(found, "classical", "J")).max() < 0.3


def test_poor_knowledge_costs_the_classical_filter_most():
    """Table 2: 9.2, 7.5, 8.6 %. Table 3: zz1r 1.21, 1.25, 1.22 of 1.24, zz2r 1.03, 1.09, 1.05 of 1.09."""
    found = runs(*POOR)
    sizes = relative_error(found)
    assert sizes["irwsm1"] < sizes["irwsm2"] - 0.5 < sizes["classical"] - 0.7
    lost = {m: (error(found, m, "J") - error(runs(*GOOD), m, "J")).mean() for m in METHODS}
    assert lost["classical"] < lost["irwsm2"] - 0.3 and lost["irwsm2"] < lost["irwsm1"] - 0.7
    assert abs(lost["irwsm1"]) < 0.5 and -4 < lost["classical"] < -1.5


def test_at_one_bandwidth_they_tie():
    """The rows of the poor case at 45 Hz for all: what was won was the bandwidth."""
    found = runs(("f", 44.75), ("factor", 20))
    sizes = relative_error(found)
    assert max(sizes.values()) - min(sizes.values()) < 0.1
    for method in METHODS[1:]:
        for name, limit in zip(NAMES, (0.15, 0.1, 0.1, 0.05), strict=True):
            assert np.abs(error(found, method, name) - error(found, "classical", name)).max() < limit, (method, name)


def test_few_rows_forgive_any_bandwidth():
    """One row in 200: the parallel filter does what the first one left undone."""
    wide, right = runs(("f", 300), ("factor", 200), seeds=4), runs(*GOOD)[:4]
    for method in METHODS:
        assert np.abs(error(wide, method, "J") - error(right, method, "J")).max() < 0.6


@pytest.mark.parametrize("factor, low, high", [(20, -90, -50), (100, -40, -12)])
def test_rows_at_rest_bias_dry_friction(factor, low, high):
    """Measured on the real robot at one row in 100: -20 %. Leaving out rows below 1 % of the top speed is enough."""
    kept_all = runs(("slow", 0), ("factor", factor), seeds=4)
    moving = runs(("slow", 0.01), ("factor", factor), seeds=4)
    lost = error(kept_all, "classical", "Fc").mean() - error(moving, "classical", "Fc").mean()
    assert low < lost < high and abs(error(moving, "classical", "Fc").mean()) < 8


def test_likelihood_is_far_too_wide_for_order_2_only():
    """A smooth motion is no random walk: order 2 follows the noise, order 3 finds nearly the best bandwidth."""
    from blocks.smoothing.irw import IRWSmoother

    run = bs.simulate("brunot2017/three_filters")
    y, truth = run["encoder"], run["joint.qd"]
    grid = np.geomspace(20, 200, 11)

    def rms(smoother):
        return np.sqrt(np.mean((smoother.process(run.t, y)[1] - truth)[50:-50] ** 2))

    ratio = {}
    for order in (2, 3):
        best = grid[int(np.argmin([rms(IRWSmoother(order=order, bandwidth=f)) for f in grid]))]
        likely = IRWSmoother(order=order)
        rms(likely)
        ratio[order] = (likely.result["bandwidth"][0] / best) ** (2 * order)  # of the NVR
    assert ratio[2] > 50 and ratio[3] < 10


class TestStudies:
    """The studies themselves, in short. Seeds are shared, so differences between methods and settings have little noise."""

    def test_bandwidth(self):
        found = scores(short("brunot2017/bandwidth", repeat=1, sweep={"f": [20, 200]}), "f")
        J = {(m, f): found[m, "J", f]["bias_percent"] for m in METHODS for f in (20, 200)}
        assert max(abs(J[m, 20] - J["classical", 20]) for m in METHODS) < 0.3
        assert all(J[m, 200] < J[m, 20] - 1.3 for m in METHODS)

    def test_priors(self):
        """Table 3: inertia lost from good to poor knowledge is that of the classical filter first, IRWSM 1 last."""
        found = scores(short("brunot2017/priors", ("good2", "poor2", "matched2"), repeat=1))
        lost = {m: found[f"poor2.{m}", "J"]["bias_percent"] - found[f"good2.{m}", "J"]["bias_percent"] for m in METHODS}
        assert lost["classical"] < lost["irwsm2"] < lost["irwsm1"] - 0.7 and lost["classical"] < -1.5
        same = [found[f"matched2.{m}", "J"]["bias_percent"] for m in METHODS]
        assert max(same) - min(same) < 0.2

    def test_likelihood(self):
        """Without any knowledge order 3 keeps the inertia, order 2 and the rule of thumb lose it."""
        sweep = {"encoder.noise_std": [3], "factor": [20]}
        found = scores(short("brunot2017/likelihood", repeat=1, sweep=sweep))
        J = {m: found[m, "J"]["bias_percent"] for m in METHODS}
        assert J["irwsm1"] < J["irwsm2"] - 1 and J["classical"] < J["irwsm2"] - 1

    def test_slow_rows(self):
        sweep = {"slow": [0, 0.01], "factor": [20]}
        found = scores(short("brunot2017/slow_rows", ("joint1",), repeat=1, sweep=sweep), "slow")
        assert found["joint1", "Fc", 0]["bias_percent"] < -50 and abs(found["joint1", "Fc", 0.01]["bias_percent"]) < 8

    def test_scara(self):
        """The three agree at 8 Hz; far below the motion is distorted, most by the filter that smooths twice."""
        found = scores(short("brunot2017/scara", repeat=2, sweep={"f": [1.5, 8]}), "f")
        at = {(m, f): found[m, "ZZR1", f]["bias_percent"] for m in METHODS for f in (1.5, 8)}
        assert max(at[m, 8] for m in METHODS) - min(at[m, 8] for m in METHODS) < 0.3
        assert at["irwsm1", 1.5] > 5 > at["irwsm2", 1.5] > 1 and at["classical", 1.5] > 1
