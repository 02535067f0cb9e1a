"""ExpressionTrace: follows one expression of a block function into a graph of scalars (tracer.py follows its statements)."""

from __future__ import annotations

import ast
import types
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, NoReturn

from ..contract.definition import arguments
from ..contract.vocabulary import CONSTANTS, VOCABULARY
from ..errors import did_you_mean
from .fold import redefined
from .graph import FUNCTIONS, Node

if TYPE_CHECKING:
    from .tracer import Tracer

BINARY: dict[type, str] = {ast.Add: "+", ast.Sub: "-", ast.Mult: "*", ast.Div: "/", ast.FloorDiv: "//", ast.Mod: "%"}
RELATIONS: dict[type, str] = {ast.Lt: "<", ast.LtE: "<=", ast.Gt: ">", ast.GtE: ">=", ast.Eq: "==", ast.NotEq: "!="}


class Untraceable(Exception):
    """A function that cannot be followed, and why in words."""


class Missing:
    """A name without a value here; asking for it is an error, having it is not."""

    def __init__(self, why: str):
        self.why = why


Value = Any  # a Node, a Missing, or a tuple of values
Env = dict[str, Value]


class ExpressionTrace:
    """The expressions of one call of one function."""

    def __init__(self, tracer: Tracer, function: Callable[..., Any]):
        self.tracer, self.graph, self.function = tracer, tracer.graph, function

    def refuse(self, text: str) -> NoReturn:
        raise Untraceable(f"{self.function.__qualname__} {text}")

    def scalar(self, node: ast.expr, env: Env) -> Node:
        return self.one(self.value(node, env), ast.unparse(node))

    def one(self, value: Value, text: str) -> Node:
        if isinstance(value, Missing):
            raise Untraceable(value.why)
        if not isinstance(value, Node):
            self.refuse(f"uses '{text}', which is {size_text(value)}, as one number.")
        return value

    def value(self, node: ast.expr, env: Env) -> Value:
        match node:
            case ast.Constant(value=value):
                return self.graph.constant(value)
            case ast.Name(id=name):
                return self.named_value(name, env)
            case ast.Attribute(value=ast.Name(id="math"), attr=name) if name in CONSTANTS:
                return self.graph.constant(CONSTANTS[name])
            case ast.Tuple(elts=parts) | ast.List(elts=parts):
                return tuple(self.value(part, env) for part in parts)
            case ast.BinOp(left=left, op=op, right=right):
                return self.binary(op, self.scalar(left, env), self.scalar(right, env))
            case ast.UnaryOp(op=op, operand=operand):
                return self.unary(op, self.scalar(operand, env))
            case ast.Compare():
                return self.comparison(node, env)
            case ast.BoolOp(op=op, values=values):
                return self.logical(isinstance(op, ast.And), values, env)
            case ast.IfExp(test=test, body=body, orelse=orelse):
                condition = self.scalar(test, env)
                decided = self.tracer.decide(condition)
                if decided is not None:
                    return self.value(body if decided else orelse, env)
                yes = self.tracer.assuming(condition, True, lambda: self.value(body, env))
                no = self.tracer.assuming(condition, False, lambda: self.value(orelse, env))
                return self.tracer.merged(condition, yes, no)
            case ast.Subscript(value=inner, slice=index):
                return self.element(node, self.value(inner, env), self.places(index, env))
            case ast.Call():
                return self.call(node, env)
        self.refuse(f"has '{ast.unparse(node)}', which cannot be followed.")

    def named_value(self, name: str, env: Env) -> Value:
        if name in env:
            return env[name]
        if name in self.function.__code__.co_varnames:
            self.refuse(f"reads '{name}' before it has a value.")
        value = self.function.__globals__.get(name)
        if name in CONSTANTS and not redefined(name, value):
            return self.graph.constant(CONSTANTS[name])
        if isinstance(value, (int, float)):
            return self.graph.constant(value)
        self.refuse(f"uses '{name}', which is no number." + did_you_mean(name, env))

    def binary(self, op: ast.operator, left: Node, right: Node) -> Node:
        left, right = self.one(left, "left of an operation"), self.one(right, "right of an operation")
        if isinstance(op, ast.Pow):
            return self.power(left, right)
        if type(op) not in BINARY:
            self.refuse(f"uses the operator {type(op).__name__}, which cannot be followed.")
        return self.graph.apply(BINARY[type(op)], left, right)

    def power(self, base: Node, exponent: Node) -> Node:
        """As the folded text computes it: whole powers as products, square roots by sqrt."""
        g = self.graph
        count = exponent.value if exponent.known else None
        if isinstance(count, float) and count.is_integer() and abs(count) < 64:
            count = int(count)
        if count == 0.5:
            return g.apply("sqrt", base)
        if count == -0.5:
            return g.apply("/", g.constant(1.0), g.apply("sqrt", base))
        if base.known and isinstance(count, int):
            return g.constant(base.value**count if type(base.value) is int and count >= 0 else float(base.value) ** count)
        if base.known and count is None and base.value > 0:
            return g.apply("exp", g.apply("*", exponent, g.apply("log", base)))
        if isinstance(count, int):
            return g.apply("square" if count == 2 else "cube", base) if count in (2, 3) else g.call("power_int", base, count)
        return g.apply("power", base, exponent)

    def unary(self, op: ast.unaryop, operand: Node) -> Node:
        if isinstance(op, ast.USub):
            return self.graph.apply("negative", operand)
        if isinstance(op, ast.Not):
            return self.graph.apply("not", operand)
        if isinstance(op, ast.UAdd):
            return operand
        self.refuse("uses ~, which cannot be followed.")

    def comparison(self, node: ast.Compare, env: Env) -> Node:
        """a < b < c is a < b and b < c."""
        parts = [self.value(n, env) for n in (node.left, *node.comparators)]
        made: Node | None = None
        for op, left, right in zip(node.ops, parts, parts[1:], strict=False):
            if type(op) not in RELATIONS:
                found = self.membership(op, left, right)
            else:
                text = ast.unparse(node)
                found = self.graph.apply(RELATIONS[type(op)], self.one(left, text), self.one(right, text))
            made = found if made is None else self.graph.choose(made, found, self.graph.constant(False))
        assert made is not None
        return made

    def membership(self, op: ast.cmpop, left: Value, right: Value) -> Node:
        """x in (...), x is None: of what is known."""
        parts = right if isinstance(right, tuple) else (right,)
        if not all(isinstance(n, Node) and n.known for n in (left, *parts)):
            self.refuse(f"uses the comparison {type(op).__name__} of something known only at the run.")
        if isinstance(op, (ast.Is, ast.IsNot)):
            return self.graph.constant((left.value is right.value) == isinstance(op, ast.Is))
        return self.graph.constant((left.value in [n.value for n in parts]) == isinstance(op, ast.In))

    def logical(self, both: bool, values: list[ast.expr], env: Env) -> Node:
        """`a and b` is b where a holds, else False; `a or b` is True where a holds, else b."""
        test = self.scalar(values[0], env)
        if len(values) == 1:
            return test
        decided = self.tracer.decide(test)
        if decided is not None:
            return self.logical(both, values[1:], env) if decided == both else self.graph.constant(decided)
        rest = self.tracer.assuming(test, both, lambda: self.logical(both, values[1:], env))
        end = self.graph.constant(not both)
        return self.graph.choose(test, rest, end) if both else self.graph.choose(test, end, rest)

    def places(self, index: ast.expr, env: Env) -> list[int]:
        found = self.value(index, env)
        parts = found if isinstance(found, tuple) else (found,)
        if not all(isinstance(n, Node) and n.known for n in parts):
            self.refuse(f"has the index '{ast.unparse(index)}', which is known only at the run.")
        return [n.value for n in parts]

    def element(self, node: ast.Subscript, value: Value, places: list[int]) -> Value:
        for place in places:
            if isinstance(value, Missing):
                raise Untraceable(value.why)
            if isinstance(value, Node) and value.known and isinstance(value.value, str):
                return self.graph.constant(value.value[place])
            if not isinstance(value, tuple):
                self.refuse(f"has '{ast.unparse(node)}', an element of one number.")
            if not -len(value) <= place < len(value):
                self.refuse(f"reads element {place} of {len(value)} in '{ast.unparse(node)}'.")
            value = value[place]
        return value

    def call(self, node: ast.Call, env: Env) -> Value:
        name = node.func.attr if isinstance(node.func, ast.Attribute) else getattr(node.func, "id", "")
        if node.keywords or any(isinstance(a, ast.Starred) for a in node.args):
            self.refuse(f"calls {name} with keywords or *; plain arguments only.")
        inputs = [self.value(a, env) for a in node.args]
        own = None if isinstance(node.func, ast.Attribute) else self.function.__globals__.get(name)
        if isinstance(own, types.FunctionType) and (name not in VOCABULARY or redefined(name, own)):
            wanted = arguments(own)
            if len(wanted) != len(inputs):
                self.refuse(f"calls {name} with {len(inputs)} arguments where {len(wanted)} are wanted.")
            return self.tracer.run(own, dict(zip(wanted, inputs, strict=True)))
        if name == "len":
            return self.graph.constant(len(inputs[0]) if isinstance(inputs[0], tuple) else len(inputs[0].value))
        if name in ("max", "min"):
            items = inputs[0] if len(inputs) == 1 and isinstance(inputs[0], tuple) else tuple(inputs)
            made = self.one(items[0], name)
            for item in items[1:]:
                made = self.graph.apply("maximum" if name == "max" else "minimum", made, self.one(item, name))
            return made
        name = "round_half_even" if name == "round" else name
        if name not in FUNCTIONS:
            self.refuse(f"calls '{ast.unparse(node.func)}', which is no function that can be followed.")
        return self.graph.apply(name, *[self.one(value, ast.unparse(node)) for value in inputs])


def size_text(value: Value) -> str:
    return f"{len(value)} values" if isinstance(value, tuple) else "one value"
