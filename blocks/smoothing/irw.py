"""Smoothing by an integrated random walk: derivatives of a measured position with their standard deviations.

The Kalman filter (13)-(17) of Brunot 2017 and its fixed-interval smoother (19)-(21) are run here in information form, forward and
backward, and put together: no knowledge of the start is *zero* information, so nothing is approximated by a large covariance, a
missing sample brings none, and no difference of nearly equal covariances is formed. All information is in units of 1 / sigma_e^2.
Once it no longer changes, the filters go on with constant gains (irw_passes.py).
"""

from __future__ import annotations

import collections
import functools
import inspect
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np

from blocksim.contract.block import RecordBlock, inport, outport, param, static
from blocksim.errors import RecordError

from . import irw_passes
from .filters import sample_time

__all__ = ["IRWSmoother"]

LARGE = 50_000  # samples times passes, over all calls so far, from which compiling pays
ROOM = (9, 3, 3)  # for the small arrays of a pass
LIMIT = 0.1  # of the sampling frequency: the highest cutoff of Brunot's rules, fs = 100 f_dyn and cutoff <= 10 f_dyn


class IRWSmoother(RecordBlock):
    """D^n x[k+n] = eta[k], y[k] = x[k] + e[k]: the best x and its derivatives given all samples (Brunot 2017, section 3).

    Order n = 2 is the paper's IRWSM 1, 3 its IRWSM 2. NVR = var(eta) / var(e), per sample, alone sets the bandwidth: half the
    amplitude passes at fs NVR^(1/2n) / 2 pi, or 2 % above where that is fs / 10, 15 % where it is fs / 4 (`result` says it
    exactly). Give `nvr`, or that `bandwidth`, or neither: maximum likelihood then chooses, for each element.

    Likelihood takes the model at its word: a smooth deterministic motion is no random walk, and with little noise it follows
    every sample. A warning says so when half the amplitude passes above a tenth of the sampling frequency, the highest cutoff of
    the paper's rules (fs = 100 f_dyn, cutoff <= 10 f_dyn). An NVR holds for one sampling frequency; scale it by fs^-2n for
    another.

    `differences: centred` gives derivatives at the sample itself; `forward` is the paper's state, dx[k] = (x[k+1] - x[k]) / Ts,
    half a sample late, and for order 3 a whole one for ddx. Order 2 takes ddx from eta: rough, as its standard deviation says.
    Missing samples (nan) are bridged. Standard deviations hold as far as the model does. After a run `result` holds nvr,
    sigma_e (22), bandwidth and log_likelihood, an array each with one number per element.
    """

    family = "record"
    icon = "0,0.2 0.1,0.6 0.2,0.3 0.35,0.95 0.5,0.5 0.6,1 0.75,0.45 0.85,0.7 1,0.1; 0,0.35 0.25,0.6 0.5,0.75 0.75,0.62 1,0.35"
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
    x = outport("smoothed signal", size="n", like="y")
    dx = outport("its first derivative", size="n", rate_of="x")
    ddx = outport("its second derivative", size="n", rate_of="dx")
    std_x = outport("standard deviation of x", size="n", like="x")
    std_dx = outport("standard deviation of dx", size="n", like="dx")
    std_ddx = outport("standard deviation of ddx", size="n", like="ddx")

    result: dict[str, np.ndarray]

    def process(self, t, y):
        Ts = sample_time(t)
        columns = np.asarray(y, dtype=float).reshape(len(t), -1).T
        out = np.empty((len(columns), 6, len(t)))
        results = [self.smoothed(column, Ts, rows) for column, rows in zip(columns, out, strict=True)]
        self.result = {name: np.array([one[name] for one in results]) for name in results[0]}
        return tuple(out[:, port].T.reshape(np.shape(y)) for port in range(6))

    def smoothed(self, y: np.ndarray, Ts: float, out: np.ndarray) -> dict[str, float]:
        """One element: x, dx, ddx, their standard deviations into the rows of `out`; returns what was found."""
        n = self.order
        there = ~np.isnan(y)
        count = int(np.count_nonzero(there))
        if np.isinf(y).any():
            raise RecordError("samples are infinite; mark missing ones as nan.")
        if count <= n:
            raise RecordError(f"a smoother of order {n} needs at least {n + 1} samples that are not missing, found {count}.")
        y, level = np.ascontiguousarray(y), float(np.mean(y, where=there))
        nvr = self.nvr or self.nvr_of_bandwidth(Ts) or most_likely(y, level, n, count)
        half = half_amplitude(nvr, n) / Ts
        if not (self.nvr or self.bandwidth) and half > LIMIT / Ts:
            warnings.warn(
                f"IRWSmoother: maximum likelihood seems to follow the noise: with its NVR of {nvr:.3g} half the amplitude passes "
                f"at {half:.4g} Hz, above a tenth of the sampling frequency of {1 / Ts:.4g} Hz. Give nvr or bandwidth instead.",
                stacklevel=2,
            )
        squares, logs = smooth(y, level, n, nvr, self.differences == "centred", Ts, count, out)
        sigma = float(np.sqrt(squares / (count - n)))
        return {"nvr": nvr, "sigma_e": sigma, "bandwidth": half, "log_likelihood": likelihood(squares, logs, count - n)}

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


def most_likely(y: np.ndarray, level: float, n: int, count: int) -> float:
    """The NVR of greatest likelihood: the best of a coarse grid of bandwidths, then Brent's method between its neighbours."""
    from scipy.optimize import minimize_scalar

    forward = passes(n, worth_compiling(60 * len(y)))[0]
    nothing = np.empty((n, n)), np.empty(0, dtype=bool), np.empty((0, 0)), np.empty((0, 0))

    def cost(exponent: float) -> float:
        squares, logs = forward(y, level, n, 10.0**exponent, np.zeros(ROOM), *nothing)
        return -likelihood(squares, logs, count - n)

    lowest = 2 * n * np.log10(0.5 / len(y))  # half a cycle in several records
    grid = np.linspace(lowest, 4.0, 30)
    best = int(np.argmin([cost(exponent) for exponent in grid]))
    around = grid[max(best - 1, 0)], grid[min(best + 1, len(grid) - 1)]
    return float(10.0 ** minimize_scalar(cost, bounds=around, method="bounded", options={"xatol": 1e-7}).x)


def smooth(
    y: np.ndarray, level: float, n: int, nvr: float, centred: bool, Ts: float, count: int, out: np.ndarray
) -> tuple[float, float]:
    """x, its derivatives and their standard deviations into the rows of `out`; sums of innovations as `forward`."""
    forward, backward = passes(n, worth_compiling(len(y)))
    # Only samples near ends and gaps are stored in full; the rest of these arrays is never touched.
    limit, steady, information = np.empty((n, n)), np.empty(len(y), dtype=bool), np.empty((n * (n + 1) // 2, len(y)))
    squares, logs = forward(y, level, n, nvr, np.zeros(ROOM), limit, steady, information, out)
    sigma = np.sqrt(squares / (count - n))
    units = np.array([1.0, Ts, Ts * Ts])
    backward(
        y, level, n, nvr, centred, np.concatenate((1 / units, sigma / units)), np.zeros(ROOM), limit, steady, information, out
    )
    return squares, logs


#: What is compiled for one order: a known n turns small loops into plain arithmetic, three times as fast and sooner compiled.
ENTRIES = """

def forward_of_order(y, level, n, nvr, room, limit, steady, information, vector):
    return forward(y, level, {n}, nvr, room, limit, steady, information, vector)


def backward_of_order(y, level, n, nvr, centred, scales, room, limit, steady, information, out):
    backward(y, level, {n}, nvr, centred, scales, room, limit, steady, information, out)
"""


def worth_compiling(samples: int) -> bool:
    """Whether this and the calls before are work enough: a study smooths thousands of short records."""
    WORK.append(samples)
    return sum(WORK) > LARGE


WORK: collections.deque[int] = collections.deque(maxlen=1000)


@functools.cache
def passes(n: int, compiled: bool) -> tuple[Callable[..., Any], Callable[..., Any]]:
    """`forward` and `backward`, as they stand or the same text compiled for order n, which is kept on disk as programs are."""
    if not compiled:
        return irw_passes.forward, irw_passes.backward
    from numba import njit, types

    from blocksim.compiler import cache
    from blocksim.compiler.program import ProgramText, load_module

    code = ProgramText(inspect.getsource(irw_passes) + ENTRIES.format(n=n), "")
    whole, real, flag = types.int64, types.float64, types.boolean
    inputs = types.Array(real, 1, "C", readonly=True), real, whole, real
    places = real[:, :, ::1], real[:, ::1], flag[::1], real[:, ::1], real[:, ::1]
    signatures = {
        "forward_of_order": types.UniTuple(real, 2)(*inputs, *places),
        "backward_of_order": types.void(*inputs, flag, real[::1], *places),
    }
    options: dict[str, Any] = {"error_model": "numpy", "nogil": True}
    private: dict[str, Any] = {"forceinline": True, "no_cpython_wrapper": True, "no_cfunc_wrapper": True}
    inner = njit(**options, **private)
    with cache.folder(code.key, code.text) as place:
        module = load_module(code, place)
        functions = {name: value for name, value in vars(module).items() if inspect.isfunction(value)}
        module.__dict__.update({name: inner(value) for name, value in functions.items() if name not in signatures})
        outer = [njit(signature, **options, cache=place is not None)(functions[name]) for name, signature in signatures.items()]
    return outer[0], outer[1]
