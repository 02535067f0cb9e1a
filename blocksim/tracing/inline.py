"""Inlining: a block function as flat code that reads like hand-written Python.

Arguments become expressions and locals prefixed names, decided branches are followed, short loops are written out, and returns
become results.
"""

from __future__ import annotations

import ast
import copy
from collections.abc import Callable
from typing import Any

from ..errors import BlockDefinitionError
from .fold import Env, Folder, NotInlinable, constant, known, parsed, value_of

#: Loops up to this many turns are written out, and functions up to this many assignments.
UNROLL = 40
LONG = 200


def returns(body: list[ast.stmt]) -> bool:
    return any(isinstance(n, ast.Return) for s in body for n in ast.walk(s))


class Inliner:
    """One function being inlined: statements come out, the result is an expression."""

    def __init__(
        self, function: Callable[..., Any], env: Env, prefix: str, targets: list[str], helpers: dict[str, Callable[..., Any]]
    ):
        self.function, self.prefix, self.targets = function, prefix, targets
        self.helpers = helpers
        self.assignments = 0
        tree = parsed(function)
        stores = [n.id for n in ast.walk(tree) if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Store)]
        self.once = {n for n in stores if stores.count(n) == 1}
        self.result: ast.expr | None = None
        self.statements = self.block(tree.body, dict(env), 0)
        if self.result is None and "out" in env:
            self.result = env["out"]
        if self.result is None and targets:
            raise BlockDefinitionError(f"{function.__qualname__} does not return a value.")

    def fold(self, node: ast.expr, env: Env) -> ast.expr:
        folded: ast.expr = Folder(self.function, env, self.helpers).visit(copy.deepcopy(node))
        return folded

    def block(self, body: list[ast.stmt], env: Env, depth: int) -> list[ast.stmt]:
        done: list[ast.stmt] = []
        for position, statement in enumerate(body):
            rest = body[position + 1 :]
            if isinstance(statement, ast.Return):
                return done + self.finish(statement, env, depth)
            if isinstance(statement, ast.If):
                decided = self.fold(statement.test, env)
                if known(decided):
                    chosen = statement.body if value_of(decided) else statement.orelse
                    return done + self.block([*chosen, *rest], env, depth)
                if returns(statement.body) or returns(statement.orelse):
                    yes = self.block([*statement.body, *rest], dict(env), depth + 1)
                    no = self.block([*statement.orelse, *rest], dict(env), depth + 1)
                    return [*done, ast.If(decided, yes or [ast.Pass()], no)]
                done.append(self.branch(statement, decided, env, depth))
            elif isinstance(statement, ast.For):
                return done + self.block([*self.unrolled(statement, env), *rest], env, depth)
            elif isinstance(statement, (ast.Assign, ast.AugAssign, ast.AnnAssign)):
                done += self.assign(statement, env, depth)
            elif not (
                isinstance(statement, ast.Pass) or (isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Constant))
            ):
                raise NotInlinable
        return done

    def branch(self, statement: ast.If, test: ast.expr, env: Env, depth: int) -> ast.If:
        """An undecided if without returns: its locals are real variables from here on."""
        yes_env, no_env = dict(env), dict(env)
        yes = self.block(statement.body, yes_env, depth + 1)
        no = self.block(statement.orelse, no_env, depth + 1)
        for name in set(yes_env) | set(no_env):
            changed = [e.get(name) for e in (yes_env, no_env) if e.get(name) is not env.get(name)]
            if changed:
                env[name] = ast.Name(self.prefix + name, ast.Load())
        return ast.If(test, yes or [ast.Pass()], no)

    def unrolled(self, loop: ast.For, env: Env) -> list[ast.stmt]:
        if loop.orelse or any(isinstance(n, (ast.Break, ast.Continue, ast.While)) for n in ast.walk(loop)):
            raise NotInlinable
        source = loop.iter
        if isinstance(source, ast.Call) and isinstance(source.func, ast.Name) and source.func.id == "range":
            limits = [self.fold(a, env) for a in source.args]
            if not all(known(n) for n in limits):
                raise NotInlinable
            items: list[ast.expr] = [constant(i) for i in range(*[value_of(n) for n in limits])]
        else:
            folded = self.fold(source, env)
            if not isinstance(folded, ast.Tuple):
                raise NotInlinable
            items = folded.elts
        if len(items) > UNROLL or not isinstance(loop.target, ast.Name):
            raise NotInlinable
        marker = loop.target.id
        turns: list[ast.stmt] = []
        for item in items:
            turns.append(ast.Assign([ast.Name(marker, ast.Store())], Bound(item)))
            turns += loop.body
        return turns

    def assign(self, statement: ast.stmt, env: Env, depth: int) -> list[ast.stmt]:
        target: ast.expr
        value: ast.expr
        if isinstance(statement, ast.AugAssign):
            read = copy.deepcopy(statement.target)
            read.ctx = ast.Load()
            target, value = statement.target, ast.BinOp(read, statement.op, statement.value)
        elif isinstance(statement, ast.AnnAssign):
            if statement.value is None:
                return []
            target, value = statement.target, statement.value
        else:
            assert isinstance(statement, ast.Assign)
            if len(statement.targets) != 1:
                raise NotInlinable
            target, value = statement.targets[0], statement.value
        self.assignments += 1
        if self.assignments > LONG:
            raise NotInlinable
        if isinstance(target, ast.Name) and isinstance(value, Bound):  # a loop variable: known in this turn
            env[target.id] = value.item
            return []
        folded = self.fold(value, env)
        if isinstance(target, ast.Tuple) and all(isinstance(t, ast.Name) for t in target.elts):
            names = [t.id for t in target.elts if isinstance(t, ast.Name)]
            for name in names:
                env[name] = ast.Name(self.prefix + name, ast.Load())
            return [ast.Assign([ast.Tuple([ast.Name(self.prefix + n, ast.Store()) for n in names], ast.Store())], folded)]
        if isinstance(target, ast.Subscript):
            return [self.store(target, folded, env)]
        if not isinstance(target, ast.Name):
            raise NotInlinable
        if target.id in self.once and not depth and (isinstance(folded, ast.Tuple) or known(folded)):
            env[target.id] = folded
            return []
        env[target.id] = ast.Name(self.prefix + target.id, ast.Load())
        return [ast.Assign([ast.Name(self.prefix + target.id, ast.Store())], folded)]

    def store(self, target: ast.Subscript, value: ast.expr, env: Env) -> ast.stmt:
        """An element of `out` or of an array memory, at a known place."""
        read = copy.deepcopy(target)
        read.ctx = ast.Load()
        place = self.fold(read, env)
        if not isinstance(place, (ast.Name, ast.Subscript)):
            raise NotInlinable
        place.ctx = ast.Store()
        return ast.Assign([place], value)

    def finish(self, statement: ast.Return, env: Env, depth: int) -> list[ast.stmt]:
        """A return: the result itself where the road was straight, assignments to the targets inside branches."""
        if statement.value is None:
            raise BlockDefinitionError(f"{self.function.__qualname__} returns nothing.")
        if isinstance(statement.value, ast.Dict):
            keys = [k.value if isinstance(k, ast.Constant) else None for k in statement.value.keys]
            fields = {str(k): self.fold(v, env) for k, v in zip(keys, statement.value.values, strict=True)}
            if depth:
                raise NotInlinable
            self.result = Fields(fields)
            return []
        folded = self.fold(statement.value, env)
        if not depth:
            self.result = folded
            return []
        self.result = ast.Tuple([ast.Name(n, ast.Load()) for n in self.targets], ast.Load())
        parts = flat(folded)
        if len(parts) != len(self.targets):
            raise BlockDefinitionError(
                f"{self.function.__qualname__} returns {len(parts)} values where {len(self.targets)} are wanted: "
                f"{', '.join(self.targets)}."
            )
        return [ast.Assign([ast.Name(n, ast.Store())], v) for n, v in zip(self.targets, parts, strict=True)]


class Bound(ast.expr):
    """A loop variable's value in one turn."""

    def __init__(self, item: ast.expr):
        super().__init__()
        self.item = item


class Fields(ast.expr):
    """What a reset returns: new values by name."""

    def __init__(self, fields: dict[str, ast.expr]):
        super().__init__()
        self.fields = fields


def flat(node: ast.expr) -> list[ast.expr]:
    """A result as a flat list of scalars."""
    if isinstance(node, ast.Tuple):
        return [e for item in node.elts for e in flat(item)]
    return [node]
