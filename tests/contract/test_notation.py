"""Numbers and units as a person writes them, and colours that tell methods apart."""

import math

import pytest

from blocksim.notation import concise, unit_label
from blocksim.pictures.palette import look


@pytest.mark.parametrize(
    ("value", "std", "text"),
    [
        (0.030617, 3.3e-5, "0.03062(3)"),
        (0.05025, 0.00034, "0.0503(3)"),
        (95.1089, 0.1046, "95.11(10)"),
        (1.46123e6, 4321.0, "1.461(4)e6"),
        (-3.1648, 0.0443, "-3.16(4)"),
        (12.7, 12.2, "13(12)"),
        (203.5, 45.0, "204(45)"),
        (2.5e-7, 1.2e-9, "2.500(12)e-7"),
        (0.1, math.nan, "0.1"),
        (1.0, math.inf, "1"),
    ],
)
def test_the_uncertainty_stands_in_the_last_digits(value, std, text):
    assert concise(value, std) == text


def test_units_have_raised_exponents():
    assert unit_label("kg m^2") == "kg m²" and unit_label("rad s^-1") == "rad s⁻¹" and unit_label("N m s/rad") == "N m s/rad"


def test_eight_things_have_eight_colours_and_sixteen_have_sixteen_looks():
    assert len({look(n).colour for n in range(8)}) == 8 and len({look(n).mark for n in range(8)}) == 8
    assert len({look(n) for n in range(16)}) == 16
