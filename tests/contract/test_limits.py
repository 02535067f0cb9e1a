"""The values a parameter may have: in, out, nearest, in words."""

from __future__ import annotations

import math

import pytest

from blocksim.contract.declarations import Param
from blocksim.contract.limits import Interval


def limits(**ends: float) -> Interval:
    return Param(doc="x", **ends).limits


@pytest.mark.parametrize(
    ("ends", "inside", "outside", "words"),
    [
        ({}, (-1e300, 0, 1e300), (), ""),
        ({"above": 0}, (1e-300, 5), (0, -1), "above 0"),
        ({"min": 0}, (0, 5), (-1e-300,), "at least 0"),
        ({"min": -1, "below": 2}, (-1, 1.999), (-1.001, 2), "at least -1 and below 2"),
        ({"above": 0, "max": 1}, (0.5, 1), (0, 1.001), "above 0 and at most 1"),
        ({"above": 0, "min": 2}, (2,), (1, 0), "at least 2"),
        ({"above": 2, "min": 2}, (3,), (2,), "above 2"),
    ],
)
def test_limits(ends, inside, outside, words):
    found = limits(**ends)
    assert all(found.contains(v) for v in inside) and not any(found.contains(v) for v in outside)
    assert not found.contains(math.nan) or not ends
    assert str(found) == words


@pytest.mark.parametrize("value", [-5.0, 0.0, 0.5, 1.0, 7.0])
def test_the_nearest_value_inside_is_inside(value):
    for ends in ({"above": 0, "below": 1}, {"min": 0, "max": 1}, {"above": -1e6, "below": 1e-6}):
        found = limits(**ends)
        assert found.contains(found.clip(value))
        assert found.clip(value) == value or not found.contains(value)


def test_an_end_that_is_excluded_is_kept_away_from_by_a_hair():
    low, high = limits(above=2.0, below=4.0).closed()
    assert low == pytest.approx(2 + 2e-9, abs=1e-15) and high == pytest.approx(4 - 4e-9, abs=1e-15)
    assert limits(above=0).closed() == (1e-12, math.inf)
    assert limits(min=0, max=3).closed() == (0, 3)
