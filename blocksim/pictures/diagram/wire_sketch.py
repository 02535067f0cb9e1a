"""A wire sketched on half steps, to judge places before wires are routed: blocks at even places, channels between at odd ones."""

from __future__ import annotations

import itertools
from dataclasses import dataclass
from functools import lru_cache

GridPoint = tuple[int, int]
#: A straight run: its fixed coordinate and its two ends, the smaller first.
Segment = tuple[int, int, int]


@dataclass(frozen=True)
class Sketch:
    """A polyline with what is asked of it often: the block places it passes, its vertical and its horizontal runs."""

    bends: int
    length: float
    places: tuple[GridPoint, ...]
    uprights: tuple[Segment, ...]
    levels: tuple[Segment, ...]


@lru_cache(maxsize=20000)
def make_sketch(way: tuple[GridPoint, ...]) -> Sketch:
    """The sketch along these points; both its ends are blocks and do not count as passed."""
    points = tidy_points(way)
    places: list[GridPoint] = []
    uprights: list[Segment] = []
    levels: list[Segment] = []
    length = 0.0
    for (ax, ay), (bx, by) in itertools.pairwise(points):
        if ax == bx:
            low, high = (ay, by) if ay < by else (by, ay)
            uprights.append((ax, low, high))
            length += high - low
            if ax % 2 == 0:
                places += [(ax, y) for y in range(low + low % 2, high + 1, 2)]
        else:
            low, high = (ax, bx) if ax < bx else (bx, ax)
            levels.append((ay, low, high))
            length += 0.1 * (high - low)
            if ay % 2 == 0:
                places += [(x, ay) for x in range(low + low % 2, high + 1, 2)]
    ends = {points[0], points[-1]}
    return Sketch(len(points) - 2, length, tuple(p for p in places if p not in ends), tuple(uprights), tuple(levels))


def tidy_points(points: tuple[GridPoint, ...]) -> list[GridPoint]:
    """Without repeated points and points on a straight run."""
    result: list[GridPoint] = []
    for point in points:
        if result and result[-1] == point:
            continue
        if len(result) > 1 and (result[-2][0] == result[-1][0] == point[0] or result[-2][1] == result[-1][1] == point[1]):
            result.pop()
        result.append(point)
    return result


def crossings(one: Sketch, other: Sketch) -> int:
    """How often two sketches cross."""
    count = 0
    for uprights, levels in ((one.uprights, other.levels), (other.uprights, one.levels)):
        for x, top, bottom in uprights:
            for y, left, right in levels:
                if left < x < right and top < y < bottom:
                    count += 1
    return count
