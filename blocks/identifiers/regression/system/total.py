"""Total least squares: a regression whose regressor has errors, too."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

import numpy as np

from blocksim.errors import RecordError

from ..regression import Fit, checked, condition, solved, triangle


def total(W: Any, y: Any, column_errors: Any = None, effort_error: float | None = None) -> Fit:
    """Total least squares: the smallest change of W and y that makes y = W x exact, both divided by their errors' sizes.

    It assumes that the errors of all columns and of y are independent from row to row and from each other, and that
    `column_errors` and `effort_error` are their standard deviations up to one common factor. A column of error 0 (ones, signs)
    is exact and is projected out. Without sizes every column's error is taken in proportion to its root mean square.
    Covariance: Gleser's large-sample one, sigma^2 (1 + |x|^2) G^-1 [I + n sigma^2 (I + x x')^-1 G^-1], G = W0' W0, scaled.
    """
    W, y, ones = checked(W, y, None)
    rms = np.sqrt(np.mean(W**2, axis=0))
    sizes = np.where(rms > 0, rms, 1.0) if column_errors is None else np.asarray(column_errors, dtype=float)
    last = float(effort_error) if effort_error is not None else math.sqrt(float(np.mean(y**2))) or 1.0
    plain = solved(W, y, ones)
    if plain.rank < W.shape[1]:
        return plain  # which of its parameters are determined is all there is to say
    exact = sizes == 0
    order = np.r_[np.flatnonzero(exact), np.flatnonzero(~exact)]
    scale = np.where(exact, 1.0, sizes)[order]
    R: Any = np.linalg.qr(np.c_[W[:, order] / scale, y / last], mode="r")
    m, n, p = int(exact.sum()), len(y), W.shape[1]
    s, vt = np.linalg.svd(R[m:, m:])[1:]
    v = vt[-1]
    if abs(v[-1]) < 1e-10:
        raise RecordError("total least squares has no solution here: the effort does not take part in the smallest direction.")
    noisy = -v[:-1] / v[-1]
    fixed = np.linalg.solve(R[:m, :m], R[:m, -1] - R[:m, m:-1] @ noisy) if m else np.zeros(0)
    x = np.r_[fixed, noisy]
    sigma2 = float(s[-1] ** 2) / max(1, n - p)
    free = np.r_[np.zeros(m), np.ones(p - m)]  # which columns have errors
    bread = np.linalg.inv(R[:, :-1].T @ R[:, :-1] - n * sigma2 * np.diag(free))
    inner = np.zeros((p, p))
    inner[m:, m:] = np.linalg.inv(np.eye(p - m) + np.outer(noisy, noisy))
    covariance = sigma2 * (1.0 + noisy @ noisy) * (bread + n * sigma2 * bread @ inner @ bread)
    back = last / scale
    values, matrix = np.empty(p), np.empty((p, p))
    values[order] = x * back
    matrix[np.ix_(order, order)] = covariance * np.outer(back, back)
    residuals = y - W @ values
    factor = np.empty((p, p))
    factor[np.ix_(order, order)] = bread * np.outer(back, back) / last**2
    return replace(
        plain, values=values, covariance=matrix, residuals=residuals, sigma=math.sqrt(sigma2) * last, bread=factor,
        scores=residuals, relative_condition=condition(triangle(W * values, y)[0], W.shape),
    )  # fmt: skip
