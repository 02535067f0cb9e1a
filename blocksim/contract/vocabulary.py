"""The functions a block's equations may call: each gives the same bits under CPython and in the compiled program."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from .matrices import MATRIX_WORDS as MATRIX_WORDS
from .matrices import add as add
from .matrices import alongside as alongside
from .matrices import array as array
from .matrices import block as block
from .matrices import chained as chained
from .matrices import chosen as chosen
from .matrices import diagonal as diagonal
from .matrices import divide as divide
from .matrices import dot as dot
from .matrices import identity as identity
from .matrices import multiply as multiply
from .matrices import outer as outer
from .matrices import part as part
from .matrices import rows as rows
from .matrices import scale as scale
from .matrices import stack as stack
from .matrices import subtract as subtract
from .matrices import symmetric as symmetric
from .matrices import transpose as transpose
from .matrices import zeros as zeros

inf, nan, pi, e, tau = math.inf, math.nan, math.pi, math.e, math.tau
sin, cos, tan, asin, acos, atan, atan2 = math.sin, math.cos, math.tan, math.asin, math.acos, math.atan, math.atan2
sinh, cosh, tanh, exp, expm1 = math.sinh, math.cosh, math.tanh, math.exp, math.expm1
log, log10, log1p, sqrt, copysign, libm_pow = (
    math.log, math.log10, math.log1p, math.sqrt, math.copysign, math.pow
)  # fmt: skip


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


def fmod(a: float, b: float) -> float:
    """What is left of a after whole multiples of b, with the sign of a."""
    return copysign(abs(a) % abs(b), a)


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


@dataclass(frozen=True)
class Word:
    """One name that equations may use, with everything the engine needs to know of it."""

    name: str
    #: What CPython calls; of a constant, its number.
    meaning: Any
    #: Where compiled programs have it from: 'libm' (imported), 'prelude' (written out), 'builtin' (Python's own), 'constant';
    #: a 'matrix' word is written out element by element.
    form: str
    #: Numbers it takes; 0 where that is open, and it is no function of numbers.
    takes: int = 1
    #: What IEEE 754 gives where CPython raises OverflowError or ValueError; None where it never does.
    outside: Callable[..., float] | None = None
    #: Another name of a word, which does the work.
    same_as: str = ""
    #: Never fails, whatever the numbers: may be computed before it is known whether it is needed.
    safe: bool = False


def infinite(*values: float) -> float:
    """Overflow of what grows; nan for what is outside the domain."""
    return nan if any(v != v or v in (inf, -inf) for v in values) else inf


def invalid(*values: float) -> float:
    return nan


def odd_infinite(a: float) -> float:
    """Overflow with the sign of the argument."""
    return copysign(inf, a)


def pole(at: float) -> Callable[[float], float]:
    """-inf at the pole of a logarithm, nan below it."""
    return lambda a: -inf if a == at else nan


def power_outside(a: float, b: float) -> float:
    """Overflow, the pole at zero, a root of a negative number."""
    odd = b % 2.0 == 1.0
    if a == 0.0:
        return copysign(inf, a) if odd else inf
    if b != int(b) and a < 0.0:
        return nan
    return -inf if a < 0.0 and odd else inf


def libm(name: str, takes: int = 1, outside: Callable[..., float] | None = None, safe: bool = False) -> Word:
    return Word(name, getattr(math, name), "libm", takes, outside, safe=safe)


def prelude(meaning: Callable[..., float], takes: int = 1, safe: bool = False) -> Word:
    return Word(meaning.__name__, meaning, "prelude", takes, safe=safe)


#: The table. Derivatives stand in tracing/derivative_rules.py, one for each function of numbers.
WORDS: dict[str, Word] = {
    word.name: word
    for word in (
        *(libm(name, 1, invalid) for name in ("sin", "cos", "tan", "asin", "acos", "sqrt")),
        libm("atan", safe=True),
        libm("atan2", 2, safe=True),
        libm("sinh", 1, odd_infinite),
        libm("cosh", 1, infinite),
        libm("tanh", safe=True),
        libm("exp", 1, infinite),
        libm("expm1", 1, infinite),
        libm("log", 1, pole(0.0)),
        libm("log10", 1, pole(0.0)),
        libm("log1p", 1, pole(-1.0)),
        libm("copysign", 2, safe=True),
        *(prelude(meaning) for meaning in (floor, ceil, round_half_even)),
        *(prelude(meaning, safe=True) for meaning in (sign, square, cube)),
        *(prelude(meaning, 2, safe=True) for meaning in (maximum, minimum)),
        *(prelude(meaning, 2) for meaning in (hypot, fmod, power, power_int)),
        Word("abs", abs, "builtin", safe=True),
        Word("bool", bool, "builtin", safe=True),
        Word("float", float, "builtin", safe=True),
        Word("int", int, "builtin"),
        Word("len", len, "builtin", 0),
        Word("range", range, "builtin", 0),
        Word("max", max, "builtin", 0, same_as="maximum"),
        Word("min", min, "builtin", 0, same_as="minimum"),
        Word("round", round, "builtin", 1, same_as="round_half_even"),
        Word("pow", power, "builtin", 2, same_as="power"),
        *(Word(meaning.__name__, meaning, "matrix", 0) for meaning in MATRIX_WORDS),
        *(Word(name, getattr(math, name), "constant", 0) for name in ("pi", "tau", "e", "inf", "nan")),
    )
}
LIBM, PRELUDE, BUILTINS, MATRIX, CONSTANT_NAMES = (
    tuple(w.name for w in WORDS.values() if w.form == form) for form in ("libm", "prelude", "builtin", "matrix", "constant")
)
CONSTANTS: dict[str, float] = {name: WORDS[name].meaning for name in CONSTANT_NAMES}
VOCABULARY = tuple(WORDS)
#: Functions of numbers by the name under which they run.
FUNCTIONS: dict[str, Word] = {n: w for n, w in WORDS.items() if w.takes and not w.same_as}


def power_form(exponent: float | None) -> tuple[str, Any]:
    """How a number is raised to an exponent that may be known: the word that does it, and what more it takes.

    Whole powers are products and square roots sqrt, which is faster than libm's pow.
    """
    count = exponent
    if isinstance(count, float) and count.is_integer() and abs(count) < 64:
        count = int(count)
    if count in (0.5, -0.5):
        return ("sqrt", None) if count == 0.5 else ("1/sqrt", None)
    if isinstance(count, int):
        return {2: ("square", None), 3: ("cube", None)}.get(count, ("power_int", count))
    return ("power", None)


__all__ = ["BUILTINS", "CONSTANTS", "FUNCTIONS", "LIBM", "PRELUDE", "VOCABULARY", "WORDS", "Word", "power_form"]
__all__ += [name for name, word in WORDS.items() if word.form != "builtin"]
