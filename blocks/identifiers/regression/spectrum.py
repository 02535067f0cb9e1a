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
from numpy.lib.stride_tricks import as_strided

from ..noise.bands import running_sums
from ..noise.noise_spectrum import SLOW_LINES, TAPERS, NoiseSpectrum, Series, beyond_ends, covariance_of_spectra, noise_spectra
from .stacked_rows import UNTHREADED

ERROR_KINDS = ("coloured", "white", "blocks", "drawn")  # what standard deviations are made of
LINES = 32.0  # of the spectrum, next to zero, that are looked at unless said: twice as many cosines
COSINE_ROWS = 3  # used rows for each cosine, at the least
FEWEST_COSINES = 4  # cosines
FEWEST_FREEDOM = 4.0  # degrees by which a doubt is told; Student's t of 2 has no standard deviation
LEFT = 0.02  # of the lines' power that a fit may leave; of less nothing is learnt
PIECES = 512  # of time, in which cosines are taken for constant
FAST_LINES = 128  # of the noise, of all fast ones, that are looked at for correlations of scores
SAMPLE = 16  # lines of the scores whose correlations with all others are counted
AT_ONCE = 8  # parameters


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
    scores = np.sum([shifted_sums(one.X * one.rest, count) for one in series], axis=0)
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

    table, numbers, p = [], group_numbers(groups), X.shape[1]
    for group in numbers:
        own = groups == group if len(numbers) > 1 else slice(None)
        there = used[own]
        if there.any():
            length, rows = len(there), next_fast_len(len(there) + 1, real=True)
            lines, mask = np.zeros((1 + 2 * p, 2 * rows)), np.zeros(rows, dtype=bool)
            mask[:length] = there
            for part, A in ((lines[0], rest), (lines[1 : p + 1], X.T), (lines[p + 1 :], G.T)):
                part[..., 1 : length + 1] = A[..., own]
            if not there.all():
                lines[:, 1 : length + 1][:, ~there] = 0.0
            table.append(Series(lines, p, mask))
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
    is that of x, shifted by j lines to both sides: once lines are turned by half a sample, half the sum of two lines. Of fast
    lines the fit takes next to nothing, and both sides do not meet.
    """
    rows, p = series[0].rows, series[0].parameters
    slow = min(rows + 1, SLOW_LINES)
    step = max(1, (rows + 1 - slow) // FAST_LINES)
    some = np.arange(0, count, max(1, count // SAMPLE))
    firsts, table = pieces_of_time(rows, count)
    wide = [beyond_ends(one.X * half_a_sample(rows), count, -1.0) for one in spectra]
    whole = np.sum([one.parts.sum(axis=1) for one in spectra], axis=0)
    near = np.sum([fast_neighbours(one, count, slow) for one in spectra], axis=0)
    for begin in range(0, p, AT_ONCE):
        own, products = slice(begin, min(begin + AT_ONCE, p)), np.asarray(0.0)
        lost = np.stack([np.sum([loss_of(one, i, firsts, table) for one in series], axis=0) for i in range(p)[own]])
        for one, wider in zip(spectra, wide, strict=True):
            scores = line_pairs(wider[own], count, 0, slow, 1)
            scores -= lost @ wider[:, count : count + slow].copy().view(float)
            scores *= np.repeat(np.sqrt(one.power[:slow]), 2)
            near[own] += np.einsum("ijf,ijf->i", scores, scores)
            products = products + several_products(scores, some)
            if slow <= rows:
                scores, power = line_pairs(wider[own], count, slow, rows + 1, step), one.power[slow::step]
                scores *= np.repeat(np.sqrt(power * ((rows + 1 - slow) / len(power))), 2)
                products = products + several_products(scores, some)
        squares = np.einsum("ijk,ijk->i", products, products) * count / len(some)
        yield from zip(whole[own].tolist(), near[own].tolist(), squares.tolist(), strict=True)


def loss_of(one: Series, parameter: int, firsts: np.ndarray, table: np.ndarray) -> np.ndarray:
    """G' D_j x of a parameter, (cosines, parameters), the cosines constant in pieces of time."""
    return np.asarray(table @ np.add.reduceat(one.G * one.X[parameter], firsts, axis=-1).T)


def line_pairs(wide: np.ndarray, count: int, first: int, end: int, step: int) -> np.ndarray:
    """Sums of lines 1 to `count` away on both sides, over sqrt(2): (parameters, count, 2 lines), real and imaginary in turn."""
    stride, (parameters, _) = wide.strides[-1], wide.shape
    lines = len(range(first, end, step))

    def moved(way: int) -> np.ndarray:
        start = wide[:, first + count + way :]
        return as_strided(start, (parameters, count, lines), (wide.strides[0], way * stride, step * stride), writeable=False)

    both = np.add(moved(-1), moved(1), order="C").view(float)
    both *= np.sqrt(0.5)
    return both


def several_products(scores: np.ndarray, some: np.ndarray) -> np.ndarray:
    """Of each parameter some rows times all others: so many lines at a time that BLAS starts no threads."""
    picked, (p, count, length) = scores[:, some], scores.shape
    lines, result = max(1, UNTHREADED // (len(some) * count)), np.zeros((p, len(some), count))
    for first in range(0, length, lines):
        result += picked[..., first : first + lines] @ scores[..., first : first + lines].swapaxes(1, 2)
    return result


@functools.lru_cache(maxsize=4)
def half_a_sample(rows: int) -> np.ndarray:
    return np.asarray(np.exp(0.5j * np.pi / rows * np.arange(rows + 1)))


def fast_neighbours(one: NoiseSpectrum, count: int, slow: int) -> np.ndarray:
    """What fast lines add to the power of all shifted scores: half of |x|^2 from each side."""
    lines = len(one.power)
    power = np.zeros(lines + 4 * count)
    power[2 * count + slow : 2 * count + lines] = one.power[slow:]
    sums = running_sums(power)
    near = sums[2 * count + 1 :] - sums[: -2 * count - 1] - power[count:-count]  # of each line, and so many beyond the ends
    around = near[count:-count].copy()
    around[1 : count + 1] += near[:count][::-1]
    around[-count - 1 : -1] += near[-count:][::-1]
    return np.asarray(one.squares @ around / 2)


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
        sums = running_sums(one.left)
        # Tapers make a band wider, but for that at zero: what they reach there is the same on both sides.
        first = np.maximum(one.bands.first - TAPERS, 0)
        last = np.minimum(one.bands.last + TAPERS * (one.bands.first > 0), lines)
        shares = one.parts / np.maximum(sums.take(last) - sums.take(first), 1.0)
        ends = np.concatenate([first, last])
        steps = np.stack([np.bincount(ends, np.concatenate([own, -own]), lines + 1)[:lines] for own in shares])
        weights = np.cumsum(steps, axis=1, out=steps)
        total = total + weights @ one.left
        weights *= weights
        squares = squares + weights @ one.left
    return np.divide(total**2, squares, out=np.full(len(total), np.inf), where=squares > 0)
