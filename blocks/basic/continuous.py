"""Continuous dynamics: integrators, lags, transfer functions, state spaces, delays."""

# mypy: disable-error-code="override"
# A variant depends on other names than the block it stands in for, and its argument list says so.

from __future__ import annotations

from math import ceil as ceiling
from math import isinf
from typing import Any

from blocksim.contract.block import Block, inport, memory, outport, param, period, required, state, static
from blocksim.contract.times import exact
from blocksim.contract.vocabulary import floor, inf, maximum, minimum
from blocksim.notation import FRACTION_BAR

from .linear import (
    Fraction,
    Matrices,
    PassingFraction,
    PassingMatrices,
    elements,
    fraction,
    fraction_problem,
    order_problem,
    strictly_causal,
    strictly_proper,
)

__all__ = ["Derivative", "FirstOrderLag", "Integrator", "StateSpace", "TransferFunction", "TransportDelay"]


class Integrator(Block):
    """x' = u, y = x: the integral of the input, held at `lower` or `upper` where limits are given.

    At a limit the state stays there until the input turns back, both instants located exactly: no wind-up.
    """

    family = "continuous"
    example = """
format: 1
simulate: {stop: 2.0, solver: dopri5, rtol: 1e-8}
blocks:
  push: {type: Sine, frequency: 0.5}
  tank: {type: Integrator, upper: 0.4, in: push}
"""

    lower: float = param(-inf, "the integral never falls below this", infinite=True)
    upper: float = param(inf, "the integral never rises above this", infinite=True)
    u = inport("input")
    y = outport("integral of the input", integral_of="u")
    x: float = state(0.0, "integral")

    @staticmethod
    def output(x):
        return x

    @staticmethod
    def derivative(u):
        return u

    @staticmethod
    def check(lower, upper):
        return order_problem("lower", lower, "upper", upper)

    def variant(self, inputs: int = 1) -> type[Block]:
        free = all(isinf(v) for name in ("lower", "upper") for v in elements(self.settings[name]))
        return Integrator if free else LimitedIntegrator

    def label(self) -> list[str]:
        return ["1", FRACTION_BAR, "s"]


class LimitedIntegrator(Integrator):
    """x' = u between the limits; held at a limit while u pushes against it."""

    held: float = memory(0.0, "1 at the upper limit, -1 at the lower one, 0 between")

    @staticmethod
    def derivative(u, held):
        return u if held == 0.0 else 0.0

    @staticmethod
    def guard_upper(x, upper, held):
        return upper - x if held == 0.0 else 1.0

    @staticmethod
    def reset_upper(upper):
        return {"x": upper, "held": 1.0}

    @staticmethod
    def guard_lower(x, lower, held):
        return x - lower if held == 0.0 else 1.0

    @staticmethod
    def reset_lower(lower):
        return {"x": lower, "held": -1.0}

    @staticmethod
    def guard_release(u, held):
        return u * held if held != 0.0 else 1.0

    @staticmethod
    def reset_release():
        return {"held": 0.0}


class FirstOrderLag(Block):
    """T y' + y = k u: first-order lag, e.g. an actuator or an anti-alias filter."""

    family = "continuous"
    example = """
format: 1
simulate: {stop: 2.0, solver: rk4, step: 1e-2}
blocks:
  ref: {type: Step, time: 0.5}
  lag: {type: FirstOrderLag, k: 2.0, T: 0.3, in: ref}
"""

    k: float = param(1.0, "static gain")
    T: float = required("time constant", "s", above=0)
    u = inport("input")
    y = outport("lagged input")
    x: float = state(0.0, "lagged value")

    @staticmethod
    def output(x):
        return x

    @staticmethod
    def derivative(x, u, k, T):
        return (k * u - x) / T

    def label(self) -> list[str]:
        return fraction([self.settings["k"]], [self.settings["T"], 1.0], "s")


class Derivative(Block):
    """Y = s / (T s + 1) U: the derivative of the input, filtered with the time constant T.

    A true derivative cannot be computed causally; T says up to which frequency, 1/T rad/s, this one is trusted. It starts
    as if the input had always been `x`, so an input that starts elsewhere begins with a spike of height (u(0) - x) / T.
    """

    family = "continuous"
    example = """
format: 1
simulate: {stop: 2.0, solver: rk4, step: 1e-3}
blocks:
  angle: {type: Sine, frequency: 1.0}
  speed: {type: Derivative, T: 0.01, in: angle}
"""

    T: float = required("time constant of the filter", "s", above=0)
    u = inport("input")
    y = outport("filtered derivative", rate_of="u")
    x: float = state(0.0, "filtered input")

    @staticmethod
    def output(x, u, T):
        return (u - x) / T

    @staticmethod
    def derivative(x, u, T):
        return (u - x) / T

    def label(self) -> list[str]:
        return fraction([1.0, 0.0], [self.settings["T"], 1.0], "s")


class TransferFunction(Fraction, Block):
    """Y(s) = num(s) / den(s) U(s): a rational transfer function, coefficients from the highest power of s down.

    One state-space realisation in controllable canonical form, x[0] the highest derivative. num may not have a higher degree
    than den; with a lower one there is no direct feedthrough. Above order 8 or so coefficients lose accuracy: use StateSpace.
    """

    family = "continuous"
    example = """
format: 1
simulate: {stop: 5.0, solver: dopri5, rtol: 1e-8}
blocks:
  push:  {type: Step, time: 0.5}
  plant: {type: TransferFunction, num: [2.0], den: [1.0, 0.4, 2.0], in: push}
"""

    x: Any = state(0.0, "controllable canonical state, highest derivative first", size="n")

    @staticmethod
    def derivative(x, u, a, n, out):
        top = u
        for i in range(n):
            top = top - a[i] * x[i]
        out[0] = top
        for i in range(1, n):
            out[i] = x[i - 1]

    @staticmethod
    def check(num, den):
        return fraction_problem(num, den, "s")

    def variant(self, inputs: int = 1) -> type[Block]:
        return TransferFunction if strictly_proper(self.settings) else ProperTransferFunction

    def label(self) -> list[str]:
        return fraction(self.settings["num"], self.settings["den"], "s")


class ProperTransferFunction(PassingFraction, TransferFunction):
    """Y(s) = num(s) / den(s) U(s) with num and den of one degree: part of the input passes directly."""


class StateSpace(Matrices, Block):
    """x' = A x + B u, y = C x + D u: a linear system of any size; without D (or with zeros) there is no direct feedthrough."""

    family = "continuous"
    icon = (
        "0.1,0 0,0 0,1 0.1,1; 0.9,0 1,0 1,1 0.9,1; 0.25,0.75 0.4,0.75; 0.6,0.75 0.75,0.75; 0.25,0.25 0.4,0.25; 0.6,0.25 0.75,0.25"
    )
    example = """
format: 1
simulate: {stop: 5.0, solver: dopri5, rtol: 1e-8}
blocks:
  push:  {type: Step, time: 0.5}
  plant: {type: StateSpace, A: [[0, 1], [-2, -0.4]], B: [[0], [1]], C: [[1, 0], [0, 1]], in: push}
"""

    x: Any = state(0.0, "state", size="n")

    @staticmethod
    def derivative(x, u, A, B, n, inputs, out):
        for i in range(n):
            total = 0.0
            for j in range(n):
                total = total + A[i, j] * x[j]
            for j in range(inputs):
                total = total + B[i, j] * u[j]
            out[i] = total

    def variant(self, inputs: int = 1) -> type[Block]:
        return StateSpace if strictly_causal(self.settings) else FeedthroughStateSpace

    def label(self) -> list[str]:
        return ["StateSpace", f"{len(self.settings['A'])} states"]


class FeedthroughStateSpace(PassingMatrices, StateSpace):
    """x' = A x + B u, y = C x + D u with D not zero."""


def kept_input(t, history, count, last, delay, initial, Ts, n):
    """The input as it was `delay` ago, on the straight line between two that were kept."""
    back = maximum((last + delay - t) / Ts, 0.0)
    whole = floor(back)
    newer, older = initial, initial
    if whole < count:
        newer = history[int(count - 1.0 - whole) % n]
    if whole + 1.0 < count:
        older = history[int(count - 2.0 - whole) % n]
    return newer + (back - whole) * (older - newer)


class TransportDelay(Block):
    """y(t) = u(t - delay): dead time, e.g. of a pipe or a slow bus.

    The input is kept every Ts and interpolated linearly, so what happens within Ts is smoothed; the delay must be at least Ts.
    Before the first sample is through, the output is `initial`. With `longest`, room for that much is kept, and up to it
    `delay` is a number like others: one that an identifier may look for.
    """

    family = "continuous"
    icon = "0,0.1 0.2,0.1 0.2,0.9 0.45,0.9; 0.5,0.1 0.7,0.1 0.7,0.9 1,0.9"
    same_unit = True
    example = """
format: 1
simulate: {stop: 2.0, solver: rk4, step: 1e-2}
blocks:
  ref:  {type: Sine, frequency: 1.0}
  pipe: {type: TransportDelay, delay: 0.25, Ts: 1e-2, in: ref}
"""

    delay: float = required("dead time", "s")
    longest: float | None = static(None, "the longest delay that may come, where it is to be sought [s]", kind=(int, float))
    initial: float = param(0.0, "output until the first input is through")
    Ts = period(doc="interval at which the input is kept", required=True)
    u = inport("input")
    y = outport("input as it was `delay` ago")
    history: Any = memory(0.0, "the last inputs, a ring", size="n", array=True)
    count: float = memory(0.0, "inputs kept so far")
    last: float = memory(0.0, "time of the newest one", "s")

    @staticmethod
    def size_n(delay, Ts):
        return ceiling(exact(delay) / exact(Ts)) + 2

    @staticmethod
    def output(t, history, count, last, delay, initial, Ts, n):
        return kept_input(t, history, count, last, delay, initial, Ts, n)

    @staticmethod
    def update(t, u, history, count, n):
        history[int(count) % n] = u
        return count + 1.0, t

    @staticmethod
    def check(delay, longest, Ts):
        most = max(elements(delay))
        if not all(0 < one < inf and exact(one) >= exact(Ts) for one in elements(delay)):
            return f"delay: must be at least Ts = {Ts} s and finite, found {delay}; a UnitDelay gives exactly one sample."
        if longest is not None and not most <= longest < inf:
            return f"longest: must be at least the delay, {most} s, and finite, found {longest}."
        if exact(longest or most) / exact(Ts) > 10_000_000:
            return f"delay: {longest or most} s at Ts = {Ts} s would keep more than ten million samples; raise Ts."
        return None

    def variant(self, inputs: int = 1) -> type[Block]:
        return TransportDelay if self.settings["longest"] is None else SoughtDelay


class SoughtDelay(TransportDelay):
    """y(t) = u(t - delay), with room for `longest` whatever the delay is."""

    @staticmethod
    def size_n(longest, Ts):
        return ceiling(exact(longest) / exact(Ts)) + 2

    @staticmethod
    def output(t, history, count, last, delay, longest, initial, Ts, n):
        return kept_input(t, history, count, last, minimum(delay, longest), initial, Ts, n)
