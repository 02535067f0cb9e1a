"""What readings say of an estimate: a Kalman filter's correction, one reading after another."""

from __future__ import annotations

from typing import Any

from blocksim.contract.plant import Plant

from .observed import equations_of

__all__: list[str] = []


def slope(found, j, i, n, d, m):
    """The derivative of reading j by the i-th of states and parameters."""
    return found[m + j * n + i] if i < n else found[m + m * n + j * d + i - n]


def remaining(out, z_next, found, innovation, j, n, d, m):
    """What reading j still has to say after those before it have moved the estimate from z_next to out."""
    rest = innovation
    for i in range(n + d):
        rest = rest - slope(found, j, i, n, d, m) * (out[i] - z_next[i])
    return rest


def correct(out, y, z_next, P_next, found, variances, n, d, m, P, e, g):
    """K = P h / (R + h^T P h), z += K (y - h(z)), P -= K h^T P, which for independent readings is the same as all at once.

    `out` holds z from 0, its covariance from P, the innovations from e and their nis behind them, the gain from g.
    """
    N = n + d
    for i in range(N):
        out[i] = z_next[i]
    for i in range(N * N):
        out[P + i] = P_next[i]
    nis = 0.0
    for j in range(m):
        out[e + j] = y[j] - found[j]
        rest = remaining(out, z_next, found, out[e + j], j, n, d, m)
        variance = variances[j]
        for i in range(N):
            total = 0.0
            for k in range(N):
                total = total + out[P + i * N + k] * slope(found, j, k, n, d, m)
            out[g + i * m + j] = total
            variance = variance + slope(found, j, i, n, d, m) * total
        nis = nis + rest * rest / variance
        for i in range(N):
            out[g + i * m + j] = out[g + i * m + j] / variance
        for i in range(N):
            out[i] = out[i] + out[g + i * m + j] * rest
            for k in range(i, N):
                out[P + i * N + k] = out[P + i * N + k] - out[g + i * m + j] * variance * out[g + k * m + j]
                out[P + k * N + i] = out[P + i * N + k]
    out[e + m] = nis
    if m > 1:
        gains(out, found, variances, n, d, m, P, g)


def gains(out, found, variances, n, d, m, P, g):
    """The gain of all readings at once, P h / R, which is not made of the gains of one after another."""
    N = n + d
    for i in range(N):
        for j in range(m):
            total = 0.0
            for k in range(N):
                total = total + out[P + i * N + k] * slope(found, j, k, n, d, m)
            out[g + i * m + j] = total / variances[j]


def readings_of(plant: Plant, ports: tuple[str, ...], names: tuple[str, ...] = ()) -> Any:
    """The plant's measured outputs with their derivatives by the state and these parameters."""
    return equations_of(plant).function(f"{plant.kind.__name__}_readings", ("y", "dydx", "dydp"), names, ports)
