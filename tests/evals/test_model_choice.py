"""Model choice: how often AIC and BIC take the model that is true, against what the criterion promises (docs/model_choice.py)."""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
import pytest

import blocksim as bs

sys.path.insert(0, str(Path(__file__).parents[2] / "docs"))
from model_choice import AXIS, CASES, GEAR, choices


@pytest.mark.parametrize("case", list(CASES))
def test_the_larger_model_is_taken_where_it_is_true(case):
    counts = choices(case, True, range(3))
    assert counts == {"aic": 3, "bic": 3}


@pytest.mark.parametrize("case", [case for case, (*_, promise) in CASES.items() if promise is not None])
def test_the_smaller_model_mostly_stays_where_it_is_true(case):
    counts = choices(case, False, range(6))
    assert counts["aic"] <= 3 and counts["bic"] <= 1


def test_the_smallest_gap_is_not_no_gap():
    """Why a gap is never taken in vain: with one, `elasto` never pulls; without one, the damper may."""
    gear = GEAR.partition("  shut:")[0]

    def speeds(gap: str) -> np.ndarray:
        text = AXIS.replace("  TRUTH\n", gear.replace("GAP", gap).strip("\n") + "\n")
        record = bs.simulate(text.replace("[push, y]", "[push, robot.w_m, robot.w_a]"))
        return np.r_[record["robot.w_m"], record["robot.w_a"]]

    none, least, less = (speeds(gap) for gap in ("0", "1e-9", "1e-7"))
    assert np.std(least - none) == pytest.approx(0.76 * 2e-3, rel=0.05) and np.std(least - less) < 0.01 * np.std(least - none)


@pytest.mark.slow
@pytest.mark.parametrize("case", list(CASES))
def test_rates_over_100_seeds(case):
    """In vain as often as promised, within what 100 draws allow (3 standard deviations); rightly always."""
    vain, right, promise = choices(case, False, range(100)), choices(case, True, range(100)), CASES[case][3]
    assert right == {"aic": 100, "bic": 100}
    assert vain["bic"] <= 3
    if promise is not None:
        assert vain["aic"] <= 100 * promise + 3 * (100 * promise * (1 - promise)) ** 0.5
