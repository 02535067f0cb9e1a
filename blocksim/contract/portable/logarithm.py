"""log, log1p, log10 and powers in plain arithmetic: x = 2^k (1 + f), s = f / (2 + f), and the series of fdlibm in s^2."""

from __future__ import annotations

from math import copysign, inf, nan

from .bits import binary_exponent, nearest_whole, product_rest, sum_rest, times_two_to, two_to
from .exponential import LOG2_E, LOG_2_HIGH, LOG_2_LOW, exponential_rest

SMALLEST_NORMAL, ROOT_2 = 2.2250738585072014e-308, 1.4142135623730951
TENTH_HIGH, TENTH_LOW = 0.4342944818781689, 2.5082946711645275e-11  # 1 / log 10, the first in 32 bits
LOG10_2_HIGH, LOG10_2_LOW = 0.30102999566361177, 3.694239077158931e-13


def logarithm_parts(x: float) -> tuple[float, float]:
    """k and f, with x = 2^k (1 + f) and 1 + f between sqrt(1/2) and sqrt(2), of a finite x above 0."""
    moved = 54.0 if x < SMALLEST_NORMAL else -54.0 if x > 1e300 else 0.0
    normal = x * two_to(moved)
    k = binary_exponent(normal)
    mantissa = normal * two_to(-k)
    above = mantissa > ROOT_2
    mantissa = 0.5 * mantissa if above else mantissa
    k = k + 1.0 if above else k
    return k - moved, mantissa - 1.0


def logarithm_rest(f: float) -> float:
    """log(1 + f) - f + f^2 / 2."""
    s = f / (2.0 + f)
    z = s * s
    w = z * z
    odd = w * (0.3999999999940942 + w * (0.22222198432149784 + w * 0.15313837699209373))
    even = z * (0.6666666666666735 + w * (0.2857142874366239 + w * (0.1818357216161805 + w * 0.14798198605116586)))
    return s * (0.5 * f * f + (even + odd))


def log(x: float) -> float:
    """The natural logarithm; -inf at 0, nan below."""
    k, f = logarithm_parts(x if 0.0 < x < inf else 1.0)
    half = 0.5 * f * f
    result = k * LOG_2_HIGH - ((half - (logarithm_rest(f) + k * LOG_2_LOW)) - f)
    return result if 0.0 < x < inf else -inf if x == 0.0 else x if x > 0.0 else nan


def log1p(x: float) -> float:
    """log(1 + x); -inf at -1, nan below."""
    inside = x if -1.0 < x < inf else 0.0
    u = 1.0 + inside
    k, f = logarithm_parts(u)
    lost = sum_rest(1.0, inside, u) / u
    half = 0.5 * f * f
    result = k * LOG_2_HIGH - ((half - (logarithm_rest(f) + (k * LOG_2_LOW + lost))) - f)
    result = x if abs(x) < 1e-300 else result
    return result if -1.0 < x < inf else -inf if x == -1.0 else x if x > 0.0 else nan


def log10(x: float) -> float:
    """The logarithm to base 10; -inf at 0, nan below."""
    k, f = logarithm_parts(x if 0.0 < x < inf else 1.0)
    half = 0.5 * f * f
    high = f - half
    coarse = 4294967297.0 * high
    high = coarse - (coarse - high)  # 21 bits
    low = ((f - high) - half) + logarithm_rest(f)
    first = high * TENTH_HIGH
    second = k * LOG10_2_HIGH
    total = second + first
    rest = k * LOG10_2_LOW + (low + high) * TENTH_LOW + low * TENTH_HIGH
    result = total + (rest + ((second - total) + first))
    return result if 0.0 < x < inf else -inf if x == 0.0 else x if x > 0.0 else nan


def precise_logarithm(x: float) -> tuple[float, float]:
    """log x as a double and what it lacks, to some 2^-65 of it, for a finite x above 0."""
    k, f = logarithm_parts(x)
    under = 2.0 + f
    s = f / under
    product = s * under
    s_low = ((f - product) - product_rest(s, under, product) - s * sum_rest(2.0, f, under)) / under
    z = s * s
    z_low = product_rest(s, s, z) + 2.0 * s * s_low
    series = 0.4 + z * (0.2857142857142857 + z * (0.2222222222222222 + z * (0.18181818181818182 + z * 0.15384615384615385)))
    tail = 0.09523809523809523 + z * (0.08695652173913043 + z * (0.08 + z * 0.07407407407407407))
    tail = 0.13333333333333333 + z * (0.11764705882352941 + z * (0.10526315789473684 + z * tail))
    series = series + z * z * z * z * z * tail
    third = 0.6666666666666666 + z * series  # log(1 + f) = 2 s + s z third
    third_low = ((0.6666666666666666 - third) + z * series) + 3.700743415417188e-17 + z_low * series
    cube = s * z
    cube_low = product_rest(s, z, cube) + (s * z_low + s_low * z)
    bend = cube * third
    bend_low = product_rest(cube, third, bend) + (cube * third_low + cube_low * third)
    whole = k * LOG_2_HIGH
    first = whole + 2.0 * s
    rest = sum_rest(whole, 2.0 * s, first)
    second = first + bend
    rest = rest + sum_rest(first, bend, second) + (2.0 * s_low + (bend_low + k * LOG_2_LOW))
    total = second + rest
    return total, (second - total) + rest


def libm_pow(x: float, y: float) -> float:
    """x^y, by e^(y log |x|) in two doubles; the exceptions are those of IEEE 754."""
    size = abs(x)
    inside = 0.0 < size < inf
    exponent = y if abs(y) < 1e19 else 1e19 if y > 0.0 else -1e19
    exponent = 0.0 if y != y else exponent
    log_high, log_low = precise_logarithm(size if inside else 1.0)
    product = exponent * log_high
    bounded = product if abs(product) < 800.0 else 800.0 if product > 0.0 else -800.0
    low = product_rest(exponent, log_high, product) + exponent * log_low if abs(product) < 800.0 else 0.0
    n = nearest_whole(bounded * LOG2_E)
    above = bounded - n * LOG_2_HIGH
    below = n * LOG_2_LOW - low
    r = above - below
    rest = exponential_rest(r) + ((above - r) - below)
    total = 1.0 + r
    value = times_two_to(total + (((1.0 - total) + r) + rest), n)
    whole = y == whole_part(y)
    odd = whole and abs(y) < 9007199254740992.0 and 0.5 * y != whole_part(0.5 * y)
    grows = (size > 1.0) == (y > 0.0)
    value = value if inside and abs(y) < inf else inf if grows else 0.0
    value = 1.0 if size == 1.0 else value
    value = nan if x < 0.0 and not whole and inside else value
    value = -value if odd and copysign(1.0, x) < 0.0 else value
    value = nan if x != x or y != y else value
    return 1.0 if y == 0.0 or x == 1.0 else value


def whole_part(y: float) -> float:
    """y where it is a whole number, another number where it is not."""
    return nearest_whole(y) if abs(y) < 2251799813685248.0 else y
