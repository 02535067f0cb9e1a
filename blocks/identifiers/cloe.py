"""Closed-loop output error: parameters for which a simulation of the loop repeats what was measured."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from blocksim.contract.block import RecordBlock, inport, outport, param, static
from blocksim.contract.declarations import Outport
from blocksim.contract.plant import Plant
from blocksim.diagram.diagram import REFERENCE
from blocksim.errors import DiagramError, RecordError, did_you_mean, listing
from blocksim.estimation.estimates import Estimates
from blocksim.estimation.input_warnings import first_state_words, true_states
from blocksim.estimation.process import Run
from blocksim.estimation.several.first_state import first_states
from blocksim.estimation.twin import twin_of
from blocksim.estimation.twin_diagram import Played
from blocksim.schedule.logs import subsystem_output
from blocksim.simulation.experiment import Experiment
from blocksim.simulation.overrides import Overrides

from .output.free_parameters import assigned, first_state_parameters, free_parameters, shared_and_own
from .output.report import report
from .output.search import Task
from .output.starts import whole_search
from .output.trial import RecordTrial, curves_of, played_readings
from .regression.bias import with_draws
from .regression.ends import Ends, ends_of, skip_problem, skip_text
from .regression.known_effort import told_of_known_effort
from .regression.regression import all_present
from .regression.spectrum import ERROR_KINDS

__all__ = ["CLOE"]


class CLOE(RecordBlock):
    """min sum |y - y_s(theta)|^2: the whole loop is simulated again until it repeats y (closed-loop output error).

    `parameters` are any numbers of any block, plant, controller or initial state: a list of paths, or for each path its start,
    min and max. What is not given comes from the diagram: the start is `start` times the value there, the bounds are those the
    block declares. For a number may stand the name of a block that found it, `start: ls`, {joint.J: ls}; or `truth`. The twin
    begins where the diagram does; a first state that somebody set is a parameter like others, or said to be known by `initial:
    diagram`. With `initial: record` it begins at the position and speed that y shows first, with `initial: estimated` these are
    sought too. `output` names what is compared with y: of the twin, so the plant's output or its ideal sensor's. Several
    pairs may be fitted together; `weights` are then one over the standard deviations of their noise, and where none are given
    the fit is repeated with those of its residuals until they stay.

    Several records (`blocksim identify -r a.csv -r b.csv`) are fitted together: each has a twin, a noise and, with `initial`,
    first states of its own, and its own value of the parameters that `own` names (an offset, say), told as `joint.q@2`.

    The twin repeats the run: reference, controller, observers; noise is silent. For a measured record, sources of the diagram
    that it holds are played from it. Least squares by scipy's trust region within the bounds; sensitivities by differences, all
    in one batch on all cores: to one side on the way, and none for a step below a thousandth; to both at the end, which also
    tells whether it is one. Steps are measured by the sensitivities, not by the starting values, and a search that is stuck or
    leaves more than half of y unexplained is tried from other starts. `details` count the simulations.

    `skip` cuts off both ends; `cutoff` and `decimate` filter y and y_s alike. That weighs the noise by frequency: where it is
    fast and the motion slow, as in a loop, less of it is left. `errors: blocks` fits parts of the record, too, each to first
    order, and adds what they disagree by; `errors: drawn` simulates and fits the experiment again, with other draws of its noise.

    `readings` are signals that the twin takes from the record. With those of the sensor, `readings: [encoder]`, the controller of
    the twin gets what the real one got, noise included, and the loop is open: what is left of y is the sensor's noise before the
    loop has coloured it, white where that is. It is how a closed loop is weighted along its motion, and attains the bound; the
    plant must not drift, and a start has to be near, such as what a CLOE without them found.

    With white noise on y the estimate is that of maximum likelihood, and the covariance, s^2 (J'J)^-1, attains the Cramér-Rao
    bound (`errors: white`). Noise that enters the loop through the sensor is not in the twin: it is noise of y, coloured by the
    loop. So the covariance comes from the spectrum of the scores, sensitivity times residual, near zero: whatever the colour, and
    steady or not, with the degrees of freedom that leaves (`errors: coloured`). Feedback hides parameters: where the controller
    holds y fixed whatever they are, fit the control signal too.
    """

    family = "identification"
    icon = (
        "0,0.5 0.0833,0.7 0.167,0.846 0.25,0.9 0.333,0.846 0.417,0.7 0.5,0.5 0.583,0.3 0.667,0.154 0.75,0.1 0.833,0.154 "
        "0.917,0.3 1,0.5; 0,0.218 0.0833,0.462 0.167,0.716 0.25,0.913 0.333,0.999 0.417,0.951 0.5,0.782 0.583,0.538 "
        "0.667,0.284 0.75,0.0873 0.833,0.00146 0.917,0.0492 1,0.218"
    )
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
    repeats_loop = True
    starts_from = ("parameters", "start")

    parameters: Any = static(
        None, "paths of numbers of the diagram, or {path: {start, min, max}}", kind=(list, dict), required=True
    )
    output: Any = static(None, "the signal of the twin that is compared with y, or one for each", kind=(str, list), required=True)
    weights: Any = static(None, "what the residuals of each y are multiplied by; else estimated element by element", kind=list)
    start: Any = static(
        0.7, "starting values where none are given: a share of the diagram's (not 1), the block that found them, or 'truth'",
        kind=(int, float, str, dict),
    )  # fmt: skip
    initial: str = static(
        "auto",
        "where plants begin. diagram: as there, which is known; record: at the first position and speed that y shows; estimated: "
        "sought from there on",
        choices=("auto", "diagram", "record", "estimated"),
    )
    own: Any = static(None, "those of the parameters of which each of several records has its own", kind=list)
    starts: int = static(1, "how many starts are tried; all but the first are drawn at random between the bounds", kind=int)
    seed: int = static(0, "of the random starts", kind=int)
    readings: Any = static(None, "signals that the twin takes from the record: those of a sensor open the loop", kind=list)
    cutoff: float = param(0.0, "zero-phase Butterworth filter of order 4 on what is compared; 0: none", "Hz", min=0)
    decimate: int = static(1, "one row in how many is compared, by the rule of Decimate", kind=int)
    skip: float = param(0.0, "time left out at either end, or [at the start, at the end]", "s", min=0, shape=(None,))
    edges: int | None = static(None, "rows left out at either end of the record; 5 of a decimation, unless said", kind=int)
    errors: str = static("coloured", "what the standard deviations take the residuals for", choices=ERROR_KINDS)
    parts: int = static(6, "errors: blocks: parts of the record that are fitted by themselves", kind=int)
    draws: int = static(24, "errors: drawn: draws of the noise with which the experiment is simulated again", kind=int)
    smoothing: float = param(0.0, "lines of the spectrum, next to zero, that are smoothed together; 0: 32", min=0)
    tol: float = param(1e-9, "relative change of cost or parameters at which the search ends", above=0)
    max_iterations: int = static(100, "a search is given up after so many", kind=int)
    y = inport("measured signals", size="any", many=True, like="output")
    predicted = outport("the same signals by the twin at the estimate", size="n", like="y")
    residual = outport("measured less predicted", size="n", like="y")

    def process(self, t, run: Run, y):
        return self.process_together([{"t": t, "run": run, "y": y}])[0]

    def process_together(self, records: Sequence[Mapping[str, Any]]) -> list[tuple[Any, ...]]:
        """One fit of all records: parameters shared, first states, noise and what is `own` each record's."""
        return self.identify([(r["t"], r["run"], r["y"], []) for r in records])

    def ends(self, t: np.ndarray) -> Ends:
        return ends_of(t, self.skip, self.decimate, self.settings["edges"], self.cutoff)

    def used_times(self, t: np.ndarray) -> np.ndarray:
        return t[self.ends(t).picked]

    def identify(self, records: Sequence[tuple[np.ndarray, Run, Sequence[np.ndarray], list[Played]]]) -> list[tuple[Any, ...]]:
        task = self.task([self.trial(*record) for record in records], records[0][1])
        search = whole_search(self, task)
        result = report(self.method, task, search, self.errors, self.smoothing, self.parts)
        if self.errors == "drawn" and search.ok:
            result = with_draws(result, records[0][1], *self.redrawn(task, result))
        result = result.warned(*self.true_start(task, records[0][1]))
        if self.repeats_loop and search.ok and not self.settings["readings"] and len(task.outputs) == len(records) == 1:
            left = next(iter(result.details["relative_error"].values()))
            result = told_of_known_effort(result, records[0][1], "y", result.model, left)
        outputs = task.by_trial(task.signals(search.theta) if search.ok else [0 * m for m in task.measured])
        return [(*curves_of(trial.measured, own), result) for trial, own in zip(task.trials, outputs, strict=True)]

    def trial(self, t: np.ndarray, run: Run, y: Sequence[np.ndarray], played: list[Played]) -> RecordTrial:
        """One record made ready: its twin, where it begins, and what is compared."""
        outputs = self.names(run.path)
        all_present(
            {**{f"y[{k}]" if len(y) > 1 else "y": v for k, v in enumerate(y)}, **({"u": played[0].values} if played else {})}
        )
        played = [*played, *played_readings(run, t, self.settings["readings"] or ())]
        twin = twin_of(run, t, outputs, played)
        shaping = self.shaping_starts(run, twin.experiment)
        if shaping:  # a gap of 0 is not in the diagram's program, and is sought in one that has it
            twin = twin_of(run, t, outputs, played, shaping)
        measured = [np.asarray(values, dtype=float).reshape(len(t), -1) for values in y]
        ends = self.ends(t)
        start: dict[str, Any] = {}
        if self.initial in ("record", "estimated"):
            readings = {name: (t, values) for name, values in zip(outputs, measured, strict=True)}
            start = first_states(twin.experiment.schedule, readings)
            if not start:
                raise RecordError(
                    f"initial: {self.initial} takes the first state from a position that was measured, and none of "
                    f"{listing(outputs)} is one. Compare a position too, or name the states under `parameters`."
                )
        return RecordTrial(twin, outputs, measured, ends, self.cutoff, start)

    def task(self, trials: list[RecordTrial], run: Run) -> Task:
        """What is sought in all records together."""
        if len(trials) > 1 and self.errors in ("blocks", "drawn"):
            raise RecordError(
                f"errors: {self.errors} cuts or draws one record, and there are {len(trials)}. Say coloured or white; whether "
                "records agree is seen by fitting each by itself."
            )
        schedule = trials[0].twin.experiment.schedule
        free = shared_and_own(free_parameters(self, run.path, schedule, run), self.own_paths(run.path), len(trials))
        if self.initial == "estimated":
            free += first_state_parameters([trial.start for trial in trials], schedule)
            for trial in trials:
                trial.start = {}
        rows = sum(trial.count * len(trial.measured) for trial in trials)
        if rows <= len(free):
            span = sum(float(np.ptp(trial.ends.t)) for trial in trials)
            raise RecordError(
                f"{rows} samples are too few for {len(free)} parameters: skip: {skip_text(self.skip)} s of {span:g} s."
            )
        return Task(trials, free)

    def shaping_starts(self, run: Run, experiment: Experiment) -> dict[str, Any]:
        """Those first values of parameters that need another program than the diagram's own values do."""
        free = free_parameters(self, run.path, experiment.schedule, run)
        starts = Overrides(assigned([(one, one.start) for one in free]))
        return dict(starts.only(starts.shaping(experiment.schedule, experiment)).changes)

    def own_paths(self, path: str) -> list[str]:
        """The parameters of which each record has its own, by their whole path."""
        scope = path.rpartition(".")[0]
        return [f"{scope}.{name}" if scope else name for name in self.settings["own"] or ()]

    def redrawn(self, task: Task, result: Estimates) -> tuple[dict[str, str], int, dict[str, Any]]:
        """Where the estimates stand in the diagram, how many draws, and the settings of the searches: from the estimate."""
        paths = dict(zip(result, (one.path for one in task.free), strict=True))
        free = {
            one.path: {"start": float(value), "min": one.low, "max": one.high}
            for one, value in zip(task.free, result.vector(), strict=True)
        }
        finite = {path: {k: v for k, v in own.items() if math.isfinite(v)} for path, own in free.items()}
        return paths, self.draws, {"parameters": finite, "starts": 1}

    def true_start(self, task: Task, run: Run) -> list[str]:
        """Said where the twin begins in a true first state that is neither sought nor said to be known."""
        sought = [one.path for one in task.free]
        blocks = {path.rpartition(".")[0] for path in sought}
        plants = [Plant(u.kind, u.settings, u.path) for u in task.trials[0].twin.experiment.schedule.units if u.path in blocks]
        states = [s for p in plants for s in true_states(p) if s.partition(" = ")[0] not in sought]
        if not states or not run.simulated or self.initial != "auto":
            return []
        return [first_state_words(states, "make it a parameter, or say initial: diagram where that is meant")]

    def names(self, path: str) -> list[str]:
        """The compared signals by their whole path."""
        scope = path.rpartition(".")[0]
        entry = self.settings["output"]
        return [f"{scope}.{n}" if scope else n for n in ([entry] if isinstance(entry, str) else entry)]

    def fits(self, path: str, schedule: Any) -> None:
        unit = schedule.unit(path)
        paths = [one.path for one in free_parameters(self, path, schedule, None)]
        if strangers := [name for name in self.own_paths(path) if name not in paths]:
            raise DiagramError(f"own: {listing(strangers)} is not among the parameters: {listing(paths)}.")
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
    def check(parameters, output, weights, starts, max_iterations, skip, edges, decimate, parts, draws):
        if text := skip_problem(skip, edges, decimate):
            return text
        if not parameters:
            return "parameters: at least one is wanted."
        if isinstance(output, list) and not (output and all(isinstance(o, str) for o in output)):
            return f"output: names of signals are wanted, found {output}."
        if weights is not None and not all(isinstance(w, (int, float)) and w > 0 for w in weights):
            return f"weights: numbers above 0 are wanted, found {weights}."
        for name, value in (("starts", starts), ("max_iterations", max_iterations)):
            if value < 1:
                return f"{name}: a whole number of at least 1 is wanted, found {value}."
        for name, value in (("parts", parts), ("draws", draws)):
            if value < 2:
                return f"{name}: a whole number of at least 2 is wanted, found {value}."
        return None


def check_output(schedule: Any, name: str) -> None:
    """Refuse a signal that the twin will not have."""
    match = REFERENCE.match(name)
    path, _, port = (match["path"] if match else "").rpartition(".")
    whole = match["path"] if match else ""
    ports = [f"{u.path}.{p}" for u in schedule.units for p in u.kind.of(Outport)]
    single = whole in schedule.by_path and len(schedule.by_path[whole].kind.of(Outport)) == 1
    own = path in schedule.by_path and port in schedule.by_path[path].kind.of(Outport)
    if not single and not own and subsystem_output(schedule, whole) is None:
        raise DiagramError(
            f"output: '{name}' is no signal of a running block."
            + (did_you_mean(name, ports) or f" There are: {listing(ports[:20])}.")
        )
