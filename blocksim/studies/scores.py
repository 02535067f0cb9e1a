"""Scores: how good an estimator is, from many runs with known truth; every score with its 95 % confidence interval.

Intervals of means are Student's, of standard deviations chi-square's, of shares Wilson's. NEES, the normalised
estimation error squared e' P^-1 e, is on average the number of parameters where the method's covariance P is honest; its mean
over n runs then lies within a chi-square interval in 95 % of studies (Bar-Shalom).
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np

from ..estimation.estimates import NAN

if TYPE_CHECKING:
    from ..contract.arrays import FloatArray

ScoreInterval = tuple[float, float, float]  # value, low, high

CONFIDENCE = 0.95
TAIL = (1 - CONFIDENCE) / 2
#: A bias below this share of the truth is rounding, whatever its interval says.
ROUNDING_SHARE = 1e-12
#: A bias below this share of the truth is the solver's or the search's, and is not marked.
NEGLIGIBLE_SHARE = 1e-7
#: Smallest by largest eigenvalue of correlations from which on they are none.
SINGULAR_CORRELATION = 1e-11


def mean_interval(values: FloatArray) -> ScoreInterval:
    """The mean and its interval, Student's t."""
    from scipy.special import stdtrit

    n = len(values)
    if n == 0:
        return NAN, NAN, NAN
    mean = float(np.mean(values))
    if n == 1:
        return mean, NAN, NAN
    half = float(stdtrit(n - 1, 1 - TAIL)) * float(np.std(values, ddof=1)) / math.sqrt(n)
    return mean, mean - half, mean + half


def std_interval(values: FloatArray) -> ScoreInterval:
    """The standard deviation and its interval, chi-square's: exact for normal values."""
    from scipy.special import chdtri

    n = len(values)
    if n < 2:
        return NAN, NAN, NAN
    std = float(np.std(values, ddof=1)) if np.ptp(values) else 0.0  # equal values have a mean that may be rounded
    low, high = (std * math.sqrt((n - 1) / float(chdtri(n - 1, tail))) for tail in (TAIL, 1 - TAIL))
    return std, low, high


def rms_interval(values: FloatArray) -> ScoreInterval:
    """The root of the mean of squares and its interval, for normal values with any mean.

    n (s^2 + b^2) / s^2 is a noncentral chi-square of n degrees, taken as a chi-square of as many as give the same mean and
    variance (Patnaik 1949). Student's interval of the squares would cover 90 % of 30 runs instead of 95 %.
    """
    from scipy.special import chdtri

    n = len(values)
    if n == 0:
        return NAN, NAN, NAN
    squares = float(np.mean(values**2))
    root = math.sqrt(squares)
    if n == 1 or math.isnan(squares):
        return root, NAN, NAN
    variance = float(np.var(values, ddof=1))
    if variance <= ROUNDING_SHARE**2 * squares:
        return root, root, root
    away = n * max(squares - variance, 0.0) / variance
    degrees = (n + away) ** 2 / (n + 2 * away)
    low, high = (root * math.sqrt(degrees / float(chdtri(degrees, tail))) for tail in (TAIL, 1 - TAIL))
    return root, low, high


def share_interval(hits: int, n: int) -> ScoreInterval:
    """The share of hits and Wilson's interval."""
    from scipy.special import ndtri

    if n == 0:
        return NAN, NAN, NAN
    z, share = float(ndtri(1 - TAIL)), hits / n
    middle = (share + z * z / (2 * n)) / (1 + z * z / n)
    half = z / (1 + z * z / n) * math.sqrt(share * (1 - share) / n + z * z / (4 * n * n))
    return share, middle - half, middle + half


def consistent_interval(dimension: int, n: int) -> tuple[float, float]:
    """Where the mean NEES of n honest runs lies in 95 % of studies."""
    from scipy.special import chdtri

    if n == 0 or dimension == 0:
        return NAN, NAN
    return float(chdtri(n * dimension, 1 - TAIL)) / n, float(chdtri(n * dimension, TAIL)) / n


def nees(error: FloatArray, covariance: FloatArray) -> float:
    """e' P^-1 e; nan where P is not positive definite, as that of parameters which follow from each other is not."""
    if not (np.diag(covariance) > 0).all():
        return NAN
    scale = np.sqrt(np.diag(covariance))
    values, vectors = np.linalg.eigh(covariance / np.outer(scale, scale))
    if not values[0] > SINGULAR_CORRELATION * values[-1]:
        return NAN
    whitened = vectors.T @ (error / scale)
    return float(np.sum(whitened**2 / values))


def interval_columns(name: str, interval: ScoreInterval, factor: float = 1.0) -> dict[str, float]:
    return dict(zip((name, f"{name}_low", f"{name}_high"), (v * factor for v in interval), strict=True))


#: The columns of the table of scores after method, ablation, point, swept settings and parameter.
SCORE_COLUMNS = ("unit", "runs", "failures", "unconverged", "n", "truth", "mean", *(
    f"{name}{end}"
    for name in ("bias", "std", "rmse", "bias_percent", "std_percent", "rmse_percent", "coverage", "z_mean", "z_std",
                 "claimed_std", "crb_ratio", "nees")
    for end in ("", "_low", "_high")
), "crb_std", "nees_expected", "nees_consistent_low", "nees_consistent_high", "bias_significant",
   "not_learnt")  # fmt: skip


def score_runs(
    values: FloatArray, truths: FloatArray, stds: FloatArray, quantiles: FloatArray, bounds: FloatArray
) -> dict[str, float | bool]:
    """One parameter over its successful runs: estimates, truths, claimed stds, quantiles of intervals, Cramer-Rao stds."""
    errors = values - truths
    bias, std = mean_interval(errors), std_interval(values)
    result: dict[str, Any] = {"n": len(values), "truth": mean_of(truths), "mean": mean_of(values)}
    result |= interval_columns("bias", bias) | interval_columns("std", std) | interval_columns("rmse", rms_interval(errors))
    percent = 100 / abs(result["truth"]) if result["truth"] else NAN
    for name in ("bias", "std", "rmse"):
        result |= interval_columns(f"{name}_percent", tuple(result[f"{name}{end}"] for end in ("", "_low", "_high")), percent)
    claimed = (stds > 0) & np.isfinite(stds)  # of one that is not determined nothing is claimed
    z = errors[claimed] / stds[claimed]
    z = z[np.isfinite(z)]
    within = np.abs(errors[claimed]) <= quantiles[claimed] * stds[claimed]
    count = int(np.count_nonzero(np.isfinite(errors[claimed])))
    result |= interval_columns("coverage", share_interval(int(np.count_nonzero(within)), count))
    result |= (
        interval_columns("z_mean", mean_interval(z))
        | interval_columns("z_std", std_interval(z))
        | interval_columns("claimed_std", mean_interval(stds[claimed]))
    )
    bound = math.sqrt(mean_of(bounds[bounds > 0] ** 2))  # variances of runs with different inputs add up, not their roots
    result["crb_std"] = bound
    result |= interval_columns("crb_ratio", std, 1 / bound if bound > 0 else NAN)
    outside = bias[1] > 0 or bias[2] < 0
    result["bias_significant"] = bool(outside and abs(bias[0]) > NEGLIGIBLE_SHARE * abs(result["truth"]))
    return result


def score_nees(values: FloatArray, dimension: int) -> dict[str, float]:
    """The mean NEES, its interval, and where it should lie."""
    values = values[np.isfinite(values)]
    low, high = consistent_interval(dimension, len(values))
    expected = float(dimension) if len(values) else NAN
    return interval_columns("nees", mean_interval(values)) | {
        "nees_expected": expected,
        "nees_consistent_low": low,
        "nees_consistent_high": high,
    }


def mean_of(values: FloatArray) -> float:
    return float(np.mean(values)) if len(values) else NAN
