"""Envelopes: of many samples the least and the greatest in each column of a plot: a million draw as fast as a thousand."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from ...contract.arrays import FloatArray

#: Samples per column from which a column shows its least and its greatest value rather than points.
SAMPLES_PER_COLUMN = 2


def envelope(t: FloatArray, values: FloatArray, low: float, high: float, columns: int) -> tuple[str, list[np.ndarray]]:
    """What a plot of [low, high] needs: ('points', [t, values]), or ('bands', [least, greatest]) with one entry per column.

    Points reach one sample beyond either end, so that a line goes on to the edge. A column without a sample holds nan.
    """
    first, last = int(np.searchsorted(t, low, "left")), int(np.searchsorted(t, high, "right"))
    if last - first <= SAMPLES_PER_COLUMN * columns:
        part = slice(max(first - 1, 0), last + 1)
        return "points", [t[part], values[part]]
    edges = np.searchsorted(t, low + (high - low) * np.arange(columns) / columns, "left")
    edges = np.clip(edges, first, last - 1)
    window = values[:last]
    least, greatest = np.minimum.reduceat(window, edges), np.maximum.reduceat(window, edges)
    empty = np.append(edges[1:] == edges[:-1], False)  # reduceat gives the single sample at the edge there
    if empty.any():
        least, greatest = np.where(empty, np.nan, least), np.where(empty, np.nan, greatest)
    return "bands", [least, greatest]
