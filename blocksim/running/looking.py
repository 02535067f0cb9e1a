"""What a file holds, before anything is done with it: its columns, time base, gaps, steps of quantisation, likely units."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np

from ..records.record import Record, scalar_columns
from ..records.timebase import JITTER, time_base

if TYPE_CHECKING:
    from ..contract.arrays import FloatArray

MOST_LEVELS = 1000  # different values: a column with fewer of them than that, evenly apart, is quantised
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

    def __str__(self) -> str:
        head = ("column", "unit", "from", "to", "step", "missing", "looks like")
        rows = [
            (c.name, c.unit, f"{c.low:.6g}", f"{c.high:.6g}", f"{c.step:.4g}" if c.step else "", str(c.missing or ""), c.guess)
            for c in self.columns
        ]
        widths = [max(len(row[k]) for row in (head, *rows)) for k in range(len(head))]
        table = ["  ".join(cell.ljust(w) for cell, w in zip(row, widths, strict=True)).rstrip() for row in (head, *rows)]
        return "\n".join([self.source, *self.times, "", *table, *(f"note: {text}" for text in self.remarks)])


def look_at(record: Record) -> FileView:
    """A record as somebody sees it who has never seen it before."""
    columns = [
        view_of(label, record.unit(name), values) for name in record for label, values in scalar_columns(name, record[name])
    ]
    provenance = record.provenance
    remarks = []
    if provenance.get("repeated_rows"):
        remarks.append(f"{provenance['repeated_rows']} rows said again what the row before said, and were left out")
    if provenance.get("ignored"):
        remarks.append(f"not read: {', '.join(provenance['ignored'])}")
    for name, value in list(provenance.get("constants", {}).items())[:20]:
        remarks.append(f"a single value: {name} = {value}")
    times = tuple(time_words(grid.t) for grid in record.grids)
    return FileView(str(provenance.get("source") or record.file or "the record"), tuple(columns), times, tuple(remarks))


def time_words(t: FloatArray) -> str:
    """'20001 rows, 0 to 20 s, every 0.001 s' and what is wrong with that."""
    if len(t) < 3:
        return f"{len(t)} rows"
    base = time_base(t)
    text = f"{len(t)} rows, {t[0]:g} to {t[-1]:g} s, every {base.interval:.6g} s ({1 / base.interval:.6g} Hz)"
    gaps = base.gaps
    if base.jitter > JITTER and not len(gaps):
        return f"{text}, uneven: steps of {np.diff(t).min():.4g} to {np.diff(t).max():.4g} s; --resample {base.interval:.3g}"
    if len(gaps):
        lost = int(base.places[-1]) + 1 - len(t)
        place = int(gaps[np.argmax(np.diff(t)[gaps - 1])])
        text += f", {len(gaps)} gap{'s' if len(gaps) > 1 else ''} ({lost} rows), the longest after {t[place - 1]:.6g} s"
    return text


def view_of(name: str, unit: str, values: FloatArray) -> ColumnView:
    finite = values[np.isfinite(values)]
    low, high = (float(finite.min()), float(finite.max())) if len(finite) else (math.nan, math.nan)
    step = quantum(finite)
    return ColumnView(name, unit, low, high, step, len(values) - len(finite), guess_of(finite, unit, step))


def quantum(values: FloatArray) -> float:
    """The step of which all differences are multiples, as an encoder has it; 0 where there is none."""
    levels = np.unique(values)
    if len(levels) < 3 or len(levels) > max(MOST_LEVELS, len(values) // 3):
        return 0.0
    gaps = np.diff(levels)
    least = float(gaps.min())
    if least <= 1e-12 * float(np.abs(levels).max()):
        return 0.0
    share = gaps / least
    return least if float(np.abs(share - np.round(share)).max()) < 0.02 else 0.0


def guess_of(values: FloatArray, unit: str, step: float) -> str:
    """What a column without a unit may be, from its size and its steps."""
    if not len(values) or float(np.ptp(values)) == 0:
        return "constant"
    if unit:
        return ""
    if step == 1 and float(np.abs(values).max()) > 10:
        return "counts: give scale"
    if set(np.unique(values).tolist()) <= {0.0, 1.0}:
        return "on and off"
    turns = step and TURN / step
    if turns and abs(turns - round(turns)) < 1e-3 and turns >= 100:
        return f"an encoder in rad, {round(turns)} counts per turn"
    degrees = step and 360 / step
    if degrees and abs(degrees - round(degrees)) < 1e-3 and degrees >= 100 and float(np.ptp(values)) > 10:
        return f"an angle in degrees, {round(degrees)} counts per turn?"
    return ""
