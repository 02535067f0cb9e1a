"""Uneven times: did the sampling jitter, or only the clock that wrote the times? Signals that move smoothly tell.

A row is foretold by its four neighbours, once at the times that were written and once at even ones. Where the samples were
taken evenly, the written times make a smooth motion rough, and by as much as its speed times the jitter.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from ..grid import Grid

if TYPE_CHECKING:
    from ...contract.arrays import FloatArray, IndexArray

CLEARLY = 1.5  # times smoother, from which the clock is blamed
AROUND = (-2, -1, 1, 2)


def smoother_when_even(grid: Grid, places: IndexArray) -> float:
    """How many times smoother the signals are at even times than at those written, by the one that tells most; 1 for nothing."""
    ratios = [1.0]
    for signal in grid.signals.values():
        for values in signal.values.reshape(len(grid.t), -1).T:
            if float(np.nanmax(values, initial=0.0)) == float(np.nanmin(values, initial=0.0)):
                continue
            rough, even = (roughness(x, values, places) for x in (grid.t, places.astype(float)))
            if rough > 0 and even > 0:
                ratios.append(rough / even)
    return min(max(ratios), 1000.0)


def roughness(x: FloatArray, y: FloatArray, places: IndexArray) -> float:
    """Root mean square of what a cubic through four neighbours misses; 0 where no five rows follow each other."""
    rows = np.arange(2, len(y) - 2)
    rows = rows[places[rows + 2] - places[rows - 2] == 4]
    if len(rows) < 10:
        return 0.0
    near = np.stack([x[rows + k] - x[rows] for k in AROUND])
    error = y[rows].astype(float)
    for i, k in enumerate(AROUND):
        others = [near[j] / (near[j] - near[i]) for j in range(4) if j != i]
        error = error - y[rows + k] * others[0] * others[1] * others[2]
    error = error[np.isfinite(error)]
    return float(np.sqrt(np.mean(error**2))) if len(error) else 0.0
