"""ARX: a linear difference equation by least squares."""

from __future__ import annotations

from typing import Any

import numpy as np

from blocksim.contract.block import RecordBlock, inport, model, outport, static
from blocksim.contract.plant import Plant
from blocksim.errors import RecordError
from blocksim.estimation.estimates import Estimates

from ..regression.regression import all_present, fit
from .polynomials import Orders, delayed, orders_problem, pole_words, poles_of_fraction, scalar_pair

__all__ = ["ARX"]

WHITE_LAGS = 20  # of the residuals that are looked at
UNLIKELY_WHITE = 1e-3  # chance of so much correlation in white noise, below which it is told


class ARX(RecordBlock):
    """A(z) y = B(z) u + e: y[k] = -a1 y[k-1] - ... + b0 u[k-delay] + b1 u[k-delay-1] + ... + e[k], by least squares.

    The coefficients are those of a DiscreteTransferFunction, den[1], den[2] ... and num[0] ...; `model` names the one they
    are of, which then may start from here, and against which a simulation scores them. Estimates and their standard deviations
    are right where the noise is white and passes the poles of the plant, as a disturbance at its input does. Noise on the reading
    of y is no such noise, and biases the poles towards fast ones: take a higher order, or OE. `details` hold the poles with
    frequency, damping and their standard deviations, and A, B, C, D: `bs.linear_model(estimates)` is a LinearModel of them, which
    python-control takes.
    """

    family = "identification"
    icon = "0,0.1 0.2,0.1 0.2,0.9 0,0.9 0,0.1; 0.3,0.3 0.45,0.75 0.6,0.45 0.75,0.6 1,0.5"
    example = """
format: 1
simulate: {stop: 20, solver: rk4, step: 0.1, every: 0.1, seed: 1}
blocks:
  push:  {type: PRBS, amplitude: 1.0, bits: 7, clock: 0.2}
  plant: {type: DiscreteTransferFunction, Ts: 0.1, num: [0.1, 0.08], den: [1, -1.5, 0.7], in: push}
  y:     {type: NoisySensor, Ts: 0.1, std: 1e-3, in: plant}
  arx:   {type: ARX, model: plant, na: 2, nb: 2, in: {u: push, y: y}}
"""

    model: str = model("a DiscreteTransferFunction whose coefficients these are", required=False)
    na: int = static(None, "poles: values of y before", kind=int, required=True)
    nb: int = static(None, "values of u", kind=int, required=True)
    delay: int = static(1, "samples until u acts", kind=int)
    offset: bool = static(True, "a constant beside the linear model is estimated, too", kind=bool)
    u = inport("input")
    y = inport("output")
    predicted = outport("y from what was before it", like="y")
    residual = outport("y less predicted", like="y")

    def process(self, t, model: Plant | None, u, y):
        all_present({"u": np.asarray(u, dtype=float), "y": np.asarray(y, dtype=float)})
        u, y, dt = scalar_pair(t, u, y)
        orders = Orders(self.na, self.nb, self.delay)
        names = orders.names(model)
        columns = arx_columns(u, y, orders, self.offset)
        first = orders.degree
        if len(y) - first <= columns.shape[1]:
            raise RecordError(f"{len(y)} samples are too few for {columns.shape[1]} coefficients.")
        linear = fit(columns[first:], y[first:])
        if linear.rank < columns.shape[1]:
            raise RecordError(
                f"only {linear.rank} of {columns.shape[1]} coefficients can be told apart: u does not excite as many, or y "
                "repeats itself without noise. A lower order, or an input with more frequencies is wanted."
            )
        predicted = columns @ linear.values
        predicted[:first] = y[:first]
        count = orders.na + orders.nb
        num, den = orders.fraction(linear.values[: orders.na], linear.values[orders.na : count])
        P = linear.covariance[:count, :count]
        poles = poles_of_fraction(den, P[: orders.na, : orders.na], dt)
        rest = y - predicted
        remarks = []
        if chance_of_white(rest[first:]) < UNLIKELY_WHITE:
            remarks.append(
                "residuals are coloured: the noise is not that of an ARX model, and the poles are biased. A higher order, or OE"
            )
        details = {
            **state_space_of(num, den), "dt": dt, "poles": poles, "rows": len(y) - first,
            "sigma": float(np.std(rest[first:])), "offset": float(linear.values[-1]) if self.offset else 0.0,
        }  # fmt: skip
        result = Estimates.of(
            "ARX", names, linear.values[:count], P, model, warnings=tuple(remarks), reason=pole_words(poles), details=details
        )
        return predicted, rest, result

    @staticmethod
    def check(na, nb, delay):
        return orders_problem(na, nb, delay)


def chance_of_white(rest: np.ndarray) -> float:
    """The chance that white noise is as correlated over its first lags (Ljung and Box)."""
    from scipy.special import chdtrc

    n, power = len(rest), float(rest @ rest)
    if not power or n <= 2 * WHITE_LAGS:
        return 1.0
    r = np.array([float(rest[k:] @ rest[:-k]) / power for k in range(1, WHITE_LAGS + 1)])
    return float(chdtrc(WHITE_LAGS, n * (n + 2) * float(np.sum(r**2 / (n - np.arange(1, WHITE_LAGS + 1))))))


def arx_columns(u: np.ndarray, y: np.ndarray, orders: Orders, offset: bool) -> np.ndarray:
    """A column for each coefficient, in their order, and one of ones."""
    columns = [-delayed(y, k) for k in range(1, orders.na + 1)] + [delayed(u, orders.delay + k) for k in range(orders.nb)]
    return np.stack([*columns, *([np.ones(len(y))] if offset else [])], axis=1)


def state_space_of(num: np.ndarray, den: np.ndarray) -> dict[str, Any]:
    """The controllable canonical form of a transfer function."""
    A = np.zeros((len(den) - 1, len(den) - 1))
    A[0], A[1:, :-1] = -den[1:], np.eye(len(den) - 2)
    B = np.eye(len(A))[:, :1]
    return {"A": A, "B": B, "C": (num[1:] - num[0] * den[1:])[None, :], "D": num[:1][None, :]}
