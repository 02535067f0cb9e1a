"""exp, expm1, sinh, cosh, tanh in plain arithmetic: x = n log 2 + r with |r| <= 0.35, a polynomial in r, and a power of two."""

from __future__ import annotations

from math import inf

from .bits import high_part, nearest_whole, times_two_to, two_to

LOG2_E = 1.4426950408889634
LOG_2_HIGH, LOG_2_LOW = 0.6931471803691238, 1.9082149292705877e-10  # the first has 33 bits: whole multiples are exact
LARGEST, SMALLEST = 709.782712893384, -745.1332191019412  # where exp overflows and where nothing is left of it


def cubic_rest(r: float) -> float:
    """exp(r) - 1 - r - r^2 / 2 for |r| <= 0.35."""
    z = r * r
    low = 0.16666666666666666 * r + z * (0.041666666666666664 + r * 0.008333333333333333)
    middle = 0.001388888888888889 + r * 0.0001984126984126984 + z * (2.48015873015873e-05 + r * 2.7557319223985893e-06)
    high = 2.755731922398589e-07 + r * 2.505210838544172e-08 + z * (2.08767569878681e-09 + r * 1.6059043836821613e-10)
    fourth = z * z
    return z * (low + fourth * (middle + fourth * high))


def exponential_rest(r: float) -> float:
    """exp(r) - 1 - r for |r| <= 0.35."""
    z = r * r
    low = 0.5 + r * 0.16666666666666666 + z * (0.041666666666666664 + r * 0.008333333333333333)
    middle = 0.001388888888888889 + r * 0.0001984126984126984 + z * (2.48015873015873e-05 + r * 2.7557319223985893e-06)
    high = 2.755731922398589e-07 + r * 2.505210838544172e-08 + z * (2.08767569878681e-09 + r * 1.6059043836821613e-10)
    fourth = z * z
    return z * (low + fourth * (middle + fourth * high))


def exp(x: float) -> float:
    """e^x."""
    bounded = x if abs(x) < 746.0 else 746.0
    bounded = -746.0 if x < -746.0 else bounded
    n = nearest_whole(bounded * LOG2_E)
    above = bounded - n * LOG_2_HIGH
    below = n * LOG_2_LOW
    r = above - below
    rest = exponential_rest(r) + ((above - r) - below)
    total = 1.0 + r
    result = times_two_to(total + (((1.0 - total) + r) + rest), n)
    result = inf if x > LARGEST else result
    result = 0.0 if x < SMALLEST else result
    return x if x != x else result


def expm1(x: float) -> float:
    """e^x - 1."""
    bounded = x if abs(x) < 710.0 else 710.0
    bounded = -40.0 if x < -40.0 else bounded
    n = nearest_whole(bounded * LOG2_E)
    above = bounded - n * LOG_2_HIGH
    below = n * LOG_2_LOW
    r = above - below
    high = high_part(r)
    half = 0.5 * high * high  # exact, and most of what exp(r) has beyond 1 + r
    rest = ((above - r) - below) + (0.5 * (r - high) * (r + high) + cubic_rest(r))
    small = two_to(-(n if abs(n) < 80.0 else 80.0))
    base = 1.0 - small
    first = base + r
    lost = (base - first) + r if abs(base) >= abs(r) else (r - first) + base
    lost = lost + ((1.0 - base) - small if n >= 0.0 else 0.0)
    total = first + half
    lost = lost + ((first - total) + half)
    result = times_two_to(total + (lost + rest), n)
    result = inf if x > LARGEST else result
    result = -1.0 if x < -40.0 else result
    return x if abs(x) < 1e-300 or x != x else result


def tanh(x: float) -> float:
    """(e^(2x) - 1) / (e^(2x) + 1), from e^(2|x|) - 1."""
    size = abs(x)
    n = nearest_whole(size * 2.8853900817779268)
    above = 2.0 * size - n * LOG_2_HIGH
    below = n * LOG_2_LOW
    r = above - below
    rest = exponential_rest(r) + ((above - r) - below)
    power = two_to(n)
    base = 1.0 - two_to(-n)
    total = base + r
    lost = (base - total) + r if base > 0.0 else 0.0
    rest = lost + rest
    mantissa = total + rest
    grown = power * mantissa
    under = grown + 2.0
    result = grown / under
    left = 1.0 - result  # 2 / under: what grown and under lack is put right to first order
    lost = grown - (under - 2.0) if grown < 2.0 else 2.0 - (under - grown)
    result = result + 0.5 * left * (left * (power * ((total - mantissa) + rest)) - result * lost)
    result = 1.0 if size > 19.1 else result
    result = -result if x < 0.0 else result
    return x if size < 1e-9 or x != x else result


def sinh(x: float) -> float:
    """sinh(n log 2 + r) = sinh(n log 2) cosh(r) + cosh(n log 2) sinh(r)."""
    size = abs(x)
    n, r, tail, square = hyperbolic_parts(size)
    even, odd = hyperbolic_rests(r)
    a = 1.0 - square  # sinh(n log 2) and cosh(n log 2), both in units of 2^(n - 1)
    b = 1.0 + square
    high = high_part(r)
    first = b * high
    second = a + first
    lost = (a - second) + first if a >= abs(first) else (first - second) + a
    half = a * (0.5 * high * high)
    total = second + half
    lost = lost + ((second - total) + half)
    lost = lost + ((1.0 - a) - square)
    rest = lost + (b * (r - high) + (a * (even + 0.5 * (r - high) * (r + high)) + b * (odd + tail)))
    result = times_two_to(total + rest, n - 1.0)
    result = inf if size > 710.475860073944 else result
    result = -result if x < 0.0 else result
    return x if size < 1e-9 or x != x else result


def cosh(x: float) -> float:
    """cosh(n log 2 + r) = cosh(n log 2) cosh(r) + sinh(n log 2) sinh(r)."""
    size = abs(x)
    n, r, tail, square = hyperbolic_parts(size)
    even, odd = hyperbolic_rests(r)
    a = 1.0 - square  # sinh(n log 2) and cosh(n log 2), both in units of 2^(n - 1)
    b = 1.0 + square
    high = high_part(r)
    first = a * r
    second = b + first
    half = b * (0.5 * high * high)
    total = second + half
    lost = ((b - second) + first) + ((second - total) + half)
    lost = lost + (square - (b - 1.0))
    rest = lost + (b * (even + 0.5 * (r - high) * (r + high)) + a * (odd + tail))
    result = times_two_to(total + rest, n - 1.0)
    result = inf if size > 710.475860073944 else result
    return size if x != x else result


def hyperbolic_parts(size: float) -> tuple[float, float, float, float]:
    """n, r and what r lacks of size = n log 2 + r, and 2^(-2 n)."""
    y = size if size < 711.0 else 711.0
    n = nearest_whole(y * LOG2_E)
    above = y - n * LOG_2_HIGH
    below = n * LOG_2_LOW
    r = above - below
    return n, r, (above - r) - below, two_to(-2.0 * (n if n < 100.0 else 100.0))


def hyperbolic_rests(r: float) -> tuple[float, float]:
    """cosh(r) - 1 - r^2 / 2 and sinh(r) - r for |r| <= 0.35."""
    z = r * r
    even = 0.0013888888888888889 + z * (2.48015873015873e-05 + z * (2.755731922398589e-07 + z * 2.08767569878681e-09))
    odd = 0.0001984126984126984 + z * (2.7557319223985893e-06 + z * (2.505210838544172e-08 + z * 1.6059043836821613e-10))
    return z * z * (0.041666666666666664 + z * even), r * (z * (0.16666666666666666 + z * (0.008333333333333333 + z * odd)))
