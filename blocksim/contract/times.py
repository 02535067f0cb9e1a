"""Time as whole ticks of an exact rational base: no drift, no comparison of floats."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable
from fractions import Fraction
from typing import Any

#: A time as people write one: 0.1, 3, '1/3', Fraction(1, 3).
Seconds = float | str | Fraction
TIME_PATTERN = re.compile(r"\s*[-+]?(\d+\s*/\s*\d+|(\d+\.?\d*|\.\d+)([eE][-+]?\d{1,3})?)\s*\Z")


def exact(value: Any) -> Fraction:
    """The rational a person meant: 1e-3 is 1/1000, '1/3' is a third. ValueError for anything else."""
    if isinstance(value, bool):
        raise ValueError(f"found {value!r}.")
    if isinstance(value, Fraction):
        return value
    if isinstance(value, int):
        return Fraction(value)
    if isinstance(value, float):
        if not math.isfinite(value):
            raise ValueError(f"{value} is not a finite time.")
        return Fraction(repr(float(value)))
    if isinstance(value, str):
        if len(value) > 60 or not TIME_PATTERN.match(
            value
        ):  # also keeps '1e999999999' from becoming a number of that many digits
            raise ValueError(f"found {value[:60]!r}, which is not a time.")
        try:
            return Fraction(value.replace(" ", ""))
        except (ValueError, ZeroDivisionError):
            raise ValueError(f"found {value!r}, which is not a time.") from None
    if hasattr(value, "item"):
        return exact(value.item())
    raise ValueError(f"found {value!r}.")


def common_base(times: Iterable[Fraction]) -> Fraction:
    """The largest base of which every time is a whole multiple (1 s when there is none)."""
    base = Fraction(0)
    for time in times:
        if time:
            base = Fraction(
                math.gcd(base.numerator * time.denominator, time.numerator * base.denominator),
                base.denominator * time.denominator,
            )
    return base or Fraction(1)
