"""Random and pseudo-random sources. Every block draws from a stream of its own, so no other block changes its numbers."""

from __future__ import annotations

from typing import Any

from blocksim.contract.block import (
    Block,
    SampledBlock,
    brief,
    memory,
    normal,
    outport,
    param,
    period,
    required,
    static,
    table,
    uniform,
)
from blocksim.contract.times import exact
from blocksim.contract.vocabulary import maximum, minimum

__all__ = ["PRBS", "FilteredNoise", "RandomBinary", "UniformNoise", "WhiteNoise"]


class WhiteNoise(SampledBlock):
    """y[k] = mean + std w[k], w standard normal and independent from sample to sample.

    Methods that simulate a run again with ideal sensors take it for a disturbance and silence it: its mean is left. As an
    excitation use RandomBinary, FilteredNoise or a Multisine, which they repeat.
    """

    family = "sources"
    icon = (
        "0,0.5 0.0833,0.8 0.167,0.3 0.25,0.65 0.333,0.1 0.417,0.9 0.5,0.45 0.583,0.7 0.667,0.2 0.75,0.55 0.833,0.35 "
        "0.917,0.75 1,0.5"
    )
    colour = "source"
    example = """
format: 1
simulate: {stop: 1.0, solver: rk4, step: 1e-2, seed: 1}
blocks:
  noise: {type: WhiteNoise, std: 0.1, Ts: 0.01}
"""

    std: float = param(1.0, "standard deviation", min=0)
    mean: float = param(0.0, "mean value")
    w = normal("the draw")
    y = outport("noise, held between samples")

    @staticmethod
    def output(w, std, mean):
        return mean + std * w

    def ideal(self) -> Block:
        return Silence(**self.settings)


class Silence(WhiteNoise):
    """y[k] = mean: a source of noise that is quiet."""

    @staticmethod
    def output(mean):
        return mean


class UniformNoise(SampledBlock):
    """y[k] = low + (high - low) w[k], w uniform on [0, 1) and independent from sample to sample.

    Methods that simulate a run again with ideal sensors silence it as they do WhiteNoise: its mean is left.
    """

    family = "sources"
    icon = (
        "0,0.5 0.0833,0.8 0.167,0.3 0.25,0.65 0.333,0.1 0.417,0.9 0.5,0.45 0.583,0.7 0.667,0.2 0.75,0.55 0.833,0.35 "
        "0.917,0.75 1,0.5"
    )
    colour = "source"
    example = """
format: 1
simulate: {stop: 1.0, solver: rk4, step: 1e-2, seed: 1}
blocks:
  rounding: {type: UniformNoise, low: -0.05, high: 0.05, Ts: 0.01}
"""

    low: float = param(-1.0, "lower end")
    high: float = param(1.0, "upper end")
    w = uniform("the draw")
    y = outport("noise, held between samples")

    @staticmethod
    def output(w, low, high):
        return low + (high - low) * w

    @staticmethod
    def check(low, high):
        import numpy as np

        return None if np.all(np.asarray(low) <= high) else f"low must not be above high, found low = {low} and high = {high}."

    def ideal(self) -> Block:
        return UniformSilence(**self.settings)


class UniformSilence(UniformNoise):
    """y[k] = (low + high) / 2: a source of noise that is quiet."""

    @staticmethod
    def output(low, high):
        return 0.5 * (low + high)


class RandomBinary(Block):
    """y[k] = +amplitude or -amplitude, by the toss of a fair coin at every tick of the clock."""

    family = "sources"
    icon = (
        "0,0.9 0.125,0.9 0.125,0.1 0.25,0.1 0.25,0.1 0.375,0.1 0.375,0.9 0.5,0.9 0.5,0.1 0.625,0.1 0.625,0.9 0.75,0.9 "
        "0.75,0.9 0.875,0.9 0.875,0.1 1,0.1"
    )
    formula = r"y[k] = \pm A, \quad P(+A) = P(-A) = \frac{1}{2}"
    colour = "source"
    sampled = True
    example = """
format: 1
simulate: {stop: 1.0, solver: rk4, step: 1e-2, seed: 1}
blocks:
  coin: {type: RandomBinary, amplitude: 0.5, clock: 0.05}
"""

    amplitude: float = param(1.0, "the two values are plus and minus this")
    clock = period(doc="time between tosses", required=True)
    w = uniform("the toss")
    y = outport("the sequence, held between ticks")

    def label(self) -> list[str]:
        return ["RandomBinary", f"±{brief(self.settings['amplitude'])} every {brief(self.settings['clock'])} s"]

    @staticmethod
    def output(w, amplitude):
        return amplitude if w < 0.5 else -amplitude


class PRBS(Block):
    """y[k] = ±amplitude from a shift register of `bits` cells: pseudo-random binary sequence of maximal length 2^bits - 1.

    It repeats after (2^bits - 1) clocks. Over a period its autocorrelation is amplitude^2 at 0 and -amplitude^2 / (2^bits - 1)
    elsewhere: nearly white up to about 0.44 / clock. `index` starts it elsewhere in the sequence.
    """

    family = "sources"
    icon = (
        "0,0.1 0.125,0.1 0.125,0.9 0.25,0.9 0.25,0.9 0.375,0.9 0.375,0.1 0.5,0.1 0.5,0.9 0.625,0.9 0.625,0.1 0.75,0.1 "
        "0.75,0.1 0.875,0.1 0.875,0.9 1,0.9"
    )
    formula = (
        r"y[k] = A \, (2 b_{k} - 1), \quad b_{k} = \bigoplus_{i \in \mathrm{taps}} b_{k-i}, \quad \text{period } "
        r"2^{n} - 1"
    )
    colour = "source"
    sampled = True
    example = """
format: 1
simulate: {stop: 1.0, solver: rk4, step: 1e-2}
blocks:
  bits: {type: PRBS, amplitude: 0.5, bits: 7, clock: 0.02}
"""

    amplitude: float = param(1.0, "the two values are plus and minus this")
    bits: int = static(10, "length of the register", kind=int)
    clock = period(doc="time for which each value holds", required=True)
    y = outport("the sequence, held between ticks")
    index: float = memory(0.0, "place in the sequence")
    sequence = table("one period of the sequence, -1 and 1")

    def label(self) -> list[str]:
        return ["PRBS", f"±{brief(self.settings['amplitude'])} every {brief(self.settings['clock'])} s"]

    @staticmethod
    def table_sequence(bits):
        from scipy.signal import max_len_seq

        return 2.0 * max_len_seq(bits)[0] - 1.0

    @staticmethod
    def step(index, sequence, amplitude):
        following = index + 1.0
        if following >= len(sequence):
            following = 0.0
        return amplitude * sequence[int(index)], following

    @staticmethod
    def check(bits, index):
        if not 2 <= bits <= 24:
            return f"bits: must be 2 to 24, found {bits}."
        length = 2**bits - 1
        if not isinstance(index, (int, float)) or index != int(index) or not 0 <= index < length:
            return f"index: must be a whole number from 0 to {length - 1}, the last of the sequence, found {index}."
        return None


class FilteredNoise(SampledBlock):
    """y = B(z) v, v[k] uniform on (-amplitude, amplitude), B a Butterworth low-pass: smooth random excitation.

    The filter runs as second-order sections, which stay accurate for cutoffs far below the sampling frequency. `amplitude` is
    that of the noise before the filter; the output is smaller, by about sqrt(2 cutoff Ts) in standard deviation.

    `peak` says instead how large the output may become: its standard deviation is then a third of that, and the few samples
    beyond, about 3 in 1000, are cut off at it.
    """

    family = "sources"
    icon = (
        "0,0.811 0.0417,0.762 0.0833,0.526 0.125,0.354 0.167,0.426 0.208,0.661 0.25,0.831 0.292,0.829 0.333,0.75 "
        "0.375,0.715 0.417,0.688 0.458,0.537 0.5,0.257 0.542,0.0407 0.583,0.083 0.625,0.341 0.667,0.564 0.708,0.563 "
        "0.75,0.4 0.792,0.284 0.833,0.311 0.875,0.388 0.917,0.404 0.958,0.409 1,0.547"
    )
    colour = "source"
    example = """
format: 1
simulate: {stop: 1.0, solver: rk4, step: 1e-2, seed: 1}
blocks:
  push: {type: FilteredNoise, amplitude: 10.0, cutoff: 5.0, Ts: 0.01}
"""

    amplitude: float = param(1.0, "bound of the noise before the filter")
    cutoff: float = required("half-power frequency of the filter", "Hz", above=0)
    peak: float = param(None, "largest output, in place of amplitude", above=0)
    order: int = static(4, "order of the filter", kind=int)
    w = uniform("the draw")
    y = outport("filtered noise, held between samples")
    z: Any = memory(0.0, "filter memory, two numbers per section", size="cells", array=True)
    sections = table("second-order sections: b0 b1 b2 1 a1 a2", shape=(None, 6))

    def label(self) -> list[str]:
        return ["FilteredNoise", f"below {brief(self.settings['cutoff'])} Hz"]

    @staticmethod
    def size_cells(order):
        return 2 * ((order + 1) // 2)

    @staticmethod
    def table_sections(order, cutoff, Ts):
        from scipy.signal import butter

        return butter(order, cutoff, fs=1.0 / float(exact(Ts)), output="sos")

    @staticmethod
    def output(w, amplitude, z, sections):
        y = amplitude * (2.0 * w - 1.0)
        for i in range(len(sections)):
            y = sections[i, 0] * y + z[2 * i]
        return y

    @staticmethod
    def update(w, amplitude, z, sections):
        y = amplitude * (2.0 * w - 1.0)
        for i in range(len(sections)):
            v = y
            y = sections[i, 0] * v + z[2 * i]
            z[2 * i] = sections[i, 1] * v - sections[i, 4] * y + z[2 * i + 1]
            z[2 * i + 1] = sections[i, 2] * v - sections[i, 5] * y

    def variant(self, inputs: int = 1) -> type[Block]:
        return FilteredNoise if self.settings["peak"] is None else PeakedNoise

    @staticmethod
    def check(cutoff, order, Ts):
        if not 1 <= order <= 20:
            return f"order: must be 1 to 20, found {order}."
        if not isinstance(cutoff, (int, float)):
            return f"cutoff: one number is wanted, found {cutoff}."
        half = 0.5 / float(exact(Ts))
        return None if cutoff < half else f"cutoff: must be below half the sampling frequency, {half:g} Hz, found {cutoff:g}."


class PeakedNoise(FilteredNoise):
    """y = B(z) v, scaled to a standard deviation of peak / 3 and cut off at the peak."""

    gain = table("what brings the noise to a third of 1 behind the filter")

    @staticmethod
    def table_gain(order, cutoff, Ts):
        import numpy as np
        from scipy.signal import butter, sosfilt

        sections = butter(order, cutoff, fs=1.0 / float(exact(Ts)), output="sos")
        impulse = np.zeros(max(1000, int(20.0 / (cutoff * float(exact(Ts))))))
        impulse[0] = 1.0
        return [1.0 / (3.0 * np.sqrt(np.sum(np.square(sosfilt(sections, impulse))) / 3.0))]

    @staticmethod
    def output(w, peak, z, sections, gain):
        y = peak * gain[0] * (2.0 * w - 1.0)
        for i in range(len(sections)):
            y = sections[i, 0] * y + z[2 * i]
        return minimum(maximum(y, -peak), peak)

    @staticmethod
    def update(w, peak, z, sections, gain):
        y = peak * gain[0] * (2.0 * w - 1.0)
        for i in range(len(sections)):
            v = y
            y = sections[i, 0] * v + z[2 * i]
            z[2 * i] = sections[i, 1] * v - sections[i, 4] * y + z[2 * i + 1]
            z[2 * i + 1] = sections[i, 2] * v - sections[i, 5] * y
