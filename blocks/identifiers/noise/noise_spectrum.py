"""The spectrum of noise, by what a fit has left of it.

Residuals are M e, M = I - G X': where the columns of a fit have their lines, less of the noise e is left. Sine tapers h (Riedel
and Sidorenko 1995) keep strong lines from leaking into a dip. With C the covariance of e, S its spectrum, tapered residuals have

    S (1 - 2 Re g* x) + g* V g,   V = X' C X,   g and x the transforms of h G and h X,

on average. That is compared, band by band, with what they have, and S is multiplied by the quotient until both agree. Of a long
record that is done for slow lines: a band further up has so many that no fit takes much of it.
"""

from __future__ import annotations

import functools
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from ..regression.colour import autocovariance
from ..regression.stacked_rows import product

TAPERS = 4
SLOW_LINES = 256  # of which a fit may take much
BAND_LINES = 6.0  # of the record, at the least, that a fit leaves in a band
BAND_SHARE = 0.1  # half of a band, as a share of its frequency
SPECTRUM_ROUNDS = 4
LARGEST_CHANGE = 5.0  # of S, as a factor, in a round
LEAST_LEFT = 0.05  # of S that a fit is believed to leave in a band, at the least
SLOWEST_MEMORY = 0.95  # coefficient of the autoregression that says the slope of a spectrum, where rows are few


@dataclass(frozen=True)
class Series:
    """One group of N rows in the order of time, those that are not used being zero, the last among them: influence, columns of
    the fit, residuals. Columns lie one after the other in memory.
    """

    X: np.ndarray
    G: np.ndarray
    rest: np.ndarray
    used: np.ndarray


@dataclass(frozen=True)
class NoiseSpectrum:
    """Of a series of N rows, at lines k / (2 N) of the sampling rate: the noise's power, the transform of X, bands of S."""

    power: np.ndarray  # S, each line counted as often as it stands in a sum over all 2 N lines
    X: np.ndarray  # (parameters, lines)
    parts: np.ndarray  # what every line adds to the variance of each parameter, (parameters, lines)
    first: np.ndarray  # line of the band that S comes from, by line
    last: np.ndarray
    left: np.ndarray  # share of each line that the fit has left
    rest: np.ndarray  # transforms of the residuals, by taper, over the root of S

    def with_other(self, other: NoiseSpectrum) -> np.ndarray:
        """X' C X of the rows of two series, as far as their noise is the same: by their coherence in the bands of this one."""
        if other is self:
            return weighted_squares(self.X, self.power)
        mean = functools.partial(band_mean, first=self.first, last=self.last)
        own, others = (mean(np.sum(one.rest.real**2 + one.rest.imag**2, axis=0)) for one in (self, other))
        shared = np.sum(self.rest * other.rest.conj(), axis=0)
        size = np.sqrt(own * others)
        coherence = np.divide(mean(shared.real) + 1j * mean(shared.imag), size, out=np.zeros(len(size), complex), where=size > 0)
        weights = coherence * np.sqrt(self.power * other.power)
        return np.asarray(np.real(product((self.X.conj() * weights).T, other.X.T)))


def weighted_squares(lines: np.ndarray, weights: np.ndarray) -> np.ndarray:
    """The sum over lines of Re(x_i* w x_j), (parameters, parameters): of real and imaginary parts, which lie in turn."""
    both = lines.view(float)
    return product(both.T, (both * np.repeat(weights, 2)).T)


def covariance_of_spectra(spectra: Sequence[NoiseSpectrum]) -> np.ndarray:
    """X' C X of all series together: each with itself, where coherence is 1, and with the others."""
    return np.sum([one.with_other(other) for one in spectra for other in spectra], axis=0)


def noise_spectra(series: Sequence[Series]) -> list[NoiseSpectrum]:
    """Of each series. They are fitted together, so that each has lost what the fit of all took."""
    lines = [tapered_lines(one) for one in series]
    S = [one.shape * one.level for one in lines]
    for _ in range(SPECTRUM_ROUNDS):
        V = np.sum([one.variance(s) for one, s in zip(lines, S, strict=True)], axis=0)
        S = [one.agreed(s, V) for one, s in zip(lines, S, strict=True)]
    result = []
    for one, s in zip(lines, S, strict=True):
        power = s * one.counts
        rest = one.rest / np.sqrt(np.where(s > 0, s, 1.0))
        result.append(NoiseSpectrum(power, one.X, power * one.squares, one.first, one.last, one.left, rest))
    return result


@dataclass(frozen=True)
class TaperedLines:
    """Lines of a series: the power of its residuals, what the fit takes of slow ones, and the transforms of X and of h G."""

    power: np.ndarray
    loss: np.ndarray  # 2 Re g* x, of slow lines
    X: np.ndarray
    squares: np.ndarray  # |X|^2
    G: np.ndarray  # of slow lines, by taper, such that the sum of |g|^2 over tapers is the mean
    shape: np.ndarray  # of the spectrum, roughly; what is smoothed is divided by it, so that no slope is flattened
    counts: np.ndarray
    first: np.ndarray
    last: np.ndarray
    left: np.ndarray
    rest: np.ndarray  # transforms of the residuals, by taper

    def smooth(self, values: np.ndarray) -> np.ndarray:
        return band_mean(values, self.first, self.last)

    @functools.cached_property
    def level(self) -> np.ndarray:
        """The power of the residuals over the shape, by band."""
        return self.smooth(self.power / self.shape)

    def variance(self, S: np.ndarray) -> np.ndarray:
        """X' C X."""
        return weighted_squares(self.X, S * self.counts)

    def agreed(self, S: np.ndarray, V: np.ndarray) -> np.ndarray:
        """S by one round nearer to what the residuals show."""
        slow, expected = len(self.loss), S / self.shape
        own = np.real(np.einsum("kfi,kfi->f", self.G.conj(), self.G @ V))
        least = LEAST_LEFT * expected
        expected[:slow] += own / self.shape[:slow] - expected[:slow] * self.loss
        least = np.maximum(self.smooth(expected), least)
        quotient = np.divide(self.level, least, out=np.ones(len(S)), where=least > 0)
        return np.asarray(S * np.clip(quotient, 1 / LARGEST_CHANGE, LARGEST_CHANGE))


def band_mean(values: np.ndarray, first: np.ndarray, last: np.ndarray) -> np.ndarray:
    """The mean over the band of each line."""
    sums = np.concatenate([[0.0], np.cumsum(values)])
    return np.asarray((sums[last] - sums[first]) / (last - first))


def tapered_lines(one: Series) -> TaperedLines:
    """A sine taper shifts a transform by its number of lines to either side, so that one transform does for all of them."""
    from scipy.fft import rfft

    rows, p = one.X.shape
    slow = min(rows + 1, SLOW_LINES)
    share = float(np.count_nonzero(one.used)) / rows * TAPERS
    whole = np.asarray(rfft(np.concatenate([one.rest[None], one.X.T, one.G.T]), 2 * rows))
    wide = beyond_ends(whole[0], TAPERS)
    power = np.zeros(rows + 1)
    near = beyond_ends(whole[:, : slow + 2 * TAPERS], TAPERS)[:, : slow + 2 * TAPERS].T
    loss, G = np.zeros(slow), np.empty((TAPERS, slow, p), dtype=complex)
    rest = np.empty((TAPERS, rows + 1), dtype=complex)
    for k in range(1, TAPERS + 1):
        turn = np.exp(1j * np.pi * k / rows) / np.sqrt(2 * rows)
        line = np.multiply(wide[TAPERS - k : TAPERS - k + rows + 1], turn, out=rest[k - 1])
        line -= turn.conjugate() * wide[TAPERS + k : TAPERS + k + rows + 1]
        power += line.real**2 + line.imag**2
        both = turn * near[TAPERS - k : TAPERS - k + slow] - turn.conjugate() * near[TAPERS + k : TAPERS + k + slow]
        G[k - 1] = both[:, p + 1 :]
        loss += 2 * np.einsum("fi,fi->f", G[k - 1].conj(), both[:, 1 : p + 1]).real / share
    power /= share
    G /= np.sqrt(share)
    left = np.ones(rows + 1)
    left[:slow] = np.clip(1 - loss / 2, 0.0, 1.0)
    counts = np.full(rows + 1, 1 / rows)
    counts[[0, -1]] /= 2
    X = np.ascontiguousarray(whole[1 : p + 1])
    return TaperedLines(power, loss, X, X.real**2 + X.imag**2, G, slope_of(one), counts, *bands_of(left), left, rest)


def beyond_ends(lines: np.ndarray, count: int) -> np.ndarray:
    """Lines of something real, with so many below zero and beyond the fastest: those on the other side."""
    return np.concatenate([lines[..., count:0:-1].conj(), lines, lines[..., -2 : -count - 2 : -1].conj()], axis=-1)


def slope_of(one: Series) -> np.ndarray:
    """1 / |1 - rho exp(-i w)|^2: the autoregression of order 1, without what the fit of so many slow columns takes from it.

    Residuals look faster than the noise: their correlation falls short by about (parameters (1 + rho) + 2 rho) / rows.
    """
    rows, n, p = len(one.rest), int(np.count_nonzero(one.used)), one.X.shape[1]
    c, pairs = autocovariance(one.rest, 1), int(np.count_nonzero(one.used[1:] & one.used[:-1]))
    rho = float(c[1] / c[0]) * n / max(1, pairs) if c[0] > 0 else 0.0
    if rho > 0 and n > 2 * p + 4:
        rho = (n * rho + p) / (n - p - 2)
    slowest = max(1 - 2 * np.pi * BAND_LINES / n, SLOWEST_MEMORY)  # a corner below the first band cannot be told from a drift
    rho = max(min(rho, slowest), -slowest)
    return np.asarray(1 / (1 + rho**2 - 2 * rho * np.cos(np.pi / rows * np.arange(rows + 1))))


def bands_of(left: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """First line of the band of each line and the one after its last: wide enough that the fit leaves something of it."""
    sums = np.concatenate([[0.0], np.cumsum(left) / 2])  # every second line of 2 N is one of the record
    middle = (sums[1:] + sums[:-1]) / 2
    half = np.minimum(np.maximum(BAND_LINES / 2, BAND_SHARE * middle), sums[-1] / 2)
    low = np.clip(middle - half, 0.0, sums[-1] - 2 * half)
    first = np.searchsorted(sums, low, side="right") - 1
    last = np.searchsorted(sums, low + 2 * half, side="left")
    lines = np.arange(len(left))
    return np.clip(first, 0, lines), np.clip(last, lines + 1, len(left))
