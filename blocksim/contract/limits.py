"""Interval: the values a parameter may have; asked by checks, searches, filters that stay inside, the schema, the catalogue."""

from __future__ import annotations

import math
from dataclasses import dataclass

#: How far inside an end that is excluded the nearest value is taken to lie: a share of the end, or this where the end is 0.
MARGIN, MARGIN_AT_ZERO = 1e-9, 1e-12


@dataclass(frozen=True)
class Interval:
    """low <= value <= high; an end that is `open` is itself excluded."""

    low: float = -math.inf
    high: float = math.inf
    open_low: bool = False
    open_high: bool = False

    @classmethod
    def of(cls, above: float | None, least: float | None, below: float | None, most: float | None) -> Interval:
        """From the limits of a declaration; where an end is given both ways, the narrower one holds."""
        open_low = above is not None and (least is None or above >= least)
        open_high = below is not None and (most is None or below <= most)
        low, high = (above if open_low else least), (below if open_high else most)
        return cls(-math.inf if low is None else low, math.inf if high is None else high, open_low, open_high)

    def contains(self, value: float) -> bool:
        inside = value > self.low if self.open_low else value >= self.low
        return inside and (value < self.high if self.open_high else value <= self.high)

    def closed(self) -> tuple[float, float]:
        """The least and the greatest value there is to take; just inside where an end is excluded."""
        low = self.low + margin(self.low) if self.open_low else self.low
        return low, self.high - margin(self.high) if self.open_high else self.high

    def clip(self, value: float) -> float:
        """The nearest value inside."""
        low, high = self.closed()
        return min(max(value, low), high)

    def __str__(self) -> str:
        """In words; '' where everything is allowed."""
        low = "" if self.low == -math.inf else f"{'above' if self.open_low else 'at least'} {self.low:g}"
        high = "" if self.high == math.inf else f"{'below' if self.open_high else 'at most'} {self.high:g}"
        return " and ".join(part for part in (low, high) if part)


def margin(end: float) -> float:
    return MARGIN * abs(end) or MARGIN_AT_ZERO
