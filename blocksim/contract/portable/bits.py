"""What the other functions are built from: whole numbers, powers of two, exact sums and products.

Everything but `two_to` and `binary_exponent` is sums and products of doubles, which IEEE 754 fixes to the last bit; those two
read and write the exponent of a double, and compiled programs do it by its bits.
"""

from __future__ import annotations

import math

MAGIC = 6755399441055744.0  # 1.5 * 2^52: added and taken away again, it leaves the nearest_whole whole number


def two_to(n: float) -> float:
    """2^n for a whole n from -1022 to 1023."""
    return math.ldexp(1.0, int(n)) if -1022.0 <= n <= 1023.0 else math.nan


def binary_exponent(x: float) -> float:
    """The whole number k with 2^k <= x < 2^(k + 1), of a normal x above 0."""
    return math.frexp(x)[1] - 1.0 if 0.0 < x < math.inf else math.nan


def nearest_whole(x: float) -> float:
    """The nearest_whole whole number, for |x| < 2^51."""
    return (x + MAGIC) - MAGIC


def high_part(x: float) -> float:
    """The upper 26 bits of x; what is left has as many, so that products of parts are exact (|x| < 1e300)."""
    product = 134217729.0 * x
    return product - (product - x)


def product_rest(a: float, b: float, product: float) -> float:
    """a b - product, where product is a * b rounded: exact (Dekker)."""
    a_high = high_part(a)
    b_high = high_part(b)
    a_low = a - a_high
    b_low = b - b_high
    return ((a_high * b_high - product) + a_high * b_low + a_low * b_high) + a_low * b_low


def sum_rest(a: float, b: float, total: float) -> float:
    """a + b - total, where total is a + b rounded: exact for any sizes (Knuth)."""
    other = total - a
    return (a - (total - other)) + (b - other)


def times_two_to(x: float, n: float) -> float:
    """x 2^n for a whole n from -2044 to 2046, in two steps, so that results below the normal numbers come out."""
    half = nearest_whole(0.5 * n)
    return x * two_to(half) * two_to(n - half)
