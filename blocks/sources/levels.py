"""LevelSequence: listed values, one at every tick of a clock."""

from __future__ import annotations

from typing import Any

from blocksim.contract.block import Block, brief, memory, outport, param, period, static, table
from blocksim.contract.declarations import Param

__all__ = ["LevelSequence"]


class LevelSequence(Block):
    """y[k] = amplitude * values[k], each held for one tick of the clock; after the last one it begins again, or rests at 0.

    `signs: "++-+"` writes a binary sequence shortly, in place of `values`. What a design of excitation finds is one of these.
    """

    family = "sources"
    icon = "0,0.5 0.167,0.5 0.167,0.9 0.333,0.9 0.333,0.3 0.5,0.3 0.5,0.1 0.667,0.1 0.667,0.7 0.833,0.7 0.833,0.5 1,0.5"
    colour = "source"
    sampled = True
    example = """
format: 1
simulate: {stop: 1.0, solver: rk4, step: 1e-2}
blocks:
  steps: {type: LevelSequence, amplitude: 2.0, clock: 0.1, values: [0.0, 0.5, 1.0, -1.0]}
  bits:  {type: LevelSequence, amplitude: 2.0, clock: 0.1, signs: "++-+--"}
"""

    amplitude: float = param(1.0, "factor of all values")
    clock = period(doc="time for which each value holds", required=True)
    values: Any = Param(doc="the values in turn", shape=(None,), default=None)
    signs: str = static(None, "plus and minus signs, in place of values", kind=str)
    repeat: bool = static(True, "begin again after the last value; else 0 from there on", kind=bool)
    y = outport("the sequence, held between ticks")
    index: float = memory(0.0, "place in the sequence")
    levels = table("the values in turn")

    def label(self) -> list[str]:
        return ["LevelSequence", f"a value every {brief(self.settings['clock'])} s"]

    @staticmethod
    def table_levels(values, signs, repeat):
        numbers = [1.0 if sign == "+" else -1.0 for sign in signs] if signs is not None else list(values)
        return numbers if repeat else [*numbers, 0.0]

    @staticmethod
    def step(index, levels, amplitude, repeat):
        following = index + 1.0
        if following >= len(levels):
            following = 0.0 if repeat else index
        return amplitude * levels[int(index)], following

    @staticmethod
    def check(values, signs):
        if (values is None) == (signs is None):
            return "give values, or signs."
        if signs is not None and (not signs or set(signs) - {"+", "-"}):
            return f"signs: plus and minus signs are wanted, found {signs[:40]!r}."
        return None if signs is not None or len(values) else "values: at least one is wanted."
