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
from .bands import BAND_LINES, Bands, bands_of

TAPERS = 4
SLOW_LINES = 256  # of which a fit may take much
SPECTRUM_ROUNDS = 4
LARGEST_CHANGE = 5.0  # of S, as a factor, in a round
LEAST_LEFT = 0.05  # of S that a fit is believed to leave in a band, at the least
SLOWEST_MEMORY = 0.95  # coefficient of the autoregression that says the slope of a spectrum, where rows are few


@dataclass(frozen=True)
class Series:
    """One group of N rows in the order of time, those that are not used being zero: residuals, influence and columns of the fit.

    They are the rows of `table`, each followed by zeros up to 2 N. The first sample stands at 1: of the lines of such a series,
    a sine taper makes the difference of two, where others would have to be turned first.
    """

    table: np.ndarray
    parameters: int
    used: np.ndarray

    @property
    def rows(self) -> int:
        return len(self.used)

    @property
    def rest(self) -> np.ndarray:
        return np.asarray(self.table[0, 1 : self.rows + 1])

    @property
    def X(self) -> np.ndarray:
        """(parameters, rows)."""
        return np.asarray(self.table[1 : self.parameters + 1, 1 : self.rows + 1])

    @property
    def G(self) -> np.ndarray:
        """(parameters, rows)."""
        return np.asarray(self.table[self.parameters + 1 :, 1 : self.rows + 1])


@dataclass(frozen=True)
class NoiseSpectrum:
    """Of a series of N rows, at lines k / (2 N) of the sampling rate: the noise's power, the transform of X, bands of S."""

    power: np.ndarray  # S, each line counted as often as it stands in a sum over all 2 N lines
    X: np.ndarray  # (parameters, lines)
    planes: np.ndarray  # its real and imaginary parts, (parameters, 2, lines)
    squares: np.ndarray  # |X|^2
    parts: np.ndarray  # what every line adds to the variance of each parameter, (parameters, lines)
    bands: Bands  # that S comes from
    left: np.ndarray  # share of each line that the fit has left
    rest: np.ndarray  # transform of the residuals, with lines beyond the ends
    S: np.ndarray

    @functools.cached_property
    def tapered(self) -> np.ndarray:
        """Transforms of the residuals, by taper, over the root of S."""
        lines, root = len(self.S), np.sqrt(np.where(self.S > 0, self.S, 1.0))
        return np.stack([difference(self.rest, k, TAPERS, lines) for k in range(1, TAPERS + 1)]) / root

    def with_other(self, other: NoiseSpectrum) -> np.ndarray:
        """X' C X of the rows of two series, as far as their noise is the same: by their coherence in the bands of this one."""
        if other is self:
            return weighted_squares(self.planes, self.power)
        own, others = (self.bands.mean(np.sum(square_of_modulus(one.tapered), axis=0)) for one in (self, other))
        shared = np.sum(self.tapered * other.tapered.conj(), axis=0)
        size, both = np.sqrt(own * others), self.bands.mean(shared.real) + 1j * self.bands.mean(shared.imag)
        coherence = np.divide(both, size, out=np.zeros(len(size), complex), where=size > 0)
        weights = coherence * np.sqrt(self.power * other.power)
        return np.asarray(np.real(product((self.X.conj() * weights).T, other.X.T)))


def planes(lines: np.ndarray) -> np.ndarray:
    """Real and imaginary parts, (..., 2, lines)."""
    return np.stack([lines.real, lines.imag], axis=-2)


def square_of_modulus(lines: np.ndarray) -> np.ndarray:
    """|x|^2."""
    return np.asarray(lines.real**2 + lines.imag**2)


def weighted_squares(both: np.ndarray, weights: np.ndarray) -> np.ndarray:
    """The sum over lines of Re(x_i* w x_j), (parameters, parameters), of real and imaginary parts."""
    return product(both.reshape(len(both), -1).T, (both * weights).reshape(len(both), -1).T)


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
        power, squares = s * one.counts, np.einsum("ikf,ikf->if", one.planes, one.planes)
        transforms = one.X, one.planes, squares, power * squares
        result.append(NoiseSpectrum(power, *transforms, one.bands, one.left, one.rest, s))
    return result


@dataclass(frozen=True)
class TaperedLines:
    """Lines of a series: the power of its residuals, what the fit takes of slow ones, and the transforms of X and of h G."""

    power: np.ndarray
    loss: np.ndarray  # 2 Re g* x, of slow lines
    X: np.ndarray
    G: np.ndarray  # real and imaginary parts of slow lines by taper, (parameters, 2 tapers, lines); sums over tapers are means
    shape: np.ndarray  # of the spectrum, roughly; what is smoothed is divided by it, so that no slope is flattened
    counts: np.ndarray
    bands: Bands
    left: np.ndarray
    rest: np.ndarray  # transform of the residuals, with lines beyond the ends

    @functools.cached_property
    def level(self) -> np.ndarray:
        """The power of the residuals over the shape, by band."""
        return self.bands.mean(self.power / self.shape)

    @functools.cached_property
    def planes(self) -> np.ndarray:
        return planes(self.X)

    def variance(self, S: np.ndarray) -> np.ndarray:
        """X' C X."""
        return weighted_squares(self.planes, S * self.counts)

    def agreed(self, S: np.ndarray, V: np.ndarray) -> np.ndarray:
        """S by one round nearer to what the residuals show."""
        slow, expected = len(self.loss), S / self.shape
        flat = self.G.reshape(len(V), -1)
        own = ((V @ flat) * flat).reshape(-1, slow).sum(axis=0)
        least = LEAST_LEFT * expected
        expected[:slow] += own / self.shape[:slow] - expected[:slow] * self.loss
        least = np.maximum(self.bands.mean(expected), least)
        quotient = np.divide(self.level, least, out=np.ones(len(S)), where=least > 0)
        return np.asarray(S * np.clip(quotient, 1 / LARGEST_CHANGE, LARGEST_CHANGE))


def tapered_lines(one: Series) -> TaperedLines:
    """A sine taper makes of each line the difference of its neighbours, so that one transform does for all tapers."""
    from scipy.fft import rfft

    rows, p = one.rows, one.parameters
    slow = min(rows + 1, SLOW_LINES)
    unit = 2 * rows * TAPERS * float(np.count_nonzero(one.used)) / rows
    whole = np.asarray(rfft(one.table))
    X, wide = whole[1 : p + 1], beyond_ends(whole[0], TAPERS)
    power = np.zeros(rows + 1)
    for part in planes(wide):
        for k in range(1, TAPERS + 1):
            line = difference(part, k, TAPERS, rows + 1)
            power += line * line
    near = planes(beyond_ends(whole[1:, : slow + 2 * TAPERS], TAPERS)[:, : slow + 2 * TAPERS])
    both = np.concatenate([difference(near, k, TAPERS, slow) for k in range(1, TAPERS + 1)], axis=1)
    loss = 2 * np.einsum("ikf,ikf->f", both[p:], both[:p]) / unit
    left = np.ones(rows + 1)
    left[:slow] = np.clip(1 - loss / 2, 0.0, 1.0)
    counts = np.full(rows + 1, 1 / rows)
    counts[[0, -1]] /= 2
    return TaperedLines(power / unit, loss, X, both[p:] / np.sqrt(unit), slope_of(one), counts, bands_of(left, slow), left, wide)


def difference(wide: np.ndarray, taper: int, beyond: int, lines: np.ndarray | int) -> np.ndarray:
    """What a sine taper makes of lines that go so many beyond the ends: each its neighbours' difference, times sqrt(2 N)."""
    return np.asarray(wide[..., beyond - taper :][..., :lines] - wide[..., beyond + taper :][..., :lines])


def beyond_ends(lines: np.ndarray, count: int, turned: float = 1.0) -> np.ndarray:
    """Lines of something real, with so many below zero and beyond the fastest: those on the other side, there `turned`."""
    return np.concatenate([lines[..., count:0:-1].conj(), lines, turned * lines[..., -2 : -count - 2 : -1].conj()], axis=-1)


def slope_of(one: Series) -> np.ndarray:
    """1 / |1 - rho exp(-i w)|^2: the autoregression of order 1, without what the fit of so many slow columns takes from it.

    Residuals look faster than the noise: their correlation falls short by about (parameters (1 + rho) + 2 rho) / rows.
    """
    n, p = int(np.count_nonzero(one.used)), one.parameters
    c, pairs = autocovariance(one.rest, 1), int(np.count_nonzero(one.used[1:] & one.used[:-1]))
    rho = float(c[1] / c[0]) * n / max(1, pairs) if c[0] > 0 else 0.0
    if rho > 0 and n > 2 * p + 4:
        rho = (n * rho + p) / (n - p - 2)
    slowest = max(1 - 2 * np.pi * BAND_LINES / n, SLOWEST_MEMORY)  # a corner below the first band cannot be told from a drift
    rho = max(min(rho, slowest), -slowest)
    return np.asarray(1 / (1 + rho**2 - 2 * rho * cosines_of_lines(one.rows)))


@functools.lru_cache(maxsize=4)
def cosines_of_lines(rows: int) -> np.ndarray:
    return np.asarray(np.cos(np.pi / rows * np.arange(rows + 1)))
