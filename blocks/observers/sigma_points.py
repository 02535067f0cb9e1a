"""Sigma points: a few points with the mean and the covariance of an estimate, sent through a plant's equations as they are.

Covariances are carried by a triangular factor, P = L L^T, put together from deviations by orthogonal rows: no weight is negative,
nothing is ever subtracted from a P, so that no rounding can make one indefinite.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from blocksim.contract.plant import Plant
from blocksim.contract.vocabulary import add, alongside, array, diagonal, dot, multiply, scale, sqrt, subtract, transpose, zeros

from .observed import equations_of

__all__: list[str] = []


def points(x, L, reach, N):
    """x, and x +- reach times each column of L, a row each: their mean is x, their covariance L L^T."""
    X = zeros(2 * N + 1, N)
    for j in range(N):
        X[0, j] = x[j]
        for i in range(N):
            X[1 + i, j] = x[j] + reach * L[j][i]
            X[1 + N + i, j] = x[j] - reach * L[j][i]
    return X


def deviations_from(X, mean, weights, M, N):
    """The points less their mean, each by the root of its weight, a column each: A A^T is their covariance."""
    A = zeros(N, M)
    for k in range(M):
        root = sqrt(weights[k])
        for i in range(N):
            A[i, k] = root * (X[k][i] - mean[i])
    return A


def triangular(A, N, M):
    """L with L L^T = A A^T, by Gram and Schmidt's rule over the rows of A, each taken out of all behind it at once."""
    A, L = array(A), zeros(N, N)
    for j in range(N):
        total = 0.0
        for k in range(M):
            total = total + A[j, k] * A[j, k]
        length = sqrt(total)
        L[j, j] = length
        for k in range(M):
            A[j, k] = A[j, k] / length if length > 0.0 else 0.0
        for i in range(j + 1, N):
            share = 0.0
            for k in range(M):
                share = share + A[i, k] * A[j, k]
            L[i, j] = share
            for k in range(M):
                A[i, k] = A[i, k] - share * A[j, k]
    return L


def forward_solved(L, b, m):
    """v of L v = b."""
    v = zeros(m)
    for i in range(m):
        total = b[i]
        for k in range(i):
            total = total - L[i][k] * v[k]
        v[i] = total / L[i][i]
    return v


def divided(C, L, N, m):
    """K of K L L^T = C."""
    K = zeros(N, m)
    for r in range(N):
        v = forward_solved(L, C[r], m)
        for turn in range(m):
            i = m - 1 - turn
            total = v[i]
            for k in range(i + 1, m):
                total = total - L[k][i] * K[r, k]
            K[r, i] = total / L[i][i]
    return K


def after_points(x, X, Y, y, weights, sigmas, N, m, M):
    """K = P_xy P_yy^-1, x += K (y - y'), L L^T = (A - K B) (A - K B)^T + K R K^T, A and B being the deviations of x and y."""
    predicted = multiply(transpose(Y), weights)
    e = subtract(y, predicted)
    A, B = deviations_from(X, x, weights, M, N), deviations_from(Y, predicted, weights, M, m)
    S = triangular(alongside(B, diagonal(sigmas)), m, M + m)
    K = divided(multiply(A, transpose(B)), S, N, m)
    L = triangular(alongside(subtract(A, multiply(K, B)), scale(K, sigmas)), N, M + m)
    v = forward_solved(S, e, m)
    return add(x, multiply(K, e)), L, e, dot(v, v), K


def flowed(flow, x, u, p, Ts, n, turns):
    """The next x: Euler's rule, or so many turns of the rule of order 4."""
    if turns == 0:
        return add(x, scale(flow(x, u, p), Ts))
    h = Ts / turns
    for _ in range(turns):
        start, at = x, x
        for stage in range(4):
            dx = flow(at, u, p)
            x = add(x, scale(dx, h / 6.0 if stage == 0 or stage == 3 else h / 3.0))
            at = add(start, scale(dx, h if stage == 2 else 0.5 * h))
    return x


def point_weights(kappa: float | None, N: int) -> np.ndarray:
    """The weights of the middle and of 2 N points; kappa is 3 - N, which a normal distribution asks for, but never below 0."""
    k = max(0.0, 3.0 - N) if kappa is None else kappa
    return np.array([k / (N + k), *[0.5 / (N + k)] * (2 * N)])


def plain_laws(plant: Plant, ports: tuple[str, ...]) -> dict[str, Any]:
    """Rates and readings of a plant without derivatives."""
    eq, name = equations_of(plant), plant.kind.__name__
    return {"rates": eq.function(f"{name}_flow", ("f",), ()), "readings": eq.function(f"{name}_sensed", ("y",), (), ports)}
