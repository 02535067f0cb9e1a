"""Nonlinearities without dynamics of their own. Kinks are left to the solver; jumps keep a mode in memory, and the instant
at which the mode changes is located, so that no solver stage ever sees one."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from blocksim.contract.block import Block, SampledBlock, inport, memory, outport, param, period, required
from blocksim.contract.vocabulary import inf, maximum, minimum, pi, round_half_even, sign

from .linear import order_problem

__all__ = ["Backlash", "DeadZone", "Quantizer", "RateLimiter", "Relay", "Saturation", "Sign", "Wrap"]


def unreached(settings: Mapping[str, Any], names: Sequence[str], u: Any) -> str:
    """Of the two ends of a range that its input never left: why they are not seen."""
    if "upper" in names and u.max() <= settings["upper"]:
        return f"the input never exceeds {u.max():.3g}, and the upper end is {settings['upper']:.3g}"
    if "lower" in names and u.min() >= settings["lower"]:
        return f"the input never falls below {u.min():.3g}, and the lower end is {settings['lower']:.3g}"
    return ""


class Saturation(Block):
    """y = min(max(u, lower), upper): limits a signal, e.g. the torque a motor can give."""

    family = "nonlinear"
    icon = "0,0.1 0.3,0.1 0.7,0.9 1,0.9"
    same_unit = True
    example = """
format: 1
simulate: {stop: 1.0, solver: rk4, step: 1e-2}
blocks:
  wave:  {type: Sine, amplitude: 2.0, frequency: 1.0}
  limit: {type: Saturation, lower: -1.0, upper: 1.0, in: wave}
"""

    lower: float = param(-1.0, "smallest output", infinite=True)
    upper: float = param(1.0, "largest output", infinite=True)
    u = inport("input")
    y = outport("limited input")

    @staticmethod
    def output(u, lower, upper):
        return minimum(maximum(u, lower), upper)

    def unseen(self, names: Sequence[str], signals: Mapping[str, Any]) -> str:
        return unreached(self.settings, names, signals["u"])

    @staticmethod
    def check(lower, upper):
        return order_problem("lower", lower, "upper", upper)


class DeadZone(Block):
    """y = u - upper above `upper`, u - lower below `lower`, 0 between: small inputs have no effect."""

    family = "nonlinear"
    icon = "0,0.05 0.3,0.5 0.7,0.5 1,0.95"
    formula = (
        r"y = \begin{cases} u - \mathrm{upper} & u > \mathrm{upper} \\ u - \mathrm{lower} & u < \mathrm{lower} \\ 0 & "
        r"\text{between} \end{cases}"
    )
    same_unit = True
    example = """
format: 1
simulate: {stop: 1.0, solver: rk4, step: 1e-2}
blocks:
  wave: {type: Sine, amplitude: 2.0, frequency: 1.0}
  dead: {type: DeadZone, lower: -0.5, upper: 0.5, in: wave}
"""

    lower: float = param(-0.5, "where the zone begins", infinite=True)
    upper: float = param(0.5, "where the zone ends", infinite=True)
    u = inport("input")
    y = outport("what exceeds the zone")

    @staticmethod
    def output(u, lower, upper):
        if u > upper:
            return u - upper
        if u < lower:
            return u - lower
        return 0.0

    def unseen(self, names: Sequence[str], signals: Mapping[str, Any]) -> str:
        return unreached(self.settings, names, signals["u"])

    @staticmethod
    def check(lower, upper):
        return order_problem("lower", lower, "upper", upper, equal=True)


class Sign(Block):
    """y = -1, 0 or 1, the sign of u; the instant of each change is located.

    In a loop that drives u back to zero from both sides (dry friction by hand) the changes never end: use a friction block.
    """

    family = "nonlinear"
    icon = "0,0.1 0.5,0.1 0.5,0.9 1,0.9; 0,0.5 1,0.5"
    formula = r"y = \begin{cases} -1 & u < 0 \\ 0 & u = 0 \\ 1 & u > 0 \end{cases}"
    example = """
format: 1
simulate: {stop: 2.0, solver: dopri5, rtol: 1e-8}
blocks:
  wave: {type: Sine, frequency: 1.0}
  way:  {type: Sign, in: wave}
"""

    u = inport("input")
    y = outport("its sign")
    mode: float = memory(0.0, "the sign since the last change")

    @staticmethod
    def output(mode):
        return mode

    @staticmethod
    def guard_change(u, mode):
        if mode == 0.0:
            return -abs(u)
        return u * mode if u != 0.0 else -1e-300  # an input of exactly zero has the sign 0

    @staticmethod
    def reset_change(u):
        return {"mode": sign(u)}


class Relay(Block):
    """y = on_value once u rises above on_point, off_value once it falls below off_point: a switch with hysteresis.

    The instants are located. It starts off, or on where the input starts above on_point.
    """

    family = "nonlinear"
    icon = "0,0.1 0.65,0.1 0.65,0.9; 1,0.9 0.35,0.9 0.35,0.1"
    formula = (
        r"y = \begin{cases} \mathrm{on\_value} & \text{after } u > \mathrm{on\_point} \\ \mathrm{off\_value} & "
        r"\text{after } u < \mathrm{off\_point} \end{cases}"
    )
    example = """
format: 1
simulate: {stop: 20.0, solver: dopri5, rtol: 1e-8}
blocks:
  wish:   {type: Constant, value: 5.0}
  error:  {type: Sum, signs: "+-", in: [wish, room]}
  heater: {type: Relay, on_point: 1.0, off_point: -1.0, in: error}
  room:   {type: FirstOrderLag, k: 10.0, T: 5.0, in: heater}
"""

    on_point: float = param(0.0, "switches on above this")
    off_point: float = param(0.0, "switches off below this")
    on_value: float = param(1.0, "output while on")
    off_value: float = param(0.0, "output while off")
    u = inport("input")
    y = outport("on_value or off_value")
    on: float = memory(0.0, "1 while on")

    @staticmethod
    def output(on, on_value, off_value):
        return on_value if on > 0.5 else off_value

    @staticmethod
    def guard_switch(u, on, on_point, off_point):
        return u - off_point if on > 0.5 else on_point - u

    @staticmethod
    def reset_switch(on):
        return {"on": 1.0 - on}

    @staticmethod
    def check(on_point, off_point):
        return order_problem("off_point", off_point, "on_point", on_point, equal=True)


class Quantizer(Block):
    """y = step * round(u / step): whole multiples of a step; the instant of each change is located.

    Every change is an event: with a fine step in a sampled loop an Encoder, which rounds at its sample hits only, is faster.
    An input exactly between two levels keeps the one it had.
    """

    family = "nonlinear"
    icon = "0,0.05 0.2,0.05 0.2,0.35 0.4,0.35 0.4,0.65 0.6,0.65 0.6,0.95 0.8,0.95 1,0.95"
    same_unit = True
    example = """
format: 1
simulate: {stop: 1.0, solver: dopri5, rtol: 1e-8}
blocks:
  wave:   {type: Sine, frequency: 1.0}
  stairs: {type: Quantizer, step: 0.25, in: wave}
"""

    step: float = required("distance between two levels", above=0)
    u = inport("input")
    y = outport("nearest level")
    level: float = memory(0.0, "the level, in steps")

    @staticmethod
    def output(level, step):
        return step * level

    @staticmethod
    def guard_border(u, level, step):
        # The cells overlap by a hair more than rounding can move u, so that a change is never undone by its own reset.
        return 0.5 * step + (1e-9 * step + 1e-15 * abs(u)) - abs(u - step * level)

    @staticmethod
    def reset_border(u, step):
        return {"level": round_half_even(u / step)}


class RateLimiter(SampledBlock):
    """y[k] = y[k-1] + min(max(u[k] - y[k-1], -falling Ts), rising Ts): follows the input no faster than the limits.

    It is sampled, because the limit is one on the output's change, which has no meaning at an instant. y starts from `x`.
    """

    family = "nonlinear"
    icon = "0,0.1 0.2,0.1 0.8,0.9 1,0.9; 0.2,0.1 0.2,0.3"
    same_unit = True
    example = """
format: 1
simulate: {stop: 2.0, solver: rk4, step: 1e-2}
blocks:
  jump:   {type: Step, time: 0.5}
  gently: {type: RateLimiter, rising: 2.0, falling: 1.0, Ts: 0.01, in: jump}
"""

    rising: float = required("fastest rise", "1/s", above=0, infinite=True)
    falling: float = param(inf, "fastest fall, a positive number", "1/s", above=0, infinite=True)
    u = inport("input")
    y = outport("followed input")
    x: float = memory(0.0, "last output")

    def unseen(self, names: Sequence[str], signals: Mapping[str, Any]) -> str:
        late = abs(signals["u"] - signals["y"]).max() > 1e-9 * abs(signals["u"]).max()
        return "" if late else "the input is never faster than it lets through"

    @staticmethod
    def step(u, x, rising, falling, Ts):
        y = x + minimum(maximum(u - x, -falling * Ts), rising * Ts)
        return y, y


class Backlash(Block):
    """y = u - w/2 while u pushes up, u + w/2 while it pushes down, still within the gap w: the play operator.

    y(t) = min(max(y_k, u - w/2), u + w/2), y_k being kept every Ts: the play needs to know when its input turns, which no
    function of the present input can tell. It is exact as long as the input turns at most at sample hits; a turn between
    two hits costs at most what the input moved back within Ts. Between hits the output follows without jumps.
    """

    family = "nonlinear"
    icon = "0.1,0.05 0.4,0.05 0.9,0.95 0.6,0.95 0.1,0.05"
    formula = r"y(t) = \min\left(\max\left(y_{k}, u - \frac{w}{2}\right), u + \frac{w}{2}\right)"
    same_unit = True
    example = """
format: 1
simulate: {stop: 2.0, solver: rk4, step: 1e-3}
blocks:
  wave: {type: Sine, frequency: 1.0}
  play: {type: Backlash, width: 0.5, Ts: 1e-3, in: wave}
"""

    width: float = required("whole width of the gap", min=0)
    Ts = period(doc="interval at which the position of the gap is kept", required=True)
    u = inport("driving side")
    y = outport("driven side")
    x: float = memory(0.0, "driven side at the last hit")

    @staticmethod
    def output(u, x, width):
        return minimum(maximum(x, u - 0.5 * width), u + 0.5 * width)

    @staticmethod
    def update(u, x, width):
        return minimum(maximum(x, u - 0.5 * width), u + 0.5 * width)


class Wrap(Block):
    """y = u - n period, n whole, so that |y - center| <= period/2: an angle within one turn; each jump is located."""

    family = "nonlinear"
    icon = "0,0 0.33,1 0.33,0 0.67,1 0.67,0 1,1"
    same_unit = True
    example = """
format: 1
simulate: {stop: 3.0, solver: dopri5, rtol: 1e-8}
blocks:
  angle: {type: Ramp, slope: 5.0}
  turn:  {type: Wrap, in: angle}
"""

    period: float = param(2.0 * pi, "length of a turn", above=0)
    center: float = param(0.0, "middle of the turn: pi gives 0 to 2 pi")
    u = inport("input")
    y = outport("input within one turn")
    turns: float = memory(0.0, "whole turns taken off", internal=True)

    @staticmethod
    def output(u, turns, period):
        return u - period * turns

    @staticmethod
    def guard_jump(u, turns, period, center):
        # As in Quantizer, turns overlap by a hair more than rounding can move u.
        return 0.5 * period + (1e-12 * period + 1e-15 * abs(u)) - abs(u - period * turns - center)

    @staticmethod
    def reset_jump(u, period, center):
        return {"turns": round_half_even((u - center) / period)}
