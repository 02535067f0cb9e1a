"""Looping: a function of matrices as a text of loops over arrays, where written out element by element it would be too long.

A vector or a matrix is its shape and what its element at a place is; a name it is assigned to is an array. So a sum of products
is one nest of loops, a transposed matrix costs nothing, and only a product that goes into another product is kept in between.
"""

from __future__ import annotations

import ast
import copy
import types
from collections import Counter
from collections.abc import Callable, Mapping
from typing import Any, NoReturn

from ...contract.syntax import parsed
from ...contract.vocabulary import MATRIX, WORDS
from ...errors import BlockDefinitionError
from ..specialise import (
    Helpers,
    Specialiser,
    argument_list,
    bound,
    constant,
    function_call,
    is_known,
    module_of,
    redefined,
    results_of,
    title_of,
    uses_matrices,
    value_of,
)
from .lazy import Lazy, Room, assignment, element_at, place_plus, place_times, spot
from .matrix_loops import MatrixLoops


class Looping(MatrixLoops, Specialiser):
    """One function being written in loops; functions that it calls with matrices are written into the same text."""

    def __init__(
        self,
        function: Callable[..., Any],
        env: Mapping[str, Any],
        helpers: Helpers,
        laws: Mapping[str, Any],
        room: Room,
        prefix: str,
    ):
        super().__init__(function, dict(env), helpers, laws)
        self.room, self.prefix, self.result = room, prefix, None
        self.inputs = set(env)  # of the whole text: their arrays are not its own
        tree = parsed(function)
        stores = Counter(n.id for n in ast.walk(tree) if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Store))
        filled = [n for n in ast.walk(tree) if isinstance(n, ast.Subscript) and isinstance(n.ctx, ast.Store)]
        stores.update(n.value.id for n in filled for _ in "12" if isinstance(n.value, ast.Name))
        stores.update(n for n in env if n in stores)
        room.moving |= {self.title(n) for n, count in stores.items() if count > 1}

    def refuse(self, text: str) -> NoReturn:
        raise BlockDefinitionError(f"{self.function.__qualname__} {text}")

    # ---- statements ------------------------------------------------------------------------------------------------

    def write(self, statements: list[ast.stmt]) -> None:
        for position, statement in enumerate(statements):
            match statement:
                case ast.Return(value=value):
                    self.result = self.returned(value)
                    return
                case ast.Assign(targets=targets, value=value):
                    item = self.visit(value)
                    for target in targets:
                        self.assign(target, item)
                case ast.AnnAssign(target=target, value=ast.expr() as value):
                    self.assign(target, self.visit(value))
                case ast.AugAssign(target=target, op=op, value=value):
                    old = copy.deepcopy(target)
                    old.ctx = ast.Load()
                    self.assign(target, self.visit(ast.BinOp(old, op, value)))
                case ast.For():
                    self.turn(statement)
                case ast.If():
                    test = self.visit(statement.test)
                    if is_known(test):
                        rest = statements[position + 1 :]
                        self.write([*(statement.body if value_of(test) else statement.orelse), *rest])
                        return
                    self.choose(test, statement)
                case ast.Expr(value=ast.Call() as value):
                    self.visit(value)
                case ast.Pass() | ast.AnnAssign() | ast.Expr(value=ast.Constant()):
                    pass
                case _:
                    self.refuse(f"has '{ast.unparse(statement).splitlines()[0]}' beside words for matrices, which cannot be.")

    def returned(self, value: ast.expr | None) -> Any:
        if isinstance(value, ast.Dict):
            return {str(getattr(k, "value", "")): self.visit(v) for k, v in zip(value.keys, value.values, strict=True)}
        return None if value is None else self.visit(value)

    def inner(self, statements: list[ast.stmt]) -> list[ast.stmt]:
        """The lines of a body."""
        if any(isinstance(n, ast.Return) for s in statements for n in ast.walk(s)):
            self.refuse("returns from within a loop, or a branch that is decided at the run; return once, at its end.")
        outer, self.room.lines = self.room.lines, []
        self.write(statements)
        lines, self.room.lines = self.room.lines, outer
        return lines or [ast.Pass()]

    def turn(self, loop: ast.For) -> None:
        source = loop.iter
        if loop.orelse or not isinstance(loop.target, ast.Name):
            self.refuse("has a loop that is no plain 'for i in range(n)' beside words for matrices.")
        if not (isinstance(source, ast.Call) and getattr(source.func, "id", "") == "range"):
            items = self.visit(source)
            if not (isinstance(items, ast.Tuple) and is_known(items)):
                self.refuse(f"has a loop over '{ast.unparse(source)}'; loop over its places: for i in range(n).")
            for item in items.elts:
                self.env[loop.target.id] = item
                self.write(loop.body)
            return
        ends = [self.visit(a) for a in source.args]
        self.settle(loop.body)
        target = self.prefix + loop.target.id
        self.env[loop.target.id] = ast.Name(target, ast.Load())
        self.room.lines.append(ast.For(ast.Name(target, ast.Store()), function_call("range", *ends), self.inner(loop.body), []))

    def choose(self, test: ast.expr, statement: ast.If) -> None:
        self.settle([*statement.body, *statement.orelse])
        before = dict(self.env)
        yes = self.inner(statement.body)
        after, self.env = self.env, before
        no = self.inner(statement.orelse)
        self.env = {**after, **self.env, **{n: v for n, v in after.items() if n not in before}}
        self.room.lines.append(ast.If(test, yes, no))

    def settle(self, statements: list[ast.stmt]) -> None:
        """What a body will change gets a place of its own before."""
        names = [n.id for s in statements for n in ast.walk(s) if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Store)]
        for name in dict.fromkeys(names):
            if name in self.env:
                self.room.moving.add(self.title(name))
                self.name_it(name, self.env[name])

    # ---- assignments -----------------------------------------------------------------------------------------------

    def assign(self, target: ast.expr, value: Any) -> None:
        match target:
            case ast.Name(id=name):
                self.name_it(name, value)
            case ast.Tuple(elts=parts) | ast.List(elts=parts):
                items = value.elts if isinstance(value, ast.Tuple) else [value[spot(k)] for k in range(len(parts))]
                if len(items) != len(parts):
                    self.refuse(f"assigns {len(items)} values to '{ast.unparse(target)}'.")
                titles = [self.title(p.id) if isinstance(p, ast.Name) else "" for p in parts]
                for part, item in zip(parts, [self.kept(v, set(titles[:k])) for k, v in enumerate(items)], strict=True):
                    self.assign(part, item)
            case ast.Subscript(value=ast.Name(id=name), slice=index):
                array = self.env.get(name)
                places = [self.visit(i) for i in (index.elts if isinstance(index, ast.Tuple) else [index])]
                if not isinstance(array, Lazy) or not array.held:
                    self.refuse(f"stores into '{ast.unparse(target)}', which is not its own; begin with zeros or array.")
                start = place_plus(place_times(places[0], spot(array.shape[1])), places[1]) if len(places) == 2 else places[0]
                if isinstance(value, (Lazy, ast.Tuple)):
                    row = self.lazy(value)
                    row = self.held(row, self.room.name("t")) if array.held in row.reads else row
                    self.store(row, array.held, place_times(places[0], spot(array.shape[-1])))
                else:
                    self.room.lines.append(assignment(array.held, start, value))
            case _:
                self.refuse(f"stores into '{ast.unparse(target)}', which is not its own.")

    def kept(self, value: Any, changed: set[str]) -> Any:
        """One of several values that are assigned at once, as it is before those before it have changed."""
        if isinstance(value, Lazy):
            return self.held(value, self.room.name("t")) if value.reads & changed else value
        if isinstance(value, ast.Tuple) or not changed & {n.id for n in ast.walk(value) if isinstance(n, ast.Name)}:
            return value
        return self.scalar(value, always=True)

    def title(self, name: str) -> str:
        """What a name is called in the text."""
        return f"{name}_own" if name in self.inputs else self.prefix + name

    def name_it(self, name: str, value: Any) -> None:
        title = self.title(name)
        if isinstance(value, ast.Tuple) and not (is_known(value) and title not in self.room.moving):
            value = self.lazy(value)
        if not isinstance(value, Lazy):
            size = isinstance(value, ast.Constant) and type(value.value) is int and title not in self.room.moving
            if isinstance(value, ast.Tuple) or size:
                self.env[name] = value
                return
            self.env[name] = ast.Name(title, ast.Load())
            if not (isinstance(value, ast.Name) and value.id == title):
                self.room.lines.append(ast.Assign([ast.Name(title, ast.Store())], value, lineno=0))
        elif value.held == title or (title not in self.room.moving and value.view and not value.reads & self.room.moving):
            self.env[name] = value
        else:
            self.env[name] = self.held(value, title)

    # ---- expressions -----------------------------------------------------------------------------------------------

    def visit_Name(self, node: ast.Name) -> Any:
        if node.id in self.env and isinstance(node.ctx, ast.Load):
            return self.env[node.id]
        return super().visit_Name(node)

    def visit_Subscript(self, node: ast.Subscript) -> Any:
        value = self.visit(node.value)
        if not isinstance(value, Lazy):
            return super().visit_Subscript(ast.Subscript(value, node.slice, node.ctx))
        for index in node.slice.elts if isinstance(node.slice, ast.Tuple) else [node.slice]:
            value = self.light(value)[self.visit(index)]
        return value

    def visit_Tuple(self, node: ast.Tuple) -> ast.Tuple:
        return ast.Tuple([self.visit(part) for part in node.elts], node.ctx)

    def visit_Lazy(self, node: Lazy) -> Lazy:
        return node

    def visit_IfExp(self, node: ast.IfExp) -> Any:
        result: Any = super().visit_IfExp(node)
        if isinstance(result, ast.IfExp) and any(isinstance(v, (Lazy, ast.Tuple)) for v in (result.body, result.orelse)):
            self.refuse(f"has '{ast.unparse(node.test)}', decided at the run, between matrices; write an if with assignments.")
        return result

    def visit_BinOp(self, node: ast.BinOp) -> Any:
        result: Any = super().visit_BinOp(node)
        if isinstance(result, ast.BinOp) and any(isinstance(v, (Lazy, ast.Tuple)) for v in (result.left, result.right)):
            self.refuse(f"has '{ast.unparse(node)}', whose parts are no numbers; matrices have words: add, scale, multiply.")
        return result

    def visit_Call(self, node: ast.Call) -> Any:
        name = getattr(node.func, "id", "")
        if name in self.laws:
            return self.law(self.laws[name], [self.visit(a) for a in node.args])
        own = None if name in self.locals else self.globals.get(name)
        if name in MATRIX and not redefined(name, own):
            return self.word(
                name, [self.visit(a) for a in node.args], {str(k.arg): self.visit(k.value) for k in node.keywords}, node
            )
        if name == "len":
            value = self.visit(node.args[0])
            return constant(value.shape[0]) if isinstance(value, Lazy) else super().visit_Call(node)
        if isinstance(own, types.FunctionType) and not module_of(own).startswith("blocksim.solvers") and name not in WORDS:
            values_by_name = argument_list(self.function, own, node)
            laws = {n: self.laws[a.id] for n, a in values_by_name.items() if isinstance(a, ast.Name) and a.id in self.laws}
            values = {
                n: self.visit(a) if isinstance(a, ast.expr) else constant(a) for n, a in values_by_name.items() if n not in laws
            }
            if uses_matrices(own) or any(isinstance(v, Lazy) for v in values.values()):
                return self.inlined(own, values, laws)
            return function_call(title_of(bound(own, laws), self.helpers), *values.values())
        return super().visit_Call(node)

    def inlined(self, function: Callable[..., Any], values: dict[str, Any], laws: dict[str, Any]) -> Any:
        """A function that is called with matrices, written into this text with names of its own."""
        inner = Looping(function, {}, self.helpers, laws, self.room, self.room.name(function.__name__))
        inner.env |= {n: self.once(v) for n, v in values.items()}
        inner.write(copy.deepcopy(parsed(function).body))
        self.room.moving -= {name for name in self.room.moving if name.startswith(inner.prefix)}  # it has done with them
        return inner.result

    def once(self, value: Any) -> Any:
        """An argument that is computed once, however often it is read."""
        if isinstance(value, Lazy):
            return value if value.view else self.held(value)
        return value if isinstance(value, ast.Tuple) else self.scalar(value)

    def law(self, law: Callable[..., Any], inputs: list[Any]) -> Lazy:
        """A plant's equations at arrays: a tuple of numbers."""
        name = self.room.name("law")
        passed = [ast.Name(self.held(self.lazy(v), alone=True).held, ast.Load()) for v in inputs]
        called = function_call(title_of(law, self.helpers), *passed)
        self.room.lines.append(ast.Assign([ast.Name(name, ast.Store())], called, lineno=0))
        return Lazy((results_of(law),), lambda i: element_at(name, i), reads=frozenset({name}), view=True)
