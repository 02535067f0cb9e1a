"""Model choice: how often AIC and BIC take the model that is true, against what the criterion promises (docs/model_choice.py)."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parents[2] / "docs"))
from model_choice import CASES, choices


@pytest.mark.parametrize("case", list(CASES))
def test_the_larger_model_is_taken_where_it_is_true(case):
    counts = choices(case, True, range(3))
    assert counts == {"aic": 3, "bic": 3}


@pytest.mark.parametrize("case", [case for case, (*_, promise) in CASES.items() if promise is not None])
def test_the_smaller_model_mostly_stays_where_it_is_true(case):
    counts = choices(case, False, range(6))
    assert counts["aic"] <= 3 and counts["bic"] <= 1


@pytest.mark.slow
@pytest.mark.parametrize("case", list(CASES))
def test_rates_over_100_seeds(case):
    """In vain as often as promised, within what 100 draws allow (3 standard deviations); rightly always."""
    vain, right, promise = choices(case, False, range(100)), choices(case, True, range(100)), CASES[case][3]
    assert right == {"aic": 100, "bic": 100}
    assert vain["bic"] <= 3
    if promise is not None:
        assert vain["aic"] <= 100 * promise + 3 * (100 * promise * (1 - promise)) ** 0.5
