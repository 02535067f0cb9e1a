"""The first slope of a step, shared with the log: where a logged signal is a state's derivative, it is evaluated once for both.

A log row at a hit is written at the time and in the state in which the next step begins. Where what the derivative reads does not
change in between, the slope is computed at the row, logged from there, and the step finds it in place.
"""

from __future__ import annotations

import ast
from dataclasses import dataclass, field
from typing import Any

from ...contract.syntax import parse
from ...solvers.stores import FRESH, passed

#: Stores that a derivative may read here, by numbers that are written out.
READABLE = ("x", "p", "m")
#: What opens the log of the only grid.
LOG_TEST = "log_0"
EVALUATED_SLOPE = f"derivative(t, k[0], {', '.join(passed('derivative'))})\nf[{FRESH}] = 2.0"


class NotPlainError(Exception):
    """An expression whose value this does not follow."""


@dataclass
class Meanings:
    """Equal expressions have equal numbers; names stand for what was assigned to them."""

    numbers: dict[Any, int] = field(default_factory=dict)
    names: dict[str, int] = field(default_factory=dict)
    memories: set[int] = field(default_factory=set)  # places of m that were read

    def number(self, key: Any) -> int:
        return self.numbers.setdefault(key, len(self.numbers))

    def of(self, node: ast.expr) -> int:
        if isinstance(node, ast.Constant):
            return self.number(("constant", type(node.value), repr(node.value)))
        if isinstance(node, ast.Name):
            return self.names[node.id] if node.id in self.names else self.number(("name", node.id))
        if isinstance(node, ast.Subscript):
            return self.number(("place", *self.place(node)))
        if isinstance(node, ast.Call):
            if not isinstance(node.func, ast.Name) or node.keywords:
                raise NotPlainError
            return self.number(("call", node.func.id, *(self.of(a) for a in node.args)))
        if isinstance(node, (ast.BinOp, ast.UnaryOp, ast.Compare, ast.BoolOp, ast.IfExp)):
            return self.number((type(node), *(self.part(value) for _, value in ast.iter_fields(node))))
        raise NotPlainError

    def part(self, value: Any) -> Any:
        if isinstance(value, list):
            return tuple(self.part(v) for v in value)
        return self.of(value) if isinstance(value, ast.expr) else type(value)

    def place(self, node: ast.Subscript) -> tuple[str, int]:
        store, index = node.value, node.slice
        place = number_in(index)
        if not (isinstance(store, ast.Name) and store.id in READABLE) or place is None:
            raise NotPlainError
        if store.id == "m":
            self.memories.add(place)
        return store.id, place

    def assign(self, statement: ast.stmt) -> None:
        """Take an assignment in; what is assigned to places is not followed."""
        if isinstance(statement, ast.Assign) and len(statement.targets) == 1:
            target, value = statement.targets[0], statement.value
            pairs = zip(target.elts, value.elts, strict=True) if isinstance(value, ast.Tuple) else [(target, value)]  # type: ignore[attr-defined]
            for name, meaning in [(name, self.of(part)) for name, part in pairs]:
                if isinstance(name, ast.Name):
                    self.names[name.id] = meaning


def with_shared_slope(derivative: str, hit: str) -> str | None:
    """The text of `hit` with the slope evaluated at its log; None where no logged signal is one, or it cannot be shared."""
    definition = definition_in(hit)
    tests = [ast.unparse(s.test) if isinstance(s, ast.If) else "" for s in definition.body]
    if tests.count(LOG_TEST) != 1:
        return None
    at = tests.index(LOG_TEST)
    log = definition.body[at]
    assert isinstance(log, ast.If)
    meanings = Meanings()
    try:
        slopes = slopes_of(definition_in(derivative), meanings)
    except NotPlainError:
        return None
    if any(place is None or place in meanings.memories for s in definition.body[at + 1 :] for place in memories_written(s)):
        return None
    reading = Meanings(meanings.numbers)
    lines = hit.splitlines()
    shared = False
    for statement in log.body:
        try:
            reading.assign(statement)
        except NotPlainError:
            continue
        name = assigned_name(statement)
        if name and reading.names[name] in slopes:
            lines[statement.lineno - 1 : statement.end_lineno] = [
                " " * statement.col_offset + f"{name} = k[0][{slopes[reading.names[name]]}]",
                *[""] * (statement.end_lineno - statement.lineno),  # type: ignore[operator]
            ]
            shared = True
    if not shared:
        return None
    opening = [" " * log.body[0].col_offset + line for line in EVALUATED_SLOPE.splitlines()]
    lines[log.lineno : log.lineno] = opening
    return without_unread("\n".join(line for line in lines if line.strip()) + "\n")


def number_in(node: ast.expr) -> int | None:
    """A whole number that is written out."""
    return node.value if isinstance(node, ast.Constant) and isinstance(node.value, int) else None


def definition_in(text: str) -> ast.FunctionDef:
    definition = parse(text).body[0]
    assert isinstance(definition, ast.FunctionDef)
    return definition


def slopes_of(derivative: ast.FunctionDef, meanings: Meanings) -> dict[int, int]:
    """What each element of dx means -> its place; the function must be a row of assignments."""
    slopes: dict[int, int] = {}
    for statement in derivative.body:
        if not isinstance(statement, ast.Assign) or len(statement.targets) != 1:
            raise NotPlainError
        target = statement.targets[0]
        if isinstance(target, ast.Subscript):
            place = number_in(target.slice)
            if not (isinstance(target.value, ast.Name) and target.value.id == "dx") or place is None:
                raise NotPlainError
            slopes.setdefault(meanings.of(statement.value), place)
        elif isinstance(target, (ast.Name, ast.Tuple)):
            meanings.assign(statement)
        else:
            raise NotPlainError
    return slopes


def assigned_name(statement: ast.stmt) -> str:
    if isinstance(statement, ast.Assign) and len(statement.targets) == 1 and isinstance(statement.targets[0], ast.Name):
        return statement.targets[0].id
    return ""


def memories_written(statement: ast.stmt) -> set[int | None]:
    """Places of m that a statement writes; None among them for one known only at the run, or for a call that is handed m."""
    places: set[int | None] = set()
    for node in ast.walk(statement):
        if isinstance(node, ast.Subscript) and isinstance(node.ctx, ast.Store):
            if isinstance(node.value, ast.Name) and node.value.id == "m":
                places.add(number_in(node.slice))
        elif isinstance(node, ast.Call) and any(isinstance(a, ast.Name) and a.id == "m" for a in node.args):
            places.add(None)
    return places


def without_unread(text: str) -> str:
    """A function without the lines that compute what nothing reads any more."""
    while True:
        definition, lines = definition_in(text), text.splitlines()
        read = {n.id for n in ast.walk(definition) if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Load)}
        unread = [s for s in ast.walk(definition) if isinstance(s, ast.stmt) and (name := assigned_name(s)) and name not in read]
        if not unread:
            return text
        for statement in unread:
            for number in range(statement.lineno - 1, statement.end_lineno or statement.lineno):
                lines[number] = ""
        text = "\n".join(line for line in lines if line.strip()) + "\n"
