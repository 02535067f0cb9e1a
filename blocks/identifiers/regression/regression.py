"""Linear regression y = W x + rho by orthogonal factorisation: what every identifier built on a regressor shares.

found = fit(W, y)                       # ordinary least squares
found = fit(W, y, groups=joint_of_row)  # weighted by joint (Gautier 2001, eqs. 6 to 8)
found.values, found.std, found.condition, found.rank, found.null
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from blocksim.errors import RecordError

PIECE = 500  # rows that are factorised together
SMALL_ARRAY = 60_000  # numbers that are laid side by side at once


@dataclass(frozen=True)
class Fit:
    """What a regression found. A direction of `null` can be added to the values without any change of W x."""

    values: np.ndarray
    covariance: np.ndarray  # inf on the diagonal where the data do not determine a parameter
    residuals: np.ndarray  # y - W x, in the unit of y
    rank: int
    condition: float  # of the weighted W, as it stands
    relative_condition: float  # of W diag(x): relative precision of all parameters (Gautier 2001, eq. 9)
    scaled_condition: float  # with columns of length 1: how near to dependent they are, whatever the units
    null: np.ndarray  # a row per direction, each of unit length
    combinations: np.ndarray  # a row per combination the data determine: c x, reduced
    sigma: float  # standard deviation of the weighted residuals
    weights: np.ndarray  # what each row was multiplied by
    bread: np.ndarray = field(repr=False)  # (Ww' Ww)^+, for covariances made otherwise
    scores: np.ndarray = field(repr=False)  # weighted residuals, or psi of them where they were bounded

    @property
    def std(self) -> np.ndarray:
        return np.sqrt(np.diag(self.covariance))

    @property
    def relative_std(self) -> np.ndarray:
        """std / |value| (Gautier 2001, eq. 10, without the 100)."""
        with np.errstate(divide="ignore", invalid="ignore"):
            return np.where(self.values != 0, self.std / np.abs(self.values), np.inf)

    @property
    def determined(self) -> np.ndarray:
        """Which parameters the data determine."""
        return np.isfinite(np.diag(self.covariance))


def fit(W: Any, y: Any, groups: Any = None, weights: Any = None) -> Fit:
    """Least squares of stacked rows. `weights` multiply the rows (1 / standard deviation); a row of weight 0 does not count.

    With `groups`, the joint each row belongs to, the rows of each joint are weighted by the standard deviation of their own
    regression, ||rho_j||^2 / (r_j - p_j), p_j the rank of that joint's rows (Gautier 2001, eqs. 6 to 8). Then the covariance is
    (Ww' Ww)^-1; without, it is scaled by the variance of the residuals.
    """
    W, y, weights = checked(W, y, weights)
    if groups is not None:
        weights = weights * group_weights(W, y, np.asarray(groups), weights)
    return solved(W, y, weights, scaled=groups is None)


def all_present(signals: Mapping[str, Any]) -> None:
    """Refuse inputs with gaps, by port."""
    for name, values in signals.items():
        missing = int(np.sum(~np.isfinite(values)))
        if missing:
            raise RecordError(f"input '{name}': {missing} samples are missing or infinite; IRWSmoother bridges gaps.")


def checked(W: Any, y: Any, weights: Any) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """The system as arrays, refused where it has no solution in numbers."""
    W, y = np.asarray(W, dtype=float), np.asarray(y, dtype=float)
    if W.ndim != 2 or y.shape != W.shape[:1]:
        raise RecordError(f"a regression takes W of shape (rows, parameters) and y of (rows,); found {W.shape} and {y.shape}.")
    weights = np.ones(len(y)) if weights is None else np.broadcast_to(np.asarray(weights, dtype=float), y.shape)
    for name, values in (("regressor", W), ("effort", y), ("weights", weights)):
        if not np.isfinite(values).all():
            raise RecordError(f"{np.sum(~np.isfinite(values))} values of the {name} are missing or infinite.")
    rows = int(np.count_nonzero(weights))
    if rows <= W.shape[1]:
        raise RecordError(
            f"{rows} rows are too few for {W.shape[1]} parameters and their uncertainty: more than {W.shape[1]} are wanted."
        )
    return W, y, weights


def group_weights(W: np.ndarray, y: np.ndarray, groups: np.ndarray, weights: np.ndarray) -> np.ndarray:
    """1 / sigma_j for the rows of each joint j, from the regression of that joint alone."""
    result = np.ones(len(y))
    for group, own in group_members(groups):
        if not weights[own].any():
            continue
        Wj, yj = weighted_rows(W[own], y[own], weights[own])
        A, b = triangle(Wj[:, Wj.any(axis=0)], yj)
        u, s, _ = np.linalg.svd(unit_columns(A)[0], full_matrices=False)
        significant = s > tolerance(s, Wj.shape)
        rest = b - u[:, significant] @ (u[:, significant].T @ b)
        count = int(np.count_nonzero(weights[own]))
        freedom = count - int(significant.sum())
        if freedom < 1:
            raise RecordError(
                f"joint {group + 1}: {count} rows for {int(significant.sum())} parameters leave nothing to weight it by."
            )
        # Without noise a joint would weigh without bound: rounding is the least error there is.
        least = 1e-14 * math.sqrt(yj @ yj / count)
        if not least:  # 0 = W x alone is solved by nothing: what the rows of all joints leave of it is its error
            rest = (solved(W, y, weights).residuals * weights)[own]
            least = 1e-14 * math.sqrt(float(np.mean((y * weights) ** 2))) or 1.0
        result[own] = 1.0 / max(math.sqrt(rest @ rest / freedom), least)
    return result


def triangle(W: np.ndarray, y: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """A few rows with the same solution, residual norm, column lengths and singular values: the R of [W y] = Q R."""
    R = upper(W, y)
    return R[:, :-1], R[:, -1]


def upper(*columns: np.ndarray) -> np.ndarray:
    """R of [A b ...] = Q R, the columns side by side.

    Long systems are factorised piece by piece, then the pieces together: short ones stay in the cache, and BLAS starts no
    threads for them, which would be in each other's way where many runs are identified at once.
    """
    rows, width = len(columns[0]), sum(column.size // len(column) for column in columns)
    if not rows >= 2 * PIECE > 8 * width:
        R: Any = np.linalg.qr(np.column_stack(columns), mode="r")
        return R
    few, pieces = max(1, SMALL_ARRAY // (PIECE * width)) * PIECE, []
    for first in range(0, rows, few):
        part = np.column_stack([column[first : first + few] for column in columns])
        whole = len(part) // PIECE * PIECE
        several: Any = np.linalg.qr(part[:whole].reshape(-1, PIECE, width), mode="r")
        pieces += [several.reshape(-1, width), part[whole:]]
    return upper(np.concatenate(pieces))


def unit_columns(W: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """W with columns of length 1, and their lengths; a column of zeros stays."""
    lengths = np.sqrt(np.einsum("ij,ij->j", W, W))
    return W / np.where(lengths > 0, lengths, 1.0), lengths


def tolerance(s: np.ndarray, shape: tuple[int, ...]) -> float:
    """Singular values up to this are rounding."""
    return float(s.max(initial=0.0)) * max(shape) * float(np.finfo(float).eps)


def solved(W: np.ndarray, y: np.ndarray, weights: np.ndarray, scaled: bool = True) -> Fit:
    """The regression with weights known. Columns are scaled to length 1 first, so that units do not decide the rank."""
    Ww, yw = weighted_rows(W, y, weights)
    A, b = triangle(Ww, yw)
    unit, lengths = unit_columns(A)
    u, s, vt = np.linalg.svd(unit, full_matrices=False)
    significant = s > tolerance(s, Ww.shape)
    rank = int(significant.sum())
    safe = np.where(lengths > 0, lengths, 1.0)
    values = (vt[significant].T @ ((u[:, significant].T @ b) / s[significant])) / safe
    residuals = y - np.einsum("ij,j->i", W, values)
    scores = residuals * weights
    freedom = max(1, int(np.count_nonzero(weights)) - rank)
    sigma = math.sqrt(float(np.einsum("i,i->", scores, scores)) / freedom)
    half = vt[significant].T / s[significant] / safe[:, None]
    bread = half @ half.T
    null = vt[~significant] / safe
    null = null / np.linalg.norm(null, axis=1, keepdims=True)
    covariance = undetermined(bread * (sigma**2 if scaled else 1.0), null)
    combinations = reduced(vt[significant], lengths)
    numbers = condition(A, Ww.shape), condition(A * values, Ww.shape), ratio(s, Ww.shape)
    return Fit(values, covariance, residuals, rank, *numbers, null, combinations, sigma, weights, bread, scores)


def group_members(groups: np.ndarray) -> Iterator[tuple[int, Any]]:
    """Every group and which rows are its own."""
    if (groups == groups[0]).all():
        yield int(groups[0]), slice(None)
        return
    for group in np.unique(groups).tolist():
        yield group, groups == group


def weighted_rows(W: np.ndarray, y: np.ndarray, weights: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The rows times their weights; one of weight 0 is a row of zeros, which changes no solution."""
    if (weights == 1).all():
        return W, y
    return W * weights[:, None], y * weights


def undetermined(covariance: np.ndarray, null: np.ndarray) -> np.ndarray:
    """The covariance with no knowledge of parameters that a null direction touches."""
    if len(null):
        touched = (np.abs(null) > 1e-7 * np.abs(null).max(axis=1, keepdims=True)).any(axis=0)
        covariance[touched, :] = covariance[:, touched] = 0.0
        covariance[touched, touched] = np.inf
    return covariance


def condition(A: np.ndarray, shape: tuple[int, ...]) -> float:
    """Largest by smallest singular value of W of that shape, from its triangle; inf where the rank is short."""
    return ratio(np.linalg.svd(A, compute_uv=False), shape)


def ratio(s: np.ndarray, shape: tuple[int, ...]) -> float:
    return float(s[0] / s[-1]) if s[-1] > tolerance(s, shape) else math.inf


def reduced(rows: np.ndarray, lengths: np.ndarray) -> np.ndarray:
    """The row space in reduced echelon form: each row a combination of parameters that is determined, led by a 1."""
    if len(rows) == len(lengths):  # every parameter by itself
        return np.eye(len(lengths))
    rows, lead = rows.copy(), 0
    for column in range(rows.shape[1]):
        if lead == len(rows):
            break
        place = lead + int(np.argmax(np.abs(rows[lead:, column])))
        if abs(rows[place, column]) < 1e-7:
            continue
        rows[[lead, place]] = rows[[place, lead]]
        rows[lead] /= rows[lead, column]
        others = np.arange(len(rows)) != lead
        rows[others] -= np.outer(rows[others, column], rows[lead])
        lead += 1
    rows[np.abs(rows) < 1e-7] = 0.0
    rows = rows * lengths
    leads = [row[np.flatnonzero(row)[0]] for row in rows]
    return rows / np.array(leads)[:, None] if len(rows) else rows


def on_rows(used: np.ndarray, W: np.ndarray, y: np.ndarray, result: Fit) -> Fit:
    """A fit of some of the rows as one of all of them, the others without weight."""
    weights, scores = np.zeros(len(y)), np.zeros(len(y))
    weights[used], scores[used] = result.weights, result.scores
    return replace(result, residuals=y - W @ result.values, weights=weights, scores=scores)
