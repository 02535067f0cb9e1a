"""Other times for recorded signals: an even grid, or a part of the record."""

from __future__ import annotations

from typing import Any

import numpy as np

from blocksim.contract.block import RecordBlock, inport, outport, required, static
from blocksim.errors import RecordError
from blocksim.records.grid import interpolate_samples, regular_times

__all__ = ["Resample", "Trim"]


class Resample(RecordBlock):
    """y[k] = u(t0 + k every): a signal on an even grid, between samples by straight lines, a spline or the last value.

    For records whose samples are not evenly spaced, and for signals of different rates that are to be compared: resample them all
    alike. Missing samples (nan) are passed over. Nothing is filtered, so an interval longer than the record's folds fast signals
    back into slow ones: Decimate filters first. The output has its own times.
    """

    family = "record"
    icon = "0,0.3 0.2,0.75 0.4,0.95 0.6,0.7 0.8,0.4 1,0.55; 0.1,0 0.1,0.5; 0.37,0 0.37,0.9; 0.63,0 0.63,0.65; 0.9,0 0.9,0.47"
    same_unit = True
    example = """
format: 1
simulate: {stop: 2.0, solver: rk4, step: 1e-3}
blocks:
  angle: {type: Sine, amplitude: 0.5, frequency: 1.0}
  even:  {type: Resample, every: 4e-3, method: cubic, in: angle}
"""

    every: float = required("interval of the new grid", "s", above=0)
    method: str = static("linear", "what is taken between samples", choices=("linear", "hold", "cubic"))
    u = inport("signal; nan where missing", size="any")
    y = outport("the signal on the even grid", size="n")

    def process(self, t, u):
        there = np.isfinite(u.reshape(len(t), -1)).all(axis=1)
        if np.isinf(u).any():
            raise RecordError("samples are infinite; mark missing ones as nan.")
        if np.count_nonzero(there) < 2:
            raise RecordError(f"at least 2 samples that are not missing are wanted, found {np.count_nonzero(there)}.")
        return interpolate_samples(t[there], u[there], self.times(t), self.method)

    def times(self, t: Any) -> Any:
        if len(t) < 2:
            raise RecordError(f"at least 2 samples are wanted, found {len(t)}.")
        times = regular_times(float(t[0]), float(t[-1]), self.every)
        even = len(times) == len(t) and np.abs(times - t).max() <= 1e-9 * self.every
        return t if even else times  # the very same times, so that it goes with what was even before

    @staticmethod
    def size_n(u):
        return u


class Trim(RecordBlock):
    """y[k] = u[k + first]: a signal without its first and last samples, where filters and differences have transients.

    Samples are left out by number (`first`, `last`) and by time (`start`, `stop`), whatever leaves out more. Signals that are
    compared must be trimmed alike. The output has its own times.
    """

    family = "record"
    icon = "0.28,0 0.16,0 0.16,1 0.28,1; 0.72,0 0.84,0 0.84,1 0.72,1; 0.28,0.4 0.4,0.75 0.6,0.25 0.72,0.6"
    same_unit = True
    example = """
format: 1
simulate: {stop: 2.0, solver: rk4, step: 1e-3}
blocks:
  angle: {type: Sine, amplitude: 0.5, frequency: 1.0}
  speed: {type: CentralDifference, in: angle}
  inner: {type: Trim, first: 1, last: 1, in: speed}
"""

    first: int = static(0, "samples left out at the start", kind=int)
    last: int = static(0, "samples left out at the end", kind=int)
    start: float | None = static(None, "time before which samples are left out [s]", kind=(int, float))
    stop: float | None = static(None, "time after which samples are left out [s]", kind=(int, float))
    u = inport("signal", size="any")
    y = outport("the part of the signal", size="n")

    def process(self, t, u):
        return u[self.kept(t)]

    def times(self, t: Any) -> Any:
        return t[self.kept(t)]

    def kept(self, t: np.ndarray) -> np.ndarray:
        """Which samples stay."""
        place, slack = np.arange(len(t)), 1e-9 * float(np.ptp(t)) if len(t) else 0.0
        inside = (place >= self.first) & (place < len(t) - self.last)
        if self.start is not None:
            inside &= t >= self.start - slack
        if self.stop is not None:
            inside &= t <= self.stop + slack
        if not inside.any():
            span = f"{len(t)} samples" + (f", {t[0]:g} to {t[-1]:g} s" if len(t) else "")
            raise RecordError(f"no sample is left of {span}.")
        return inside

    @staticmethod
    def size_n(u):
        return u

    @staticmethod
    def check(first, last, start, stop):
        if first < 0 or last < 0:
            return f"first, last: whole numbers of at least 0 are wanted, found {first} and {last}."
        crossed = start is not None and stop is not None and start > stop
        return f"start: {start:g} s is after the stop, {stop:g} s." if crossed else None
