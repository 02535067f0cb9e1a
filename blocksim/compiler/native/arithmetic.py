"""Arithmetic of values: sums, quotients, comparisons and the words of the vocabulary, for one number or one in each lane.

Nothing is fused or put in another order: every operation is the one IEEE 754 operation that CPython does.
"""

from __future__ import annotations

import ast
import functools
from collections.abc import Callable
from typing import Any

from llvmlite import ir

from .refusal import UnsupportedError
from .values import BARE, REAL_NUMBER, TRUTH_VALUE, WHOLE_NUMBER, Number, NumberKind

INT64, DOUBLE = BARE[WHOLE_NUMBER], BARE[REAL_NUMBER]
FLOAT_COMPARISONS = {ast.Eq: "==", ast.NotEq: "!=", ast.Lt: "<", ast.LtE: "<=", ast.Gt: ">", ast.GtE: ">="}
#: Words that are calls of the system's library, with the numbers they take.
LIBM_CALLS = {
    **dict.fromkeys(("sin", "cos", "tan", "asin", "acos", "atan", "sinh", "cosh", "tanh"), 1),
    **dict.fromkeys(("exp", "expm1", "log", "log10", "log1p"), 1),
    "atan2": 2,
    "libm_pow": 2,
}  # fmt: skip


class Arithmetic:
    """Writes arithmetic into the block where the builder stands."""

    def __init__(self, module: Any, lanes: int):
        self.module, self.lanes = module, lanes
        self.builder: Any = None

    # ---- kinds -----------------------------------------------------------------------------------------------------

    def number(self, value: float | int | bool) -> Number:
        base = TRUTH_VALUE if isinstance(value, bool) else WHOLE_NUMBER if isinstance(value, int) else REAL_NUMBER
        return Number(NumberKind(base), ir.Constant(BARE[base], int(value) if base == TRUTH_VALUE else value))

    def cast(self, value: Number, kind: NumberKind) -> Number:
        """The same number as another kind; a uniform number is the same in all lanes."""
        code = value.code
        if value.kind.base != kind.base:
            target_machine = NumberKind(kind.base, value.kind.wide).type(self.lanes)
            if value.kind.base == TRUTH_VALUE:
                code = (
                    self.builder.zext(code, target_machine)
                    if kind.base == WHOLE_NUMBER
                    else self.builder.uitofp(code, target_machine)
                )
            elif kind.base == REAL_NUMBER:
                code = self.builder.sitofp(code, target_machine)
            elif kind.base == WHOLE_NUMBER:
                code = self.builder.fptosi(code, target_machine)
            else:
                zero = ir.Constant(code.type, None if value.kind.wide else 0)
                real = value.kind.base == REAL_NUMBER
                code = self.builder.fcmp_unordered("!=", code, zero) if real else self.builder.icmp_signed("!=", code, zero)
        if value.kind.wide and not kind.wide:
            raise UnsupportedError("a number that differs between runs where one for all is wanted")
        return Number(kind, self.spread(code) if kind.wide and not value.kind.wide else code)

    def spread(self, code: Any) -> Any:
        """One number into all lanes."""
        vector = ir.VectorType(code.type, self.lanes)
        if isinstance(code, ir.Constant):
            return ir.Constant(vector, [code.constant] * self.lanes)
        first = self.builder.insert_element(ir.Constant(vector, ir.Undefined), code, ir.Constant(ir.IntType(32), 0))
        same = ir.Constant(ir.VectorType(ir.IntType(32), self.lanes), [0] * self.lanes)
        return self.builder.shuffle_vector(first, ir.Constant(vector, ir.Undefined), same)

    def together(self, *values: Number) -> list[Number]:
        kind = functools.reduce(NumberKind.joined, (v.kind for v in values))
        return [self.cast(v, kind) for v in values]

    def real(self, value: Number) -> Number:
        return self.cast(value, NumberKind(REAL_NUMBER, value.kind.wide))

    def truth(self, value: Number) -> Number:
        return self.cast(value, NumberKind(TRUTH_VALUE, value.kind.wide))

    def any(self, mask: Any) -> Any:
        """Whether a mask is true in any lane."""
        bits = self.builder.bitcast(mask, ir.IntType(self.lanes))
        return self.builder.icmp_unsigned("!=", bits, ir.Constant(bits.type, 0))

    def select(self, condition: Number, yes: Number, no: Number) -> Number:
        yes, no = self.together(yes, no)
        if condition.kind.wide and not yes.kind.wide:
            kind = NumberKind(yes.kind.base, True)
            yes, no = self.cast(yes, kind), self.cast(no, kind)
        return Number(yes.kind, self.builder.select(condition.code, yes.code, no.code))

    # ---- operators -------------------------------------------------------------------------------------------------

    def binary(self, operator: ast.operator, left: Number, right: Number) -> Number:
        left, right = self.together(left, right)
        if left.kind.base == TRUTH_VALUE:
            left, right = (self.cast(v, NumberKind(WHOLE_NUMBER, v.kind.wide)) for v in (left, right))
        if isinstance(operator, ast.Div):
            left, right = self.real(left), self.real(right)
        real, builder = left.kind.base == REAL_NUMBER, self.builder
        simple: dict[type, Callable[..., Any]] = {
            ast.Add: builder.fadd if real else builder.add,
            ast.Sub: builder.fsub if real else builder.sub,
            ast.Mult: builder.fmul if real else builder.mul,
            ast.Div: builder.fdiv,
        }
        if type(operator) in simple:
            return Number(left.kind, simple[type(operator)](left.code, right.code))
        if isinstance(operator, ast.Mod):
            return self.remainder(left, right)
        safe = not left.kind.wide or isinstance(right.code, ir.Constant)  # a lane that is not active may divide by 0
        if isinstance(operator, ast.FloorDiv) and not real and safe:
            rest = self.remainder(left, right)
            return Number(left.kind, builder.sdiv(builder.sub(left.code, rest.code), right.code))
        raise UnsupportedError(f"the operator {type(operator).__name__}")

    def remainder(self, left: Number, right: Number) -> Number:
        """a % b with the sign of b, as in Python."""
        builder = self.builder
        if left.kind.base == WHOLE_NUMBER:
            rest = builder.srem(left.code, right.code)
            zero = ir.Constant(rest.type, None if left.kind.wide else 0)
            other = builder.icmp_signed("<", builder.xor(rest, right.code), zero)
            wrong = builder.and_(builder.icmp_signed("!=", rest, zero), other)
            return Number(left.kind, builder.select(wrong, builder.add(rest, right.code), rest))
        rest = builder.frem(left.code, right.code)
        zero = self.cast(self.number(0.0), left.kind).code
        down, under = builder.fcmp_ordered("<", right.code, zero), builder.fcmp_ordered("<", rest, zero)
        none = builder.fcmp_ordered("==", rest, zero)
        moved = builder.select(builder.xor(down, under), builder.fadd(rest, right.code), rest)
        signed = self.intrinsic("llvm.copysign", zero, right.code)
        return Number(left.kind, builder.select(none, signed, moved))

    def negative(self, value: Number) -> Number:
        if value.kind.base == REAL_NUMBER:
            return Number(value.kind, self.builder.fneg(value.code))
        whole = self.cast(value, NumberKind(WHOLE_NUMBER, value.kind.wide))
        return Number(whole.kind, self.builder.neg(whole.code))

    def inverted(self, value: Number) -> Number:
        truth = self.truth(value)
        return Number(truth.kind, self.builder.not_(truth.code))

    def compare(self, operator: ast.cmpop, left: Number, right: Number) -> Number:
        left, right = self.together(left, right)
        sign = FLOAT_COMPARISONS.get(type(operator))
        if sign is None:
            raise UnsupportedError(f"the comparison {type(operator).__name__}")
        if left.kind.base == REAL_NUMBER:
            compare = self.builder.fcmp_unordered if sign == "!=" else self.builder.fcmp_ordered
        else:
            compare = self.builder.icmp_unsigned if left.kind.base == TRUTH_VALUE else self.builder.icmp_signed
        return Number(NumberKind(TRUTH_VALUE, left.kind.wide), compare(sign, left.code, right.code))

    # ---- words -----------------------------------------------------------------------------------------------------

    def intrinsic(self, name: str, *codes: Any) -> Any:
        """A function of LLVM's own, of numbers of one kind."""
        kind = codes[0].type
        suffix = f"v{self.lanes}f64" if isinstance(kind, ir.VectorType) else "f64"
        return self.builder.call(self.declared(f"{name}.{suffix}", kind, len(codes)), codes)

    def declared(self, name: str, kind: Any, count: int) -> Any:
        function = self.module.globals.get(name)
        return function or ir.Function(self.module, ir.FunctionType(kind, [kind] * count), name)

    def word(self, name: str, values: list[Number]) -> Number | None:
        """A word of the vocabulary that is not written out in the program; None where it is none."""
        if name in ("float", "int", "bool"):
            base = {"float": REAL_NUMBER, "int": WHOLE_NUMBER, "bool": TRUTH_VALUE}[name]
            return self.cast(values[0], NumberKind(base, values[0].kind.wide))
        if name == "abs" and values[0].kind.base != REAL_NUMBER:
            whole = self.cast(values[0], NumberKind(WHOLE_NUMBER, values[0].kind.wide))
            low = self.compare(ast.Lt(), whole, self.number(0))
            return self.select(low, self.negative(whole), whole)
        if name in ("floor", "ceil", "round_half_even"):
            return self.rounded(name, self.real(values[0]))
        own = {"abs": "llvm.fabs", "sqrt": "llvm.sqrt", "copysign": "llvm.copysign"}.get(name)
        if own:
            values = self.together(*(self.real(v) for v in values))
            return Number(values[0].kind, self.intrinsic(own, *(v.code for v in values)))
        if name in ("two_to", "binary_exponent"):
            return self.exponent(name, self.real(values[0]))
        return self.library(name, values) if name in LIBM_CALLS else None

    def rounded(self, name: str, value: Number) -> Number:
        """Whole numbers, never -0.0, as the prelude's functions give them."""
        zero = self.cast(self.number(0.0), value.kind).code
        if name == "round_half_even":
            return Number(value.kind, self.builder.fadd(self.intrinsic("llvm.rint", value.code), zero))
        code = self.builder.fneg(value.code) if name == "ceil" else value.code
        down = self.builder.fadd(self.intrinsic("llvm.floor", code), zero)
        return Number(value.kind, self.builder.fneg(down) if name == "ceil" else down)

    def exponent(self, name: str, value: Number) -> Number:
        """2^n and the exponent of a number, by its bits; the magic number turns small whole numbers into bits and back."""
        builder, wide = self.builder, value.kind.wide
        long, double = (NumberKind(base, wide).type(self.lanes) for base in (WHOLE_NUMBER, REAL_NUMBER))

        def whole(number: int) -> Any:
            return self.cast(self.number(number), NumberKind(WHOLE_NUMBER, wide)).code

        def real(number: float) -> Any:
            return self.cast(self.number(number), NumberKind(REAL_NUMBER, wide)).code

        magic = 4503599627370496.0  # 2^52: whole numbers stand in the lowest bits
        if name == "two_to":
            bits = builder.bitcast(builder.fadd(value.code, real(magic + 1023.0)), long)
            return Number(value.kind, builder.bitcast(builder.shl(bits, whole(52)), double))
        bits = builder.lshr(builder.bitcast(value.code, long), whole(52))
        start = builder.bitcast(real(magic), long)
        return Number(value.kind, builder.fsub(builder.bitcast(builder.or_(bits, start), double), real(magic + 1023.0)))

    def library(self, name: str, values: list[Number]) -> Number:
        """A function of the system's library: called for each lane by itself."""
        values = self.together(*(self.real(v) for v in values))
        function = self.declared(f"blocksim_{name}", DOUBLE, len(values))
        if not values[0].kind.wide:
            return Number(NumberKind(REAL_NUMBER), self.builder.call(function, [v.code for v in values]))
        result = ir.Constant(values[0].code.type, ir.Undefined)
        for lane in range(self.lanes):
            place = ir.Constant(ir.IntType(32), lane)
            one = self.builder.call(function, [self.builder.extract_element(v.code, place) for v in values])
            result = self.builder.insert_element(result, one, place)
        return Number(values[0].kind, result)
