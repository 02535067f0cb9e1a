"""Newton's method for one algebraic loop. Text for the generated program."""

from __future__ import annotations

from typing import Any

K = 1  # unknowns, folded
FLAG = 0  # where in m a failure is noted, folded
NUMBER = 0
SINGULAR = 1e-8  # what differences cannot tell from no slope; a Jacobian's diagonal is a gain less 1


def view(a: Any, start: int, end: int) -> Any:
    """A stretch of the array store (provided with the program)."""


def residual(z: Any, r: Any, t: float, x: Any, p: Any, m: Any, a: Any, noise: Any, ahead: Any, o: Any) -> None:
    """r = what the loop makes of the guess z, minus z (generated)."""


def solve_loop(t: float, x: Any, p: Any, m: Any, a: Any, noise: Any, ahead: Any, o: Any) -> None:
    """Find the z that reproduces itself, starting from the last one; a failure is noted in m."""
    z = view(a, o[Z], o[Z + 1])
    r = view(a, o[R], o[R + 1])
    q = view(a, o[Q], o[Q + 1])
    jacobian = view(a, o[JACOBIAN], o[JACOBIAN + 1])
    for _ in range(50):
        residual(z, r, t, x, p, m, a, noise, ahead, o)
        worst = 0.0
        scale = 1.0
        for i in range(K):
            worst = r[i] if r[i] > worst else (-r[i] if -r[i] > worst else worst)
            scale = z[i] if z[i] > scale else (-z[i] if -z[i] > scale else scale)
        solved = worst <= 1e-13 * scale and worst == worst
        if solved and jacobian[0] != 0.0:
            return
        for j in range(K):
            before = z[j]
            change = 1e-6 * (abs(before) if abs(before) > 1.0 else 1.0)
            z[j] = before + change
            residual(z, q, t, x, p, m, a, noise, ahead, o)
            z[j] = before
            for i in range(K):
                jacobian[i * K + j] = (q[i] - r[i]) / change
        singular = eliminate(jacobian, r, K)
        if solved:  # at the first guess: is it the only solution?
            if singular > 0.0:
                m[FLAG] = NUMBER + 1.0
            return
        for i in range(K):
            z[i] = z[i] - r[i]
    residual(z, r, t, x, p, m, a, noise, ahead, o)
    for i in range(K):  # what Newton leaves at rounding level is a solution too
        if not abs(r[i]) <= 1e-9 * (1.0 + abs(z[i])):
            m[FLAG] = NUMBER + 1.0
            z[i] = 0.0


def eliminate(matrix: Any, right: Any, n: int) -> float:
    """right = matrix^-1 right, by elimination with row pivoting; the matrix is destroyed. Above 0 where it is singular."""
    singular = 0.0
    for j in range(n):
        pivot = j
        for i in range(j + 1, n):
            if abs(matrix[i * n + j]) > abs(matrix[pivot * n + j]):
                pivot = i
        if pivot != j:
            for i in range(n):
                matrix[j * n + i], matrix[pivot * n + i] = matrix[pivot * n + i], matrix[j * n + i]
            right[j], right[pivot] = right[pivot], right[j]
        if abs(matrix[j * n + j]) < SINGULAR:  # a loop of gain 1 has no solution, or any: go on as it goes round
            matrix[j * n + j] = -1.0
            singular = 1.0
        for i in range(j + 1, n):
            factor = matrix[i * n + j] / matrix[j * n + j]
            if factor != 0.0:
                for c in range(j, n):
                    matrix[i * n + c] = matrix[i * n + c] - factor * matrix[j * n + c]
                right[i] = right[i] - factor * right[j]
    for i in range(n - 1, -1, -1):
        total = right[i]
        for c in range(i + 1, n):
            total = total - matrix[i * n + c] * right[c]
        right[i] = total / matrix[i * n + i]
    return singular


Z, R, Q, JACOBIAN = 0, 0, 0, 0  # regions of the array store, folded
