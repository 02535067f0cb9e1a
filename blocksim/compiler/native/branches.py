"""Branches and loops of a program -> LLVM: where lanes differ, a branch is a mask, and a loop goes on until no lane is left."""

from __future__ import annotations

import ast
from abc import abstractmethod
from dataclasses import dataclass
from typing import Any

from llvmlite import ir

from .expressions import Expressions
from .refusal import UnsupportedError
from .values import WHOLE_NUMBER, Number, NumberKind


class RestartError(Exception):
    """A variable turned out to be wider than it looked: begin the function again."""


@dataclass
class OpenLoop:
    """A loop that is being written: where its next turn and what follows it begin, and which lanes are still in it."""

    again: Any
    after: Any
    running: Any
    key: int


class Branches(Expressions):
    """Writes branches and loops into a function that is being written."""

    loops: list[OpenLoop]
    uneven: set[int]  # loops that some lanes leave before others
    alive: Any
    node: ast.FunctionDef

    @abstractmethod
    def statements(self, body: list[ast.stmt]) -> None:
        """Statements one after another."""

    @abstractmethod
    def allocate(self, kind: Any) -> Any:
        """A place of the function's own."""

    @abstractmethod
    def all_lanes(self) -> Any:
        """A place for a mask, true in all lanes to begin with."""

    @abstractmethod
    def drop(self, place: Any, mask: Any) -> None:
        """Take lanes out of the mask at a place."""

    @abstractmethod
    def assign(self, name: str, value: Number, everywhere: bool = False) -> None:
        """A value to a variable, in the lanes that are active or in all."""

    def do_if(self, node: ast.If) -> None:
        condition = self.truth(self.one(node.test))
        if condition.kind.wide:
            if ends_the_run(node, self.node.name):  # a lane that fails takes the others with it: they are run again one by one
                mask = self.active()
                code = condition.code if mask is None else self.builder.and_(condition.code, mask)
                self.branch(self.any(code), node.body, node.orelse)
                return
            self.masked_body(condition.code, node.body)
            if node.orelse:
                self.masked_body(self.builder.not_(condition.code), node.orelse)
            return
        self.branch(condition.code, node.body, node.orelse)

    def branch(self, condition: Any, body: list[ast.stmt], orelse: list[ast.stmt]) -> None:
        then = self.function.append_basic_block("then")
        other = self.function.append_basic_block("else") if orelse else None
        after = self.function.append_basic_block("after")
        self.builder.cbranch(condition, then, other or after)
        self.inside(then, body, after)
        if other:
            self.inside(other, orelse, after)
        self.builder.position_at_end(after)

    def inside(self, block: Any, body: list[ast.stmt], after: Any) -> None:
        self.builder.position_at_end(block)
        self.statements(body)
        if not self.builder.block.is_terminated:
            self.builder.branch(after)

    def masked_body(self, condition: Any, body: list[ast.stmt]) -> None:
        """Statements for those lanes where a condition holds; skipped where it holds in none."""
        before = self.mask
        outer = self.active()
        mask = condition if outer is None else self.builder.and_(condition, outer)
        then, after = self.function.append_basic_block("some"), self.function.append_basic_block("after")
        self.builder.cbranch(self.any(mask), then, after)
        self.builder.position_at_end(then)
        self.mask = mask
        self.statements(body)
        if not self.builder.block.is_terminated:
            self.builder.branch(after)
        self.mask = before
        self.builder.position_at_end(after)

    def do_while(self, node: ast.While) -> None:
        head, body, after = (self.function.append_basic_block(n) for n in ("while", "turn", "after"))
        loop = OpenLoop(head, after, self.all_lanes() if id(node) in self.uneven else None, id(node))
        self.builder.branch(head)
        self.builder.position_at_end(head)
        self.loops.append(loop)
        condition = self.truth(self.one(node.test))
        if condition.kind.wide:
            if loop.running is None:
                self.split(loop)
            self.drop(loop.running, self.builder.not_(condition.code))
        going = condition.code if loop.running is None else self.any(self.active())
        if loop.running is not None and not condition.kind.wide:
            going = self.builder.and_(going, condition.code)
        self.builder.cbranch(going, body, after)
        self.inside(body, node.body, head)
        self.loops.pop()
        self.builder.position_at_end(after)

    def split(self, loop: OpenLoop) -> None:
        """Begin again with a mask for this loop: some lanes leave it before others."""
        self.uneven.add(loop.key)
        raise RestartError

    def do_for(self, node: ast.For) -> None:
        call = node.iter
        if not (isinstance(call, ast.Call) and isinstance(call.func, ast.Name) and call.func.id == "range"):
            raise UnsupportedError("a loop over something else than a range")
        assert isinstance(node.target, ast.Name)
        bounds = [self.cast(self.one(a), NumberKind(WHOLE_NUMBER)).code for a in call.args]
        long = ir.IntType(64)
        start, stop = (ir.Constant(long, 0), bounds[0]) if len(bounds) == 1 else bounds[:2]
        step = bounds[2] if len(bounds) == 3 else ir.Constant(long, 1)
        counter = self.allocate(long)
        self.builder.store(start, counter)
        running = self.all_lanes() if id(node) in self.uneven else None
        head, body, again, after = (self.function.append_basic_block(n) for n in ("for", "turn", "again", "after"))
        self.builder.branch(head)
        self.builder.position_at_end(head)
        now = self.builder.load(counter, typ=long)
        up = self.builder.icmp_signed(">", step, ir.Constant(long, 0))
        below, above = self.builder.icmp_signed("<", now, stop), self.builder.icmp_signed(">", now, stop)
        going = self.builder.select(up, below, above)
        self.loops.append(OpenLoop(again, after, running, id(node)))
        if self.alive is not None or running is not None:
            going = self.builder.and_(going, self.any(self.active()))
        self.builder.cbranch(going, body, after)
        self.builder.position_at_end(again)
        self.builder.store(self.builder.add(self.builder.load(counter, typ=long), step), counter)
        self.builder.branch(head)
        self.builder.position_at_end(body)
        self.assign(node.target.id, Number(NumberKind(WHOLE_NUMBER), now), everywhere=True)
        self.statements(node.body)
        if not self.builder.block.is_terminated:
            self.builder.branch(again)
        self.loops.pop()
        self.builder.position_at_end(after)

    def do_break(self, node: ast.Break) -> None:
        loop, mask = self.loops[-1], self.active()
        if mask is None:
            self.builder.branch(loop.after)
        elif loop.running is None:
            self.split(loop)
        else:
            self.drop(loop.running, mask)

    def do_continue(self, node: ast.Continue) -> None:
        if self.active() is not None:
            raise UnsupportedError("a turn of a loop that some runs leave before others")
        self.builder.branch(self.loops[-1].again)


#: Functions of the solvers that return a status: where a lane fails in them, all lanes end.
DRIVING = ("advance", "integrate", "take", "rows")


def ends_the_run(node: ast.If, function: str) -> bool:
    """Whether a branch returns a status from a function of the solvers."""
    returns = [n.value for n in ast.walk(node) if isinstance(n, ast.Return)]
    return function in DRIVING and any(isinstance(value, ast.Constant) for value in returns)
