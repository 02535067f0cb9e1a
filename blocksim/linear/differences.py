"""J = df/dz by central differences, extrapolated to step zero (Richardson), each entry from the steps that suit it (Ridders)."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from ..contract.arrays import FloatArray

#: Steps are FIRST, FIRST/4, ... of the size of the variable (at least 1), down to where rounding takes over.
FIRST_STEP, RATIO, LEVELS = 0.125, 4.0, 13
#: An entry this sure (relative) needs no further steps.
SURE = 1e-12


def jacobian(function: Callable[[FloatArray], FloatArray], z: FloatArray) -> tuple[FloatArray, FloatArray]:
    """The derivative of a vector function at z, a column for each variable, and the estimated error of every entry."""
    import numpy as np

    rows = len(function(z))
    columns = [column(function, z, j) for j in range(len(z))]
    empty = np.zeros((rows, 0))
    return (np.column_stack([c for c, _ in columns]), np.column_stack([e for _, e in columns])) if columns else (empty, empty)


def column(function: Callable[[FloatArray], FloatArray], z: FloatArray, j: int) -> tuple[FloatArray, FloatArray]:
    """df/dz[j]: a triangle of extrapolations; every entry keeps the one whose neighbours agree best.

    The error counts the rounding of f over the step too, so that a change lost in rounding never passes for a slope of zero.
    """
    import numpy as np

    best = error = np.empty(0)
    above: list[FloatArray] = []
    with np.errstate(all="ignore"):
        for level in range(LEVELS):
            h = FIRST_STEP * max(abs(float(z[j])), 1.0) / RATIO**level
            up, down = z.copy(), z.copy()
            up[j], down[j] = z[j] + h, z[j] - h
            high, low = function(up), function(down)
            rounding = 2.0 * np.finfo(float).eps * np.maximum(np.abs(high), np.abs(low)) / h
            row = [(high - low) / (up[j] - down[j])]
            if level == 0:
                best, error = row[0], np.full(len(row[0]), np.inf)
            for k, before in enumerate(above):
                row.append(row[k] + (row[k] - before) / (RATIO ** (2 * k + 2) - 1.0))
                doubt = np.maximum(np.maximum(np.abs(row[-1] - row[k]), np.abs(row[-1] - before)), rounding)
                better = doubt < error
                best, error = np.where(better, row[-1], best), np.where(better, doubt, error)
            above = row
            if level > 1 and np.all(error <= np.maximum(SURE * np.abs(best), rounding)):
                break
    return best, error
