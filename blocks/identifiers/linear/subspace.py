"""Subspace: a state space from the row space of past and future data."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from blocksim.contract.block import RecordBlock, inport, outport, static
from blocksim.errors import RecordError
from blocksim.estimation.estimates import Estimates
from blocksim.estimation.twin import interval_of

from ..regression.regression import all_present
from .polynomials import REAL_POLE, pole_table, pole_words, sorted_poles

__all__ = ["Subspace"]

WEAK = 1e-10  # of the largest singular value: rows of data below are nothing but rounding


class Subspace(RecordBlock):
    """x[k+1] = A x + B u, y = C x + D u from the projection of future outputs on past data (subspace identification).

    `method: n4sid` takes the singular vectors of the oblique projection of Van Overschee and De Moor, `cva` those of canonical
    correlations (Larimore), which weigh the outputs by their noise. The observability matrix gives A and C; B, D and the first
    state are then least squares of the simulated output, so that noise of the reading leaves them right. No start is
    needed, several inputs and outputs are welcome; with feedback from y to u the poles are biased.

    Matrices depend on a basis that nobody chose; estimates are therefore the poles: `p1` of a real one in z, `p1.re` and `p1.im`
    of a pair. Their standard deviations are those of `draws` fits to the model's output plus noise with the spectrum of the
    residuals. `details` hold A, B, C, D, the singular values, by whose fall an order is chosen, and frequency and damping.
    """

    family = "identification"
    icon = "0,0 0,1; 1,0 1,1; 0.2,0.8 0.35,0.8; 0.45,0.8 0.6,0.8; 0.2,0.5 0.35,0.5; 0.45,0.5 0.6,0.5; 0.7,0.65 0.85,0.65"
    example = """
format: 1
simulate: {stop: 2, solver: rk4, step: 0.01, every: 0.01, seed: 1}
blocks:
  push:  {type: PRBS, amplitude: 1.0, bits: 7, clock: 0.02}
  plant: {type: DiscreteTransferFunction, Ts: 0.01, num: [0.1, 0.08], den: [1, -1.5, 0.7], in: push}
  y:     {type: NoisySensor, Ts: 0.01, std: 0.05, in: plant}
  space: {type: Subspace, order: 2, in: {u: push, y: y}}
"""

    order: int = static(None, "states", kind=int, required=True)
    method: str = static("n4sid", "how the projection is weighed", choices=("n4sid", "cva"))
    rows: int = static(0, "block rows of past and of future; 0: three times the order, at least 10", kind=int)
    feedthrough: bool = static(False, "whether u acts on y at once (D)", kind=bool)
    draws: int = static(30, "fits to drawn data, for the standard deviations", kind=int)
    seed: int = static(0, "of these draws", kind=int)
    u = inport("inputs", size="any")
    y = inport("outputs", size="n")
    predicted = outport("y by the model, simulated", size="n", like="y")
    residual = outport("y less predicted", size="n", like="y")

    def process(self, t, u, y):
        u, y = (np.asarray(values, dtype=float).reshape(len(t), -1) for values in (u, y))
        all_present({"u": u, "y": y})
        dt, rows = float(interval_of(t)), self.rows or max(10, 3 * self.order)
        if len(t) < 4 * rows * (u.shape[1] + y.shape[1]):
            raise RecordError(f"{len(t)} samples are too few for {rows} block rows; a lower order, or fewer rows.")
        C, A, values = self.dynamics(u, y, rows)
        space = input_fit(A, C, u, y, self.feedthrough)
        predicted = space.simulated(u)
        rest = y - predicted
        poles = sorted_poles(A)
        table = self.drawn_poles(u, predicted, rest, rows, poles)
        spread = np.array([np.cov(parts.real, parts.imag) for parts in table.T])
        names, numbers, stds = named_poles(poles, spread)
        pole_list = pole_table(poles, spread, dt)
        details = {
            "A": A, "B": space.B, "C": C, "D": space.D, "offset": space.offset, "dt": dt, "poles": pole_list, "rows": len(t),
            "singular_values": values, "sigma": rest.std(axis=0), "draws": len(table),
        }  # fmt: skip
        result = Estimates.of(self.method.upper(), names, numbers, stds, details=details, reason=pole_words(pole_list))
        outputs = predicted, rest
        return *(o[:, 0] if o.shape[1] == 1 else o for o in outputs), result

    def dynamics(self, u: np.ndarray, y: np.ndarray, rows: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """C, A and the singular values."""
        gamma, values = observability(u, y, rows, self.order, self.method)
        outputs = y.shape[1]
        return gamma[:outputs], np.linalg.lstsq(gamma[:-outputs], gamma[outputs:], rcond=None)[0], values

    def drawn_poles(self, u: np.ndarray, clean: np.ndarray, rest: np.ndarray, rows: int, poles: np.ndarray) -> np.ndarray:
        """Poles of fits to other draws of the noise, a row for each, in the order of `poles`."""
        random, table = np.random.default_rng(self.seed), []
        for _ in range(self.draws):
            again = self.dynamics(u, clean + surrogate(rest, random), rows)[1]
            table.append(matched(sorted_poles(again), poles))
        return np.array(table)

    @staticmethod
    def size_n(y):
        return y

    @staticmethod
    def check(order, rows, draws):
        if order < 1:
            return f"order: a whole number of at least 1 is wanted, found {order}."
        if rows and rows <= order:
            return f"rows: more than the order, {order}, are wanted, found {rows}."
        return None if draws >= 2 else f"draws: a whole number of at least 2 is wanted, found {draws}."


@dataclass(frozen=True)
class StateModel:
    A: np.ndarray
    B: np.ndarray
    C: np.ndarray
    D: np.ndarray
    x0: np.ndarray
    offset: np.ndarray

    def simulated(self, u: np.ndarray) -> np.ndarray:
        x, rows = self.x0, []
        for value in u:
            rows.append(self.C @ x + self.D @ value + self.offset)
            x = self.A @ x + self.B @ value
        return np.array(rows)


def observability(u: np.ndarray, y: np.ndarray, rows: int, order: int, method: str) -> tuple[np.ndarray, np.ndarray]:
    """The extended observability matrix, and the singular values of the projection it is taken from."""

    def hankel(values: np.ndarray, first: int) -> np.ndarray:
        columns = len(values) - 2 * rows + 1
        table = np.concatenate([values[first + k : first + k + columns].T for k in range(rows)])
        return table - table.mean(axis=1, keepdims=True)  # without what is constant, be it a transient's mean or an offset

    past, future = np.r_[hankel(u, 0), hankel(y, 0)], hankel(u, rows)
    data = np.r_[future, past, hankel(y, rows)]
    R = np.asarray(np.linalg.qr(data.T, mode="r")).T  # data = R Q
    f, p = len(future), len(past)
    L21, L22, L32, L33 = R[f : f + p, :f], R[f : f + p, f : f + p], R[f + p :, f : f + p], R[f + p :, f + p :]
    if np.linalg.matrix_rank(R[:f, :f], WEAK * max(float(np.abs(R).max()), 1e-300)) < f:
        raise RecordError("u does not excite as many frequencies as there are block rows: a richer input, or fewer rows.")
    oblique = L32 @ np.linalg.pinv(L22, rcond=WEAK)
    if method == "cva":
        wide = np.c_[L32, L33]
        vectors, s, _ = np.linalg.svd(wide, full_matrices=False)
        weight, back = (vectors * (1 / np.maximum(s, WEAK * s[0]))) @ vectors.T, (vectors * s) @ vectors.T
        U, values, _ = np.linalg.svd(weight @ L32, full_matrices=False)
        gamma = back @ U[:, :order]
    else:
        U, values, _ = np.linalg.svd(oblique @ np.c_[L21, L22], full_matrices=False)
        gamma = U[:, :order]
    return gamma * np.sqrt(values[:order]), values


def input_fit(A: np.ndarray, C: np.ndarray, u: np.ndarray, y: np.ndarray, feedthrough: bool) -> StateModel:
    """B, D, the first state and an offset: least squares of the simulated output, which is linear in them."""
    n, m, outputs = len(A), u.shape[1], y.shape[1]
    if np.abs(np.linalg.eigvals(A)).max() >= 1.0:
        raise RecordError("the model is not stable: another order, more rows, or data without feedback and drift are wanted.")
    # columns of the state for each element of B and of the first state: x[k+1] = A x[k] + E u[k]
    states = np.zeros((n, n * m + n))
    states[:, n * m :] = np.eye(n)
    columns = np.zeros((len(u), outputs, n * m + n))
    for k, value in enumerate(u):
        columns[k] = C @ states
        states = A @ states
        for j in range(m):
            states[:, j * n : (j + 1) * n] += np.eye(n) * value[j]
    flat = np.c_[columns.reshape(len(u) * outputs, -1), np.tile(np.eye(outputs), (len(u), 1))]
    if feedthrough:
        flat = np.c_[flat, np.einsum("kj,io->kioj", u, np.eye(outputs)).reshape(len(u) * outputs, -1)]
    x = np.linalg.lstsq(flat, y.ravel(), rcond=None)[0]
    first = n * m + n
    D = x[first + outputs :].reshape(outputs, m) if feedthrough else np.zeros((outputs, m))
    return StateModel(A, x[: n * m].reshape(m, n).T, C, D, x[n * m : first], x[first : first + outputs])


def surrogate(rest: np.ndarray, random: np.random.Generator) -> np.ndarray:
    """Noise with the spectra of the residuals, all outputs turned by the same phases: other draws of the same."""
    spectrum = np.fft.rfft(rest, axis=0)
    turns = np.exp(2j * np.pi * random.uniform(size=len(spectrum)))
    turns[0] = 1.0
    turns[-1] = turns[-1].real if len(rest) % 2 == 0 else turns[-1]
    return np.asarray(np.fft.irfft(spectrum * turns[:, None], len(rest), axis=0))


def matched(poles: np.ndarray, targets: np.ndarray) -> np.ndarray:
    """The poles in the order of others that are nearest to them."""
    from scipy.optimize import linear_sum_assignment

    return np.asarray(poles[linear_sum_assignment(np.abs(targets[:, None] - poles[None, :]))[1]])


def named_poles(poles: np.ndarray, spread: np.ndarray) -> tuple[list[str], list[float], list[float]]:
    """Real and imaginary parts by name: of a pair those of the upper one."""
    names: list[str] = []
    values: list[float] = []
    stds: list[Any] = []
    for p, P in zip(poles, spread, strict=True):
        if p.imag < -REAL_POLE * abs(p):
            continue
        number = len({name.partition(".")[0] for name in names}) + 1
        real = abs(p.imag) <= REAL_POLE * abs(p)
        names += [f"p{number}"] if real else [f"p{number}.re", f"p{number}.im"]
        values += [float(p.real)] if real else [float(p.real), float(p.imag)]
        stds += [float(np.sqrt(P[0, 0]))] if real else [float(np.sqrt(P[0, 0])), float(np.sqrt(P[1, 1]))]
    return names, values, stds
