"""What the identifiers share that simulate the loop again at every estimate: ports, starting values, which rows count."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from blocksim.contract.block import RecordBlock, inport, model, outport, param, static
from blocksim.contract.declarations import Outport, State
from blocksim.contract.plant import Plant
from blocksim.errors import DiagramError, RecordError, did_you_mean, listing
from blocksim.estimation.estimates import Estimates
from blocksim.estimation.input_warnings import first_state_words, true_states
from blocksim.estimation.process import Run
from blocksim.estimation.twin import twin_of

from ..physical import with_physical
from .bias import with_draws
from .ends import Ends, ends_of, skip_problem, slow_rows
from .iteration import Looped, LoopEquations, Path, diverged, iterate, starting_values
from .known_effort import told_of_known_effort
from .parts import fitted_parts, with_parts
from .regression import all_present
from .spectrum import ERROR_KINDS, Spread
from .stacked_rows import stacked, weighted_fit

#: Influence of the rows, columns of the fit, residuals, which rows are used, and the group of each.
System = tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray, np.ndarray]
OPENING = 20  # samples from which position and speed at the start are taken


class Resimulation(RecordBlock):
    """tau = W beta, W or its instruments from the twin: the run simulated again with ideal sensors and the current beta."""

    abstract = True
    repeats_loop = True
    family = "identification"

    model: str = model("the plant that is identified, a block of the diagram")
    starts_from, start_words = ("start",), ("truth", "ls")
    start: Any = static(
        0.7, "starting values: a factor of those in the diagram (not 1), values by name, the block that found them, 'ls' for "
        "least squares of the measured motion, 'truth'", kind=(int, float, dict, str),
    )  # fmt: skip
    cutoff: float = param(0.0, "zero-phase Butterworth filter of order 4 on both sides of the equation; 0: none", "Hz", min=0)
    decimate: int = static(1, "one row in how many is kept, on both sides, by the rule of Decimate", kind=int)
    skip: float = param(0.0, "time left out at either end, or [at the start, at the end]", "s", min=0, shape=(None,))
    edges: int | None = static(None, "rows left out at either end of the record; 5 of a decimation, unless said", kind=int)
    rest: str = static(
        "drop", "rows of a joint that rests in the twin; keep them where it never sticks", choices=("drop", "keep")
    )
    drop_slow: float = param(0.0, "rows slower than this share of a joint's top speed in the twin do not count", min=0, below=1)
    initial: str = static(
        "auto", "where the twin starts: at the plant's settings, or at the first samples of q; auto: at those where q is "
        "connected and the plant begins elsewhere than its type", choices=("auto", "diagram", "record"),
    )  # fmt: skip
    errors: str = static("coloured", "what the standard deviations take the residuals for", choices=ERROR_KINDS)
    parts: int = static(6, "errors: blocks: parts of the record that are fitted by themselves", kind=int)
    draws: int = static(24, "draws of the noise with which the experiment is simulated again, where that is asked", kind=int)
    smoothing: float = param(0.0, "lines of the spectrum, next to zero, that are smoothed together; 0: 32", min=0)
    tol: float = param(1e-5, "change of every parameter, relative to its size, at which the iteration ends; so does one of a "
                       "hundredth of its standard deviation", above=0)  # fmt: skip
    max_iterations: int = static(50, "the iteration is given up after so many", kind=int)
    predicted = outport("torque or force of the model at the estimate", size="n")
    residual = outport("measured less predicted, neither filtered nor decimated", size="n")

    #: What estimates are called.
    method = ""
    #: Whether the measured motion must be connected.
    motion_needed = False

    def process(self, t, model: Plant, run: Run, **signals: Any):
        effort = model.effort(signals[model.drive])
        looped = self.twin(t, model, run, signals)
        ends = ends_of(t, self.skip, self.decimate, self.settings["edges"], self.cutoff)
        equations = self.equations(ends, signals, effort, looped)
        path = iterate(looped, self.starting(ends, model, signals, effort), equations, self.tol, self.max_iterations)
        if path.failed:
            predicted, estimates = 0 * effort, diverged(self.method, path, looped)
        else:
            predicted = effort_of(equations.columns, path.beta)
            estimates = self.report(path, looped, equations)
            left = estimates.details["relative_error"]
            estimates = told_of_known_effort(estimates, run, model.drive, self.settings["model"], left)
        if self.errors == "drawn" and not path.failed:
            start = dict(zip(estimates, estimates.vector().tolist(), strict=True))
            paths = {n: f"{self.settings['model']}.{n}" for n in estimates}
            estimates = with_draws(estimates, run, paths, self.draws, {"start": start})
        shape = np.shape(signals[model.drive])
        return predicted.reshape(shape), (effort - predicted).reshape(shape), estimates

    @abstractmethod
    def equations(self, ends: Ends, signals: Mapping[str, np.ndarray], effort: np.ndarray, looped: Looped) -> LoopEquations:
        """What is made and solved of every motion."""

    @abstractmethod
    def report(self, path: Path, looped: Looped, equations: Any) -> Estimates:
        """What is told of where it ended."""

    def told(
        self, path: Path, looped: Looped, system: System, spread: Spread, covariance: np.ndarray, notes: list[str],
        colours: str, details: dict[str, Any],
    ) -> Estimates:  # fmt: skip
        """What a report ends with: `system` is what its standard deviations were made of, `colours` what its residuals have."""
        counted = self.errors != "white"
        words = [f"{colours}: the standard deviations {'count that' if counted else 'take them for white'}."] if colours else []
        details |= {"freedom": spread.freedom, "smoothing_lines": spread.lines}
        quantile = {} if self.errors == "white" else {"quantile": spread.quantile}
        result = Estimates.of(
            self.method, looped.plant.parameters, path.beta, covariance, looped.plant, details=details,
            warnings=(*notes, *(() if counted else words)), remarks=tuple(words) if counted else (),
            reason=f"{path.reason}; error of the effort {details['relative_error']:.3g} %",
            priors=starting_values(path, looped), **quantile,
        )  # fmt: skip
        result = with_physical(result, looped.plant)
        return with_parts(result, fitted_parts(*system, self.parts, self.smoothing)) if self.errors == "blocks" else result

    def decided(self, plants: Mapping[str, Plant]) -> Mapping[str, Any]:
        if "model" not in plants:
            return {}
        plant = plants["model"]
        if not plant.path:
            raise DiagramError(
                f"model: {self.settings['model']} is a type. The loop is simulated again, so name the block of the diagram that "
                "is driven in it."
            )
        plant.row_function()
        missing = [s for s in plant.motion if s not in plant.kind.of(Outport)]
        if missing:
            raise DiagramError(
                f"model: {plant.name} has no output {listing(missing)}, which its regressor asks for. Identify it by CLOE, "
                "OutputError or RPEMHybrid, which need no regressor."
            )
        unit = plant.effort_unit
        ports: dict[str, Any] = {plant.drive: inport(f"measured {plant.drive} of the plant", size="any")}
        needed = self.motion_needed
        ports |= {s: inport(f"measured {s} of the plant", size="any", optional=not needed) for s in plant.motion}
        efforts = {n: replace(type(self).of(Outport)[n], unit=unit, size=plant.drive) for n in ("predicted", "residual")}
        return {**ports, **efforts}

    def port_units(self, plants: Mapping[str, Plant]) -> Mapping[str, str]:
        plant = plants["model"]
        return {port: plant.unit_of(port) for port in (plant.drive, *plant.motion)}

    def fits(self, path: str, schedule: Any) -> None:
        unit = schedule.unit(path)
        plant = unit.plants["model"]
        text = start_problem(self.settings["start"], plant)
        if text:
            raise DiagramError(f"start: {text}")
        needs = {"start: ls": plant.motion if self.settings["start"] == "ls" else ()}
        needs["initial: record"] = ("q",) if self.settings["initial"] == "record" else ()
        for why, ports in needs.items():
            missing = [p for p in ports if not unit.inputs.get(p)]
            if missing:
                raise DiagramError(f"{why} needs the measured {listing(missing)}, which nothing is connected to.")

    @staticmethod
    def check(decimate, edges, skip, max_iterations, parts, draws):
        if draws < 2:
            return f"draws: a whole number of at least 2 is wanted, found {draws}."
        if parts < 2:
            return f"parts: a whole number of at least 2 is wanted, found {parts}."
        if text := skip_problem(skip, edges, decimate):
            return text
        return None if max_iterations >= 1 else f"max_iterations: a whole number of at least 1 is wanted, found {max_iterations}."

    # ---- rows ------------------------------------------------------------------------------------------------------

    def used_times(self, t: np.ndarray) -> np.ndarray:
        return t[ends_of(t, self.skip, self.decimate, self.settings["edges"], self.cutoff).picked]

    def rows(self, ends: Ends, values: np.ndarray) -> np.ndarray:
        """What the filters leave of the rows of one side of the equation; all sides must pass them alike."""
        return ends.rows(values, self.cutoff)

    def counted(self, ends: Ends, motion: Mapping[str, np.ndarray], joints: int, plant: Plant) -> np.ndarray:
        """Which rows count, (rows, joints): while a joint sticks its friction is whatever holds it, and its row is not valid."""
        picked, samples = ends.picked, len(ends.t)
        qd = motion["qd"].reshape(samples, -1) if "qd" in motion else np.ones((samples, joints))
        if qd.shape[1] != joints:
            return np.ones((len(picked), joints), dtype=bool)
        still = qd == 0 if self.rest == "drop" else np.zeros(qd.shape, dtype=bool)
        if self.drop_slow:
            still |= slow_rows(self.drop_slow, None, qd, plant)
        reach = self.decimate // 2
        if not still.any():
            return np.ones((len(picked), joints), dtype=bool)
        if not reach:
            return ~ends.taken(still)
        moving = np.empty((len(picked), joints), dtype=bool)
        for joint in range(joints):  # a row made of several samples counts where none of them is at rest
            rests = np.flatnonzero(still[:, joint])
            moving[:, joint] = np.searchsorted(rests, picked - reach) == np.searchsorted(rests, picked + reach, "right")
        return moving

    # ---- the twin --------------------------------------------------------------------------------------------------

    def twin(self, t: np.ndarray, plant: Plant, run: Run, signals: Mapping[str, np.ndarray]) -> Looped:
        """The twin of the run, which gives the motion of the plant for parameters of the plant."""
        all_present(signals)
        path = run.path.rpartition(".")[0]
        path = f"{path}.{self.settings['model']}" if path else self.settings["model"]
        states = true_states(plant) if plant.path and self.initial == "auto" else []
        recorded = self.initial == "record" or (states and "q" in signals and "q" in plant.kind.of(State))
        begin = first_motion(t, plant, path, signals["q"]) if recorded else {}
        looped = Looped(twin_of(run, t, [f"{path}.{s}" for s in plant.motion], start=begin), plant, path)
        if states and not recorded:
            looped.told.append(first_state_words(states, "connect q, or say initial: diagram where that is meant"))
        return looped

    def starting(self, ends: Ends, plant: Plant, signals: Mapping[str, np.ndarray], effort: np.ndarray) -> np.ndarray:
        """The first beta."""
        own = plant.values
        start = self.settings["start"]
        if isinstance(start, Mapping):
            values = {n: own[n] if start.get(n) == "truth" else start.get(n) for n in own}
            left = [n for n, v in values.items() if v is None]
            if left and plant.path:
                raise RecordError(f"start: nothing is said of {listing(left)}, {AT_TRUTH}")
            return np.array([own[n] if v is None else float(v) for n, v in values.items()])
        if start == 1 and plant.path:
            raise RecordError(f"start: 1 times the plant's own values, {AT_TRUTH}")
        if start != "ls":
            return np.array(list(own.values())) * (1.0 if start == "truth" else float(start))
        motion = {s: signals[s] for s in plant.motion}
        count = self.counted(ends, motion, effort.shape[1], plant)
        rows = stacked(self.rows(ends, plant.regressor(motion)), self.rows(ends, effort), count)
        return weighted_fit(rows).values


#: What is said of a start at the plant's own values.
AT_TRUTH = (
    "and a start at the plant's own values, which in a simulation is the truth, proves nothing. Give values, a factor other than "
    "1, the name of a block that found them; or say truth where that is meant."
)


def start_problem(start: Any, plant: Plant) -> str:
    """What is wrong with starting values, in words."""
    if isinstance(start, str):
        return ""  # a word of its own, or a block that is looked for elsewhere
    if isinstance(start, Mapping):
        for name, value in start.items():
            if name not in plant.parameters:
                return f"{plant.name} has no parameter '{name}' in its inverse model; it has: {listing(plant.parameters)}." + (
                    did_you_mean(name, plant.parameters)
                )
            wrong = [] if isinstance(value, str) else plant.declared(name).problems(value)
            if wrong:
                return f"{name}: {wrong[0]}"
        return ""
    return "" if start > 0 else f"a factor above 0 is wanted, found {start}."


def first_motion(t: np.ndarray, plant: Plant, path: str, q: np.ndarray) -> dict[str, Any]:
    """Position and speed at the start: a parabola through the first samples of q."""
    count = min(OPENING, len(t))
    if "q" not in plant.kind.of(State):
        raise RecordError(f"initial: record needs a plant whose state is q; {plant.name} has {listing(plant.kind.of(State))}.")
    coefficients = np.polynomial.polynomial.polyfit(t[:count] - t[0], q[:count].reshape(count, -1), 2)
    states = {"q": coefficients[0], "qd": coefficients[1]}
    return {f"{path}.{n}": v.tolist() if len(v) > 1 else float(v[0]) for n, v in states.items() if n in plant.kind.of(State)}


def effort_of(columns: np.ndarray, beta: np.ndarray) -> np.ndarray:
    """What the rows of an inverse model give, (samples, joints)."""
    return np.einsum("kij,j->ki", columns, beta)
