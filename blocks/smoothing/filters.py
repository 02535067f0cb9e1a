"""Filters of whole records: without phase, because they see the future too. Vector signals are filtered element by element."""

from __future__ import annotations

import math
from functools import lru_cache
from typing import Any

import numpy as np

from blocksim.contract.block import Block, RecordBlock, inport, outport, param, required, static
from blocksim.errors import RecordError

__all__ = ["BandPassDerivatives", "CentralDifference", "Decimate", "ZeroPhaseFilter"]

RIPPLE, EDGE, CHEBYSHEV = 0.05, 0.8, 8  # decimation: dB of ripple, band edge in new Nyquist frequencies, order


class ZeroPhaseFilter(RecordBlock):
    """y = B(1/z) B(z) u: a Butterworth low-pass run forward and backward, without any delay.

    The amplitude at the cutoff is 1/2, being passed twice. Both ends are continued by odd reflection over 3 order samples, as
    MATLAB's filtfilt does (`ends: matlab`), or over 3 (order + 1) samples, as scipy's (`ends: scipy`).
    """

    family = "record"
    icon = "0,0.85 0.5,0.85 1,0.05"
    same_unit = True
    example = """
format: 1
simulate: {stop: 2.0, solver: rk4, step: 1e-3, seed: 1}
blocks:
  angle:   {type: Sine, amplitude: 0.5, frequency: 1.0}
  encoder: {type: Encoder, counts_per_turn: 500, noise_std: 0.5, Ts: 1e-3, in: angle}
  smooth:  {type: ZeroPhaseFilter, cutoff: 20, in: encoder}
"""

    order: int = static(4, "order of the filter, one way", kind=int)
    cutoff: float = required("frequency of half the amplitude", "Hz", above=0)
    ends: str = static("matlab", "whose length of reflection at the ends", choices=("matlab", "scipy"))
    u = inport("signal", size="any")
    y = outport("filtered signal", size="n")

    def process(self, t, u):
        return low_pass(t, u, self.order, self.cutoff, 3 * (self.order + (self.ends == "scipy")))

    @staticmethod
    def size_n(u):
        return u

    @staticmethod
    def check(order):
        return None if 1 <= order <= 20 else f"order: a whole number from 1 to 20 is wanted, found {order}."


class CentralDifference(RecordBlock):
    """y[k] = (u[k+1] - u[k-1]) / (2 Ts), or (u[k+1] - 2 u[k] + u[k-1]) / Ts^2 for order 2.

    At the ends a first derivative is one-sided and a second one repeats its neighbour. It amplifies noise: filter first. Two of
    order 1 in a row are a smoother second derivative than one of order 2.
    """

    family = "record"
    icon = "0,0 0.2,0.1 0.5,0.75 0.8,0.9 1,0.92; 0.2,0.1 0.8,0.9; 0.2,0 0.2,0.25; 0.8,0.75 0.8,1"
    example = """
format: 1
simulate: {stop: 2.0, solver: rk4, step: 1e-3}
blocks:
  angle: {type: Sine, amplitude: 0.5, frequency: 1.0}
  speed: {type: CentralDifference, in: angle}
"""

    order: int = static(1, "which derivative", choices=(1, 2))
    u = inport("signal", size="any")
    y = outport("its derivative", size="n", rate_of="u")

    def variant(self, inputs: int = 1) -> type[Block]:
        return type(self) if self.order == 1 else SecondDifference

    def process(self, t, u):
        Ts = sample_time(t)
        enough(u, self.order + 1, "a difference")
        if self.order == 1:
            return np.gradient(u, Ts, axis=0)
        inner = np.diff(u, 2, axis=0) / Ts**2
        return np.concatenate((inner[:1], inner, inner[-1:]))

    @staticmethod
    def size_n(u):
        return u


class SecondDifference(CentralDifference):
    """The CentralDifference of order 2, which is in other units."""

    y = outport("its second derivative", size="n")


class Decimate(RecordBlock):
    """y[k] = F u at every factor-th sample, F an order 8 Chebyshev low-pass (0.05 dB, 0.8 new Nyquist), forward and backward.

    `rule: matlab` keeps the *last* sample and every factor-th before it, the first being (n - 1) mod factor from 0; `rule: scipy`
    keeps the first sample. Signals that are compared must be decimated alike. The output has its own times. The filter is run in
    second-order sections and stays of order 8 at factors above 13, where MATLAB lowers its order for want of digits. A constant
    comes out 0.1 dB (1.1 %) lower, the ripple of an even order passed twice: decimate a regressor's column of ones too. The
    reflection at the ends, over 24 samples, is shorter than the filter's memory: the last few samples kept are less exact.
    """

    family = "record"
    icon = "0,0 1,0; 0.05,0 0.05,1; 0.2,0 0.2,0.4; 0.35,0 0.35,0.4; 0.5,0 0.5,1; 0.65,0 0.65,0.4; 0.8,0 0.8,0.4; 0.95,0 0.95,1"
    formula = r"y[k] = (F u)[k \cdot \mathrm{factor}]"
    same_unit = True
    example = """
format: 1
simulate: {stop: 2.0, solver: rk4, step: 1e-3}
blocks:
  angle: {type: Sine, amplitude: 0.5, frequency: 1.0}
  slow:  {type: Decimate, factor: 20, in: angle}
"""

    factor: int = static(None, "one sample in how many is kept", kind=int, required=True)
    rule: str = static("matlab", "whose phase: the last sample is kept, or the first", choices=("matlab", "scipy"))
    u = inport("signal", size="any")
    y = outport("filtered signal on the slower grid", size="n")

    def process(self, t, u):
        sample_time(t)
        return decimate(u, self.factor, self.rule)

    def times(self, t):
        return t[kept_samples(len(t), self.factor, self.rule)]

    @staticmethod
    def size_n(u):
        return u

    @staticmethod
    def check(factor):
        return None if factor >= 1 else f"factor: a whole number of at least 1 is wanted, found {factor}."


class BandPassDerivatives(RecordBlock):
    """q, dq/dt, d2q/dt2 by Butterworth low-pass, central differences and decimation (Brunot 2017, 2.3, steps 1 to 4).

    Step 1: zero-phase Butterworth of order 4 at `cutoff` (by rule 2 to 10 times the highest modelled mode f_dyn; 10 here), then
    central differences, once and twice. Steps 3 and 4: decimation by `factor`, whose filter passes up to 0.4 fs / factor (by
    rule 2 f_dyn). The other signals of an identification need the same Decimate. With `factor: 1` nothing is decimated, for
    those who build the observation matrix first (step 2) and decimate its columns. The outputs have their own times.
    """

    family = "record"
    icon = "0,0.05 0.15,0.05 0.35,0.85 0.65,0.85 0.85,0.05 1,0.05"
    formula = (
        r"(q, \dot{q}, \ddot{q})[k] = \left(F u, \; \frac{d}{dt} F u, \; \frac{d^{2}}{dt^{2}} F u\right)(k \cdot "
        r"\mathrm{factor} \cdot T_{s})"
    )
    example = """
format: 1
simulate: {stop: 2.0, solver: rk4, step: 1e-3, seed: 1}
blocks:
  angle:   {type: Sine, amplitude: 0.5, frequency: 1.0}
  encoder: {type: Encoder, counts_per_turn: 20000, Ts: 1e-3, in: angle}
  motion:  {type: BandPassDerivatives, f_dyn: 5, in: encoder}
"""

    f_dyn: float = param(0.0, "highest mode of the model; 0: a hundredth of the sampling frequency", "Hz", min=0)
    cutoff: float = param(0.0, "cutoff of the Butterworth filter; 0: 10 f_dyn", "Hz", min=0)
    factor: int = static(0, "one sample in how many is kept; 0: the one whose filter passes up to 2 f_dyn", kind=int)
    rule: str = static("matlab", "which samples are kept, see Decimate", choices=("matlab", "scipy"))
    u = inport("measured position", "rad or m", size="any")
    q = outport("position", size="n", like="u")
    qd = outport("velocity", size="n", rate_of="q")
    qdd = outport("acceleration", size="n", rate_of="qd")

    def process(self, t, u):
        Ts = sample_time(t)
        q = low_pass(t, u, 4, self.cutoff or 10 * self.mode(Ts), 12)
        qd = np.gradient(q, Ts, axis=0)
        qdd = np.gradient(qd, Ts, axis=0)
        return tuple(decimate(signal, self.ratio(Ts), self.rule) for signal in (q, qd, qdd))

    def mode(self, Ts):
        return self.f_dyn or 0.01 / Ts

    def ratio(self, Ts):
        """The factor of decimation: given, or such that the filter passes up to 2 f_dyn."""
        return self.factor or max(1, round(EDGE / 2 / (2 * self.mode(Ts) * Ts)))

    def times(self, t):
        return t[kept_samples(len(t), self.ratio(sample_time(t)), self.rule)]

    @staticmethod
    def size_n(u):
        return u

    @staticmethod
    def check(factor):
        return None if factor >= 0 else f"factor: a whole number is wanted, or 0 for the rule, found {factor}."


def sample_time(t: np.ndarray) -> float:
    """The interval of an even grid; an uneven one is refused."""
    if len(t) < 2:
        raise RecordError(f"at least 2 samples are wanted, found {len(t)}.")
    steps = np.diff(t)
    Ts = float(t[-1] - t[0]) / (len(t) - 1)
    if np.abs(steps - Ts).max() > 1e-3 * Ts:
        raise RecordError(
            f"samples must be evenly spaced; found {steps.min():g} to {steps.max():g} s. Resample the record first."
        )
    return Ts


def enough(u: np.ndarray, samples: int, what: str) -> None:
    if len(u) < samples:
        raise RecordError(f"{what} needs at least {samples} samples, found {len(u)}.")
    if not np.isfinite(u).all():
        raise RecordError(f"{np.sum(~np.isfinite(u))} samples are missing or infinite; IRWSmoother can bridge missing ones.")


def low_pass(t: np.ndarray, u: np.ndarray, order: int, cutoff: float, padding: int) -> np.ndarray:
    """Butterworth, forward and backward, with odd reflection over `padding` samples."""
    Ts = sample_time(t)
    if cutoff * Ts >= 0.5:
        raise RecordError(f"cutoff is {cutoff:g} Hz; it must be below the Nyquist frequency of the record, {0.5 / Ts:g} Hz.")
    enough(u, padding + 1, f"this filter of order {order}")
    return there_and_back(butterworth(order, 2 * cutoff * Ts), u, padding)


def there_and_back(design: tuple[np.ndarray, np.ndarray], u: np.ndarray, padding: int) -> np.ndarray:
    """scipy's sosfiltfilt, to the last bit, of a filter whose sections and starting values are known."""
    from scipy.signal import sosfilt

    sections, settled = design
    start = settled.reshape(*settled.shape, *[1] * (u.ndim - 1))
    y = np.concatenate((2 * u[:1] - u[padding:0:-1], u, 2 * u[-1:] - u[-2 : -padding - 2 : -1]))
    for _ in range(2):
        y = sosfilt(sections, y, axis=0, zi=start * y[:1])[0][::-1]
    return y[padding:-padding]


@lru_cache(maxsize=64)
def butterworth(order: int, edge: float) -> tuple[np.ndarray, np.ndarray]:
    """Second-order sections, and what they hold of a long input of 1; the edge in Nyquist frequencies."""
    from scipy.signal import butter, sosfilt_zi

    sections: Any = butter(order, edge, output="sos")
    return sections, sosfilt_zi(sections)


@lru_cache(maxsize=64)
def chebyshev(factor: int) -> tuple[np.ndarray, np.ndarray]:
    """Those of decimation."""
    from scipy.signal import cheby1, sosfilt_zi

    sections: Any = cheby1(CHEBYSHEV, RIPPLE, EDGE / factor, output="sos")
    return sections, sosfilt_zi(sections)


def decimate(u: np.ndarray, factor: int, rule: str) -> np.ndarray:
    """Every factor-th sample of the low-passed signal."""
    if factor == 1:
        return u
    enough(u, max(factor + 1, 3 * (CHEBYSHEV + 1) + 1), f"decimation by {factor}")
    if rule == "scipy":
        from scipy.signal import decimate as as_scipy

        return as_scipy(u, factor, axis=0)
    return there_and_back(chebyshev(factor), u, 3 * CHEBYSHEV)[kept_samples(len(u), factor, rule)]


def kept_samples(samples: int, factor: int, rule: str) -> slice:
    """Which samples decimation keeps. MATLAB counts from 1: factor - (factor ceil(n / factor) - n)."""
    if rule == "scipy":
        return slice(0, None, factor)
    return slice(factor - (factor * math.ceil(samples / factor) - samples) - 1, None, factor)
