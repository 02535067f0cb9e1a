"""Instrumental variables: least squares of a measured motion, without the bias that its noise causes."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from blocksim.contract.block import static
from blocksim.contract.plant import Plant
from blocksim.estimation.estimates import Estimates
from blocksim.estimation.process import Run

from .bias import drawn_values, mean_bias, with_bias
from .ends import Ends
from .iteration import Looped, LoopEquations, Motion, Path, history, remarks
from .resimulation import Resimulation
from .spectrum import spectral_spread
from .stacked_rows import (
    Rows,
    against,
    by_joint,
    coloured_residuals,
    natural_sizes,
    product,
    relative_error,
    scaled_inverse,
    solved_step,
    stacked,
    sum_of_squares,
)

__all__ = ["InstrumentalVariable"]

#: Share of a column that the instruments must explain, and the condition of Z'W above which it is called singular.
RELEVANT, SINGULAR_INSTRUMENTS = 0.5, 1e8


class InstrumentalVariable(Resimulation):
    """beta = (Z' W)^-1 Z' tau: W from the measured motion, the instruments Z from the loop simulated at beta (IDIM-IV).

    Noise of the position makes W wrong and correlates it with what it leaves of the torque, which biases least squares. The
    motion of the twin, the diagram with ideal sensors, is close to the true one and knows nothing of that noise: as instrument
    it removes the bias as long as filters leave W linear in it. Unlike DIDIM it uses the measured motion, so the twin need not
    be exact: a wrong friction law costs precision, not consistency. Connect the plant's drive and its measured motion, the
    latter from filters that are wide enough not to distort it; `cutoff` and `decimate` treat tau, W and Z alike.

    The rows of each joint are weighted by the root mean square of its residuals. The covariance is (Z'W)^-1 Z'CZ (W'Z)^-1, C
    from the spectrum of Z'e near zero, or of white noise (`errors`). The estimates warn where instruments are weak:
    where they explain less than half of a column of W, or Z'W is nearly singular.

    A filter that bends the motion biases these estimates, too, and the instruments do not know. `bias: told` says how much: the
    experiment is simulated again at the estimate with other `draws` of its noise, through the same filters; `corrected` takes
    that away, `widened` adds it to the standard deviations.
    """

    icon = "0,0 1,0.9; 0.1,0.25 0.16,0.25; 0.3,0.15 0.36,0.15; 0.5,0.6 0.56,0.6; 0.72,0.5 0.78,0.5; 0.86,0.95 0.92,0.95"
    example = """
format: 1
simulate: {stop: 2.0, solver: rk4, step: 1e-3, seed: 1}
blocks:
  ref:     {type: FourierTrajectory, base_frequency: 0.5, a: [0.8, 0, 0.4], b: [-0.4, 0.3, 0.1]}
  error:   {type: Sum, signs: "+-", in: [ref.q, encoder]}
  pid:     {type: PID, Ts: 1e-3, kp: 20, ki: 10, kd: 0.3, Tf: 5e-3, in: error}
  joint:   {type: GravityJoint, J: 0.02, Fv: 0.05, Fc: 0.1, Ms: 0.03, N: 1, in: pid}
  encoder: {type: Encoder, Ts: 1e-3, resolution: 1e-4, in: joint.q}
  motion:  {type: BandPassDerivatives, cutoff: 60, factor: 1, in: encoder}
  found:   {type: InstrumentalVariable, model: joint, decimate: 10, edges: 3,
            in: {tau: pid, q: motion.q, qd: motion.qd, qdd: motion.qdd}}
"""
    method = "IDIM-IV"
    motion_needed = True

    start: Any = static("ls", "starting values: a factor of those in the diagram, values by name, or 'ls' for least squares of "
                        "the measured motion", kind=(int, float, dict, str))  # fmt: skip
    bias: str = static("untold", "what is made of the bias that filters of the motion cause",
                       choices=("untold", "told", "corrected", "widened"))  # fmt: skip

    def process(self, t: np.ndarray, model: Plant, run: Run, **signals: Any) -> tuple[np.ndarray, np.ndarray, Estimates]:
        predicted, residual, estimates = super().process(t, model, run, **signals)
        values = estimates.vector()
        if self.bias != "untold" and np.isfinite(values).all():
            start = dict(zip(estimates, values.tolist(), strict=True))
            truth = {f"{self.settings['model']}.{n}": v for n, v in start.items()}
            table = drawn_values(run, truth, list(estimates), self.draws, {"start": start}, "bias")
            estimates = with_bias(estimates, mean_bias(table, values), self.bias, "a wider filter, DIDIM")
        return predicted, residual, estimates

    def equations(self, ends: Ends, signals: Mapping[str, np.ndarray], effort: np.ndarray, looped: Looped) -> Instruments:
        columns = looped.plant.regressor({s: signals[s] for s in looped.plant.motion})
        return Instruments(self, ends, looped, columns, self.rows(ends, columns), self.rows(ends, effort))

    def report(self, path: Path, looped: Looped, equations: Instruments) -> Estimates:
        rows, Z = path.rows
        names = looped.plant.parameters
        weights = by_joint(rows, path.beta)
        Zw, Ww, rest = Z * weights[:, None], rows.W * weights[:, None], rows.y - rows.times(path.beta)
        share, shape = relevance(Zw, Ww), condition_of(product(Zw, Ww))
        notes = remarks(path, looped)
        weak = [f"{n} ({100 * s:.0f} %)" for n, s in zip(names, share, strict=True) if s < RELEVANT]
        if weak:
            notes.append(f"weak instruments: the simulated motion explains little of the column of {', '.join(weak)}")
        if shape > SINGULAR_INSTRUMENTS:
            notes.append(f"Z'W is nearly singular, condition {shape:.2g}: the motion does not tell all parameters apart")
        inverse = scaled_inverse(product(Zw, Ww))
        scores, count = rest * weights, int((weights > 0).sum())
        white = inverse @ product(Zw, Zw) @ inverse.T * sum_of_squares(scores) / max(1, count - len(names))
        system = Zw @ inverse.T, Ww, scores, weights > 0, rows.groups
        spread = spectral_spread(*system, self.smoothing)
        covariance = white if self.errors == "white" else spread.claim
        details = {
            **history(path, looped),
            "rows": int((rows.weights > 0).sum()),
            "condition": shape,
            "relevance": share,
            "relative_error": relative_error(rest * rows.weights, rows.y * rows.weights),  # %
            "std_white": np.sqrt(np.diag(white)),
        }
        return self.told(path, looped, system, spread, covariance, notes, coloured_residuals(rest, rows), details)


@dataclass
class Instruments(LoopEquations):
    """Z' tau = Z' W beta, W being measured and Z simulated."""

    block: InstrumentalVariable
    ends: Ends
    looped: Looped
    columns: np.ndarray
    W: np.ndarray
    y: np.ndarray

    def system(self, motion: Motion) -> tuple[Rows, np.ndarray]:
        Z = self.block.rows(self.ends, self.looped.plant.regressor(motion))
        count = self.block.counted(self.ends, motion, self.y.shape[1], self.looped.plant)
        return stacked(self.W, self.y, count), Z.reshape(-1, Z.shape[-1])

    def natural(self, pair: tuple[Rows, np.ndarray]) -> np.ndarray:
        return natural_sizes(pair[0])

    def solve(self, pair: tuple[Rows, np.ndarray], beta: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        rows, Z = pair
        weights = by_joint(rows, beta)
        Zw, Ww, rest = Z * weights[:, None], rows.W * weights[:, None], (rows.y - rows.times(beta)) * weights
        return solved_step(product(Zw, Ww), against(rest, Zw), sum_of_squares(rest), int((weights > 0).sum()))


def relevance(Z: np.ndarray, W: np.ndarray) -> np.ndarray:
    """The share of each column of W that the instruments explain: 1 - ||w - P_Z w||^2 / ||w||^2."""
    scale = np.sqrt(np.einsum("ij,ij->j", Z, Z))
    Z = Z / np.where(scale > 0, scale, 1.0)
    cross, power = product(Z, W), np.einsum("ij,ij->j", W, W)
    explained = np.einsum("ij,ij->j", cross, np.linalg.pinv(product(Z, Z), rcond=1e-13) @ cross)
    return np.where(power > 0, explained / np.where(power > 0, power, 1.0), 0.0)


def condition_of(A: np.ndarray) -> float:
    """Of a square matrix once its rows and columns have length 1, so that units do not count."""
    A = A / np.maximum(np.linalg.norm(A, axis=0), 1e-300)
    A = A / np.maximum(np.linalg.norm(A, axis=1, keepdims=True), 1e-300)
    return float(np.linalg.cond(A))
