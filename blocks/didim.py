"""Direct and inverse dynamic identification: from the torque alone, the motion being simulated."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from blocksim.errors import DiagramError, SimulationError
from blocksim.estimates import Estimates
from blocksim.plant import Plant
from blocksim.process import Run

from .regression import coloured, null_words
from .resimulation import (
    Impossible,
    Looped,
    Path,
    Resimulation,
    Rows,
    colour_remark,
    diverged,
    effort_of,
    history,
    iterate,
    least_squares_step,
    power,
    product,
    relative_error,
    remarks,
    stacked,
    weighted_fit,
)

__all__ = ["DIDIM"]

DIFFERENCE = 1e-4  # of a parameter, for the sensitivities


class DIDIM(Resimulation):
    """beta_k+1 = (W_s' W_s)^-1 W_s' tau, W_s from the loop simulated at beta_k: torque is all it measures (Tout 2022, eq. 8).

    The twin is the diagram with ideal sensors: the same reference and controller, an observer in the loop as well, the plant
    with the current estimate. Because the loop tracks the same reference, its motion hardly depends on the estimate, and a few
    iterations do. Noise of the position never enters W_s, so it causes no bias; quantisation that reaches the torque through
    the controller is noise of the torque. For a measured record, sources of the diagram that the record holds are played from
    it; log the reference. The start of the motion is that of the diagram (`initial: diagram`) or a parabola through the first
    20 samples of q, connected as input (`initial: record`).

    `cutoff` and `decimate` filter tau and every column of W_s alike (Brunot 2017, 2.3; Gautier's parallel filter). Rows in
    which the twin sticks are dropped. Divergence is reported as such, with nan for values.

    Standard deviations: with e the noise of the torque, the estimate errs by (W_s' G)^-1 W_s' e, G = d(W_s beta)/d beta with the
    motion following beta. In a stiff loop G is W_s; here it comes from one more simulation per parameter. The covariance of e
    is that of an autoregression fitted to the residuals, or of white noise (`errors`).
    """

    example = """
format: 1
simulate: {stop: 2.0, solver: rk4, step: 1e-3, seed: 1}
blocks:
  ref:     {type: FourierTrajectory, base_frequency: 0.5, a: [0.8, 0, 0.4], b: [-0.4, 0.3, 0.1]}
  error:   {type: Sum, signs: "+-", in: [ref.q, encoder]}
  pid:     {type: PID, Ts: 1e-3, kp: 20, ki: 10, kd: 0.3, Tf: 5e-3, in: error}
  joint:   {type: GravityJoint, J: 0.02, Fv: 0.05, Fc: 0.1, Ms: 0.03, N: 1, in: pid}
  encoder: {type: Encoder, Ts: 1e-3, resolution: 1e-4, in: joint.q}
  found:   {type: DIDIM, model: joint, cutoff: 40, decimate: 5, in: pid}
"""

    def process(self, t, model: Plant, run: Run, **signals: Any):
        effort = model.effort(signals[model.drive])
        looped = self.twin(t, model, run, signals)
        measured = self.rows(t, effort)

        def system(motion: dict[str, np.ndarray]) -> Rows:
            return stacked(self.rows(t, model.regressor(motion)), measured, self.counted(t, motion, effort.shape[1]))

        def solve(motion: dict[str, np.ndarray], beta: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
            return least_squares_step(system(motion), beta)

        path = iterate(looped, self.starting(t, model, signals, effort), solve, self.tol, self.max_iterations)
        if path.failed:
            return like(signals[model.drive], 0 * effort, effort, diverged("DIDIM", path, looped))
        rows = system(path.motion)
        slopes = sensitivities(looped, path.beta, rows, system)
        predicted = effort_of(model, path.motion, path.beta)
        return like(signals[model.drive], predicted, effort - predicted, self.report(path, looped, rows, slopes))

    def report(self, path: Path, looped: Looped, rows: Rows, slopes: np.ndarray | None) -> Estimates:
        """The last least squares, its standard deviations corrected for the motion that follows the estimate."""
        found, names = weighted_fit(rows), looped.plant.parameters
        white, orders = found.covariance, [0]
        covariance, told = white, remarks(path, looped) + null_words(found, names)
        if self.errors == "coloured":
            covariance, orders = coloured(rows.W, found, rows.groups)
        if slopes is not None and found.rank == len(names):
            w = found.weights[:, None]
            try:
                K = np.linalg.inv(found.bread @ product(rows.W * w, slopes * w))
                covariance = K @ covariance @ K.T
            except np.linalg.LinAlgError:
                covariance = np.full_like(covariance, np.nan)
                told.append("no standard deviations: near the estimate the torque of the twin does not depend on all parameters")
        told += colour_remark(found.residuals, rows)
        details = {
            **history(path, looped),
            "rows": int((rows.weights > 0).sum()),
            "rank": found.rank,
            "condition": found.condition,
            "relative_condition": found.relative_condition,
            "relative_error": relative_error((rows.y - rows.times(path.beta)) * rows.weights, rows.y * rows.weights),  # %
            "std_least_squares": np.sqrt(np.diag(white)),
            "autoregression_orders": orders,
        }
        return Estimates.of(
            "DIDIM", names, path.beta, covariance, looped.plant, warnings=tuple(told), reason=path.reason, details=details
        )


def sensitivities(looped: Looped, beta: np.ndarray, rows: Rows, system: Callable[..., Rows]) -> np.ndarray | None:
    """d(W_s beta) / d beta with the motion following beta, (rows, parameters), by differences; None where the twin fails."""
    before, sizes, table = rows.times(beta), [], []
    for i, value in enumerate(beta):
        length = power(rows.W[:, i])
        size = abs(value) or (float(np.sqrt(power(rows.y) / length)) if length else 1.0)
        moved = beta.copy()
        moved[i] += DIFFERENCE * size
        table.append(moved)
        sizes.append(DIFFERENCE * size)
    limited = dict(looped.limited)
    try:
        motions = looped.motions(table)
    except (DiagramError, Impossible, SimulationError):
        return None
    finally:
        looped.limited = limited  # what the estimate itself asked for
    columns = [(system(m).times(moved) - before) / h for m, moved, h in zip(motions, table, sizes, strict=True)]
    return np.stack(columns, axis=1)


def like(drive: np.ndarray, predicted: np.ndarray, residual: np.ndarray, found: Estimates) -> tuple[Any, ...]:
    """What the block puts out, in the shape of what drives the plant."""
    return predicted.reshape(np.shape(drive)), residual.reshape(np.shape(drive)), found
