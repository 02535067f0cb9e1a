"""Largest errors of the elementary functions in plain arithmetic, for docs/speed.md: python benchmarks/accuracy.py [POINTS]."""

from __future__ import annotations

import math
import random
import sys

import mpmath

from blocksim.contract.portable.text import meaning

#: Ranges; above 0 and wider than a factor of 100, points are spread over the powers of ten.
TURNS, BENT = [(-20.0, 20.0), (-1.6e6, 1.6e6), (-1e12, 1e12)], [(-1.0, 1.0), (-25.0, 25.0), (-710.0, 710.0)]
RANGES: dict[str, list[tuple[float, float]]] = {
    "sin": TURNS,
    "cos": TURNS,
    "tan": TURNS,
    "asin": [(-1.0, 1.0)],
    "acos": [(-1.0, 1.0)],
    "atan": [(-3.0, 3.0), (-1e6, 1e6)],
    "sinh": BENT,
    "cosh": BENT,
    "tanh": [(-1.0, 1.0), (-20.0, 20.0)],
    "exp": [(-1.0, 1.0), (-708.0, 709.0)],
    "expm1": [(-1.0, 1.0), (-40.0, 709.0)],
    "log": [(0.5, 2.0), (1e-300, 1e300)],
    "log10": [(0.5, 2.0), (1e-300, 1e300)],
    "log1p": [(-0.999, 1.0), (1e-9, 1e300)],
}


def draw(low: float, high: float, source: random.Random) -> float:
    if low > 0 and high / low > 100:
        return math.exp(source.uniform(math.log(low), math.log(high)))
    return source.uniform(low, high)


def worst(name: str, low: float, high: float, points: int) -> tuple[float, float]:
    """The largest error in units of the last place, ours and libm's."""
    source, largest = random.Random(1), [0.0, 0.0]
    for _ in range(points):
        x = draw(low, high, source)
        true = getattr(mpmath, name)(mpmath.mpf(x))
        unit = math.ulp(float(true))
        for place, function in enumerate((meaning(name), getattr(math, name))):
            largest[place] = max(largest[place], abs(float((mpmath.mpf(function(x)) - true) / unit)))
    return largest[0], largest[1]


def main() -> None:
    mpmath.mp.prec = 200
    points = int(sys.argv[1]) if len(sys.argv) > 1 else 20_000
    print("| function | range | largest error [ulp] | libm here |\n|---|---|---|---|")
    for name, ranges in RANGES.items():
        for low, high in ranges:
            ours, system = worst(name, low, high, points)
            print(f"| {name} | {low:g} to {high:g} | {ours:.2f} | {system:.2f} |")


if __name__ == "__main__":
    main()
