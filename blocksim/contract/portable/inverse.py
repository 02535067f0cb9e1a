"""asin, acos, atan, atan2 in plain arithmetic, after fdlibm (Sun Microsystems, 1993)."""

from __future__ import annotations

from math import copysign, inf, nan, sqrt

from .bits import high_part, product_rest

HALF_PI, HALF_PI_LOW, QUARTER_PI, PI, PI_LOW = (
    1.5707963267948966, 6.123233995736766e-17, 0.7853981633974483, 3.141592653589793, 1.2246467991473532e-16
)  # fmt: skip


def arcsine_rest(z: float) -> float:
    """asin(x) / x - 1 for z = x^2 <= 1/4."""
    above = 0.20121253213486293 + z * (-0.04005553450067941 + z * (0.0007915349942898145 + z * 3.479331075960212e-05))
    above = z * (0.16666666666666666 + z * (-0.3255658186224009 + z * above))
    under = 1.0 + z * (-2.403394911734414 + z * (2.0209457602335057 + z * (-0.6882839716054533 + z * 0.07703815055590194)))
    return above / under


def asin(x: float) -> float:
    """The arc sine; nan outside -1 to 1."""
    size = abs(x)
    inside = size if size <= 1.0 else 1.0
    inner = inside < 0.5
    z = inside * inside if inner else 0.5 * (1.0 - inside)
    rest = arcsine_rest(z)
    root = sqrt(z)
    high = high_part(root)
    lack = (z - high * high) / (root + high) if root > 0.0 else 0.0
    edge = QUARTER_PI - ((2.0 * root * rest - (HALF_PI_LOW - 2.0 * lack)) - (QUARTER_PI - 2.0 * high))
    value = inside + inside * rest if inner else edge
    value = -value if x < 0.0 else value
    return x if size < 1e-9 else value if size <= 1.0 else nan


def acos(x: float) -> float:
    """The arc cosine; nan outside -1 to 1."""
    size = abs(x)
    inside = size if size <= 1.0 else 1.0
    inner = inside < 0.5
    z = inside * inside if inner else 0.5 * (1.0 - inside)
    rest = arcsine_rest(z)
    root = sqrt(z)
    high = high_part(root)
    lack = (z - high * high) / (root + high) if root > 0.0 else 0.0
    middle = HALF_PI - (x - (HALF_PI_LOW - x * rest))
    left = 2.0 * (HALF_PI - (root + (rest * root - HALF_PI_LOW)))
    right = 2.0 * (high + (rest * root + lack))
    return (middle if inner else right if x > 0.0 else left) if size <= 1.0 else nan


def arctangent(q: float, lack: float) -> tuple[float, float]:
    """atan(q + lack) as a double and what it lacks, for q from 0 to 1."""
    low = q < 0.4375
    middle = q < 0.6875
    above = q if low else 2.0 * q - 1.0 if middle else q - 1.0
    under = 1.0 if low else 2.0 + q if middle else 1.0 + q
    slope = 1.0 if low else 5.0 / (under * under) if middle else 2.0 / (under * under)
    z = above / under
    product = z * under
    lost = ((above - product) - product_rest(z, under, product)) / under if not low else 0.0
    tail = lost + slope * lack
    start = 0.0 if low else 0.4636476090008061 if middle else QUARTER_PI
    start_low = 0.0 if low else 2.2698777452961687e-17 if middle else 3.061616997868383e-17
    square = z * z
    fourth = square * square
    even = 0.09090887133436507 + fourth * (0.06661073137387531 + fourth * (0.049768779946159324 + fourth * 0.016285820115365782))
    even = square * (0.3333333333333293 + fourth * (0.14285714272503466 + fourth * even))
    odd = -0.0769187620504483 + fourth * (-0.058335701337905735 + fourth * -0.036531572744216916)
    odd = fourth * (-0.19999999999876483 + fourth * (-0.11111110405462356 + fourth * odd))
    rest = (start_low + tail / (1.0 + square)) - z * (even + odd)
    total = start + z
    return total, ((start - total) + z if start > 0.0 else 0.0) + rest


def atan(x: float) -> float:
    """The arc tangent."""
    size = abs(x)
    inner = size <= 1.0
    bounded = size if size < 1e300 else 1e300
    q = bounded if inner else 1.0 / bounded
    product = q * bounded
    lack = 0.0 if inner or size > 1e150 else ((1.0 - product) - product_rest(q, bounded, product)) * q
    angle, rest = arctangent(q, lack)
    turned = HALF_PI - angle
    value = angle + rest if inner else turned + (((HALF_PI - turned) - angle) + (HALF_PI_LOW - rest))
    value = -value if x < 0.0 else value
    return x if size < 1e-9 or x != x else value


def atan2(y: float, x: float) -> float:
    """The angle of the point (x, y), from -pi to pi; the exceptions are those of IEEE 754."""
    high = abs(y)
    wide = abs(x)
    steep = high > wide
    both = high == inf and wide == inf
    large = 1.0 if both else high if steep else wide
    small = 1.0 if both else wide if steep else high
    factor = 8.673617379884035e-19 if large > 1e290 else 4.149515568880993e180 if large < 1e-140 else 1.0
    large = large * factor
    small = small * factor
    under = large if 0.0 < large < inf else 1.0
    q = small / under if large < inf else 0.0
    product = q * under
    lack = ((small - product) - product_rest(q, under, product)) / under if 1e-250 < product and large < inf else 0.0
    angle, rest = arctangent(q, lack)
    turned = HALF_PI - angle
    rest = ((HALF_PI - turned) - angle) + (HALF_PI_LOW - rest) if steep else rest
    angle = turned if steep else angle
    left = copysign(1.0, x) < 0.0
    turned = PI - angle
    rest = ((PI - turned) - angle) + (PI_LOW - rest) if left else rest
    angle = turned if left else angle
    value = copysign(angle + rest, y)
    return nan if x != x or y != y else value
