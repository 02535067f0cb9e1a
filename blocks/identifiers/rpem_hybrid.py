"""Identification by simulating: the hybrid of off-line and on-line estimation of the thesis, algorithm 3.

The recorded input drives the model again and again. Every gradient is one batch of simulations with perturbed parameters, so that
nothing has to be differentiated by hand: backlash, hysteresis and any plant of the library are alike.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from fractions import Fraction
from typing import Any

import numpy as np

from blocksim.contract.block import Block, RecordBlock, inport, model, outport, param, required, static, table
from blocksim.contract.declarations import Outport, Param, Period
from blocksim.contract.plant import Plant
from blocksim.diagram.diagram import Diagram
from blocksim.diagram.spec import LogSpec
from blocksim.errors import DiagramError, RecordError, did_you_mean, listing
from blocksim.estimation.process import Run
from blocksim.estimation.replay import Samples
from blocksim.solvers import find_solver

from ..smoothing.filters import enough, sample_time
from .regression.bias import with_draws
from .regression.ends import skip_problem, skip_text
from .rpem_report import report_of
from .rpem_search import OutputTwin, Rules, SearchProblem, SearchState, searched

__all__ = ["RPEMHybrid"]


class RPEMHybrid(RecordBlock):
    """theta <- theta - D V'(theta), D halved until V = sum (y - y_hat)^2 / N falls: algorithm 3 of the thesis, (3.40)-(3.42).

    V' comes from simulations with each parameter moved up and down by the share `difference`; all of one gradient run at once.
    `method: gradient` is the printed algorithm: D starts at 1, on parameters divided by `scale`, and is halved first until no
    parameter moves by more than half of itself. One step length for all parameters makes it crawl as soon as they are two.
    `method: newton` is (3.37) with the second derivative 2 psi' psi / N of the same simulations in D: it ends in a few steps.

    `start` names the parameters and where they begin: {k1: 2e6, q: 0.5e-3}, or the name of a block that found them before,
    {k1: response}; `truth` stands for the plant's own value. Initial states are parameters like any other. All else is as in the
    block that `model` names, unless `known` says otherwise, in the same way. A parameter whose gradient vanishes at the start
    (alpha where A = 0) stays there, and a warning says so.

    The input is held between samples (`hold: zero`), or was continuous (`cubic`, `linear`). With `horizons` above 1 the record is
    used bit by bit: each horizon adds its samples and starts where the last one ended, which is also the way out of the local
    minima that a long record of a lightly damped plant has. Standard deviations are those of white noise on y, or of the noise as
    the residuals show it (`errors: coloured`): a torque that nobody measured leaves residuals that are anything but white.
    `errors: drawn` simulates and searches the experiment again, with other draws of its noise.

    `details`: simulations, iterations, halvings, history (a row of values per iteration), loss, sigma, residual autocorrelation
    and the probability that they are white.
    """

    family = "identification"
    icon = (
        "0,0.5 0.0833,0.7 0.167,0.846 0.25,0.9 0.333,0.846 0.417,0.7 0.5,0.5 0.583,0.3 0.667,0.154 0.75,0.1 0.833,0.154 "
        "0.917,0.3 1,0.5; 0,0.218 0.0833,0.462 0.167,0.716 0.25,0.913 0.333,0.999 0.417,0.951 0.5,0.782 0.583,0.538 "
        "0.667,0.284 0.75,0.0873 0.833,0.00146 0.917,0.0492 1,0.218"
    )
    example = """
format: 1
simulate: {stop: 4, solver: rk4, step: 2e-3, every: 4e-3, seed: 1}
blocks:
  torque:  {type: Sine, amplitude: 2, frequency: 0.7}
  u:       {type: ZeroOrderHold, Ts: 4e-3, in: torque}
  robot:   {type: TwoMassRobot, in: u}
  noise:   {type: WhiteNoise, Ts: 4e-3, std: 0.1}
  y:       {type: Sum, in: [robot.w_m, noise]}
  hybrid:  {type: RPEMHybrid, model: robot, signal: w_m, start: {Fv: 0.02, Fc: 0.4}, in: [u, y]}
"""

    starts_from = ("start", "known")

    model: str = model("plant to simulate: a block of the diagram, or a type with its defaults")
    signal: str = static(None, "output of the plant that y measures", kind=str, required=True)
    start: Any = static(None, "parameters to find, each with its start or the block that found it", kind=dict, required=True)
    known: Any = static({}, "other parameters, where they are not those of the model's block", kind=dict)
    bounds: Any = static({}, "limits by parameter, [low, high]; those of the plant hold anyway", kind=dict)
    scale: Any = static({}, "size of each parameter; without: its start", kind=dict)
    method: str = static("newton", "what the step follows", choices=("newton", "gradient"))
    hold: str = static("zero", "what u does between samples", choices=("zero", "linear", "cubic"))
    difference: float = param(1e-3, "share of a parameter by which it is moved for a derivative", above=0, below=1)
    tolerance: float = param(1e-9, "share of its scale below which a step is none", above=0)
    iterations: int = static(20, "steps at most, in each horizon", kind=int)
    halvings: int = static(20, "times a step is halved at most", kind=int)
    horizons: int = static(1, "growing parts of the record, one after the other", kind=int)
    skip: float = param(
        0.0, "time at either end, or [at the start, at the end], that does not count in V", "s", min=0, shape=(None,)
    )
    errors: str = static("white", "what the standard deviations take the residuals for", choices=("white", "coloured", "drawn"))
    draws: int = static(24, "errors: drawn: draws of the noise with which the experiment is simulated again", kind=int)
    solver: str = static(None, "of the simulations; without: that of the run", kind=str)
    step: float = param(0.0, "of the solver; 0: that of the run", "s", min=0)
    u = inport("recorded input of the plant", size="any")
    y = inport("measured output", size="any")
    y_hat = outport("output of the model with the parameters found", size="n")
    residual = outport("y - y_hat", size="n")

    def fits(self, path: str, schedule: Any) -> None:
        plant = schedule.unit(path).plants["model"]
        try:
            if not any(isinstance(value, str) for value in (*self.start.values(), *self.known.values())):  # found by other blocks
                self.problem(plant)
        except RecordError as error:
            raise DiagramError(str(error)) from None

    def port_units(self, plants: Mapping[str, Plant]) -> Mapping[str, str]:
        plant = plants["model"]
        return {"u": plant.unit_of(plant.drive), "y": plant.unit_of(self.settings["signal"])}

    def process(self, t, u, y, model, run):
        Ts = sample_time(t)
        enough(u, 4, "a simulation")
        enough(y, 4, "a comparison")
        problem = self.problem(model)
        first, last = self.ends(t)
        rules = Rules(self.method, self.difference, self.tolerance, self.iterations, self.halvings)
        search = SearchState(problem.start)
        for end in (len(t) * (h + 1) // self.horizons for h in range(self.horizons)):
            twin = self.twin(model, run, Ts, u, end, problem)
            counted = slice(first, min(end, len(t) - last))
            search = searched(rules, twin, problem, np.asarray(y, dtype=float)[:end], counted, search)
            if search.failed:
                break
        y_hat = search.y_hat if len(search.y_hat) == len(t) else np.full(np.shape(y), np.nan)
        y_hat = y_hat.reshape(np.shape(y))
        estimates = report_of(self.method, problem, search, model, self.errors)
        if self.errors == "drawn" and not search.failed:
            start = dict(zip(estimates, estimates.vector().tolist(), strict=True))
            paths = {n: f"{self.settings['model']}.{n}" for n in estimates}
            estimates = with_draws(estimates, run, paths, self.draws, {"start": start, "horizons": 1})
        return y_hat, y - y_hat, estimates

    def ends(self, t: np.ndarray) -> tuple[int, int]:
        """The samples at the start and at the end that do not count."""
        first, last = (round(float(np.atleast_1d(self.skip)[k]) / sample_time(t)) for k in (0, -1))
        if min(len(t) // self.horizons, len(t) - last) - first <= len(self.start):
            raise RecordError(
                f"{len(t)} samples in {self.horizons} horizons, {skip_text(self.skip)} s skipped, are too few for "
                f"{len(self.start)} parameters."
            )
        return first, last

    def used_times(self, t: np.ndarray) -> np.ndarray:
        first, last = self.ends(t)
        return t[first : len(t) - last]

    def twin(self, plant: Plant, run: Run, Ts: float, u: np.ndarray, end: int, problem: SearchProblem) -> OutputTwin:
        """The plant alone, driven by the recorded input up to sample `end`; all of u is in it, so that it compiles once."""
        from blocksim.simulation.prepare import experiment

        provenance, spec = run.record.provenance, run.diagram.simulate
        interval = Fraction(Ts).limit_denominator(10**7)
        settings = {
            n: provenance.get(n) if provenance.get(n) is not None else getattr(spec, n)
            for n in ("solver", "step", "rtol", "atol")
        }
        solver = self.solver or settings["solver"] or "rk4"
        options: dict[str, Any] = {"solver": solver}
        if not find_solver(solver).adaptive:
            options["step"] = str(self.step or settings["step"] or interval)
        else:
            options |= {n: settings[n] for n in ("rtol", "atol") if settings[n] is not None}
        diagram = Diagram(f"{plant.kind.__name__} driven by a record")
        diagram.add("u", player(u, interval, self.hold))
        diagram.add("plant", plant.kind(**{**plant.settings, **problem.known}), {plant.drive: "u.y"})
        diagram.log = [LogSpec(f"plant.{self.signal}")]
        ready = experiment(diagram, start=0, stop=str(interval * (end - 1)), every=str(interval), **options)
        ready.text = ""  # nobody reads the provenance of a twin's runs, and all of u would be written out for it
        return OutputTwin(ready, f"plant.{self.signal}", tuple(problem.names))

    def problem(self, plant: Plant) -> SearchProblem:
        """What is sought, from where and within which limits."""
        outputs = plant.kind.of(Outport)
        if self.signal not in outputs:
            raise RecordError(
                f"signal: {plant.name} has no output '{self.signal}'. It has: {listing(outputs)}."
                + did_you_mean(self.signal, outputs)
            )
        numbers = {
            n: d for n, d in plant.kind.declared.items() if isinstance(d, Param) or (d.settable and holds_number(plant, n))
        }
        numbers = {n: d for n, d in numbers.items() if not isinstance(d, Period)}
        for setting in ("start", "known", "bounds", "scale"):
            for name in getattr(self, setting):
                if name not in (numbers if setting in ("start", "known") else self.start):
                    options = numbers if setting in ("start", "known") else self.start
                    raise RecordError(
                        f"{setting}: no parameter '{name}'. There are: {listing(options)}." + did_you_mean(name, options)
                    )
        if both := [name for name in self.start if name in self.known]:
            raise RecordError(f"{listing(both)}: either estimated or known, not both. See start and known.")
        if not self.start:
            raise RecordError("start: at least one parameter is wanted, {k1: 2e6}.")
        start = np.array([checked_number("start", n, v, plant) for n, v in self.start.items()])
        constants = {n: checked_number("known", n, v, plant) for n, v in self.known.items()}
        scale = np.array([float(self.scale.get(n, abs(v))) for n, v in zip(self.start, start, strict=True)])
        for name, size in zip(self.start, scale, strict=True):
            if not size > 0:
                raise RecordError(f"scale: '{name}' starts at 0, so its size must be said: scale: {{{name}: 1.0}}.")
        limits = [limits_of(numbers[n], self.bounds.get(n, (-math.inf, math.inf))) for n in self.start]
        low, high = np.array(limits).T
        for name, value, a, b in zip(self.start, start, low, high, strict=True):
            if not a <= value <= b:
                raise RecordError(f"start: {name} = {value:g} lies outside its limits, {a:g} to {b:g}.")
        return SearchProblem(tuple(self.start), start, scale, low, high, constants)

    @staticmethod
    def size_n(y):
        return y

    @staticmethod
    def check(iterations, halvings, horizons, bounds, skip, draws):
        if text := skip_problem(skip, None, 1):
            return text
        if draws < 2:
            return f"draws: a whole number of at least 2 is wanted, found {draws}."
        for name, count in (("iterations", iterations), ("halvings", halvings), ("horizons", horizons)):
            if count < 1:
                return f"{name}: a whole number of at least 1 is wanted, found {count}."
        for name, pair in bounds.items():
            if not isinstance(pair, (list, tuple)) or len(pair) != 2 or not pair[0] < pair[1]:
                return f"bounds: {name} needs [low, high], found {pair!r}."
        return None


class PlayedInput(Block):
    """y(t) = a polynomial in t within every interval of Ts: a recorded signal that was continuous."""

    pieces_: Any = Param(
        default=[[0.0, 0.0, 0.0, 0.0]], doc="four coefficients for each element, a row per interval", shape=(None, None)
    )
    Ts: float = required("interval", "s", above=0)
    pieces = table("four coefficients for each element, a row per interval", shape=(None, None))
    y = outport("the recorded signal", size="columns")

    @staticmethod
    def table_pieces(pieces_):
        return pieces_

    @staticmethod
    def size_columns(pieces_):
        return len(pieces_[0]) // 4

    @staticmethod
    def output(t, pieces, Ts, columns, out):
        row = min(max(int(t / Ts), 0), len(pieces) - 1)
        s = t - row * Ts
        for j in range(columns):
            k = 4 * j
            out[j] = pieces[row, k] + s * (pieces[row, k + 1] + s * (pieces[row, k + 2] + s * pieces[row, k + 3]))


def player(u: np.ndarray, interval: Fraction, hold: str) -> Block:
    """A source that plays a recorded signal from time 0."""
    rows = np.asarray(u, dtype=float).reshape(len(u), -1)
    if hold == "zero":
        samples = Samples(Ts=str(interval), values_=[[0.0] * rows.shape[1]])
        samples.settings["values_"] = rows
        return samples
    pieces = np.zeros((len(u) - 1, rows.shape[1], 4))
    if hold == "linear":
        pieces[:, :, 0], pieces[:, :, 1] = rows[:-1], np.diff(rows, axis=0) / float(interval)
    else:
        from scipy.interpolate import CubicSpline

        pieces[:] = np.moveaxis(CubicSpline(np.arange(len(u)) * float(interval), rows).c, 0, -1)[..., ::-1]
    played = PlayedInput(Ts=float(interval), pieces_=[[0.0] * (4 * rows.shape[1])])
    played.settings["pieces_"] = pieces.reshape(len(u) - 1, -1)
    return played


def checked_number(setting: str, name: str, value: Any, plant: Plant) -> float:
    """A setting as a number; `truth` is that of the plant."""
    if value == "truth":
        value = plant.settings[name]
    if not isinstance(value, (int, float)) or isinstance(value, bool):
        raise RecordError(f"{setting}: {name} = {value!r} is no number.")
    return float(value)


def holds_number(plant: Plant, name: str) -> bool:
    return isinstance(plant.settings.get(name), (int, float)) and not isinstance(plant.settings.get(name), bool)


def limits_of(declared: Any, bounds: Any) -> tuple[float, float]:
    """The tighter of what the plant and the user allow."""
    low, high = declared.limits.closed() if isinstance(declared, Param) else (-math.inf, math.inf)
    return max(low, float(bounds[0])), min(high, float(bounds[1]))
