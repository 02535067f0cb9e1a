"""Wording of bounds: the table of all parameters, names in a row, shares as per cents."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from ..information import Information


def table_of(info: Information) -> str:
    """A row per parameter: value, bound, relative bound, and the bound with all others known."""
    rows = [("parameter", "value", "std", "std %", "alone %")]
    for name in info.parameters:
        value, alone = info.values[name], info.alone[name]
        shares = [100 * s / abs(value) if value else math.nan for s in (info.std[name], alone)]
        rows.append((name, f"{value:.6g}", f"{info.std[name]:.3g}", f"{shares[0]:.3g}", f"{shares[1]:.3g}"))
    widths = [max(len(row[k]) for row in rows) for k in range(5)]
    lines = [
        "  ".join(c.ljust(w) if k == 0 else c.rjust(w) for k, (c, w) in enumerate(zip(row, widths, strict=True))) for row in rows
    ]
    lines.append(
        f"condition number {info.condition:.3g}, {len(info.t)} readings of {listed(info.readings)}, "
        f"{info.simulations} simulations"
    )
    return "\n".join(lines)


def listed(names: Sequence[str]) -> str:
    return names[0] if len(names) == 1 else f"{', '.join(names[:-1])} and {names[-1]}"


def percent(share: float) -> str:
    return f"{two_digits(100 * share)} %" if math.isfinite(share) else "infinite"


def two_digits(value: float) -> str:
    """150, 0.031, 2.4e+06: two digits that count."""
    return f"{float(f'{value:.2g}'):g}"
