"""Rosenbrock steps (RODAS, Hairer & Wanner IV.7) with a Jacobian by differences. Text for the generated program.

Rows of k: the stages, then the spare row, the errors, the slope, the right side, two dense-output rows, the Jacobian and its
factors (flat), pivots, and the slope's own change in time.
"""

from __future__ import annotations

from math import sqrt
from typing import Any

from .kernel import NX, STAGES, derivative, maximum, minimum, unrolled, weighted
from .stores import ATOL, EVALUATIONS, FRESH, RTOL

A, C, ALPHA, DRIFT, DENSE, GAMMA = ((),), ((),), (0.0,), (0.0,), ((), ()), 0.25  # folded, as the places of the rows
ERRORS, SLOPE, RIGHT, BEND, TWIST, JACOBIAN, FACTORS, PIVOTS, TIME, LAST = range(10)


def linearise(now: float, h: float, f: Any, k: Any, y: Any, x: Any, *rest: Any) -> None:
    """df/dx and df/dt at the start of the step, by forward differences.

    A state is changed in proportion to its size or to what the step moves it by, whichever is larger: then what rounding does to
    a column is small against the state's part in the step, even where the state is zero, and no scale of its own is assumed.
    """
    slope = k[SLOPE]
    trial = k[RIGHT]
    jacobian = k[JACOBIAN]
    derivative(now, slope, x, *rest)
    for i in range(NX):
        y[i] = x[i]
    for j in range(NX):
        change = maximum(1.4901161193847656e-08 * maximum(abs(x[j]), h * abs(slope[j])), 1e-5 * minimum(f[ATOL], 1e-8))
        y[j] = x[j] + change
        change = y[j] - x[j]
        derivative(now, trial, y, *rest)
        y[j] = x[j]
        for i in range(NX):
            jacobian[i * NX + j] = (trial[i] - slope[i]) / change
    change = 1.4901161193847656e-08 * maximum(abs(now), h)
    change = (now + change) - now
    derivative(now + change, trial, x, *rest)
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


def stages(now: float, h: float, f: Any, k: Any, y: Any, x: Any, *rest: Any) -> None:
    """(1/(h gamma) - J) u_j = f(now + alpha_j h, x + sum a_jl u_l) + sum c_jl u_l / h + drift_j h df/dt; y = x + sum m_j u_j."""
    source = k[SLOPE]
    time = k[TIME]
    for j in unrolled(STAGES):
        if 0 < j < LAST:
            for i in range(NX):
                y[i] = weighted(A[j], k, i, x[i])
        if j == LAST:
            for i in range(NX):
                y[i] = y[i] + k[j - 1][i]
        if j > 0:
            source = k[RIGHT]
            derivative(now + ALPHA[j] * h, source, y, *rest)
        for i in range(NX):
            push = source[i]
            if j > 0:
                push = push + weighted(C[j], k, i) / h
            if DRIFT[j] != 0.0:
                push = push + DRIFT[j] * h * time[i]
            k[j][i] = push
        backsolve(k[j], k)
    for i in range(NX):
        y[i] = y[i] + k[LAST][i]
    for i in range(NX):
        k[BEND][i] = weighted(DENSE[0], k, i)
        k[TWIST][i] = weighted(DENSE[1], k, i)
    f[EVALUATIONS] += STAGES - 1


def attempt(now: float, h: float, f: Any, k: Any, y: Any, x: Any, *rest: Any) -> float:
    """One step into y; the error in units of the tolerance. A rejected step keeps its Jacobian."""
    if f[FRESH] < 1.5:
        linearise(now, h, f, k, y, x, *rest)
        f[FRESH] = 2.0
    factorise(h, k)
    stages(now, h, f, k, y, x, *rest)
    total = 0.0
    for i in range(NX):
        k[ERRORS][i] = k[LAST][i]
        scale = f[ATOL] + f[RTOL] * maximum(abs(x[i]), abs(y[i]))
        ratio = k[LAST][i] / scale
        total = total + ratio * ratio
    return sqrt(total / NX) if NX > 0 else 0.0


def interpolate(theta: float, now: float, h: float, f: Any, k: Any, y: Any, z: Any, x: Any, *rest: Any) -> None:
    """The method's own third-order dense output."""
    left = 1.0 - theta
    for i in range(NX):
        z[i] = x[i] * left + theta * (y[i] + left * (k[BEND][i] + theta * k[TWIST][i]))
