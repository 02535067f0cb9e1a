"""Fits of parts of a record beside that of the whole: where the model misses something, they disagree."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from blocksim.errors import RecordError
from blocksim.estimation.estimates import Estimates
from blocksim.estimation.pool import Scatter, scatter

from .spectrum import spectral_spread
from .stacked_rows import scaled_inverse

PART_ROWS = 4  # of each part, for each parameter, at the least


@dataclass(frozen=True)
class Parts:
    """By how much the fit of each part (rows) differs from that of the whole, with its own standard deviation."""

    offsets: np.ndarray
    stds: np.ndarray
    scatter: Scatter


def fitted_parts(
    X: np.ndarray, G: np.ndarray, rest: np.ndarray, used: np.ndarray, groups: np.ndarray, count: int, lines: float
) -> Parts:
    """The record cut into `count` parts of equal length, each fitted to first order: (X_k' G_k)^-1 X_k' rest_k.

    `X`, `G`, `rest`, `used`, `groups` are those of spectral_spread. Of least squares and instruments this is the fit of the part
    itself, of simulated signals one step from the estimate.
    """
    place = np.zeros(len(rest), dtype=int)
    for group in np.unique(groups).tolist():
        own = np.flatnonzero(groups == group)
        place[own] = np.arange(len(own)) * count // len(own)
    offsets, stds, freedom = [], [], []
    for k in range(count):
        here = place == k
        if np.count_nonzero(used[here]) < PART_ROWS * X.shape[1]:
            raise RecordError(
                f"errors: blocks: part {k + 1} of {count} has {np.count_nonzero(used[here])} rows for {X.shape[1]} parameters; "
                "fewer parts are wanted."
            )
        x, g = (np.where(used[here][:, None], A[here], 0.0) for A in (X, G))
        inverse = scaled_inverse(np.einsum("ij,ik->jk", x, g))
        influence = np.einsum("ij,kj->ik", x, inverse)
        offsets.append(np.einsum("ij,i->j", influence, rest[here]))
        left = rest[here] - np.einsum("ij,j->i", g, offsets[-1])
        spread = spectral_spread(influence, g, left, used[here], groups[here], lines)
        stds.append(np.sqrt(np.diag(spread.covariance)))
        freedom.append(spread.freedom)
    tables = [np.array(table) for table in (offsets, stds, freedom)]
    return Parts(tables[0], tables[1], scatter(*tables))


def with_parts(estimates: Estimates, parts: Parts) -> Estimates:
    """The estimates with what parts of the record scatter beyond their intervals in the standard deviations.

    It is not divided by the number of parts: a model that misses something misses it in the next record, too.
    """
    from scipy.special import stdtrit

    names, between = list(estimates), parts.scatter.between
    count = len(parts.offsets)
    quantile = float(stdtrit(count - 1, 0.975))
    entries = tuple(
        replace(e, std=float(np.hypot(e.std, b)), quantile=max(e.quantile, quantile) if b > e.std else e.quantile)
        for e, b in zip(estimates.entries, between, strict=True)
    )
    covariance = None if estimates.covariance is None else estimates.covariance + np.diag(between**2)
    values = estimates.vector() + parts.offsets
    details = {
        **estimates.details,
        "parts": values,
        "parts_std": parts.stds,
        "parts_between": between,
        "std_statistical": estimates.std_vector(),
    }
    remarks = parts.scatter.remarks(names, f"{count} parts of the record", values)
    return replace(estimates.warned(*remarks), entries=entries, covariance=covariance, details=details)
