"""Channels as they come: columns that are late or have another zero, known or told by the other encoder of an axis."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from ..contract.declarations import Outport
from ..diagram.spec import ColumnSpec
from ..errors import RecordError, listing
from ..estimation.encoder_pair import EncoderPair, compare_encoders
from ..estimation.several.first_state import source_read
from ..records.grid import Grid
from ..schedule.schedule import Schedule
from .columns import ESTIMATED, target, targets

#: Of a sample: delays so near to whole samples move rows as they are.
EVEN = 1e-6


@dataclass(frozen=True)
class Readings:
    """Two measured signals that read the motor and the arm of one flexible axis, and a measured load on it."""

    motor: str
    arm: str
    ratio: float
    load: str = ""


def corrected(
    schedule: Schedule, grids: Sequence[Grid], columns: Mapping[str, ColumnSpec], notes: list[str]
) -> tuple[list[Grid], list[EncoderPair]]:
    """The grids with every column moved by its delay and estimated zeros taken away; and what encoders of one axis say.

    What is left of lag and zero after that is told in the notes, before anything is fitted.
    """
    signals_by_name = targets(schedule)
    specs = {target(schedule, signals_by_name, name).name: spec for name, spec in columns.items()}
    delays = {n: float(s.delay) for n, s in specs.items() if s.delay not in (None, ESTIMATED)}
    grids = shifted_grids(grids, {n: d for n, d in delays.items() if d}, notes)
    requests = {n: [key for key in ("delay", "offset") if getattr(s, key) == ESTIMATED] for n, s in specs.items()}
    requests = {n: keys for n, keys in requests.items() if keys}
    pairs = compared_pairs(schedule, grids)
    if strangers := [n for n in requests if n not in {p.names[1] for p in pairs}]:
        raise RecordError(
            f"{listing(strangers)}: a delay or an offset can be estimated for the encoder of an arm whose motor has one too: a "
            "plant with phi_m and phi_a, both measured. Give numbers, or look for them with a Channel and OutputError."
        )
    moves, left = {}, []
    for pair in pairs:
        keys = requests.get(pair.names[1], [])
        if pair.unlike and keys:
            raise RecordError(f"{listing(keys)} of {pair.names[1]} cannot be estimated: {pair.remarks()[0]}")
        if "offset" in keys:
            grids = [lowered(grid, pair.names[1], pair.zero) for grid in grids]
            notes.append(f"'{pair.names[1]}': offset {-pair.zero:.4g} estimated from '{pair.names[0]}' (+- {pair.zero_std:.2g})")
        if "delay" in keys:
            moves[pair.names[1]] = pair.lag
            notes.append(f"'{pair.names[1]}': delay {pair.lag:.4g} s estimated from '{pair.names[0]}' (+- {pair.lag_std:.2g})")
        rest = replace(pair, lag=0.0 if "delay" in keys else pair.lag, zero=0.0 if "offset" in keys else pair.zero)
        left += rest.remarks()
    notes += [f"encoders: {text}" for text in left]
    return shifted_grids(grids, moves, notes), pairs


def compared_pairs(schedule: Schedule, grids: Sequence[Grid]) -> list[EncoderPair]:
    """What the two encoders of every flexible axis say of each other; nothing of records too short or still to tell."""
    pairs = []
    for grid in grids:
        for one in axis_readings(schedule, list(grid.signals)):
            load = grid.signals[one.load].values if one.load else None
            motor, arm = (grid.signals[name] for name in (one.motor, one.arm))
            try:
                pairs.append(
                    compare_encoders(
                        grid.t, motor.values, arm.values, one.ratio, load=load, unit=arm.unit or "rad", names=(one.motor, one.arm)
                    )
                )
            except RecordError:
                continue
    return pairs


def axis_readings(schedule: Schedule, names: Sequence[str]) -> Iterator[Readings]:
    """The flexible axes of a diagram whose motor and arm were both measured."""
    for unit in schedule.units:
        if {"phi_m", "phi_a"} <= set(unit.kind.of(Outport)) and isinstance(unit.settings.get("r"), (int, float)):
            sources = {name: source_read(schedule, name) for name in names}
            motor, arm = (next((n for n, s in sources.items() if s == (unit.path, p)), "") for p in ("phi_m", "phi_a"))
            loads = [f"{ref.block}.{ref.port}" for ref in unit.inputs.get("load", [])]
            pushes = {*loads, *(".".join(source_read(schedule, name)) for name in loads)}  # behind a hold, too
            load = next((n for n in names if n in pushes), "")
            if motor and arm:
                yield Readings(motor, arm, float(unit.settings["r"]), load)


def lowered(grid: Grid, name: str, zero: float) -> Grid:
    """A grid with a zero taken from one of its signals."""
    if name not in grid.signals:
        return grid
    signal = grid.signals[name]
    return Grid(grid.t, {**grid.signals, name: replace(signal, values=signal.values - zero)})


def shifted_grids(grids: Sequence[Grid], delays: Mapping[str, float], notes: list[str]) -> list[Grid]:
    """Signals moved to when they happened, and all grids cut to the time that every one of them still covers."""
    if not delays:
        return list(grids)
    first, last = max(0.0, -min(delays.values())), max(0.0, max(delays.values()))
    result = []
    for grid in grids:
        step = float(grid.t[-1] - grid.t[0]) / (len(grid.t) - 1)
        signals = {n: replace(s, values=shifted_rows(s.values, delays.get(n, 0.0) / step)) for n, s in grid.signals.items()}
        rows = slice(math.ceil(first / step - EVEN), max(0, len(grid.t) - math.ceil(last / step - EVEN)))
        if len(grid.t[rows]) < 2:
            raise RecordError(f"delay: {listing(f'{d:g} s' for d in delays.values())} leaves nothing of {np.ptp(grid.t):g} s.")
        result.append(Grid(grid.t[rows], {n: replace(s, values=s.values[rows]) for n, s in signals.items()}))
    notes += [f"'{name}': moved by its delay of {delay:.6g} s" for name, delay in delays.items()]
    return result


def shifted_rows(values: np.ndarray, samples: float) -> np.ndarray:
    """values[k + samples]: rows as they are where that is whole, else by a cubic spline; ends are held, and cut off later."""
    rows = np.arange(len(values))
    if abs(samples - round(samples)) < EVEN:
        return values[np.clip(rows + round(samples), 0, len(values) - 1)]
    from scipy.interpolate import CubicSpline

    present = np.isfinite(values.reshape(len(values), -1)).all(axis=1)
    if present.sum() < 2:
        return values
    places = np.clip(rows + samples, 0, len(values) - 1)
    moved = np.asarray(CubicSpline(rows[present], values[present], axis=0)(places))
    whole = present[np.floor(places).astype(int)] & present[np.ceil(places).astype(int)]
    moved[~whole] = np.nan  # what lies beside a missing sample stays missing
    return moved
