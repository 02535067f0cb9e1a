"""ExpressionTrace: follows one expression of a block function into a graph of scalars (tracer.py follows its statements)."""

from __future__ import annotations

import ast
import types
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, NoReturn

from ..contract.vocabulary import CONSTANTS, FUNCTIONS, WORDS, Word, power_form
from ..errors import BlockDefinitionError, did_you_mean
from .graph import Term
from .scalars import applied
from .specialise import argument_list, redefined
from .values import Array, Env, Missing, Untraceable, Value, View, as_value, size_text

if TYPE_CHECKING:
    from .tracer import Tracer

BINARY: dict[type, str] = {ast.Add: "+", ast.Sub: "-", ast.Mult: "*", ast.Div: "/", ast.FloorDiv: "//", ast.Mod: "%"}
RELATIONS: dict[type, str] = {ast.Lt: "<", ast.LtE: "<=", ast.Gt: ">", ast.GtE: ">=", ast.Eq: "==", ast.NotEq: "!="}


class ExpressionTrace:
    """The expressions of one call of one function."""

    def __init__(self, tracer: Tracer, function: Callable[..., Any]):
        self.tracer, self.graph, self.function = tracer, tracer.graph, function

    def refuse(self, text: str) -> NoReturn:
        """A mistake, wherever the function runs."""
        raise BlockDefinitionError(f"{self.function.__qualname__} {text}")

    def stay(self, text: str) -> NoReturn:
        """Nothing wrong, but it cannot be followed."""
        raise Untraceable(f"{self.function.__qualname__} {text}")

    def scalar(self, node: ast.expr, env: Env) -> Term:
        return self.one(self.value(node, env), node)

    def one(self, value: Value, node: ast.AST) -> Term:
        if isinstance(value, Missing):
            raise BlockDefinitionError(value.why)
        if not isinstance(value, Term):
            self.refuse(f"uses '{ast.unparse(node)}', which is {size_text(value)}, as one number.")
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
                return self.tracer.both(condition, lambda: self.value(body, env), lambda: self.value(orelse, env))
            case ast.Subscript(value=inner, slice=index):
                return self.element(node, self.value(inner, env), index, env)
            case ast.Call():
                return self.call(node, env)
        self.refuse(f"has '{ast.unparse(node)}', which a block function cannot have.")

    def named_value(self, name: str, env: Env) -> Value:
        if name in env:
            return env[name]
        if name in self.function.__code__.co_varnames:
            self.refuse(f"reads '{name}' before it has a value.")
        value = self.function.__globals__.get(name)
        if name in CONSTANTS and not redefined(name, value):
            return self.graph.constant(CONSTANTS[name])
        if isinstance(value, (int, float, str, tuple)):
            return as_value(self.graph, value)
        self.refuse(f"uses '{name}', which is no number." + did_you_mean(name, env))

    def binary(self, op: ast.operator, left: Term, right: Term) -> Term:
        if isinstance(op, ast.Pow):
            return self.power(left, right)
        if type(op) not in BINARY:
            self.refuse(f"uses the operator {type(op).__name__}, which a block function cannot have.")
        return self.graph.apply(BINARY[type(op)], left, right)

    def power(self, base: Term, exponent: Term) -> Term:
        """Whole powers as products, square roots by sqrt: see `power_form`."""
        g = self.graph
        if base.known and exponent.known and type(base.value) is type(exponent.value) is int and exponent.value >= 0:
            return g.constant(base.value**exponent.value)
        word, more = power_form(exponent.value if exponent.known else None)
        if word == "1/sqrt":
            return g.apply("/", g.constant(1.0), g.apply("sqrt", base))
        if word == "power_int":
            return g.call("power_int", base, more)
        return g.apply(word, base, exponent) if word == "power" else g.apply(word, base)

    def unary(self, op: ast.unaryop, operand: Term) -> Term:
        if isinstance(op, ast.USub):
            return self.graph.apply("negative", operand)
        if isinstance(op, ast.Not):
            return self.graph.apply("not", operand)
        if isinstance(op, ast.UAdd):
            return operand
        self.refuse("uses ~, which a block function cannot have.")

    def comparison(self, node: ast.Compare, env: Env) -> Term:
        """a < b < c is a < b and b < c, in which b is computed once."""
        left = self.value(node.left, env)
        return self.compared(left, list(zip(node.ops, node.comparators, strict=True)), node, env)

    def compared(self, left: Value, rest: list[tuple[ast.cmpop, ast.expr]], node: ast.Compare, env: Env) -> Term:
        (op, other), *more = rest
        right = self.value(other, env)
        if type(op) in RELATIONS:
            first = self.graph.apply(RELATIONS[type(op)], self.one(left, node), self.one(right, node))
        else:
            first = self.membership(op, left, right)
        if not more:
            return first
        decided = self.tracer.decide(first)
        if decided is not None:
            return self.compared(right, more, node, env) if decided else self.graph.constant(False)
        both: Term = self.tracer.both(first, lambda: self.compared(right, more, node, env), lambda: self.graph.constant(False))
        return both

    def membership(self, op: ast.cmpop, left: Value, right: Value) -> Term:
        """x in (...), x is None: of what is known."""
        parts = right if isinstance(right, tuple) else (right,)
        if isinstance(op, (ast.Is, ast.IsNot)) and isinstance(right, Term) and right.known and right.value is None:
            same = isinstance(left, Term) and left.known and left.value is None
            return self.graph.constant(same == isinstance(op, ast.Is))
        if not all(isinstance(n, Term) and n.known for n in (left, *parts)):
            self.refuse(f"uses the comparison {type(op).__name__} of something known only at the run.")
        if isinstance(op, (ast.Is, ast.IsNot)):
            return self.graph.constant((left.value is right.value) == isinstance(op, ast.Is))
        inside = left.value in (right.value if isinstance(right, Term) else [n.value for n in parts])
        return self.graph.constant(inside == isinstance(op, ast.In))

    def logical(self, both: bool, values: list[ast.expr], env: Env) -> Term:
        """`a and b` is b where a holds, else a; `a or b` is a where a holds, else b."""
        test = self.scalar(values[0], env)
        if len(values) == 1:
            return test
        decided = self.tracer.decide(test)
        if decided is not None:
            return self.logical(both, values[1:], env) if decided == both else test
        end = self.graph.constant(not both) if is_truth(test) else test
        sides = (lambda: self.logical(both, values[1:], env)), (lambda: end)
        node: Term = self.tracer.both(test, *(sides if both else sides[::-1]))
        return node

    def places(self, index: ast.expr, env: Env) -> list[Term]:
        value = self.value(index, env)
        return [self.one(part, index) for part in (value if isinstance(value, tuple) else (value,))]

    def known_places(self, index: ast.expr, env: Env) -> list[int]:
        nodes = self.places(index, env)
        if not all(n.known for n in nodes):
            self.stay(f"has the index '{ast.unparse(index)}', which is known only at the run.")
        return [n.value for n in nodes]

    def element(self, node: ast.Subscript, value: Value, index: ast.expr, env: Env) -> Value:
        if isinstance(value, View):
            return self.tracer.element(value, self.places(index, env), f"{self.function.__qualname__} reads")
        value = self.tracer.heap[value] if isinstance(value, Array) else value
        for place in self.known_places(index, env):
            if isinstance(value, Missing):
                raise BlockDefinitionError(value.why)
            if isinstance(value, Term) and value.known and isinstance(value.value, str):
                return self.graph.constant(value.value[place])
            if isinstance(value, Term) and value.op == "call":  # one of several results
                value = self.graph.node("item", (value,), place)
                continue
            if not isinstance(value, tuple):
                self.refuse(f"has '{ast.unparse(node)}', an element of one number.")
            if not -len(value) <= place < len(value):
                self.refuse(f"reads element {place} of {len(value)} in '{ast.unparse(node)}'.")
            value = value[place]
        return value

    def call(self, node: ast.Call, env: Env) -> Value:
        name = node.func.attr if isinstance(node.func, ast.Attribute) else getattr(node.func, "id", "")
        own = None if isinstance(node.func, ast.Attribute) else env.get(name, self.function.__globals__.get(name))
        if isinstance(own, types.FunctionType) and (name in env or name not in WORDS or redefined(name, own)):
            pairs = argument_list(self.function, own, node).items()
            return self.tracer.call(
                own, {k: self.value(a, env) if isinstance(a, ast.expr) else as_value(self.graph, a) for k, a in pairs}
            )
        values = [self.value(a, env) for a in node.args]
        if name == "len":
            return self.length(values[0], node)
        word = WORDS.get(name)
        if word is not None and word.form == "matrix":
            return self.matrix(word, values, {str(k.arg): self.value(k.value, env) for k in node.keywords}, node)
        if word is None or not (word.takes or word.same_as):
            self.refuse(f"calls '{ast.unparse(node.func)}', which is no function that a block function can call.")
        if name in ("max", "min"):
            items = self.tracer.items(values[0]) if len(values) == 1 else tuple(values)
            result = self.one(items[0], node)
            for item in items[1:]:
                result = self.graph.apply(word.same_as, result, self.one(item, node))
            return result
        called = word.same_as or name
        if len(values) != FUNCTIONS[called].takes:
            self.refuse(f"calls {name} with {len(values)} arguments where {FUNCTIONS[called].takes} are wanted.")
        return self.graph.apply(called, *[self.one(value, node) for value in values])

    def matrix(self, word: Word, values: list[Value], keywords: dict[str, Value], node: ast.Call) -> Value:
        """A word for vectors and matrices, element by element."""
        if len(self.graph.nodes) > self.tracer.numbers:
            self.stay(f"is too long: more than {self.tracer.numbers} numbers with its matrices written out.")
        plain = [self.tracer.content(v) for v in values]
        named = {k: self.tracer.content(v) for k, v in keywords.items()}
        try:
            if word.name in ("zeros", "array"):
                return self.own(word, plain)
            return applied(self.graph, word.meaning, plain, named)
        except (TypeError, ValueError, IndexError, AttributeError):
            sizes = ", ".join(size_text(v) for v in plain)
            self.refuse(f"has '{ast.unparse(node)}', whose parts do not fit together: {sizes}.")

    def own(self, word: Word, values: list[Value]) -> Array:
        """An array whose elements the function may set."""
        content = values[0] if word.name == "array" else as_value(self.graph, word.meaning(*[n.value for n in values]).tolist())
        array = Array("own")
        self.tracer.heap[array] = content
        return array

    def length(self, value: Value, node: ast.Call) -> Term:
        if isinstance(value, View):
            return self.graph.read("read", value.length)
        if isinstance(value, Term) and value.known and isinstance(value.value, str):
            return self.graph.constant(len(value.value))
        if not isinstance(value, (tuple, Array)):
            self.refuse(f"has '{ast.unparse(node)}', the length of {size_text(value)}.")
        return self.graph.constant(len(self.tracer.items(value)))


def is_truth(node: Term) -> bool:
    """Whether a node is True or False, and not a number."""
    if node.op == "choice":
        return all(is_truth(n) or (n.known and isinstance(n.value, bool)) for n in node.inputs[1:])
    return node.op in ("<", "<=", ">", ">=", "==", "!=", "not", "bool")
