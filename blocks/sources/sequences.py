"""Sources that follow the clock: the time itself, and a sequence of points that repeats."""

# mypy: disable-error-code="override"
# A variant depends on other names than the block it stands in for, and its argument list says so.

from __future__ import annotations

from itertools import pairwise
from typing import Any

from blocksim.contract.block import Block, memory, outport, param, required, static
from blocksim.contract.vocabulary import floor, maximum

from .curves import bracket

__all__ = ["Clock", "RepeatingSequence"]


class Clock(Block):
    """y = t: the time of the simulation."""

    family = "sources"
    icon = "0.79,0.5 0.7,0.85 0.5,1 0.3,0.85 0.21,0.5 0.3,0.15 0.5,0 0.7,0.15 0.79,0.5; 0.5,0.85 0.5,0.5 0.66,0.4"
    colour = "source"
    example = """
format: 1
simulate: {stop: 1.0, solver: rk4, step: 1e-2}
blocks:
  time: {type: Clock}
  late: {type: Compare, operator: ">", value: 0.3, in: time}
"""

    y = outport("time", "s")

    @staticmethod
    def output(t):
        return t

    def label(self) -> list[str]:
        return ["t"]


class RepeatingSequence(Block):
    """y(t) = straight lines through (times, values), again and again: a signal of any shape with a period.

    times rises from 0; its last one is the period, where the first value follows upon the last at once: a sawtooth is times
    [0, 1], values [0, 1]. `hold: zero` keeps each value until the next time, so the last value is never seen. Corners and
    jumps are located. `delay` moves it: before, the sequence has gone on for ever.
    """

    family = "sources"
    icon = "0,0 0.5,1 0.5,0 1,1 1,0"
    formula = r"y(t) = v_{i} + \frac{\tau - t_{i}}{t_{i+1} - t_{i}} \, (v_{i+1} - v_{i}), \quad \tau = t \bmod t_{n}"
    colour = "source"
    example = """
format: 1
simulate: {stop: 2.5, solver: dopri5, rtol: 1e-8}
blocks:
  saw:    {type: RepeatingSequence, times: [0, 1], values: [0, 1]}
  stairs: {type: RepeatingSequence, times: [0, 0.2, 0.5, 1], values: [0, 1, -1, 0], hold: zero}
"""

    times: Any = required("times of the points, rising from 0; the last is the period", "s", shape=(None,))
    values: Any = required("value at each time", shape=(None,))
    delay: float = param(0.0, "when a period begins", "s")
    hold: str = static("linear", "between points", choices=("linear", "zero"))
    y = outport("the sequence")
    place: float = memory(0.0, "points passed since the delay")

    @staticmethod
    def output(t, place, times, values, delay):
        last = len(times) - 1
        whole = floor(place / last)
        i = int(place - last * whole)
        since = t - (delay + times[last] * whole + times[i])
        return values[i] + since * (values[i + 1] - values[i]) / (times[i + 1] - times[i])

    @staticmethod
    def guard_point(t, place, times, delay):
        last = len(times) - 1
        whole = floor(place / last)
        due = delay + times[last] * whole + times[int(place - last * whole) + 1]
        left = due - t - 1e-15 * (abs(t) + times[last])  # a sample taken at a point sees what begins there, rounded or not
        return left if left > 0.0 else -1.0

    @staticmethod
    def reset_point(t, place, times, delay):
        last = len(times) - 1
        whole = floor((t - delay) / times[last])
        passed = last * whole + bracket(t - delay - times[last] * whole, times)
        return {"place": maximum(place + 1.0, float(passed))}

    @staticmethod
    def guard_early(t, place, times, delay):
        # A run that begins before the delay begins in a period before the first.
        last = len(times) - 1
        whole = floor(place / last)
        return -1.0 if t < delay + times[last] * whole + times[int(place - last * whole)] - 1e-9 * times[last] else 1.0

    @staticmethod
    def reset_early(t, times, delay):
        last = len(times) - 1
        whole = floor((t - delay) / times[last])
        return {"place": last * whole + bracket(t - delay - times[last] * whole, times)}

    @staticmethod
    def check(times, values):
        if len(times) != len(values):
            return f"times has {len(times)} numbers, values has {len(values)}; one value for each time is wanted."
        if len(times) < 2 or times[0] != 0:
            return f"times: at least two are wanted, the first of them 0, found {list(times)}."
        for first, second in pairwise(times):
            if second <= first:
                return f"times: must rise, found {first:g} before {second:g}."
        return None

    def variant(self, inputs: int = 1) -> type[Block]:
        return HeldSequence if self.settings["hold"] == "zero" else RepeatingSequence


class HeldSequence(RepeatingSequence):
    """y(t) = the value of the last point passed."""

    @staticmethod
    def output(place, times, values):
        last = len(times) - 1
        return values[int(place - last * floor(place / last))]
