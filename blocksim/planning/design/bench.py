"""Bench: an experiment made ready once, on which candidates are tried by changing its numbers only.

A candidate's settings become the tables of its block and are written into the program's numbers; its information is that of one
run and one more per parameter, to one side. No code is generated, and threads share the work: programs run without the lock.
"""

from __future__ import annotations

import copy
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from ...compiler.slots import array_value
from ...contract.declarations import Param, Period, State, Table
from ...contract.library import find
from ...contract.plant import Plant
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
from ..information import reading_rows
from ..readings import noise_colour, noisy_outputs, whole_name
from ..sensitivities import side_by_side
from .criteria import SEES_NOTHING, condition_number, judged, relative_covariance, together, vector_of
from .families import AnyNumber, Family, family_of, unknowns_by_family
from .limits import Margin, margins_of
from .spec import DesignSpec

if TYPE_CHECKING:
    from ...compiler.slots import Numbers
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
        stop = spec.simulate.get("stop", diagram.simulate.stop)
        self.duration = float(exact(stop))
        self.families = [family_of(name, words, self.duration) for name, words in spec.vary.items()]
        self.names = [*spec.parameters, *spec.nuisance]
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
        for family in self.families:
            if isinstance(family, AnyNumber):
                continue
            if family.block not in nodes:
                raise DiagramError(f"vary: there is no block '{family.block}'. Blocks are: {listing(nodes)}.")
            block = find(family.type)(**family.settings(family.draw(random)))
            nodes[family.block] = replace(nodes[family.block], block=block)
        return replace(diagram, nodes=nodes)

    def make_twin(self, ready: Experiment, changes: Mapping[str, Any]) -> None:
        """One run for the grid, and the twin that gives what is read, what is limited, and the plant's motion."""
        spec, diagram = self.spec, ready.schedule.diagram
        for name in self.names:
            find_setting(ready.schedule, name)
        self.changes = dict(changes)
        self.ready = ready
        record = run_experiment(ready, changes, draw_noise(ready))
        self.outputs = [whole_name(diagram, name) for name in spec.outputs]
        self.limits = {whole_name(diagram, name, "limits"): kinds for name, kinds in spec.limits.items()}
        self.plant = self.plant_of(ready) if spec.criterion.startswith("condition") else None
        motion = [f"{self.plant.path}.{name}" for name in self.plant.motion] if self.plant else []
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
        step = self.interval * (self.rows.step or 1)
        self.colour: Colour | None = noise_colour(readings or [], sizes, step) if self.outputs else None
        self.values = {name: float(Overrides(changes).value(ready.schedule, name)) for name in self.names}
        self.varied = [(family, self.unit_of(family)) for family in self.families if not isinstance(family, AnyNumber)]
        if self.twin.experiment.method.compiled:
            self.twin.experiment.program.fast()

    def unit_of(self, family: Family) -> Any:
        schedule = self.twin.experiment.schedule
        if family.block not in schedule.by_path:
            raise DiagramError(f"vary: nothing that is read depends on '{family.block}'.")
        return schedule.unit(family.block)

    def plant_of(self, ready: Experiment) -> Plant:
        """The plant whose regressor is judged by its condition number."""
        unit = ready.schedule.unit(self.spec.plant)
        plant = Plant(type(unit.block), unit.settings, unit.path)
        plant.row_function()
        return plant

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
        return {f.block: f.settings(part) for f, part in zip(self.families, unknowns_by_family(self.families, x), strict=True)}

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
        margins = list(margins_of(self.limits, here, self.interval))
        count = len(self.spec.parameters)
        if self.plant is not None:
            motion = {name: here[f"{self.plant.path}.{name}"][self.rows] for name in self.plant.motion}
            W = self.plant.regressor(motion)
            names = [name.rpartition(".")[2] for name in self.spec.parameters] or list(self.plant.parameters)
            W = W.reshape(-1, W.shape[-1])[:, [self.plant.parameters.index(n) for n in names]]
            beta = np.array([self.plant.truth[n] for n in names]) if self.spec.criterion == "condition_scaled" else None
            return condition_number(W, beta), np.full(count, np.nan), margins
        psi = self.relative_slopes(ready, changes, self.readings(here))
        covariance = relative_covariance(np.einsum("ni,nj->ij", psi, psi) + self.learnt, count)
        stds = np.full(count, np.inf) if covariance is None else np.sqrt(np.diag(covariance))
        cost = self.cost(here)
        return judged(self.spec.criterion, covariance, self.weights, self.accuracy, cost), stds, margins

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

    def cost(self, signals: Mapping[str, FloatArray]) -> float:
        """What the criteria time and power count: the seconds of the run, or the mean square of the source."""
        import numpy as np

        if self.spec.criterion == "power":
            return float(np.mean(np.square(signals[self.source])))
        return self.duration

    def run(self, ready: Experiment, changes: Mapping[str, float]) -> dict[str, FloatArray]:
        self.simulations += 1
        return self.twin.signals_of(Simulation(ready, changes, self.twin.noise))


def put_settings(experiment: Experiment, numbers: Numbers, unit: Any, settings: Mapping[str, Any]) -> None:
    """Write a block's new settings into the numbers of its program: scalars, and tables computed from them."""
    changed = replace(unit, settings={**unit.settings, **settings}, tables={})
    for name, declared in unit.kind.declared.items():
        region = experiment.slots.arrays.get((unit.index, name))
        if region is not None and isinstance(declared, (Param, Table)) and not isinstance(declared, State):
            value = array_value(changed, name).reshape(-1)
            begin, end = int(numbers.o[region.index]), int(numbers.o[region.index + 1])
            if end - begin != value.size:
                raise DiagramError(f"block '{unit.path}': {name} has {value.size} numbers where the program has {end - begin}.")
            numbers.a[begin:end] = value
            continue
        places = experiment.slots.where.get((unit.index, name))
        if places and isinstance(declared, Param) and not isinstance(declared, Period) and name in settings:
            store = numbers.m if name in unit.kind.of(State) else numbers.p
            store[places] = settings[name]
