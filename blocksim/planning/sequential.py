"""Sequential design: design at what is known, measure, fit everything measured so far, design again, until it is enough.

campaign = bs.Campaign("design.yaml", guess={"robot.k1": 1.2e6})
result = campaign.design()                 # a torque for the next experiment; result.write("folder")
campaign.learn(result, record)             # what was measured with it
campaign.relative_std, campaign.values
"""

from __future__ import annotations

import itertools
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from ..errors import DiagramError, RecordError
from ..notation import short_labels
from ..simulation.elements import settings_in_diagram
from ..simulation.many.threads import free_cores, share_out
from ..simulation.overrides import Overrides
from .design.bench import Bench
from .design.design import DesignResult, design
from .design.file import load_design
from .design.spec import DesignSpec
from .design.words import placed
from .fitting import BatchFit, Measured, batch_fit
from .sensitivities import side_by_side

if TYPE_CHECKING:
    from ..contract.arrays import FloatArray
    from ..records.record import Record

#: Residuals this many times the noise say that the model is not what was measured.
BAD_MISFIT = 1.5


@dataclass(frozen=True)
class Stage:
    """One round of a campaign: the design, the estimates after it, and their relative standard deviations."""

    design: DesignResult | None  # None where it was made by an earlier call, and lies in a folder
    values: dict[str, float]
    relative_std: dict[str, float]
    misfit: float


class Campaign:
    """A row of experiments on one system; `values` is what is believed of its parameters."""

    def __init__(self, source: str | os.PathLike[str] | Mapping[str, Any] | DesignSpec, guess: Mapping[str, float] | None = None):
        self.spec = placed(source if isinstance(source, DesignSpec) else load_design(source))
        self.bench = Bench(self.spec)
        strange = [name for name in guess or {} if name not in self.bench.names]
        if strange:
            raise DiagramError(f"guess: '{strange[0]}' is none of the parameters of the design.")
        self.values: dict[str, float] = {**self.bench.values, **(guess or {})}
        self.measured: list[Measured] = []
        self.stages: list[Stage] = []
        self.last: BatchFit | None = None

    @property
    def seconds(self) -> float:
        """How long the experiments took so far, all together."""
        return sum(self.bench.duration_of(one.x) for one in self.measured)

    @property
    def relative_std(self) -> dict[str, float]:
        """Of the parameters sought, from all that was measured; infinite before the first experiment."""
        if self.last is None:
            return dict.fromkeys(self.spec.parameters, float("inf"))
        return {name: self.last.relative_stds[name] for name in self.spec.parameters}

    def design(self) -> DesignResult:
        """The next experiment: best for what the earlier ones left open, at the values believed now.

        Its diagram keeps the values of the design's own, which on simulated truth are the truth.
        """
        spec = replace(self.spec, params={**self.spec.params, **self.values})
        result = design(spec, learnt=None if self.last is None else self.last.information)
        own = settings_in_diagram(result.diagram, self.bench.values)
        return replace(result, diagram=Overrides(own).put_into(result.diagram))

    def learn(self, result: DesignResult, record: Record | Mapping[str, FloatArray]) -> BatchFit:
        """Fit everything measured so far, the outputs of this record included; it has the rows of the design's log."""
        return self.learn_at(result.x, record, result)

    def learn_at(self, x: FloatArray, record: Record | Mapping[str, FloatArray], result: DesignResult | None = None) -> BatchFit:
        """The same for the unknowns of a design, which may have been made long before."""
        signals = self.signals_of(record, x)
        y = side_by_side(signals, self.bench.outputs)[self.bench.rows]
        self.measured.append(Measured(x, y, {name: signals[name] for name in self.bench.inputs}))
        self.last = batch_fit(self.bench, self.measured, self.values)
        self.values = dict(self.last.values)
        self.stages.append(Stage(result, self.values, self.relative_std, self.last.misfit))
        return self.last

    def rows(self, x: FloatArray) -> int:
        """How many rows the record of an experiment has."""
        return int((self.bench.duration_of(x) - self.bench.t[0]) / self.bench.interval + 1e-6) + 1

    def signals_of(self, record: Record | Mapping[str, FloatArray], x: FloatArray) -> dict[str, FloatArray]:
        """The outputs of a record, and the inputs that it must hold, on the grid of the design."""
        import numpy as np

        names = [*self.bench.outputs, *self.bench.inputs]
        missing = [name for name in names if name not in record]
        if missing:
            what = "reads" if missing[0] in self.bench.outputs else "takes as known"
            raise RecordError(f"the record has no '{missing[0]}', which the design {what}.")
        signals = {name: np.asarray(record[name], float) for name in names}
        rows = {len(values) for values in signals.values()}
        if rows != {self.rows(x)}:
            raise RecordError(f"the record has {rows.pop()} rows, the experiment of the design has {self.rows(x)}.")
        return signals

    def enough(self, accuracy: Mapping[str, float]) -> bool:
        return all(std <= accuracy.get(name, float("inf")) for name, std in self.relative_std.items())

    def __str__(self) -> str:
        head = f"{'after':>8} {'misfit':>7}  " + "  ".join(f"{label:>18}" for label in short_labels(list(self.spec.parameters)))
        rows = [head]
        ends = itertools.accumulate(self.bench.duration_of(one.x) for one in self.measured)
        for end, stage in zip(ends, self.stages, strict=True):
            parts = [f"{stage.values[name]:10.4g} {100 * stage.relative_std[name]:5.2g} %" for name in self.spec.parameters]
            rows.append(f"{end:6.4g} s {stage.misfit:7.3f}  " + "  ".join(f"{part:>18}" for part in parts))
        return "\n".join(rows)


def sequential(
    source: str | os.PathLike[str] | Mapping[str, Any] | DesignSpec,
    *,
    guess: Mapping[str, float],
    accuracy: Mapping[str, float] | float,
    budget: float,
    seed: int = 0,
) -> Campaign:
    """A whole campaign on simulated truth, which is that of the diagram: designed from `guess` on, until the relative `accuracy`
    of every parameter is met or `budget` seconds of experiments are used."""
    import numpy as np

    campaign = Campaign(source, guess)
    goals = accuracy if isinstance(accuracy, Mapping) else dict.fromkeys(campaign.spec.parameters, accuracy)
    if budget < campaign.bench.duration:
        raise DiagramError(f"budget: {budget:g} s are less than one experiment of {campaign.bench.duration:g} s.")
    random = np.random.default_rng(seed)
    while not campaign.enough(goals) and campaign.seconds + campaign.bench.duration <= budget:
        result = campaign.design()
        campaign.learn(result, simulated_reading(campaign.bench, result.x, random))
    return campaign


def simulated_reading(bench: Bench, x: FloatArray, random: Any) -> dict[str, FloatArray]:
    """What would be recorded at the truth of the diagram: known inputs, and outputs with noise of the colour that is said."""
    import numpy as np

    ready, numbers = bench.experiment_of(x)
    signals = bench.run(ready, numbers)
    assert bench.colour is not None
    noise = np.zeros((len(signals[bench.outputs[0]]), len(bench.colour.stds)))
    noise[bench.rows] = bench.colour.draw(random, len(noise[bench.rows]))  # what is not read has no need of any
    y, column = {name: signals[name] for name in bench.inputs}, 0
    for name in bench.outputs:
        values = signals[name]
        width = 1 if values.ndim == 1 else values.shape[1]
        y[name] = values + noise[:, column : column + width].reshape(values.shape)
        column += width
    return y


def monte_carlo(bench: Bench, x: FloatArray, seeds: Sequence[int]) -> FloatArray:
    """Estimates of one experiment from several draws of its noise, a row each: what the predicted ellipses promise."""
    import numpy as np

    def estimate(k: int) -> list[float]:
        reading = simulated_reading(bench, x, np.random.default_rng(seeds[k]))
        y = side_by_side(reading, bench.outputs)[bench.rows]
        drives = {name: reading[name] for name in bench.inputs}
        return list(batch_fit(bench, [Measured(x, y, drives)], bench.values).values.values())

    return np.array(share_out(len(seeds), estimate, free_cores()))
