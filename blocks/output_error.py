"""Output error: parameters for which a simulation repeats what was measured."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from blocksim.block import RecordBlock, inport, model, outport, param, static
from blocksim.changes import find_setting
from blocksim.declarations import Inport, Outport, Param
from blocksim.diagram import REFERENCE
from blocksim.errors import DiagramError, RecordError, SimulationError, did_you_mean, listing
from blocksim.estimates import Estimate, Estimates
from blocksim.plant import Plant
from blocksim.process import Run
from blocksim.twin import Played, Twin, twin_of

from .regression import all_present, autocovariance, fit, ljung_box, null_words, unit_columns, upper

__all__ = ["CLOE", "OutputError"]

DIFFERENCE = 1e-4  # of a parameter, either way, for the sensitivities
BLIND = 1e-6  # singular values of the sensitivities below this share of the largest are differences of nothing
LAGS, UNLIKELY = 20, 0.01  # of the test for coloured residuals
ROUNDS = 10  # of weighting outputs by their residuals
ROUNDING = 1e-9  # residuals below this share of the signal are no noise
NEAR = 1e-3  # relative change of the parameters up to which sensitivities are those of before
NOTHING = 0.01  # standard deviations: a step this small is none
KEPT = 4  # simulations that are remembered
KEYS = ("start", "min", "max")


@dataclass(frozen=True)
class Sought:
    """A parameter that is looked for, between bounds."""

    path: str
    start: float
    low: float
    high: float
    unit: str = ""
    truth: float = math.nan

    @property
    def scale(self) -> float:
        """Its size, in which steps are measured."""
        return abs(self.start) or (self.high - self.low if math.isfinite(self.high - self.low) else 1.0)


class CLOE(RecordBlock):
    """min sum |y - y_s(theta)|^2: the whole loop is simulated again until it repeats y (closed-loop output error).

    `parameters` are any numbers of any block, plant, controller or initial state: a list of paths, or for each path its start,
    min and max. What is not given comes from the diagram: the start is `start` times the value there, the bounds are those the
    block declares. `output` names what is compared with y: of the twin, so the plant's output or its ideal sensor's. Several
    pairs may be fitted together; `weights` are then one over the standard deviations of their noise, and where none are given
    the fit is repeated with those of its residuals until they stay.

    The twin repeats the run: reference, controller, observers; noise is silent. For a measured record, sources of the diagram
    that it holds are played from it. Least squares by scipy's trust region within the bounds; sensitivities by differences, all
    in one batch on all cores: to one side on the way, and none for a step below a thousandth; to both at the end, which also
    tells whether it is one. `details` count the simulations. With white noise on y the estimate is that of maximum likelihood,
    and the covariance, s^2 (J'J)^-1, attains the Cramér-Rao bound. Feedback hides parameters: where the controller holds y fixed
    whatever they are, fit the control signal too. Noise that enters the loop through the sensor is not in the twin: it is noise
    of y, coloured by the loop.
    """

    family = "identification"
    example = """
format: 1
simulate: {stop: 2.0, solver: rk4, step: 1e-3, every: 1e-2, seed: 1}
blocks:
  ref:   {type: Sine, amplitude: 0.5, frequency: 1.0}
  error: {type: Sum, signs: "+-", in: [ref, joint.q]}
  pid:   {type: PD, Ts: 1e-3, kp: 5, kd: 0.1, Tf: 5e-3, in: error}
  joint: {type: GravityJoint, J: 0.02, Fv: 0.05, Fc: 0.1, Ms: 0.03, N: 1, in: pid}
  q_hat: {type: TorqueSensor, Ts: 1e-2, std: 1e-3, in: joint.q}
  found: {type: CLOE, parameters: [joint.J, joint.Fv], output: joint.q, in: q_hat}
"""
    method = "CLOE"

    parameters: Any = static(
        None, "paths of numbers of the diagram, or {path: {start, min, max}}", kind=(list, dict), required=True
    )
    output: Any = static(None, "the signal of the twin that is compared with y, or one for each", kind=(str, list), required=True)
    weights: Any = static(None, "what the residuals of each y are multiplied by; estimated where none are given", kind=list)
    start: float = param(0.7, "starting values, where none are given, as a share of those in the diagram")
    starts: int = static(1, "how many starts are tried; all but the first are drawn at random between the bounds", kind=int)
    seed: int = static(0, "of the random starts", kind=int)
    skip: float = param(0.0, "time at the start of the record that is not compared", "s", min=0)
    tol: float = param(1e-9, "relative change of cost or parameters at which the search ends", above=0)
    max_iterations: int = static(100, "a search is given up after so many", kind=int)
    y = inport("measured signals", size="any", many=True)
    predicted = outport("the same signals by the twin at the estimate", size="n")
    residual = outport("measured less predicted", size="n")

    def process(self, t, run: Run, y):
        return self.identify(t, run, y, [])

    def identify(self, t: np.ndarray, run: Run, y: Sequence[np.ndarray], played: list[Played]) -> tuple[Any, ...]:
        outputs = self.names(run.path)
        all_present(
            {**{f"y[{k}]" if len(y) > 1 else "y": v for k, v in enumerate(y)}, **({"u": played[0].values} if played else {})}
        )
        twin = twin_of(run, t, outputs, played)
        sought = sought_in(self, run.path, twin.experiment.schedule, run)
        measured = [np.asarray(values, dtype=float).reshape(len(t), -1) for values in y]
        task = Task(twin, sought, outputs, measured, int(np.searchsorted(t, t[0] + self.skip - 1e-9)))
        left = sum(len(m) - task.first for m in measured)
        if left <= len(sought):
            raise RecordError(
                f"{left} samples are too few for {len(sought)} parameters: skip: {self.skip:g} s of {np.ptp(t):g} s."
            )
        found = self.search(task)
        if found.ok:
            found = ascertained(task, found, self.tol, self.max_iterations)
        predicted = task.signals(found.theta) if found.ok else None
        shown = np.concatenate(predicted, axis=1) if predicted else 0 * np.concatenate(measured, axis=1)
        rest = np.concatenate(measured, axis=1) - shown
        slim = shown.shape[1] == 1
        return (shown[:, 0] if slim else shown), (rest[:, 0] if slim else rest), report(self.method, task, found)

    def search(self, task: Task) -> Search:
        """From every start; with several outputs and no weights, again with those of the residuals, until they stay."""
        given = self.settings["weights"]
        task.weights = [1 / (float(np.std(m)) or 1.0) for m in task.measured] if given is None else [float(w) for w in given]
        best = self.from_starts(task)
        for _ in range(ROUNDS if best.ok and given is None and len(task.measured) > 1 else 0):
            rest = [m[task.first :] - s[task.first :] for m, s in zip(task.measured, task.signals(best.theta), strict=True)]
            before, task.weights = task.weights, [1 / (float(np.sqrt(np.mean(r**2))) or 1.0) for r in rest]
            again = descend(task, best.theta, self.tol, self.max_iterations)
            if not again.ok:
                break
            again.costs, again.iterations, best = best.costs, best.iterations + again.iterations, again
            if np.allclose(task.weights, before, rtol=0.01):
                break
        return best

    def from_starts(self, task: Task) -> Search:
        random = np.random.default_rng(self.seed)
        firsts = [np.array([s.start for s in task.sought])]
        firsts += [np.array([drawn(s, random) for s in task.sought]) for _ in range(self.starts - 1)]
        searches = [descend(task, first, self.tol, self.max_iterations) for first in firsts]
        best = min(searches, key=lambda s: s.cost if s.ok else math.inf)
        best.costs = [s.cost if s.ok else math.nan for s in searches]
        return best

    def names(self, path: str) -> list[str]:
        """The compared signals by their whole path."""
        scope = path.rpartition(".")[0]
        given = self.settings["output"]
        return [f"{scope}.{n}" if scope else n for n in ([given] if isinstance(given, str) else given)]

    def fits(self, path: str, schedule: Any) -> None:
        unit = schedule.unit(path)
        sought_in(self, path, schedule, None)
        outputs = self.names(path)
        for name in outputs:
            check_output(schedule, name)
        arriving = len(unit.inputs["y"])
        if len(outputs) != arriving:
            raise DiagramError(
                f"output: {len(outputs)} signals are named and {arriving} are connected to y; a pair each is wanted."
            )
        weights = self.settings["weights"]
        if weights is not None and len(weights) != arriving:
            raise DiagramError(f"weights: {len(weights)} numbers for {arriving} signals at y.")

    @staticmethod
    def size_n(y):
        return sum(y)

    @staticmethod
    def check(parameters, output, weights, starts, max_iterations):
        if not parameters:
            return "parameters: at least one is wanted."
        if isinstance(output, list) and not (output and all(isinstance(o, str) for o in output)):
            return f"output: names of signals are wanted, found {output}."
        if weights is not None and not all(isinstance(w, (int, float)) and w > 0 for w in weights):
            return f"weights: numbers above 0 are wanted, found {weights}."
        for name, value in (("starts", starts), ("max_iterations", max_iterations)):
            if value < 1:
                return f"{name}: a whole number of at least 1 is wanted, found {value}."
        return None


class OutputError(CLOE):
    """min sum |y - y_s(theta)|^2: the plant is simulated alone, driven by its recorded input u (output error, open loop).

    As CLOE, but the drive of `model` is what was recorded, held between samples as a digital controller does (`hold: zero`) or
    joined by straight lines (`hold: linear`). Only what `output` depends on is simulated. An unstable or integrating plant drifts
    away over a long record, and noise of a controller that reacted to y is in u too: with feedback and much noise prefer CLOE.
    Unknown initial states are parameters like others: `joint.q`.
    """

    example = """
format: 1
simulate: {stop: 2.0, solver: rk4, step: 1e-3, every: 1e-2, seed: 1}
blocks:
  push:  {type: PRBS, amplitude: 0.5, bits: 6, clock: 0.1}
  joint: {type: GravityJoint, J: 0.02, Fv: 0.05, Fc: 0.1, Ms: 0.03, N: 1, in: push}
  q_hat: {type: TorqueSensor, Ts: 1e-2, std: 1e-3, in: joint.q}
  found: {type: OutputError, model: joint, parameters: [joint.J, joint.Fv], output: joint.q, in: {u: push, y: q_hat}}
"""
    method = "output error"

    model: str = model("the plant that the recorded input drives, a block of the diagram")
    hold: str = static("zero", "the input between its samples", choices=("zero", "linear"))
    u = inport("recorded input of the plant", size="any")

    def process(self, t, run: Run, model: Plant, u, y):
        scope = run.path.rpartition(".")[0]
        path = f"{scope}.{self.settings['model']}" if scope else self.settings["model"]
        return self.identify(t, run, y, [Played(f"{path}.{model.drive}", np.asarray(u, dtype=float), self.hold, True)])

    def fits(self, path: str, schedule: Any) -> None:
        plant = schedule.unit(path).plants["model"]
        if not plant.path:
            raise DiagramError(f"model: {self.settings['model']} is a type; name the block of the diagram that u drives.")
        if not plant.kind.of(Inport):
            raise DiagramError(f"model: {plant.name} has no input that u could drive.")
        super().fits(path, schedule)


# ---- what is looked for ---------------------------------------------------------------------------------------------------


def sought_in(block: CLOE, path: str, schedule: Any, run: Run | None) -> list[Sought]:
    """The parameters with their starts and bounds, checked against the diagram; its values are the truth of a simulated run."""
    scope = path.rpartition(".")[0]
    given = block.settings["parameters"]
    wanted = given if isinstance(given, Mapping) else dict.fromkeys(given)
    changes = run.changes if run is not None else {}
    found = []
    for name, more in wanted.items():
        whole = f"{scope}.{name}" if scope else str(name)
        if run is not None and whole.rpartition(".")[0] not in schedule.by_path:
            raise RecordError(f"parameters: {whole} has no influence on what is compared.")
        found.append(one_sought(whole, more, schedule, changes, block.start, run is not None and run.simulated))
    return found


def one_sought(name: str, more: Any, schedule: Any, changes: Mapping[str, Any], share: float, simulated: bool) -> Sought:
    try:
        unit, key = find_setting(schedule, name)
    except DiagramError as error:
        raise DiagramError(f"parameters: {error}") from None
    declared, value = unit.kind.declared[key], changes.get(name, unit.settings.get(key))
    if unit.after or not isinstance(declared, Param) or not isinstance(value, (int, float)) or isinstance(value, bool):
        numbers = [
            n for n, d in unit.kind.declared.items() if isinstance(d, Param) and isinstance(unit.settings.get(n), (int, float))
        ]
        raise DiagramError(f"parameters: {name} is no single number of a running block. {unit.path} has: {listing(numbers)}.")
    more = {"start": more} if isinstance(more, (int, float)) else more or {}
    if not isinstance(more, Mapping) or set(more) - set(KEYS) or not all(isinstance(v, (int, float)) for v in more.values()):
        raise DiagramError(f"parameters: {name}: found {more!r}; numbers for {listing(KEYS)} are wanted.")
    low, high = limits(declared)
    low, high = max(low, more.get("min", -math.inf)), min(high, more.get("max", math.inf))
    if not low < high:
        raise DiagramError(f"parameters: {name}: min {more.get('min')} and max {more.get('max')} leave nothing between them.")
    start = float(more.get("start", share * value))
    if "start" not in more:
        start = min(max(start, low), high)
    if not low <= start <= high:
        raise DiagramError(f"parameters: {name}: the start, {start:g}, is not between {low:g} and {high:g}.")
    return Sought(name, start, low, high, declared.unit, float(value) if simulated else math.nan)


def limits(declared: Param) -> tuple[float, float]:
    """The bounds a block declares; an open one is kept away from by a hair."""
    low, high = -math.inf, math.inf
    if declared.min is not None or declared.above is not None:
        low = max(v for v in (declared.min, None if declared.above is None else hair(declared.above, 1)) if v is not None)
    if declared.max is not None or declared.below is not None:
        high = min(v for v in (declared.max, None if declared.below is None else hair(declared.below, -1)) if v is not None)
    return low, high


def hair(bound: float, side: int) -> float:
    return bound + side * (1e-9 * abs(bound) or 1e-12)


def check_output(schedule: Any, name: str) -> None:
    """Refuse a signal that the twin will not have."""
    match = REFERENCE.match(name)
    path, _, port = (match["path"] if match else "").rpartition(".")
    whole = match["path"] if match else ""
    known = [f"{u.path}.{p}" for u in schedule.units for p in u.kind.of(Outport)]
    single = whole in schedule.by_path and len(schedule.by_path[whole].kind.of(Outport)) == 1
    if not single and not (path in schedule.by_path and port in schedule.by_path[path].kind.of(Outport)):
        raise DiagramError(
            f"output: '{name}' is no signal of a running block."
            + (did_you_mean(name, known) or f" There are: {listing(known[:20])}.")
        )


def drawn(one: Sought, random: np.random.Generator) -> float:
    """A start at random: between finite bounds, evenly or, over decades, evenly in the logarithm; else up to 3 times off."""
    if math.isfinite(one.low) and math.isfinite(one.high):
        if one.low > 0 and one.high > 10 * one.low:
            return float(math.exp(random.uniform(math.log(one.low), math.log(one.high))))
        return float(random.uniform(one.low, one.high))
    value = one.start * 3 ** random.uniform(-1, 1) if one.start else random.uniform(-1, 1)
    return float(min(max(value, one.low), one.high))


# ---- the search ----------------------------------------------------------------------------------------------------------


@dataclass
class Task:
    """What is compared with what, and how many simulations that took."""

    twin: Twin
    sought: list[Sought]
    outputs: list[str]
    measured: list[np.ndarray]
    first: int
    weights: list[float] = field(default_factory=list)
    simulations: int = 0
    failures: int = 0
    central: bool = False  # whether the search itself takes differences to both sides
    runs: dict[bytes, list[np.ndarray]] = field(default_factory=dict)  # the last ones, by parameters
    near: tuple[np.ndarray, np.ndarray] | None = None  # the last sensitivities, without weights, and where they were taken

    def params(self, theta: np.ndarray) -> dict[str, float]:
        return {s.path: float(v) for s, v in zip(self.sought, theta, strict=True)}

    def signals(self, theta: np.ndarray) -> list[np.ndarray]:
        """The signals of the twin; what was just simulated is not simulated again."""
        key = theta.tobytes()
        if key not in self.runs:
            self.simulations += 1
            found = self.compared(self.twin.run(self.params(theta)))
            self.runs = {**dict(list(self.runs.items())[1 - KEPT :]), key: found}
        return self.runs[key]

    def compared(self, found: Mapping[str, np.ndarray]) -> list[np.ndarray]:
        return [found[name].reshape(len(m), -1) for name, m in zip(self.outputs, self.measured, strict=True)]

    def joined(self, signals: Sequence[np.ndarray]) -> np.ndarray:
        """What is compared, one signal after another; a size that does not fit was wired wrong."""
        for name, m, s in zip(self.outputs, self.measured, signals, strict=True):
            if s.shape != m.shape:
                raise RecordError(f"output: {name} has {s.shape[1]} elements, what is measured has {m.shape[1]}.")
        return np.concatenate([s[self.first :].ravel() for s in signals])

    @property
    def row_weights(self) -> np.ndarray:
        return np.repeat(self.weights, [m[self.first :].size for m in self.measured])

    def weighted(self, signals: Sequence[np.ndarray]) -> np.ndarray:
        return self.joined(signals) * self.row_weights

    def residuals(self, theta: np.ndarray) -> np.ndarray:
        """Model less measurement; where the twin fails, so large that any step there is taken back."""
        target = self.weighted(self.measured)
        try:
            rest = self.weighted(self.signals(theta)) - target
        except SimulationError:
            rest = np.full(len(target), math.nan)
        if np.isfinite(rest).all():
            return rest
        self.failures += 1
        return np.full(len(target), 1e6 * (float(np.abs(target).max()) or 1.0))

    def slopes(self, theta: np.ndarray) -> np.ndarray:
        """Sensitivities for the search: to one side, from the run that is there, and those of before after a small step."""
        if self.near is None or np.any(np.abs(theta - self.near[0]) > NEAR * self.sizes(theta)):
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
        R = upper(np.c_[self.residuals(theta), self.slopes(theta)])
        R[0] *= math.copysign(1.0, R[0, 0])
        return R[:, 1:]

    def sensitivities(self, theta: np.ndarray) -> np.ndarray:
        """d y_s / d theta by central differences."""
        return self.differences(theta, True) * self.row_weights[:, None]

    def sizes(self, theta: np.ndarray) -> np.ndarray:
        return np.maximum(np.abs(theta), [1e-3 * s.scale for s in self.sought])

    def differences(self, theta: np.ndarray, central: bool) -> np.ndarray:
        """d y_s / d theta without weights, all simulations in one batch; to one side where a bound is near."""
        low, high = (np.array([getattr(s, side) for s in self.sought]) for side in ("low", "high"))
        h = DIFFERENCE * self.sizes(theta)
        ends = [np.minimum(theta + h, high), np.maximum(theta - h, low)]
        if not central:
            up = high - theta >= h
            ends = [np.where(up, ends[0], theta), np.where(up, theta, ends[1])]
        moved = [(i, end[i]) for i in range(len(theta)) for end in ends if end[i] != theta[i]]
        table = [np.where(np.arange(len(theta)) == i, value, theta) for i, value in moved]
        self.simulations += len(table)
        found = dict(zip(moved, self.twin.run_many([self.params(row) for row in table]), strict=True))
        columns = []
        for i, here in enumerate(theta):
            pair = [self.signals(theta) if end[i] == here else found[i, end[i]] for end in ends]
            made = [
                self.joined(p if isinstance(p, list) else self.compared(p)) for p in pair if not isinstance(p, SimulationError)
            ]
            if len(made) < len(pair):
                self.failures += 1
                columns.append(np.zeros(len(self.joined(self.measured))))
                continue
            columns.append((made[0] - made[1]) / (ends[0][i] - ends[1][i]))
        return np.stack(columns, axis=1)


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


def ascertained(task: Task, found: Search, tol: float, limit: int) -> Search:
    """The end of a search with central differences, which say whether it is one: if not, it goes on with them."""
    for task.central in (False, True):
        found.J = task.sensitivities(found.theta)
        linear = fit(seen(found.J), -task.residuals(found.theta))
        inner = [s.low < v < s.high for s, v in zip(task.sought, found.theta, strict=True)]
        std = np.where(linear.determined, linear.std, math.inf)
        if np.all(np.abs(linear.values) <= NOTHING * std + max(tol, 1e-7) * task.sizes(found.theta), where=inner):
            break
        task.near = found.theta, found.J / task.row_weights[:, None]
        again = descend(task, found.theta, tol, limit)
        if task.central or not again.ok or np.array_equal(again.theta, found.theta):
            break
        again.costs, again.iterations, found = found.costs, again.iterations + found.iterations, again
    return found


def descend(task: Task, first: np.ndarray, tol: float, limit: int) -> Search:
    """Least squares from one start."""
    from scipy.optimize import least_squares

    failures = task.failures
    task.residuals(first)
    if task.failures > failures:
        return Search(first, math.inf, "diverged: the twin cannot be simulated at the start", False)
    low, high = (np.array([getattr(s, side) for s in task.sought]) for side in ("low", "high"))
    first = inside(first, low, high)
    scale = np.array([s.scale for s in task.sought])
    found = least_squares(
        task.cost_vector,
        first,
        task.cost_slopes,
        bounds=(low, high),
        x_scale=scale,
        xtol=tol,
        ftol=tol,
        gtol=None,
        max_nfev=limit,
    )
    words = {0: f"stopped after {limit} iterations without an end", 2: "converged: the cost no longer falls"}
    words |= {3: "converged: the parameters no longer change", 4: "converged: neither cost nor parameters change"}
    return Search(found.x, float(found.cost), words.get(found.status, found.message), True, int(found.njev))


def inside(first: np.ndarray, low: np.ndarray, high: np.ndarray) -> np.ndarray:
    """The start, a little within its bounds."""
    room = np.where(np.isfinite(high - low), high - low, np.maximum(np.abs(first), 1.0))
    return np.minimum(np.maximum(first, low + 1e-8 * room), high - 1e-8 * room)


# ---- the report ----------------------------------------------------------------------------------------------------------


def report(method: str, task: Task, found: Search) -> Estimates:
    """Values with the covariance s^2 (J'J)^-1; a search that failed found no numbers."""
    names = [s.path for s in task.sought]
    told = [] if found.reason.startswith("converged") else [found.reason]
    details: dict[str, Any] = {"iterations": found.iterations, "costs": found.costs}
    if not found.ok:
        items = tuple(Estimate(s.path, math.nan, math.nan, s.truth, s.unit) for s in task.sought)
        details |= {"simulations": task.simulations, "failures": task.failures, "converged": False}
        return Estimates(method, items, None, warnings=tuple(told), reason=found.reason, details=details)
    rest = -task.residuals(found.theta)
    linear = fit(seen(found.J), rest)
    told += [f"not identifiable: {words}" for words in null_words(linear, names)]
    told += bound_remarks(task, found.theta) + colour_remarks(task, rest) + valley_remarks(found)
    if task.failures:
        told.append(f"{task.failures} simulations failed on the way")
    details |= {
        "simulations": task.simulations,
        "failures": task.failures,
        "converged": found.reason.startswith("converged"),
        "rank": linear.rank,
        "condition": linear.condition,
        "weights": list(task.weights),
        "rows": len(rest),
        "sigma": [float(np.sqrt(np.mean(part**2))) / w for part, w in zip(parts_of(task, rest), task.weights, strict=True)],
    }
    std = linear.std
    items = tuple(
        Estimate(s.path, float(v), float(d), s.truth, s.unit) for s, v, d in zip(task.sought, found.theta, std, strict=True)
    )
    reason = f"{found.reason} ({task.simulations} simulations)"
    return Estimates(method, items, linear.covariance, warnings=tuple(told), reason=reason, details=details)


def seen(J: np.ndarray) -> np.ndarray:
    """The sensitivities without directions that are nothing but rounding, so that these count as not seen."""
    unit, lengths = unit_columns(J)
    s, vt = np.linalg.svd(upper(unit))[1:]
    kept = vt[s >= BLIND * s.max(initial=0.0)]
    return J if len(kept) == len(vt) else np.einsum("ij,jk->ik", unit, kept.T @ kept) * lengths


def parts_of(task: Task, rest: np.ndarray) -> list[np.ndarray]:
    """Residuals of each output."""
    ends = np.cumsum([m[task.first :].size for m in task.measured])[:-1]
    return np.split(rest, ends)


def bound_remarks(task: Task, theta: np.ndarray) -> list[str]:
    told = []
    for one, value in zip(task.sought, theta, strict=True):
        for word, bound in (("min", one.low), ("max", one.high)):
            if math.isfinite(bound) and abs(value - bound) <= 1e-6 * one.scale:
                told.append(f"{one.path} ended at its {word}, {bound:g}: its standard deviation does not hold there")
    return told


def colour_remarks(task: Task, rest: np.ndarray) -> list[str]:
    told = []
    for name, part, whole in zip(task.outputs, parts_of(task, rest), parts_of(task, task.weighted(task.measured)), strict=True):
        if len(part) > 5 * LAGS and np.std(part) > ROUNDING * np.std(whole) and ljung_box(part, LAGS)[1] < UNLIKELY:
            c = autocovariance(part, 1)
            told.append(
                f"residuals of {name} are coloured (correlation {c[1] / c[0]:.2f} from sample to sample): the standard "
                "deviations take them for white"
            )
    return told


def valley_remarks(found: Search) -> list[str]:
    """Said where starts ended in different places."""
    ended = [c for c in found.costs if math.isfinite(c)]
    worse = [c for c in ended if c > 1.01 * min(ended) + 1e-300]
    lost = len(found.costs) - len(ended)
    told = [f"{len(worse)} of {len(found.costs)} starts ended in a worse minimum"] if worse else []
    return told + ([f"{lost} of {len(found.costs)} starts could not be simulated"] if lost else [])
