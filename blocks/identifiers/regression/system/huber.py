"""Huber's M-estimate: a regression that outliers do not carry away."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

import numpy as np

from ..regression import Fit, checked, group_members, group_weights, solved, undetermined

#: Huber's constant: 95 % efficient where the noise is normal after all.
HUBER = 1.345
MAD = 0.6744897501960817  # median of |x| of a standard normal x
ROUNDS = 200


def huber(W: Any, y: Any, groups: Any = None, k: float = HUBER) -> Fit:
    """Huber's M-estimate by iteratively reweighted least squares: residuals beyond k scales count linearly, not squared.

    The scale is the median of |residual| / 0.6745, of each group by itself, renewed every round. Covariance: Huber's H1,
    kappa^2 [sum psi^2 / (n - p)] / mean(psi')^2 (Ww' Ww)^-1.
    """
    W, y, ones = checked(W, y, None)
    groups = np.zeros(len(y), dtype=int) if groups is None else np.asarray(groups)
    base = ones * group_weights(W, y, groups, ones)
    result, before = solved(W, y, base), None
    for _ in range(ROUNDS):
        scales = group_scales(result.residuals, groups)
        size = np.abs(result.residuals) / scales
        result = solved(W, y, np.sqrt(np.minimum(1.0, k / np.maximum(size, 1e-300))) / scales)
        if before is not None and np.allclose(result.values, before, rtol=1e-11, atol=0.0):
            break
        before = result.values
    return with_huber_covariance(W, result, group_scales(result.residuals, groups), k)


def group_scales(residuals: np.ndarray, groups: np.ndarray) -> np.ndarray:
    """Each row's scale: the median absolute residual of its group, as a standard deviation."""
    scales = np.ones(len(residuals))
    for _, rows in group_members(groups):
        middle = float(np.median(np.abs(residuals[rows]))) / MAD
        scales[rows] = middle or float(np.abs(residuals[rows]).max()) or 1.0
    return scales


def with_huber_covariance(W: np.ndarray, result: Fit, scales: np.ndarray, k: float) -> Fit:
    """The fit with the covariance of an M-estimate."""
    r = result.residuals / scales
    psi, slope = np.clip(r, -k, k), (np.abs(r) <= k).astype(float)
    n, p, mean = len(r), result.rank, float(slope.mean())
    plain = solved(W, np.zeros(n), 1.0 / scales)
    correction = 1.0 + p / n * float(slope.var()) / mean**2
    variance = correction**2 * float(psi @ psi) / (n - p) / mean**2
    return replace(
        result,
        covariance=undetermined(plain.bread * variance, result.null),
        bread=plain.bread / mean,
        scores=psi,
        weights=1.0 / scales,
        sigma=math.sqrt(variance),
    )
