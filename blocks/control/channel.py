"""A channel of a data logger: what it writes down is late by a lag and off by a zero, both of which may be sought."""

from __future__ import annotations

from math import ceil as ceiling
from typing import Any

from blocksim.contract.block import Block, inport, memory, outport, param, period, static
from blocksim.contract.times import exact
from blocksim.contract.vocabulary import floor, inf, minimum

from ..basic.linear import elements

__all__ = ["Channel"]


class Channel(Block):
    """y(t) = u(t - delay) + offset: a signal as a logger gets it, late and with another zero.

    Between sensors and the record lie filters, buses and clocks of their own: two encoders of one axis are often a few
    milliseconds apart, and have different zeros. Both are numbers that CLOE and OutputError may look for, [arm.delay,
    arm.offset]; the delay is anything from 0 to `longest`. The input is kept every Ts and joined by straight lines. Before the
    first is through, it is taken to have stood still.
    """

    family = "sensors"
    icon = "0,0.1 0.2,0.1 0.2,0.7 0.45,0.7; 0.4,0.3 0.65,0.3 0.65,0.9 1,0.9"
    same_unit = True
    example = """
format: 1
simulate: {stop: 2.0, solver: rk4, step: 1e-3}
blocks:
  angle: {type: Sine, amplitude: 0.5, frequency: 1.0}
  late:  {type: Channel, delay: 3e-3, offset: 1e-3, longest: 0.01, Ts: 1e-3, in: angle}
"""

    delay: float = param(0.0, "how late it is", "s", min=0)
    offset: float = param(0.0, "what is read at 0, in the unit of the signal")
    longest: float = static(0.02, "the longest delay there is room for, in seconds", kind=(int, float))
    Ts = period(doc="interval at which the input is kept", required=True)
    u = inport("signal")
    y = outport("the signal, late and off", measured=True)
    history: Any = memory(0.0, "the last inputs, a ring", size="n", array=True)
    count: float = memory(0.0, "inputs kept so far")
    last: float = memory(0.0, "time of the newest one", "s")

    @staticmethod
    def size_n(longest, Ts):
        return ceiling(exact(longest) / exact(Ts)) + 3

    @staticmethod
    def output(t, u, history, count, last, delay, offset, longest, Ts, n):
        past = t - minimum(delay, longest)
        if count == 0.0:
            return u + offset
        if past >= last:  # between the newest that was kept and now
            newest = history[int(count - 1.0) % n]
            return newest + (u - newest) * ((past - last) / (t - last) if t > last else 1.0) + offset
        back = (last - past) / Ts
        whole = floor(back)
        newer = history[int(count - 1.0 - minimum(whole, count - 1.0)) % n]
        older = history[int(count - 1.0 - minimum(whole + 1.0, count - 1.0)) % n]
        return newer + (back - whole) * (older - newer) + offset

    @staticmethod
    def update(t, u, history, count, n):
        history[int(count) % n] = u
        return count + 1.0, t

    @staticmethod
    def check(delay, longest, Ts):
        if not 0 < longest < inf or max(elements(delay)) > longest:
            return f"longest: must be at least the delay, {max(elements(delay)):g} s, above 0 and finite, found {longest}."
        if exact(longest) / exact(Ts) > 10_000_000:
            return f"longest: {longest} s at Ts = {Ts} s would keep more than ten million samples; raise Ts."
        return None
