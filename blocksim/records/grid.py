"""Signal and Grid: sampled values with a unit, and the times they share; how values are found between samples."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from ..contract.times import Seconds, exact
from ..errors import RecordError
from .conversion import name_and_unit

if TYPE_CHECKING:
    from ..contract.arrays import FloatArray, MaskArray

#: Parts of a record whose peaks are compared, and how many of the last must each be this many times the one before.
GROWTH_PARTS, LAST_PARTS, PART_GROWTH = 10, 5, 2.0
#: What they must grow by in all, and the size in SI units from which on nobody meant it: 160 turns, a thousand N m.
WHOLE_GROWTH, GROWTH_SIZE = 1e3, 1e3
FEWEST_GROWTH_ROWS = 5 * GROWTH_PARTS


@dataclass(frozen=True, eq=False)
class Signal:
    """One signal: [samples], or [samples, n] for a vector. `hold`: sampled and held; `measured`: a sensor could deliver it."""

    values: FloatArray
    unit: str = ""
    doc: str = ""
    measured: bool = False
    hold: bool = False

    def __post_init__(self) -> None:
        object.__setattr__(self, "values", floats(self.values))
        if self.values.ndim not in (1, 2) or (self.values.ndim == 2 and self.values.shape[1] == 0):
            raise RecordError(f"signal has shape {self.values.shape}; [samples] or [samples, n] is wanted.")
        if not isinstance(self.unit, str) or not isinstance(self.doc, str) or not self.unit.isprintable():
            raise RecordError(f"signal has unit {self.unit!r} and doc {self.doc!r}; both are text, the unit on one line.")


@dataclass(eq=False)
class Grid:
    """Signals that share their sample times."""

    t: FloatArray
    signals: dict[str, Signal]

    def __post_init__(self) -> None:
        self.t = floats(self.t, "time")
        problem = axis_problem(self.t)
        if problem:
            raise TimeProblem(problem[1])
        for name, signal in self.signals.items():
            if not isinstance(name, str) or not name.strip() or name != name.strip() or not name.isprintable() or name == "t":
                raise RecordError(f"{name!r} cannot name a signal; a name is printable text, and 't' is the time.")
            if len(signal.values) != len(self.t):
                raise RecordError(f"signal '{name}' has {len(signal.values)} samples, its time has {len(self.t)}.")

    @classmethod
    def trusted(cls, t: FloatArray, signals: dict[str, Signal]) -> Grid:
        """A grid whose times are known to be sound: made by a simulation."""
        grid = object.__new__(cls)
        grid.t, grid.signals = t, signals
        return grid

    def within(self, t0: float, t1: float) -> MaskArray:
        """Which samples lie from t0 to t1, both included."""
        return (self.t >= t0 - slack(self.t)) & (self.t <= t1 + slack(self.t))

    def cut(self, samples: slice | MaskArray) -> Grid:
        return Grid(self.t[samples], {n: replace(s, values=s.values[samples]) for n, s in self.signals.items()})


@dataclass(frozen=True)
class TimeAxis:
    """Where the time of somebody's table is: a column (t or time where none is named), or rows that are `every` apart."""

    column: str = ""  # with its unit or without: 'clock [ms]'
    unit: str = ""  # of the column; '' for what its head says, seconds where that says nothing
    every: Seconds | None = None  # seconds; no column is read then

    def __post_init__(self) -> None:
        column, unit = name_and_unit(self.column)
        if unit and not self.unit:
            object.__setattr__(self, "column", column)
            object.__setattr__(self, "unit", unit)


class TimeProblem(RecordError):
    """A file whose time is not known or does not grow: its columns can still be looked at."""


def floats(values: Any, what: str = "signal") -> FloatArray:
    """Numbers as float64. Objects, text and complex numbers are refused rather than converted by guessing."""
    try:
        array = np.asarray(values)
    except ValueError:
        raise RecordError(f"{what} has rows of different lengths.") from None
    if array.dtype.kind not in "fiub" and array.size:
        raise RecordError(f"{what} holds {array.dtype} data; real numbers are wanted.")
    return array.astype(np.float64, copy=False)


def measured_signal(name: str, values: Any, unit: str) -> Signal:
    try:
        return Signal(values, unit, measured=True)
    except RecordError as error:
        raise RecordError(f"'{name}': {error}") from None


def axis_problem(t: FloatArray) -> tuple[int, str] | None:
    """The first sample at which this is not a time axis, and why."""
    if t.ndim != 1:
        return 0, f"time has shape {t.shape}; one row of times is wanted."
    bad = np.flatnonzero(~np.isfinite(t))
    if len(bad):
        return int(bad[0]), f"time is {t[bad[0]]} at sample {bad[0]}; it must be finite."
    bad = np.flatnonzero(np.diff(t) <= 0) + 1
    if len(bad):
        i = int(bad[0])
        return i, f"time must grow: sample {i} is at {t[i]!s} s, the one before at {t[i - 1]!s} s. Sort or repair the data."
    return None


def slack(t: FloatArray) -> float:
    """A few units in the last place: one time reached two ways, 3 * 0.1 and 3 / 10, may differ by one."""
    return 4 * float(np.spacing(np.max(np.abs(t), initial=0.0)))


def regular_times(low: float, high: float, every: Seconds) -> FloatArray:
    """low, low + every, ... up to high; whole multiples of an exact interval, so nothing drifts."""
    try:
        step = exact(every)
    except ValueError as error:
        raise RecordError(f"every: {error} An interval in seconds is wanted.") from None
    count = (high - low + slack(np.array([low, high]))) / float(step) if step > 0 else math.inf
    if count > 1e9:
        raise RecordError(f"every must be above 0 and give fewer than 1e9 samples of {low:g} to {high:g} s, found {every}.")
    return low + np.arange(int(count) + 1, dtype=np.float64) * float(step.numerator) / float(step.denominator)


def regular_rows(rows: int, every: Seconds) -> FloatArray:
    """Times of so many rows from 0, exact as `regular_times`."""
    try:
        step = exact(every)
    except ValueError as error:
        raise RecordError(f"every: {error} An interval in seconds is wanted.") from None
    if step <= 0:
        raise RecordError(f"every must be above 0, found {every}.")
    return np.arange(rows, dtype=np.float64) * float(step.numerator) / float(step.denominator)


def interpolate_samples(t: FloatArray, values: FloatArray, times: FloatArray, method: str) -> FloatArray:
    """Values at other times: the previous sample (hold), straight lines, or a not-a-knot cubic spline."""
    if method == "hold":
        return values[np.maximum(np.searchsorted(t, times + slack(t), side="right") - 1, 0)]
    if method == "linear":
        rows = [np.interp(times, t, column) for column in values.reshape(len(t), -1).T]
        return np.stack(rows, axis=-1).reshape(len(times), *values.shape[1:])
    if len(t) < 2 or not np.isfinite(values).all():
        raise RecordError("cubic resampling needs at least two samples and finite values; use method='linear'.")
    from scipy.interpolate import CubicSpline

    return floats(CubicSpline(t, values, axis=0)(times))


def grows_apart(values: FloatArray) -> bool:
    """Whether the peaks of the last parts of a signal grow without end; a ramp, a step or a swing that dies out does not."""
    if len(values) < FEWEST_GROWTH_ROWS:
        return False
    sizes = np.abs(values.reshape(len(values), -1)).max(axis=1)
    peaks = np.array([part.max() for part in np.array_split(sizes, GROWTH_PARTS)][-LAST_PARTS - 1 :])
    with np.errstate(invalid="ignore", over="ignore"):
        steady = (peaks[1:] >= PART_GROWTH * peaks[:-1]).all()
        return bool(steady and peaks[-1] > GROWTH_SIZE and peaks[-1] > WHOLE_GROWTH * peaks[0])
