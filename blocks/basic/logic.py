"""Decisions: comparisons, logic, edges and counts. True is 1, false 0; what is above 0.5 counts as true.

A decision jumps, so it is kept in memory, and the instant at which it changes is located.
"""

from __future__ import annotations

from blocksim.contract.block import Block, SampledBlock, brief, inport, memory, outport, param, static
from blocksim.contract.vocabulary import maximum, minimum
from blocksim.errors import DiagramError

__all__ = ["Compare", "Counter", "EdgeDetector", "Logic", "MinMax"]

#: Which crossings of a threshold count.
CROSSINGS = ("rising", "falling", "both")
#: A margin of exactly nothing, which fires.
FIRES = -1e-300


def crossing_margin(u, side, threshold):
    """Positive until u crosses its threshold from its side, 1 above or -1 below; at the start, 0, it fires to find it."""
    return side * (u - threshold) if side != 0.0 else -1.0


def crossed_side(u, side, threshold):
    """The side of the threshold after a crossing."""
    if side != 0.0:
        return -side
    return 1.0 if u > threshold else -1.0


def counts_as_edge(side, rising, falling):
    """Whether the crossing that leaves this side is one of those looked for; there is none at the start."""
    if rising:
        return side < 0.0
    return side > 0.0 if falling else side != 0.0


class Compare(Block):
    """y = 1 while u <operator> v, else 0; v is `value` where nothing is connected to it. Each change is located.

    == and != are meant for signals that stand still between events, such as counts and modes: two curves that cross are equal
    for no time at all, which nobody sees.
    """

    family = "logic"
    formula = r"y = \begin{cases} 1 & u > v \\ 0 & \text{else} \end{cases} \quad \text{or with } \ge, <, \le, =, \ne"
    example = """
format: 1
simulate: {stop: 2.0, solver: dopri5, rtol: 1e-8}
blocks:
  wave: {type: Sine, frequency: 1.0}
  high: {type: Compare, operator: ">=", value: 0.5, in: wave}
"""

    operator: str = static(">", "the comparison", choices=(">", ">=", "<", "<=", "==", "!="))
    value: float = param(0.0, "compared with u where nothing is connected to v")
    u = inport("left of the operator")
    v = inport("right of the operator; `value` where left open", optional=True, like="u")
    y = outport("1 where it is true, else 0")
    true: float = memory(0.0, "the answer since the last change", internal=True)

    @staticmethod
    def output(true):
        return true

    @staticmethod
    def guard_change(u, v, true, value, operator, has_v):
        margin = u - (v if has_v else value)
        if operator == "==" or operator == "!=":
            holds = (margin == 0.0) == (operator == "==")
            return 1.0 if holds == (true > 0.5) else -1.0
        if operator == "<" or operator == "<=":
            margin = -margin
        strict = operator == ">" or operator == "<"
        if margin == 0.0:  # true for >= alone
            return FIRES if strict == (true > 0.5) else 0.0
        return margin if true > 0.5 else -margin

    @staticmethod
    def reset_change(true):
        return {"true": 1.0 - true}

    def label(self) -> list[str]:
        sign = {">=": "≥", "<=": "≤", "==": "=", "!=": "≠"}.get(self.settings["operator"], self.settings["operator"])
        return [f"{sign} {brief(self.settings['value'])}" if self.settings["value"] else sign]


class Logic(Block):
    """y = u1 and u2 ... (or, nand, nor, xor, not): 1 where it is true, else 0; inputs above 0.5 are true.

    xor is true for an odd number of true inputs; not takes one input. Each change is located. As y is kept in memory, gates may
    be wired in a circle, two nor as a latch. A circle without an answer, a not of itself, changes once and stays wrong.
    """

    family = "logic"
    formula = (
        r"y = \begin{cases} 1 & u_{1} > \frac{1}{2} \land u_{2} > \frac{1}{2} \land \dots \\ 0 & \text{else} "
        r"\end{cases} \quad \text{or with } \lor, \oplus, \lnot"
    )
    example = """
format: 1
simulate: {stop: 2.0, solver: dopri5, rtol: 1e-8}
blocks:
  wave: {type: Sine, frequency: 1.0}
  low:  {type: Compare, operator: "<", value: 0.8, in: wave}
  high: {type: Compare, operator: ">", value: 0.2, in: wave}
  band: {type: Logic, operator: and, in: [low, high]}
"""

    operator: str = static("and", "the operation", choices=("and", "or", "nand", "nor", "xor", "not"))
    u = inport("inputs, true above 0.5", many=True)
    y = outport("1 where it is true, else 0")
    true: float = memory(0.0, "the answer since the last change", internal=True)

    @staticmethod
    def output(true):
        return true

    @staticmethod
    def guard_change(u, true, operator):
        count = 0.0
        for i in range(len(u)):
            count = count + (1.0 if u[i] > 0.5 else 0.0)
        if operator == "and" or operator == "nand":
            holds = (count == len(u)) == (operator == "and")
        elif operator == "xor":
            holds = count % 2.0 == 1.0
        else:
            holds = (count > 0.0) == (operator == "or")
        return 1.0 if holds == (true > 0.5) else -1.0

    @staticmethod
    def reset_change(true):
        return {"true": 1.0 - true}

    def variant(self, inputs: int = 1) -> type[Block]:
        if self.settings["operator"] == "not" and inputs != 1:
            raise DiagramError(f"operator: not takes one input, found {inputs}; nor takes several.")
        return Logic

    def label(self) -> list[str]:
        return [self.settings["operator"]]


class MinMax(Block):
    """y = the smallest (min) or the largest (max) of its inputs, of vectors element by element. Kinks are left to the solver."""

    family = "arithmetic"
    formula = r"y = \min(u_{1}, u_{2}, \dots) \quad \text{or} \quad y = \max(u_{1}, u_{2}, \dots)"
    same_unit = True
    example = """
format: 1
simulate: {stop: 1.0, solver: rk4, step: 1e-2}
blocks:
  a:     {type: Sine, frequency: 1.0}
  b:     {type: Sine, frequency: 2.0}
  upper: {type: MinMax, operator: max, in: [a, b]}
"""

    operator: str = static("max", "which one", choices=("min", "max"))
    u = inport("signals", many=True)
    y = outport("the smallest or the largest")

    @staticmethod
    def output(u, operator):
        best = u[0]
        for i in range(1, len(u)):
            best = minimum(best, u[i]) if operator == "min" else maximum(best, u[i])
        return best

    def label(self) -> list[str]:
        return [self.settings["operator"]]


class EdgeDetector(SampledBlock):
    """y[k] = 1 where u has crossed its threshold since the last sample, else 0: one sample per edge.

    It sees what is there at its samples: a pulse between two of them passes by; a Counter, whose edges are located, sees it.
    An input that starts high makes no edge.
    """

    family = "logic"
    icon = "0,0 0.5,0 0.5,1 1,1; 0.36,0.35 0.5,0.7 0.64,0.35"
    formula = r"y[k] = \begin{cases} 1 & u[k-1] \le \mathrm{threshold} < u[k] \\ 0 & \text{else} \end{cases}"
    example = """
format: 1
simulate: {stop: 1.0, solver: rk4, step: 1e-2}
blocks:
  wave: {type: Sine, frequency: 2.0}
  edge: {type: EdgeDetector, threshold: 0.0, Ts: 0.01, in: wave}
"""

    threshold: float = param(0.5, "u is high above this value")
    edge: str = static("rising", "which crossings count", choices=CROSSINGS)
    u = inport("input")
    y = outport("1 at an edge, else 0")
    side: float = memory(0.0, "1 where u was high at the last sample, -1 low; 0 before the first", internal=True)

    @staticmethod
    def step(u, side, threshold, edge):
        now = 1.0 if u > threshold else -1.0
        crossed = now != side and counts_as_edge(side, edge == "rising", edge == "falling")
        return 1.0 if crossed else 0.0, now

    def label(self) -> list[str]:
        return ["edge " + {"rising": "↑", "falling": "↓", "both": "↑↓"}[self.settings["edge"]]]


class Counter(Block):
    """y = start + step times the edges of u so far, each at its exact instant; again from start after `wrap` edges.

    An input that starts high makes no edge. While `reset` is above 0.5, y is start and nothing is counted.
    """

    family = "logic"
    icon = "0,0.05 0.2,0.05 0.2,0.35 0.4,0.35 0.4,0.65 0.6,0.65 0.6,0.95 0.8,0.95 0.8,0.05 1,0.05"
    formula = r"y = \mathrm{start} + \mathrm{step} \cdot (n \bmod \mathrm{wrap}), \quad n \text{ edges of } u"
    example = """
format: 1
simulate: {stop: 3.0, solver: dopri5, rtol: 1e-8}
blocks:
  wave:  {type: Sine, frequency: 2.0}
  turns: {type: Counter, threshold: 0.0, wrap: 4, in: wave}
"""

    threshold: float = param(0.5, "u is high above this value")
    start: float = param(0.0, "what it starts from")
    step: float = param(1.0, "added at each edge; -1 counts down")
    wrap: float = param(0.0, "edges after which it starts again; 0: never", min=0)
    edge: str = static("rising", "which crossings count", choices=CROSSINGS)
    u = inport("input whose edges are counted")
    reset = inport("above 0.5: back to start", optional=True)
    y = outport("count")
    count: float = memory(0.0, "edges counted")
    side: float = memory(0.0, "1 while u is high, -1 while it is low; 0 before the start", internal=True)

    @staticmethod
    def output(count, start, step):
        return start + step * count

    @staticmethod
    def guard_edge(u, side, threshold):
        return crossing_margin(u, side, threshold)

    @staticmethod
    def reset_edge(u, reset, count, side, threshold, wrap, edge):
        counts = counts_as_edge(side, edge == "rising", edge == "falling") and reset <= 0.5
        following = count + 1.0 if counts else count
        return {"side": crossed_side(u, side, threshold), "count": 0.0 if 0.0 < wrap <= following else following}

    @staticmethod
    def guard_clear(reset, count):
        return -1.0 if reset > 0.5 and count != 0.0 else 1.0

    @staticmethod
    def reset_clear():
        return {"count": 0.0}
