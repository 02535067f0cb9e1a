"""Bands of lines of a spectrum, over which it is smoothed: wide enough that a fit has left something in each of them."""

from __future__ import annotations

import functools
from dataclasses import dataclass
from typing import Literal

import numpy as np

BAND_LINES = 6.0  # of the record, at the least, that a fit leaves in a band
BAND_SHARE = 0.1  # half of a band, as a share of its frequency


@dataclass(frozen=True)
class Bands:
    """Of each line the band around it: its first line, and the one after its last."""

    first: np.ndarray
    last: np.ndarray

    @functools.cached_property
    def share(self) -> np.ndarray:
        """Of one line in the band of each."""
        return np.asarray(1.0 / (self.last - self.first))

    def mean(self, values: np.ndarray) -> np.ndarray:
        """The mean over the band of each line."""
        sums = running_sums(values)
        return np.asarray((sums.take(self.last) - sums.take(self.first)) * self.share)


def running_sums(values: np.ndarray) -> np.ndarray:
    """The sum of the first k values for k = 0, 1, ..., along the last axis."""
    sums = np.zeros((*values.shape[:-1], values.shape[-1] + 1))
    np.cumsum(values, axis=-1, out=sums[..., 1:])
    return sums


def bands_of(left: np.ndarray, slow: int) -> Bands:
    """The band of each line, by the share of every line that a fit has left: all, but of the first ones."""
    sums = running_sums(left / 2)  # every second line of 2 N is one of the record
    middle = (sums[1:] + sums[:-1]) / 2
    half = np.minimum(np.maximum(BAND_LINES / 2, BAND_SHARE * middle), sums[-1] / 2)
    low = np.clip(middle - half, 0.0, sums[-1] - 2 * half)
    lines = np.arange(len(left))
    first = np.clip(ranks_among(sums, low, slow, "right") - 1, 0, lines)
    return Bands(first, np.clip(ranks_among(sums, low + 2 * half, slow, "left"), lines + 1, len(left)))


def ranks_among(sums: np.ndarray, values: np.ndarray, slow: int, side: Literal["left", "right"]) -> np.ndarray:
    """Where values, in order, would stand among the sums, which go up by halves from `slow` on: np.searchsorted, sooner done."""
    few = int(np.searchsorted(values, sums[slow], side="right"))
    halves = 2 * (values[few:] - sums[slow])
    fast = slow + (np.ceil(halves) if side == "left" else np.floor(halves) + 1)
    return np.concatenate([np.searchsorted(sums[: slow + 1], values[:few], side=side), fast.astype(int)])
