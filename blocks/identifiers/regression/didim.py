"""Direct and inverse dynamic identification: from the torque alone, the motion being simulated."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from blocksim.errors import DiagramError, SimulationError, listing
from blocksim.estimation.estimates import Estimates

from .ends import Ends
from .iteration import Impossible, Looped, LoopEquations, Motion, Path, history, remarks
from .regression import undetermined, weighted_rows
from .resimulation import Resimulation, effort_of
from .spectrum import spectral_spread
from .stacked_rows import (
    Rows,
    by_joint,
    coloured_residuals,
    least_squares_step,
    natural_sizes,
    product,
    relative_error,
    stacked,
    sum_of_squares,
    weighted_fit,
)
from .words import null_words

__all__ = ["DIDIM"]

RELATIVE_DIFFERENCE = 1e-4  # of a parameter, for the sensitivities
CLOSE, LONGEST_STEP = 0.01, 0.1  # relative changes: steps up to the first are hastened, to no more than the second
SINGULAR_GAIN = 1e10  # condition of W'G, scaled, from which on it is


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
    motion following beta. In a stiff loop G is W_s; here it comes from one more simulation per parameter, made once the steps
    are below 1 %. From there on G also replaces W_s in the steps, beta_k+1 = beta_k + (W_s' G)^-1 W_s' (tau - W_s beta_k): the
    same end in fewer simulations, and in a soft loop too. The covariance of W_s' e comes from the spectrum of these products near
    zero, with the degrees of freedom that leaves, or is that of white noise (`errors`).
    """

    icon = (
        "0,0.5 0.0833,0.7 0.167,0.846 0.25,0.9 0.333,0.846 0.417,0.7 0.5,0.5 0.583,0.3 0.667,0.154 0.75,0.1 0.833,0.154 "
        "0.917,0.3 1,0.5; 0,0.218 0.0833,0.462 0.167,0.716 0.25,0.913 0.333,0.999 0.417,0.951 0.5,0.782 0.583,0.538 "
        "0.667,0.284 0.75,0.0873 0.833,0.00146 0.917,0.0492 1,0.218"
    )
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

    method = "DIDIM"

    def fits(self, path: str, schedule: Any) -> None:
        """Refuse a plant that drives itself nowhere: of an open loop the twin asks for the same effort with any parameters."""
        from blocksim.checking.plants import entering
        from blocksim.checking.upstream import upstream

        super().fits(path, schedule)
        plant, units = schedule.unit(path).plants["model"], schedule.by_path
        members = {name for name in units if name == plant.path or name.startswith(f"{plant.path}.")}
        effort = entering(members, units)
        if effort and members.isdisjoint(upstream(effort, units)):
            raise DiagramError(
                f"the loop around '{plant.path}' is open: {listing(dict.fromkeys(map(str, effort)))}, which drives it, does not "
                "depend on its motion. Simulated with any parameters it asks for the same effort, so that DIDIM would end where "
                "it starts. Close the loop by the controller that was at work, or take LeastSquares, InstrumentalVariable or "
                "OutputError."
            )

    def equations(self, ends: Ends, signals: Mapping[str, np.ndarray], effort: np.ndarray, looped: Looped) -> SimulatedRows:
        return SimulatedRows(self, ends, looped, self.rows(ends, effort))

    def report(self, path: Path, looped: Looped, equations: SimulatedRows) -> Estimates:
        """The last least squares, its standard deviations corrected for the motion that follows the estimate."""
        rows, follow = path.rows, equations.following(path)
        fit_of_rows, names = weighted_fit(rows), looped.plant.parameters
        white, notes = fit_of_rows.covariance, remarks(path, looped) + null_words(fit_of_rows, names)
        followed = follow.seen and fit_of_rows.rank == len(names)
        gain = follow.gain if followed and follow.gain is not None else np.eye(len(names))
        W = weighted_rows(rows.W, rows.y, fit_of_rows.weights)[0]
        slopes = follow.slopes if followed else None
        fitted = W if slopes is None else weighted_rows(slopes, rows.y, fit_of_rows.weights)[0]
        system = (gain @ fit_of_rows.bread @ W.T).T, fitted, fit_of_rows.scores, rows.weights > 0, rows.groups
        spread = spectral_spread(*system, self.smoothing)
        covariance = gain @ white @ gain.T if followed else white
        if self.errors != "white":
            covariance = undetermined(spread.claim, fit_of_rows.null)
        if followed and follow.gain is None:
            covariance = np.full_like(covariance, np.nan)
            notes.append("no standard deviations: near the estimate the torque of the twin does not depend on all parameters")
        details = {
            **history(path, looped),
            "rows": int((rows.weights > 0).sum()),
            "rank": fit_of_rows.rank,
            "condition": fit_of_rows.condition,
            "relative_condition": fit_of_rows.relative_condition,
            "relative_error": relative_error((rows.y - rows.times(path.beta)) * rows.weights, rows.y * rows.weights),  # %
            "std_least_squares": np.sqrt(np.diag(white)),
        }
        return self.told(
            path, looped, system, spread, covariance, notes, coloured_residuals(fit_of_rows.residuals, rows), details
        )


@dataclass
class SimulatedRows(LoopEquations):
    """tau = W_s beta; and how W_s beta follows the estimate, G = d(W_s beta)/d beta, looked at once, near the end.

    There a least squares step s, which takes the motion for fixed, is hastened to (W_s' G)^-1 W_s' W_s s: what is left of the
    error after it is of second order, where s alone would leave a share of it at every step.
    """

    block: DIDIM
    ends: Ends
    looped: Looped
    measured: np.ndarray
    columns: np.ndarray = field(default_factory=lambda: np.zeros(0))
    looked: bool = False
    seen: bool = False  # whether the twin could be simulated for it
    slopes: np.ndarray | None = None  # G
    gain: np.ndarray | None = None  # (W' G)^-1 W' W; none where the torque of the twin does not depend on all parameters
    before: float = np.inf  # size of the last step

    def system(self, motion: Motion) -> Rows:
        self.columns = self.looped.plant.regressor(motion)
        W = self.block.rows(self.ends, self.columns)
        return stacked(W, self.measured, self.block.counted(self.ends, motion, self.measured.shape[1], self.looped.plant))

    def natural(self, rows: Rows) -> np.ndarray:
        return natural_sizes(rows)

    def solve(self, rows: Rows, beta: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        return least_squares_step(rows, beta)

    def following(self, path: Path) -> SimulatedRows:
        """Itself, G having been looked at."""
        if not self.seen:
            self.look(path)
        return self

    def hastened(self, path: Path, step: np.ndarray, scale: np.ndarray) -> np.ndarray:
        """The step, hastened where it is small."""
        change = float(np.max(np.abs(step) / scale))
        if not self.looked and change <= CLOSE:
            self.look(path)
        elif self.gain is not None and change > self.before / 2:  # no help: at a limit, or where the twin is not smooth
            self.seen, self.gain = False, None
        self.before = change
        if self.gain is None:
            return step
        better = self.gain @ step
        return better if np.max(np.abs(better) / scale) <= LONGEST_STEP else step

    def look(self, path: Path) -> None:
        """One simulation for each parameter, all at once."""
        self.looked, rows = True, path.rows
        self.slopes = slopes = self.sensitivities(path.at, rows)
        self.seen = slopes is not None
        if slopes is None:
            return
        weights = by_joint(rows, path.at)[:, None]
        Ww = rows.W * weights
        A, B = product(Ww, Ww), product(Ww, slopes * weights)
        scale = np.sqrt(np.abs(np.diag(A)))
        if (scale > 0).all() and np.linalg.cond(B / np.outer(scale, scale)) < SINGULAR_GAIN:
            self.gain = np.linalg.solve(B, A)

    def sensitivities(self, beta: np.ndarray, rows: Rows) -> np.ndarray | None:
        """G, (rows, parameters), by differences; None where the twin fails."""
        sizes, table, before = [], [], rows.times(beta)
        for i, value in enumerate(beta):
            length = sum_of_squares(rows.W[:, i])
            size = abs(value) or (float(np.sqrt(sum_of_squares(rows.y) / length)) if length else 1.0)
            moved = beta.copy()
            moved[i] += RELATIVE_DIFFERENCE * size
            table.append(moved)
            sizes.append(RELATIVE_DIFFERENCE * size)

        def effort(i: int, motion: Motion) -> np.ndarray:
            return effort_of(self.looped.plant.regressor(motion), table[i])  # filters are linear: they need no columns

        limited = dict(self.looped.limited)
        try:
            efforts = np.stack(self.looped.motions(table, effort)).transpose(1, 2, 0)
            return (self.block.rows(self.ends, efforts).reshape(-1, len(table)) - before[:, None]) / np.array(sizes)
        except (DiagramError, Impossible, SimulationError):
            return None
        finally:
            self.looped.limited = limited  # what the estimate itself asked for
