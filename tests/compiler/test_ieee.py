"""Programs under CPython follow IEEE 754 where Python would raise: numpy, which follows it too, says what is right."""

from __future__ import annotations

import math

import numpy as np
import pytest

import blocksim as bs
from blocksim.compiler.program import IEEE, ieee
from blocksim.contract.block import Block, inport, outport

NUMPY = {"asin": "arcsin", "acos": "arccos"}
NASTY = [0.0, -0.0, 1.0, -1.0, 0.5, -2.0, 3.0, 1e-310, 710.5, -745.5, 1e5, 1e308, -1e308, math.inf, -math.inf, math.nan]
EXPONENTS = [0.0, 1.0, -1.0, 2.0, -2.0, 3.0, -3.0, 0.7, -0.7, 1001.0, math.inf, -math.inf, math.nan]


def same(found: float, expected: float) -> bool:
    """Equal to rounding, nan and the signs of infinity and zero included."""
    if math.isnan(expected) or math.isinf(expected) or expected == 0:
        signs = math.isnan(expected) or math.copysign(1, found) == math.copysign(1, expected)
        return bool(np.array_equal(found, expected, equal_nan=True)) and signs
    return math.isclose(found, expected, rel_tol=1e-13, abs_tol=1e-322)


@pytest.mark.parametrize("name", sorted(IEEE.keys() - {"divide", "remainder", "quotient", "fmod", "libm_pow"}))
def test_functions_of_nasty_numbers(name):
    reference = getattr(np, NUMPY.get(name, name))
    for value in NASTY:
        if name in ("sin", "cos", "tan") and abs(value) > 1e6 and math.isfinite(value):
            continue  # how many digits of pi a library knows is not the matter here
        with np.errstate(all="ignore"):
            expected = float(reference(value))
        assert same(IEEE[name](value), expected), f"{name}({value}) is {IEEE[name](value)}, not {expected}"


@pytest.mark.parametrize("exponent", EXPONENTS)
def test_powers_of_nasty_numbers(exponent):
    for base in NASTY:
        with np.errstate(all="ignore"):
            expected = float(np.power(np.float64(base), np.float64(exponent)))
        found = IEEE["libm_pow"](base, exponent)
        assert same(found, expected), f"{base}**{exponent} is {found}, not {expected}"


def test_quotients_of_nasty_numbers():
    for a in NASTY:
        for b in NASTY:
            with np.errstate(all="ignore"):
                expected = float(np.float64(a) / np.float64(b))
            assert same(IEEE["divide"](a, b), expected), f"{a}/{b} is {IEEE['divide'](a, b)}, not {expected}"


def test_every_division_of_a_text_is_one_that_does_not_raise():
    names = dict(IEEE)
    exec(
        compile(ieee("def f(a, b, c):\n    a = a / b\n    a /= c\n    d = [a]\n    d[0] /= b\n    return d[0]\n"), "x", "exec"),
        names,
    )
    assert names["f"](1.0, 4.0, 2.0) == 1 / 32
    assert names["f"](1.0, 4.0, 0.0) == math.inf and math.isnan(names["f"](0.0, 0.0, 1.0))


@pytest.mark.parametrize("engine", ["python", "compiled"])
def test_a_division_in_place_by_nothing_is_infinity(engine):
    diagram = bs.Diagram()
    diagram.add("u", "Constant", value=0.0)
    diagram.add("halves", Halves(), inputs="u")
    assert list(bs.simulate(diagram, stop=1, every=0.5, engine=engine)["halves"]) == [math.inf] * 3


class Halves(Block):
    """y = 1/u/2, in a loop that is not written out."""

    u = inport("input")
    y = outport("output")

    @staticmethod
    def output(u):
        y, n = 1.0, 0
        while n < 2:
            y /= u if n == 0 else 2.0
            n += 1
        return y
