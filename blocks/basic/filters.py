"""Filters that run in the loop: given by zeros and poles, Butterworth low-pass and notch, in continuous time or sampled.

All run as a cascade of second-order sections, which stays accurate where polynomials of high order do not.
"""

# mypy: disable-error-code="override, misc"
# A variant depends on other names than the block it stands in for, and its argument list says so.

from __future__ import annotations

from math import acos, cos, pi, sqrt
from typing import Any

from blocksim.contract.block import Block, brief, param, required, static
from blocksim.contract.times import exact

from .cascade import Blocked, Cascade, InSamples, InTime, cascade, conjugates

__all__ = ["LowPass", "Notch", "ZeroPole"]


class ZeroPole(Cascade):
    """Y(s) = k (s - z1) (s - z2) ... / ((s - p1) (s - p2) ...) U(s): a system given by zeros, poles and gain; with Ts one in z.

    A complex number is a text such as "-1+2j", and comes with its conjugate. There may not be more zeros than poles; with fewer
    there is no direct feedthrough.
    """

    abstract = True
    icon = (
        "0,0.5 1,0.5; 0.6,0 0.6,1; 0.2,0.75 0.34,1; 0.2,1 0.34,0.75; 0.2,0 0.34,0.25; 0.2,0.25 0.34,0; 0.9,0.5 "
        "0.88,0.59 0.83,0.63 0.77,0.59 0.75,0.5 0.77,0.41 0.83,0.37 0.88,0.41 0.9,0.5"
    )
    example = """
format: 1
simulate: {stop: 5.0, solver: dopri5, rtol: 1e-8}
blocks:
  push: {type: Step, time: 0.5}
  mode: {type: ZeroPole, zeros: [-3], poles: ["-0.4+2j", "-0.4-2j"], k: 1.5, in: push}
"""

    zeros: list[Any] = static([], "zeros, numbers or texts such as '-1+2j'", kind=list)
    poles: list[Any] = static(None, "poles, numbers or texts such as '-1+2j'", kind=list, required=True)
    k: float = param(1.0, "factor before the products")

    @staticmethod
    def size_n(poles):
        return len(poles)

    @staticmethod
    def table_A(zeros, poles, k):
        return cascade(roots(zeros), roots(poles), k)[0]

    @staticmethod
    def table_B(zeros, poles, k):
        return cascade(roots(zeros), roots(poles), k)[1]

    @staticmethod
    def table_C(zeros, poles, k):
        return cascade(roots(zeros), roots(poles), k)[2]

    @staticmethod
    def table_D(zeros, poles, k):
        return cascade(roots(zeros), roots(poles), k)[3]

    @staticmethod
    def check(zeros, poles, k):
        text = roots_problem("zeros", zeros) or roots_problem("poles", poles)
        if text:
            return text
        if not isinstance(k, (int, float)):
            return f"k: one number is wanted, found {k}."
        if not poles:
            return "poles: at least one is wanted; a Gain has none."
        if len(zeros) > len(poles):
            return f"{len(zeros)} zeros and {len(poles)} pole(s): more zeros than poles cannot be computed. Add a fast pole."
        return None

    def variant(self, inputs: int = 1) -> type[Block]:
        passes = len(self.settings["zeros"]) == len(self.settings["poles"])
        if exact(self.settings["Ts"]):
            return PassingSampledZeroPole if passes else SampledZeroPole
        return PassingContinuousZeroPole if passes else ContinuousZeroPole

    def label(self) -> list[str]:
        return ["ZeroPole" + (" (z)" if exact(self.settings["Ts"]) else ""), f"{len(self.settings['zeros'])} zeros, "
                f"{len(self.settings['poles'])} poles"]  # fmt: skip


class ContinuousZeroPole(Blocked, InTime, ZeroPole):
    """Zeros and poles in s, more of the latter."""


class PassingContinuousZeroPole(InTime, ZeroPole):
    """As many zeros as poles in s: part of the input passes directly."""


class SampledZeroPole(Blocked, InSamples, ZeroPole):
    """Zeros and poles in z, more of the latter."""


class PassingSampledZeroPole(InSamples, ZeroPole):
    """As many zeros as poles in z: part of the input passes at once."""


class LowPass(Cascade):
    """|Y/U|^2 = 1 / (1 + (f/cutoff)^(2 order)): a Butterworth low-pass, flat below its half-power frequency.

    Continuous with Ts = 0, without direct feedthrough; sampled by the bilinear rule with the cutoff where it is said, as
    scipy.signal.butter makes it. For whole records without any lag there is ZeroPhaseFilter.
    """

    abstract = True
    same_unit = True
    icon = "0,0.85 0.5,0.85 1,0.05"
    example = """
format: 1
simulate: {stop: 1.0, solver: rk4, step: 1e-3}
blocks:
  noise:  {type: WhiteNoise, std: 1.0, Ts: 1e-3}
  smooth: {type: LowPass, cutoff: 10.0, order: 3, Ts: 1e-3, in: noise}
"""

    cutoff: float = required("half-power frequency", "Hz", above=0)
    order: int = static(2, "order of the filter", kind=int)

    @staticmethod
    def size_n(order):
        return order

    @staticmethod
    def table_A(cutoff, order, Ts):
        return butterworth_low_pass(cutoff, order, Ts)[0]

    @staticmethod
    def table_B(cutoff, order, Ts):
        return butterworth_low_pass(cutoff, order, Ts)[1]

    @staticmethod
    def table_C(cutoff, order, Ts):
        return butterworth_low_pass(cutoff, order, Ts)[2]

    @staticmethod
    def table_D(cutoff, order, Ts):
        return butterworth_low_pass(cutoff, order, Ts)[3]

    @staticmethod
    def check(cutoff, order, Ts):
        return order_range(order, 20) or frequency_problem("cutoff", cutoff, Ts)

    def variant(self, inputs: int = 1) -> type[Block]:
        return SampledLowPass if exact(self.settings["Ts"]) else ContinuousLowPass

    def label(self) -> list[str]:
        return ["LowPass", f"{brief(self.settings['cutoff'])} Hz, order {self.settings['order']}"]


class ContinuousLowPass(Blocked, InTime, LowPass):
    """A Butterworth low-pass in continuous time."""


class SampledLowPass(InSamples, LowPass):
    """A Butterworth low-pass by the bilinear rule."""


class Notch(Cascade):
    """Y/U = (s^2 + w^2) / (s^2 + b s + w^2), w = 2 pi frequency: a Butterworth band-stop; of order 1 it is this.

    `bandwidth`, b / (2 pi), lies between its two half-power frequencies. Sampled, the notch and the bandwidth are where they are
    said, up to half the sampling frequency; for order 1 it is scipy.signal.iirnotch.
    """

    abstract = True
    same_unit = True
    icon = "0,0.85 0.4,0.85 0.5,0.05 0.6,0.85 1,0.85"
    example = """
format: 1
simulate: {stop: 2.0, solver: rk4, step: 1e-3}
blocks:
  hum:   {type: Sine, frequency: 50.0}
  wave:  {type: Sine, frequency: 2.0}
  both:  {type: Sum, in: [hum, wave]}
  clean: {type: Notch, frequency: 50.0, bandwidth: 10.0, in: both}
"""

    frequency: float = required("frequency that does not pass", "Hz", above=0)
    bandwidth: float = required("width between the half-power frequencies", "Hz", above=0)
    order: int = static(1, "order of the band-stop, half of its number of poles", kind=int)

    @staticmethod
    def size_n(order):
        return 2 * order

    @staticmethod
    def table_A(frequency, bandwidth, order, Ts):
        return band_stop(frequency, bandwidth, order, Ts)[0]

    @staticmethod
    def table_B(frequency, bandwidth, order, Ts):
        return band_stop(frequency, bandwidth, order, Ts)[1]

    @staticmethod
    def table_C(frequency, bandwidth, order, Ts):
        return band_stop(frequency, bandwidth, order, Ts)[2]

    @staticmethod
    def table_D(frequency, bandwidth, order, Ts):
        return band_stop(frequency, bandwidth, order, Ts)[3]

    @staticmethod
    def check(frequency, bandwidth, order, Ts):
        return (
            order_range(order, 10)
            or frequency_problem("frequency", frequency, Ts)
            or frequency_problem("bandwidth", bandwidth, Ts)
        )

    def variant(self, inputs: int = 1) -> type[Block]:
        return SampledNotch if exact(self.settings["Ts"]) else ContinuousNotch

    def label(self) -> list[str]:
        return ["Notch", f"{brief(self.settings['frequency'])} Hz"]


class ContinuousNotch(InTime, Notch):
    """A band-stop in continuous time."""


class SampledNotch(InSamples, Notch):
    """A band-stop by the bilinear rule."""


def roots(numbers: list[Any]) -> Any:
    """Zeros or poles as complex numbers."""
    import numpy as np

    return np.array([complex(v.replace(" ", "")) if isinstance(v, str) else complex(v) for v in numbers])


def roots_problem(name: str, numbers: list[Any]) -> str | None:
    """What is wrong with zeros or poles."""
    for value in numbers:
        if isinstance(value, bool) or not isinstance(value, (int, float, str)):
            return f"{name}: found {value!r}; numbers, or texts such as '-1+2j', are wanted."
        try:
            complex(value.replace(" ", "") if isinstance(value, str) else value)
        except ValueError:
            return f"{name}: '{value}' is not a number; one such as -1 or '-1+2j' is wanted."
    pairs, real = conjugates(roots(numbers))
    missing = len(numbers) - len(real) - 2 * len(pairs)
    apart = [r for r in roots(numbers) if not any(abs(r.conjugate() - other) <= 1e-9 * abs(r) for other in roots(numbers))]
    if missing or apart:
        return f"{name}: a complex number comes with its conjugate, e.g. ['-1+2j', '-1-2j'], found {numbers}."
    return None


def order_range(order: int, most: int) -> str | None:
    return None if 1 <= order <= most else f"order: must be 1 to {most}, found {order}."


def frequency_problem(name: str, frequency: Any, Ts: Any) -> str | None:
    """What is wrong with a frequency of a filter, sampled or not."""
    if not isinstance(frequency, (int, float)):
        return f"{name}: one number is wanted, found {frequency}."
    if not exact(Ts) or frequency < (half := 0.5 / float(exact(Ts))):
        return None
    return f"{name}: must be below half the sampling frequency, {half:g} Hz, found {frequency:g}."


def butterworth_low_pass(cutoff: float, order: int, Ts: Any) -> tuple[Any, Any, Any, Any]:
    """The cascade of a Butterworth low-pass."""
    from scipy.signal import butter

    seconds = float(exact(Ts))
    if seconds:
        return cascade(*butter(order, cutoff, fs=1 / seconds, output="zpk"))
    return cascade(*butter(order, 2 * pi * cutoff, analog=True, output="zpk"))


def band_stop(frequency: float, bandwidth: float, order: int, Ts: Any) -> tuple[Any, Any, Any, Any]:
    """The cascade of a Butterworth band-stop whose zeros are at `frequency` and whose edges are `bandwidth` apart."""
    from scipy.signal import butter

    seconds = float(exact(Ts))
    if not seconds:
        low = sqrt(frequency**2 + 0.25 * bandwidth**2) - 0.5 * bandwidth  # low (low + bandwidth) = frequency^2
        edges = [2 * pi * low, 2 * pi * (low + bandwidth)]
        return cascade(*butter(order, edges, "bandstop", analog=True, output="zpk"))
    # tan(a) tan(b) = tan(pi frequency Ts)^2 with b - a = pi bandwidth Ts puts the warped notch where it is said
    both = acos(cos(pi * bandwidth * seconds) * cos(2 * pi * frequency * seconds))
    edges = [(both / pi / seconds - bandwidth) / 2, (both / pi / seconds + bandwidth) / 2]
    return cascade(*butter(order, edges, "bandstop", fs=1 / seconds, output="zpk"))
