"""The time base of a measured record: even, nearly even, with gaps or irregular; and an even grid made of it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import TYPE_CHECKING, Any

import numpy as np

from ..errors import RecordError
from .foreign.clock_jitter import CLEARLY, smoother_when_even
from .grid import Grid, Signal, interpolate_samples, regular_rows, regular_times
from .record import METHODS

if TYPE_CHECKING:
    from ..contract.arrays import FloatArray, IndexArray

#: Of a sampling interval: what rounding of printed times comes to, and what a logger's clock may jitter.
TIME_ROUNDING, JITTER = 1e-4, 0.01
WAYS = (
    "Put it on an even grid with resample: {{every: {0:.6g}, method: linear}} (--resample {0:.6g}), or, where the rows are known "
    "to be even and only their times are not, give every: {0:.6g} in place of the column of time (--every {0:.6g})."
)


@dataclass(frozen=True)
class TimeBase:
    """Sample k of a record lies `places[k]` intervals after the first, `offsets[k]` intervals late."""

    interval: float
    places: IndexArray
    offsets: FloatArray

    @property
    def jitter(self) -> float:
        return float(np.abs(self.offsets).max())

    @property
    def gaps(self) -> IndexArray:
        """Rows before which others are missing."""
        return np.flatnonzero(np.diff(self.places) > 1) + 1


def time_base(t: FloatArray) -> TimeBase:
    """The even grid that lies nearest to the times: the median step, then a straight line through all of them."""
    steps = np.diff(t)
    median = float(np.median(steps))
    places = np.concatenate(([0], np.cumsum(np.round(steps / median))))
    span = places - places.mean()
    interval = simple(float(span @ (t - t.mean()) / (span @ span)), len(t)) if places[-1] > 0 else median
    offsets = (t - t[0]) / interval - places
    return TimeBase(interval, places.astype(np.int64), offsets - np.median(offsets))


def simple(interval: float, samples: int) -> float:
    """The round number an interval is, where rounding of the times is all that lies between: 1e-3 rather than 0.00100000001."""
    for digits in (3, 6, 9):
        near = Fraction(interval).limit_denominator(10**digits)
        if near and abs(float(near) - interval) * samples <= TIME_ROUNDING * interval:
            return float(near)
    return interval


def even(grid: Grid, bridge: bool, name: str, notes: list[str]) -> Grid:
    """The grid with even times. What is not even within JITTER is refused; missing rows become nan where they may be bridged."""
    t = grid.t
    if len(t) < 2:
        raise RecordError(f"{name} has {row_words(len(t))}; a record has at least two.")
    base = time_base(t)
    if base.jitter > JITTER:
        raise RecordError(irregular(grid, base, name))
    gaps = base.gaps
    if len(gaps) and not bridge:
        i, lost = int(gaps[0]), int(base.places[-1]) + 1 - len(t)
        raise RecordError(
            f"{name} has a gap: row {i - 1} is at {t[i - 1]:.9g} s, row {i} at {t[i]:.9g} s, and rows are {base.interval:.6g} s "
            f"apart. {lost} rows are missing in {len(gaps)} place{'s' if len(gaps) > 1 else ''}. Say missing: bridge to put nan "
            "there for blocks that bridge them, such as IRWSmoother; or resample: {every: "
            f"{base.interval:.6g}}} to fill them by straight lines."
        )
    if not len(gaps) and base.jitter <= TIME_ROUNDING:
        return grid
    if base.jitter > TIME_ROUNDING:
        notes.append(f"{name}: times jitter by up to {100 * base.jitter:.2g} % of {base.interval:.6g} s and were taken as even")
    if len(gaps):
        notes.append(f"{name}: {int(base.places[-1]) + 1 - len(t)} missing rows of {len(t)} became nan")
    return evenly_placed(grid, base)


def evenly_placed(grid: Grid, base: TimeBase) -> Grid:
    """The samples at their places of the even grid, nan at places that have none."""
    rows = int(base.places[-1]) + 1
    signals = {}
    for name, signal in grid.signals.items():
        values = np.full((rows, *signal.values.shape[1:]), np.nan)
        values[base.places] = signal.values
        signals[name] = replace(signal, values=values)
    return Grid(grid.t[0] + regular_rows(rows, base.interval), signals)


def irregular(grid: Grid, base: TimeBase, name: str) -> str:
    t = grid.t
    steps = np.diff(t)
    interval = float(f"{base.interval:.3g}")
    if (ratio := smoother_when_even(grid, base.places)) > CLEARLY:
        return (
            f"{name} is not evenly sampled by its times: steps are {steps.min():.6g} to {steps.max():.6g} s. But its signals "
            f"are {ratio:.2g} times smoother at even times: the clock jitters, not the sampling. Say resample: {{every: "
            f"{interval:.6g}, rows: even}} (--resample '{{every: {interval:.6g}, rows: even}}'), which puts every row where it "
            "belongs and fills gaps."
        )
    row = int(np.argmax(np.abs(base.offsets - base.offsets[0]) > JITTER))
    return (
        f"{name} is not evenly sampled: steps are {steps.min():.6g} to {steps.max():.6g} s, {np.median(steps):.6g} s in the "
        f"median; the first sample off the grid by more than {100 * JITTER:g} % of that is row {row}, at {t[row]:.9g} s. "
        + WAYS.format(interval)
    )


def with_even_rows(grid: Grid, notes: list[str]) -> Grid:
    """The grid with every row at the place of an even one that lies nearest to its time."""
    base = time_base(grid.t)
    twice = int(np.count_nonzero(np.diff(base.places) < 1))
    if twice:
        raise RecordError(
            f"resample: rows: even: {twice} rows fall on the place of the one before; their times are too uneven for rows that "
            f"are {base.interval:.6g} s apart. Leave it out."
        )
    worst = float(np.abs(base.offsets).max())
    notes.append(
        f"rows were taken as even, {base.interval:.6g} s apart; their times were off by up to {100 * worst:.2g} % of that"
    )
    return Grid(grid.t[0] + base.places * base.interval, grid.signals)


def resampled(grids: Sequence[Grid], every: Any, method: str, notes: list[str], rows: str = "") -> Grid:
    """All signals on one even grid; where a sample is nan its neighbours are joined. `rows='even'` mistrusts the clock."""
    if method not in METHODS:
        raise RecordError(f"resample: there is no method '{method}'. Methods are: {', '.join(METHODS)}.")
    for grid in grids:
        if len(grid.t) < 2:
            raise RecordError(f"resample: '{next(iter(grid.signals))}' has {row_words(len(grid.t))}; at least two are wanted.")
    for grid in grids if not rows else ():
        base = time_base(grid.t)
        if base.jitter > JITTER and (ratio := smoother_when_even(grid, base.places)) > CLEARLY:
            notes.append(
                f"its signals are {ratio:.2g} times smoother at even times: the clock jitters; say rows: even in resample"
            )
    grids = [with_even_rows(grid, notes) for grid in grids] if rows else grids
    low, high = max(g.t[0] for g in grids), min(g.t[-1] for g in grids)
    if low >= high:
        raise RecordError(f"resample: the signals share no time: one starts at {low:g} s, one ends at {high:g} s.")
    t = regular_times(float(low), float(high), every)
    if len(t) < 2:
        raise RecordError(f"resample: every {every} s leaves {len(t)} sample of the {high - low:g} s that the signals share.")
    notes.append(f"put on an even grid of {every} s ({method})")
    notes += [text for grid in grids if (text := bridged_gaps(grid, method))]
    signals = {}
    for grid in grids:
        for name, signal in grid.signals.items():
            signals[name] = signal_at(grid.t, signal, t, method, name, notes)
        slow = float(np.median(np.diff(grid.t))) if len(grid.t) > 1 else 0.0
        if len(t) > 1 and t[1] - t[0] > 1.5 * slow:
            notes.append(f"resampled from {slow:.6g} s to {t[1] - t[0]:.6g} s without a filter: what is faster folds back")
    return Grid(t, signals)


def bridged_gaps(grid: Grid, method: str) -> str:
    """What was filled where rows are missing: how many, and the longest stretch."""
    steps = np.diff(grid.t)
    median = float(np.median(steps))
    wide = steps > 1.5 * median
    if not wide.any():
        return ""
    k = int(np.argmax(steps))
    lost = int(np.round(steps[wide] / median - 1).sum())
    return (
        f"'{next(iter(grid.signals))}' and what has its times: {int(wide.sum())} gap{'s' if wide.sum() > 1 else ''}, about "
        f"{lost} rows, bridged ({method}); the longest is {steps[k]:.4g} s after {grid.t[k]:.6g} s"
    )


def signal_at(t: FloatArray, signal: Signal, times: FloatArray, method: str, name: str, notes: list[str]) -> Signal:
    """A signal at other times, from the samples it has."""
    there = np.isfinite(signal.values.reshape(len(t), -1)).all(axis=1)
    if there.sum() < 2:
        raise RecordError(f"signal '{name}' has {row_words(there.sum())} not missing; at least two are wanted.")
    if not there.all():
        notes.append(f"'{name}': {int((~there).sum())} missing samples were filled ({method})")
    return replace(signal, values=interpolate_samples(t[there], signal.values[there], times, method))


def row_words(count: int) -> str:
    return f"{count} row{'' if count == 1 else 's'}"
