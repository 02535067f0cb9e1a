"""Sampled dynamics: delays, holds, integrators, difference equations. They act every Ts; their outputs hold between."""

# mypy: disable-error-code="override"
# A variant depends on other names than the block it stands in for, and its argument list says so.

from __future__ import annotations

from typing import Any

from blocksim.contract.block import Block, SampledBlock, inport, memory, outport, param, static
from blocksim.contract.vocabulary import inf, maximum, minimum
from blocksim.notation import FRACTION_BAR

from .linear import (
    Fraction,
    Matrices,
    PassingFraction,
    PassingMatrices,
    fraction,
    fraction_problem,
    order_problem,
    strictly_causal,
    strictly_proper,
)

__all__ = ["DiscreteIntegrator", "DiscreteStateSpace", "DiscreteTransferFunction", "MovingAverage", "UnitDelay", "ZeroOrderHold"]


def window_sum(u, ring, place, total, fresh):
    """The sum of a ring once u has replaced its oldest number; a whole lap's own sum keeps rounding from piling up."""
    if int(place) == len(ring) - 1:
        return fresh + u
    return total - ring[int(place)] + u


class UnitDelay(SampledBlock):
    """y[k] = u[k-1]: the input one sample ago; it breaks an algebraic loop the way a real controller does."""

    family = "discrete"
    same_unit = True
    example = """
format: 1
simulate: {stop: 1.0, solver: rk4, step: 1e-2}
blocks:
  sum:   {type: Sum, in: [one, count]}
  one:   {type: Constant, value: 1.0}
  count: {type: UnitDelay, Ts: 0.1, in: sum}
"""

    u = inport("input")
    y = outport("input one sample ago")
    x: float = memory(0.0, "the kept input; the first output")

    @staticmethod
    def output(x):
        return x

    @staticmethod
    def update(u):
        return u

    def label(self) -> list[str]:
        return ["z⁻¹"]


class ZeroOrderHold(SampledBlock):
    """y[k] = u(k Ts): samples the input and holds it."""

    family = "discrete"
    icon = "0,0.05 0.25,0.05 0.25,0.35 0.5,0.35 0.5,0.65 0.75,0.65 0.75,0.95 1,0.95"
    same_unit = True
    example = """
format: 1
simulate: {stop: 1.0, solver: rk4, step: 1e-2}
blocks:
  wave: {type: Sine, frequency: 1.0}
  hold: {type: ZeroOrderHold, Ts: 0.1, in: wave}
"""

    u = inport("input")
    y = outport("input at the last hit")

    @staticmethod
    def output(u):
        return u


class DiscreteIntegrator(SampledBlock):
    """y[k] = x + k Ts sum(u): integral of a sampled signal, within limits where given.

    forward (Euler): the input acts one sample later, no direct feedthrough; backward: it acts at once; trapezoid: half and half.
    """

    family = "discrete"
    example = """
format: 1
simulate: {stop: 1.0, solver: rk4, step: 1e-2}
blocks:
  wave: {type: Sine, frequency: 1.0}
  area: {type: DiscreteIntegrator, Ts: 0.01, method: trapezoid, in: wave}
"""

    k: float = param(1.0, "gain")
    lower: float = param(-inf, "the integral never falls below this", infinite=True)
    upper: float = param(inf, "the integral never rises above this", infinite=True)
    method: str = static("forward", "rule of integration", choices=("forward", "backward", "trapezoid"))
    u = inport("input")
    y = outport("integral")
    x: float = memory(0.0, "integral so far")

    @staticmethod
    def output(x, lower, upper):
        return minimum(maximum(x, lower), upper)

    @staticmethod
    def update(x, u, k, Ts, lower, upper):
        return minimum(maximum(x + k * Ts * u, lower), upper)

    @staticmethod
    def check(lower, upper):
        return order_problem("lower", lower, "upper", upper)

    def variant(self, inputs: int = 1) -> type[Block]:
        return {"forward": DiscreteIntegrator, "backward": BackwardIntegrator, "trapezoid": TrapezoidIntegrator}[
            self.settings["method"]
        ]

    def label(self) -> list[str]:
        top, bottom = {"forward": ("Ts", "z - 1"), "backward": ("Ts z", "z - 1"), "trapezoid": ("Ts (z + 1)", "2 (z - 1)")}[
            self.settings["method"]
        ]
        return [top, FRACTION_BAR, bottom]


class BackwardIntegrator(DiscreteIntegrator):
    """y[k] = y[k-1] + k Ts u[k]."""

    @staticmethod
    def output(x, u, k, Ts, lower, upper):
        return minimum(maximum(x + k * Ts * u, lower), upper)


class TrapezoidIntegrator(DiscreteIntegrator):
    """y[k] = y[k-1] + k Ts (u[k] + u[k-1]) / 2; x holds the sum up to half of the newest input."""

    @staticmethod
    def output(x, u, k, Ts, lower, upper):
        return minimum(maximum(x + 0.5 * k * Ts * u, lower), upper)

    @staticmethod
    def update(x, u, k, Ts, lower, upper):
        return minimum(maximum(x + 0.5 * k * Ts * u, lower), upper) + 0.5 * k * Ts * u


class DiscreteTransferFunction(Fraction, SampledBlock):
    """Y(z) = num(z) / den(z) U(z): a difference equation, coefficients from the highest power of z down.

    With num and den of one length this is scipy.signal.lfilter(num, den, u). A shorter num delays by the difference.
    """

    family = "discrete"
    example = """
format: 1
simulate: {stop: 1.0, solver: rk4, step: 1e-2}
blocks:
  step: {type: Step, time: 0.1}
  lag:  {type: DiscreteTransferFunction, num: [0.1], den: [1.0, -0.9], Ts: 0.01, in: step}
"""

    x: Any = memory(0.0, "delay line, newest first", size="n", array=True)

    @staticmethod
    def update(x, u, a, n):
        newest = u
        for i in range(n):
            newest = newest - a[i] * x[i]
        for i in range(n - 1):
            x[n - 1 - i] = x[n - 2 - i]
        x[0] = newest

    @staticmethod
    def check(num, den):
        return fraction_problem(num, den, "z")

    def variant(self, inputs: int = 1) -> type[Block]:
        return DiscreteTransferFunction if strictly_proper(self.settings) else ProperDiscreteTransferFunction

    def label(self) -> list[str]:
        return fraction(self.settings["num"], self.settings["den"], "z")


class ProperDiscreteTransferFunction(PassingFraction, DiscreteTransferFunction):
    """Y(z) = num(z) / den(z) U(z) with num and den of one degree: part of the input passes at once."""


class DiscreteStateSpace(Matrices, SampledBlock):
    """x[k+1] = A x[k] + B u[k], y[k] = C x[k] + D u[k]: a sampled linear system of any size."""

    family = "discrete"
    icon = (
        "0.1,0 0,0 0,1 0.1,1; 0.9,0 1,0 1,1 0.9,1; 0.25,0.75 0.4,0.75; 0.6,0.75 0.75,0.75; 0.25,0.25 0.4,0.25; 0.6,0.25 0.75,0.25"
    )
    example = """
format: 1
simulate: {stop: 1.0, solver: rk4, step: 1e-2}
blocks:
  push:  {type: Step, time: 0.1}
  plant: {type: DiscreteStateSpace, A: [[1, 0.1], [0, 0.9]], B: [[0], [0.1]], C: [[1, 0]], Ts: 0.1, in: push}
"""

    x: Any = memory(0.0, "state", size="n")

    @staticmethod
    def update(x, u, A, B, n, inputs, out):
        for i in range(n):
            total = 0.0
            for j in range(n):
                total = total + A[i, j] * x[j]
            for j in range(inputs):
                total = total + B[i, j] * u[j]
            out[i] = total

    def variant(self, inputs: int = 1) -> type[Block]:
        return DiscreteStateSpace if strictly_causal(self.settings) else FeedthroughDiscreteStateSpace

    def label(self) -> list[str]:
        return ["StateSpace (z)", f"{len(self.settings['A'])} states"]


class FeedthroughDiscreteStateSpace(PassingMatrices, DiscreteStateSpace):
    """x[k+1] = A x[k] + B u[k], y[k] = C x[k] + D u[k] with D not zero."""


class MovingAverage(SampledBlock):
    """y[k] = mean(u[k-window+1], ..., u[k]): average of the last `window` samples, or of those there are at the start.

    It delays slow signals by (window - 1) / 2 samples and removes every frequency that fits whole periods into the window.
    """

    family = "discrete"
    icon = "0,0.4 0.12,0.75 0.25,0.4 0.37,0.95 0.5,0.5 0.62,1 0.75,0.6 0.87,0.9 1,0.65; 0.3,0.2 0.3,0 0.85,0 0.85,0.2"
    same_unit = True
    example = """
format: 1
simulate: {stop: 1.0, solver: rk4, step: 1e-2}
blocks:
  noise:  {type: WhiteNoise, std: 1.0, Ts: 0.01}
  smooth: {type: MovingAverage, window: 10, Ts: 0.01, in: noise}
"""

    window: int = static(None, "number of samples averaged", kind=int, required=True)
    u = inport("input")
    y = outport("average")
    ring: Any = memory(0.0, "the last inputs", size="window", array=True)
    place: float = memory(0.0, "where the next input goes")
    filled: float = memory(0.0, "inputs received, at most `window`")
    total: float = memory(0.0, "sum of the ring")
    fresh: float = memory(0.0, "sum of this lap")

    @staticmethod
    def output(u, ring, place, filled, total, fresh, window):
        return window_sum(u, ring, place, total, fresh) / minimum(filled + 1.0, float(window))

    @staticmethod
    def update(u, ring, place, filled, total, fresh, window):
        following = window_sum(u, ring, place, total, fresh)
        ring[int(place)] = u
        if place + 1.0 < window:
            return place + 1.0, minimum(filled + 1.0, float(window)), following, fresh + u
        return 0.0, float(window), following, 0.0

    @staticmethod
    def check(window):
        return None if 1 <= window <= 1_000_000 else f"window: must be 1 to 1000000 samples, found {window}."
