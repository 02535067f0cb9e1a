"""Explicit Runge-Kutta steps. Text for the generated program, written out from a tableau.

Rows of k: the slopes of the stages, then the spare row, and under error control the errors.
"""

from __future__ import annotations

from math import sqrt
from typing import Any

from .kernel import ADAPTIVE, NX, SHARED_SLOPE, STAGES, derivative, maximum, unrolled, weighted
from .stores import ATOL, EVALUATIONS, FRESH, RTOL

A, B, C, D, E = ((),), (1.0,), (0.0,), (0.0,), (0.0,)  # folded, as what follows
DENSE, DONE = False, False
ERRORS = 0


def attempt(now: float, h: float, f: Any, k: Any, y: Any, x: Any, *rest: Any) -> float:
    """y = x + h sum b_j k_j, k_j = f(now + c_j h, x + h sum a_jl k_l); the error in units of the tolerance, 0 for fixed steps."""
    if SHARED_SLOPE:
        if f[FRESH] < 1.5:
            derivative(now, k[0], x, *rest)
        f[FRESH] = 0.0
    elif not ADAPTIVE:
        derivative(now, k[0], x, *rest)
    elif f[FRESH] < 0.5:
        derivative(now, k[0], x, *rest)
        f[EVALUATIONS] += 1.0
    elif f[FRESH] < 1.5:  # the last slope of a step is the first of the next
        for i in range(NX):
            k[0][i] = k[STAGES - 1][i]
    if ADAPTIVE:
        f[FRESH] = 2.0
    for j in unrolled(1, STAGES):
        for i in range(NX):
            y[i] = x[i] + h * weighted(A[j], k, i)
        derivative(now + C[j] * h, k[j], y, *rest)
    if not DONE:
        for i in range(NX):
            y[i] = x[i] + h * weighted(B, k, i)
    f[EVALUATIONS] += STAGES - 1 if ADAPTIVE else STAGES
    total = 0.0
    if ADAPTIVE:
        errors = k[ERRORS]
        for i in range(NX):
            errors[i] = h * weighted(E, k, i)
            scale = f[ATOL] + f[RTOL] * maximum(abs(x[i]), abs(y[i]))
            ratio = errors[i] / scale
            total = total + ratio * ratio
    return sqrt(total / NX) if ADAPTIVE and NX > 0 else 0.0


def interpolate(theta: float, now: float, h: float, f: Any, k: Any, y: Any, z: Any, x: Any, *rest: Any) -> None:
    """The cubic through both ends and their slopes, with the method's own correction; for fixed steps a shorter step."""
    if ADAPTIVE:
        left = 1.0 - theta
        for i in range(NX):
            change = y[i] - x[i]
            bend = h * k[0][i] - change
            twist = change - h * k[STAGES - 1][i] - bend
            if DENSE:
                twist = twist + left * (h * weighted(D, k, i))
            z[i] = x[i] + theta * (change + left * (bend + theta * twist))
    else:  # of full order at any time
        attempt(now, theta * h, f, k, z, x, *rest)
