"""information(): what an experiment teaches about its parameters, before it is run.

The diagram is run once; its twin, with ideal sensors, is run again with each parameter a little changed; the differences, in
units of the noise, are the information. Nothing is estimated, and no identifier is needed.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from ..contract.times import Seconds
from ..simulation.prepare import Diagrammatic, prepared
from .fisher import Fisher, fisher
from .measuring.measuring import Measuring, measuring_of
from .measuring.readings import NoiseWords
from .sensitivities import Column, Differences
from .surroundings import Surroundings, surroundings_of

if TYPE_CHECKING:
    from ..contract.arrays import FloatArray
    from .verdict.findings import VerdictFinding


@dataclass(frozen=True)
class Information:
    """What the readings tell of the parameters: a bound that no unbiased method beats, and words on what is not seen."""

    columns: tuple[Column, ...]  # parameters first, then nuisance
    wanted_count: int
    fisher: Fisher = field(repr=False)
    t: FloatArray = field(repr=False)
    psi: FloatArray = field(repr=False)  # whitened sensitivities, [time, reading, parameter]
    readings: tuple[str, ...]
    noise_stds: FloatArray
    surroundings: Surroundings = field(repr=False)
    simulations: int = 0

    @property
    def parameters(self) -> tuple[str, ...]:
        return tuple(column.name for column in self.columns[: self.wanted_count])

    @property
    def nuisance(self) -> tuple[str, ...]:
        return tuple(column.name for column in self.columns[self.wanted_count :])

    @property
    def values(self) -> dict[str, float]:
        return {column.name: column.value for column in self.columns[: self.wanted_count]}

    @functools.cached_property
    def std(self) -> dict[str, float]:
        """The Cramer-Rao bound of each parameter, all others and the nuisance unknown too; inf where it is not seen, nan where
        the outputs are no smooth function of it."""
        import numpy as np

        doubtful = np.array([column.doubtful for column in self.columns])
        stds = np.where(doubtful, np.nan, self.fisher.stds)
        return {name: float(std) for name, std in zip(self.parameters, stds, strict=False)}

    @functools.cached_property
    def relative_std(self) -> dict[str, float]:
        """The same as a share of the parameter; nan for one that is 0."""
        return {name: std / abs(self.values[name]) if self.values[name] else float("nan") for name, std in self.std.items()}

    @property
    def alone(self) -> dict[str, float]:
        """The bound where all other parameters are known."""
        return {name: float(std) for name, std in zip(self.parameters, self.fisher.alone, strict=False)}

    @property
    def covariance(self) -> FloatArray:
        return self.fisher.covariance[: self.wanted_count, : self.wanted_count]

    @property
    def correlation(self) -> FloatArray:
        return self.fisher.correlation[: self.wanted_count, : self.wanted_count]

    @property
    def condition(self) -> float:
        """Of the sensitivities with columns of unit length."""
        return self.fisher.condition

    @property
    def null_directions(self) -> list[dict[str, float]]:
        """Changes of parameters that no reading shows: {'robot.k1': 1.0, 'robot.A': -1.0}."""
        names = [column.name for column in self.columns]
        return [
            {name: float(part) for name, part in zip(names, row, strict=True) if abs(part) * scale > 0.01 * top}
            for row, scale, top in ((row, 1.0, abs(row).max()) for row in self.fisher.null_directions)
        ]

    @functools.cached_property
    def influence(self) -> FloatArray:
        """Psi M^-1, [time, reading, parameter]: its squares sum to the variances; a column that is not bounded stays as it is."""
        import numpy as np

        inverse = np.where(np.isfinite(self.fisher.covariance), self.fisher.covariance, 0.0)
        whole = np.einsum("nrp,pq->nrq", self.psi, inverse)
        return np.where(self.fisher.bounded, whole, self.psi)[:, :, : self.wanted_count]

    def by_time(self, bins: int = 20) -> tuple[FloatArray, dict[str, FloatArray]]:
        """Edges of stretches of time, and the share of what is learnt of each parameter in each of them."""
        import numpy as np

        edges = np.linspace(self.t[0], self.t[-1], bins + 1)
        place = np.clip(np.searchsorted(edges, self.t, side="right") - 1, 0, bins - 1)
        power = np.square(self.influence).sum(axis=1)
        shares = np.stack([np.bincount(place, column, bins) for column in power.T], axis=1).astype(float)
        return edges, self.shared(shares)

    def by_frequency(self) -> tuple[FloatArray, dict[str, FloatArray]]:
        """Frequencies [Hz], and the share of what is learnt of each parameter at each of them."""
        import numpy as np

        interval = float(self.t[-1] - self.t[0]) / (len(self.t) - 1)
        power = np.square(np.abs(np.fft.rfft(self.influence, axis=0))).sum(axis=1)
        power[1 : None if len(self.t) % 2 else -1] *= 2
        return np.fft.rfftfreq(len(self.t), interval).astype(float), self.shared(power)

    def shared(self, power: FloatArray) -> dict[str, FloatArray]:
        import numpy as np

        total = power.sum(axis=0)
        return dict(zip(self.parameters, (power / np.where(total > 0, total, 1.0)).T, strict=True))

    @functools.cached_property
    def findings(self) -> tuple[VerdictFinding, ...]:
        """What is not seen, or badly, each with its reason."""
        from .verdict.findings import findings_of

        return tuple(findings_of(self))

    @property
    def verdict(self) -> str:
        """The findings as plain words."""
        from .verdict.findings import verdict_of

        return verdict_of(self)

    def plain(self) -> dict[str, Any]:
        """Plain numbers and words, for JSON: what is not a number, and infinity, as None."""
        stds = {"std": self.std, "relative_std": self.relative_std, "alone": self.alone}
        numbers = {key: {n: v if math.isfinite(v) else None for n, v in own.items()} for key, own in stds.items()}
        findings = [{"kind": f.kind, "parameters": list(f.parameters), "words": f.words} for f in self.findings]
        condition = self.condition if math.isfinite(self.condition) else None
        return {"values": self.values, **numbers, "condition": condition, "findings": findings, "verdict": self.verdict}

    def __str__(self) -> str:
        from .verdict.wording import table_of

        return f"{table_of(self)}\n\n{self.verdict}"


def information(
    diagram: Diagrammatic,
    parameters: Sequence[str],
    outputs: Sequence[str] | str,
    noise_std: NoiseWords = None,
    inputs: Sequence[str] = (),
    *,
    nuisance: Sequence[str] = (),
    params: Mapping[str, Any] | None = None,
    every: Seconds | None = None,
    skip: float = 0.0,
    stop: Seconds | None = None,
    step: Seconds | None = None,
    solver: str | None = None,
    seed: int | None = None,
) -> Information:
    """The Fisher information that `outputs` carry about `parameters`, any numbers of the diagram, initial states included.

    `noise_std` is a number, one for each output, or {std, resolution, spectrum}; without it the diagram's own noise counts,
    sensors, quantisation and what the loop makes of them. `inputs` are recorded signals, known as they were. `nuisance` are
    parameters that are unknown too, but of which nothing is told. `every` is the time between readings, `skip` what is left out
    at the start. A parameter that the outputs do not depend on smoothly gets nan, one they do not show inf; `verdict` says why.
    """
    options = {name: value for name, value in (("stop", stop), ("step", step), ("solver", solver)) if value is not None}
    names = [outputs] if isinstance(outputs, str) else list(outputs)
    ready, changes = prepared(diagram, params or {}, options)
    sought = (tuple(parameters), tuple(nuisance))
    return information_of(measuring_of(ready, changes, sought, names, noise_std, inputs, (every, skip), seed))


def information_of(measuring: Measuring, checked: bool = True, answers: Mapping[str, float] | None = None) -> Information:
    """What a measurement teaches. Unchecked, a slope is one difference; `answers` of drives may be those of another run."""
    import numpy as np

    twin, colour, values = measuring.twin, measuring.colour, measuring.values
    whole = twin.run({})
    differences = Differences(twin, measuring.signals, colour.stds, measuring.rows)
    sensed = differences.sensitivities(values, checked)
    psi = colour.whiten(sensed.slopes * colour.stds[:, None])
    error = max((c.disagreement for c in sensed.columns if not c.doubtful), default=0.0) / 10.0
    doubtful = np.array([column.doubtful for column in sensed.columns])
    psi[:, :, doubtful] = 0.0  # taken as known: the others' bounds are those without it
    size = float(np.linalg.norm(sensed.signals))
    first = measuring.rows.start or 0  # what is not read gives no reasons
    moved = {name: signal[first:] for name, signal in whole.items()}
    words = measuring.resolutions, size, measuring.signals
    around = surroundings_of(twin, measuring.ready, measuring.changes, moved, values, *words, answers)
    return Information(
        sensed.columns,
        measuring.wanted_count,
        fisher(psi.reshape(-1, len(values)), error),
        measuring.t[measuring.rows],
        psi,
        measuring.labels,
        colour.stds,
        around,
        differences.simulations + 1,
    )
