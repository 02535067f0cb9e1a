"""Rows y = W beta under each other, of every instant its joints: products, weights, one step of least squares, what is left.

Without the threads of BLAS, which cost more than such slim matrices when several runs are identified at once.
"""

from __future__ import annotations

import functools
from dataclasses import dataclass

import numpy as np

from blocksim.errors import RecordError

from .colour import colour_of
from .regression import Fit, fit, group_members

UNTHREADED = 200_000  # multiplications that OpenBLAS makes without starting threads; a quarter of them of complex numbers


@dataclass(frozen=True)
class Rows:
    """y = W beta, row under row: of every instant its joints. A row of weight 0 does not count."""

    W: np.ndarray
    y: np.ndarray
    weights: np.ndarray
    groups: np.ndarray

    def times(self, beta: np.ndarray) -> np.ndarray:
        """W beta."""
        return np.einsum("ij,j->i", self.W, beta)


def product(A: np.ndarray, B: np.ndarray) -> np.ndarray:
    """A' B, of so many rows at a time that BLAS starts no threads."""
    most = UNTHREADED // 4 if A.dtype.kind == "c" else UNTHREADED
    rows = max(1, most // (A.shape[1] * B.shape[1]))
    result = np.asarray(A[:rows].T @ B[:rows])
    for first in range(rows, len(A), rows):
        result += A[first : first + rows].T @ B[first : first + rows]
    return result


def against(rest: np.ndarray, W: np.ndarray) -> np.ndarray:
    """W' rest."""
    return np.einsum("i,ij->j", rest, W)


def sum_of_squares(rest: np.ndarray) -> float:
    """Sum of squares."""
    return float(np.einsum("i,i->", rest, rest))


def stacked(W: np.ndarray, y: np.ndarray, count: np.ndarray) -> Rows:
    """(rows, joints, parameters) and (rows, joints) under each other, the rows of a joint in the order of time."""
    return Rows(W.reshape(-1, W.shape[-1]), y.ravel(), count.ravel().astype(float), joint_of_row(*y.shape))


@functools.lru_cache(maxsize=8)
def joint_of_row(rows: int, joints: int) -> np.ndarray:
    return np.tile(np.arange(joints), rows)


def by_joint(rows: Rows, beta: np.ndarray) -> np.ndarray:
    """The weights of the rows, those of each of several joints divided by the root mean square of what beta leaves of it."""
    if rows.groups[-1] == 0:  # one joint
        return rows.weights
    rest = (rows.y - rows.times(beta)) * rows.weights
    squares = np.bincount(rows.groups, rest**2) / np.maximum(np.bincount(rows.groups, rows.weights > 0), 1)
    least = 1e-14 * np.sqrt(np.bincount(rows.groups, rows.y**2) / np.bincount(rows.groups)) + 1e-300
    return rows.weights / np.maximum(np.sqrt(squares), least)[rows.groups]


def least_squares_step(rows: Rows, beta: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The step from beta to the least squares solution, with its standard deviation, by normal equations.

    An error of the step is put right by the next one, since each starts from what beta leaves; what is reported in the end
    comes from an orthogonal factorisation. Directions that the data do not determine keep their values.
    """
    weights = by_joint(rows, beta)
    Ww = rows.W if (weights == 1).all() else rows.W * weights[:, None]
    rest = (rows.y - rows.times(beta)) * weights
    return solved_step(product(Ww, Ww), against(rest, Ww), sum_of_squares(rest), int((weights > 0).sum()))


def solved_step(A: np.ndarray, b: np.ndarray, left: float, count: int) -> tuple[np.ndarray, np.ndarray]:
    """x of A x = b and its standard deviation, A being scaled to a diagonal of ones first."""
    if count <= len(b):
        raise RecordError(
            f"{count} rows are too few for {len(b)} parameters: skip, decimate, edges, drop_slow and rest (a twin that does not "
            "move) leave no more."
        )
    if not (np.isfinite(A).all() and np.isfinite(b).all()):
        return np.full(len(b), np.nan), np.full(len(b), np.nan)
    inverse = scaled_inverse(A)
    step = inverse @ b
    variance = max(left - float(b @ step), 0.0) / max(1, count - len(b))
    return step, np.sqrt(np.abs(np.diag(inverse)) * variance)


def natural_sizes(rows: Rows) -> np.ndarray:
    """The size of each parameter at which its column is as long as the effort."""
    lengths = np.sqrt(np.einsum("ij,ij->j", rows.W, rows.W))
    return np.sqrt(sum_of_squares(rows.y)) / np.where(lengths > 0, lengths, 1.0)


def scaled_inverse(A: np.ndarray) -> np.ndarray:
    """The pseudoinverse of Z'W, scaled to a diagonal of ones first: units and weights must not decide its rank."""
    scale = np.sqrt(np.abs(np.diag(A)))
    scale = np.where(scale > 0, scale, 1.0)
    units = np.outer(scale, scale)
    u, s, vt = np.linalg.svd(A / units)
    some = s > 1e-13 * s[0]
    return np.asarray((vt[some].T / s[some]) @ u[:, some].T / units)


def weighted_fit(rows: Rows) -> Fit:
    """Least squares, weighted by joint where there are several."""
    several = int(rows.groups.max()) > 0
    return fit(rows.W, rows.y, rows.groups if several else None, rows.weights)


def relative_error(residuals: np.ndarray, y: np.ndarray) -> float:
    """||y - W beta|| / ||y||, in %."""
    size = sum_of_squares(y)
    return 100 * float(np.sqrt(sum_of_squares(residuals) / size)) if size else float("nan")


def coloured_residuals(rest: np.ndarray, rows: Rows) -> str:
    """Said where residuals are not white."""
    words, several = [], rows.groups[-1] > 0
    for joint, own in group_members(rows.groups):
        correlation = colour_of(rest[own], rows.y[own], rows.weights[own] > 0)
        if correlation is not None:
            words.append(f"{f'joint {joint + 1}, ' if several else ''}{correlation:.2f} from row to row")
    return f"residuals are coloured (correlation {'; '.join(words)})" if words else ""
