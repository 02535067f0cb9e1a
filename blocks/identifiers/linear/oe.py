"""OE: the linear model whose simulation repeats the output."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from blocksim.contract.block import RecordBlock, inport, model, outport, param, static
from blocksim.contract.plant import Plant
from blocksim.errors import RecordError
from blocksim.estimation.estimates import NORMAL, Estimates

from ..regression.regression import all_present, fit
from ..regression.spectrum import spectral_spread
from .arx import arx_columns, state_space_of
from .polynomials import Orders, delayed, orders_problem, pole_words, poles_of_fraction, scalar_pair

__all__ = ["OE"]

PREFILTER_ROUNDS = 20  # of Steiglitz and McBride, for a start
STEADY = 1e-6  # relative change of the coefficients at which these end
INSIDE = 0.999  # radius to which starting poles outside the unit circle are brought


class OE(RecordBlock):
    """y = B(z)/F(z) u + e: the transfer function whose simulation comes nearest to y (linear output error).

    As ARX, but noise may be on the reading of y, white or not: the estimate is right whatever its colour, as long as the input
    does not react to it. The standard deviations come from the spectrum of the scores (`errors: coloured`), or take the
    residuals for white. The start is that of Steiglitz and McBride, then Gauss and Newton's steps by scipy within the stable
    region; what the plant did before the record (`initial: estimated`) is fitted too.
    """

    family = "identification"
    icon = "0,0.5 0.15,0.85 0.3,0.3 0.45,0.65 0.6,0.42 1,0.5; 0,0.4 0.15,0.75 0.3,0.2 0.45,0.55 0.6,0.32 1,0.4"
    example = """
format: 1
simulate: {stop: 20, solver: rk4, step: 0.1, every: 0.1, seed: 1}
blocks:
  push:  {type: PRBS, amplitude: 1.0, bits: 7, clock: 0.2}
  plant: {type: DiscreteTransferFunction, Ts: 0.1, num: [0.1, 0.08], den: [1, -1.5, 0.7], in: push}
  y:     {type: NoisySensor, Ts: 0.1, std: 0.05, in: plant}
  oe:    {type: OE, model: plant, na: 2, nb: 2, in: {u: push, y: y}}
"""

    model: str = model("a DiscreteTransferFunction whose coefficients these are", required=False)
    na: int = static(None, "poles", kind=int, required=True)
    nb: int = static(None, "values of u", kind=int, required=True)
    delay: int = static(1, "samples until u acts", kind=int)
    offset: bool = static(True, "a constant beside the linear model is estimated, too", kind=bool)
    initial: str = static("estimated", "what the plant did before the record", choices=("estimated", "zero"))
    errors: str = static("coloured", "what the standard deviations take the residuals for", choices=("coloured", "white"))
    smoothing: float = param(0.0, "lines of the spectrum, next to zero, that are smoothed together; 0: 32", min=0)
    u = inport("input")
    y = inport("output")
    predicted = outport("y by the model", like="y")
    residual = outport("y less predicted", like="y")

    def process(self, t, model: Plant | None, u, y):
        all_present({"u": np.asarray(u, dtype=float), "y": np.asarray(y, dtype=float)})
        u, y, dt = scalar_pair(t, u, y)
        orders = Orders(self.na, self.nb, self.delay)
        names, count = orders.names(model), self.na + self.nb
        problem = Simulated(u, y, orders, self.offset, self.initial == "estimated")
        if len(y) <= 2 * problem.size:
            raise RecordError(f"{len(y)} samples are too few for {problem.size} coefficients.")
        theta, converged, words = coefficients_of(problem)
        J, predicted = problem.slopes(theta), problem.output(theta)
        rest = y - predicted
        linear = fit(J, rest)
        P, quantile = linear.covariance, np.full(problem.size, NORMAL)
        if self.errors == "coloured":
            everything = np.ones(len(y), dtype=bool)
            spread = spectral_spread(J @ linear.bread, J, rest, everything, np.zeros(len(y), dtype=int), self.smoothing)
            P, quantile = spread.claim, spread.quantile
        num, den = orders.fraction(theta[: self.na], theta[self.na : count])
        poles = poles_of_fraction(den, P[: self.na, : self.na], dt)
        details = {
            **state_space_of(num, den), "dt": dt, "poles": poles, "rows": len(y), "sigma": float(np.std(rest)),
            "converged": converged, "iterations": problem.runs,
        }  # fmt: skip
        result = Estimates.of(
            "OE", names, theta[:count], P[:count, :count], model, quantile=quantile[:count], details=details,
            reason=f"{words}; {pole_words(poles)}", warnings=() if converged else (words,),
        )  # fmt: skip
        return predicted, rest, result

    @staticmethod
    def check(na, nb, delay):
        return orders_problem(na, nb, delay)


@dataclass
class Simulated:
    """y_s(theta) = B/F u + what was before + a constant, and its slopes. theta: a, b, first values, constant."""

    u: np.ndarray
    y: np.ndarray
    orders: Orders
    offset: bool
    before: bool
    runs: int = 0

    @property
    def size(self) -> int:
        return self.orders.na + self.orders.nb + (self.orders.na if self.before else 0) + int(self.offset)

    def inverse(self, theta: np.ndarray, values: np.ndarray) -> np.ndarray:
        """values / F."""
        from scipy.signal import lfilter

        return np.asarray(lfilter([1.0], np.r_[1.0, theta[: self.orders.na]], values))

    def output(self, theta: np.ndarray) -> np.ndarray:
        self.runs += 1
        na, nb = self.orders.na, self.orders.nb
        driven = np.sum([b * delayed(self.u, self.orders.delay + k) for k, b in enumerate(theta[na : na + nb])], axis=0)
        if self.before:
            driven[:na] += theta[na + nb : 2 * na + nb]
        y = self.inverse(theta, driven)
        return y + theta[-1] if self.offset else y

    def slopes(self, theta: np.ndarray) -> np.ndarray:
        na, nb = self.orders.na, self.orders.nb
        y = self.output(theta) - (theta[-1] if self.offset else 0.0)
        past, drive = -self.inverse(theta, y), self.inverse(theta, self.u)
        impulse = self.inverse(theta, np.r_[1.0, np.zeros(len(self.u) - 1)])
        columns = [delayed(past, k) for k in range(1, na + 1)] + [delayed(drive, self.orders.delay + k) for k in range(nb)]
        columns += [delayed(impulse, k) for k in range(na)] if self.before else []
        return np.stack([*columns, *([np.ones(len(y))] if self.offset else [])], axis=1)


def inside_circle(a: np.ndarray) -> np.ndarray:
    """The denominator with poles outside the unit circle brought inside."""
    roots = np.roots(np.r_[1.0, a])
    size = np.abs(roots)
    roots = np.where(size > INSIDE, roots / np.maximum(size, 1e-12) * INSIDE * np.minimum(1.0, 1 / np.maximum(size, 1.0)), roots)
    return np.real(np.poly(roots))[1:]


def coefficients_of(problem: Simulated) -> tuple[np.ndarray, bool, str]:
    """Steiglitz and McBride's iteration, then least squares; the coefficients, whether the search ended, and how."""
    from scipy.optimize import least_squares
    from scipy.signal import lfilter

    orders, a = problem.orders, np.zeros(problem.orders.na)
    theta, best = np.zeros(problem.size), np.inf
    for _ in range(PREFILTER_ROUNDS):
        u, y, one = (lfilter([1.0], np.r_[1.0, a], v) for v in (problem.u, problem.y, np.ones(len(problem.y))))
        columns = arx_columns(np.asarray(u), np.asarray(y), orders, False)
        columns = np.c_[columns, one] if problem.offset else columns
        values = np.linalg.lstsq(columns[orders.degree :], np.asarray(y)[orders.degree :], rcond=None)[0]
        before, a = a, inside_circle(values[: orders.na])
        trial = np.zeros(problem.size)
        trial[: orders.na + orders.nb] = np.r_[a, values[orders.na : orders.na + orders.nb]]
        linear = problem.slopes(trial)[:, orders.na :]  # all else is linear
        trial[orders.na :] = np.linalg.lstsq(linear, problem.y, rcond=None)[0]
        cost = float(np.sum((problem.y - problem.output(trial)) ** 2))
        if np.isfinite(cost) and cost < best:
            theta, best = trial, cost
        if np.abs(a - before).max() <= STEADY * max(1.0, float(np.abs(a).max())):
            break

    def residuals(x: np.ndarray) -> Any:
        rest = problem.output(x) - problem.y
        unstable = np.abs(np.roots(np.r_[1.0, x[: orders.na]])).max(initial=0.0) >= 1.0
        return np.full(len(rest), 1e3 * np.sqrt(best / len(rest)) + 1e3 * np.std(problem.y)) if unstable else rest

    result = least_squares(residuals, theta, problem.slopes, x_scale="jac", xtol=1e-12, ftol=1e-12, gtol=None, max_nfev=200)
    return result.x, result.status > 0, "converged" if result.status > 0 else "stopped after 200 steps without an end"
