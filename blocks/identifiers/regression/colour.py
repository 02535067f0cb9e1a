"""The colour of residuals: their autocovariance, a test for whiteness, and the covariance of estimates where they have one."""

from __future__ import annotations

import math

import numpy as np

from .regression import Fit, members, undetermined

LAGS, UNLIKELY = 20, 0.01  # of the test for whiteness
ROUNDING = 1e-9  # residuals below this share of the signal are no noise, and have no colour


def autocovariance(series: np.ndarray, lags: int, used: np.ndarray | None = None) -> np.ndarray:
    """sum e[k] e[k + lag] / n for lags 0 to `lags`; samples that are not `used` are left out, and n counts the others."""
    e = series if used is None else np.where(used, series, 0.0)
    count = len(e) if used is None else max(1, int(used.sum()))
    size = quick_size(len(e) + lags)
    power = np.abs(np.fft.rfft(e, size)) ** 2
    return np.fft.irfft(power, size)[: lags + 1] / count


def quick_size(least: int) -> int:
    """The next size of which a Fourier transform is quick: 1, 3, 5, 9 or 15 times a power of 2."""
    return min(m << max(1, math.ceil(math.log2(least / m))) for m in (1, 3, 5, 9, 15))


def ljung_box(series: np.ndarray, lags: int, used: np.ndarray | None = None) -> tuple[float, float]:
    """Q = n (n + 2) sum r_k^2 / (n - k) and the probability of one as large in white noise (chi-squared, `lags` degrees)."""
    return portmanteau(autocovariance(series, lags, used), len(series) if used is None else int(used.sum()))


def portmanteau(c: np.ndarray, n: int) -> tuple[float, float]:
    """The test of Ljung and Box by the autocovariance c of n samples."""
    from scipy.special import chdtrc

    if not c[0] > 0:
        return 0.0, 1.0
    lags = len(c) - 1
    Q = float(n * (n + 2) * np.sum((c[1:] / c[0]) ** 2 / (n - np.arange(1, lags + 1))))
    return Q, float(chdtrc(lags, Q))


def autoregression(c: np.ndarray, samples: int) -> tuple[np.ndarray, float]:
    """Coefficients a of e[k] = sum a_i e[k - i] + white, and its variance; the order is Akaike's (Levinson and Durbin)."""
    best, length, variance = samples * math.log(c[0]), 0, float(c[0])
    a, chosen = np.zeros(len(c)), (np.zeros(0), float(c[0]))
    backwards = c[::-1].copy()
    for order in range(1, len(c)):
        known = a[:length]
        reflection = float(c[order] - known @ backwards[len(c) - order : -1]) / variance
        known -= reflection * known[::-1].copy()
        a[length], length = reflection, order
        variance *= 1.0 - reflection**2
        if not variance > 0:
            break
        score = samples * math.log(variance) + 2 * order
        if score < best:
            best, chosen = score, (a[:length].copy(), variance)
    return chosen


def coloured(W: np.ndarray, found: Fit, groups: np.ndarray) -> tuple[np.ndarray, list[int]]:
    """The covariance where the residuals of a group are correlated in time, and the order of each group's autoregression.

    B W' C W B with B = (W' W)^-1 and C the autocovariance of an autoregression fitted to the residuals of each joint, its order
    by Akaike's criterion up to 10 log10 n. The rows of a group stand in the order of time; one of weight 0 is a gap. It takes W
    for exact, as equation (10) does, and needs no bandwidth, unlike the kernel estimates of Newey and West, whose intervals are
    too short for residuals as slow as those of filtered signals.
    """
    p = W.shape[1]
    meat, orders = np.zeros((p, p)), []
    for _, rows in members(groups):
        weights, e = found.weights[rows], found.scores[rows]
        used = weights != 0
        n = int(used.sum())
        if n < 2:
            orders.append(0)
            continue
        Wg = W[rows] if (weights == 1).all() else W[rows] * weights[:, None]
        lags = min(n - 1, int(10 * math.log10(n)))
        c = autocovariance(e, lags, used)
        if not c[0] > 0:
            orders.append(0)
            continue
        c = c * n / max(1, n - share_of(Wg, found.bread))
        a, variance = autoregression(c, n)
        orders.append(len(a))
        meat += between(Wg, a, variance)
    covariance = found.bread @ meat @ found.bread
    return undetermined((covariance + covariance.T) / 2, found.null), orders


def share_of(Wg: np.ndarray, bread: np.ndarray) -> float:
    """How many of the parameters these rows pay for: the trace of their part of the hat matrix."""
    return min(float(np.sum(np.einsum("ij,ik->jk", Wg, Wg) * bread)), len(Wg) - 1.0) if len(Wg) else 0.0


def between(W: np.ndarray, a: np.ndarray, variance: float) -> np.ndarray:
    """W' C W for the autocovariance C of an autoregression: a sum over frequencies, padded against wrapping."""
    if not len(a):
        return variance * np.einsum("ij,ik->jk", W, W)
    roots = np.abs(np.roots(np.r_[1.0, -a])).max()
    memory = min(4 * len(W), int(20 / max(1e-12, -math.log(roots)))) if roots < 1 else 4 * len(W)
    size = quick_size(len(W) + memory)
    density = variance / np.abs(np.fft.rfft(np.r_[1.0, -a], size)) ** 2
    density[1 : (size + 1) // 2] *= 2.0  # those with a mirror image
    columns = np.ascontiguousarray(W.T)
    spectrum = (np.fft.rfft(columns, size) * np.sqrt(density / size)).view(float)  # real and imaginary parts in turn
    return np.einsum("ik,jk->ij", spectrum, spectrum)


def colour_of(rest: np.ndarray, whole: np.ndarray, used: np.ndarray) -> float | None:
    """The correlation of neighbouring residuals where they are not white; None where they are, are rounding, or are few."""
    count = int(used.sum())
    lags = min(LAGS, count // 5)  # few rows are tested by few lags
    if lags < 2 or not spread(rest, used, count) > ROUNDING * spread(whole, used, count):
        return None
    c = autocovariance(rest, lags, used)
    return float(c[1] / c[0]) if portmanteau(c, count)[1] < UNLIKELY else None


def spread(values: np.ndarray, used: np.ndarray, count: int) -> float:
    """The standard deviation of those values that are used."""
    centred = np.where(used, values - float(np.sum(values, where=used)) / count, 0.0)
    return float(np.sqrt(np.einsum("i,i->", centred, centred) / count))
