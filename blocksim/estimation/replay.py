"""Replay: a block that could have run in the loop, run over a record instead, sample by sample.

An observer or a recursive estimator that reads filtered signals, or a measured record, works after the run; so does the
arithmetic between. It sees its inputs held from sample to sample, and acts at its own sample hits.
"""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from typing import TYPE_CHECKING, Any

from ..contract.block import SampledBlock, memory, outport, table
from ..contract.declarations import Outport, Param
from ..diagram.diagram import Diagram
from ..diagram.spec import LogSpec
from ..errors import DiagramError, Problem
from ..records.record import Record
from ..schedule.schedule import Unit
from ..simulation.experiment import make_experiment
from ..simulation.simulation import Simulation
from .process import Run, arriving, plants_in, started, with_signals

if TYPE_CHECKING:
    import numpy as np


class Samples(SampledBlock):
    """y[k] = values[k]: a recorded signal, row by row."""

    values_: Any = Param(default=[[0.0]], doc="a row per sample", shape=(None, None))
    place: float = memory(0.0, "row of the next sample")
    values = table("a row per sample", shape=(None, None))
    y = outport("the recorded signal", size="columns")

    @staticmethod
    def table_values(values_: Any) -> Any:
        return values_

    @staticmethod
    def size_columns(values_: Any) -> int:
        return len(values_[0])

    @staticmethod
    def output(values: Any, place: float, columns: int, out: Any) -> None:
        for j in range(columns):
            out[j] = values[int(place), j]

    @staticmethod
    def update(place: float) -> float:
        return place + 1.0


def replay(unit: Unit, record: Record, run: Run) -> Record:
    """The record with the outputs of one running block that reads it."""
    import numpy as np

    t, arrivals = arriving(unit, record)
    interval = sample_interval(unit, t)
    check_present(unit, t, arrivals)
    diagram = Diagram(f"replay of {unit.path}")
    inputs: dict[str, Any] = {}
    for port, arrays in arrivals.items():
        many = isinstance(arrays, list)
        names = []
        for k, values in enumerate(arrays if many else [arrays]):
            names.append(f"{port}_{k}" if many else port)
            samples = Samples(Ts=str(interval), values_=[[0.0] * columns(values)])
            samples.settings["values_"] = np.asarray(values, dtype=float).reshape(len(t), -1)
            diagram.add(f"in_{names[-1]}", samples)
        inputs[port] = [f"in_{n}.y" for n in names] if many else f"in_{names[0]}.y"
    block = started(unit, record, run)
    named = {setting: plant for setting, plant in plants_in(unit, run).items() if plant is not None}
    for setting, plant in named.items():
        diagram.known[unit.settings[setting] or setting] = plant.kind(**plant.settings)
    if any(unit.settings[setting] is None for setting in named):  # what drove its port is not in this diagram
        block = type(block)(**{**block.settings, **{s: block.settings[s] or s for s in named}})
    diagram.add("block", block, inputs or None, place=unit.node.place, places=unit.node.places)
    ports = list(unit.kind.of(Outport))
    diagram.log = [LogSpec(f"block.{port}") for port in ports]
    try:
        grid: dict[str, Any] = {"step": str(interval), "every": str(interval), "stop": str(interval * (len(t) - 1))}
        result = Simulation(make_experiment(diagram, start=0, solver="rk4", **grid)).run()
    except DiagramError as error:
        raise DiagramError(
            [replace(p, what=p.what.replace("block 'block'", f"block '{unit.path}'")) for p in error.problems]
        ) from None
    measured = all(record.signal(f"{r.block}.{r.port}").measured for refs in unit.inputs.values() for r in refs)
    return with_signals(record, t, unit, {port: result[f"block.{port}"] for port in ports}, measured)


def check_present(unit: Unit, t: np.ndarray, inputs: dict[str, Any]) -> None:
    """What runs sample by sample has nothing to bridge a missing one with."""
    import numpy as np

    for port, arrays in inputs.items():
        for values in arrays if isinstance(arrays, list) else [arrays]:
            rows = np.flatnonzero(~np.isfinite(values.reshape(len(t), -1)).all(axis=1))
            if len(rows):
                words = f"{len(rows)} samples are missing or infinite, the first at {t[rows[0]]:.9g} s"
                way = "Put an IRWSmoother or a Resample before it, which bridge them."
                raise DiagramError([Problem(f"block '{unit.path}': input '{port}': {words}. {way}", unit.node.at("in"))])


def columns(values: np.ndarray) -> int:
    return 1 if values.ndim == 1 else values.shape[1]


def sample_interval(unit: Unit, t: np.ndarray) -> Fraction:
    """The interval of a regular grid, exact."""
    import numpy as np

    def refuse(words: str) -> DiagramError:
        return DiagramError([Problem(f"block '{unit.path}': {words}", unit.node.place)])

    if len(t) < 2:
        raise refuse(f"a record of {len(t)} samples is too short to run over.")
    mean = float(t[-1] - t[0]) / (len(t) - 1)
    if abs(t - t[0] - mean * np.arange(len(t))).max() > 1e-3 * mean:
        raise refuse("its inputs are not sampled evenly; resample the record first.")
    return Fraction(mean).limit_denominator(10**7)
