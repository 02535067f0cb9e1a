"""Noise that is not white: its autocovariances, and the filter that makes it white.

A noise with autocovariances G(0), G(1) ... is whitened by predicting each reading from those before it: e[k] = v[k] - sum A_i
v[k - i], with e[k] of covariance S. At the start fewer readings are there to predict from, and the predictor is that of a lower
order: exact for an autoregression, and never afraid of a signal that drifts away.
"""

from __future__ import annotations

import functools
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from ...errors import DiagramError

if TYPE_CHECKING:
    import numpy as np

    from ...contract.arrays import FloatArray

#: Readings that a prediction looks back.
LONGEST_LAG = 64
#: Added to the variance so that a spectrum with a hole in it stays invertible, as a share.
RIDGE = 1e-10


@dataclass(frozen=True)
class Colour:
    """Autocovariances of the noise of all readings, [lag, to, from]: G[j] = E v[k + j] v[k]'."""

    covariances: FloatArray
    steps: tuple[float, ...] = ()  # of readings that stay between two steps of their sensor; 0 for the others

    @property
    def stds(self) -> FloatArray:
        import numpy as np

        stds: FloatArray = np.sqrt(np.diagonal(self.covariances[0]))
        return stds

    def rounded(self, steps: Sequence[float]) -> Colour:
        """With d^2 / 12 at least for readings that stay between two steps of d; 0 for the others."""
        import numpy as np

        missing = np.diag(np.maximum(np.square(steps) / 12.0 - np.square(self.stds), 0.0))
        return Colour(np.concatenate([self.covariances[:1] + missing, self.covariances[1:]]), tuple(steps))

    @functools.cached_property
    def predictors(self) -> list[Predictor]:
        """Of every order, computed once: a fit whitens hundreds of times."""
        return predictors(self.covariances)

    def whiten(self, signals: FloatArray) -> FloatArray:
        """Signals [time, reading, ...] as readings of independent noises of variance 1."""
        import numpy as np

        flat = signals.reshape(*signals.shape[:2], -1)
        steps = self.predictors
        result = np.empty(flat.shape)
        order = min(len(steps), len(flat)) - 1
        for k in range(order):
            result[k] = predicted_rest(steps[k], flat, slice(k, k + 1))[0]
        result[order:] = predicted_rest(steps[order], flat, slice(order, len(flat)))
        return result.reshape(signals.shape)

    def draw(self, random: np.random.Generator, rows: int) -> FloatArray:
        """So many readings of this noise, [time, reading]: what was predicted, and what comes new to it."""
        import numpy as np

        steps, noise = self.predictors, random.standard_normal((rows, len(self.stds)))
        if len(steps) == 1:
            return noise @ steps[0][1].T
        for k in range(rows):
            coefficients, factor = steps[min(k, len(steps) - 1)]
            before = noise[k - len(coefficients) : k][::-1]
            noise[k] = np.einsum("iab,ib->a", coefficients, before) + factor @ noise[k]
        return noise


Predictor = tuple["FloatArray", "FloatArray"]


def predicted_rest(step: Predictor, flat: FloatArray, rows: slice) -> FloatArray:
    """L^-1 (v[k] - sum A_i v[k - i]) for some rows, L L' = S."""
    import numpy as np

    coefficients, factor = step
    if flat.shape[1] == 1 and len(coefficients) and rows.stop - rows.start > 1:  # one reading: a filter for each column
        taps = np.concatenate([[1.0], -coefficients[:, 0, 0]])
        columns = [np.convolve(column, taps)[rows] for column in flat[:, 0, :].T]
        lone: FloatArray = np.stack(columns, axis=1)[:, None, :] / factor[0, 0]
        return lone
    rest = flat[rows].copy()
    for i, matrix in enumerate(coefficients, start=1):
        rest -= np.einsum("ij,njp->nip", matrix, flat[rows.start - i : rows.stop - i])
    white_rest: FloatArray = np.linalg.solve(factor[None], rest).astype(float)
    return white_rest


def predictors(covariances: FloatArray) -> list[Predictor]:
    """The best linear predictor of each order, (A_1 ... A_m) and the Cholesky factor of its error's covariance."""
    import numpy as np
    from scipy.linalg import solve

    size = covariances.shape[1]
    own = covariances[0] + RIDGE * np.diag(np.diag(covariances[0]))

    def at(lag: int) -> FloatArray:
        matrix: FloatArray = own if lag == 0 else covariances[lag] if lag > 0 else covariances[-lag].T
        return matrix

    longest = len(covariances) - 1
    cells = np.empty((longest, size, longest, size))  # the past of the longest; those of the others stand at its top left
    for i in range(longest):
        for j in range(longest):
            cells[i, :, j, :] = at(j - i)
    whole = cells.reshape(longest * size, longest * size)
    after = np.hstack([at(i) for i in range(1, longest + 1)]) if longest else np.empty((size, 0))
    steps = [(np.zeros((0, size, size)), np.linalg.cholesky(own))]
    for order in range(1, longest + 1):
        past, across = whole[: order * size, : order * size], after[:, : order * size]
        weights = solve(past, across.T, assume_a="pos").T
        factor = np.linalg.cholesky(own - weights @ across.T)
        steps.append((weights.reshape(size, order, size).transpose(1, 0, 2), factor))
    return steps


def white(stds: Sequence[float]) -> Colour:
    import numpy as np

    return Colour(np.diag(np.square(stds))[None])


def of_spectrum(frequency: Sequence[float], density: Sequence[float], interval: float, where: str = "spectrum") -> FloatArray:
    """Autocovariances, one per lag, of a one-sided power spectral density (unit^2/Hz), straight lines between its points."""
    import numpy as np

    f, power = np.asarray(frequency, float), np.asarray(density, float)
    if f.ndim != 1 or f.shape != power.shape or len(f) < 2 or not (np.diff(f) > 0).all() or not (power > 0).all():
        raise DiagramError(f"{where}: at least two frequencies, rising, each with a density above 0, are wanted.")
    count = 16 * LONGEST_LAG
    lines = np.arange(count + 1) / (2 * count * interval)
    values = np.exp(np.interp(lines, f, np.log(power)))
    return np.fft.irfft(values, 2 * count)[: LONGEST_LAG + 1] / (2.0 * interval)


def independent(parts: Sequence[FloatArray]) -> Colour:
    """Noises of several readings that do not know of each other."""
    import numpy as np

    lags = max(len(part) for part in parts)
    covariances = np.zeros((lags, len(parts), len(parts)))
    for k, part in enumerate(parts):
        covariances[: len(part), k, k] = part
    return Colour(covariances)


def of_samples(samples: Sequence[FloatArray]) -> Colour:
    """Autocovariances of the noise in several runs, each [time, reading]."""
    import numpy as np

    stack = np.stack(samples)
    runs, rows, _ = stack.shape
    order = min(LONGEST_LAG, rows // 8)
    lags = [np.einsum("rni,rnj->ij", stack[:, lag:], stack[:, : rows - lag]) / (runs * rows) for lag in range(order + 1)]
    return Colour(np.stack(lags) * taper(order)[:, None, None])


def taper(order: int) -> FloatArray:
    """Weights of estimated lags, 1 to 0 (Parzen's window), which keep their spectrum positive."""
    import numpy as np

    x = np.arange(order + 1) / (order + 1)
    return np.where(x <= 0.5, 1 - 6 * x**2 + 6 * x**3, 2 * (1 - x) ** 3)
