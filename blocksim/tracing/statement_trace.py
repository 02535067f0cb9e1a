"""Trace: follows the statements of one call of a block function (expression_trace.py follows their expressions)."""

from __future__ import annotations

import ast
from typing import Any

from ..contract.syntax import parse
from ..errors import BlockDefinitionError
from .expression_trace import ExpressionTrace
from .graph import Term
from .values import Array, Env, Fields, Missing, Value, View, replaced, size_text


class LoopTurn(ast.stmt):
    """The beginning of one turn of a loop: its variable has this value."""

    def __init__(self, target: ast.expr, value: Value):
        super().__init__()
        self.target, self.value = target, value


class Trace(ExpressionTrace):
    """One call of one function."""

    def block(self, statements: list[ast.stmt], env: Env) -> Value:
        """Follow the statements; gives what is returned, None where that is nothing."""
        for position, statement in enumerate(statements):
            self.tracer.statements += 1
            if self.tracer.statements > self.tracer.longest:
                self.stay(f"is too long: more than {self.tracer.longest} statements with its loops written out.")
            rest = statements[position + 1 :]
            match statement:
                case ast.Return(value=value):
                    return None if value is None else self.returned(value, env)
                case LoopTurn():
                    self.assign(statement.target, statement.value, env)
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
                case ast.Assign(targets=targets, value=value):
                    result = self.value(value, env)
                    for target in targets:
                        self.assign(target, result, env)
                case ast.AnnAssign(target=target, value=ast.expr() as value):
                    self.assign(target, self.value(value, env), env)
                case ast.AugAssign(target=target, op=op, value=value):
                    old = self.scalar(as_read(target), env)
                    self.assign(target, self.binary(op, old, self.scalar(value, env)), env)
                case ast.Expr(value=ast.Call() as value):
                    self.value(value, env)
                case ast.Pass() | ast.AnnAssign() | ast.Expr(value=ast.Constant()):
                    pass
                case _:
                    self.stay(f"has '{ast.unparse(statement).splitlines()[0]}', which cannot be followed.")
        return None

    def returned(self, value: ast.expr, env: Env) -> Value:
        if not isinstance(value, ast.Dict):
            return self.value(value, env)
        return Fields({str(getattr(k, "value", "")): self.value(v, env) for k, v in zip(value.keys, value.values, strict=True)})

    def fork(self, test: Term, yes: list[ast.stmt], no: list[ast.stmt], env: Env) -> Value:
        """A branch that may return: both ways to their ends."""
        return self.tracer.both(test, lambda: self.block(yes, dict(env)), lambda: self.block(no, dict(env)))

    def branch(self, test: Term, statement: ast.If, env: Env) -> None:
        """A branch that only sets names."""
        yes, no = dict(env), dict(env)
        self.tracer.both(test, lambda: self.block(statement.body, yes), lambda: self.block(statement.orelse, no))
        for name in {**yes, **no}:
            nothing = Missing(
                f"{self.function.__qualname__}: '{name}' has no value in one branch of 'if {ast.unparse(statement.test)}'; give "
                "it one before."
            )
            env[name] = self.named(name, self.tracer.merged(test, yes.get(name, nothing), no.get(name, nothing)))

    def turns(self, loop: ast.For, env: Env) -> list[ast.stmt]:
        if loop.orelse or any(isinstance(n, (ast.Break, ast.Continue)) for n in ast.walk(loop)):
            self.stay("has a loop with break, continue or else, which cannot be followed.")
        source = loop.iter
        items: Any
        if isinstance(source, ast.Call) and isinstance(source.func, ast.Name) and source.func.id == "range":
            limits = [self.scalar(a, env) for a in source.args]
            if not all(n.known for n in limits):
                self.stay(f"has the loop over '{ast.unparse(source)}', whose length is known only at the run.")
            items = [self.graph.constant(i) for i in range(*[n.value for n in limits])]
        else:
            items = self.tracer.items(self.value(source, env))
        if len(items) > self.tracer.turns:
            self.stay(f"has a loop of {len(items)} turns, too long to be written out.")
        return [s for item in items for s in (LoopTurn(loop.target, item), *loop.body)]

    def assign(self, target: ast.expr, value: Value, env: Env) -> None:
        match target:
            case ast.Name(id=name):
                env[name] = self.named(name, value)
            case ast.Tuple(elts=parts) | ast.List(elts=parts):
                if isinstance(value, Missing):
                    raise BlockDefinitionError(value.why)
                items = self.tracer.items(value) if isinstance(value, (tuple, Array)) else ()
                if len(items) != len(parts):
                    self.refuse(f"assigns {size_text(value)} to '{ast.unparse(target)}'.")
                for part, item in zip(parts, items, strict=True):
                    self.assign(part, item, env)
            case ast.Subscript(value=ast.Name(id=name)) if isinstance(env.get(name), Array):
                self.store(target, env[name], value, env)
            case ast.Subscript(value=ast.Name(id=name)) if isinstance(env.get(name), View):
                self.tracer.store(env[name], self.places(target.slice, env), self.one(value, target))
            case _:
                self.refuse(f"stores into '{ast.unparse(target)}', which is not its own.")

    def store(self, target: ast.Subscript, array: Array, value: Value, env: Env) -> None:
        """An element of a small array has another value from here on."""
        content, places = self.tracer.heap[array], self.known_places(target.slice, env)
        inner: Value = content
        for place in places:
            if not isinstance(inner, tuple) or not -len(inner) <= place < len(inner):
                self.refuse(f"stores into '{ast.unparse(target)}', which {array.name} does not have: it is {size_text(inner)}.")
            inner = inner[place]
        if not (isinstance(inner, tuple) and isinstance(value, (tuple, Array)) and len(inner) == len(self.tracer.items(value))):
            value = self.one(value, target)
        value = self.named(f"{array.name}_{'_'.join(map(str, places))}", self.tracer.content(value))
        self.tracer.heap[array] = replaced(content, places, value)

    def named(self, name: str, value: Value) -> Value:
        if isinstance(value, Term) and value.inputs:
            self.graph.names.setdefault(value, name)
        if isinstance(value, tuple):
            for k, item in enumerate(value):
                self.named(f"{name}_{k}", item)
        return value


def returns(body: list[ast.stmt]) -> bool:
    return any(isinstance(n, ast.Return) for s in body for n in ast.walk(s))


def as_read(target: ast.expr) -> ast.expr:
    """What an augmented assignment reads first."""
    return parse(ast.unparse(target), "eval").body
