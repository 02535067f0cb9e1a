"""Replication: an experiment made many times on truth, each time with noise of its own, fitted, beside what was predicted.

In a loop the noise of a sensor goes around it. What acted on the plant is recorded too, and taken as it was: given that, what is
left of a reading is the sensor's own error, white again, and the fit is that of maximum likelihood as without a loop.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from ..estimation.process import Run
from ..estimation.twin import twin_of
from ..estimation.twin_diagram import Played
from ..simulation.many.threads import share_out
from ..simulation.noise import draw_noise
from ..simulation.prepare import prepared
from ..simulation.simulation import run_experiment
from .design.bench import Bench
from .fitting import Measured, batch_fit
from .information import Information, information
from .readings import whole_name
from .sensitivities import side_by_side
from .sequential import simulated_reading

if TYPE_CHECKING:
    from ..contract.arrays import FloatArray
    from ..records.record import Record
    from ..simulation.experiment import Experiment
    from .design.design import DesignResult

#: Half the width of a 95 % interval, in standard deviations.
WITHIN = 1.959964
#: How far from the truth a fit begins, in predicted standard deviations.
AWAY = 2.0


@dataclass(frozen=True)
class Replication:
    """Relative errors of all runs, [run, parameter], what was predicted of them, and what each fit said of itself."""

    names: tuple[str, ...]
    errors: FloatArray
    predicted: FloatArray
    told: FloatArray
    misfits: FloatArray

    @property
    def ratio(self) -> FloatArray:
        """Standard deviation of the estimates over the predicted one."""
        spread: FloatArray = self.errors.std(axis=0, ddof=1) / self.predicted
        return spread

    @property
    def coverage(self) -> FloatArray:
        """The share of runs whose own 95 % interval has the truth."""
        import numpy as np

        share: FloatArray = np.mean(np.abs(self.errors) <= WITHIN * self.told, axis=0)
        return share

    @property
    def bias(self) -> FloatArray:
        """The mean error in predicted standard deviations of one run."""
        share: FloatArray = self.errors.mean(axis=0) / self.predicted
        return share

    def __str__(self) -> str:
        head = f"{'parameter':14} {'predicted %':>12} {'ratio':>7} {'coverage %':>11} {'bias':>7}"
        columns = zip(self.names, self.predicted, self.ratio, self.coverage, self.bias, strict=True)
        lines = [f"{n:14} {100 * p:12.3g} {r:7.3f} {100 * c:11.1f} {b:7.3f}" for n, p, r, c, b in columns]
        return "\n".join([head, *lines, f"{len(self.errors)} runs, misfit {self.misfits.mean():.4f}"])


class PlayedBench(Bench):
    """A bench on which recorded inputs are played as they were, in place of what made them."""

    def __init__(self, bench: Bench, result: DesignResult, record: Record, inputs: Sequence[str]):
        self.__dict__.update(bench.__dict__)
        played = [Played(name, record[name], hold="zero") for name in inputs]
        changes = {**result.spec.params, **result.params}
        self.twin = twin_of(Run(result.diagram, changes, record, "replication"), record.t, tuple(bench.outputs), played)

    def experiment_of(self, x: FloatArray) -> tuple[Experiment, dict[str, float]]:
        return self.twin.experiment, {}


def replicate(result: DesignResult, seeds: Sequence[int], inputs: Sequence[str] = ()) -> Replication:
    """Make the experiment of a design once for every seed, and fit each: what the prediction promises, on truth.

    Without `inputs` the outputs get noise as the design says. With them the diagram runs as it is, sensors, quantisation and loop
    included, and these signals are recorded and known in the fit.
    """
    import numpy as np

    bench = Bench(result.spec)
    inputs = [whole_name(result.diagram, name, "inputs") for name in inputs]
    truth = np.array([bench.values[name] for name in bench.names])
    info = result.predicted if not inputs else played_information(result, inputs)
    assert info is not None
    stds = np.asarray(info.fisher.stds, float) / np.abs(truth)
    ready, changes = prepared(result.diagram, {**result.spec.params, **result.params}, dict(result.spec.simulate))

    def run(k: int) -> tuple[FloatArray, FloatArray, float]:
        random = np.random.default_rng(seeds[k])
        own: Bench = bench
        if inputs:
            record = run_experiment(ready, changes, draw_noise(ready, seeds[k]))
            own, signals = PlayedBench(bench, result, record, inputs), {name: record[name] for name in bench.outputs}
        else:
            signals = simulated_reading(bench, result.x, random)
        y = side_by_side(signals, bench.outputs)[bench.rows]
        start = truth * (1.0 + AWAY * stds * random.uniform(-1.0, 1.0, len(truth)))
        fit = batch_fit(own, [Measured(result.x, y)], dict(zip(bench.names, start.tolist(), strict=True)))
        values, spread = np.array(list(fit.values.values())), np.array(list(fit.relative_stds.values()))
        return values / truth - 1.0, spread * np.abs(values / truth), fit.misfit

    errors, spreads, misfits = zip(*share_out(len(seeds), run, os.cpu_count() or 1), strict=True)
    return Replication(tuple(bench.names), np.array(errors), stds, np.array(spreads), np.array(misfits))


def played_information(result: DesignResult, inputs: Sequence[str]) -> Information:
    """What the outputs tell where these inputs are known as they were."""
    spec = result.spec
    ask: dict[str, Any] = {
        "nuisance": spec.nuisance,
        "every": spec.every,
        "skip": spec.skip,
        "params": {**spec.params, **result.params},
    }
    return information(result.diagram, list(spec.parameters), list(spec.outputs), dict(spec.outputs), inputs, **ask)
