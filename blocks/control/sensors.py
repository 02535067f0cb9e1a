"""Sensors: what a robot's computer can know of its motion and its torque. Their outputs are marked as measured."""

from __future__ import annotations

from blocksim.contract.block import Block, inport, normal, outport, param, period, static
from blocksim.contract.vocabulary import floor, pi, round_half_even

from ..basic.linear import elements

__all__ = ["Encoder", "TorqueSensor"]


class Encoder(Block):
    """q_hat = d round((q + offset) / d + noise_std w), d = resolution or 2 pi / counts_per_turn: position in whole counts.

    w is standard normal, independent from sample to sample. Where the position moves across many counts the error is uniform,
    with variance d^2 / 12 (Tout 2022, eq. 14). `rounding: nearest` has no bias; `floor`, a plain counter, reads low by half a
    count on average: set offset to d / 2 to be rid of it. 500 lines read in quadrature are 2000 counts per turn.
    """

    family = "sensors"
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

    @staticmethod
    def variance(resolution, counts_per_turn, noise_std):
        """Variance of a reading: that of rounding, d^2 / 12 (Tout 2022, eq. 14), and of the noise before it."""
        import numpy as np

        count = np.asarray(resolution, dtype=float)
        count = np.where(count > 0, count, 2 * pi / np.maximum(counts_per_turn, 1e-300))
        return count**2 * (1 / 12 + np.square(noise_std))

    @staticmethod
    def check(resolution, counts_per_turn):
        given = [any(value > 0 for value in elements(setting)) for setting in (resolution, counts_per_turn)]
        if sum(given) == 1:
            missing = elements(resolution if given[0] else counts_per_turn).count(0)
            return "an encoder without a resolution: every element must be above 0." if missing else None
        found = "both" if all(given) else "neither"
        return f"give resolution (rad or m per count) or counts_per_turn, one of the two; found {found}."


class IdealEncoder(Encoder):
    """q_hat = q, sampled: neither counts nor noise nor offset, whatever its settings say."""

    @staticmethod
    def output(q):
        return q


class TorqueSensor(Block):
    """tau_hat = gain tau + offset + std w: a torque or a motor current, sampled, with noise and errors of calibration.

    w is standard normal, independent from sample to sample.
    """

    family = "sensors"
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
