"""What a measured file is like before anything is made of it: its time base, gaps, columns, and which column follows which."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from ...errors import RecordError
from ...notation import unit_label
from ...records.record import scalar_columns
from ...records.timebase import JITTER, time_base

if TYPE_CHECKING:
    from ...contract.arrays import FloatArray
    from ...records.record import Record

#: Gaps that are listed one by one.
MOST_GAPS = 10
#: Samples that a lag is looked for in, at most, to either side.
MOST_LAG = 500
#: A correlation below this says nothing about a lag.
CLEAR_LIKENESS = 0.5


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


def inspected(record: Record) -> dict[str, Any]:
    """Time base, gaps and columns in numbers and words."""
    t = record.t
    if len(t) < 3:
        raise RecordError(f"the file has {len(t)} rows; at least 3 are wanted.")
    base = time_base(t)
    steps = np.diff(t)
    median = float(np.median(steps))
    gaps = np.flatnonzero(steps > 1.5 * median)
    back = np.flatnonzero(steps <= 0)
    jitter = float(np.abs(base.offsets - base.offsets.mean()).max())
    words = [
        f"{len(t):,} rows from {t[0]:.6g} to {t[-1]:.6g} s, one every {1e3 * base.interval:.6g} ms ({1 / base.interval:.6g} Hz)."
    ]
    if back.size:
        words.append(f"time goes back or stands still at row {back[0] + 2}: such a record is refused; mend or cut it.")
    elif gaps.size:
        words.append(
            f"{gaps.size} gap{'s' if gaps.size > 1 else ''}, the longest {steps[gaps].max():.4g} s; bridge them, or cut it."
        )
    elif jitter > JITTER:
        words.append(f"the times are uneven by up to {100 * jitter:.3g} % of a step: resample to an even grid.")
    else:
        words.append("evenly sampled, no gap.")
    listed = [{"at": float(t[k]), "seconds": float(steps[k])} for k in gaps[:MOST_GAPS]]
    return {"words": words, "gaps": listed, "interval": base.interval, "rows": len(t), "columns": column_data(record)}


def column_data(record: Record) -> list[dict[str, Any]]:
    """Every column: its unit, range, and what is missing or stands still."""
    rows = []
    for name in record:
        for label, values in scalar_columns(name, record[name]):
            good = np.isfinite(values)
            missing = int((~good).sum())
            some = values[good]
            remarks = []
            if missing:
                remarks.append(f"{missing} missing")
            if some.size and float(np.ptp(some)) == 0.0:
                remarks.append("constant")
            low, high = (float(some.min()), float(some.max())) if some.size else (float("nan"), float("nan"))
            rows.append({"name": label, "unit": unit_label(record.unit(name)), "low": low, "high": high, "remarks": remarks})
    return rows


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
