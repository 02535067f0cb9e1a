"""information(): what an experiment teaches about its parameters, before it is run.

The diagram is run once; its twin, with ideal sensors, is run again with each parameter a little changed; the differences, in
units of the noise, are the information. Nothing is estimated, and no identifier is needed.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

from ..contract.times import Seconds, exact
from ..diagram.spec import LogSpec
from ..errors import DiagramError
from ..estimation.process import Run
from ..estimation.twin import twin_of
from ..estimation.twin_diagram import Played
from ..simulation.noise import draw_noise
from ..simulation.overrides import Overrides
from ..simulation.prepare import Diagrammatic, experiment, prepared
from ..simulation.settings import find_setting
from ..simulation.simulation import run_experiment
from .fisher import Fisher, fisher
from .readings import NoiseWords, NoisyOutput, noise_colour, noisy_outputs, own_noise, whole_name
from .sensitivities import Column, Differences, side_by_side
from .surroundings import Surroundings, surroundings_of, watched_signals

if TYPE_CHECKING:
    from ..contract.arrays import FloatArray
    from ..records.record import Record
    from ..simulation.experiment import Experiment
    from .verdict import VerdictFinding


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
        from .verdict import findings_of

        return tuple(findings_of(self))

    @property
    def verdict(self) -> str:
        """The findings as plain words."""
        from .verdict import verdict_of

        return verdict_of(self)

    def plain(self) -> dict[str, Any]:
        """Plain numbers and words, for JSON: what is not a number, and infinity, as None."""
        stds = {"std": self.std, "relative_std": self.relative_std, "alone": self.alone}
        numbers = {key: {n: v if math.isfinite(v) else None for n, v in own.items()} for key, own in stds.items()}
        findings = [{"kind": f.kind, "parameters": list(f.parameters), "words": f.words} for f in self.findings]
        condition = self.condition if math.isfinite(self.condition) else None
        return {"values": self.values, **numbers, "condition": condition, "findings": findings, "verdict": self.verdict}

    def __str__(self) -> str:
        from .verdict import table_of

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
    ready = logging(ready, [*names, *inputs])
    check_parameters(ready, [*parameters, *nuisance], names)
    own = noisy_outputs(ready, changes, names, noise_std)
    record = run_experiment(ready, changes, draw_noise(ready, seed))
    played = [whole_name(ready.schedule.diagram, name, "inputs") for name in inputs]
    return information_of(ready, changes, record, (tuple(parameters), tuple(nuisance)), names, own, played, (every, skip))


def logging(ready: Experiment, names: Sequence[str]) -> Experiment:
    """The experiment with these signals in its log."""
    diagram = ready.diagram
    missing = [name for name in names if diagram.log is not None and name not in {entry.signal for entry in diagram.log}]
    if not missing:
        return ready
    for name in missing:
        whole_name(diagram, name)
    logged = replace(diagram, log=[*(diagram.log or ()), *(LogSpec(name) for name in missing)])
    return experiment(logged, {}, **vars(ready.options))


def check_parameters(ready: Experiment, parameters: Sequence[str], outputs: Sequence[str]) -> None:
    """Every parameter is a number of a running block, named once."""
    if not parameters or not outputs:
        raise DiagramError("information needs at least one parameter and one output.")
    for name in parameters:
        unit, key = find_setting(ready.schedule, name)
        value = unit.settings.get(key)
        if unit.after or isinstance(value, bool) or not isinstance(value, (int, float)):
            raise DiagramError(f"'{name}' is no single number of a running block, found {value!r}: nothing can be learnt of it.")
        if list(parameters).count(name) > 1:
            raise DiagramError(f"'{name}' is named twice among the parameters.")


def information_of(
    ready: Experiment,
    changes: Mapping[str, Any],
    record: Record,
    parameters: tuple[tuple[str, ...], tuple[str, ...]],
    outputs: Sequence[str],
    readings: Sequence[NoisyOutput] | None,
    inputs: Sequence[str],
    times: tuple[Seconds | None, float] = (None, 0.0),
) -> Information:
    """The information of a run that was made."""
    import numpy as np

    diagram, names = ready.schedule.diagram, [*parameters[0], *parameters[1]]
    signals = [whole_name(diagram, name) for name in outputs]
    t = (
        record.time(next((name for name in (*inputs, *signals) if name in record), ""))
        if inputs or signals[0] in record
        else record.t
    )
    watched = watched_signals(ready.schedule, names)
    played = [Played(name, record[name], hold="zero") for name in inputs]
    twin = twin_of(Run(diagram, changes, record, "information"), t, tuple(dict.fromkeys([*signals, *watched])), played)
    rows = reading_rows(t, *times)
    values = {name: float(Overrides(changes).value(ready.schedule, name)) for name in names}
    whole = twin.run({})
    sizes = {name: 1 if whole[name].ndim == 1 else whole[name].shape[1] for name in signals}
    interval = float(t[-1] - t[0]) / (len(t) - 1) * (rows.step or 1)
    if readings is None:
        ideal, lone = side_by_side(whole, signals), side_by_side({n: record[n] for n in signals}, signals) if inputs else None
        colour = own_noise(ready, changes, signals, ideal, lone)
    else:
        colour = noise_colour(readings, sizes, interval)
    differences = Differences(twin, signals, colour.stds, rows)
    sensed = differences.sensitivities(values)
    psi = colour.whiten(sensed.slopes * colour.stds[:, None])
    error = max((c.disagreement for c in sensed.columns if not c.doubtful), default=0.0) / 10.0
    doubtful = np.array([column.doubtful for column in sensed.columns])
    psi[:, :, doubtful] = 0.0  # taken as known: the others' bounds are those without it
    around = surroundings_of(twin, ready, changes, whole, values, readings, float(np.linalg.norm(sensed.signals)))
    labels = tuple(n if sizes[n] == 1 else f"{n}[{k}]" for n in signals for k in range(sizes[n]))
    return Information(
        sensed.columns,
        len(parameters[0]),
        fisher(psi.reshape(-1, len(names)), error),
        t[rows],
        psi,
        labels,
        colour.stds,
        around,
        differences.simulations + 1,
    )


def reading_rows(t: FloatArray, every: Seconds | None, skip: float = 0.0) -> slice:
    """The rows of a grid that are read."""
    interval = float(t[-1] - t[0]) / (len(t) - 1)
    step = 1 if not every else max(1, round(float(exact(every)) / interval))
    return slice(round(skip / interval) or None, None, step)
