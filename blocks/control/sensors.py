"""Sensors: what a robot's computer can know of its motion and its torque. Their outputs are marked as measured."""

from __future__ import annotations

from typing import Any

from blocksim.contract.block import Block, SampledBlock, inport, memory, normal, outport, param, period, static
from blocksim.contract.times import exact
from blocksim.contract.vocabulary import exp, floor, pi, round_half_even

from ..basic.linear import elements

__all__ = ["Encoder", "NoisySensor", "SpeedFromEncoder", "TorqueSensor"]


def instrument_filter(y, low, running, filter, Ts):
    """A first-order low-pass, exact for a signal held between samples; it starts at what it reads first, and 0 Hz is none."""
    if filter <= 0.0 or running < 0.5:
        return y
    return y + exp(-2.0 * pi * filter * Ts) * (low - y)


def whole_steps(value, resolution):
    """The nearest multiple of the resolution; 0 does not round."""
    return resolution * round_half_even(value / resolution) if resolution > 0.0 else value


class Encoder(Block):
    """q_hat = d round((q + offset) / d + noise_std w), d = resolution or 2 pi / counts_per_turn: position in whole counts.

    w is standard normal, independent from sample to sample. Where the position moves across many counts the error is uniform,
    with variance d^2 / 12 (Tout 2022, eq. 14). `rounding: nearest` has no bias; `floor`, a plain counter, reads low by half a
    count on average: set offset to d / 2 to be rid of it. 500 lines read in quadrature are 2000 counts per turn.
    """

    family = "sensors"
    icon = "0,0.05 0.2,0.05 0.2,0.35 0.4,0.35 0.4,0.65 0.6,0.65 0.6,0.95 0.8,0.95 1,0.95"
    formula = (
        r"\hat{q} = d \operatorname{round}\left(\frac{q + \mathrm{offset}}{d} + \sigma \, w\right), \quad d = "
        r"\mathrm{resolution} \text{ or } \frac{2\pi}{\mathrm{counts\_per\_turn}}"
    )
    same_unit = True
    sampled = True
    example = """
format: 1
simulate: {stop: 2.0, solver: rk4, step: 1e-3, seed: 1}
blocks:
  angle:   {type: Sine, amplitude: 0.05, frequency: 1.0}
  encoder: {type: Encoder, counts_per_turn: 2000, noise_std: 0.2, Ts: 1e-3, in: angle}
"""

    resolution: float = param(0.0, "one count; 0 where counts_per_turn is given", "rad or m", min=0)
    counts_per_turn: float = param(0.0, "counts per turn of 2 pi rad; 0 where resolution is given", min=0)
    noise_std: float = param(0.0, "standard deviation of the noise before rounding, in counts", min=0)
    offset: float = param(0.0, "position of the encoder where q is 0", "rad or m")
    rounding: str = static("nearest", "which whole count is read", choices=("nearest", "floor"))
    Ts = period(doc="sample time", required=True)
    w = normal("noise")
    q = inport("position", "rad or m")
    q_hat = outport("position in whole counts", "rad or m", measured=True)

    @staticmethod
    def output(q, w, resolution, counts_per_turn, noise_std, offset, rounding):
        count = resolution if resolution > 0.0 else 2.0 * pi / counts_per_turn
        place = (q + offset) / count + noise_std * w
        return count * (round_half_even(place) if rounding == "nearest" else floor(place))

    def ideal(self) -> Block:
        return IdealEncoder(**self.settings)

    def smooth(self) -> Block:
        return SmoothEncoder(**self.settings)

    @staticmethod
    def variance(resolution, counts_per_turn, noise_std):
        """Variance of a reading: that of rounding, d^2 / 12 (Tout 2022, eq. 14), and of the noise before it."""
        import numpy as np

        count = np.asarray(resolution, dtype=float)
        count = np.where(count > 0, count, 2 * pi / np.maximum(counts_per_turn, 1e-300))
        return count**2 * (1 / 12 + np.square(noise_std))

    @staticmethod
    def check(resolution, counts_per_turn):
        present = [any(value > 0 for value in elements(setting)) for setting in (resolution, counts_per_turn)]
        if sum(present) == 1:
            missing = elements(resolution if present[0] else counts_per_turn).count(0)
            return "an encoder without a resolution: every element must be above 0." if missing else None
        which = "both" if all(present) else "neither"
        return f"give resolution (rad or m per count) or counts_per_turn, one of the two; found {which}."


class IdealEncoder(Encoder):
    """q_hat = q, sampled: neither counts nor noise nor offset, whatever its settings say."""

    @staticmethod
    def output(q):
        return q


class SmoothEncoder(Encoder):
    """q_hat = q + offset, sampled: neither counts nor noise."""

    @staticmethod
    def output(q, offset):
        return q + offset

    def ideal(self) -> Block:
        return self


class TorqueSensor(Block):
    """tau_hat = gain tau + offset + std w: a torque or a motor current, sampled, with noise and errors of calibration.

    w is standard normal, independent from sample to sample.
    """

    family = "sensors"
    icon = (
        "0.29,0.77 0.4,0.9 0.53,0.93 0.65,0.85 0.74,0.69 0.77,0.47 0.74,0.25 0.65,0.08 0.53,0 0.4,0.03 0.29,0.17; "
        "0.16,0.23 0.29,0.18 0.31,0.45; 0.2,0.47 0.8,0.47"
    )
    same_unit = True
    sampled = True
    example = """
format: 1
simulate: {stop: 2.0, solver: rk4, step: 1e-3, seed: 1}
blocks:
  torque: {type: Sine, amplitude: 2.0, frequency: 1.0}
  sensor: {type: TorqueSensor, std: 0.05, gain: 1.02, Ts: 1e-3, in: torque}
"""

    std: float = param(0.0, "standard deviation of the noise", "N m", min=0)
    gain: float = param(1.0, "what is read per unit; 1 for a calibrated sensor")
    offset: float = param(0.0, "what is read at no torque", "N m")
    Ts = period(doc="sample time", required=True)
    w = normal("noise")
    tau = inport("torque", "N m")
    tau_hat = outport("measured torque", "N m", measured=True)

    @staticmethod
    def output(tau, w, std, gain, offset):
        return gain * tau + offset + std * w

    def ideal(self) -> Block:
        return IdealTorqueSensor(**self.settings)

    def smooth(self) -> Block:
        return SmoothTorqueSensor(**self.settings)

    @staticmethod
    def variance(std):
        """Variance of a reading."""
        import numpy as np

        return np.square(std)


class IdealTorqueSensor(TorqueSensor):
    """tau_hat = tau, sampled: neither noise nor errors of calibration, whatever its settings say."""

    @staticmethod
    def output(tau):
        return tau


class SmoothTorqueSensor(TorqueSensor):
    """tau_hat = gain tau + offset, sampled: no noise."""

    @staticmethod
    def output(tau, gain, offset):
        return gain * tau + offset

    def ideal(self) -> Block:
        return self


class NoisySensor(SampledBlock):
    """y_hat = d round((F y + offset + std w) / d): any signal as an instrument reads it: filtered, late, shifted, noisy, rounded.

    F is a first-order low-pass with the half-power frequency `filter`, which starts at the first reading, and then a dead time
    `delay` in whole samples, during which `initial` is read. w is standard normal, independent from sample to sample: std is
    that of what is read. `resolution` d = 0 does not round.
    """

    family = "sensors"
    icon = "0.06,0.27 0.12,0.52 0.22,0.72 0.35,0.85 0.5,0.9 0.65,0.85 0.78,0.72 0.88,0.52 0.94,0.27; 0.5,0.13 0.75,0.75"
    same_unit = True
    example = """
format: 1
simulate: {stop: 2.0, solver: rk4, step: 1e-3, seed: 1}
blocks:
  current: {type: Sine, amplitude: 2.0, frequency: 1.0}
  sensor:  {type: NoisySensor, std: 0.02, resolution: 0.01, filter: 50.0, delay: 2e-3, Ts: 1e-3, in: current}
"""

    std: float = param(0.0, "standard deviation of the noise, in the unit of what is read", min=0)
    offset: float = param(0.0, "what is read at 0")
    resolution: float = param(0.0, "one step of what is read; 0 for none", min=0)
    filter: float = param(0.0, "half-power frequency of its low-pass; 0 for none", "Hz", min=0)
    delay: float = static(0.0, "dead time in seconds, a whole multiple of Ts", kind=(int, float, str))
    initial: float = param(0.0, "what comes first out of the dead time")
    Ts = period(doc="sample time", required=True)
    w = normal("noise")
    y = inport("signal")
    y_hat = outport("measured signal", measured=True)
    low: float = memory(0.0, "filtered signal", internal=True)
    running: float = memory(0.0, "1 after the first reading", internal=True)

    @staticmethod
    def output(y, w, low, running, std, offset, resolution, filter, Ts):
        return whole_steps(instrument_filter(y, low, running, filter, Ts) + offset + std * w, resolution)

    @staticmethod
    def update(y, low, running, filter, Ts):
        return instrument_filter(y, low, running, filter, Ts), 1.0

    def ideal(self) -> Block:
        return IdealSensor(**self.settings)

    def smooth(self) -> Block:
        return SmoothSensor(**self.settings)

    @staticmethod
    def variance(std, resolution):
        """Variance of a reading: that of the noise and of rounding."""
        import numpy as np

        return np.square(std) + np.square(resolution) / 12

    @staticmethod
    def check(delay, Ts):
        try:
            samples = exact(delay) / exact(Ts)
        except ValueError as error:
            return f"delay: {error}"
        if samples.denominator != 1 or not 0 <= samples <= 1_000_000:
            return f"delay: must be a whole multiple of Ts = {Ts} s, at most a million of them, found {delay}."
        return None

    def variant(self, inputs: int = 1) -> type[Block]:
        return LateSensor if exact(self.settings["delay"]) else type(self)


class LateSensor(NoisySensor):
    """A sensor with a dead time: what it reads now does not depend on what is there now."""

    line: Any = memory(0.0, "filtered signals on their way, a ring", size="n", array=True, internal=True)
    place: float = memory(0.0, "where the oldest is", internal=True)

    @staticmethod
    def size_n(delay, Ts):
        return int(exact(delay) / exact(Ts))

    @staticmethod
    def table_line(initial, delay, Ts):
        return [float(initial)] * int(exact(delay) / exact(Ts))

    @staticmethod
    def output(w, line, place, std, offset, resolution):
        return whole_steps(line[int(place)] + offset + std * w, resolution)

    @staticmethod
    def update(y, low, running, line, place, filter, Ts, n):
        low = instrument_filter(y, low, running, filter, Ts)
        line[int(place)] = low
        return low, 1.0, place + 1.0 if place + 1.0 < n else 0.0


class IdealSensor(NoisySensor):
    """y_hat = y, sampled: no fault of the instrument, whatever its settings say."""

    @staticmethod
    def output(y):
        return y

    def variant(self, inputs: int = 1) -> type[Block]:
        return IdealSensor


class SmoothSensor(NoisySensor):
    """y_hat = F y + offset, sampled: filtered, late and shifted, but neither noisy nor rounded."""

    @staticmethod
    def output(y, low, running, offset, filter, Ts):
        return instrument_filter(y, low, running, filter, Ts) + offset

    def ideal(self) -> Block:
        return self

    def variant(self, inputs: int = 1) -> type[Block]:
        return SmoothLateSensor if exact(self.settings["delay"]) else SmoothSensor


class SmoothLateSensor(LateSensor):
    """The same with a dead time."""

    @staticmethod
    def output(line, place, offset):
        return line[int(place)] + offset


class SpeedFromEncoder(SampledBlock):
    """qd_hat from a position read in counts, as drives make it; the first output is 0.

    difference: (q[k] - q[k-1]) / Ts, one count of noise is resolution / Ts
    filtered:   the difference through a first-order low-pass of that `bandwidth`
    observer:   p = x + Ts v, e = q - p, x = p + (1 - a^2) e, v = v + (1 - a)^2 e / Ts, a = exp(-2 pi bandwidth Ts):
                a tracking loop with two equal poles a, which follows a constant speed without error
    """

    family = "sensors"
    icon = "0,0 0.3,0 0.3,0.3 0.6,0.3 0.6,0.6 0.9,0.6 0.9,0.9; 0.05,0.3 0.75,1"
    formula = r"\hat{\dot{q}}[k] = \frac{\hat{q}[k] - \hat{q}[k-1]}{T_{s}} \quad \text{or filtered, or of a tracking loop}"
    example = """
format: 1
simulate: {stop: 2.0, solver: rk4, step: 1e-3}
blocks:
  angle:   {type: Sine, amplitude: 1.0, frequency: 1.0}
  encoder: {type: Encoder, counts_per_turn: 8000, Ts: 1e-3, in: angle}
  speed:   {type: SpeedFromEncoder, method: observer, bandwidth: 30.0, Ts: 1e-3, in: encoder}
"""

    method: str = static("difference", "how the speed is made", choices=("difference", "filtered", "observer"))
    bandwidth: float = param(50.0, "of the filter or of the tracking loop", "Hz", above=0)
    q_hat = inport("measured position", "rad or m")
    qd_hat = outport("speed", rate_of="q_hat")
    x: float = memory(0.0, "position at the last sample, or that of the tracking loop", "rad or m", internal=True)
    v: float = memory(0.0, "speed at the last sample", internal=True)
    running: float = memory(0.0, "1 after the first sample", internal=True)

    @staticmethod
    def step(q_hat, x, v, running, method, bandwidth, Ts):
        if running < 0.5:
            return 0.0, q_hat, 0.0, 1.0
        a = exp(-2.0 * pi * bandwidth * Ts) if method != "difference" else 0.0
        if method == "observer":
            ahead = x + Ts * v
            e = q_hat - ahead
            speed = v + (1.0 - a) * (1.0 - a) * e / Ts
            return speed, ahead + (1.0 - a * a) * e, speed, 1.0
        slope = (q_hat - x) / Ts
        speed = slope + a * (v - slope)
        return speed, q_hat, speed, 1.0

    def label(self) -> list[str]:
        return ["speed", self.settings["method"]]
