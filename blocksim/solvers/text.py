"""Functions of the solvers -> text: loops over stages written out, weights as sums, stores by name, numbers folded."""

from __future__ import annotations

import ast
import copy
import functools
import inspect
import sys
import types
from collections.abc import Callable
from typing import Any

from ..contract.syntax import parse
from ..tracing.specialise import constant, specialise
from .stores import passed

#: The stores that every function of a program gets, in order.
RIGHT_HAND_STORES = passed("derivative")


def folded(function: Callable[..., Any], numbers: dict[str, Any], name: str = "") -> str:
    """A function of a solver module as text, with its numbers folded."""
    env = {n: constant(v) for n, v in numbers.items()}
    return specialise(expanded(function, numbers), name or function.__name__, env, {}) + "\n"


def expanded(function: Callable[..., Any], numbers: dict[str, Any]) -> Callable[..., Any]:
    """The function without what only its author needs: `unrolled` loops, `weighted` sums, `*rest`."""
    tree = parse(texts(function.__module__)[function.__name__])
    definition = tree.body[0]
    assert isinstance(definition, ast.FunctionDef)
    writer = Writer({**function.__globals__, **numbers}, named=[a.arg for a in definition.args.args])
    definition.args.args += [ast.arg(name) for name in writer.rest] if definition.args.vararg else []
    definition.args.vararg = None
    for argument in definition.args.args:
        argument.annotation = None
    definition.returns = None
    words = [s for s in definition.body if not (isinstance(s, ast.Expr) and isinstance(s.value, ast.Constant))]  # no docstring
    definition.body = [s for statement in words for s in writer.statements(statement)]
    names = [parse(f"k{j + 1} = k[{j}]").body[0] for j in sorted(writer.rows)]
    definition.body[:0] = names
    ast.fix_missing_locations(tree)
    scope = dict(function.__globals__)
    exec(compile(tree, function.__code__.co_filename, "exec"), scope)
    lines: types.FunctionType = scope[function.__name__]
    lines.__dict__["__source__"] = ast.unparse(tree)
    return lines


@functools.cache
def texts(module: str) -> dict[str, str]:
    """The functions of a module as they are written."""
    lines = inspect.getsource(sys.modules[module]).splitlines(True)
    functions = [node for node in parse("".join(lines)).body if isinstance(node, ast.FunctionDef)]
    return {node.name: "".join(lines[node.lineno - 1 : node.end_lineno]) for node in functions}


class Unknown(Exception):
    """An expression that is known only at the run."""


class Writer(ast.NodeTransformer):
    """Writes out one function."""

    def __init__(self, numbers: dict[str, Any], named: list[str]):
        self.numbers = numbers
        last = max((RIGHT_HAND_STORES.index(n) for n in named if n in RIGHT_HAND_STORES), default=-1)
        self.rest = RIGHT_HAND_STORES[last + 1 :]  # what *rest stands for
        self.rows: set[int] = set()  # rows of k that are stages: they get names, so that k[j][i] is looked up once

    def value(self, node: ast.expr) -> Any:
        """The value of an expression of numbers that are folded; their names are in capitals."""
        if not all(n.id.isupper() for n in ast.walk(node) if isinstance(n, ast.Name)):
            raise Unknown
        return eval(compile(ast.Expression(node), "<solver>", "eval"), self.numbers)

    def statements(self, node: ast.stmt) -> list[ast.stmt]:
        result = self.visit(node)
        return result if isinstance(result, list) else [result]

    def visit_For(self, node: ast.For) -> Any:
        call = node.iter
        if not (isinstance(call, ast.Call) and isinstance(call.func, ast.Name) and call.func.id == "unrolled"):
            return self.generic_visit(node)
        assert isinstance(node.target, ast.Name)
        lines = []
        for turn in range(*(self.value(a) for a in call.args)):
            body = [Turn(node.target.id, turn).visit(copy.deepcopy(s)) for s in node.body]
            lines += [s for statement in body for s in self.statements(statement)]
        return lines

    def visit_If(self, node: ast.If) -> Any:
        """Decided branches are dropped here already: the others may ask for stages there are not."""
        try:
            branch = node.body if self.value(node.test) else node.orelse
        except Unknown:
            return self.generic_visit(node)
        return [s for statement in branch for s in self.statements(statement)]

    def visit_Subscript(self, node: ast.Subscript) -> ast.expr:
        if isinstance(node.value, ast.Name) and node.value.id == "k":
            row = self.value(node.slice)
            if row < self.numbers["STAGES"]:
                return self.row(row)
        self.generic_visit(node)
        return node

    def row(self, index: int) -> ast.expr:
        self.rows.add(index)
        return ast.Name(f"k{index + 1}", ast.Load())

    def visit_Call(self, node: ast.Call) -> ast.expr:
        if isinstance(node.func, ast.Name) and node.func.id == "weighted":
            weights, _, index, *start = node.args
            return self.sum(self.value(weights), index, self.visit(start[0]) if start else None)
        if any(isinstance(a, ast.Starred) for a in node.args):
            node.args = [*node.args[:-1], *(ast.Name(name, ast.Load()) for name in self.rest)]
        self.generic_visit(node)
        return node

    def sum(self, weights: list[float], index: ast.expr, total: ast.expr | None) -> ast.expr:
        """start + w k1[i] + ..., without the zeros and the ones."""
        for j, weight in enumerate(weights):
            if not weight:
                continue
            down = total is not None and weight < 0
            size = -weight if down else weight
            term: ast.expr = ast.Subscript(self.row(j), copy.deepcopy(index), ast.Load())
            term = term if size == 1 else ast.BinOp(ast.Constant(float(size)), ast.Mult(), term)
            total = term if total is None else ast.BinOp(total, ast.Sub() if down else ast.Add(), term)
        return total if total is not None else ast.Constant(0.0)


class Turn(ast.NodeTransformer):
    """One turn of a loop: its variable is a number."""

    def __init__(self, name: str, value: int):
        self.name, self.value = name, value

    def visit_Name(self, node: ast.Name) -> ast.expr:
        return ast.copy_location(ast.Constant(self.value), node) if node.id == self.name else node
