"""The colour of residuals: their autocovariance, and a test for whiteness."""

from __future__ import annotations

import math

import numpy as np

LAGS, UNLIKELY = 20, 0.01  # of the test for whiteness
FEW_LAGS = 4  # are sooner summed than found by a Fourier transform
ROUNDING = 1e-9  # residuals below this share of the signal are no noise, and have no colour


def autocovariance(series: np.ndarray, lags: int, used: np.ndarray | None = None) -> np.ndarray:
    """sum e[k] e[k + lag] / n for lags 0 to `lags`; samples that are not `used` are left out, and n counts the others."""
    e = series if used is None else np.where(used, series, 0.0)
    count = len(e) if used is None else max(1, int(used.sum()))
    if lags < FEW_LAGS:
        return np.array([np.einsum("i,i->", e[: len(e) - lag], e[lag:]) for lag in range(lags + 1)]) / count
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


def colour_of(rest: np.ndarray, whole: np.ndarray, used: np.ndarray) -> float | None:
    """The correlation of neighbouring residuals where they are not white; None where they are, are rounding, or are few."""
    count = int(used.sum())
    lags = min(LAGS, count // 5)  # few rows are tested by few lags
    if lags < 2 or not deviation_of_used(rest, used, count) > ROUNDING * deviation_of_used(whole, used, count):
        return None
    c = autocovariance(rest, lags, used)
    return float(c[1] / c[0]) if portmanteau(c, count)[1] < UNLIKELY else None


def deviation_of_used(values: np.ndarray, used: np.ndarray, count: int) -> float:
    """The standard deviation of those values that are used."""
    centred = np.where(used, values - float(np.sum(values, where=used)) / count, 0.0)
    return float(np.sqrt(np.einsum("i,i->", centred, centred) / count))
