"""Two encoders of one axis compared before anything is fitted: how late one is behind the other, and how far their zeros differ.

    pair = bs.compare_encoders(t, motor, arm, ratio=1 / 224.3)
    print(pair)               # the arm is 3.00 ms late, its zero is +1.00 mrad ...

Between a motor and its arm lies a gear that twists: r phi_m - phi_a follows the torque, so the acceleration of the arm, its
weight, a load, and by a gap or hysteresis the sign of the torque and of its rate. A lag follows the speed, and a zero
nothing at all. A regression of the difference on all of these tells them apart.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np

from ..errors import RecordError
from ..records.conversion import to_base, unit_factor
from ..records.timebase import JITTER, time_base

SHIFTS = 8  # of shifting by the lag that is left
SWING = 0.15  # rad: an arm that moves less shows nothing of its weight
TELLING = 3.0  # standard deviations from which a lag or a zero is texts
SECTIONS = 12  # of the record, whose disagreement gives the standard deviations
MOST_PRESENT = 0.9  # of the rows must be there
UNLIKE = 0.2  # of the ratio: where the angles disagree by more, they are in other units, or one counts the other way
QUIET = 4.0  # times the floor of noise: where the spectrum of the speed no longer stands out so far, nothing moves


@dataclass(frozen=True)
class EncoderPair:
    """What was found: lag and zero of the second encoder against the first, each with its standard deviation."""

    lag: float  # s
    lag_std: float
    zero: float  # in the unit of the second
    zero_std: float
    ratio: float  # of the second per the first, as it was taken
    slope: float  # as the record shows it
    twist: float  # root mean square of what is left between them, the torsion of a gear
    cutoff: float  # Hz, of the filter that both went through
    unit: str = "rad"
    names: tuple[str, str] = ("the first encoder", "the second")
    interval: float = 0.0  # between samples
    parts: Mapping[str, float] = field(default_factory=dict)  # what the difference is made of, root mean squares

    @property
    def late(self) -> bool:
        return abs(self.lag) > TELLING * self.lag_std

    @property
    def shifted(self) -> bool:
        return abs(self.zero) > TELLING * self.zero_std

    @property
    def unlike(self) -> bool:
        """Whether the second moves so unlike the ratio that nothing can be said of its lag and its zero."""
        return abs(self.slope / self.ratio - 1) > UNLIKE

    def remarks(self) -> list[str]:
        """In words: what is off, how much, and what to write."""
        first, second = self.names
        texts = []
        if self.late:
            word = "late behind" if self.lag > 0 else "ahead of"
            share = f", {abs(self.lag) / self.interval:.2g} samples" if self.interval else ""
            texts.append(
                f"{second} is {1e3 * abs(self.lag):.3g} ms {word} {first} (+- {1e3 * self.lag_std:.2g} ms{share}): map it with "
                f"delay: {self.lag:.4g}, or look for it with a Channel."
            )
        if self.shifted:
            texts.append(
                f"the zero of {second} is {in_thousandths(self.zero, self.unit)} from that of {first} (+- "
                f"{in_thousandths(self.zero_std, self.unit).lstrip('+')}): map it with offset: {-self.zero:.4g}, "
                "or look for it with a Channel."
            )
        if abs(self.slope / self.ratio - 1) > 0.01:
            text = f"{second} moves {self.slope:.6g} of {first}, and the ratio was said to be {self.ratio:.6g}"
            texts.append(f"{text}{ratio_hint(self.slope / self.ratio) if self.unlike else ''}.")
        return texts

    def __str__(self) -> str:
        head = f"{self.names[1]} against {self.names[0]} (ratio {self.ratio:.6g}, below {self.cutoff:.3g} Hz)"
        if self.unlike:
            return "\n".join([head, *(f"  {text}" for text in self.remarks())])
        zero, spread, twist = (in_thousandths(v, self.unit) for v in (self.zero, self.zero_std, self.twist))
        numbers = f"lag {1e3 * self.lag:.4g} +- {1e3 * self.lag_std:.2g} ms, zero {zero} +- {spread[1:]}, twist {twist[1:]} rms"
        return "\n".join([head, f"  {numbers}", *(f"  {text}" for text in self.remarks() or ["nothing is off."])])


def ratio_hint(share: float) -> str:
    """What may be wrong where the angles of two encoders have `share` of the ratio they should have."""
    if abs(share + 1) < UNLIKE:
        return ": it counts the other way; map it with scale: -1"
    turn = next((words for factor, words in UNIT_PAIRS.items() if abs(abs(share) / factor - 1) < UNLIKE), "")
    hint = f"{turn}? " if turn else "other units, counts, or another gear? "
    turned = "" if share > 0 else ", which is negative"
    scale = f"counts have a scale: where they are mapped{turned}, and look takes them without --ratio"
    return f": {hint}Say the units of both ('q [deg]'); {scale}"


#: By how much too large the slope is, and what the units may be.
UNIT_PAIRS = {180 / math.pi: "the second in degrees", math.pi / 180: "the first in degrees"}


def in_thousandths(value: float, unit: str) -> str:
    """A small length or angle in thousandths."""
    return f"{1e3 * value:+.3g} m{unit}" if unit in ("rad", "m") else f"{value:+.4g} {unit}"


def compare_encoders(
    t: np.ndarray,
    first: np.ndarray,
    second: np.ndarray,
    ratio: float | None = None,
    *,
    load: np.ndarray | None = None,
    cutoff: float | None = None,
    unit: str = "rad",
    first_unit: str = "",
    names: tuple[str, str] = ("the first encoder", "the second"),
) -> EncoderPair:
    """Lag and zero of the second encoder of an axis against the first.

    `ratio` is the angle of the second per angle of the first; without it the slope between them is taken. `load` is a torque that
    acts on the arm and is known. `unit` is that of the second: weight follows the cosine of an angle, so degrees must be said.
    `first_unit` is that of the first where it is another: the ratio is one of angles then. Rows that are missing are bridged.
    Both are low-passed alike at `cutoff`, else where the spectrum of the motion meets the noise.
    """
    t, x, y = (np.asarray(values, dtype=float).reshape(-1) for values in (t, first, second))
    if not (len(t) == len(x) == len(y)) or len(t) < 50 * SECTIONS:
        raise RecordError(f"two encoders over the same {50 * SECTIONS} rows or more are wanted, found {len(x)} and {len(y)}.")
    present = np.isfinite(x) & np.isfinite(y)
    if present.sum() < MOST_PRESENT * len(t):
        raise RecordError("the encoders miss more than a tenth of their samples.")
    pushes = [] if load is None else [np.asarray(load, dtype=float).reshape(-1)[present]]
    t, x, y = t[present], x[present], y[present]
    if not np.ptp(x) or not np.ptp(y):
        raise RecordError("an encoder that does not move tells nothing of lag and zero.")
    x *= unit_factor(first_unit or unit, unit) or 1.0
    t, x, y, *loads = on_even_times(t, x, y, *pushes)
    step = float(t[-1] - t[0]) / (len(t) - 1)
    slope = float(np.polyfit(x, y, 1)[0])
    ratio = slope if ratio is None else float(ratio)
    if abs(slope / ratio - 1) > UNLIKE:
        return EncoderPair(0.0, 0.0, 0.0, 0.0, ratio, slope, 0.0, 0.4 / step, unit, names, step)
    band = min(cutoff or motion_band(y, step), 0.4 / step)
    base = to_base(unit)
    x, y = (low_passed(values, step, band) for values in (base * ratio * x, base * y))
    extra = low_passed(loads[0], step, band) if loads else None
    edge = math.ceil(2 / (band * step)) + 2
    inside = slice(edge, len(t) - edge)
    lag = 0.0
    for _ in range(SHIFTS):
        back = shifted_by(y, lag / step)
        result = regression(x, back, extra, step, inside)
        lag += result.lag
        if abs(result.lag) < 1e-9:
            break
    back = shifted_by(y, lag / step)
    result = regression(x, back, extra, step, inside)
    twist = (x - back + result.zero)[inside]
    return EncoderPair(
        lag + result.lag, result.lag_std, result.zero / base, result.zero_std / base, ratio, slope,
        float(np.sqrt(np.mean(twist**2))) / base, band, unit, names, step, result.parts,
    )  # fmt: skip


def speed_lag(t: np.ndarray, angle: np.ndarray, speed: np.ndarray) -> tuple[float, float, float]:
    """How late a recorded speed is behind the slope of its angle, its standard deviation, and the slope per speed, 1 or not.

    Drives filter the speeds that they tell. x'(t) = v(t + lag): what is left of a shift follows the slope of v.
    """
    t, x, v = (np.asarray(values, dtype=float).reshape(-1) for values in (t, angle, speed))
    present = np.isfinite(x) & np.isfinite(v)
    if present.sum() < max(50 * SECTIONS, MOST_PRESENT * len(t)) or not np.ptp(x[present]) or not np.ptp(v[present]):
        raise RecordError("an angle and a speed that move, without many gaps, are wanted.")
    t, x, v = on_even_times(t[present], x[present], v[present])
    step = float(t[-1] - t[0]) / (len(t) - 1)
    band = min(motion_band(x, step), 0.4 / step)
    slope, v = np.gradient(low_passed(x, step, band), step), low_passed(v, step, band)
    edge = math.ceil(2 / (band * step)) + 2
    lag, left, pieces = 0.0, 0.0, np.array_split(np.arange(edge, len(t) - edge), SECTIONS)
    for _ in range(SHIFTS):
        back = shifted_by(v, lag / step)
        W = np.stack([np.ones_like(back), back, np.gradient(back, step)], axis=1)
        parts = np.array([np.linalg.lstsq(W[p], slope[p], rcond=None)[0] for p in pieces])
        whole = np.linalg.lstsq(W[edge:-edge], slope[edge:-edge], rcond=None)[0]
        left = float(whole[2] / whole[1])
        lag += left
        if abs(left) < 1e-3 * step or abs(lag) > 0.1 * (t[-1] - t[0]):
            break
    return lag, float(np.std(parts[:, 2] / parts[:, 1], ddof=1)) / math.sqrt(SECTIONS), float(whole[1])


def on_even_times(t: np.ndarray, *signals: np.ndarray) -> list[np.ndarray]:
    """Times and signals with nothing missing between them: rows that are not there are drawn through their neighbours."""
    base = time_base(t)
    if base.jitter <= JITTER and not len(base.gaps):
        return [t, *signals]
    from scipy.interpolate import PchipInterpolator

    even = t[0] + base.interval * np.arange(int((t[-1] - t[0]) / base.interval + 1e-6) + 1)
    return [even, *(np.asarray(PchipInterpolator(t, values)(even)) for values in signals)]


@dataclass(frozen=True)
class Difference:
    lag: float
    lag_std: float
    zero: float
    zero_std: float
    parts: dict[str, float]


def regression(x: np.ndarray, y: np.ndarray, load: np.ndarray | None, step: float, inside: slice) -> Difference:
    """x - y on a constant (the zero), the speed (the lag left) and all that twists a gear."""
    speed = np.gradient(y, step)
    pull = np.gradient(speed, step)
    jerk = np.gradient(pull, step)
    columns = {"zero": np.ones_like(y), "lag": speed, "inertia": pull, "damping": jerk}
    if np.ptp(y) > SWING:
        columns |= {"weight": np.cos(y), "weight'": np.sin(y)}
    if load is not None:
        columns |= {"load": load, "load'": np.gradient(load, step)}
    rest, W = (x - y)[inside], np.stack(list(columns.values()), axis=1)[inside]
    smooth_part = np.linalg.lstsq(W / lengths(W), rest, rcond=None)[0] / lengths(W)
    twisting = [k for k, name in enumerate(columns) if name not in ("zero", "lag")]
    torque = W[:, twisting] @ smooth_part[twisting]
    rate = np.gradient(torque, step)
    torque, rate = (values / (float(np.std(values)) or 1.0) for values in (torque, rate))
    columns |= {"gap": np.zeros_like(y), "hysteresis": np.zeros_like(y), "cubic": np.zeros_like(y)}
    W = np.c_[W, np.tanh(4 * torque), np.tanh(4 * rate), torque**3]
    unit = W / lengths(W)
    values = np.linalg.lstsq(unit, rest, rcond=None)[0]
    pieces = np.array_split(np.arange(len(rest)), SECTIONS)
    scores = np.stack([unit[p].T @ (rest[p] - unit[p] @ values) for p in pieces])
    bread = np.linalg.pinv(unit.T @ unit)
    covariance = bread @ (scores.T @ scores) @ bread * SECTIONS / (SECTIONS - 1)
    values, std = values / lengths(W), np.sqrt(np.diag(covariance)) / lengths(W)
    parts = {name: float(np.sqrt(np.mean((W[:, k] * values[k]) ** 2))) for k, name in enumerate(columns)}
    # x - y = -zero + lag speed + ..., for y = arm(t - lag) + zero
    return Difference(float(values[1]), float(std[1]), -float(values[0]), float(std[0]), parts)


def lengths(W: np.ndarray) -> np.ndarray:
    size = np.sqrt(np.einsum("ij,ij->j", W, W))
    return np.where(size > 0, size, 1.0)


def motion_band(y: np.ndarray, step: float) -> float:
    """The frequency above which noise hides the motion, in Hz: where the spectrum meets the floor it has near its end."""
    from scipy.signal import welch

    count = min(len(y) - 1, 4096)
    f, power = welch(np.diff(y), 1 / step, nperseg=count, detrend="constant")
    floor = np.median((power[1:] / np.sin(np.pi * f[1:] * step) ** 2)[int(0.7 * len(f)) :])  # differences of white noise
    loud = np.flatnonzero(power[1:] > QUIET * floor * np.sin(np.pi * f[1:] * step) ** 2 + 1e-30)
    return float(f[loud[-1] + 1]) if len(loud) else 0.1 / step


def low_passed(values: np.ndarray, step: float, cutoff: float) -> np.ndarray:
    """Low-passed forward and backward, without phase."""
    from scipy.signal import butter, sosfiltfilt

    return np.asarray(sosfiltfilt(butter(4, 2 * cutoff * step, output="sos"), values))


def shifted_by(values: np.ndarray, samples: float) -> np.ndarray:
    """values(t + samples), by a cubic spline; held at the ends."""
    from scipy.interpolate import CubicSpline

    rows = np.arange(len(values), dtype=float)
    return np.asarray(CubicSpline(rows, values)(np.clip(rows + samples, 0, len(values) - 1)))
