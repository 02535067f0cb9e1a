"""Reel: memory for the logs of many runs, cut off piece by piece and used again once nobody holds any of it."""

from __future__ import annotations

import sys

import numpy as np

#: Numbers (16 MiB) that logs which are all kept are cut from: large memory comes in large pages, at a fraction of the cost.
PIECE = 2**21


class Reel:
    """Memory that the runs of one thread log into; a new length of it has room for so many runs, up to a piece."""

    def __init__(self, runs: int = 1):
        self.runs = runs
        self.wind(0)

    def wind(self, length: int) -> None:
        """New memory; the old one lives as long as somebody holds a part of it."""
        self.memory, self.used = np.empty(length), 0
        self.alone = sys.getrefcount(self.memory)

    def take(self, length: int) -> np.ndarray:
        """Room for so many numbers. A view counts as a reference to the whole, so memory that is in use is not given twice."""
        if self.used + length > len(self.memory):
            if length > len(self.memory) or sys.getrefcount(self.memory) > self.alone:
                wanted = 2 * length * self.runs  # a run takes its log, then its times, which are not longer
                self.wind(max(2 * length, min(wanted, PIECE)))
            self.used = 0
        self.used += length
        return self.memory[self.used - length : self.used]
