"""Times as the fractions a person meant, and the base of which all are whole multiples."""

from __future__ import annotations

import math
from decimal import Decimal
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from blocksim.contract.times import common_base, exact

FRACTIONS = st.fractions(min_value=-1000, max_value=1000, max_denominator=10_000)


@pytest.mark.parametrize(
    ("written", "meant"),
    [
        (1e-3, Fraction(1, 1000)),
        (0.1, Fraction(1, 10)),
        (3, Fraction(3)),
        ("1/3", Fraction(1, 3)),
        (" 2 / 7 ", Fraction(2, 7)),
        ("-1.5e-2", Fraction(-3, 200)),
        (".5", Fraction(1, 2)),
        ("2.", Fraction(2)),
        (np.float64(0.002), Fraction(1, 500)),
        (np.int64(4), Fraction(4)),
        (Fraction(5, 9), Fraction(5, 9)),
    ],
)
def test_what_is_written_is_what_is_meant(written, meant):
    assert exact(written) == meant


@given(st.decimals(min_value=-1000, max_value=1000, places=9))
def test_a_float_means_the_decimals_it_was_written_with(number: Decimal):
    assert exact(float(number)) == Fraction(number)


@pytest.mark.parametrize(
    ("written", "words"),
    [
        (True, "found True"),
        (math.nan, "nan is not a finite time"),
        (-math.inf, "-inf is not a finite time"),
        ("1e999999999", "not a time"),
        ("1/0", "found '1/0', which is not a time"),
        ("soon", "found 'soon', which is not a time"),
        ("1_000", "not a time"),
        ("", "not a time"),
        ("1" * 61, "not a time"),
        (None, "found None"),
        ([1.0], r"found \[1.0\]"),
    ],
)
def test_what_is_no_time_is_refused(written, words):
    with pytest.raises(ValueError, match=words):
        exact(written)


def test_the_base_of_a_millisecond_and_a_third():
    assert common_base([Fraction(1, 1000), Fraction(1, 3)]) == Fraction(1, 3000)
    assert common_base([Fraction(3, 2), Fraction(9, 4)]) == Fraction(3, 4)


@pytest.mark.parametrize("times", [[], [Fraction(0)], [Fraction(0), Fraction(0)]])
def test_without_a_time_the_base_is_a_second(times):
    assert common_base(times) == 1


@given(st.lists(FRACTIONS.filter(bool), min_size=1, max_size=6))
def test_the_base_divides_every_time_and_none_larger_does(times):
    base = common_base(times)
    ticks = [time / base for time in times]
    assert base > 0 and all(tick.denominator == 1 for tick in ticks)
    assert math.gcd(*(tick.numerator for tick in ticks)) == 1
