"""Arithmetic: gains, sums, products, and any formula written as text."""

from __future__ import annotations

import ast
from functools import lru_cache
from typing import Any

from blocksim.contract.block import Block, brief, inport, outport, param, required, static
from blocksim.contract.expression import function, names_in, parse_expression
from blocksim.errors import DiagramError

__all__ = ["Abs", "Function", "Gain", "MatrixGain", "Product", "Sum"]

#: More inputs than any diagram has; the names u1 ... that an expression may use before its inputs are counted.
MOST_INPUTS = 99


class Gain(Block):
    """y = k u: every element times a constant."""

    family = "arithmetic"
    shape = "triangle"
    example = """
format: 1
simulate: {stop: 1.0, solver: rk4, step: 1e-2}
blocks:
  ref:  {type: Sine, frequency: 1.0}
  half: {type: Gain, k: 0.5, in: ref}
"""

    k: float = param(1.0, "gain")
    u = inport("input")
    y = outport("input times the gain")

    @staticmethod
    def output(u, k):
        return k * u

    def label(self) -> list[str]:
        return [brief(self.settings["k"])]


class Sum(Block):
    """y = ± u1 ± u2 ...: adds or subtracts its inputs, e.g. a control error with signs '+-'.

    Vectors of one size are added element by element. Without `signs` everything is added.
    """

    family = "arithmetic"
    same_unit = True
    shape = "circle"
    example = """
format: 1
simulate: {stop: 1.0, solver: rk4, step: 1e-2}
blocks:
  ref:   {type: Step, time: 0.1}
  error: {type: Sum, signs: "+-", in: [ref, plant]}
  plant: {type: Integrator, in: error}
"""

    signs: str = static("", "one + or - for each input, in order", kind=str)
    u = inport("signals to add", many=True)
    y = outport("sum")

    @staticmethod
    def output(u):
        total = u[0]
        for i in range(1, len(u)):
            total = total + u[i]
        return total

    @staticmethod
    def check(signs):
        return signs_problem("signs", signs, "+-")

    def variant(self, inputs: int = 1) -> type[Block]:
        return signed(Sum, "signs", self.settings["signs"], "+", inputs)

    def label(self) -> list[str]:
        return [self.settings["signs"] or "+"]


class Product(Block):
    """y = u1 * u2 ... or, with operations '*/', u1 / u2: multiplies and divides its inputs.

    Vectors of one size are multiplied element by element. Dividing by zero gives inf.
    """

    family = "arithmetic"
    formula = r"y = u_{1} \cdot u_{2} \cdots \quad \text{or} \quad y = \frac{u_{1}}{u_{2}}"
    example = """
format: 1
simulate: {stop: 1.0, solver: rk4, step: 1e-2}
blocks:
  a:     {type: Sine, frequency: 1.0}
  b:     {type: Ramp, slope: 2.0}
  power: {type: Product, in: [a, b]}
"""

    operations: str = static("", "one * or / for each input, in order; empty multiplies all", kind=str)
    u = inport("factors", many=True)
    y = outport("product")

    @staticmethod
    def output(u):
        total = u[0]
        for i in range(1, len(u)):
            total = total * u[i]
        return total

    @staticmethod
    def check(operations):
        return signs_problem("operations", operations, "*/")

    def variant(self, inputs: int = 1) -> type[Block]:
        return signed(Product, "operations", self.settings["operations"], "*", inputs)

    def label(self) -> list[str]:
        return [self.settings["operations"].replace("*", "×").replace("/", "÷") or "×"]


class Abs(Block):
    """y = |u|."""

    family = "arithmetic"
    icon = "0,0.95 0.5,0.05 1,0.95"
    same_unit = True
    example = """
format: 1
simulate: {stop: 1.0, solver: rk4, step: 1e-2}
blocks:
  ref:  {type: Sine, frequency: 1.0}
  size: {type: Abs, in: ref}
"""

    u = inport("input")
    y = outport("absolute value")

    @staticmethod
    def output(u):
        return abs(u)

    def label(self) -> list[str]:
        return ["|u|"]


class MatrixGain(Block):
    """y = K u: a matrix times a vector."""

    family = "arithmetic"
    example = """
format: 1
simulate: {stop: 1.0, solver: rk4, step: 1e-2}
blocks:
  pair: {type: Constant, value: [1.0, 2.0]}
  turn: {type: MatrixGain, K: [[0, -1], [1, 0]], in: pair}
"""

    K: Any = required("gain matrix, one list per row", shape=(None, None))
    u = inport("vector", size="columns")
    y = outport("K u", size="rows")

    @staticmethod
    def size_rows(K):
        return len(K)

    @staticmethod
    def size_columns(K):
        return len(K[0])

    @staticmethod
    def output(u, K, rows, columns, out):
        for i in range(rows):
            total = 0.0
            for j in range(columns):
                total = total + K[i, j] * u[j]
            out[i] = total

    def label(self) -> list[str]:
        K = self.settings["K"]
        return ["K u", f"{len(K)} × {len(K[0])}"]


class Function(Block):
    """y = expression: any formula of the inputs u1, u2 ... (or u for a single one) and the time t, e.g. "sin(u1) * u2".

    It may use numbers, + - * / **, comparisons (1 when true, 0 when false), and, or, not, 'a if c else b', pi, and the functions
    sin cos tan asin acos atan atan2 sinh cosh tanh exp expm1 log log10 log1p sqrt abs sign floor ceil round maximum minimum
    hypot fmod copysign power. A jump inside the formula is not located by the solver: use Switch, Relay or Sign where it matters.
    """

    family = "arithmetic"
    example = """
format: 1
simulate: {stop: 1.0, solver: rk4, step: 1e-2}
blocks:
  angle:  {type: Ramp, slope: 3.0}
  length: {type: Constant, value: 0.5}
  height: {type: Function, expression: "u2 * (1 - cos(u1))", in: [angle, length]}
"""

    expression: str = static("u", "formula of u1, u2 ... and t", kind=str, required=True)
    u = inport("inputs u1, u2 ... in order", many=True, optional=True)
    y = outport("value of the formula")

    @staticmethod
    def output(u):
        return u[0]

    @staticmethod
    def check(expression):
        try:
            parse_expression(expression, allowed_names(MOST_INPUTS))
        except ValueError as error:
            return f"expression: {error}"
        return None

    def variant(self, inputs: int = 1) -> type[Block]:
        return formula(self.settings["expression"], inputs)

    def label(self) -> list[str]:
        return [self.settings["expression"]]


def signs_problem(name: str, signs: str, allowed: str) -> str | None:
    """What is wrong with a text of signs."""
    if set(signs) - set(allowed):
        return f"{name}: found '{signs}'; one {' or '.join(allowed)} for each input is wanted, e.g. '{allowed}'."
    return None


@lru_cache(maxsize=256)
def signed(base: type[Block], name: str, signs: str, default: str, inputs: int) -> type[Block]:
    """The class whose output is written out for these signs: `return u[0] - u[1]`."""
    signs = signs or default * inputs
    if len(signs) != inputs:
        raise DiagramError(f"{name}: '{signs}' is for {len(signs)} inputs, found {inputs}; one for each, in order, is wanted.")
    first = {"-": "-u[0]", "/": "1.0 / u[0]"}.get(signs[0], "u[0]")
    rest = "".join(f" {sign} u[{i}]" for i, sign in enumerate(signs) if i > 0)
    output = function(f"def output(u):\n    return {first}{rest}\n")
    return type(base.__name__, (base,), {"__doc__": base.__doc__, "output": staticmethod(output)})


def allowed_names(inputs: int) -> set[str]:
    numbered = {f"u{i + 1}" for i in range(inputs)}
    return numbered | {"t"} | ({"u"} if inputs else set())


@lru_cache(maxsize=256)
def formula(expression: str, inputs: int) -> type[Block]:
    """The class whose output is this expression of `inputs` inputs."""
    names = allowed_names(inputs) - ({"u"} if inputs > 1 else set())
    try:
        tree = parse_expression(expression, names)
    except ValueError as error:
        raise DiagramError(f"expression '{expression}' with {inputs} inputs: {error}") from None
    read = names_in(tree)
    arguments = [name for name, needed in (("u", read - {"t"}), ("t", "t" in read)) if needed]
    source = f"def output({', '.join(arguments)}):\n    return {ast.unparse(Numbered().visit(tree))}\n"
    return type("Function", (Function,), {"__doc__": Function.__doc__, "output": staticmethod(function(source))})


class Numbered(ast.NodeTransformer):
    """u2 -> u[1], and a lone u -> u[0]: the port takes many signals."""

    def visit_Name(self, node: ast.Name) -> ast.expr:
        if node.id != "u" and not (node.id[0] == "u" and node.id[1:].isdigit()):
            return node
        index = int(node.id[1:] or 1) - 1
        return ast.Subscript(ast.Name("u", ast.Load()), ast.Constant(index), ast.Load())
