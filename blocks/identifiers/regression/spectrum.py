"""The covariance of estimates whose residuals have a colour, and are not the same all the time: the spectrum of scores near zero.

An estimate errs by the sum of its scores x_t e_t, x_t the influence of row t: by their line at frequency zero. The fit has made
that line zero in the residuals, but its neighbours carry the same noise through the same motion: of scores multiplied by
cos(pi j (t + 1/2) / n), the sum has nearly the variance that is sought (Müller 2007; Lazarus, Lewis, Stock and Watson 2018). So
nothing is asked of the noise in between, neither that it is white nor that it is stationary: near a reversal an encoder or
friction may be as noisy as they like. A controller cuts a dip into the noise just where the motion is, so that lines further away
carry more: what they have on average is continued to line zero by a parabola.
"""

from __future__ import annotations

import functools
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from .colour import autocovariance

ERROR_KINDS = ("coloured", "white", "blocks", "drawn")  # what standard deviations are made of
LINES = 32.0  # of the spectrum, next to zero, that are looked at unless said: twice as many cosines
COSINE_ROWS = 3  # used rows for each cosine, at the least
FEWEST_COSINES = 4  # cosines
WIDER = 4  # as many are looked at for correlations, which are many and matter less
SLOWEST = 0.98  # coefficient of the autoregression by which losses are judged, of short records
MEMORIES = 8  # in a record, at the least: an autoregression that remembers for longer cannot be told from a drift
SHALLOWEST = 0.33  # of the mean of all lines: a dip is not believed to be deeper
PIECES = 512  # of time, in which cosines are taken for constant
COSINE_LIMIT = 200_000  # rows of which all cosines together would not fit the memory
AT_ONCE = 64  # products of columns that are made together; more would not stay in the cache
LEFT = 0.2  # of a variance that the fit and the parabola may leave, else the mean of all lines is taken


@dataclass(frozen=True)
class Spread:
    """A covariance, and of every parameter the degrees of freedom that its variance is known with (for Student's t)."""

    covariance: np.ndarray
    freedom: np.ndarray
    lines: float = 0.0  # that were smoothed together
    memory: tuple[float, ...] = ()  # of each group: the autoregression by which losses are judged

    @property
    def quantile(self) -> np.ndarray:
        """Of the 95 % interval of each parameter."""
        from scipy.special import stdtrit

        return np.asarray(stdtrit(np.maximum(self.freedom, 1.0), 0.975))


@dataclass(frozen=True)
class Series:
    """One group of rows in the order of time, rows that are not used being zero: influence, columns of the fit, residuals."""

    X: np.ndarray
    G: np.ndarray
    rest: np.ndarray
    rho: float  # its autoregression
    size: float  # mean square of its residuals

    def coloured(self, columns: np.ndarray) -> np.ndarray:
        """L' X, L L' the covariance of the autoregression: X' C X is its square."""
        from scipy.signal import lfilter

        gain = np.sqrt(self.size * (1 - self.rho**2))
        return np.asarray(lfilter([gain], [1.0, -self.rho], columns[::-1], axis=0))[::-1]

    @property
    def long(self) -> bool:
        """Whether a cosine hardly changes while the autoregression remembers."""
        return len(self.X) > PIECES and (len(self.X) * (1 - abs(self.rho)) > PIECES / 2 or len(self.X) > COSINE_LIMIT)


def spectral_spread(X: np.ndarray, G: np.ndarray, rest: np.ndarray, used: np.ndarray, groups: np.ndarray, lines: float) -> Spread:
    """Covariance of X' e. `X` is the influence of the rows, d estimate / d rest; `G` the columns fitted, d fit / d estimate.

    The rows of a group stand in the order of time, as many in every group; rows that are not used are gaps. Scores of all groups
    at one instant are added, for their noise may be the same. What the fit has taken from the lines, and what a parabola cannot
    follow, is given back as an autoregression of order 1 would lose it; its degrees of freedom are those of the same model.
    """
    series, p = time_series(X, G, rest, used, groups), X.shape[1]
    count = cosines(used, groups, p, lines or LINES)
    if not any(one.size > 0 for one in series):
        return Spread(np.zeros((p, p)), np.full(p, np.inf), count / 2)
    scores = np.sum([shifted_sums(one.X * one.rest[:, None], WIDER * count) for one in series], axis=0)
    expected = by_pieces(series, count) if all(one.long for one in series) else by_rows(series, count)
    weights, variance, freedom = continued(count), np.zeros(p), np.zeros(p)
    for i, (K, whole) in enumerate(expected):
        variance[i], freedom[i] = line_zero(scores[:count, i] ** 2, K, whole, weights)
    lengths = np.sqrt(np.einsum("ji,ji->i", scores, scores))
    scale = np.sqrt(variance) / np.where(lengths > 0, lengths, 1.0)
    covariance = np.einsum("ji,jk->ik", scores, scores) * np.outer(scale, scale)
    return Spread(covariance, freedom, count / 2, tuple(one.rho for one in series))


def time_series(X: np.ndarray, G: np.ndarray, rest: np.ndarray, used: np.ndarray, groups: np.ndarray) -> list[Series]:
    table = []
    numbers = group_numbers(groups)
    for group in numbers:
        own = groups == group if len(numbers) > 1 else slice(None)
        there = used[own]
        e = np.where(there, rest[own], 0.0)
        count = int(np.count_nonzero(there))
        if count:
            rho = memory_of(rest[own], there, X.shape[1]) if count > 2 and e.any() else 0.0
            whole = count == len(there)
            inside, fitted = (A[own] if whole and A.flags.c_contiguous else np.where(there[:, None], A[own], 0.0) for A in (X, G))
            table.append(Series(inside, fitted, e, rho, float(np.einsum("i,i->", e, e)) / count))
    return table


def group_numbers(groups: np.ndarray) -> list[int]:
    """Which groups there are; most often one, of number 0."""
    return [int(group) for group in np.unique(groups)] if groups.any() else [0]


def cosines(used: np.ndarray, groups: np.ndarray, parameters: int, lines: float) -> int:
    """How many: two for each line, fewer where there are few rows."""
    numbers = group_numbers(groups)
    rows = [used[groups == group] for group in numbers] if len(numbers) > 1 else [used]
    least = min(int(np.count_nonzero(there)) for there in rows if there.any())
    return min(max(FEWEST_COSINES, min(round(2 * lines), (least - parameters) // COSINE_ROWS)), len(rows[0]) - 1)


def shifted_sums(values: np.ndarray, count: int) -> np.ndarray:
    """sum_t sqrt(2) cos(pi j (t + 1/2) / n) values_t for j = 1 to count, at most n - 1."""
    from scipy.fft import dct

    return np.asarray(dct(values, type=2, axis=0))[1 : count + 1] / np.sqrt(2)


def continued(count: int) -> np.ndarray:
    """Weights of so many lines that make the value at line zero of the parabola a + b j^2 through them."""
    j = np.arange(1, count + 1) / count
    return np.asarray(np.linalg.pinv(np.stack([np.ones(count), j**2], axis=1))[0])


def by_rows(series: list[Series], count: int) -> Iterator[tuple[np.ndarray, float]]:
    """What the autoregression lets expect of each parameter: products of its shifted scores, and the variance at line zero.

    With M = I - G X' what the fit leaves, the j-th shifted score of x is (M' D_j x)' e, D_j the cosine: the products are
    x' D_j M C M' D_k x, and the variance is x' C x.
    """
    rows = len(series[0].X)
    table = cosine_table(rows, count, np.arange(rows) + 0.5)
    for i in range(series[0].X.shape[1]):
        lost = np.sum([table @ (one.G * one.X[:, i : i + 1]) for one in series], axis=0)
        parts = [one.coloured(np.c_[table.T * one.X[:, i : i + 1] - one.X @ lost.T, one.X[:, i]]) for one in series]
        K = np.sum([part.T @ part for part in parts], axis=0)
        yield K[:-1, :-1], float(K[-1, -1])


def by_pieces(series: list[Series], count: int) -> Iterator[tuple[np.ndarray, float]]:
    """The same of a long record: products of columns are added up over pieces of time in which no cosine changes much."""
    rows = len(series[0].X)
    firsts, table = pieces_of_time(rows, count)
    coloured = [one.coloured(one.X) for one in series]
    power = np.sum([piece.T @ piece for piece in coloured], axis=0)
    owns = [sums_by_column(piece, piece, firsts) for piece in coloured]
    losses = [sums_by_column(one.G, one.X, firsts) for one in series]
    for i in range(series[0].X.shape[1]):
        own = np.sum([next(sums) for sums in owns], axis=0)  # X' C x, by piece
        lost = table @ np.sum([next(sums) for sums in losses], axis=0)
        cross = table @ own @ lost.T
        K = (table * own[:, i]) @ table.T - cross - cross.T + lost @ power @ lost.T
        yield K, float(own[:, i].sum())


@functools.lru_cache(maxsize=4)
def pieces_of_time(rows: int, count: int) -> tuple[np.ndarray, np.ndarray]:
    """The first row of each piece, and the cosines in its middle."""
    firsts = np.linspace(0, rows, PIECES, endpoint=False).astype(int)
    return firsts, cosine_table(rows, count, (firsts + np.append(firsts[1:], rows)) / 2)


def sums_by_column(A: np.ndarray, B: np.ndarray, firsts: np.ndarray) -> Iterator[np.ndarray]:
    """Of each column of B in turn: its products with all columns of A, added up over pieces; all at once where they are few."""
    if A.shape[1] * B.shape[1] > AT_ONCE:
        for i in range(B.shape[1]):
            yield np.asarray(np.add.reduceat(A * B[:, i : i + 1], firsts))
        return
    products = (B[:, :, None] * A[:, None, :]).reshape(len(A), -1)
    sums = np.add.reduceat(products, firsts).reshape(len(firsts), B.shape[1], A.shape[1])
    for i in range(B.shape[1]):
        yield np.ascontiguousarray(sums[:, i])


def cosine_table(rows: int, count: int, times: np.ndarray) -> np.ndarray:
    """sqrt(2) cos(pi j t / rows) for every j from 1 on, at these times."""
    return np.asarray(np.sqrt(2) * np.cos(np.pi / rows * np.outer(np.arange(1, count + 1), times)))


def line_zero(powers: np.ndarray, K: np.ndarray, whole: float, weights: np.ndarray) -> tuple[float, float]:
    """The variance at line zero, and the degrees of freedom it is known with, by Satterthwaite's rule."""
    weights = weights[: len(powers)]
    lines, even = np.diag(K), np.full(len(powers), 1 / len(powers))
    if not whole > 0:
        return 0.0, np.inf
    mean = float(even @ powers) / float(even @ lines)
    if float(weights @ lines) < LEFT * whole:
        weights = even
    ratio = max(float(weights @ powers) / float(weights @ lines), SHALLOWEST * mean)
    return ratio * whole, float(weights @ lines) ** 2 / float(weights @ K**2 @ weights)


def memory_of(rest: np.ndarray, used: np.ndarray, parameters: int) -> float:
    """The coefficient of an autoregression of order 1, without what the fit of so many slow columns takes from it.

    Residuals look faster than the noise: their correlation falls short by about (parameters (1 + rho) + 2 rho) / rows.
    """
    c, n = autocovariance(rest, 1, used), int(used.sum())
    rho = float(c[1] / c[0]) * n / max(1, int(np.count_nonzero(used[1:] & used[:-1])))
    slowest = max(SLOWEST, 1 - MEMORIES / n)
    if rho <= 0 or n <= 2 * parameters + 4:
        return max(min(rho, slowest), -SLOWEST)
    return min((n * rho + parameters) / (n - parameters - 2), slowest)
