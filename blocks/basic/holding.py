"""Signals kept for later: a delay of whole samples, and a hold that a trigger sets."""

from __future__ import annotations

from typing import Any

from blocksim.contract.block import Block, SampledBlock, inport, memory, outport, param, static

from .logic import CROSSINGS, counts_as_edge, crossed_side, crossing_margin

__all__ = ["Delay", "SampleAndHold"]


class Delay(SampledBlock):
    """y[k] = u[k-N]: the input N samples ago, e.g. the dead time of a fieldbus. Until then y is what `x` holds, oldest first."""

    family = "discrete"
    same_unit = True
    example = """
format: 1
simulate: {stop: 1.0, solver: rk4, step: 1e-2}
blocks:
  wave: {type: Sine, frequency: 1.0}
  bus:  {type: Delay, N: 5, Ts: 0.02, in: wave}
"""

    N: int = static(None, "number of samples", kind=int, required=True)
    u = inport("input")
    y = outport("input N samples ago")
    x: Any = memory(0.0, "the kept inputs, a ring; at the start oldest first", size="N", array=True)
    place: float = memory(0.0, "where the oldest one is", internal=True)

    @staticmethod
    def output(x, place):
        return x[int(place)]

    @staticmethod
    def update(u, x, place, N):
        x[int(place)] = u
        return place + 1.0 if place + 1.0 < N else 0.0

    @staticmethod
    def check(N):
        return None if 1 <= N <= 1_000_000 else f"N: must be 1 to 1000000 samples, found {N}."

    def label(self) -> list[str]:
        return ["z⁻" + "".join("⁰¹²³⁴⁵⁶⁷⁸⁹"[int(c)] for c in str(self.settings["N"]))]


class SampleAndHold(Block):
    """y = u as it was when the trigger last crossed its threshold; each crossing is located. Until the first, y is `x`.

    A trigger that starts above the threshold has not crossed it.
    """

    family = "discrete"
    icon = "0,0.3 0.4,0.3; 0.4,0.3 0.65,0.8; 0.7,0.3 1,0.3"
    formula = r"y(t) = u(t_{k}), \quad t_{k} = \max \{\, \tau \le t : \mathrm{trigger}(\tau) \text{ crosses its threshold} \,\}"
    example = """
format: 1
simulate: {stop: 2.0, solver: dopri5, rtol: 1e-8}
blocks:
  wave:  {type: Sine, frequency: 0.3}
  beat:  {type: Pulse, period: 0.5, delay: 0.2}
  latch: {type: SampleAndHold, in: {u: wave, trigger: beat}}
"""

    threshold: float = param(0.5, "the trigger is high above this value")
    edge: str = static("rising", "which crossings count", choices=CROSSINGS)
    u = inport("signal to keep")
    trigger = inport("when to keep it")
    y = outport("the kept value", like="u")
    x: float = memory(0.0, "the kept value")
    side: float = memory(0.0, "1 while the trigger is high, -1 while it is low; 0 before the start", internal=True)

    @staticmethod
    def output(x):
        return x

    @staticmethod
    def guard_trigger(trigger, side, threshold):
        return crossing_margin(trigger, side, threshold)

    @staticmethod
    def reset_trigger(u, x, trigger, side, threshold, edge):
        counts = counts_as_edge(side, edge == "rising", edge == "falling")
        return {"x": u if counts else x, "side": crossed_side(trigger, side, threshold)}
