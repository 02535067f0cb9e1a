"""Prediction on a measured record: plants begin again every `horizon` where they were, and move as their recorded drive says.

A loop that is simulated from beginning to end needs its controller, and a plant that is driven alone drifts away, be the error as
small as an offset. Short predictions need neither, and show whether a model moves as the machine does.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from ..contract.declarations import Inport
from ..errors import RecordError, listing
from ..estimation.process import Run
from ..estimation.several.first_state import first_states, moving_states
from ..estimation.twin import recorded_sources, twin_of
from ..estimation.twin_diagram import Played
from ..estimation.validation import SignalFit, fit_of
from ..records.grid import Grid
from ..records.record import Record
from .identify import MeasuredData


def predicted_fits(data: MeasuredData, horizon: float, names: list[str]) -> tuple[list[SignalFit], list[str]]:
    """Every measured signal beside what is predicted of it from at most `horizon` seconds before."""
    record, drives = data.record, measured_drives(data)
    if not drives:
        raise RecordError("nothing that drives a plant was measured: map its torque or force, e.g. --map torque=COLUMN.")
    names = [name for name in names if name not in drives]
    if not names:
        raise RecordError(f"nothing can be predicted: beside what drives, {listing(drives)}, no signal was measured.")
    t = record.time(names[0])
    step = float(t[-1] - t[0]) / (len(t) - 1)
    rows = min(max(round(horizon / step), 2), len(t) - 1)
    begins = [*range(0, len(t) - rows, rows)]
    pieces: dict[str, list[np.ndarray]] = {name: [] for name in names}
    for begin in begins:
        for name, values in window(data, drives, names, slice(begin, begin + rows + 1)).items():
            pieces[name].append(np.asarray(values, dtype=float)[1:])  # the first row is where it began
    inside = slice(1, rows * len(begins) + 1)
    inputs = {name: record[name][inside] for name in drives}
    fits, notes = [], [f"note: driven by {listing(drives)} as recorded, begun again every {rows * step:.4g} s."]
    for name in names:
        measured = np.asarray(record[name], dtype=float)[inside]
        model = np.concatenate(pieces[name]).reshape(measured.shape)
        fits.append(fit_of(name, record.unit(name), t[inside], measured, model, inputs))
        since = measured - np.repeat(np.asarray(record[name], dtype=float)[begins], rows, axis=0)
        if moved := float(np.linalg.norm(since)):
            share = float(np.linalg.norm(measured - model)) / moved
            notes.append(f"note: {name}: the error is {100 * share:.3g} % of the motion since then.")
    return fits, notes


def measured_drives(data: MeasuredData) -> list[str]:
    """The measured signals that drive what moves."""
    moving = [unit for unit in data.schedule.units if unit.kind.of(Inport) and moving_states(unit)]
    refs = {f"{ref.block}.{ref.port}" for unit in moving for refs in unit.inputs.values() for ref in refs}
    return [name for name in data.signals if name in refs]


def window(data: MeasuredData, drives: list[str], names: list[str], rows: slice) -> Mapping[str, Any]:
    """A stretch of the record simulated from its own first state, on times from 0 so that all stretches are one experiment."""
    record = data.record
    t = record.time(names[0])[rows]
    t = np.arange(len(t)) * (t[-1] - t[0]) / (len(t) - 1)
    signals = {n: record.signal(n) for n in record if len(record.time(n)) == len(record.time(names[0]))}
    part = Record([Grid(t, {n: replace(s, values=s.values[rows]) for n, s in signals.items()})], {})
    run = Run(data.schedule.diagram, {}, part, "", simulated=False)
    sources = {one.signal for one in recorded_sources(run, t)}
    played = [Played(name, part[name], hold="zero") for name in drives if name not in sources]
    readings = {n: (record.time(n), record[n]) for n in names}
    twin = twin_of(run, t, names, played, first_states(data.schedule, readings, rows.start))
    if twin.assumed:
        raise RecordError(f"predict: the record does not hold {listing(twin.assumed)}, whose time goes on; map it.")
    return twin.run({})
