"""The covariance of estimates where residuals have a colour: a sum over frequencies of what each does to the parameters.

An estimate errs by X' e, X the influence of every row on every parameter, so that its covariance is X' C X. In a loop the noise
of a torque has hardly any power below the controller's bandwidth, where the motion is: the spectrum of e has a dip there that no
autoregression of moderate order resolves. So C comes from the spectrum itself, S(f), estimated from the residuals.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from .colour import autocovariance, quick_size
from .regression import members

LINES = 16.0  # of the spectrum that are smoothed together, unless said: lags of the window are rows / LINES
FEWEST = 4  # lags
TAPER = 35 / 18  # what Hann's taper adds to the variance of a spectrum
FLOOR = 1e-3  # of the mean density: where smoothing leaves less, there is less than can be told
DEEPEST = 0.2  # of the power at a frequency that the fit may have left, at the least
SLOWEST = 0.98  # coefficient of the autoregression that flattens a spectrum
SCARCE = 0.1  # of the pairs that gaps at random would leave: a lag with fewer is not told


@dataclass(frozen=True)
class Spread:
    """A covariance, and of every parameter the degrees of freedom that its variance is known with (for Student's t)."""

    covariance: np.ndarray
    freedom: np.ndarray
    lags: tuple[int, ...] = ()  # of each group's window
    memory: tuple[float, ...] = ()  # coefficient that flattened each group's spectrum

    @property
    def quantile(self) -> np.ndarray:
        """Of the 95 % interval of each parameter."""
        from scipy.special import stdtrit

        return np.asarray(stdtrit(np.maximum(self.freedom, 1.0), 0.975))


def spectral_spread(X: np.ndarray, G: np.ndarray, rest: np.ndarray, used: np.ndarray, groups: np.ndarray, lines: float) -> Spread:
    """X' C X. `X` is the influence of the rows, d estimate / d rest; `G` the columns that were fitted, d fit / d estimate.

    The rows of a group stand in the order of time; rows that are not used are gaps. `lines` of the spectrum are smoothed.
    Variances of the groups add up, and so do, by Satterthwaite's rule, their uncertainties.
    """
    p = X.shape[1]
    total, doubt, lags, memory = np.zeros((p, p)), np.zeros(p), [], []
    for _, own in members(groups):
        if np.count_nonzero(used[own]) < 2 or not np.any(rest[own][used[own]]):
            continue
        spectrum = Spectrum.of(rest[own], used[own], leverage(X[own], G[own]), G[own].shape[1], lines or LINES)
        part, variance = spectrum.carried(np.where(used[own][:, None], X[own], 0.0))
        total += part
        doubt += np.diag(part) ** 2 * variance
        lags.append(spectrum.lags)
        memory.append(spectrum.rho)
    with np.errstate(divide="ignore", invalid="ignore"):
        freedom = np.where(doubt > 0, 2 * np.diag(total) ** 2 / doubt, np.inf)
    return Spread((total + total.T) / 2, freedom, tuple(lags), tuple(memory))


def leverage(X: np.ndarray, G: np.ndarray) -> np.ndarray:
    """By lag, how much of what is at a frequency the fit takes away: the autocovariance of G X', per row."""
    n, size = len(X), quick_size(2 * len(X))
    cross = np.einsum("fi,fi->f", np.fft.rfft(X, size, axis=0).conj(), np.fft.rfft(G, size, axis=0)).real
    return np.fft.irfft(cross, size)[:n] / n


@dataclass(frozen=True)
class Spectrum:
    """The density of residuals: an autocovariance under a window of so many lags, of what an autoregression of order 1 leaves."""

    covariance: np.ndarray  # under the window
    window: np.ndarray
    taken: np.ndarray  # by the fit, under the same window
    rho: float
    rows: int
    pairs: np.ndarray  # of rows so many lags apart, as a share of all there would be without gaps

    @property
    def lags(self) -> int:
        return len(self.window) - 1

    @classmethod
    def of(cls, rest: np.ndarray, used: np.ndarray, taken: np.ndarray, parameters: int, lines: float) -> Spectrum:
        rho = memory_of(rest, used, parameters)
        flat, there = rest[1:] - rho * rest[:-1], used[1:] & used[:-1]
        if np.count_nonzero(there) < 2 * FEWEST:
            rho, flat, there = 0.0, rest, used
        most = min(len(flat) - 1, max(FEWEST, int(len(flat) / lines)))
        c, pairs = tapered_autocovariance(flat, there, most)
        lags = min(most, max(FEWEST, int(len(flat) * float(np.median(pairs[1:])) / lines)))  # gaps leave fewer pairs to average
        window = 0.5 * (1 + np.cos(np.pi * np.arange(lags + 1) / lags))
        return cls(c[: lags + 1] * window, window, taken[: lags + 1] * window, rho, len(flat), pairs[: lags + 1])

    def density(self, size: int) -> np.ndarray:
        """S at the frequencies of a real Fourier transform of this size, what the fit has taken away being given back."""
        smooth = transformed(self.covariance, size)
        smooth = np.maximum(smooth, FLOOR * abs(float(self.covariance[0])))
        kept = np.clip(1 - transformed(self.taken, size), DEEPEST, 1.0)
        return smooth / kept / np.abs(1 - self.rho * np.exp(-1j * turns(size))) ** 2

    def carried(self, X: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """X' C X, and the relative variance of its diagonal, for it is made of an estimated spectrum.

        With p(f) the share of a frequency in a variance, smoothing over M lags leaves 2 (taper / n) sum (p_k w_k)^2, p_k the
        transform of p; the coefficient that flattened the spectrum adds its own, (1 - rho^2) / n times (d ln S / d rho)^2.
        """
        size = quick_size(2 * len(X))
        sides = np.full(size // 2 + 1, 2.0)  # frequencies have a mirror image, but for the first and the last
        sides[0] = 1.0
        if size % 2 == 0:
            sides[-1] = 1.0
        weight = self.density(size) * sides / size
        F = np.fft.rfft(X, size, axis=0)
        part = np.einsum("fi,f,fj->ij", F.conj(), weight, F).real
        share = np.abs(F) ** 2 * weight[:, None]
        share = share / np.maximum(share.sum(axis=0), 1e-300)
        by_lag = np.stack([transform_of_share(column, size)[: self.lags + 1] for column in share.T], axis=1)
        power = (by_lag * self.window[:, None]) ** 2 / np.maximum(self.pairs, SCARCE**2)[:, None]
        smoothing = 2 * TAPER / self.rows * (2 * power.sum(axis=0) - power[0])
        angle = np.cos(turns(size))
        slope = share.T @ (2 * (angle - self.rho) / (1 - 2 * self.rho * angle + self.rho**2))
        return part, smoothing + slope**2 * (1 - self.rho**2) / (self.rows * self.pairs[0])


def transform_of_share(share: np.ndarray, size: int) -> np.ndarray:
    """sum p(f) cos(2 pi f k) by lag k, of shares of the frequencies of a real Fourier transform."""
    half = share / 2
    half[0] = share[0]
    if size % 2 == 0:
        half[-1] = share[-1]
    return np.fft.irfft(half, size) * size


def transformed(by_lag: np.ndarray, size: int) -> np.ndarray:
    """c_0 + 2 sum c_k cos(2 pi f k): a density from what stands under a window of lags."""
    padded = np.zeros(size // 2 + 1)
    padded[: len(by_lag)] = by_lag
    return np.fft.hfft(padded, size)[: size // 2 + 1]


def turns(size: int) -> np.ndarray:
    return 2 * np.pi * np.fft.rfftfreq(size)


def memory_of(rest: np.ndarray, used: np.ndarray, parameters: int) -> float:
    """The coefficient of an autoregression of order 1, without what the fit of so many slow columns takes from it.

    Residuals look faster than the noise: their correlation falls short by about (parameters (1 + rho) + 2 rho) / rows.
    """
    c, n = autocovariance(rest, 1, used), int(used.sum())
    rho = float(c[1] / c[0]) * n / max(1, int(np.count_nonzero(used[1:] & used[:-1])))
    if rho <= 0 or n <= 2 * parameters + 4:
        return max(min(rho, SLOWEST), -SLOWEST)
    return min((n * rho + parameters) / (n - parameters - 2), SLOWEST)


def tapered_autocovariance(rest: np.ndarray, used: np.ndarray, lags: int) -> tuple[np.ndarray, np.ndarray]:
    """sum h_t h_t+k e_t e_t+k / sum h_t h_t+k over rows that are there, h Hann's taper; and the share of pairs that are there.

    The taper keeps power from leaking into a dip; rows that are not there make a lag less certain, not smaller.
    """
    taper = np.hanning(len(rest) + 2)[1:-1]
    size = quick_size(len(rest) + lags)

    def by_lag(x: np.ndarray) -> np.ndarray:
        return np.fft.irfft(np.abs(np.fft.rfft(x, size)) ** 2, size)[: lags + 1]

    whole, there = by_lag(taper), by_lag(taper * used)
    share = np.clip(there / whole, 0.0, 1.0)
    told = share > SCARCE * share[0] ** 2
    return np.where(told, by_lag(rest * taper * used) / np.where(told, there, 1.0), 0.0), share
