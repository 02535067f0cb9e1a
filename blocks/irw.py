"""Smoothing by an integrated random walk: derivatives of a measured position with their standard deviations.

The Kalman filter (13)-(17) of Brunot 2017 and its fixed-interval smoother (19)-(21) are run here in information form, forward and
backward, and put together: no knowledge of the start is *zero* information, so nothing is approximated by a large covariance, a
missing sample brings none, and no difference of nearly equal covariances is formed. All information is in units of 1 / sigma_e^2.
"""

from __future__ import annotations

import functools
import types
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np

from blocksim.block import RecordBlock, inport, outport, param, static
from blocksim.errors import RecordError

from .filters import sample_time

__all__ = ["IRWSmoother"]

LARGE = 50_000  # samples times passes from which compiling pays
LIMIT = 0.1  # of the sampling frequency: the highest cutoff of Brunot's rules, fs = 100 f_dyn and cutoff <= 10 f_dyn


class IRWSmoother(RecordBlock):
    """D^n x[k+n] = eta[k], y[k] = x[k] + e[k]: the best x and its derivatives given all samples (Brunot 2017, section 3).

    Order n = 2 is the paper's IRWSM 1, 3 its IRWSM 2. NVR = var(eta) / var(e), per sample, alone sets the bandwidth: half the
    amplitude passes at fs NVR^(1/2n) / 2 pi. Give `nvr`, or that `bandwidth`, or neither: maximum likelihood then chooses, for
    each element. Likelihood takes the model at its word: a smooth deterministic motion is no random walk, and with little noise
    it follows every sample. A warning says so when half the amplitude passes above a tenth of the sampling frequency, the highest
    cutoff of the paper's rules (fs = 100 f_dyn, cutoff <= 10 f_dyn). An NVR holds for one sampling frequency; scale it by fs^-2n
    for another.

    `differences: centred` gives derivatives at the sample itself; `forward` is the paper's state, dx[k] = (x[k+1] - x[k]) / Ts,
    half a sample late, and for order 3 a whole one for ddx. Order 2 takes ddx from eta: rough, as its standard deviation says.
    Missing samples (nan) are bridged. Standard deviations hold as far as the model does. After a run `result` holds nvr,
    sigma_e (22), bandwidth and log_likelihood, an array each with one number per element.
    """

    family = "record"
    example = """
format: 1
simulate: {stop: 2.0, solver: rk4, step: 1e-2, seed: 1}
blocks:
  angle:   {type: Sine, amplitude: 0.5, frequency: 1.0}
  encoder: {type: Encoder, counts_per_turn: 500, noise_std: 0.5, Ts: 1e-2, in: angle}
  smooth:  {type: IRWSmoother, order: 3, bandwidth: 5, in: encoder}
"""

    order: int = static(2, "differences until white noise: 2 (IRWSM 1) or 3 (IRWSM 2)", choices=(2, 3))
    nvr: float = param(0.0, "noise variance ratio per sample; 0: from bandwidth, or by maximum likelihood", min=0)
    bandwidth: float = param(0.0, "frequency of half the amplitude; 0: not given", "Hz", min=0)
    differences: str = static("centred", "where derivatives are taken", choices=("centred", "forward"))
    y = inport("measured signal; nan where missing", size="any")
    x = outport("smoothed signal", size="n")
    dx = outport("its first derivative", size="n")
    ddx = outport("its second derivative", size="n")
    std_x = outport("standard deviation of x", size="n")
    std_dx = outport("standard deviation of dx", size="n")
    std_ddx = outport("standard deviation of ddx", size="n")

    result: dict[str, np.ndarray]

    def process(self, t, y):
        Ts = sample_time(t)
        columns = np.asarray(y, dtype=float).reshape(len(t), -1).T
        made = [self.smoothed(column, Ts) for column in columns]
        self.result = {name: np.array([found[name] for _, found in made]) for name in made[0][1]}
        return tuple(np.stack([arrays[port] for arrays, _ in made], axis=-1).reshape(np.shape(y)) for port in range(6))

    def smoothed(self, y: np.ndarray, Ts: float) -> tuple[tuple[np.ndarray, ...], dict[str, float]]:
        """One element: x, dx, ddx, their standard deviations; and what was found."""
        n = self.order
        if np.isinf(y).any():
            raise RecordError("samples are infinite; mark missing ones as nan.")
        seen = int(np.sum(~np.isnan(y)))
        if seen <= n:
            raise RecordError(f"a smoother of order {n} needs at least {n + 1} samples that are not missing, found {seen}.")
        nvr = self.nvr or self.nvr_of_bandwidth(Ts) or most_likely(y, n)
        half = half_amplitude(nvr, n) / Ts
        if not (self.nvr or self.bandwidth) and half > LIMIT / Ts:
            warnings.warn(
                f"IRWSmoother: maximum likelihood seems to follow the noise: with its NVR of {nvr:.3g} half the amplitude passes "
                f"at {half:.4g} Hz, above a tenth of the sampling frequency of {1 / Ts:.4g} Hz. Give nvr or bandwidth instead.",
                stacklevel=2,
            )
        level = float(np.nanmean(y))
        means, stds, squares, logs = smooth(y - level, n, nvr, self.differences == "centred")
        sigma = np.sqrt(squares / (seen - n))
        units = np.array([1.0, Ts, Ts * Ts])
        means, stds = means / units, stds * sigma / units
        found = {"nvr": nvr, "sigma_e": sigma, "bandwidth": half, "log_likelihood": likelihood(squares, logs, seen - n)}
        return (means[:, 0] + level, means[:, 1], means[:, 2], *stds.T), found

    def nvr_of_bandwidth(self, Ts: float) -> float:
        if self.bandwidth * Ts >= 0.5:
            raise RecordError(
                f"bandwidth is {self.bandwidth:g} Hz; it must be below the Nyquist frequency of the record, {0.5 / Ts:g} Hz."
            )
        return (2 * np.pi * self.bandwidth * Ts) ** (2 * self.order)

    @staticmethod
    def size_n(y):
        return y

    @staticmethod
    def check(nvr, bandwidth):
        return "give nvr or bandwidth, one of the two; found both." if nvr and bandwidth else None


def half_amplitude(nvr: float, n: int) -> float:
    """Where 1 / (1 + (2 - 2 cos w)^n / NVR) is 1/2, as w / 2 pi: cycles per sample; 1/2 where all frequencies pass."""
    return float(np.arccos(max(-1.0, 1.0 - nvr ** (1 / n) / 2)) / (2 * np.pi))


def likelihood(squares: float, logs: float, count: int) -> float:
    """Concentrated log-likelihood of the innovations: sigma_e^2 replaced by its estimate (22)."""
    return -0.5 * (count * (np.log(2 * np.pi * max(squares, 1e-300) / count) + 1) + logs)


def most_likely(y: np.ndarray, n: int) -> float:
    """The NVR of greatest likelihood: the best of a coarse grid of bandwidths, then Brent's method between its neighbours."""
    from scipy.optimize import minimize_scalar

    y = y - np.nanmean(y)
    count = int(np.sum(~np.isnan(y))) - n
    forward = recursions(60 * len(y) > LARGE)[0]
    stored = np.empty((len(y), n, n)), np.empty((len(y), n))

    def cost(exponent: float) -> float:
        squares, logs = forward(y, n, 10.0**exponent, *stored)
        return -likelihood(squares, logs, count)

    lowest = 2 * n * np.log10(0.5 / len(y))  # half a cycle in several records
    grid = np.linspace(lowest, 4.0, 30)
    best = int(np.argmin([cost(exponent) for exponent in grid]))
    around = grid[max(best - 1, 0)], grid[min(best + 1, len(grid) - 1)]
    return float(10.0 ** minimize_scalar(cost, bounds=around, method="bounded", options={"xatol": 1e-7}).x)


def smooth(y: np.ndarray, n: int, nvr: float, centred: bool) -> tuple[np.ndarray, np.ndarray, float, float]:
    """x and its two derivatives per sample, their standard deviations over sigma_e; sums of innovations as `forward`."""
    padded = np.concatenate(([np.nan], y))  # the state before the first sample, for centred differences
    forward, combine = recursions(len(y) > LARGE)
    information, vector = np.empty((len(padded), n, n)), np.empty((len(padded), n))
    squares, logs = forward(padded, n, nvr, information, vector)
    means, covariances = combine(padded, n, nvr, information, vector)
    rows = np.zeros((3, n + 1))  # x, dx, ddx from the state and the eta after it
    rows[0, 0] = rows[1, 1] = rows[2, 2] = 1.0
    if centred:
        rows[1, 2] = 0.5
    at = np.arange(1, len(padded))
    before = at - centred
    all_means = np.stack([means[at] @ rows[0], means[before] @ rows[1], means[before] @ rows[2]], axis=1)
    chosen = np.stack([covariances[at], covariances[before], covariances[before]], axis=1)
    return all_means, np.sqrt(np.einsum("ri,krij,rj->kr", rows, chosen, rows)), squares, logs


def forward(y, n, nvr, information, vector):
    """Filter y, filling what is known of each state from the samples up to it; sum of e^2 / v and of ln v, see (22).

    The first n samples that are there only fix the start: their innovations have no distribution and are left out.
    """
    Y, z = np.zeros((n, n)), np.zeros(n)
    seen, squares, logs = 0, 0.0, 0.0
    for k in range(len(y)):
        # Prediction: A^-T Y A^-1, less what eta, the noise of the last element, takes away.
        for j in range(1, n):
            for i in range(n):
                Y[i, j] -= Y[i, j - 1]
        for i in range(1, n):
            z[i] -= z[i - 1]
            for j in range(n):
                Y[i, j] -= Y[i - 1, j]
        forget(Y, z, n, nvr)
        if not np.isnan(y[k]):
            if seen >= n:
                mean, covariance = solve(Y, z, n)
                variance = 1.0 + covariance[0, 0]
                squares += (y[k] - mean[0]) ** 2 / variance
                logs += np.log(variance)
            seen += 1
            Y[0, 0] += 1.0
            z[0] += y[k]
        information[k] = Y
        vector[k] = z
    return squares, logs


def combine(y, n, nvr, information, vector):
    """Mean and covariance / sigma_e^2 of each state and the eta after it, given all samples."""
    means, covariances = np.empty((len(y), n + 1)), np.empty((len(y), n + 1, n + 1))
    Y, z = np.zeros((n, n)), np.zeros(n)
    J, w = np.zeros((n + 1, n + 1)), np.zeros(n + 1)
    for k in range(len(y) - 1, -1, -1):
        # What the later samples know of the next state A x + D eta, as knowledge of (x, eta).
        J[:] = 0.0
        for i in range(n):
            for j in range(n):
                J[i, j] = Y[i, j] + (Y[i - 1, j] if i else 0.0)
            w[i] = z[i] + (z[i - 1] if i else 0.0) + vector[k, i]
            J[n, i] = Y[n - 1, i]
        for i in range(n + 1):
            for j in range(n - 1, 0, -1):
                J[i, j] += J[i, j - 1]
        for i in range(n):
            J[i, n] = J[n, i]
        J[n, n] = Y[n - 1, n - 1] + 1.0 / nvr
        w[n] = z[n - 1]
        J[:n, :n] += information[k]
        means[k], covariances[k] = solve(J, w, n + 1)
        # One sample back: without eta, through A, with the sample at k.
        forget(Y, z, n, nvr)
        for j in range(n - 1, 0, -1):
            z[j] += z[j - 1]
            for i in range(n):
                Y[i, j] += Y[i, j - 1]
        for i in range(n - 1, 0, -1):
            for j in range(n):
                Y[i, j] += Y[i - 1, j]
        if not np.isnan(y[k]):
            Y[0, 0] += 1.0
            z[0] += y[k]
    return means, covariances


def forget(Y, z, n, nvr):
    """Add noise of variance nvr to the last element of a state known by Y and z = Y x, in place."""
    share = nvr / (1.0 + nvr * Y[n - 1, n - 1])
    last = Y[n - 1].copy()
    end = z[n - 1]
    for i in range(n):
        z[i] -= last[i] * share * end
        for j in range(n):
            Y[i, j] -= last[i] * share * last[j]


def solve(J, w, n):
    """J^-1 w and J^-1 by Cholesky's method, which no scaling of the unknowns disturbs."""
    L, K = np.zeros((n, n)), np.zeros((n, n))  # J = L L^T, K = L^-1
    for i in range(n):
        for j in range(i + 1):
            total = J[i, j]
            for k in range(j):
                total -= L[i, k] * L[j, k]
            L[i, j] = np.sqrt(total) if i == j else total / L[j, j]
        K[i, i] = 1.0 / L[i, i]
        for j in range(i):
            total = 0.0
            for k in range(j, i):
                total -= L[i, k] * K[k, j]
            K[i, j] = total / L[i, i]
    inverse, half, solution = np.zeros((n, n)), np.zeros(n), np.zeros(n)
    for i in range(n):
        for j in range(i + 1):
            half[i] += K[i, j] * w[j]
    for i in range(n):
        for k in range(i, n):
            solution[i] += K[k, i] * half[k]
        for j in range(n):
            for k in range(max(i, j), n):
                inverse[i, j] += K[k, i] * K[k, j]
    return solution, inverse


@functools.cache
def recursions(compiled: bool) -> tuple[Callable[..., Any], Callable[..., Any]]:
    """`forward` and `combine`, as they stand or the same text compiled."""
    if not compiled:
        return forward, combine
    from numba import njit

    space = dict(globals())
    for function in (solve, forget, forward, combine):
        space[function.__name__] = njit(types.FunctionType(function.__code__, space, function.__name__))
    return space["forward"], space["combine"]
