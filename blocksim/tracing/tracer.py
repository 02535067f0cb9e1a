"""Tracer: follows the text of a block function, and of the functions it calls, into a graph of scalars.

Loops are run through, decided branches followed; an undecided branch is followed both ways, and what differs becomes a choice.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Mapping
from typing import Any

from ..contract.syntax import parse
from .expression_trace import Env, ExpressionTrace, Missing, Untraceable, Value, size_text
from .fold import parsed
from .graph import Graph, Node

#: Calls within calls, and statements of one function with its loops written out.
DEEP, LONG = 40, 20000


class Turn(ast.stmt):
    """The beginning of one turn of a loop: its variable has this value."""

    def __init__(self, target: ast.expr, value: Value):
        super().__init__()
        self.target, self.value = target, value


class Tracer:
    """Follows functions into one graph."""

    def __init__(self, graph: Graph):
        self.graph = graph
        self.assumed: dict[Node, bool] = {}  # the undecided tests on the way here
        self.depth = 0
        self.statements = 0

    def run(self, function: Callable[..., Any], values: Mapping[str, Value]) -> Value:
        """What the function returns for these arguments, or what it fills into `out`."""
        if self.depth >= DEEP:
            raise Untraceable(f"{function.__qualname__} calls itself, or calls go deeper than {DEEP}")
        self.depth += 1
        try:
            return Trace(self, function).body(list(parsed(function).body), dict(values))
        finally:
            self.depth -= 1

    def decide(self, test: Node) -> bool | None:
        """What a test gives on this way, if that is known."""
        if test.known:
            return bool(test.value)
        if test.op == "not":
            inner = self.decide(test.inputs[0])
            return None if inner is None else not inner
        return self.assumed.get(test)

    def assuming(self, test: Node, outcome: bool, follow: Callable[[], Value]) -> Value:
        before = dict(self.assumed)
        self.assume(test, outcome)
        try:
            return self.graph.where(test, outcome, follow)
        finally:
            self.assumed = before

    def assume(self, test: Node, outcome: bool) -> None:
        self.assumed[test] = outcome
        if test.op == "not":
            self.assume(test.inputs[0], not outcome)
        if test.op == "choice":  # a and b: both hold; a or b: neither does
            condition, yes, no = test.inputs
            if outcome and no.known and not no.value:
                self.assume(condition, True)
                self.assume(yes, True)
            if not outcome and yes.known and yes.value:
                self.assume(condition, False)
                self.assume(no, False)

    def merged(self, test: Node, yes: Value, no: Value) -> Value:
        """One value of two, as the test says."""
        if yes is no:
            return yes
        for value in (yes, no):
            if isinstance(value, Missing):
                return value
        if isinstance(yes, tuple) and isinstance(no, tuple) and len(yes) == len(no):
            return tuple(self.merged(test, a, b) for a, b in zip(yes, no, strict=True))
        if isinstance(yes, tuple) or isinstance(no, tuple):
            return Missing("it is a number in one branch and several in the other")
        return self.graph.choose(test, yes, no)


class Trace(ExpressionTrace):
    """One call of one function."""

    def body(self, statements: list[ast.stmt], env: Env) -> Value:
        result = self.block(statements, env)
        if result is None and "out" in env:
            result = env["out"]
        if result is None:
            self.refuse("does not return a value.")
        return result

    def block(self, statements: list[ast.stmt], env: Env) -> Value | None:
        """Follow the statements; gives what is returned, or None where the end is reached."""
        for position, statement in enumerate(statements):
            self.tracer.statements += 1
            if self.tracer.statements > LONG:
                self.refuse(f"is too long: more than {LONG} statements with its loops written out.")
            rest = statements[position + 1 :]
            match statement:
                case ast.Return():
                    return self.returned(statement, env)
                case Turn():
                    self.store(statement.target, statement.value, env)
                case ast.If():
                    test = self.scalar(statement.test, env)
                    decided = self.tracer.decide(test)
                    if decided is not None:
                        return self.block([*(statement.body if decided else statement.orelse), *rest], env)
                    if returns(statement.body) or returns(statement.orelse):
                        return self.fork(test, [*statement.body, *rest], [*statement.orelse, *rest], env)
                    self.branch(test, statement, env)
                case ast.For():
                    return self.block([*self.turns(statement, env), *rest], env)
                case ast.Assign(targets=[target], value=value):
                    self.store(target, self.value(value, env), env)
                case ast.AnnAssign(target=target, value=ast.expr() as value):
                    self.store(target, self.value(value, env), env)
                case ast.AugAssign(target=target, op=op, value=value):
                    self.store(target, self.binary(op, self.value(as_read(target), env), self.value(value, env)), env)
                case ast.Pass() | ast.AnnAssign() | ast.Expr(value=ast.Constant()):
                    pass
                case _:
                    self.refuse(f"has '{ast.unparse(statement).splitlines()[0]}', which cannot be followed.")
        return None

    def returned(self, statement: ast.Return, env: Env) -> Value:
        if statement.value is None:
            if "out" in env:
                return env["out"]
            self.refuse("returns nothing.")
        return self.value(statement.value, env)

    def fork(self, test: Node, yes: list[ast.stmt], no: list[ast.stmt], env: Env) -> Value:
        """A branch that may return: both ways to their ends."""
        first = self.tracer.assuming(test, True, lambda: self.body(yes, dict(env)))
        second = self.tracer.assuming(test, False, lambda: self.body(no, dict(env)))
        return self.tracer.merged(test, first, second)

    def branch(self, test: Node, statement: ast.If, env: Env) -> None:
        """A branch that only sets names."""
        yes, no = dict(env), dict(env)
        self.tracer.assuming(test, True, lambda: self.block(statement.body, yes))
        self.tracer.assuming(test, False, lambda: self.block(statement.orelse, no))
        for name in {**yes, **no}:
            nothing = Missing(f"'{name}' has no value in one branch of 'if {ast.unparse(statement.test)}'")
            env[name] = self.named(name, self.tracer.merged(test, yes.get(name, nothing), no.get(name, nothing)))

    def turns(self, loop: ast.For, env: Env) -> list[ast.stmt]:
        if loop.orelse or any(isinstance(n, (ast.Break, ast.Continue)) for n in ast.walk(loop)):
            self.refuse("has a loop with break, continue or else, which cannot be followed.")
        source = loop.iter
        items: Any
        if isinstance(source, ast.Call) and isinstance(source.func, ast.Name) and source.func.id == "range":
            limits = [self.scalar(a, env) for a in source.args]
            if not all(n.known for n in limits):
                self.refuse(f"has the loop over '{ast.unparse(source)}', whose length is known only at the run.")
            items = [self.graph.constant(i) for i in range(*[n.value for n in limits])]
        else:
            items = self.value(source, env)
            if not isinstance(items, tuple):
                self.refuse(f"has a loop over '{ast.unparse(source)}', which is one number.")
        return [s for item in items for s in (Turn(loop.target, item), *loop.body)]

    def store(self, target: ast.expr, value: Value, env: Env) -> None:
        match target:
            case ast.Name(id=name):
                env[name] = self.named(name, value)
            case ast.Tuple(elts=parts) | ast.List(elts=parts):
                if isinstance(value, Missing):
                    raise Untraceable(value.why)
                if not isinstance(value, tuple) or len(value) != len(parts):
                    self.refuse(f"assigns {size_text(value)} to '{ast.unparse(target)}'.")
                for part, item in zip(parts, value, strict=True):
                    self.store(part, item, env)
            case ast.Subscript(value=ast.Name(id="out")):
                env["out"] = replaced(env["out"], self.places(target.slice, env), value)
            case _:
                self.refuse(f"stores into '{ast.unparse(target)}', which is not its own.")

    def named(self, name: str, value: Value) -> Value:
        if isinstance(value, Node) and value.inputs:
            self.graph.names.setdefault(value, name)
        return value


def returns(body: list[ast.stmt]) -> bool:
    return any(isinstance(n, ast.Return) for s in body for n in ast.walk(s))


def as_read(target: ast.expr) -> ast.expr:
    """What an augmented assignment reads first."""
    return parse(ast.unparse(target), "eval").body


def replaced(value: Value, places: list[int], new: Value) -> Value:
    """A nested tuple with one element another."""
    if not places:
        return new
    items = list(value)
    items[places[0]] = replaced(items[places[0]], places[1:], new)
    return tuple(items)
