"""Replication: an experiment made many times on truth, each time with noise of its own, fitted, beside what was predicted.

In a loop the noise of a sensor goes around it. What acted on the plant is recorded too, and taken as it was: given that, what is
left of a reading is the sensor's own error, white again, and the fit is that of maximum likelihood as without a loop.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from ..simulation.many.threads import free_cores, share_out
from ..simulation.noise import draw_noise
from ..simulation.prepare import prepared
from ..simulation.simulation import run_experiment
from .design.bench import Bench
from .design.design import predicted_information
from .fitting import Measured, batch_fit
from .sensitivities import side_by_side
from .sequential import simulated_reading

if TYPE_CHECKING:
    from ..contract.arrays import FloatArray
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


def replicate(result: DesignResult, seeds: Sequence[int], inputs: Sequence[str] = ()) -> Replication:
    """Make the experiment of a design once for every seed, and fit each: what the prediction promises, on truth.

    Without `inputs`, here or in the design, the outputs get noise as the design says. With them the diagram runs as it is,
    sensors, quantisation and loop included, and these signals are recorded and known in the fit.
    """
    import numpy as np

    spec = replace(result.spec, inputs=tuple(inputs) or result.spec.inputs)
    bench = Bench(spec)
    truth = np.array([bench.values[name] for name in bench.names])
    info = result.predicted if spec.inputs == result.spec.inputs else predicted_information(spec, result.diagram)
    assert info is not None
    stds = np.asarray(info.fisher.stds, float) / np.abs(truth)
    ready, changes = prepared(result.diagram, {}, {})

    def run(k: int) -> tuple[FloatArray, FloatArray, float]:
        random = np.random.default_rng(seeds[k])
        if bench.inputs:
            record = run_experiment(ready, changes, draw_noise(ready, seeds[k]))
            signals = {name: record[name] for name in (*bench.outputs, *bench.inputs)}
        else:
            signals = simulated_reading(bench, result.x, random)
        y = side_by_side(signals, bench.outputs)[bench.rows]
        start = truth * (1.0 + AWAY * stds * random.uniform(-1.0, 1.0, len(truth)))
        drives = {name: signals[name] for name in bench.inputs}
        fit = batch_fit(bench, [Measured(result.x, y, drives)], dict(zip(bench.names, start.tolist(), strict=True)))
        values, spread = np.array(list(fit.values.values())), np.array(list(fit.relative_stds.values()))
        return values / truth - 1.0, spread * np.abs(values / truth), fit.misfit

    errors, spreads, misfits = zip(*share_out(len(seeds), run, free_cores()), strict=True)
    return Replication(tuple(bench.names), np.array(errors), stds, np.array(spreads), np.array(misfits))
