"""Specialising: a function that stays a function, with what is known put in its place and decided branches followed.

So are written the functions of the solvers, of the prelude, and those of blocks that cannot be followed: loops over arrays whose
length is known only at the run, and very long ones.
"""

from __future__ import annotations

import ast
import copy
import functools
import math
import types
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from ..contract.definition import arguments
from ..contract.syntax import compiled, parse, parsed
from ..contract.vocabulary import CONSTANTS, MATRIX, WORDS, power_form
from ..errors import BlockDefinitionError
from .code import literal

Constants = dict[str, ast.expr]


@dataclass(frozen=True)
class Bound:
    """A function with functions for some of its arguments: a law of a plant is handed on until it is called."""

    function: Callable[..., Any]
    laws: tuple[tuple[str, Callable[..., Any]], ...]


#: Functions of a program that are not the engine's own, by their titles.
Helpers = dict[str, Callable[..., Any] | Bound]


def bound(function: Callable[..., Any], laws: Mapping[str, Callable[..., Any]]) -> Callable[..., Any] | Bound:
    return Bound(function, tuple(laws.items())) if laws else function


def constant(value: Any) -> ast.expr:
    """A known Python value as an expression; sequences become tuples."""
    if isinstance(value, (list, tuple)):
        return ast.Tuple([constant(v) for v in value], ast.Load())
    if type(value) in (bool, int, str, type(None)) or (type(value) is float and math.isfinite(value)):
        return ast.Constant(value)
    return parse(str(literal(value)), "eval").body


def is_known(node: ast.expr) -> bool:
    return isinstance(node, ast.Constant) or (isinstance(node, ast.Tuple) and all(is_known(e) for e in node.elts))


def value_of(node: ast.expr) -> Any:
    return tuple(value_of(e) for e in node.elts) if isinstance(node, ast.Tuple) else node.value  # type: ignore[attr-defined]


class Specialiser(ast.NodeTransformer):
    """Statements with what is known computed, and every word replaced by one that both interpreters agree on."""

    def __init__(
        self, function: Callable[..., Any], env: Constants, helpers: Helpers, laws: Mapping[str, Callable[..., Any]] | None = None
    ):
        self.laws = laws or {}
        self.function, self.globals, self.locals = function, function.__globals__, function.__code__.co_varnames
        self.env, self.helpers = env, helpers

    def visit_Name(self, node: ast.Name) -> ast.expr:
        if not isinstance(node.ctx, ast.Load):
            return node
        if node.id in self.env:
            return self.env[node.id]
        if node.id in self.locals:  # an argument called e or tau is no constant
            return node
        value = self.globals.get(node.id)
        if node.id in WORDS and not redefined(node.id, value):
            return word(node.id)
        if isinstance(value, (int, float, str, tuple)):
            return constant(value)
        if isinstance(value, types.FunctionType) and not module_of(value).startswith("blocksim.solvers"):
            return ast.Name(title_of(value, self.helpers), ast.Load())
        return node

    def visit_Attribute(self, node: ast.Attribute) -> ast.expr:
        return word(node.attr)

    def visit_BinOp(self, node: ast.BinOp) -> ast.expr:
        left, right = self.visit(node.left), self.visit(node.right)
        whole = all(isinstance(n, ast.Constant) and type(n.value) is int for n in (left, right))
        if whole and not isinstance(node.op, ast.Div):
            return constant(evaluate_node(ast.BinOp(left, node.op, right)))
        return power_of(left, right) if isinstance(node.op, ast.Pow) else ast.BinOp(left, node.op, right)

    def visit_List(self, node: ast.List) -> ast.expr:
        return ast.Tuple([self.visit(part) for part in node.elts], node.ctx)

    def visit_UnaryOp(self, node: ast.UnaryOp) -> ast.expr:
        operand = self.visit(node.operand)
        folded = ast.UnaryOp(node.op, operand)
        return constant(evaluate_node(folded)) if is_known(operand) and not isinstance(node.op, ast.Invert) else folded

    def visit_Compare(self, node: ast.Compare) -> ast.expr:
        parts = [self.visit(n) for n in (node.left, *node.comparators)]
        folded = ast.Compare(parts[0], node.ops, parts[1:])
        return constant(evaluate_node(folded)) if all(is_known(n) for n in parts) else folded

    def visit_BoolOp(self, node: ast.BoolOp) -> ast.expr:
        stop = isinstance(node.op, ast.Or)
        left: list[ast.expr] = []
        for place, item in enumerate(self.visit(v) for v in node.values):
            decides = is_known(item) and bool(value_of(item)) == stop
            if decides or not is_known(item) or place == len(node.values) - 1:
                left.append(item)
            if decides:
                break
        return left[0] if len(left) == 1 else ast.BoolOp(node.op, left)

    def visit_IfExp(self, node: ast.IfExp) -> ast.expr:
        test = self.visit(node.test)
        if is_known(test):
            branch: ast.expr = self.visit(node.body if value_of(test) else node.orelse)
            return branch
        return ast.IfExp(test, self.visit(node.body), self.visit(node.orelse))

    def visit_Subscript(self, node: ast.Subscript) -> ast.expr:
        value: ast.expr = self.visit(node.value)
        index: ast.expr = self.visit(node.slice)
        if isinstance(value, ast.Tuple) and isinstance(index, ast.Tuple) and is_known(index):  # A[i, j]
            for item in index.elts:
                value = self.visit_Subscript(ast.Subscript(value, item, node.ctx))
            return value
        if isinstance(value, ast.Tuple) and isinstance(index, ast.Constant):
            if not -len(value.elts) <= index.value < len(value.elts):  # type: ignore[operator]
                raise BlockDefinitionError(f"{self.function.__qualname__} reads element {index.value!r} of {len(value.elts)}.")
            return value.elts[index.value]  # type: ignore[index]
        if isinstance(value, ast.Constant) and isinstance(index, ast.Constant):
            return constant(value.value[index.value])  # type: ignore[index]
        return ast.Subscript(value, index, node.ctx)

    def visit_Call(self, node: ast.Call) -> ast.expr:
        name = node.func.attr if isinstance(node.func, ast.Attribute) else getattr(node.func, "id", "")
        own = None if isinstance(node.func, ast.Attribute) or name in self.locals else self.globals.get(name)
        solver = isinstance(own, types.FunctionType) and module_of(own).startswith("blocksim.solvers")
        if isinstance(own, types.FunctionType) and not solver and (name not in WORDS or redefined(name, own)):
            values_by_name = argument_list(self.function, own, node)
            laws = {n: self.laws[a.id] for n, a in values_by_name.items() if isinstance(a, ast.Name) and a.id in self.laws}
            rest = [a for n, a in values_by_name.items() if n not in laws]
            inputs = [self.visit(a) if isinstance(a, ast.expr) else constant(a) for a in rest]
            return function_call(title_of(bound(own, laws), self.helpers), *inputs)
        inputs = [self.visit(a) for a in node.args]
        if name == "len" and isinstance(inputs[0], (ast.Tuple, ast.Constant)):
            return constant(len(value_of(inputs[0])) if is_known(inputs[0]) else len(inputs[0].elts))  # type: ignore[union-attr]
        if name in ("max", "min"):
            items = inputs[0].elts if len(inputs) == 1 and isinstance(inputs[0], ast.Tuple) else inputs
            return functools.reduce(lambda a, b: function_call(WORDS[name].same_as, a, b), items)
        if name in ("int", "float", "bool", "abs") and is_known(inputs[0]):
            return constant(WORDS[name].meaning(value_of(inputs[0])))
        return ast.Call(self.visit(node.func), inputs, [])

    def visit_If(self, node: ast.If) -> Any:
        test = self.visit(node.test)
        if is_known(test):
            return self.body(node.body if value_of(test) else node.orelse)
        return ast.If(test, self.body(node.body) or [ast.Pass()], self.body(node.orelse))

    def visit_For(self, node: ast.For) -> Any:
        return ast.For(node.target, self.visit(node.iter), self.body(node.body) or [ast.Pass()], self.body(node.orelse))

    def visit_While(self, node: ast.While) -> Any:
        return ast.While(self.visit(node.test), self.body(node.body) or [ast.Pass()], self.body(node.orelse))

    def body(self, statements: list[ast.stmt]) -> list[ast.stmt]:
        """Statements one after another, without a docstring."""
        actions = [s for s in statements if not (isinstance(s, ast.Expr) and isinstance(s.value, ast.Constant))]
        visited = [self.visit(statement) for statement in actions]
        return [s for piece in visited for s in (piece if isinstance(piece, list) else [piece])]


def power_of(base: ast.expr, exponent: ast.expr) -> ast.expr:
    """base ** exponent in the words that `power_form` says."""
    form, more = power_form(exponent.value if isinstance(exponent, ast.Constant) else None)  # type: ignore[arg-type]
    if form == "1/sqrt":
        return ast.BinOp(ast.Constant(1.0), ast.Div(), function_call("sqrt", base))
    if form == "power_int":
        return function_call(form, base, constant(more))
    return function_call(form, base, exponent) if form == "power" else function_call(form, base)


def word(name: str) -> ast.expr:
    """A word of the vocabulary: a constant as its number, a function as its name."""
    if WORDS[name].form == "matrix":
        raise BlockDefinitionError(
            f"'{name}' works on what is written out element by element, which a function with while, break, or a loop that ends "
            "at the run is not. Write loops over the elements there."
        )
    if name in CONSTANTS and name not in ("inf", "nan"):
        return ast.Constant(CONSTANTS[name])
    return ast.Name(WORDS[name].same_as or name, ast.Load())


def redefined(name: str, value: Any) -> bool:
    """Whether a block author's module means something else by a word of the vocabulary: e = 0.8, or a sign() of its own."""
    if isinstance(value, types.FunctionType):
        return value is not WORDS[name].meaning
    own = CONSTANTS.get(name)
    same = value == own or (value != value and own != own)  # nan is not equal to itself
    return isinstance(value, (int, float, str, tuple)) and not same


def module_of(function: Callable[..., Any]) -> str:
    return function.__module__ or "text"


def title_of(target: Callable[..., Any] | Bound, helpers: Helpers) -> str:
    """The name of a block author's own function in the program: that of its module and its own, different for every function."""
    for title, other in helpers.items():
        if other == target:
            return title
    function = target.function if isinstance(target, Bound) else target
    title = f"{module_of(function).rpartition('.')[2].strip('_')}_{function.__name__}"
    while title in helpers:
        title += "_"
    helpers[title] = target
    return title


def function_call(name: str, *inputs: ast.expr) -> ast.Call:
    return ast.Call(ast.Name(name, ast.Load()), list(inputs), [])


def evaluate_node(node: ast.expr) -> Any:
    """The value of an expression whose every part is known."""
    whole = ast.fix_missing_locations(ast.Expression(copy.deepcopy(node)))
    return eval(compiled(whole, "<folded>", "eval"), {"__builtins__": {}})


def argument_list(caller: Callable[..., Any], function: Callable[..., Any], node: ast.Call) -> dict[str, Any]:
    """What each argument of a called function is, by name: an expression of the call, or its default value."""
    names = arguments(function)
    values: dict[str, Any] = dict(zip(names, node.args, strict=False))
    values |= {str(k.arg): k.value for k in node.keywords}
    defaults = dict(zip(reversed(names), reversed(function.__defaults__ or ()), strict=False))
    if len(node.args) > len(names) or set(values) - set(names) or any(n not in values and n not in defaults for n in names):
        raise BlockDefinitionError(
            f"{caller.__qualname__} calls {function.__name__} with {len(node.args) + len(node.keywords)} arguments where "
            f"{len(names)} are wanted: {', '.join(names)}."
        )
    return {n: values.get(n, defaults.get(n)) for n in names}


@functools.cache
def results_of(function: Callable[..., Any]) -> int:
    """How many values a function returns: as many as its returns say, 1 where they say nothing else."""
    returns = [n.value for n in ast.walk(parsed(function)) if isinstance(n, ast.Return)]
    sizes = {len(value.elts) if isinstance(value, ast.Tuple) else 1 for value in returns}
    return sizes.pop() if len(sizes) == 1 else 1


@functools.cache
def stores_into_arguments(function: Callable[..., Any]) -> bool:
    """Whether a function, or one it calls, changes an array it is handed."""
    tree = parsed(function)
    if any(isinstance(n, ast.Subscript) and isinstance(n.ctx, ast.Store) for n in ast.walk(tree)):
        return True
    called = [n.func.id for n in ast.walk(tree) if isinstance(n, ast.Call) and isinstance(n.func, ast.Name)]
    others = [function.__globals__.get(name) for name in called]
    return any(stores_into_arguments(f) for f in others if isinstance(f, types.FunctionType) and f is not function)


@functools.cache
def uses_matrices(function: Callable[..., Any]) -> bool:
    """Whether a function, or one it calls, has words for matrices."""
    names = function.__code__.co_names
    values = {n: function.__globals__.get(n) for n in names}
    if any(n in MATRIX and not redefined(n, f) for n, f in values.items()):
        return True
    return any(uses_matrices(f) for f in values.values() if isinstance(f, types.FunctionType) and f is not function)


@functools.cache
def of_arrays(function: Callable[..., Any]) -> bool:
    """Whether a function has words for matrices or returns arrays by their names: then it can be written in loops."""
    returns = [n.value for n in ast.walk(parsed(function)) if isinstance(n, ast.Return)]
    named = not function.__name__.startswith("reset_") and any(isinstance(value, ast.Dict) for value in returns)
    return named or uses_matrices(function)


def tree_copy(node: Any) -> Any:
    """A tree of its own: `copy.deepcopy` of trees, which share nothing, in a third of its time."""
    if isinstance(node, list):
        return [tree_copy(part) for part in node]
    if not isinstance(node, ast.AST):
        return node
    twin = type(node)()
    twin.__dict__.update({name: tree_copy(part) for name, part in node.__dict__.items()})
    return twin


def specialise(
    target: Callable[..., Any] | Bound, name: str, env: Constants, helpers: Helpers, drop: tuple[str, ...] = ()
) -> str:
    """The function's text under a new name, with what is known in its place and the dropped arguments gone."""
    function, laws = (target.function, dict(target.laws)) if isinstance(target, Bound) else (target, {})
    env = {**env, **{n: ast.Name(title_of(law, helpers), ast.Load()) for n, law in laws.items()}}
    drop = (*drop, *laws)
    tree = parsed(function)
    stored = {n.id for n in ast.walk(tree) if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Store)}
    first: list[ast.stmt] = [  # an argument that the function sets anew is a local that starts from it
        ast.Assign([ast.Name(n, ast.Store())], v, lineno=0) for n, v in env.items() if n in stored
    ]
    folder = Specialiser(function, {n: v for n, v in env.items() if n not in stored}, helpers, laws)
    body = [*first, *folder.body(tree_copy(tree.body))]
    inputs = [ast.arg(a.arg) for a in tree.args.args if a.arg not in drop]
    definition = ast.FunctionDef(name, ast.arguments([], inputs, None, [], [], None, []), body or [ast.Pass()], [])
    if "type_params" in ast.FunctionDef._fields:  # from Python 3.12 on
        setattr(definition, "type_params", [])  # noqa: B010
    return ast.unparse(ast.fix_missing_locations(definition))
