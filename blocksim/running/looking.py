"""What a file holds, before anything is done with it: its columns, time base, gaps, steps of quantisation, likely units."""

from __future__ import annotations

import math
import os
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

import numpy as np

from ..errors import RecordError, listing
from ..estimation.encoder_pair import EncoderPair, compare_encoders, speed_lag
from ..records.conversion import name_and_unit, unit_factor, unit_in_name
from ..records.foreign.clock_jitter import CLEARLY, smoother_when_even
from ..records.foreign.oddities import oddities
from ..records.foreign.time_column import timed_head
from ..records.grid import Grid, TimeAxis, TimeProblem
from ..records.record import MAX_RECORD_BYTES, Record, scalar_columns
from ..records.storage import read_record
from ..records.timebase import JITTER, time_base

if TYPE_CHECKING:
    from ..contract.arrays import FloatArray

MOST_LEVELS = 1000  # different values: a column with fewer of them than that, evenly apart, is quantised
MANY_LEVELS = 30  # different values, from which a column is no sequence of steps
CLIPPED, STAY = 0.005, 5  # share of the rows, and rows in a row, at the largest value: a limit
ABRUPT = 0.3  # of the usual step from row to row: what comes to a bound more slowly comes to rest there
TURN = 2 * math.pi


@dataclass(frozen=True)
class ColumnView:
    """One column: its range, its quantisation step (0 where none shows), what is missing, and what it may be."""

    name: str
    unit: str
    low: float
    high: float
    step: float
    missing: int
    guess: str


@dataclass(frozen=True)
class FileView:
    """All that a look at a record shows."""

    source: str
    columns: tuple[ColumnView, ...]
    times: tuple[str, ...]  # one text for each time base
    remarks: tuple[str, ...] = field(default=())
    timed: bool = True  # whether the time of the rows is known

    def __str__(self) -> str:
        head = ("column", "unit", "from", "to", "step", "missing", "looks like")
        rows = [
            (c.name, c.unit, f"{c.low:.6g}", f"{c.high:.6g}", f"{c.step:.4g}" if c.step else "", str(c.missing or ""), c.guess)
            for c in self.columns
        ]
        widths = [max(len(row[k]) for row in (head, *rows)) for k in range(len(head))]
        table = ["  ".join(cell.ljust(w) for cell, w in zip(row, widths, strict=True)).rstrip() for row in (head, *rows)]
        return "\n".join([self.source, *self.times, "", *table, *(f"note: {text}" for text in self.remarks)])


def view_of_file(path: str | os.PathLike[str], axis: TimeAxis = TimeAxis()) -> tuple[Record, FileView]:  # noqa: B008 (frozen)
    """A file as somebody sees it who has never seen it before; without a sound time its rows are counted, and why is said."""
    try:
        record = read_record(path, MAX_RECORD_BYTES, axis)
    except TimeProblem as error:
        if axis.every is not None:
            raise
        record = read_record(path, MAX_RECORD_BYTES, TimeAxis(every=1))
        view = look_at(record)
        why = str(error).removeprefix(f"{path}: ")
        plain, _, choices = why.partition(" It may be")
        hints = likely_times(record) if choices.count("--time") < 2 else []  # one is asked about, several are listed
        remarks = (plain if hints else why, *hints, *view.remarks)
        return record, replace(view, times=(f"{len(record.t)} rows; their time is not known",), remarks=remarks, timed=False)
    return record, look_at(record)


def likely_times(record: Record) -> list[str]:
    """The first column that may be the time: it rises from row to row, by nearly the same."""
    for name in record:
        for label, values in scalar_columns(name, record[name]):
            steps = np.diff(values)
            if len(steps) > 1 and bool((steps > 0).all()) and float(steps.max()) < 5 * float(np.median(steps)):
                way = timed_head(label, values)
                way = way if way == label else f'"{way}"'
                return [f"column {label} rises by {np.median(steps):.4g} from row to row: is it the time? --time {way}"]
    return []


def compared_columns(record: Record, motor: str, arm: str, ratio: float | None = None, load: str | None = None) -> EncoderPair:
    """Two columns of a record as the encoders of one axis; a name may have its unit, 'arm [deg]'."""
    heads = [(name, "") if name in record else name_and_unit(name) for name in (motor, arm)]
    first, second = (name for name, _ in heads)
    units = [unit or record.unit(name) for name, unit in heads]
    angles = units[1] or "rad"
    push = None if load is None else record[load]
    return compare_encoders(
        record.time(first), record[first], record[second], ratio, load=push, unit=angles,
        first_unit=units[0], names=(first, second),
    )  # fmt: skip


def look_at(record: Record) -> FileView:
    """A record as somebody sees it who has never seen it before."""
    columns = [
        view_of(label, record.unit(name), values) for name in record for label, values in scalar_columns(name, record[name])
    ]
    provenance = record.provenance
    remarks = []
    if provenance.get("repeated_rows"):
        remarks.append(f"{provenance['repeated_rows']} rows said again what the row before said, and were left out")
    remarks += provenance.get("remarks", ())
    others = provenance.get("other_lengths", {})
    if unread := [name for name in provenance.get("ignored", ()) if name not in others]:
        words = provenance.get("words", {})  # as they stand in the first row that has one
        remarks.append(f"not read: {listing(f'{n} ({words[n][:30]!r})' if n in words else n for n in unread)}")
    if others:
        shapes = listing(f"{name} ({shape})" for name, shape in others.items())
        remarks.append(f"of other lengths, and not read: {shapes}; another column of time (--time) may go with them")
    remarks += [*alike_columns(record), *late_speeds(record), *odd_columns(record)]
    for name, value in list(provenance.get("constants", {}).items())[:20]:
        remarks.append(f"a single value: {name} = {value}")
    times = tuple(time_words(grid) for grid in record.grids)
    return FileView(str(provenance.get("source") or record.file or "the record"), tuple(columns), times, tuple(remarks))


def alike_columns(record: Record) -> list[str]:
    """Columns that hold what another one holds."""
    columns = [(label, v) for name in record for label, v in scalar_columns(name, record[name]) if np.ptp(v) > 0]
    texts = []
    for k, (label, values) in enumerate(columns):
        if twin := next((other for other, v in columns[:k] if np.array_equal(v, values, equal_nan=True)), None):
            texts.append(f"'{label}' holds the same numbers as '{twin}'")
    return texts


def late_speeds(record: Record) -> list[str]:
    """Speeds that are late behind the slope of an angle of the same file, as their units tell."""
    texts = []
    for label, name, speed in in_units(record, ("rad/s", "m/s")):
        for other, angle_name, angle in in_units(record, ("rad", "m")):
            if record.time(name) is not record.time(angle_name):
                continue
            try:
                lag, std, share = speed_lag(record.time(name), angle, speed)
            except RecordError:
                continue
            if abs(share - 1) < 0.05 and abs(lag) > 4 * std:
                word = "late behind" if lag > 0 else "ahead of"
                way = f"where it is used, map it with delay: {lag:.3g}"
                texts.append(f"'{label}' is {1e3 * abs(lag):.3g} ms {word} the slope of '{other}' (+- {1e3 * std:.2g} ms): {way}")
    return texts


def odd_columns(record: Record) -> list[str]:
    """Columns that do what nothing with a mass does, or stand out by single rows."""
    columns = [(name, label, v) for name in record for label, v in scalar_columns(name, record[name])]
    return [f"'{label}' {text}" for name, label, v in columns for text in oddities(record.time(name), v, record.unit(name))]


def measured_oddities(record: Record) -> list[str]:
    """What a measured record should not hold where something is to be found from it: odd rows, and efforts at a limit."""
    texts = odd_columns(record)
    for name in record:
        if unit_factor(record.unit(name), "rad") is None and unit_factor(record.unit(name), "m") is None:
            bounds = ((label, bound_words(v)) for label, v in scalar_columns(name, record[name]) if np.isfinite(v).all())
            texts += [f"'{label}' is {words}" for label, words in bounds if words]
    return texts


def in_units(record: Record, units: tuple[str, ...]) -> Iterator[tuple[str, str, FloatArray]]:
    """Columns whose unit can be made one of these, in it: label, name, values."""
    for name in record:
        factor = next((f for f in (unit_factor(record.unit(name), unit) for unit in units) if f is not None), None)
        if factor is not None:
            yield from ((label, name, factor * values) for label, values in scalar_columns(name, record[name]))


def time_words(grid: Grid) -> str:
    """'20001 rows, 0 to 20 s, every 0.001 s' and what is wrong with that."""
    t = grid.t
    if len(t) < 3:
        return f"{len(t)} rows"
    base = time_base(t)
    clock = base.jitter > JITTER and smoother_when_even(grid, base.places) > CLEARLY
    text = f"{len(t)} rows, {t[0]:g} to {t[-1]:g} s, every {base.interval:.6g} s ({1 / base.interval:.6g} Hz)"
    gaps = base.gaps
    if base.jitter > JITTER:
        way = f"{{every: {base.interval:.3g}, rows: even}}" if clock else f"{base.interval:.3g}"
        why = " (its signals are smoother at even times: the clock jitters)" if clock else ""
        text += f", uneven{why}: steps of {np.diff(t).min():.4g} to {np.diff(t).max():.4g} s; --resample '{way}'"
    if len(gaps):
        lost = int(base.places[-1]) + 1 - len(t)
        place = int(gaps[np.argmax(np.diff(t)[gaps - 1])])
        text += f", {len(gaps)} gap{'s' if len(gaps) > 1 else ''} ({lost} rows), the longest after {t[place - 1]:.6g} s"
    return text


def view_of(name: str, unit: str, values: FloatArray) -> ColumnView:
    finite = values[np.isfinite(values)]
    low, high = (float(finite.min()), float(finite.max())) if len(finite) else (math.nan, math.nan)
    step = quantum(finite)
    guess = guess_of(finite, unit, step)
    word = "" if unit or "counts: give scale" in guess else unit_in_name(name)
    hint = f"in {word}, by its name?" if word else ""
    return ColumnView(name, unit, low, high, step, len(values) - len(finite), "; ".join(filter(None, [guess, hint])))


def quantum(values: FloatArray) -> float:
    """The step of which all differences are multiples, as an encoder has it; 0 where there is none."""
    levels = np.unique(values)
    if len(levels) > MANY_LEVELS and bool((levels == np.round(levels)).all()):
        return float(np.diff(levels).min())  # whole numbers: counts, however many
    if len(levels) < 3 or len(levels) > max(MOST_LEVELS, len(values) // 3):
        return 0.0
    gaps = np.diff(levels)
    least = float(gaps.min())
    if least <= 1e-12 * float(np.abs(levels).max()):
        return 0.0
    share = gaps / least
    return least if float(np.abs(share - np.round(share)).max()) < 0.02 else 0.0


def guess_of(values: FloatArray, unit: str, step: float) -> str:
    """What a column may be, from its size and its steps, and what is odd about it."""
    if not len(values) or float(np.ptp(values)) == 0:
        return "constant"
    if set(np.unique(values).tolist()) <= {0.0, 1.0}:
        return "on and off"
    return "; ".join(filter(None, [likely_kind(values, unit, step), bound_words(values), repeat_words(values)]))


def bound_words(values: FloatArray) -> str:
    """Whether a column stands at its largest or smallest value as nothing does that moves: a limit was reached."""
    texts = []
    if len(np.unique(values)) < MANY_LEVELS:
        return ""  # a relay, a sequence of steps
    between = (values[1:] > values.min()) & (values[1:] < values.max())
    moving = float(np.mean(np.diff(values)[between] != 0)) if between.any() else 0.0
    for side, bound in (("largest", float(values.max())), ("smallest", float(values.min()))):
        there = values == bound
        edges = np.flatnonzero(np.diff(np.r_[0, there, 0]))  # where each stay at the bound begins and ends
        runs, steps = np.diff(edges)[::2], np.diff(values, prepend=values[0])
        arriving = float(np.median(np.abs(steps[edges[::2][runs >= STAY]]))) if runs.max() >= STAY else 0.0
        if there.sum() > CLIPPED * len(values) and moving > 0.5 and arriving > ABRUPT * float(np.sqrt(np.mean(steps**2))):
            texts.append(f"at its {side} value {bound:g} in {100 * there.mean():.2g} % of rows: a limit?")
    return ", ".join(texts)


def repeat_words(values: FloatArray) -> str:
    """Whether a column changes only every so many rows: it was sampled more slowly than they were written."""
    changes = np.flatnonzero(np.diff(values) != 0)
    if len(changes) < MANY_LEVELS:
        return ""
    steps = np.diff(changes)
    period = int(np.median(steps))
    if period > 1 and float(np.mean(steps % period == 0)) > 0.9:
        return f"new only every {period} rows"
    return ""


def is_encoder_count(counts: int) -> bool:
    """Counts that encoders have, powers of two and thousands; 3600 or 1440 are a logger's rounding to 0.1 or 0.25 degrees."""
    return counts >= 100 and (counts & (counts - 1) == 0 or (counts % 1000 == 0 and counts % 36 != 0))


def likely_kind(values: FloatArray, unit: str, step: float) -> str:
    """What a column without a unit may be, from its size and its steps."""
    if unit:
        return ""
    if step == 1 and bool((np.diff(values) >= 1).all()):
        return "a number of the row"
    if step and step == round(step) and float(np.abs(values).max()) > 10:
        return "counts: give scale"
    turns = step and TURN / step
    if turns and abs(turns - round(turns)) < 1e-3 and turns >= 100:
        return f"an encoder in rad, {round(turns)} counts per turn"
    degrees = step and 360 / step
    if degrees and abs(degrees - round(degrees)) < 1e-3 and is_encoder_count(round(degrees)) and float(np.ptp(values)) > 10:
        return f"an angle in degrees, {round(degrees)} counts per turn?"
    return ""
