"""Bench: an experiment made ready once, on which candidates are tried by changing its numbers only.

A candidate's settings become the tables of its block and are written into the program's numbers; its information is that of one
run and one more per parameter, to one side. No code is generated, and threads share the work: programs run without the lock.
"""

from __future__ import annotations

import copy
import math
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from ...contract.times import exact
from ...errors import DiagramError, SimulationError
from ...estimation.process import Run
from ...estimation.twin import Twin, twin_of
from ...simulation.elements import parameter_number, run_settings
from ...simulation.noise import draw_noise
from ...simulation.prepare import prepared
from ...simulation.simulation import Simulation, run_experiment
from ..measuring.colour import Colour
from ..measuring.known_inputs import KnownInputs
from ..measuring.measuring import logging, reading_rows, with_faults
from ..measuring.readings import noise_colour, noisy_outputs, own_noise, refuse_other_way, whole_name
from ..measuring.renumbering import put_settings
from ..sensitivities import DISAGREE, side_by_side
from .criteria import SEES_NOTHING, judged, relative_covariance, vector_of
from .families import DURATION, AnyNumber, RunLength, refuse_shaping
from .family import Family, unknowns_by_family, with_sources
from .limits import Margin, margins_of
from .regressor import regressor_criterion
from .searching.trial import Trial, merit_of, trial_over
from .spec import DesignSpec
from .words import diagram_of, families_of, signals_of, sought_values, told_at

if TYPE_CHECKING:
    from ...contract.arrays import FloatArray
    from ...records.record import Record
    from ...simulation.experiment import Experiment

#: Step of the differences to one side while searching, as a share of a parameter.
SEARCH_STEP = 1e-4
#: Step of all parameters together that shows whether these differences are slopes.
SMOOTH_STEP = 2.5e-5


class Bench:
    """A design's experiment; `try_out` judges a candidate, `simulations` counts the runs it took."""

    def __init__(self, spec: DesignSpec, step: Any = None, learnt: FloatArray | None = None, first: FloatArray | None = None):
        """`step` is that of the solver, `learnt` what earlier experiments gave; the diagram's own noise is that of `first`."""
        import numpy as np

        self.spec = spec
        #: Information about relative changes that earlier experiments gave.
        self.learnt = np.zeros((1, 1)) if learnt is None else learnt
        diagram, self.params = diagram_of(spec)
        options = {**spec.simulate, **({"step": step} if step is not None else {})}
        #: Whether the duration is sought: then a run counts once at least, also that of the diagram as it was.
        self.once = DURATION in spec.plain.get("vary", spec.vary)
        free = spec.vary.get(DURATION)  # the longest run is made ready, and shorter ones are cut out of it
        stop = free["max"] if free else spec.simulate.get("stop", diagram.simulate.stop)
        options = {**options, **({"stop": stop} if free else {})}
        self.duration = float(exact(stop))
        self.families = families_of(spec, diagram, self.duration)
        self.names = [] if spec.by_regressor else [*spec.parameters, *spec.nuisance]  # those that are changed to see what they do
        drawn = self.draw(np.random.default_rng(0)) if first is None else first
        #: With the block of every family in its place; and the unknowns of the diagram as it was, where it is a candidate too.
        with told_at(spec, "vary"):
            self.diagram, self.original = with_sources(diagram, self.families, drawn, self.duration)
        self.simulations = 0
        with told_at(spec, "params"):
            ready, changes = prepared(self.diagram, self.params, options)
        self.make_twin(ready, changes)
        with told_at(spec, "prior"):
            self.samples = spec.prior.draws(lambda name: parameter_number(ready.schedule, changes, name))
        #: At which of them candidates are tried, and in which order: a search begins with those that are hardest for its best.
        self.order: tuple[int, ...] = self.everywhere
        self.weights = vector_of(list(spec.parameters), spec.parameters, 1.0)
        self.accuracy = vector_of(list(spec.parameters), spec.accuracy, math.inf)  # what is not asked for does not count

    def make_twin(self, ready: Experiment, changes: Mapping[str, Any]) -> None:
        """One run for the grid, and the twin that gives what is read, what is limited, and the plant's motion."""
        spec, diagram = self.spec, ready.schedule.diagram
        self.values = {} if spec.by_regressor else sought_values(spec, ready, changes)
        self.outputs = signals_of(spec, diagram, "outputs", spec.outputs)
        self.limits = dict(zip(signals_of(spec, diagram, "limits", spec.limits), spec.limits.values(), strict=True))
        self.inputs = signals_of(spec, diagram, "inputs", spec.inputs)
        self.ready = ready = logging(ready, [*self.outputs, *self.inputs] if self.inputs else [])
        self.changes = dict(changes)
        record = run_experiment(ready, changes, draw_noise(ready))
        with told_at(spec, "plant"):
            self.regressor = regressor_criterion(ready, spec) if spec.by_regressor else None
        motion = self.regressor.motion if self.regressor else []
        source = next((name for name in spec.plain.get("vary", spec.vary) if name in diagram.nodes), "")
        self.source = whole_name(diagram, source) if source and spec.criterion == "power" else ""
        own = [self.source] if self.source else []
        signals = tuple(dict.fromkeys([*self.outputs, *self.limits, *motion, *own, *self.inputs]))
        run = Run(with_faults(diagram, self.names), changes, record, "design")
        self.twin: Twin = twin_of(run, record.t, signals)
        #: Where inputs are recorded, what they drive; readings then come from that, and not from the loop.
        self.known = KnownInputs(run, record.t, self.outputs, self.inputs) if self.inputs else None
        with told_at(spec, "skip" if spec.skip else "every"):
            self.rows = reading_rows(record.t, spec.every, spec.skip)
        self.t = record.t
        self.interval = float(record.t[-1] - record.t[0]) / (len(record.t) - 1)
        self.reading_interval = self.interval * (self.rows.step or 1)
        self.own_noise, self.colour = False, None
        if self.outputs:
            with told_at(spec, "outputs"):
                self.own_noise, self.colour = self.noise(record)
        with told_at(spec, "vary"):
            refuse_shaping(ready, self.families)
        self.varied = [(family, self.unit_of(family)) for family in self.families if not isinstance(family, AnyNumber)]
        if self.known is not None:
            self.known.refuse_beside([family.block for family, _ in self.varied])
        for twin in (self.twin, *([self.known.twin] if self.known else [])):
            if twin.experiment.method.compiled:
                twin.experiment.program.fast()

    def noise(self, record: Record) -> tuple[bool, Colour]:
        """Whether the noise of what is read is that of the diagram, and what it is like."""
        names = self.outputs
        words = {name: self.spec.outputs[key] for key, name in zip(self.spec.outputs, names, strict=True)}
        readings = noisy_outputs(self.ready, self.changes, names, words)
        if self.known:
            with told_at(self.spec, "inputs"):
                refuse_other_way(self.ready, self.changes, record, self.known.twin.run({}), self.inputs, names)
        if readings is not None:
            sizes = {name: 1 if v.ndim == 1 else v.shape[1] for name, v in self.twin.run({}).items()}
            return False, noise_colour(readings, sizes, self.reading_interval)
        ideal = side_by_side((self.known.twin if self.known else self.twin).run({}), names)
        lone = side_by_side({name: record[name] for name in names}, names) if self.known else None
        return True, own_noise(self.ready, self.changes, names, ideal, lone, rows=self.rows)

    def unit_of(self, family: Family) -> Any:
        schedule = self.twin.experiment.schedule
        if family.block not in schedule.by_path:
            raise DiagramError(f"vary: nothing that is read depends on '{family.block}'.")
        return schedule.unit(family.block)

    # ---- candidates ------------------------------------------------------------------------------------------------

    @property
    def unknowns(self) -> int:
        return sum(family.unknowns for family in self.families)

    @property
    def everywhere(self) -> tuple[int, ...]:
        """All draws of the prior."""
        return tuple(range(len(self.samples)))

    def draw(self, random: Any) -> FloatArray:
        import numpy as np

        return np.concatenate([family.draw(random) for family in self.families]) if self.families else np.zeros(0)

    def settings_of(self, x: FloatArray) -> dict[str, dict[str, Any]]:
        """The new settings of every varied block, by its path; of a number, under its own name."""
        parts, duration = unknowns_by_family(self.families, x), self.duration_of(x)
        return {f.block: f.settings(part, duration) for f, part in zip(self.families, parts, strict=True)}

    def duration_of(self, x: FloatArray) -> float:
        """How long the run of a candidate lasts."""
        parts = zip(self.families, unknowns_by_family(self.families, x), strict=True)
        return next((family.seconds(part) for family, part in parts if isinstance(family, RunLength)), self.duration)

    def on_grid(self, x: FloatArray) -> FloatArray:
        """The candidate with a duration that ends with a reading."""
        result, place = x.copy(), 0
        for family in self.families:
            if isinstance(family, RunLength):
                whole = int((family.seconds(x[place:]) - self.t[0]) / self.reading_interval + 1e-6)
                result[place] = family.unknown_of(self.t[0] + whole * self.reading_interval)
            place += family.unknowns
        return result

    def experiment_of(self, x: FloatArray) -> tuple[Experiment, dict[str, float]]:
        """The experiment with the candidate's numbers in place, and those of its numbers that are given with the run."""
        settings = self.settings_of(x)
        base = self.twin.experiment
        clone = copy.copy(base)  # with all that was computed of it: only its numbers are others
        clone.numbers = base.numbers.copy()
        for family, unit in self.varied:
            put_settings(base, clone.numbers, unit, settings[family.block])
        numbers = {f.block: settings[f.block][""] for f in self.families if isinstance(f, AnyNumber)}
        return clone, numbers

    def readable(self, x: FloatArray, drives: Mapping[str, FloatArray]) -> tuple[Experiment, dict[str, float]]:
        """The experiment that gives the readings of a candidate; of what acted in it, where that was recorded."""
        if self.known is None:
            return self.experiment_of(x)
        return self.known.experiment_of(drives), self.experiment_of(x)[1]

    def try_out(
        self, x: FloatArray, below: float = -math.inf, above: float = math.inf, order: tuple[int, ...] | None = None
    ) -> Trial:
        """One candidate, over these draws of the prior; one of a merit below this must be a smooth function of its parameters.

        One that cannot come below `above` any more is of no use: where the worst draw counts, the others are left out then.
        """
        import numpy as np

        places: tuple[int, ...] = self.order if order is None else order
        judgements: list[tuple[float, FloatArray, list[Margin]]] = []
        given_up = above if self.spec.prior.take == "worst" else math.inf
        try:
            ready, numbers = self.experiment_of(x)
            for place in places:
                judgements.append(self.judge(ready, {**numbers, **self.samples[place]}, below))
                if merit_of(judgements[-1][0], judgements[-1][2]) >= given_up:
                    break
        except SimulationError:
            failed = places[len(judgements) : len(judgements) + 1]
            return Trial(x, np.log(SEES_NOTHING), SEES_NOTHING, np.full(len(self.spec.parameters), np.inf), (), failed, failed)
        return trial_over(x, self.spec.prior, places, judgements)

    def judge(
        self, ready: Experiment, changes: Mapping[str, float], below: float = -math.inf
    ) -> tuple[float, FloatArray, list[Margin]]:
        """Criterion, relative standard deviations and margins of one candidate at one truth."""
        import numpy as np

        here = self.run(ready, changes)
        duration = changes.get(DURATION)
        limited = here if duration is None else {n: v[self.t[: len(v)] <= duration + 1e-9] for n, v in here.items()}
        margins = list(margins_of(self.limits, limited, self.interval))
        count = len(self.spec.parameters)
        if self.regressor is not None:
            return (*self.regressor.judge(limited, self.rows), margins)
        y = self.readings(here)
        if self.known is not None:
            ready = self.known.experiment_of(here)
            y = self.read(ready, changes)
        psi = self.relative_slopes(ready, changes, y)
        if duration is not None:
            psi = psi * self.last_share(duration, len(psi))[:, None]
        covariance = relative_covariance(np.einsum("ni,nj->ij", psi, psi) + self.learnt, count)
        stds = np.full(count, np.inf) if covariance is None else np.sqrt(np.diag(covariance))
        cost = self.cost(limited, duration)
        value = judged(self.spec.criterion, covariance, self.weights, self.accuracy, cost, self.once)
        if merit_of(value, margins) < below and not self.is_smooth(ready, changes, y, psi):
            value = SEES_NOTHING
        return value, stds, margins

    def is_smooth(self, ready: Experiment, changes: Mapping[str, float], y: FloatArray, psi: FloatArray) -> bool:
        """Whether a small change of all parameters together moves the readings y as the slopes say.

        A gap that rattles has slopes of any size, and a search that believed them would go nowhere else.
        """
        import numpy as np

        lengths = np.sqrt(np.square(psi).sum(axis=0))
        if not (lengths > 0).all():
            return True
        steps = SMOOTH_STEP * lengths.min() / lengths  # each has an equal part in the change
        values = {name: float(changes.get(name, self.values[name])) for name in self.names}
        moved = {name: v + float(step) * (abs(v) or 1.0) for (name, v), step in zip(values.items(), steps, strict=True)}
        change, rows = psi @ steps, len(psi)
        difference = self.whitened((self.read(ready, {**changes, **moved}) - y)[:, :, None]).reshape(-1)[:rows]
        return bool(np.linalg.norm(difference - change) <= DISAGREE * np.linalg.norm(change))

    def last_share(self, duration: float, rows: int) -> FloatArray:
        """The root of how much each row of psi counts: the reading after the end by a share, so that the end has a gradient."""
        import numpy as np

        t = np.repeat(self.t[self.rows], len(self.colour.stds) if self.colour else 1)[:rows]
        share: FloatArray = np.sqrt(np.clip((duration - t) / self.reading_interval + 1.0, 0.0, 1.0))
        return share

    def readings(self, signals: Mapping[str, FloatArray]) -> FloatArray:
        """What is read of a run, [time, reading]."""
        return side_by_side(dict(signals), self.outputs)[self.rows]

    def relative_slopes(self, ready: Experiment, changes: Mapping[str, float], y: FloatArray) -> FloatArray:
        """Whitened changes of the readings y per relative change of each parameter, a column each; per 1 where one is 0."""
        import numpy as np

        slopes = np.empty((*y.shape, len(self.names)))
        for k, name in enumerate(self.names):
            value = float(changes.get(name, self.values[name]))
            size = abs(value) or 1.0
            moved = self.read(ready, {**changes, name: value + SEARCH_STEP * size})
            slopes[:, :, k] = (moved - y) / SEARCH_STEP
        return self.whitened(slopes).reshape(-1, len(self.names))

    def whitened(self, signals: FloatArray) -> FloatArray:
        """Signals [time, reading, ...] in units of their noise."""
        assert self.colour is not None
        if len(self.colour.covariances) > 1:
            return self.colour.whiten(signals)
        return signals / self.colour.stds.reshape(-1, *([1] * (signals.ndim - 2)))

    def cost(self, signals: Mapping[str, FloatArray], duration: float | None) -> float:
        """What the criteria time and power count: the seconds of the run, or the mean square of the source."""
        import numpy as np

        if self.spec.criterion == "power":
            return float(np.mean(np.square(signals[self.source])))
        return self.duration if duration is None else duration

    def read(self, ready: Experiment, changes: Mapping[str, float]) -> FloatArray:
        """What is read of one run, of what the known inputs drive where there are any."""
        if self.known is None:
            return self.readings(self.run(ready, changes))
        return self.readings(self.run(ready, self.known.changes_in(changes), self.known.twin))

    def run(self, ready: Experiment, changes: Mapping[str, float], twin: Twin | None = None) -> dict[str, FloatArray]:
        """The signals of one run; where the duration varies, up to the reading that follows its end."""
        self.simulations += 1
        twin = twin or self.twin
        own = dict(changes)
        duration = own.pop(DURATION, None)
        signals = twin.signals_of(Simulation(ready, run_settings(ready.schedule, own), twin.noise))
        if duration is None:
            return signals
        rows = int((duration + self.reading_interval - self.t[0]) / self.interval - 1e-6) + 1
        return {name: values[:rows] for name, values in signals.items()}
