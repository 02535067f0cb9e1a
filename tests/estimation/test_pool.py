"""Fits of several records as one: statsmodels' random effects, and the words where they disagree."""

from __future__ import annotations

import numpy as np
import pytest
from statsmodels.stats.meta_analysis import combine_effects

import blocksim as bs
from blocksim.estimation.estimates import Estimates


def fit_of(value, std, name="k1"):
    return Estimates.of("CLOE", [name], [value], [std])


def test_it_is_the_random_effects_mean_of_statsmodels():
    rng = np.random.default_rng(3)
    values, stds = rng.normal(5, 1.0, size=6), rng.uniform(0.2, 0.8, size=6)
    other = combine_effects(values, stds**2, method_re="dl")
    one = bs.pool([fit_of(v, s) for v, s in zip(values, stds, strict=True)])
    assert one["k1"].value == pytest.approx(other.mean_effect_re, rel=1e-9)
    assert one["k1"].std == pytest.approx(other.sd_eff_w_re, rel=1e-9)
    assert one.details["between"][0] == pytest.approx(np.sqrt(other.tau2), rel=1e-9)


def test_a_spring_that_differs_from_record_to_record_is_told():
    """6.3, 6.5 and 12.7e6 with claimed errors of 2 to 7 %."""
    one = bs.pool([fit_of(6.3e6, 0.13e6), fit_of(6.5e6, 0.3e6), fit_of(12.7e6, 0.9e6)])
    assert one.warnings == (
        "records disagree on k1 (6.3e+06 to 1.27e+07) by more than their intervals: the model misses something",
    )
    low, high = one["k1"].interval
    assert low < 6.3e6 and high > 11e6  # no longer a few per cent


def test_records_that_agree_narrow_the_interval():
    one = bs.pool([fit_of(6.3, 0.2), fit_of(6.5, 0.2), fit_of(6.4, 0.2), fit_of(6.35, 0.2)])
    assert one["k1"].std == pytest.approx(0.1) and not one.warnings


@pytest.mark.parametrize(
    "estimates, words",
    [
        ([fit_of(1.0, 0.1)], "at least two estimates are wanted, found 1"),
        ([fit_of(1.0, 0.1), fit_of(1.0, 0.1, "d")], "estimates of k1 and of d are not of the same parameters"),
        ([fit_of(1.0, 0.1), fit_of(np.nan, 0.1)], "leave out what was not found"),
    ],
)
def test_what_cannot_be_pooled_is_refused(estimates, words):
    with pytest.raises(bs.RecordError, match=words):
        bs.pool(estimates)
