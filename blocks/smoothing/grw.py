"""Smoothing by a general random walk (Young): level and slope with a memory and a noise of their own.

As in irw.py the filter (13)-(17) of Brunot 2017 runs in information form, forward and backward, and both are put together: no
knowledge of the start is zero information, a missing sample brings none.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import numpy as np

from blocksim.contract.block import RecordBlock, inport, outport, param, static
from blocksim.errors import RecordError

from .filters import sample_time
from .irw import likelihood, worth_compiling

__all__ = ["GRWSmoother"]

STATES = 2  # level and slope


class GRWSmoother(RecordBlock):
    """x[k] = alpha x[k-1] + beta v[k-1] + delta eta1, v[k] = gamma v[k-1] + kappa eta2, y = x + e: (9)-(12) of Brunot 2017.

    The best level x and slope v / Ts given all samples. Special cases have names: the integrated random walk (alpha = beta =
    gamma = kappa = 1, delta = 0: the default, IRWSmoother of order 2), the random walk (beta = 0, delta = 1), the smoothed random
    walk (alpha below 1), the local linear trend (delta = 1), the damped trend (gamma below 1). Where delta is not 0 the level
    moves by itself as well, and dx is that of the slope alone.

    `nvr` are the variances of eta1 and eta2 over that of e, or one number for both, as the paper has it; those that are 0 and
    have an effect are chosen by maximum likelihood, for each element. `differences: centred` is the mean of the slopes before and
    after a sample, its standard deviation the mean of theirs, which is never too small; `forward` is the paper's state, half a
    sample late. Missing samples (nan) are bridged. After a run `result` holds nvr, sigma_e (22) and log_likelihood.
    """

    family = "record"
    icon = "0,0.2 0.1,0.6 0.2,0.3 0.35,0.95 0.5,0.5 0.6,1 0.75,0.45 0.85,0.7 1,0.1; 0,0.35 0.25,0.6 0.5,0.75 0.75,0.62 1,0.35"
    example = """
format: 1
simulate: {stop: 2.0, solver: rk4, step: 1e-2, seed: 1}
blocks:
  angle:   {type: Sine, amplitude: 0.5, frequency: 1.0}
  encoder: {type: Encoder, counts_per_turn: 500, noise_std: 0.5, Ts: 1e-2, in: angle}
  smooth:  {type: GRWSmoother, gamma: 0.98, nvr: 1e-2, in: encoder}    # a slope that forgets
"""

    alpha: float = param(1.0, "share of the level that is left after a sample", above=0, max=1)
    beta: float = param(1.0, "how much of the slope the level takes; 0: a level without slope", min=0)
    gamma: float = param(1.0, "share of the slope that is left after a sample", above=0, max=1)
    delta: float = param(0.0, "how much of its own noise the level takes", min=0)
    kappa: float = param(1.0, "how much noise the slope takes", min=0)
    nvr: float = param(
        0.0, "noise variance ratio per sample, for both or [level, slope]; 0: by maximum likelihood", min=0, shape=(None,)
    )
    differences: str = static("centred", "where the slope is taken", choices=("centred", "forward"))
    y = inport("measured signal; nan where missing", size="any")
    x = outport("smoothed signal", size="n", like="y")
    dx = outport("its slope", size="n", rate_of="x")
    std_x = outport("standard deviation of x", size="n", like="x")
    std_dx = outport("standard deviation of dx", size="n", like="dx")

    result: dict[str, np.ndarray]

    def process(self, t, y):
        Ts = sample_time(t)
        columns = np.asarray(y, dtype=float).reshape(len(t), -1).T
        out = np.empty((len(columns), 4, len(t)))
        tables = [self.smoothed(np.ascontiguousarray(column), Ts, rows) for column, rows in zip(columns, out, strict=True)]
        self.result = {name: np.array([one[name] for one in tables]) for name in tables[0]}
        return tuple(out[:, port].T.reshape(np.shape(y)) for port in range(4))

    def smoothed(self, y: np.ndarray, Ts: float, out: np.ndarray) -> dict[str, Any]:
        """One element: x, dx and their standard deviations into the rows of `out`; returns its ratios and likelihood."""
        present = int(np.count_nonzero(~np.isnan(y)))
        if np.isinf(y).any():
            raise RecordError("samples are infinite; mark missing ones as nan.")
        if present <= STATES:
            raise RecordError(f"a level and its slope need at least {STATES + 1} samples that are not missing, found {present}.")
        middle = float(np.nanmean(y)) if self.alpha == 1 else 0.0  # a level that forgets does so towards 0
        y = y - middle
        walk = (self.alpha, self.beta, self.gamma if self.beta else 1.0)
        filtered = walk_filter(worth_compiling((1 if self.given else 200) * len(y)))
        noise = self.noise(y, walk, present, filtered)
        ahead, back = np.empty((len(y), 5)), np.empty((len(y), 5))
        squares, logs, count = filtered(y, *walk, *noise, False, ahead)
        filtered(y, *walk, *noise, True, back)
        back[:, [0, 3]] -= np.c_[~np.isnan(y), np.nan_to_num(y)]  # the sample itself counts once
        sigma = float(np.sqrt(squares / count))
        mean, std = level_and_slope(ahead + back)
        out[0], out[2] = middle + mean[0], sigma * std[0]
        if self.differences == "centred":
            mean, std = (np.c_[v[:, :1], (v[:, 1:] + v[:, :-1]) / 2] for v in (mean, std))
        out[1], out[3] = self.beta * mean[1] / Ts, self.beta * sigma * std[1] / Ts
        return {"nvr": self.ratios(noise), "sigma_e": sigma, "log_likelihood": likelihood(squares, logs, count)}

    @property
    def given(self) -> bool:
        return bool(np.all(self.both > 0))

    @property
    def both(self) -> np.ndarray:
        return np.resize(np.atleast_1d(np.asarray(self.nvr, dtype=float)), 2)

    @property
    def gains(self) -> np.ndarray:
        """What the noises of level and slope are multiplied by; that of a slope without effect is none."""
        return np.array([self.delta, self.kappa if self.beta else 0.0])

    def ratios(self, noise: tuple[float, float]) -> np.ndarray:
        return np.divide(noise, self.gains**2, out=np.zeros(2), where=self.gains > 0)

    def noise(self, y: np.ndarray, walk: tuple[float, ...], present: int, filtered: Callable[..., Any]) -> tuple[float, float]:
        """Variances that level and slope take in a sample, in units of that of e; what is not given by maximum likelihood."""
        from scipy.optimize import minimize

        both, gains = self.both, self.gains
        unknown = [i for i in range(2) if gains[i] and not both[i]]
        if not unknown:
            return tuple((both * gains**2).tolist())
        common = len(np.atleast_1d(self.nvr)) == 1 and len(unknown) == 2  # one number for both
        nothing = np.empty((0, 5))

        def variances(exponents: np.ndarray) -> np.ndarray:
            own = both.copy()
            own[unknown] = 10.0 ** np.clip(exponents[0] if common else exponents, -30, 6)
            return own * gains**2

        def cost(exponents: np.ndarray) -> float:
            squares, logs, count = filtered(y, *walk, *variances(exponents), False, nothing)
            return -likelihood(squares, logs, count)

        size = 1 if common else len(unknown)
        grid = [np.full(size, e) for e in np.linspace(4 * np.log10(0.5 / present), 3.0, 15)]
        best = minimize(cost, min(grid, key=cost), method="Nelder-Mead", options={"xatol": 1e-4, "fatol": 1e-6})
        return tuple(variances(best.x).tolist())

    @staticmethod
    def size_n(y):
        return y

    @staticmethod
    def check(nvr, beta, delta, kappa):
        if isinstance(nvr, (list, tuple)) and len(nvr) != STATES:
            return f"nvr: one number is wanted, or [level, slope], found {len(nvr)}."
        return None if delta or (beta and kappa) else "delta and kappa: one noise at least must move the level."


def level_and_slope(information: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Mean and standard deviation of level and slope (2, samples) of rows Y11, Y12, Y22, z1, z2."""
    Y11, Y12, Y22, z1, z2 = information.T
    determinant = Y11 * Y22 - Y12**2
    mean = np.stack([Y22 * z1 - Y12 * z2, Y11 * z2 - Y12 * z1]) / determinant
    return mean, np.sqrt(np.stack([Y22, Y11]) / determinant)


def filter_samples(y, alpha, beta, gamma, level, slope, backward, memory):
    """What samples up to each one tell of its state, or from the end down to it: rows Y11, Y12, Y22, z1, z2.

    Returns the sum of e^2 / v and of ln v, see (22), and of how many innovations. Y <- A^-T Y A^-1 forward and A' Y A backward;
    a noise of variance q on a state with unit vector d takes Y d d' Y / (d'Yd + 1 / q). Backward it comes before A.
    """
    a, b, c, z, w = 0.0, 0.0, 0.0 if beta > 0 else 1.0, 0.0, 0.0  # a level without slope: a slope that is known to be 0
    squares, logs, present = 0.0, 0.0, 0
    order = 2 if beta > 0 else 1
    for step in range(len(y)):
        k = len(y) - 1 - step if backward else step
        if step > 0 and not backward:
            q, r = beta / alpha, 1.0 / gamma
            a, b, c = a / (alpha * alpha), (b / alpha - q * a / alpha) * r, (c - 2.0 * q * b + q * q * a) * r * r
            z, w = z / alpha, (w - q * z) * r
        if step > 0:
            if level > 0.0:
                s = 1.0 / (a + 1.0 / level)
                b, c, w, z, a = b - a * b * s, c - b * b * s, w - b * z * s, z - a * z * s, a - a * a * s
            if slope > 0.0:
                s = 1.0 / (c + 1.0 / slope)
                b, a, z, w, c = b - c * b * s, a - b * b * s, z - b * w * s, w - c * w * s, c - c * c * s
        if step > 0 and backward:
            a, b, c = (
                alpha * alpha * a,
                alpha * (beta * a + gamma * b),
                beta * beta * a + 2.0 * beta * gamma * b + gamma * gamma * c,
            )
            z, w = alpha * z, beta * z + gamma * w
        if y[k] == y[k]:
            if present >= order:
                determinant = a * c - b * b
                v = 1.0 + c / determinant
                e = y[k] - (c * z - b * w) / determinant
                squares += e * e / v
                logs += np.log(v)
            present += 1
            a += 1.0
            z += y[k]
        if len(memory) > 0:
            memory[k, 0], memory[k, 1], memory[k, 2], memory[k, 3], memory[k, 4] = a, b, c, z, w
    return squares, logs, present - order


@functools.cache
def walk_filter(compiled: bool) -> Callable[..., Any]:
    """The filter as it stands, or compiled where there is much to do."""
    if not compiled:
        return filter_samples
    from numba import njit

    return njit(error_model="numpy", nogil=True)(filter_samples)
