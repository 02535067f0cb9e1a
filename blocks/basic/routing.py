"""Routing: vectors put together, taken apart and switched. An element of a vector needs no block: write `robot.q[1]`."""

from __future__ import annotations

from functools import lru_cache
from typing import Any

from blocksim.contract.block import Block, inport, memory, outport, param, static
from blocksim.contract.expression import function
from blocksim.errors import DiagramError

__all__ = ["Demux", "Mux", "Select", "Switch"]


class Mux(Block):
    """y = [u1, u2, ...]: joins signals into one vector, in order."""

    family = "routing"
    icon = "0,0.9 0.45,0.9; 0,0.5 1,0.5; 0,0.1 0.45,0.1; 0.45,0 0.45,1"
    same_unit = True
    example = """
format: 1
simulate: {stop: 1.0, solver: rk4, step: 1e-2}
blocks:
  a:    {type: Sine, frequency: 1.0}
  b:    {type: Constant, value: [1.0, 2.0]}
  both: {type: Mux, in: [a, b]}
"""

    u = inport("signals to join, numbers or vectors", many=True, size="any")
    y = outport("all elements, in order", size="n")

    @staticmethod
    def size_n(u):
        return sum(u)

    @staticmethod
    def output(u):
        return u


class Demux(Block):
    """y1, y2, ... = parts of u: takes a vector apart into parts of the given sizes."""

    family = "routing"
    icon = "0,0.5 1,0.5; 0.55,0 0.55,1; 0.55,0.9 1,0.9; 0.55,0.1 1,0.1"
    formula = r"(y_{1}, y_{2}, \dots) = u"
    same_unit = True
    example = """
format: 1
simulate: {stop: 1.0, solver: rk4, step: 1e-2}
blocks:
  three: {type: Constant, value: [1.0, 2.0, 3.0]}
  parts: {type: Demux, sizes: [1, 2], in: three}
  twice: {type: Gain, k: 2.0, in: parts.y2}
"""

    sizes: list[int] = static(None, "size of each part, in order, e.g. [1, 2]", kind=(list, tuple), required=True)
    u = inport("vector to take apart", size="total")

    def __new__(cls, **settings: Any) -> Demux:
        """A Demux has as many outputs as it has sizes, so each set of sizes is a class of its own."""
        if sizes_problem(settings.get("sizes")):
            return super().__new__(cls)  # __init__ refuses it in words
        return super().__new__(parted(tuple(settings["sizes"])))

    def __reduce__(self) -> Any:
        return remade, (self.settings,)

    @staticmethod
    def size_total(sizes):
        return sum(sizes)

    @staticmethod
    def check(sizes):
        return sizes_problem(sizes)


class Select(Block):
    """y = u[index]: one element of a vector, or several in any order, counted from 0."""

    family = "routing"
    icon = "0,0.5 0.3,0.5; 0.3,0 0.3,1; 0.3,0.9 1,0.9; 0.3,0.1 0.5,0.1; 0.3,0.5 0.5,0.5"
    same_unit = True
    example = """
format: 1
simulate: {stop: 1.0, solver: rk4, step: 1e-2}
blocks:
  three: {type: Constant, value: [1.0, 2.0, 3.0]}
  turn:  {type: Select, index: [2, 0], in: three}
"""

    index: int | list[int] = static(0, "element, or list of elements, counted from 0", kind=(int, list, tuple))
    u = inport("vector", size="any")
    y = outport("the chosen elements", size="n")

    @staticmethod
    def size_n(u, index):
        places = indices(index)
        wrong = [i for i in places if i >= u]
        if wrong:
            raise DiagramError(f"index: {wrong[0]} is outside the input, which has {u} element(s): 0 to {u - 1}.")
        return len(places)

    @staticmethod
    def output(u):
        return u[0]

    @staticmethod
    def check(index):
        whole = indices(index) and all(type(i) is int and i >= 0 for i in indices(index))
        return None if whole else f"index: found {index!r}; a whole number from 0, or a list of them, is wanted."

    def variant(self, inputs: int = 1) -> type[Block]:
        return selected(tuple(indices(self.settings["index"])))


class Switch(Block):
    """y = above while control > threshold, else below: passes one of two signals; the instant of the change is located."""

    family = "routing"
    icon = "0,0.85 0.3,0.85; 0,0.15 0.3,0.15; 0.3,0.85 0.75,0.5 1,0.5"
    formula = (
        r"y = \begin{cases} \mathrm{above} & \mathrm{control} > \mathrm{threshold} \\ \mathrm{below} & \text{else} "
        r"\end{cases}"
    )
    example = """
format: 1
simulate: {stop: 2.0, solver: dopri5, rtol: 1e-8}
blocks:
  high:  {type: Constant, value: 1.0}
  low:   {type: Constant, value: -1.0}
  wave:  {type: Sine, frequency: 1.0}
  which: {type: Switch, threshold: 0.5, in: [high, wave, low]}
"""

    threshold: float = param(0.5, "the control signal decides by this value")
    above = inport("passed while control is above the threshold")
    control = inport("deciding signal")
    below = inport("passed otherwise", like="above")
    y = outport("the chosen signal", like="above")
    up: float = memory(0.0, "1 while control is above the threshold")

    @staticmethod
    def output(above, below, up):
        return above if up > 0.5 else below

    @staticmethod
    def guard_change(control, threshold, up):
        margin = control - threshold
        if up < 0.5:
            return -margin
        return margin if margin != 0.0 else -1e-300  # exactly at the threshold is not above it

    @staticmethod
    def reset_change(up):
        return {"up": 1.0 - up}


def sizes_problem(sizes: Any) -> str | None:
    whole = isinstance(sizes, (list, tuple)) and sizes and all(type(n) is int and n > 0 for n in sizes)
    return None if whole else f"sizes: found {sizes!r}; a list of whole numbers above 0 is wanted, e.g. [1, 2]."


def indices(index: Any) -> list[int]:
    return list(index) if isinstance(index, (list, tuple)) else [index]


def taken(elements: list[int], name: str = "output") -> staticmethod[..., Any]:
    """The function that gives these elements of u, a number for one and a tuple for several."""
    text = ", ".join(f"u[{i}]" for i in elements)
    return staticmethod(function(f"def {name}(u):\n    return {text}\n"))


@lru_cache(maxsize=256)
def parted(sizes: tuple[int, ...]) -> type[Demux]:
    """The Demux with these parts: outputs y1, y2, ..."""
    members: dict[str, Any] = {"__doc__": Demux.__doc__}
    start = 0
    for number, size in enumerate(sizes, start=1):
        members[f"y{number}"] = outport(f"part {number}", size=size)
        members[f"output_y{number}"] = taken(list(range(start, start + size)), f"output_y{number}")
        start += size
    return type("Demux", (Demux,), members)


def remade(settings: dict[str, Any]) -> Demux:
    return Demux(**settings)


@lru_cache(maxsize=256)
def selected(index: tuple[int, ...]) -> type[Block]:
    """The Select of these elements."""
    return type("Select", (Select,), {"__doc__": Select.__doc__, "output": taken(list(index))})
