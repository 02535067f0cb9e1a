"""Numbers and units as a person writes them: 0.03062(3) kg m², not 0.030617 +- 3.3e-05 kg m^2."""

from __future__ import annotations

import math
import re

RAISED = str.maketrans("0123456789-", "⁰¹²³⁴⁵⁶⁷⁸⁹⁻")


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
    return re.sub(r"\^(-?\d+)", lambda match: match[1].translate(RAISED), unit)
