"""Confidence intervals of scores against scipy and statsmodels, and against what they promise."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy import stats
from statsmodels.stats.proportion import proportion_confint

from blocksim.studies import scores
from blocksim.studies.budget import arms, budget, distinct

RNG = np.random.default_rng(1)


def test_mean_and_std_intervals_are_those_of_the_textbook():
    x = RNG.normal(3.0, 2.0, 17)
    mean, low, high = scores.mean_interval(x)
    assert (low, high) == pytest.approx(stats.t.interval(0.95, 16, loc=x.mean(), scale=stats.sem(x))) and mean == x.mean()
    std, low, high = scores.std_interval(x)
    chi = stats.chi2.ppf([0.975, 0.025], 16)
    assert (std, low, high) == pytest.approx((x.std(ddof=1), *(x.std(ddof=1) * np.sqrt(16 / chi))))


@pytest.mark.parametrize(("hits", "n"), [(0, 10), (95, 100), (10, 10), (3, 7)])
def test_shares_have_wilsons_interval(hits, n):
    share, low, high = scores.share_interval(hits, n)
    assert (low, high) == pytest.approx(proportion_confint(hits, n, method="wilson"), abs=1e-12) and share == hits / n


def test_intervals_cover_as_often_as_they_say():
    n, studies = 30, 3000
    for bias in (0.0, 0.5, 3.0):
        x = RNG.normal(bias, 1.0, (studies, n))
        truths = {"mean_interval": bias, "std_interval": 1.0, "rms_interval": math.hypot(1.0, bias)}
        for name, truth in truths.items():
            found = [getattr(scores, name)(row) for row in x]
            share = np.mean([low <= truth <= high for _, low, high in found])
            slack = 4 * math.sqrt(0.05 * 0.95 / studies)
            assert share == pytest.approx(0.95, abs=slack), (name, bias)


def test_nees_and_where_it_lies():
    P = np.array([[2.0, 0.5], [0.5, 1.0]])
    e = np.array([1.0, -2.0])
    assert scores.nees(e, P) == pytest.approx(e @ np.linalg.inv(P) @ e)
    assert math.isnan(scores.nees(e, -P))
    assert scores.consistent_interval(2, 50) == pytest.approx(tuple(stats.chi2.ppf([0.025, 0.975], 100) / 50))


def test_few_runs_have_no_intervals():
    assert math.isnan(scores.mean_interval(np.array([1.0]))[1]) and math.isnan(scores.mean_interval(np.zeros(0))[0])
    assert math.isnan(scores.std_interval(np.array([1.0]))[0]) and math.isnan(scores.share_interval(0, 0)[0])


def test_truth_zero_has_no_percentages_and_unknown_truth_no_bias():
    ones = np.ones(5)
    zero = scores.score_runs(ones, 0 * ones, ones, 2 * ones, np.nan * ones)
    assert zero["bias"] == 1 and math.isnan(zero["bias_percent"]) and zero["coverage"] == 1 and math.isnan(zero["crb_ratio"])
    unknown = scores.score_runs(np.arange(5.0), np.nan * ones, ones, 2 * ones, np.nan * ones)
    assert math.isnan(unknown["bias"]) and unknown["std"] == pytest.approx(math.sqrt(2.5)) and not unknown["bias_significant"]
    assert math.isnan(unknown["coverage"])


def test_arms_and_those_that_are_the_same():
    sets = {"a": {"x": 0}, "b": {"y": 0}}
    kept, stands = distinct(arms(sets, alone=True))
    assert [name for name, _ in kept] == ["full", "without a", "without b", "ideal"]
    assert stands["only a"] == "without b" and stands["only b"] == "without a"


def test_a_budget_uses_pairs_only():
    full, off = np.array([1.0, 2.0, np.nan, 4.0]), np.array([0.5, np.nan, 1.0, 3.0])
    lines = {line["defect"]: line for line in budget({"full": full, "without a": off, "ideal": off})}
    assert lines["a"]["n"] == 2 and lines["a"]["effect"] == pytest.approx(0.75) and lines["(bias)"]["n"] == 3


def test_what_follows_from_each_other_has_no_nees_and_what_is_not_determined_no_coverage():
    singular = np.array([[1.0, 2.0], [2.0, 4.0]])
    assert math.isnan(scores.nees(np.array([1.0, 2.0]), singular))
    units = np.diag([1e-6, 1e6])  # of parameters, which differ by decades, is no reason
    assert scores.nees(np.array([1e-3, 1e3]), units) == pytest.approx(2.0)
    endless = np.full(4, np.inf)
    found = scores.score_runs(np.ones(4), np.zeros(4), endless, np.full(4, 1.96), np.full(4, np.nan))
    assert math.isnan(found["coverage"])
