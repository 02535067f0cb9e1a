"""What no motor and no arm does: readings that jump, come back by a turn, or stand out by one row."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import numpy as np

from ..conversion import unit_factor

if TYPE_CHECKING:
    from ...contract.arrays import FloatArray

#: A change from row to row is odd from so many times that of nearly all rows on, and from this share of the range.
ODD_TIMES, ODD_SHARE, NEARLY_ALL = 20.0, 0.03, 0.99
#: Odd rows are few.
MOST_ODD = 0.005
FEWEST_READINGS = 100
#: Jumps by the same amount, to this share of it, are a counter that begins again.
ALIKE = 0.05
#: What has inertia cannot jump; an effort can.
POSITIONS = ("rad", "m")


def oddities(t: FloatArray, values: FloatArray, unit: str) -> Iterator[str]:
    """In words: jumps of a position and single rows that stand out, with the time of the first."""
    if len(values) < FEWEST_READINGS or not np.isfinite(values).all():
        return
    change = np.diff(values)
    size = np.abs(change)
    common = float(np.quantile(size, NEARLY_ALL))
    odd = np.flatnonzero(size > max(ODD_TIMES * common, ODD_SHARE * float(np.ptp(values))))
    if not common or not 0 < len(odd) <= max(2.0, MOST_ODD * len(values)):
        return
    follows = np.isin(odd + 1, odd) & (change[np.minimum(odd + 1, len(change) - 1)] * change[odd] < 0)
    spikes = odd[follows] + 1
    jumps = np.setdiff1d(odd, np.r_[spikes - 1, spikes])
    if len(spikes):
        worst = spikes[np.argmax(size[spikes - 1])]
        rows = "a single row stands" if len(spikes) == 1 else f"{len(spikes)} single rows stand"
        yield f"{rows} out, the farthest at t = {t[worst]:.6g} s ({values[worst]:.6g} between {values[worst - 1]:.6g} and " + (
            f"{values[worst + 1]:.6g}): a fault of the recording?"
        )
    if len(jumps) and any(unit_factor(unit, position) is not None for position in POSITIONS):
        steps = size[jumps]
        first = f"at t = {t[jumps[0] + 1]:.6g} s by {change[jumps[0]]:.6g} {unit}"
        if len(jumps) > 1 and float(np.ptp(steps)) < ALIKE * float(steps.max()):
            by = f"{len(jumps)} times by about {steps.mean():.4g} {unit}"
            yield f"jumps {by}, first {first}: a counter that begins again? Unwrap it"
        else:
            yield f"jumps {first}, as nothing that has a mass can: counts lost, or two records in one?"
