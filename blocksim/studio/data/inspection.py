"""What a measured file is like before anything is made of it: its time base, gaps, columns, and which column follows which."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from ...errors import RecordError
from ...notation import unit_label
from ...records.timebase import JITTER, time_base

if TYPE_CHECKING:
    from ...contract.arrays import FloatArray
    from ...records.record import Record
    from ...records.timebase import TimeBase
    from ...running.looking import ColumnView, FileView

#: Gaps that are listed one by one.
MOST_GAPS = 10
#: Samples that a lag is looked for in, at most, to either side.
MOST_LAG = 500
#: A correlation below this says nothing about a lag.
CLEAR_LIKENESS = 0.5
#: How the fields of the pane are called that stand for options of the command line.
PANE_FIELDS = {
    "(time:, --time)": "in the field 'time'",
    "(every:, --every)": "in the field 'or every'",
    "(--time)": "in the field 'time'",
    "--time ": "time: ",
    "--resample ": "resample: ",
    "--assume ": "as in the file: ",
    "--map ": "",
    "--missing bridge": "bridge gaps",
}


@dataclass(frozen=True)
class FollowedLag:
    """How late a column is after another one, and how alike they are then."""

    seconds: float
    samples: float
    correlation: float

    def words(self, one: str, other: str) -> str:
        if self.correlation < CLEAR_LIKENESS:
            return f"{one} and {other} are too little alike to tell which comes first (correlation {self.correlation:.2f})."
        if abs(self.samples) < 0.25:
            return f"{one} and {other} move together, within a quarter of a sample (correlation {self.correlation:.3f})."
        late, early = (other, one) if self.seconds > 0 else (one, other)
        return (
            f"{late} comes {1e3 * abs(self.seconds):.4g} ms ({abs(self.samples):.3g} samples) after {early} "
            f"(correlation {self.correlation:.3f}). If it should not, give its column a delay."
        )


def inspected(record: Record, view: FileView) -> dict[str, Any]:
    """Time base, gaps and columns in numbers and words, with what a look at the file found odd."""
    t = record.t
    if len(t) < 3:
        raise RecordError(f"the file has {len(t)} rows; at least 3 are wanted.")
    base = time_base(t)
    steps = np.diff(t)
    gaps: list[int] = np.flatnonzero(steps > 1.5 * float(np.median(steps))).tolist() if view.timed else []
    words = sampling_words(record, base, gaps) if view.timed else list(view.times)
    listed = [{"at": float(t[k]), "seconds": float(steps[k])} for k in gaps[:MOST_GAPS]]
    return {
        "words": [*words, *(of_the_pane(remark, view.timed) for remark in view.remarks)],
        "gaps": listed,
        "interval": base.interval,
        "rows": len(t),
        "columns": [column_data(column) for column in view.columns],
    }


def of_the_pane(text: str, timed: bool = True) -> str:
    """A remark with the pane's fields in place of the command's options, and rows for a time that is not known."""
    text = text if timed else re.sub(r"\bt = (\S+) s\b", r"row \1", text)
    for option, name in PANE_FIELDS.items():
        text = text.replace(option, name)
    return text


def sampling_words(record: Record, base: TimeBase, gaps: list[int]) -> list[str]:
    """How many rows, from when to when, how far apart; and how evenly."""
    t, steps = record.t, np.diff(record.t)
    back = np.flatnonzero(steps <= 0)
    jitter = float(np.abs(base.offsets - base.offsets.mean()).max())
    words = [
        f"{len(t):,} rows from {t[0]:.6g} to {t[-1]:.6g} s, one every {1e3 * base.interval:.6g} ms ({1 / base.interval:.6g} Hz)."
    ]
    if back.size:
        words.append(f"time goes back or stands still at row {back[0] + 2}: such a record is refused; mend or cut it.")
    elif gaps:
        words.append(
            f"{len(gaps)} gap{'s' if len(gaps) > 1 else ''}, the longest {steps[gaps].max():.4g} s; bridge them, or cut it."
        )
    elif jitter > JITTER:
        words.append(f"the times are uneven by up to {100 * jitter:.3g} % of a step: resample to an even grid.")
    else:
        words.append("evenly sampled, no gap.")
    return words


def column_data(column: ColumnView) -> dict[str, Any]:
    """A column: its unit, range, what is missing, and what it looks like."""
    remarks = [f"{column.missing} missing"] if column.missing else []
    if column.guess:
        remarks.append(column.guess)
    step = f"in steps of {column.step:.4g}" if column.step else ""
    facts = {"name": column.name, "unit": unit_label(column.unit), "low": column.low, "high": column.high}
    return {**facts, "step": step, "remarks": remarks}


def follows(t: FloatArray, one: FloatArray, other: FloatArray) -> FollowedLag:
    """How late `other` is after `one`: the whole samples at which they are most alike, then a fit of what is left between them.

    Likeness is the correlation of the parts that overlap; `other` may be scaled, shifted and turned in its sign.
    """
    good = np.isfinite(one) & np.isfinite(other)
    if good.sum() < 16:
        raise RecordError("fewer than 16 rows have both columns.")
    a, b = (np.interp(t, t[good], values[good]) for values in (one, other))
    if np.ptp(a) == 0.0 or np.ptp(b) == 0.0:
        raise RecordError("one of the columns is constant; a lag needs motion.")
    reach = min(MOST_LAG, len(a) // 4)
    lags = np.arange(-reach, reach + 1)
    likeness = np.array([overlap_likeness(a, b, int(lag)) for lag in lags])
    whole = int(lags[np.argmax(np.abs(likeness))])
    interval = float(np.median(np.diff(t)))
    samples = refined(a, b, float(whole))
    return FollowedLag(samples * interval, samples, float(np.abs(likeness).max()))


def overlap_likeness(a: FloatArray, b: FloatArray, lag: int) -> float:
    """The correlation of b, so many samples later, with a."""
    first, second = (a[: len(a) - lag], b[lag:]) if lag >= 0 else (a[-lag:], b[: len(b) + lag])
    first, second = first - first.mean(), second - second.mean()
    size = float(np.linalg.norm(first) * np.linalg.norm(second))
    return float(first @ second) / size if size > 0 else 0.0


def refined(a: FloatArray, b: FloatArray, samples: float) -> float:
    """The lag between samples: b = c0 + c1 a(n - lag), by least squares in c0, c1 and small changes of the lag."""
    from scipy.interpolate import CubicSpline

    n = np.arange(len(a), dtype=float)
    curve = CubicSpline(n, a)
    lag = samples
    for _ in range(8):
        inside = (n - lag >= 1) & (n - lag <= len(a) - 2)
        place = n[inside] - lag
        columns = np.column_stack([np.ones(place.size), curve(place), -curve(place, 1)])
        c = np.linalg.lstsq(columns, b[inside], rcond=None)[0]
        step = c[2] / c[1] if c[1] else 0.0
        if not np.isfinite(step) or abs(lag + step - samples) > 1.0:
            return samples  # no motion to tell by: the whole samples are all that is known
        lag += float(step)
        if abs(step) < 1e-6:
            break
    return lag
