"""The functions a block's equations may call: each gives the same bits under CPython and in the compiled program."""

from __future__ import annotations

import math

#: Straight from libm, which CPython and the compiled program share.
LIBM = (
    "sin",
    "cos",
    "tan",
    "asin",
    "acos",
    "atan",
    "atan2",
    "sinh",
    "cosh",
    "tanh",
    "exp",
    "expm1",
    "log",
    "log10",
    "log1p",
    "sqrt",
    "copysign",
)
CONSTANTS = {"pi": math.pi, "inf": math.inf, "nan": math.nan, "e": math.e, "tau": math.tau}
#: Written out in the program's prelude, because the two disagree on corner cases (ties of signed zeros, integers for floor).
PRELUDE = ("floor", "ceil", "round_half_even", "sign", "maximum", "minimum", "hypot", "power", "square", "cube", "power_int")
#: Python's own words.
BUILTINS = ("abs", "bool", "float", "int", "len", "max", "min", "range", "round")
VOCABULARY = (*LIBM, *CONSTANTS, *PRELUDE, *BUILTINS)


def floor(x: float) -> float:
    """The largest whole number not above x, as a float."""
    if not abs(x) < 4503599627370496.0:
        return x
    whole = float(int(x))
    return whole - 1.0 if whole > x else whole


def ceil(x: float) -> float:
    """The smallest whole number not below x, as a float."""
    return -floor(-x)


def round_half_even(x: float) -> float:
    """The nearest whole number, ties to even, as a float."""
    if not abs(x) < 4503599627370496.0:
        return x
    below = floor(x)
    rest = x - below
    if rest > 0.5 or (rest == 0.5 and below != 2.0 * floor(0.5 * below)):
        return below + 1.0
    return below


def sign(x: float) -> float:
    """-1, 0 or 1."""
    return 1.0 if x > 0.0 else (-1.0 if x < 0.0 else 0.0)


def maximum(a: float, b: float) -> float:
    """The larger; the first where they tie."""
    return b if b > a else a


def minimum(a: float, b: float) -> float:
    """The smaller; the first where they tie."""
    return b if b < a else a


def hypot(a: float, b: float) -> float:
    """sqrt(a^2 + b^2)."""
    return sqrt(a * a + b * b)


def power(a: float, b: float) -> float:
    """a to the power b."""
    return libm_pow(a, b)


def square(a: float) -> float:
    """a^2."""
    return a * a


def cube(a: float) -> float:
    """a^3."""
    return a * a * a


def power_int(a: float, n: int) -> float:
    """a to a whole power, by products."""
    result = 1.0
    for _ in range(abs(n)):
        result = result * a
    return result if n >= 0 else 1.0 / result


from math import (  # noqa: E402  # noqa: E402
    acos,
    asin,
    atan,
    atan2,
    copysign,
    cos,
    cosh,
    e,
    exp,
    expm1,
    inf,
    log,
    log1p,
    log10,
    nan,
    pi,
    sin,
    sinh,
    sqrt,
    tan,
    tanh,
    tau,
)
from math import pow as libm_pow  # noqa: E402

__all__ = [
    "BUILTINS",
    "CONSTANTS",
    "LIBM",
    "PRELUDE",
    "VOCABULARY",
    "acos",
    "asin",
    "atan",
    "atan2",
    "ceil",
    "copysign",
    "cos",
    "cosh",
    "cube",
    "e",
    "exp",
    "expm1",
    "floor",
    "hypot",
    "inf",
    "log",
    "log1p",
    "log10",
    "maximum",
    "minimum",
    "nan",
    "pi",
    "power",
    "power_int",
    "round_half_even",
    "sign",
    "sin",
    "sinh",
    "sqrt",
    "square",
    "tan",
    "tanh",
    "tau",
]
