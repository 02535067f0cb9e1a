"""sin, cos, tan in plain arithmetic: x = n pi/2 + r with |r| <= 0.8, then the kernels of fdlibm (Sun Microsystems, 1993)."""

from __future__ import annotations

from .bits import nearest_whole, product_rest, sum_rest

TWO_OVER_PI = 0.6366197723675814
# pi/2 in three parts of 33 bits, so that multiples up to 2^20 are exact, and the rest; then in three whole doubles
HALF_PI_1, HALF_PI_2, HALF_PI_3, HALF_PI_4 = (
    1.5707963267341256,
    6.077100506303966e-11,
    2.0222662487111665e-21,
    8.4784276603689e-32,
)
WHOLE_1, WHOLE_2, WHOLE_3 = 1.5707963267948966, 6.123233995736766e-17, -1.4973849048591833e-33
NEAR_ZERO, LAST_FRACTION = 1647099.0, 2251799813685248.0


def quarter_turns(x: float) -> tuple[float, float, float]:
    """n, r and what r lacks, with x = n pi/2 + r."""
    n = nearest_whole(x * TWO_OVER_PI)
    first = x - n * HALF_PI_1
    product = n * HALF_PI_2
    second = first - product
    lost = ((first - second) - product) - (n * HALF_PI_3 + n * HALF_PI_4)
    r = second + lost
    tail = (second - r) + lost
    if not abs(x) <= NEAR_ZERO:
        n, r, tail = quarter_turns_far(x)
    return n, r, tail


def quarter_turns_far(x: float) -> tuple[float, float, float]:
    """The same up to 2^51, with exact products; beyond that no fraction of a turn is left of x, and r is 0."""
    inside = x if abs(x) < LAST_FRACTION else 0.0 * x
    n = nearest_whole(inside * TWO_OVER_PI)
    product = n * WHOLE_1
    first = inside - product
    lost = -product_rest(n, WHOLE_1, product)
    product = n * WHOLE_2
    rest = product_rest(n, WHOLE_2, product)
    second = first + lost
    low = sum_rest(first, lost, second)
    third = second - product
    low = low + sum_rest(second, -product, third) - rest - n * WHOLE_3
    r = third + low
    return n, r, (third - r) + low


def sine_rest(r: float, tail: float) -> float:
    """sin(r + tail) - r."""
    z = r * r
    w = z * z
    p = 0.00833333333332249 + z * (-0.0001984126982985795 + z * 2.7557313707070068e-06)
    p = p + z * w * (-2.5050760253406863e-08 + z * 1.58969099521155e-10)
    v = z * r
    return -((z * (0.5 * tail - v * p) - tail) - v * -0.16666666666666632)


def cosine_rest(r: float, tail: float) -> float:
    """cos(r + tail) - (1 - r^2 / 2), where that difference is rounded."""
    z = r * r
    w = z * z
    p = z * (0.0416666666666666 + z * (-0.001388888888887411 + z * 2.480158728947673e-05))
    p = p + w * w * (-2.7557314351390663e-07 + z * (2.087572321298175e-09 + z * -1.1359647557788195e-11))
    half = 0.5 * z
    return ((1.0 - (1.0 - half)) - half) + (z * p - r * tail)


def sin(x: float) -> float:
    """The sine."""
    n, r, tail = quarter_turns(x)
    quarter = n - 4.0 * nearest_whole(0.25 * n)  # -2 to 2
    value = (1.0 - 0.5 * (r * r)) + cosine_rest(r, tail) if abs(quarter) == 1.0 else r + sine_rest(r, tail)
    value = -value if quarter < -0.5 or quarter > 1.5 else value
    return x if abs(x) < 1e-9 else value


def cos(x: float) -> float:
    """The cosine."""
    n, r, tail = quarter_turns(x)
    quarter = n - 4.0 * nearest_whole(0.25 * n)
    value = r + sine_rest(r, tail) if abs(quarter) == 1.0 else (1.0 - 0.5 * (r * r)) + cosine_rest(r, tail)
    return -value if quarter > 0.5 or quarter < -1.5 else value


def tan(x: float) -> float:
    """sin / cos, or -cos / sin in odd quarters: the quotient, then what it lacks."""
    n, r, tail = quarter_turns(x)
    odd = n - 2.0 * nearest_whole(0.5 * n - 0.25)
    sine_low = sine_rest(r, tail)
    cosine = 1.0 - 0.5 * (r * r)
    cosine_low = cosine_rest(r, tail)
    above = -cosine if odd > 0.5 else r
    above_low = -cosine_low if odd > 0.5 else sine_low
    under = r if odd > 0.5 else cosine
    under_low = sine_low if odd > 0.5 else cosine_low
    under = 1.0 if under == 0.0 else under
    whole = under + under_low
    value = (above + above_low) / whole
    product = value * under
    lack = ((above - product) - product_rest(value, under, product)) + (above_low - value * under_low)
    return x if abs(x) < 1e-9 else value + lack / whole
