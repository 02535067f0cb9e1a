"""Folding: a function's text with everything computed that is known when the program is written.

`Folder` works on expressions; `specialise` on whole functions that stay functions (those that fill `out`, and the solvers').
"""

from __future__ import annotations

import ast
import copy
import functools
import inspect
import math
import textwrap
import types
from collections.abc import Callable
from typing import Any

from ..contract.syntax import compiled, parse
from ..contract.vocabulary import CONSTANTS, VOCABULARY
from ..errors import BlockDefinitionError

Env = dict[str, ast.expr]
CONVERSIONS: dict[str, Callable[[Any], Any]] = {"int": int, "float": float, "bool": bool, "abs": abs}


class NotInlinable(Exception):
    """The function must stay a function: it has open loops, or indices that are known only at the run."""


@functools.cache
def parsed(function: Callable[..., Any]) -> ast.FunctionDef:
    """The function's syntax tree; a generated function carries its text in `__source__`."""
    text = getattr(function, "__source__", None)
    if text is None:
        try:
            text = inspect.getsource(function)
        except (OSError, TypeError):
            raise BlockDefinitionError(
                f"the source of {function.__qualname__} cannot be read; define blocks in a file."
            ) from None
    tree = parse(textwrap.dedent(text))
    found = next((n for n in tree.body if isinstance(n, ast.FunctionDef)), None)
    if found is None:
        raise BlockDefinitionError(f"{function.__qualname__} must be written with def.")
    return found


def constant(value: Any) -> ast.expr:
    """A known Python value as an expression; sequences become tuples."""
    if isinstance(value, (list, tuple)):
        return ast.Tuple([constant(v) for v in value], ast.Load())
    if hasattr(value, "item") and getattr(value, "ndim", 1) == 0:
        value = value.item()
    if isinstance(value, float) and (value != value or value in (float("inf"), float("-inf"))):
        name = ast.Name("nan" if value != value else "inf", ast.Load())
        return ast.UnaryOp(ast.USub(), name) if value < 0 else name
    return ast.Constant(value)


def expression(text: str) -> ast.expr:
    """Text as an expression."""
    return parse(text, "eval").body


def known(node: ast.expr) -> bool:
    return isinstance(node, ast.Constant) or (isinstance(node, ast.Tuple) and all(known(e) for e in node.elts))


def value_of(node: ast.expr) -> Any:
    return tuple(value_of(e) for e in node.elts) if isinstance(node, ast.Tuple) else node.value  # type: ignore[attr-defined]


class Folder(ast.NodeTransformer):
    """Expressions with everything known computed, and every function replaced by one both interpreters agree on."""

    def __init__(self, function: Callable[..., Any], env: Env, helpers: dict[str, Callable[..., Any]]):
        self.globals = function.__globals__
        self.locals = function.__code__.co_varnames
        self.where = function.__qualname__
        self.env = env
        self.helpers = helpers

    def visit_Name(self, node: ast.Name) -> ast.expr:
        if not isinstance(node.ctx, ast.Load):
            return node
        if node.id in self.env:
            return copy.deepcopy(self.env[node.id])
        if node.id in self.locals:  # an argument called e or tau is no constant
            return node
        value = self.globals.get(node.id)
        if node.id in VOCABULARY and not redefined(node.id, value):
            return word(node.id)
        if isinstance(value, (int, float)):
            return constant(value)
        if isinstance(value, types.FunctionType) and not module_of(value).startswith("blocksim.solvers"):
            return ast.Name(title_of(value, self.helpers), ast.Load())
        return node

    def visit_Attribute(self, node: ast.Attribute) -> ast.expr:
        if isinstance(node.value, ast.Name) and node.value.id == "math" and node.attr in VOCABULARY:
            return word(node.attr)
        raise BlockDefinitionError(
            f"{self.where} uses '{ast.unparse(node)}'; a block function may use plain names and math only."
        )

    def visit_BinOp(self, node: ast.BinOp) -> ast.expr:
        left, right = self.visit(node.left), self.visit(node.right)
        if isinstance(node.op, ast.Pow):
            return self.power(left, right)
        folded = ast.BinOp(left, node.op, right)
        if all(isinstance(n, ast.Constant) and type(n.value) is int for n in (left, right)) and not isinstance(node.op, ast.Div):
            return constant(evaluate(folded))
        return folded

    def power(self, base: ast.expr, exponent: ast.expr) -> ast.expr:
        """x**2 as products: libm's pow and the compiler's differ in the last bit."""
        count = exponent.value if isinstance(exponent, ast.Constant) else None
        if isinstance(count, float) and count.is_integer() and abs(count) < 64:
            count, exponent = int(count), ast.Constant(int(count))
        if count == 0.5:
            return call("sqrt", base)
        if count == -0.5:
            return ast.BinOp(ast.Constant(1.0), ast.Div(), call("sqrt", base))
        if isinstance(base, ast.Constant) and count is None:  # the compiler would make another function of a known base
            return call("exp", ast.BinOp(exponent, ast.Mult(), constant(math.log(base.value) if base.value > 0 else math.nan)))  # type: ignore
        if isinstance(base, ast.Constant) and isinstance(count, int):
            return constant(float(base.value) ** count)  # type: ignore[arg-type]
        if count in (2, 3):
            return call("square" if count == 2 else "cube", base)
        if isinstance(count, int) and not isinstance(count, bool):
            return call("power_int", base, exponent)
        return call("power", base, exponent)

    def visit_UnaryOp(self, node: ast.UnaryOp) -> ast.expr:
        operand = self.visit(node.operand)
        if known(operand) and isinstance(node.op, (ast.Not, ast.USub, ast.UAdd)):
            value = value_of(operand)
            return constant(not value if isinstance(node.op, ast.Not) else -value if isinstance(node.op, ast.USub) else value)
        return ast.UnaryOp(node.op, operand)

    def visit_Compare(self, node: ast.Compare) -> ast.expr:
        parts = [self.visit(n) for n in (node.left, *node.comparators)]
        folded = ast.Compare(parts[0], node.ops, parts[1:])
        return constant(evaluate(folded)) if all(known(n) for n in parts) else folded

    def visit_BoolOp(self, node: ast.BoolOp) -> ast.expr:
        stop = isinstance(node.op, ast.Or)
        left: list[ast.expr] = []
        for item in (self.visit(v) for v in node.values):
            if known(item):
                if bool(value_of(item)) == stop:
                    if not left:
                        return constant(stop)
                    left.append(item)
                    break
            else:
                left.append(item)
        if not left:
            return constant(not stop)
        return left[0] if len(left) == 1 else ast.BoolOp(node.op, left)

    def visit_IfExp(self, node: ast.IfExp) -> ast.expr:
        test = self.visit(node.test)
        if known(test):
            branch: ast.expr = self.visit(node.body if value_of(test) else node.orelse)
            return branch
        return ast.IfExp(test, self.visit(node.body), self.visit(node.orelse))

    def visit_Subscript(self, node: ast.Subscript) -> ast.expr:
        value: ast.expr = self.visit(node.value)
        index: ast.expr = self.visit(node.slice)
        if isinstance(value, ast.Tuple) and isinstance(index, ast.Tuple) and known(index):  # A[i, j]
            for item in index.elts:
                value = self.visit_Subscript(ast.Subscript(value, item, node.ctx))
            return value
        if isinstance(value, ast.Tuple) and not known(index):
            raise NotInlinable
        if isinstance(value, ast.Tuple) and isinstance(index, ast.Constant):
            if not -len(value.elts) <= index.value < len(value.elts):  # type: ignore[operator]
                raise BlockDefinitionError(f"{self.where} reads element {index.value!r} of {len(value.elts)}.")
            return value.elts[index.value]  # type: ignore[index]
        if isinstance(value, ast.Constant) and isinstance(index, ast.Constant):
            return constant(value.value[index.value])  # type: ignore[index]
        return ast.Subscript(value, index, node.ctx)

    def visit_Call(self, node: ast.Call) -> ast.expr:
        name = node.func.attr if isinstance(node.func, ast.Attribute) else getattr(node.func, "id", "")
        inputs = [self.visit(a) for a in node.args]
        if node.keywords or any(isinstance(a, ast.Starred) for a in inputs):
            raise BlockDefinitionError(f"{self.where} calls {name} with keywords or *; plain arguments only.")
        if name == "len" and isinstance(inputs[0], (ast.Tuple, ast.Constant)):
            return constant(len(value_of(inputs[0])) if known(inputs[0]) else len(inputs[0].elts))  # type: ignore[union-attr]
        if name in ("max", "min"):
            items = inputs[0].elts if len(inputs) == 1 and isinstance(inputs[0], ast.Tuple) else inputs
            return functools.reduce(lambda a, b: call("maximum" if name == "max" else "minimum", a, b), items)
        if name == "round":
            return call("round_half_even", inputs[0])
        if name in ("int", "float", "bool", "abs") and known(inputs[0]):
            return constant(CONVERSIONS[name](value_of(inputs[0])))
        return ast.Call(self.visit(node.func), inputs, [])


def word(name: str) -> ast.expr:
    """A word of the vocabulary: a constant as its number, a function as its name."""
    return ast.Constant(CONSTANTS[name]) if name in CONSTANTS and name not in ("inf", "nan") else ast.Name(name, ast.Load())


def redefined(name: str, value: Any) -> bool:
    """Whether a block author's module means something else by a word of the vocabulary: e = 0.8, or a sign() of its own."""
    if isinstance(value, types.FunctionType):
        return module_of(value).partition(".")[0] != "blocksim"
    return isinstance(value, (int, float)) and name not in ("inf", "nan") and value != CONSTANTS.get(name)


def module_of(function: Callable[..., Any]) -> str:
    return function.__module__ or "text"


def title_of(function: Callable[..., Any], helpers: dict[str, Callable[..., Any]]) -> str:
    """The name of a block author's own function in the program: that of its module and its own, different for every function."""
    for title, known_function in helpers.items():
        if known_function is function:
            return title
    title = f"{module_of(function).rpartition('.')[2].strip('_')}_{function.__name__}"
    while title in helpers:
        title += "_"
    helpers[title] = function
    return title


def call(name: str, *inputs: ast.expr) -> ast.Call:
    return ast.Call(ast.Name(name, ast.Load()), list(inputs), [])


def evaluate(node: ast.expr) -> Any:
    """The value of an expression whose every part is known."""
    whole = ast.fix_missing_locations(ast.Expression(copy.deepcopy(node)))
    return eval(compiled(whole, "<folded>", "eval"), {"__builtins__": {}})


class Specialiser(Folder):
    """A function that stays a function: decided branches gone, loops as they are."""

    def visit_Subscript(self, node: ast.Subscript) -> ast.expr:
        try:
            return super().visit_Subscript(node)
        except NotInlinable:  # an element of a known tuple, chosen at the run
            return ast.Subscript(self.visit(node.value), self.visit(node.slice), node.ctx)

    def visit_If(self, node: ast.If) -> Any:
        test = self.visit(node.test)
        if known(test):
            chosen = node.body if value_of(test) else node.orelse
            return [s for statement in chosen for s in as_list(self.visit(statement))]
        body = [s for statement in node.body for s in as_list(self.visit(statement))]
        orelse = [s for statement in node.orelse for s in as_list(self.visit(statement))]
        return ast.If(test, body or [ast.Pass()], orelse)


def as_list(result: Any) -> list[ast.stmt]:
    return result if isinstance(result, list) else [result] if result is not None else []


def specialise(
    function: Callable[..., Any], name: str, env: Env, helpers: dict[str, Callable[..., Any]], drop: tuple[str, ...] = ()
) -> str:
    """The function's text under a new name, with what is known folded and the dropped arguments gone."""
    tree = copy.deepcopy(parsed(function))
    folder = Specialiser(function, env, helpers)
    body = [s for statement in without_docstring(tree.body) for s in as_list(folder.visit(statement))]
    inputs = [ast.arg(a.arg) for a in tree.args.args if a.arg not in drop]
    made = ast.FunctionDef(name, ast.arguments([], inputs, None, [], [], None, []), body or [ast.Pass()], [])
    if "type_params" in ast.FunctionDef._fields:  # from Python 3.12 on
        setattr(made, "type_params", [])  # noqa: B010
    return ast.unparse(ast.fix_missing_locations(made))


def without_docstring(body: list[ast.stmt]) -> list[ast.stmt]:
    if body and isinstance(body[0], ast.Expr) and isinstance(body[0].value, ast.Constant):
        return body[1:]
    return body
