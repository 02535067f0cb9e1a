"""Which column of somebody's file is its time; where none says so, which ones may be."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping

import numpy as np

from ...errors import RecordError, did_you_mean
from ..conversion import unit_factor
from ..grid import TimeAxis, TimeProblem, floats, regular_rows
from ..record import brief_listing

TIME_LIKE = re.compile("time|zeit|stamp|sec|micros|millis|x_value|x-axis|temps|tid")
COLUMN_OF_MATRIX = re.compile(r"(.+)\[(\d+)\]")
#: Words of a name that tell the unit of a time, and first times too large for any other: dates since 1970.
UNIT_HINTS = {"ns": "ns|nano|nanos|nsec|nsecs", "us": "us|micro|micros|usec|usecs", "ms": "ms|milli|millis|msec|msecs"}
DATES = {"ns": 1e17, "us": 1e14, "ms": 1e11}
A_DATE = 1e8  # s, three years: from which on a time is a date
#: Single numbers that tell the interval of rows, or their rate.
INTERVAL_NAMES, RATE_NAMES = ("ts", "dt", "sampletime", "sampling_time"), ("fs", "samplingrate", "sampling_rate", "samplerate")


def as_vector(array: np.ndarray) -> np.ndarray:
    """N x 1 and 1 x N, the way MATLAB keeps a signal, as N."""
    return array.reshape(-1) if array.ndim == 2 and 1 in array.shape else array


def time_column(arrays: Mapping[str, np.ndarray], axis: TimeAxis, units: Mapping[str, str]) -> tuple[str, np.ndarray, float]:
    """The name and the values, in seconds, of the time: a column, or as many rows as there are, evenly apart.

    Times that are dates are counted from the first row, whose date comes with them: such numbers leave no digits for an interval.
    """
    if axis.every is not None:
        lengths = [max(a.shape) for a in arrays.values() if a.dtype.kind not in "SU" and a.size > 1]
        return "every", regular_rows(max(lengths, key=lambda n: (lengths.count(n), n)) if lengths else 0, axis.every), 0.0
    key = time_name(arrays, axis, arrays)
    unit = axis.unit or units.get(key, "s")
    seconds = unit_factor(unit, "s")
    if seconds is None:
        raise RecordError(f"its time '{key}' is in {unit}, which is no unit of time: s, ms, us, min or h are.")
    t = as_vector(floats(arrays[key] if key in arrays else matrix_column(arrays, key), "time"))
    if t.ndim == 1 and len(t) and np.isfinite(t).all() and t[0] * seconds >= A_DATE:
        return key, (t - t[0]) * seconds, float(t[0] * seconds)
    return key, t if seconds == 1 else t * seconds, 0.0


def matrix_column(arrays: Mapping[str, np.ndarray], name: str) -> np.ndarray | None:
    """data[0]: a column of a matrix, or a row of one that lies; None where there is none."""
    match = COLUMN_OF_MATRIX.fullmatch(name)
    matrix = arrays.get(match[1]) if match else None
    if match is None or matrix is None or matrix.ndim != 2:
        return None
    upright = matrix if len(matrix) >= matrix.shape[1] else matrix.T
    return upright[:, int(match[2])] if int(match[2]) < upright.shape[1] else None


def time_name(names: Iterable[str], axis: TimeAxis, arrays: Mapping[str, np.ndarray]) -> str:
    """The column asked for, else exactly t or time first: beside a column 't', a column 'T' is a temperature."""
    names = list(names)
    if axis.column and axis.column not in names and matrix_column(arrays, axis.column) is None:
        raise RecordError(
            f"there is no column '{axis.column}' for the time. It holds: {brief_listing(names)}."
            + did_you_mean(axis.column, names)
        )
    if axis.column:
        return axis.column
    exact = [n for candidate in ("t", "time") for n in names if n == candidate]
    alike = [n for n in names if n.lower() in ("t", "time")]
    if not alike:  # data.t of a struct
        alike = [n for n in names if n.rpartition(".")[2].lower() in ("t", "time")]
    if len(alike) > 1 and not exact and "." in alike[0]:
        raise TimeProblem(f"several times: {brief_listing(alike)}. Say which with time: (--time {alike[0]}).")
    if not alike:
        raise TimeProblem(
            f"no time: found {brief_listing(names)}. Name the time 't' or 'time', say which column it is (time:, --time), or "
            f"give the interval of the rows (every:, --every).{suggestions(arrays)}"
        )
    return (exact or alike)[0]


def suggestions(arrays: Mapping[str, np.ndarray]) -> str:
    """What in a file may be its time, with what to write."""
    columns = {
        label: values
        for name, array in arrays.items()
        if array.dtype.kind in "fiu"
        for label, values in (
            [(f"{name}[{k}]", matrix_column(arrays, f"{name}[{k}]")) for k in range(min(min(array.shape), 20))]
            if array.ndim == 2 and 1 not in array.shape
            else [(name, as_vector(array))]
        )
        if values is not None
    }
    growing = [n for n, v in columns.items() if len(v) > 2 and bool((np.diff(v) > 0).all())]
    growing.sort(key=lambda n: (not TIME_LIKE.search(n.lower()), bool((np.diff(columns[n]) == 1).all())))
    ways = [f'--time "{timed_head(n, columns[n])}"' for n in growing]
    numbers = {n: float(v.reshape(-1)[0]) for n, v in columns.items() if v.size == 1}
    for name, value in numbers.items():
        word = name.rpartition(".")[2].lower()
        if word in (*INTERVAL_NAMES, *RATE_NAMES) and value > 0:
            ways.append(f"--every {value if word in INTERVAL_NAMES else 1 / value:.9g} ({name} = {value:g})")
    return f" It may be: {brief_listing(ways)}." if ways else ""


def timed_head(name: str, values: np.ndarray) -> str:
    """A column of time with the unit that its name or its size tells, 'stamp [ms]'."""
    words = re.split(r"[^a-z]+", name.lower())
    for unit, hints in UNIT_HINTS.items():
        if set(hints.split("|")) & set(words) or float(values[0]) >= DATES[unit]:
            return f"{name} [{unit}]"
    return name
