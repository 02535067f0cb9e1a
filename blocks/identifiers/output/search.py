"""The search of an output error: simulations, their differences, and least squares from one start."""

from __future__ import annotations

import functools
import itertools
import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from blocksim.errors import SimulationError

from ..regression.regression import Fit, fit, unit_columns, upper
from ..regression.stacked_rows import sum_of_squares
from .free_parameters import FreeParameter, assigned
from .trial import RecordTrial

DIFFERENCE = 1e-4  # of a parameter, either way, for the sensitivities
BLIND = 1e-6  # singular values of the sensitivities below this share of the largest are differences of nothing
NEAR_BEFORE = 1e-3  # relative change of the parameters up to which sensitivities are those of before
MOVED_NOTHING = 0.01  # standard deviations: a step this small is none
STUCK = 2.0  # standard deviations that a step at the end of a search may ask for; more is no minimum
SMALLEST_TOLERANCE = 1e-7  # relative: so is one this small, which may be all that differences can tell
RUNS_KEPT = 4  # simulations that are remembered


@dataclass
class Task:
    """What is compared with what, of one record or of several, and how many simulations that took."""

    trials: list[RecordTrial]
    free: list[FreeParameter]
    weights: list[np.ndarray] = field(default_factory=list)  # of every element of every output of every record
    simulations: int = 0
    failures: int = 0
    central: bool = False  # whether the search itself takes differences to both sides
    runs: dict[bytes, list[np.ndarray]] = field(default_factory=dict)  # the last ones, by parameters
    near: tuple[np.ndarray, np.ndarray] | None = None  # the last sensitivities, without weights, and where they were taken

    @functools.cached_property
    def outputs(self) -> list[str]:
        """What is compared; of several records, which one is said too."""
        if len(self.trials) == 1:
            return self.trials[0].outputs
        return [f"{name}@{k + 1}" for k, trial in enumerate(self.trials) for name in trial.outputs]

    @functools.cached_property
    def measured(self) -> list[np.ndarray]:
        return [m for trial in self.trials for m in trial.measured]

    @functools.cached_property
    def counts(self) -> list[int]:
        """Rows of each output that are compared."""
        return [trial.count for trial in self.trials for _ in trial.measured]

    def params(self, theta: np.ndarray, trial: int) -> dict[str, Any]:
        return assigned([(s, float(v)) for s, v in zip(self.free, theta, strict=True) if s.trial in (None, trial)])

    def signals(self, theta: np.ndarray) -> list[np.ndarray]:
        """The signals of the twins; what was just simulated is not simulated again."""
        key = theta.tobytes()
        if key not in self.runs:
            self.simulations += len(self.trials)
            outputs = [signal for k, trial in enumerate(self.trials) for signal in trial.run(self.params(theta, k))]
            self.runs = {**dict(list(self.runs.items())[1 - RUNS_KEPT :]), key: outputs}
        return self.runs[key]

    def by_trial(self, signals: Sequence[np.ndarray]) -> list[list[np.ndarray]]:
        """A list over all outputs, cut into those of each record."""
        ends = np.cumsum([0, *(len(trial.outputs) for trial in self.trials)])
        return [list(signals[first:last]) for first, last in itertools.pairwise(ends)]

    def joined(self, signals: Sequence[np.ndarray]) -> np.ndarray:
        """What is compared, one signal after another."""
        return np.concatenate([t.joined(own) for t, own in zip(self.trials, self.by_trial(signals), strict=True)])

    def rows(self, signals: Sequence[np.ndarray]) -> list[np.ndarray]:
        """What skip and filters leave of every signal."""
        return [t.rows(one) for t, own in zip(self.trials, self.by_trial(signals), strict=True) for one in own]

    @functools.cached_property
    def target(self) -> np.ndarray:
        """What was measured, without weights."""
        return self.joined(self.measured)

    @property
    def row_weights(self) -> np.ndarray:
        return tiled(tuple(w.tobytes() for w in self.weights), tuple(self.counts))

    def weighted(self, signals: Sequence[np.ndarray]) -> np.ndarray:
        return self.joined(signals) * self.row_weights

    def residuals(self, theta: np.ndarray) -> np.ndarray:
        """Model less measurement; where the twin fails, so large that any step there is taken back."""
        weights = self.row_weights
        target = self.target * weights
        try:
            rest = self.joined(self.signals(theta)) * weights - target
        except SimulationError:
            rest = np.full(len(target), math.nan)
        if np.isfinite(rest).all():
            return rest
        self.failures += 1
        return np.full(len(target), 1e6 * (float(np.abs(target).max()) or 1.0))

    def rest_rows(self, theta: np.ndarray) -> list[np.ndarray]:
        """What is left of every output, without weights."""
        return self.rows([m - s for m, s in zip(self.measured, self.signals(theta), strict=True)])

    def unexplained(self, theta: np.ndarray) -> float:
        """The largest share of what one output varies that the twin does not repeat."""
        shares = []
        for m, rest, w in zip(self.rows(self.measured), self.rest_rows(theta), self.weights, strict=True):
            size = sum_of_squares(((m - m.mean(axis=0)) * w).ravel())
            shares.append(math.sqrt(sum_of_squares((rest * w).ravel()) / size) if size > 0 else 0.0)
        return max(shares)

    def slopes(self, theta: np.ndarray) -> np.ndarray:
        """Sensitivities for the search: to one side, from the run that is there, and those of before after a small step."""
        if self.near is None or np.any(np.abs(theta - self.near[0]) > NEAR_BEFORE * self.sizes(theta)):
            self.near = theta.copy(), self.differences(theta, self.central)
        return self.near[1] * self.row_weights[:, None]

    def cost_vector(self, theta: np.ndarray) -> np.ndarray:
        """A few numbers as long as all residuals together: a search asks no more of them."""
        rest = self.residuals(theta)
        return np.r_[math.sqrt(np.einsum("i,i->", rest, rest)), np.zeros(len(theta))]

    def cost_slopes(self, theta: np.ndarray) -> np.ndarray:
        """A few rows J with the J'J of all rows, and their J' times residuals: of [residuals J] = Q R what is beside |residuals|.

        So what scipy factorises at every step is small, and no threads of BLAS are in the way of the simulations.
        """
        R = upper(self.residuals(theta), self.slopes(theta))
        R[0] *= math.copysign(1.0, R[0, 0])
        return R[:, 1:]

    def sensitivities(self, theta: np.ndarray) -> np.ndarray:
        """d y_s / d theta by central differences."""
        return self.differences(theta, True) * self.row_weights[:, None]

    def sizes(self, theta: np.ndarray) -> np.ndarray:
        return np.maximum(np.abs(theta), [1e-3 * s.scale for s in self.free])

    def differences(self, theta: np.ndarray, central: bool) -> np.ndarray:
        """d y_s / d theta without weights, all simulations of a record in one batch; to one side where a bound is near."""
        low, high = (np.array([getattr(s, side) for s in self.free]) for side in ("low", "high"))
        h = DIFFERENCE * self.sizes(theta)
        ends = [np.minimum(theta + h, high), np.maximum(theta - h, low)]
        if not central:
            up = high - theta >= h
            ends = [np.where(up, ends[0], theta), np.where(up, theta, ends[1])]
        here = self.by_trial(self.signals(theta))
        parts = [self.trial_differences(k, theta, ends, here[k]) for k in range(len(self.trials))]
        return parts[0] if len(parts) == 1 else np.concatenate(parts)

    def trial_differences(self, k: int, theta: np.ndarray, ends: list[np.ndarray], here: list[np.ndarray]) -> np.ndarray:
        """The sensitivities of one record; those of what is another record's own are 0."""
        trial, own = self.trials[k], [i for i, s in enumerate(self.free) if s.trial in (None, k)]
        moved = [(i, end[i]) for i in own for end in ends if end[i] != theta[i]]
        table = [np.where(np.arange(len(theta)) == i, value, theta) for i, value in moved]
        self.simulations += len(table)
        results = dict(zip(moved, trial.run_many([self.params(row, k) for row in table]), strict=True))
        columns = np.zeros((trial.count * sum(m.shape[1] for m in trial.measured), len(theta)), order="F")
        for i in own:
            pair = [here if end[i] == theta[i] else results[i, end[i]] for end in ends]
            if any(isinstance(one, SimulationError) for one in pair):
                self.failures += 1
                continue
            columns[:, i] = (trial.joined(pair[0]) - trial.joined(pair[1])) / (ends[0][i] - ends[1][i])
        return columns


@functools.lru_cache(maxsize=8)
def tiled(weights: tuple[bytes, ...], counts: tuple[int, ...]) -> np.ndarray:
    """Weights of all rows, from those of the elements of each signal."""
    rows = np.concatenate([np.tile(np.frombuffer(w), count) for w, count in zip(weights, counts, strict=True)])
    rows.flags.writeable = False
    return rows


@dataclass
class Search:
    """Where a search ended."""

    theta: np.ndarray
    cost: float
    reason: str
    ok: bool = True
    iterations: int = 0
    costs: list[float] = field(default_factory=list)
    J: np.ndarray = field(default_factory=lambda: np.zeros((0, 0)))  # sensitivities there, by central differences
    linear: tuple[np.ndarray, Fit] | None = None  # what is seen of them, and least squares with these


def descend(task: Task, first: np.ndarray, tol: float, limit: int) -> Search:
    """Least squares from one start."""
    from scipy.optimize import least_squares

    failures = task.failures
    task.residuals(first)
    if task.failures > failures:
        return Search(first, math.inf, "diverged: the twin cannot be simulated at the start", False)
    low, high = (np.array([getattr(s, side) for s in task.free]) for side in ("low", "high"))
    first = inside(first, low, high)
    if not task.slopes(first).any():  # scipy would divide by the length of this gradient
        rest = task.residuals(first)
        return Search(first, float(rest @ rest) / 2, "moved nothing: no parameter has any influence on what is compared")
    result = least_squares(
        task.cost_vector,
        first,
        task.cost_slopes,
        bounds=(low, high),
        x_scale="jac",
        xtol=tol,
        ftol=tol,
        gtol=None,
        max_nfev=limit,
    )
    words = {0: f"stopped after {limit} iterations without an end", 2: "converged: the cost no longer falls"}
    words |= {3: "converged: the parameters no longer change", 4: "converged: neither cost nor parameters change"}
    return Search(result.x, float(result.cost), words.get(result.status, result.message), True, int(result.njev))


def ascertained(task: Task, search: Search, tol: float, limit: int) -> Search:
    """The end of a search with central differences, which say whether it is one: if not, it goes on with them.

    Where the cost is rough, a search can stop on a slope, since no step lowers it. That is no minimum, and is said.
    """
    search.J = task.sensitivities(search.theta)
    if not search.reason.startswith("converged") or missing(task, search, tol) <= MOVED_NOTHING:
        return search
    task.central, task.near = True, (search.theta, search.J / task.row_weights[:, None])
    again = descend(task, search.theta, tol, limit)
    if again.ok:
        again.costs, again.iterations = search.costs, search.iterations + again.iterations
        again.J = task.sensitivities(again.theta)
        search = again
    left = missing(task, search, tol)
    if left > STUCK and search.reason.startswith("converged"):
        search.ok = False
        search.reason = (
            f"diverged: stuck where no step lowers the cost, {left:.2g} standard deviations from where its slope leads. The cost "
            "is rough there: try other starts (starts, bounds)"
        )
    return search


def missing(task: Task, search: Search, tol: float) -> float:
    """The Gauss-Newton step that is left, in standard deviations, of the parameters that are not at a bound."""
    free = np.array([not s.at_bound(v) for s, v in zip(task.free, search.theta, strict=True)])
    if not free.any():
        return 0.0
    linear = linearised(task, search)[1] if free.all() else fit(seen(search.J[:, free]), -task.residuals(search.theta))
    std = np.where(linear.determined, linear.std, math.inf)
    left = np.abs(linear.values) - max(tol, SMALLEST_TOLERANCE) * task.sizes(search.theta)[free]
    return float(np.max(np.divide(left, std, out=np.zeros(len(left)), where=left > 0)))


def linearised(task: Task, search: Search) -> tuple[np.ndarray, Fit]:
    """The sensitivities at the end of a search, as far as they are seen, and the least squares of what is left there."""
    if search.linear is None:
        J = seen(search.J)
        search.linear = J, fit(J, -task.residuals(search.theta))
    return search.linear


def inside(first: np.ndarray, low: np.ndarray, high: np.ndarray) -> np.ndarray:
    """The start, a little within its bounds."""
    room = np.where(np.isfinite(high - low), high - low, np.maximum(np.abs(first), 1.0))
    return np.minimum(np.maximum(first, low + 1e-8 * room), high - 1e-8 * room)


def seen(J: np.ndarray) -> np.ndarray:
    """The sensitivities without directions that are nothing but rounding, so that these count as not seen."""
    unit, lengths = unit_columns(J)
    s, vt = np.linalg.svd(upper(unit))[1:]
    directions = vt[s >= BLIND * s.max(initial=0.0)]
    return J if len(directions) == len(vt) else np.einsum("ij,jk->ik", unit, directions.T @ directions) * lengths
