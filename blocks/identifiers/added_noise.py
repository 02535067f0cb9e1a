"""The bias of a regression on a measured record, whose noise nobody can draw again: more of the same noise is added.

To first order noise in the regressor biases in proportion to its variance. So the same noise once more, drawn and
added to what was measured, through the same filters and the same regression, moves the estimate by as much again (Cook and
Stefanski 1994, simulation extrapolation). How large it is the record says itself: what three differences leave of a motion
is noise. What filters bend, and what noise did on its way around the loop, is not in it.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

import numpy as np

from blocksim.errors import DiagramError, RecordError
from blocksim.estimation.process import Run, process_units
from blocksim.records.grid import Grid
from blocksim.records.record import Record
from blocksim.schedule.flatten import flatten
from blocksim.schedule.schedule import Schedule, Unit

from .regression.bias import FEWEST_DRAWS, STREAM, Bias, mean_bias, values_of_run

DIFFERENCES = 3  # in a row
FEWEST_ROWS = 16  # of which a level of noise can be told


def added_noise_bias(run: Run, names: Sequence[str], values: np.ndarray, draws: int) -> Bias:
    """What the noise of the measured motion did to these estimates."""
    schedule = flatten(run.diagram)
    unit = next(u for u in [*schedule.units, *schedule.after_run] if u.path == run.path)
    sources = {name: noise_level(run.record[name]) for name in motion_sources(schedule, unit, run.record)}
    if not sources:
        raise RecordError("bias: none of the motion comes from a measured column, so that there is no noise to be told.")
    chain = list(makers(schedule, unit, set(run.record.provenance.get("columns", {}))))
    changes = {**run.changes, f"{run.path}.bias": "off", f"{run.path}.errors": "white"}
    if unit.block.settings.get("channels") == "told":  # once is enough
        changes[f"{run.path}.channels"] = "off"
    random, rows = np.random.default_rng(STREAM), []
    for _ in range(draws):
        noisy = with_noise(run.record, sources, random)
        try:
            record = process_units(schedule, chain, [], noisy, changes, simulated=False)
        except DiagramError:
            continue
        row = values_of_run(record.estimates, run.path, names)
        if row is not None and np.isfinite(row).all():
            rows.append(row)
    if len(rows) < FEWEST_DRAWS:
        raise RecordError(f"bias: with noise added only {len(rows)} of {draws} draws led to an estimate.")
    return replace(mean_bias(np.array(rows), values), noise={n: float(np.max(std)) for n, std in sources.items()})


def motion_sources(schedule: Schedule, unit: Unit, record: Record) -> list[str]:
    """Measured signals that the motion of a regression is made of; what drives the plant is none of it."""
    plant = unit.plants["model"]
    measured = set(record.provenance.get("columns", {}))
    drives = set(leaves(schedule, unit, measured, [plant.drive]))
    return [name for name in dict.fromkeys(leaves(schedule, unit, measured, plant.motion)) if name not in drives]


def leaves(schedule: Schedule, unit: Unit, measured: set[str], ports: Sequence[str]) -> Iterator[str]:
    """The measured signals behind some inputs of a block."""
    by_path = {u.path: u for u in [*schedule.units, *schedule.after_run]}
    for port in ports:
        for ref in unit.inputs.get(port, []):
            name = f"{ref.block}.{ref.port}"
            if name in measured:
                yield name
            else:
                maker = by_path[ref.block]
                yield from leaves(schedule, maker, measured, list(maker.inputs))


def makers(schedule: Schedule, unit: Unit, measured: set[str], visits: set[str] | None = None) -> Iterator[Unit]:
    """The blocks between measured signals and a block, each after those it reads, and the block itself."""
    visits = set() if visits is None else visits
    by_path = {u.path: u for u in [*schedule.units, *schedule.after_run]}
    for refs in unit.inputs.values():
        for ref in refs:
            if f"{ref.block}.{ref.port}" not in measured and ref.block not in visits:
                yield from makers(schedule, by_path[ref.block], measured, visits)
    if unit.path not in visits:
        visits.add(unit.path)
        yield unit


def noise_level(values: np.ndarray) -> np.ndarray:
    """The standard deviation of white noise in each column of a signal that is smooth otherwise."""
    columns = values.reshape(len(values), -1)
    if len(columns) < FEWEST_ROWS:
        raise RecordError(f"bias: {len(columns)} samples are too few to tell noise from motion.")
    third = np.diff(columns, DIFFERENCES, axis=0)
    gain = 20.0  # 1 + 9 + 9 + 1: what three differences make of a variance of 1
    return np.asarray(np.sqrt(np.nanmean(third**2, axis=0) / gain))


def with_noise(record: Record, sources: dict[str, np.ndarray], random: np.random.Generator) -> Record:
    """The record with that much noise added to these signals."""
    grids = []
    for grid in record.grids:
        signals = dict(grid.signals)
        for name in sources.keys() & signals.keys():
            values = signals[name].values
            extra = random.standard_normal(values.reshape(len(values), -1).shape) * sources[name]
            signals[name] = replace(signals[name], values=values + extra.reshape(values.shape))
        grids.append(Grid(grid.t, signals))
    noisy = Record(grids, record.provenance, record.aliases)
    noisy.estimates = record.estimates
    return noisy
