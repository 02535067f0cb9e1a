"""What readings say of an estimate: a Kalman filter's correction, one reading after another."""

from __future__ import annotations

from typing import Any

from blocksim.contract.plant import Plant
from blocksim.contract.vocabulary import add, divide, dot, multiply, outer, scale, sqrt, subtract, symmetric, zeros

from .observed import equations_of

__all__: list[str] = []


def after_readings(x, P, y, h, H, variances, m):
    """K = P h / (R + h^T P h), x += K (y - h(x)), P -= K h^T P, which for independent readings is the same as all at once."""
    x_next, K, nis = x, x, 0.0
    for j in range(m):
        rest = dot(H[j], subtract(x_next, x), plus=y[j] - h[j])  # what the readings before have not said yet
        Ph = multiply(P, H[j])
        variance = dot(H[j], Ph, plus=variances[j])
        K = divide(Ph, variance)
        nis = nis + rest * rest / variance
        x = add(x, scale(K, rest))
        P = symmetric(subtract(P, outer(scale(K, variance), K)))
    return x, P, nis, K


def sigmas_of(P, N):
    """Standard deviations; 0 where rounding has left no variance."""
    std = zeros(N)
    for i in range(N):
        std[i] = sqrt(P[i][i]) if P[i][i] > 0.0 else 0.0
    return std


def readings_of(plant: Plant, ports: tuple[str, ...], names: tuple[str, ...] = ()) -> Any:
    """The plant's measured outputs with their derivatives by the state and these parameters."""
    return equations_of(plant).function(f"{plant.kind.__name__}_readings", ("y", "dydx", "dydp"), names, ports)
