"""Elementary functions in plain arithmetic: mpmath says what is right, and every way to run them gives the same bits."""

from __future__ import annotations

import math
import random

import mpmath
import pytest

from blocksim.contract.portable.text import meaning, names, portable_texts
from blocksim.contract.vocabulary import LIBM

mpmath.mp.prec = 200
ONE = {name: meaning(name) for name in LIBM if meaning(name) and name != "atan2"}
#: For each function the ranges of docs/speed.md; sign '+-' where both are meant, spread evenly or over powers of ten.
RANGES = {
    "sin": [(-20, 20), (-1.6e6, 1.6e6), (-1e12, 1e12)],
    "cos": [(-20, 20), (-1.6e6, 1.6e6), (-1e12, 1e12)],
    "tan": [(-20, 20), (-1.6e6, 1.6e6), (-1e12, 1e12)],
    "asin": [(-1, 1)],
    "acos": [(-1, 1)],
    "atan": [(-3, 3), (-1e6, 1e6)],
    "sinh": [(-1, 1), (-25, 25), (-710, 710)],
    "cosh": [(-1, 1), (-25, 25), (-710, 710)],
    "tanh": [(-1, 1), (-20, 20)],
    "exp": [(-1, 1), (-745, 709)],
    "expm1": [(-1, 1), (-40, 709)],
    "log": [(0.5, 2), (1e-300, 1e300)],
    "log10": [(0.5, 2), (1e-300, 1e300)],
    "log1p": [(-0.999, 1), (1e-9, 1e300)],
}
ALLOWED = {"tanh": 2.0}
NASTY = [0.0, -0.0, 1.0, -1.0, 0.5, -2.0, 3.0, 1e-310, -1e-310, 1e-20, 710.5, -745.5, 800.0, 1e5, 1e17, 1e308, -1e308]
NASTY += [math.inf, -math.inf, math.nan]
EXPONENTS = [0.0, -0.0, 1.0, -1.0, 2.0, -2.0, 3.0, -3.0, 0.7, -0.7, 1001.0, 1e300, math.inf, -math.inf, math.nan]


def error(true: mpmath.mpf, found: float) -> float:
    """In units of the last place."""
    return abs(float((mpmath.mpf(found) - true) / math.ulp(float(true))))


def draws(low: float, high: float, count: int, seed: int = 1) -> list[float]:
    """Evenly, and over the powers of ten where the range is above 0 and wide."""
    source = random.Random(seed)
    if low > 0 and high / low > 100:
        return [math.exp(source.uniform(math.log(low), math.log(high))) for _ in range(count)]
    return [source.uniform(low, high) for _ in range(count)]


@pytest.mark.parametrize("name", sorted(ONE))
@pytest.mark.parametrize("count", [400, pytest.param(100_000, marks=pytest.mark.slow)])
def test_accuracy(name, count):
    reference = getattr(mpmath, name)
    for low, high in RANGES[name]:
        worst = max(error(reference(mpmath.mpf(x)), ONE[name](x)) for x in draws(low, high, count) if x)
        assert worst <= ALLOWED.get(name, 1.0), (low, high)


@pytest.mark.parametrize("count", [400, pytest.param(100_000, marks=pytest.mark.slow)])
def test_accuracy_of_two_numbers(count):
    power, angle = meaning("libm_pow"), meaning("atan2")
    ranges = [((0.1, 10), (-10, 10)), ((1e-5, 1e5), (-60, 60)), ((0.99, 1.01), (-30000, 30000)), ((1e-300, 1e300), (-1, 1))]
    for base, exponent in ranges:
        for a, b in zip(draws(*base, count), draws(*exponent, count, 2), strict=True):
            assert error(mpmath.power(a, b), power(a, b)) <= 1.0, (a, b)
    for size in (1.0, 1e12, 1e150):
        for a, b in zip(draws(-size, size, count), draws(-1, 1, count, 2), strict=True):
            assert error(mpmath.atan2(a, b), angle(a, b)) <= 1.0, (a, b)


def agrees(found: float, expected: float) -> bool:
    """The same to rounding, the signs of zeros and infinities included."""
    if math.isnan(expected) or math.isinf(expected) or expected == 0:
        signs = math.isnan(expected) or math.copysign(1, found) == math.copysign(1, expected)
        return (math.isnan(found) if math.isnan(expected) else found == expected) and signs
    return math.isclose(found, expected, rel_tol=4e-16, abs_tol=1e-323)


@pytest.mark.parametrize("name", sorted(ONE))
def test_special_values_are_those_of_ieee_754(name):
    from blocksim.compiler.program import IEEE
    from blocksim.contract.vocabulary import WORDS

    reference = IEEE.get(name, WORDS[name].meaning)
    for x in NASTY:
        if name in ("sin", "cos", "tan") and 2.0**51 < abs(x) < math.inf:
            assert abs(ONE[name](x)) <= 1.0  # beyond the range: a number, and no more is said
        else:
            assert agrees(ONE[name](x), reference(x)), (x, ONE[name](x), reference(x))


def test_special_values_of_two_numbers():
    from blocksim.compiler.program import IEEE

    for x in NASTY:
        for y in [*EXPONENTS, *NASTY]:
            assert agrees(meaning("libm_pow")(x, y), IEEE["libm_pow"](x, y)), (x, y)
            assert agrees(meaning("atan2")(x, y), math.atan2(x, y)), (x, y)


def test_a_program_has_the_functions_it_uses_and_no_others():
    texts = portable_texts(["tanh"])
    assert [text.split("(")[0] for text in texts] == ["def exponential_rest", "def nearest_whole", "def tanh"]
    assert names() >= {"sin", "two_to"} and "math." not in "".join(portable_texts(LIBM))
