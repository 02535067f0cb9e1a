"""Rosenbrock steps (RODAS, Hairer & Wanner IV.7) with a Jacobian by differences. Text for the generated program.

Rows of k: six stages, then the spare row, the error, the derivative, the right side, two dense-output rows. The Jacobian and
its factors live in two further flat rows.
"""

from __future__ import annotations

from math import sqrt
from typing import Any

from .kernel import ATOL, EVALUATIONS, FRESH, NX, RTOL, derivative, maximum, minimum

SPARE, ERRORS, SLOPE, RIGHT, DENSE, DENSE2, JACOBIAN, FACTORS, PIVOTS, TIME = 6, 7, 8, 9, 10, 11, 12, 13, 14, 15


def linearise(now: float, h: float, f: Any, k: Any, y: Any, x: Any, p: Any, m: Any, a: Any, noise: Any, o: Any) -> None:
    """df/dx and df/dt at the start of the step, by forward differences.

    A state is changed in proportion to its size or to what the step moves it by, whichever is larger: then what rounding does to
    a column is small against the state's part in the step, even where the state is zero, and no scale of its own is assumed.
    """
    slope = k[SLOPE]
    trial = k[RIGHT]
    jacobian = k[JACOBIAN]
    derivative(now, slope, x, p, m, a, noise, o)
    for i in range(NX):
        y[i] = x[i]
    for j in range(NX):
        change = maximum(1.4901161193847656e-08 * maximum(abs(x[j]), h * abs(slope[j])), 1e-5 * minimum(f[ATOL], 1e-8))
        y[j] = x[j] + change
        change = y[j] - x[j]
        derivative(now, trial, y, p, m, a, noise, o)
        y[j] = x[j]
        for i in range(NX):
            jacobian[i * NX + j] = (trial[i] - slope[i]) / change
    change = 1.4901161193847656e-08 * maximum(abs(now), h)
    change = (now + change) - now
    derivative(now + change, trial, x, p, m, a, noise, o)
    for i in range(NX):
        k[TIME][i] = (trial[i] - slope[i]) / change
    f[EVALUATIONS] += NX + 2.0


def factorise(h: float, k: Any) -> None:
    """L U = P (1/(h gamma) - J)."""
    jacobian = k[JACOBIAN]
    lu = k[FACTORS]
    pivots = k[PIVOTS]
    for i in range(NX):
        for j in range(NX):
            lu[i * NX + j] = -jacobian[i * NX + j]
        lu[i * NX + i] = lu[i * NX + i] + 1.0 / (h * GAMMA)
    for j in range(NX):
        best = j
        for i in range(j + 1, NX):
            if abs(lu[i * NX + j]) > abs(lu[best * NX + j]):
                best = i
        pivots[j] = best
        if best != j:
            for c in range(NX):
                lu[j * NX + c], lu[best * NX + c] = lu[best * NX + c], lu[j * NX + c]
        for i in range(j + 1, NX):
            factor = lu[i * NX + j] / lu[j * NX + j]
            lu[i * NX + j] = factor
            if factor != 0.0:
                for c in range(j + 1, NX):
                    lu[i * NX + c] = lu[i * NX + c] - factor * lu[j * NX + c]


def backsolve(right: Any, k: Any) -> None:
    """right = (1/(h gamma) - J)^-1 right."""
    lu = k[FACTORS]
    pivots = k[PIVOTS]
    for j in range(NX):
        best = int(pivots[j])
        if best != j:
            right[j], right[best] = right[best], right[j]
        for i in range(j + 1, NX):
            right[i] = right[i] - lu[i * NX + j] * right[j]
    for i in range(NX - 1, -1, -1):
        total = right[i]
        for c in range(i + 1, NX):
            total = total - lu[i * NX + c] * right[c]
        right[i] = total / lu[i * NX + i]


def attempt(now: float, h: float, f: Any, k: Any, y: Any, x: Any, p: Any, m: Any, a: Any, noise: Any, o: Any) -> float:
    """One step into y; the error in units of the tolerance. A rejected step keeps its Jacobian."""
    if f[FRESH] < 1.5:
        linearise(now, h, f, k, y, x, p, m, a, noise, o)
        f[FRESH] = 2.0
    factorise(h, k)
    stages(now, h, f, k, y, x, p, m, a, noise, o)
    total = 0.0
    for i in range(NX):
        k[ERRORS][i] = k[5][i]
        scale = f[ATOL] + f[RTOL] * maximum(abs(x[i]), abs(y[i]))
        ratio = k[5][i] / scale
        total = total + ratio * ratio
    return sqrt(total / NX) if NX > 0 else 0.0


def interpolate(
    theta: float, now: float, h: float, f: Any, k: Any, y: Any, z: Any, x: Any, p: Any, m: Any, a: Any, noise: Any, o: Any
) -> None:
    """RODAS' own third-order dense output."""
    rest = 1.0 - theta
    for i in range(NX):
        z[i] = x[i] * rest + theta * (y[i] + rest * (k[DENSE][i] + theta * k[DENSE2][i]))


def stages(now: float, h: float, f: Any, k: Any, y: Any, x: Any, p: Any, m: Any, a: Any, noise: Any, o: Any) -> None:
    """The six stages and the dense-output rows (written from the coefficients)."""


GAMMA = 0.25
