"""Expressions of a program -> LLVM: numbers, elements of arrays, choices, calls."""

from __future__ import annotations

import ast
import math
from abc import abstractmethod
from typing import Any

from llvmlite import ir

from .memory import STORE_ALIGNMENT, MemoryAccess
from .refusal import UnsupportedError
from .values import TRUTH_VALUE, Content, LaneAddresses, Number, NumberKind, Pointer

NAMED_NUMBERS = {"inf": math.inf, "nan": math.nan}
#: Functions of the prelude that processors have as one instruction, with the same bits.
INSTRUCTIONS = ("floor", "ceil", "round_half_even")


class Expressions(MemoryAccess):
    """Writes expressions into a function that is being written."""

    function: Any
    entry: Any
    mask: Any
    functions: Any  # of the program, by name
    variables: dict[str, Any]
    kinds: dict[str, NumberKind]
    bound: dict[str, Content]

    @abstractmethod
    def call(self, name: str, inputs: list[Content]) -> Content:
        """A call of a function of the program."""

    def one(self, node: ast.expr) -> Number:
        """An expression that is one number."""
        value = self.expression(node)
        if not isinstance(value, Number):
            raise UnsupportedError("several numbers where one is wanted")
        return value

    def expression(self, node: ast.expr) -> Content:
        handler = getattr(self, f"of_{type(node).__name__.lower()}", None)
        if handler is None:
            raise UnsupportedError(f"the expression {type(node).__name__}")
        meaning: Content = handler(node)
        return meaning

    def of_constant(self, node: ast.Constant) -> Content:
        if not isinstance(node.value, (bool, int, float)):
            raise UnsupportedError(f"the constant {node.value!r}")
        return self.number(node.value)

    def of_name(self, node: ast.Name) -> Content:
        if node.id in self.variables:
            kind = self.kinds[node.id]
            return Number(kind, self.builder.load(self.variables[node.id], typ=kind.type(self.lanes)))
        if node.id in self.bound:
            return self.bound[node.id]
        if node.id in NAMED_NUMBERS:
            return self.number(NAMED_NUMBERS[node.id])
        raise UnsupportedError(f"the name {node.id}")

    def of_tuple(self, node: ast.Tuple) -> Content:
        return tuple(self.expression(part) for part in node.elts)

    def of_binop(self, node: ast.BinOp) -> Content:
        return self.binary(node.op, self.one(node.left), self.one(node.right))

    def of_unaryop(self, node: ast.UnaryOp) -> Content:
        value = self.one(node.operand)
        if isinstance(node.op, ast.Not):
            return self.inverted(value)
        return self.negative(value) if isinstance(node.op, ast.USub) else value

    def of_compare(self, node: ast.Compare) -> Content:
        values = [self.one(n) for n in (node.left, *node.comparators)]
        results = [self.compare(op, a, b) for op, a, b in zip(node.ops, values, values[1:], strict=False)]
        whole = results[0]
        for result in results[1:]:
            a, b = self.together(whole, result)
            whole = Number(a.kind, self.builder.and_(a.code, b.code))
        return whole

    def of_boolop(self, node: ast.BoolOp) -> Content:
        first, rest = self.truth(self.one(node.values[0])), node.values[1:]
        if not rest:
            return first
        other = rest[0] if len(rest) == 1 else ast.BoolOp(node.op, rest)
        both = isinstance(node.op, ast.And)
        if first.kind.wide:
            second = self.cast(
                self.truth(self.under(first if both else self.inverted(first), other)), NumberKind(TRUTH_VALUE, True)
            )
            return Number(first.kind, (self.builder.and_ if both else self.builder.or_)(first.code, second.code))
        decided = ast.Constant(not both)
        return self.chosen(first, other if both else decided, decided if both else other)

    def under(self, condition: Number, node: ast.expr) -> Number:
        """An expression evaluated where a condition holds: lanes where it does not may read nowhere."""
        before, outer = self.mask, self.active()
        self.mask = condition.code if outer is None else self.builder.and_(condition.code, outer)
        value = self.one(node)
        self.mask = before
        return value

    def of_ifexp(self, node: ast.IfExp) -> Content:
        condition = self.truth(self.one(node.test))
        if not condition.kind.wide:
            return self.chosen(condition, node.body, node.orelse)
        yes = self.under(condition, node.body)
        return self.select(condition, yes, self.under(self.inverted(condition), node.orelse))

    def chosen(self, condition: Number, yes: ast.expr, no: ast.expr) -> Number:
        """One of two expressions, the other is not evaluated."""
        blocks = [self.function.append_basic_block(n) for n in ("yes", "no")]
        after = self.function.append_basic_block("after")
        self.builder.cbranch(condition.code, *blocks)
        values, ends = [], []
        for block, node in zip(blocks, (yes, no), strict=True):
            self.builder.position_at_end(block)
            values.append(self.one(node))
            ends.append(self.builder.block)
        kind = values[0].kind.joined(values[1].kind)
        codes = []
        for end, value in zip(ends, values, strict=True):
            self.builder.position_at_end(end)
            codes.append(self.cast(value, kind).code)
            self.builder.branch(after)
        self.builder.position_at_end(after)
        phi = self.builder.phi(kind.type(self.lanes))
        for code, end in zip(codes, ends, strict=True):
            phi.add_incoming(code, end)
        return Number(kind, phi)

    def element(self, node: ast.Subscript) -> tuple[Pointer | LaneAddresses, Number]:
        """Which array, and where in it."""
        array = self.expression(node.value)
        if isinstance(array, tuple) and all(isinstance(part, Number) for part in array):
            array = self.laid_out(array)
        if not isinstance(array, (Pointer, LaneAddresses)):
            raise UnsupportedError("an element of something that is no array")
        if isinstance(node.slice, ast.Tuple):
            if isinstance(array, LaneAddresses) or array.columns is None:
                raise UnsupportedError("two indices of an array that is no matrix")
            row, column = (self.one(n) for n in node.slice.elts)
            return array, self.binary(ast.Add(), self.binary(ast.Mult(), row, array.columns), column)
        return array, self.one(node.slice)

    def laid_out(self, numbers: tuple[Number, ...]) -> Pointer:
        """A tuple in memory, for who asks for an element whose place is known only at the run."""
        parts = self.together(*numbers)
        element = parts[0].kind.type(self.lanes)
        pointer = Pointer(parts[0].kind, ir.IRBuilder(self.entry).alloca(element, size=len(parts)))
        for k, part in enumerate(parts):
            self.builder.store(part.code, self.place(pointer, self.number(k))).align = STORE_ALIGNMENT
        return pointer

    def of_subscript(self, node: ast.Subscript) -> Content:
        if isinstance(node.slice, ast.Constant) and isinstance(node.slice.value, int):
            inside = self.expression(node.value)
            if isinstance(inside, tuple):
                part: Content = inside[node.slice.value]
                return part
        return self.load(*self.element(node))

    def of_call(self, node: ast.Call) -> Content:
        if not isinstance(node.func, ast.Name):
            raise UnsupportedError("a call of something that has no name")
        name = node.func.id
        inputs = [self.expression(a) for a in node.args]
        if name in ("view", "matrix") and isinstance(inputs[0], Pointer):
            return self.stretch(inputs[0], [v for v in inputs[1:] if isinstance(v, Number)], name == "matrix")
        if name == "len" and isinstance(inputs[0], Pointer) and inputs[0].length is not None:
            return inputs[0].length
        if name == "len" and isinstance(inputs[0], tuple):
            return self.number(len(inputs[0]))
        if name in self.functions and name not in INSTRUCTIONS:
            return self.call(name, inputs)
        value = self.word(name, [v for v in inputs if isinstance(v, Number)])
        if value is None:
            raise UnsupportedError(f"the function {name}")
        return value

    def stretch(self, array: Pointer, bounds: list[Number], matrix: bool) -> Pointer:
        start = self.place(array, bounds[0])
        if matrix:
            return Pointer(array.kind, start, bounds[1], bounds[2])
        return Pointer(array.kind, start, self.binary(ast.Sub(), bounds[1], bounds[0]))
