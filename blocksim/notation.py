"""Numbers, settings and units as a person writes them: 1000 not 1e+03, 0.03062(3) kg m² not 0.030617 +- 3.3e-05 kg m^2."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from typing import Any

RAISED = str.maketrans("0123456789-", "⁰¹²³⁴⁵⁶⁷⁸⁹⁻")
WEIGHTINGS = {
    "ols": "ordinary least squares",
    "wls": "weighted least squares",
    "irls": "reweighted least squares",
    "total": "total least squares",
}
#: As a line of `label()` between two others: they are numerator and denominator, and this is the bar between them.
FRACTION_BAR = "―"
#: Numbers from here to there are written without a power of ten.
SMALLEST_PLAIN, LARGEST_PLAIN = 1e-4, 1e6
ELEMENTS_SHOWN = 4


def short_number(value: float, digits: int = 4) -> str:
    """Few digits without waste: 1000, 0.001, 18000, 3.72e10. Whole numbers below a million are written out."""
    if not math.isfinite(value) or value == 0:
        return f"{value:g}"
    if abs(value) < LARGEST_PLAIN and value == int(value):
        return str(int(value))
    if SMALLEST_PLAIN <= abs(value) < LARGEST_PLAIN:
        places = max(0, digits - 1 - math.floor(math.log10(abs(value))))
        text = f"{value:.{places}f}"
        return text.rstrip("0").rstrip(".") if "." in text else text
    mantissa, _, power = f"{value:.{digits - 1}e}".partition("e")
    return f"{mantissa.rstrip('0').rstrip('.') if '.' in mantissa else mantissa}e{int(power)}"


def raised_number(value: float, digits: int = 3) -> str:
    """The same with its power of ten raised, for formulas: 1.64·10⁶."""
    mantissa, _, power = short_number(value, digits).partition("e")
    if not power:
        return mantissa
    return f"10{superscript(power)}" if mantissa == "1" else f"{mantissa}·10{superscript(power)}"


def superscript(power: str | int) -> str:
    return str(power).translate(RAISED)


def brief(value: Any) -> str:
    """A setting as the picture and the tables show it."""
    if isinstance(value, Mapping):
        return names_in_short(list(value)) if value else "none"
    if isinstance(value, (list, tuple)):
        if value and all(isinstance(entry, str) for entry in value):
            return names_in_short(value)
        return "[" + ", ".join(brief(v) for v in value[:ELEMENTS_SHOWN]) + (", …]" if len(value) > ELEMENTS_SHOWN else "]")
    return str(value) if isinstance(value, bool) or not isinstance(value, (int, float)) else short_number(value)


def names_in_short(names: Sequence[Any]) -> str:
    """'J, Fv, Fc' of ['joint.J', 'joint.Fv', 'joint.Fc']: without the block they all belong to."""
    texts = [str(name) for name in names]
    owners = {text.rpartition(".")[0] for text in texts}
    if len(owners) == 1:
        texts = [text.rpartition(".")[2] for text in texts]
    return ", ".join(texts)


def short_labels(names: Sequence[str]) -> list[str]:
    """['Fc', 'motor.J', 'arm.J'] of ['fric.Fc', 'motor.J', 'arm.J']: without the block where that is one name only."""
    lasts = [name.rpartition(".")[2] for name in names]
    return [last if lasts.count(last) == 1 else name for name, last in zip(names, lasts, strict=True)]


def concise(value: float, std: float) -> str:
    """A value with its standard deviation in the last digits: 0.03062(3), 1.460(4)e6; two where they begin with 1."""
    if not math.isfinite(value) or not math.isfinite(std) or std <= 0:
        return f"{value:.4g}"
    decade = math.floor(math.log10(abs(value))) if value else math.floor(math.log10(std))
    shift = decade if decade >= 5 or decade < -3 else 0
    value, std = value / 10.0**shift, std / 10.0**shift
    place = math.floor(math.log10(std))
    digits = max(0, 1 - place if std / 10.0**place < 1.95 else -place)
    last = f"{std:.{digits}f}" if std >= 1 else f"{round(std * 10**digits)}"
    return f"{value:.{digits}f}({last})" + (f"e{shift}" if shift else "")


def unit_label(unit: str) -> str:
    """'kg m^2' as 'kg m²'."""
    return re.sub(r"\^(-?\d+)", lambda match: superscript(match[1]), unit)


def method_label(method: str) -> str:
    """A method as people say it: weighted least squares, not wls."""
    return WEIGHTINGS.get(method, method)
