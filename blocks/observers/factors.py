"""Covariances by their factors P = U D U^T: U above the diagonal of one matrix, D on it. No rounding makes such a P negative."""

from __future__ import annotations

from blocksim.contract.vocabulary import array, divide, zeros

__all__: list[str] = []


def bierman(UD, h, R, N):
    """One reading (Bierman 1977): the factors of P - K h^T P, the gain K = P h / (R + h^T P h), and its variance."""
    UD, K, variance = array(UD), zeros(N), R
    for k in range(N):
        f = h[k]  # element k of U^T h
        for i in range(k):
            f = f + UD[i, k] * h[i]
        v = UD[k, k] * f
        before = variance
        variance = before + f * v
        if variance > 0.0:
            UD[k, k] = UD[k, k] * before / variance
        for i in range(k):
            u = UD[i, k]
            UD[i, k] = u - K[i] * f / before
            K[i] = K[i] + u * v
        K[k] = v
    return UD, divide(K, variance), variance


def thornton(W, weights, N, columns):
    """The factors of W diag(weights) W^T, by Gram and Schmidt's rule from the last row to the first (Thornton 1976)."""
    W, UD = array(W), zeros(N, N)
    for r in range(N):
        j = N - 1 - r
        total = 0.0
        for k in range(columns):
            total = total + W[j, k] * W[j, k] * weights[k]
        UD[j, j] = total
        for i in range(j):
            share = 0.0
            if total > 0.0:
                for k in range(columns):
                    share = share + W[i, k] * weights[k] * W[j, k]
                share = share / total
            UD[i, j] = share
            for k in range(columns):
                W[i, k] = W[i, k] - share * W[j, k]
    return UD


def unit_upper(UD, N):
    """U itself, with ones on its diagonal."""
    U = zeros(N, N)
    for i in range(N):
        U[i, i] = 1.0
        for j in range(i + 1, N):
            U[i, j] = UD[i][j]
    return U


def weights_of(UD, N):
    """The elements of D."""
    D = zeros(N)
    for i in range(N):
        D[i] = UD[i][i]
    return D


def recomposed(UD, N):
    """P = U D U^T."""
    P = zeros(N, N)
    for i in range(N):
        for j in range(i, N):
            total = UD[j][j] if i == j else UD[i][j] * UD[j][j]
            for k in range(j + 1, N):
                total = total + UD[i][k] * UD[k][k] * UD[j][k]
            P[i, j] = total
            P[j, i] = total
    return P
