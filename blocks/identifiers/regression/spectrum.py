"""The covariance of estimates whose residuals have a colour, and are not the same all the time: the spectrum of scores near zero.

An estimate errs by the sum of its scores x_t e_t, x_t the influence of row t: by their line at frequency zero. The fit has made
that line zero in the residuals, but its neighbours carry the same noise through the same motion: of scores multiplied by
cos(pi j (t + 1/2) / n), the sum has nearly the variance that is sought (Müller 2007; Lazarus, Lewis, Stock and Watson 2018). So
nothing is asked of the noise in between, neither that it is white nor that it is stationary: near a reversal an encoder or
friction may be as noisy as they like. What makes neighbours differ from line zero is the colour of the noise, a dip that a
controller cuts into it just where the motion is, and what the fit has taken: both are as the spectrum of the noise, seen
through the fit, lets expect.
"""

from __future__ import annotations

import functools
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from ..noise.noise_spectrum import SLOW_LINES, TAPERS, NoiseSpectrum, Series, beyond_ends, covariance_of_spectra, noise_spectra
from .stacked_rows import product

ERROR_KINDS = ("coloured", "white", "blocks", "drawn")  # what standard deviations are made of
LINES = 32.0  # of the spectrum, next to zero, that are looked at unless said: twice as many cosines
COSINE_ROWS = 3  # used rows for each cosine, at the least
FEWEST_COSINES = 4  # cosines
FEWEST_FREEDOM = 4.0  # degrees by which a doubt is told; Student's t of 2 has no standard deviation
LEFT = 0.02  # of the lines' power that a fit may leave; of less nothing is learnt
PIECES = 512  # of time, in which cosines are taken for constant
FAST_LINES = 128  # of the noise, of all fast ones, that are looked at for correlations of scores
SAMPLE = 16  # lines of the scores whose correlations with all others are counted


@dataclass(frozen=True)
class Spread:
    """A covariance, and of every parameter the degrees of freedom that its variance is known with (for Student's t)."""

    covariance: np.ndarray
    freedom: np.ndarray
    lines: float = 0.0  # that were smoothed together

    @property
    def doubt(self) -> np.ndarray:
        """sqrt(nu / (nu - 2)), the standard deviation of Student's t: so much larger are errors where a deviation is a guess."""
        freedom = np.maximum(self.freedom, FEWEST_FREEDOM)
        return np.sqrt(1 / (1 - 2 / freedom))

    @property
    def claim(self) -> np.ndarray:
        """The covariance with the doubt about itself in it: errors over these standard deviations have a spread of 1."""
        return np.asarray(self.covariance * np.outer(self.doubt, self.doubt))

    @property
    def quantile(self) -> np.ndarray:
        """Of the 95 % intervals, in standard deviations of the claim: Student's over the doubt, near 1.96 for any freedom."""
        from scipy.special import stdtrit

        return np.asarray(stdtrit(np.maximum(self.freedom, 1.0), 0.975)) / self.doubt


def spectral_spread(X: np.ndarray, G: np.ndarray, rest: np.ndarray, used: np.ndarray, groups: np.ndarray, lines: float) -> Spread:
    """Covariance of X' e. `X` is the influence of the rows, d estimate / d rest; `G` the columns fitted, d fit / d estimate.

    The rows of a group stand in the order of time, as many in every group; rows that are not used are gaps. Scores of all groups
    at one instant are added, for their noise may be the same. The variance at line zero is to the mean of its neighbours as the
    spectrum of the noise lets expect; its degrees of freedom are those of that mean and of that spectrum together. Correlations
    of the parameters are those of that spectrum: neighbours have others, and too few of them tell so many numbers.
    """
    p = X.shape[1]
    count = cosines(used, groups, p, lines or LINES)
    series = time_series(X, G, rest, used, groups)
    if not any(one.rest.any() for one in series):
        return Spread(np.zeros((p, p)), np.full(p, np.inf), count / 2)
    scores = np.sum([shifted_sums(one.X.T * one.rest, count) for one in series], axis=0)
    powers = np.einsum("ij,ij->i", scores, scores)
    spectra, variance, freedom = noise_spectra(series), np.zeros(p), np.zeros(p)
    degrees = spectrum_freedom(spectra)
    for i, (whole, neighbours, squares) in enumerate(expected_scores(series, spectra, count)):
        visible = neighbours > LEFT * count * whole
        variance[i] = whole * powers[i] / neighbours if visible else whole
        doubt = 1 / degrees[i] + (squares / neighbours**2 if visible else 0.0) if whole > 0 else 0.0
        freedom[i] = 1 / doubt if doubt > 0 else np.inf
    covariance = covariance_of_spectra(spectra)
    lengths = np.sqrt(np.diag(covariance))
    scale = np.sqrt(variance) / np.where(lengths > 0, lengths, 1.0)
    return Spread(covariance * np.outer(scale, scale), freedom, count / 2)


def time_series(X: np.ndarray, G: np.ndarray, rest: np.ndarray, used: np.ndarray, groups: np.ndarray) -> list[Series]:
    """Rows by group, with rows that are not used at their end such that transforms are quick."""
    from scipy.fft import next_fast_len

    table, numbers = [], group_numbers(groups)
    for group in numbers:
        own = groups == group if len(numbers) > 1 else slice(None)
        there = used[own]
        if there.any():
            rows = next_fast_len(len(there) + 1, real=True)
            parts = [np.zeros((rows, *A.shape[1:]), dtype=A.dtype, order="F") for A in (X, G, rest, there)]
            some = slice(None) if there.all() else there
            for part, A in zip(parts, (X, G, rest, there), strict=True):
                part[: len(there)][some] = A[own][some] if A is not there else there[some]
            table.append(Series(*parts))
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
    """sum_t sqrt(2) cos(pi j (t + 1/2) / n) values_t, the last axis being t, for j = 1 to count, at most n - 1."""
    from scipy.fft import dct

    return np.asarray(dct(values, type=2))[..., 1 : count + 1] / np.sqrt(2)


def expected_scores(series: list[Series], spectra: list[NoiseSpectrum], count: int) -> Iterator[tuple[float, float, float]]:
    """What noise of this spectrum lets expect of each parameter: the variance at line zero, that of all its neighbours together,
    and the sum of the squares of their covariances.

    With M = I - G X' what the fit leaves, the j-th shifted score of x is (M' D_j x)' e, D_j the cosine. The transform of D_j x
    is that of x, shifted by j lines to both sides. Of fast lines the fit takes next to nothing, and both sides do not meet.
    """
    rows = len(series[0].X)
    firsts, table = pieces_of_time(rows, count)
    slow, j = min(rows + 1, SLOW_LINES), np.arange(1, count + 1)[:, None]
    lines = np.concatenate([np.arange(slow), np.arange(slow, rows + 1, max(1, (rows + 1 - slow) // FAST_LINES))])
    stands_for = np.ones(len(lines))
    stands_for[slow:] = (rows + 1 - slow) / max(1, len(lines) - slow)
    below, above, turns = lines + count - j, lines + count + j, np.exp(0.5j * np.pi / rows * j) / np.sqrt(2)
    wide = [beyond_ends(one.X, count) for one in spectra]
    roots = [np.sqrt(one.power[lines] * stands_for) for one in spectra]
    fast = np.sum([fast_neighbours(one, wider, count, slow) for one, wider in zip(spectra, wide, strict=True)], axis=0)
    some = np.arange(0, count, max(1, count // SAMPLE))
    for i in range(series[0].X.shape[1]):
        lost = table @ np.sum([np.add.reduceat(one.G * one.X[:, i : i + 1], firsts) for one in series], axis=0)
        neighbours, products = float(fast[i]), np.zeros((len(some), count))
        for one, wider, root in zip(spectra, wide, roots, strict=True):
            x = wider[i]
            Y = x[below] * turns + x[above] * turns.conj()
            Y[:, :slow] -= np.einsum("ji,ik->jk", lost, one.X.view(float)[:, : 2 * slow]).view(complex)
            Y *= root
            neighbours += float(np.sum(Y[:, :slow].real ** 2 + Y[:, :slow].imag ** 2))
            products += np.real(product(Y[some].conj().T, Y.T))
        whole = float(np.sum([one.parts[i].sum() for one in spectra]))
        yield whole, neighbours, float(np.sum(products**2)) * count / len(some)


def fast_neighbours(one: NoiseSpectrum, wide: np.ndarray, count: int, slow: int) -> np.ndarray:
    """What fast lines add to the power of all shifted scores: half of |x|^2 from each side."""
    squares, fast = wide.real**2 + wide.imag**2, len(one.power) - slow
    sums = np.zeros((len(wide), wide.shape[1] + 1))
    np.cumsum(squares, axis=1, out=sums[:, 1:])
    around = sums[:, slow + 2 * count + 1 :][:, :fast] - sums[:, slow:][:, :fast]
    around -= squares[:, slow + count :][:, :fast]
    return np.einsum("if,f->i", around, one.power[slow:]) / 2


@functools.lru_cache(maxsize=4)
def pieces_of_time(rows: int, count: int) -> tuple[np.ndarray, np.ndarray]:
    """The first row of each piece, and sqrt(2) cos(pi j t / rows) in its middle for every j from 1 on."""
    firsts = np.unique(np.linspace(0, rows, min(PIECES, rows), endpoint=False).astype(int))
    middles = (firsts + np.append(firsts[1:], rows)) / 2
    return firsts, np.sqrt(2) * np.cos(np.pi / rows * np.outer(np.arange(1, count + 1), middles))


def spectrum_freedom(spectra: list[NoiseSpectrum]) -> np.ndarray:
    """Degrees of freedom of each variance, as far as bands of few lines tell the spectrum."""
    total = squares = np.zeros(len(spectra[0].parts))
    for one in spectra:
        lines = len(one.power)
        sums = np.concatenate([[0.0], np.cumsum(one.left)])
        # Tapers make a band wider, but for that at zero: what they reach there is the same on both sides.
        first, last = np.maximum(one.first - TAPERS, 0), np.minimum(one.last + TAPERS * (one.first > 0), lines)
        shares = one.parts / np.maximum(sums[last] - sums[first], 1.0)
        steps = np.array([np.bincount(first, own, lines + 1) - np.bincount(last, own, lines + 1) for own in shares])
        weights = np.cumsum(steps, axis=1)[:, :lines]
        total = total + np.einsum("if,f->i", weights, one.left)
        squares = squares + np.einsum("if,if,f->i", weights, weights, one.left)
    return np.divide(total**2, squares, out=np.full(len(total), np.inf), where=squares > 0)
