"""Bench: an experiment made ready once, on which candidates are tried by changing its numbers only.

A candidate's settings become the tables of its block and are written into the program's numbers; its information is that of one
run and one more per parameter, to one side. No code is generated, and threads share the work: programs run without the lock.
"""

from __future__ import annotations

import copy
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from ...contract.block import Block
from ...contract.library import find
from ...contract.times import exact
from ...diagram.build import open_diagram
from ...diagram.diagram import Diagram
from ...errors import DiagramError, SimulationError, listing
from ...estimation.process import Run
from ...estimation.twin import Twin, twin_of
from ...simulation.noise import draw_noise
from ...simulation.overrides import Overrides
from ...simulation.prepare import prepared
from ...simulation.settings import find_setting
from ...simulation.simulation import Simulation, run_experiment
from ..colour import Colour
from ..measuring import put_settings, reading_rows
from ..readings import noise_colour, noisy_outputs, own_noise, whole_name
from ..sensitivities import side_by_side
from .criteria import SEES_NOTHING, judged, relative_covariance, together, vector_of
from .families import DURATION, AnyNumber, RunLength, family_of, unknowns_by_family
from .family import Family
from .limits import Margin, margins_of
from .regressor import regressor_criterion
from .spec import DesignSpec

if TYPE_CHECKING:
    from ...contract.arrays import FloatArray
    from ...simulation.experiment import Experiment

#: Step of the differences to one side while searching, as a share of a parameter.
SEARCH_STEP = 1e-4
#: A limit that is broken costs so many times its excess, in the logarithm of the criterion.
PENALTY = 20.0


@dataclass(frozen=True)
class Trial:
    """A candidate that was tried: its merit, the lower the better, and what it is made of."""

    x: FloatArray
    merit: float  # logarithm of the criterion, limits included
    criterion: float
    stds: FloatArray  # relative, of the worst sample of the prior
    margins: tuple[Margin, ...]

    @property
    def allowed(self) -> bool:
        return not any(margin.broken for margin in self.margins)


class Bench:
    """A design's experiment; `try_out` judges a candidate, `simulations` counts the runs it took."""

    def __init__(self, spec: DesignSpec, step: Any = None, learnt: FloatArray | None = None):
        import numpy as np

        self.spec = spec
        #: Information about relative changes that earlier experiments gave.
        self.learnt = np.zeros((1, 1)) if learnt is None else learnt
        diagram = open_diagram(spec.diagram if spec.diagram else spec.plain["diagram"])
        options = {**spec.simulate, **({"step": step} if step is not None else {})}
        #: Whether the duration is sought: then a run counts once at least, also that of the diagram as it was.
        self.once = DURATION in spec.plain.get("vary", spec.vary)
        free = spec.vary.get(DURATION)  # the longest run is made ready, and shorter ones are cut out of it
        stop = free["max"] if free else spec.simulate.get("stop", diagram.simulate.stop)
        options = {**options, **({"stop": stop} if free else {})}
        self.duration = float(exact(stop))
        self.families = [family_of(name, words, self.duration) for name, words in spec.vary.items()]
        self.names = [] if spec.by_regressor else [*spec.parameters, *spec.nuisance]  # those that are changed to see what they do
        self.diagram = self.with_sources(diagram)
        self.simulations = 0
        ready, changes = prepared(self.diagram, spec.params, options)
        self.make_twin(ready, changes)
        self.samples = self.prior_samples()
        self.weights = vector_of(list(spec.parameters), spec.parameters, 1.0)
        self.accuracy = vector_of(list(spec.parameters), spec.accuracy, 0.01)

    # ---- made once -------------------------------------------------------------------------------------------------

    def with_sources(self, diagram: Diagram) -> Diagram:
        """The diagram with the block of every family in the place of the source it names."""
        import numpy as np

        random = np.random.default_rng(0)
        nodes = dict(diagram.nodes)
        own: list[FloatArray | None] = []
        for family in self.families:
            if isinstance(family, AnyNumber):
                own.append(None)
                continue
            if family.block not in nodes:
                raise DiagramError(f"vary: there is no block '{family.block}'. Blocks are: {listing(nodes)}.")
            before = nodes[family.block].block
            alike = type(before).__name__ == family.type
            own.append(family.unknowns_of(before.settings) if alike and isinstance(before, Block) else None)
            block = find(family.type)(**family.settings(family.draw(random), self.duration))
            nodes[family.block] = replace(nodes[family.block], block=block)
        #: The unknowns of the diagram as it was, where it is one of the candidates.
        parts = [part for part in own if part is not None]
        self.original: FloatArray | None = np.concatenate(parts) if parts and len(parts) == len(own) else None
        return replace(diagram, nodes=nodes)

    def make_twin(self, ready: Experiment, changes: Mapping[str, Any]) -> None:
        """One run for the grid, and the twin that gives what is read, what is limited, and the plant's motion."""
        spec, diagram = self.spec, ready.schedule.diagram
        self.changes = dict(changes)
        self.ready = ready
        record = run_experiment(ready, changes, draw_noise(ready))
        self.outputs = [whole_name(diagram, name) for name in spec.outputs]
        self.limits = {whole_name(diagram, name, "limits"): kinds for name, kinds in spec.limits.items()}
        self.regressor = regressor_criterion(ready, spec) if spec.by_regressor else None
        motion = self.regressor.motion if self.regressor else []
        source = next((name for name in spec.plain.get("vary", spec.vary) if name in diagram.nodes), "")
        self.source = whole_name(diagram, source) if source and spec.criterion == "power" else ""
        own = [self.source] if self.source else []
        signals = tuple(dict.fromkeys([*self.outputs, *self.limits, *motion, *own]))
        self.twin: Twin = twin_of(Run(diagram, changes, record, "design"), record.t, signals)
        self.rows = reading_rows(record.t, spec.every, spec.skip)
        self.t = record.t
        self.interval = float(record.t[-1] - record.t[0]) / (len(record.t) - 1)
        sizes = {name: 1 if v.ndim == 1 else v.shape[1] for name, v in self.twin.run({}).items()}
        words = {name: spec.outputs[key] for key, name in zip(spec.outputs, self.outputs, strict=True)}
        readings = noisy_outputs(ready, changes, self.outputs, words) if self.outputs else []
        self.reading_interval = self.interval * (self.rows.step or 1)
        self.own_noise = readings is None
        self.colour: Colour | None = None
        if self.outputs and readings is not None:
            self.colour = noise_colour(readings, sizes, self.reading_interval)
        elif self.outputs:
            self.colour = own_noise(ready, changes, self.outputs, side_by_side(self.twin.run({}), self.outputs), None)
        for name in self.names:
            find_setting(ready.schedule, name)
        self.values = {name: float(Overrides(changes).value(ready.schedule, name)) for name in self.names}
        self.varied = [(family, self.unit_of(family)) for family in self.families if not isinstance(family, AnyNumber)]
        if self.twin.experiment.method.compiled:
            self.twin.experiment.program.fast()

    def unit_of(self, family: Family) -> Any:
        schedule = self.twin.experiment.schedule
        if family.block not in schedule.by_path:
            raise DiagramError(f"vary: nothing that is read depends on '{family.block}'.")
        return schedule.unit(family.block)

    def prior_samples(self) -> list[dict[str, float]]:
        """The parameters as they may be: those of the diagram first, then draws."""
        import numpy as np

        prior = self.spec.prior
        random = np.random.default_rng(prior.seed)
        samples: list[dict[str, float]] = [{}] if prior.samples < 2 or not prior.spread else []
        for _ in range(prior.samples if not samples else 0):
            own = {name: Overrides(self.changes).value(self.ready.schedule, name) for name in prior.spread}
            samples.append({n: float(v * (1.0 + prior.spread[n] * random.uniform(-1.0, 1.0))) for n, v in own.items()})
        return samples

    # ---- candidates ------------------------------------------------------------------------------------------------

    @property
    def unknowns(self) -> int:
        return sum(family.unknowns for family in self.families)

    def draw(self, random: Any) -> FloatArray:
        import numpy as np

        return np.concatenate([family.draw(random) for family in self.families])

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

    def try_out(self, x: FloatArray) -> Trial:
        """One candidate, over all samples of the prior."""
        import numpy as np

        values, stds, margins = [], [], []
        try:
            ready, numbers = self.experiment_of(x)
            for sample in self.samples:
                value, std, own = self.judge(ready, {**numbers, **sample})
                values.append(value)
                stds.append(std)
                margins.append(own)
        except SimulationError:
            return Trial(x, np.log(SEES_NOTHING), SEES_NOTHING, np.full(len(self.spec.parameters), np.inf), ())
        prior = self.spec.prior
        criterion = together(values, prior.take, prior.quantile)
        worst = tuple(max(column, key=lambda margin: margin.excess) for column in zip(*margins, strict=True))
        broken = sum(max(margin.excess, 0.0) for margin in worst)
        return Trial(x, float(np.log(criterion) + PENALTY * broken), criterion, stds[int(np.argmax(values))], worst)

    def judge(self, ready: Experiment, changes: Mapping[str, float]) -> tuple[float, FloatArray, list[Margin]]:
        """Criterion, relative standard deviations and margins of one candidate at one truth."""
        import numpy as np

        here = self.run(ready, changes)
        duration = changes.get(DURATION)
        limited = here if duration is None else {n: v[self.t[: len(v)] <= duration + 1e-9] for n, v in here.items()}
        margins = list(margins_of(self.limits, limited, self.interval))
        count = len(self.spec.parameters)
        if self.regressor is not None:
            return (*self.regressor.judge(limited, self.rows), margins)
        psi = self.relative_slopes(ready, changes, self.readings(here))
        if duration is not None:
            psi = psi * self.last_share(duration, len(psi))[:, None]
        covariance = relative_covariance(np.einsum("ni,nj->ij", psi, psi) + self.learnt, count)
        stds = np.full(count, np.inf) if covariance is None else np.sqrt(np.diag(covariance))
        cost = self.cost(limited, duration)
        return judged(self.spec.criterion, covariance, self.weights, self.accuracy, cost, self.once), stds, margins

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
            moved = self.readings(self.run(ready, {**changes, name: value + SEARCH_STEP * size}))
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

    def run(self, ready: Experiment, changes: Mapping[str, float]) -> dict[str, FloatArray]:
        """The signals of one run; where the duration varies, up to the reading that follows its end."""
        self.simulations += 1
        own = dict(changes)
        duration = own.pop(DURATION, None)
        signals = self.twin.signals_of(Simulation(ready, own, self.twin.noise))
        if duration is None:
            return signals
        rows = int((duration + self.reading_interval - self.t[0]) / self.interval - 1e-6) + 1
        return {name: values[:rows] for name, values in signals.items()}
