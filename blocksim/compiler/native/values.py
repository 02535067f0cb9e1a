"""What an expression of a program stands for while it is turned into LLVM's language."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from llvmlite import ir

WHOLE_NUMBER, REAL_NUMBER, TRUTH_VALUE = "whole", "real", "truth"
BARE: dict[str, Any] = {WHOLE_NUMBER: ir.IntType(64), REAL_NUMBER: ir.DoubleType(), TRUTH_VALUE: ir.IntType(1)}
#: Of two kinds of numbers, the later one holds both.
WIDENING = (TRUTH_VALUE, WHOLE_NUMBER, REAL_NUMBER)


@dataclass(frozen=True)
class NumberKind:
    """The kind of a number; `wide` where each lane has one of its own."""

    base: str
    wide: bool = False

    def joined(self, other: NumberKind) -> NumberKind:
        """A kind that holds numbers of both."""
        return NumberKind(max(self.base, other.base, key=WIDENING.index), self.wide or other.wide)

    def type(self, lanes: int) -> Any:
        return ir.VectorType(BARE[self.base], lanes) if self.wide else BARE[self.base]


@dataclass(frozen=True)
class Number:
    """A number."""

    kind: NumberKind
    code: Any


@dataclass(frozen=True)
class Pointer:
    """An array of numbers; `length` and `columns` where the program asks for them."""

    kind: NumberKind
    code: Any
    length: Number | None = None
    columns: Number | None = None


@dataclass(frozen=True)
class LaneAddresses:
    """An array of real numbers of which each lane has one of its own, somewhere: a list of addresses."""

    code: Any


#: A tuple stands for several.
Content = Number | Pointer | LaneAddresses | tuple[Any, ...]


def shape(meaning: Content) -> Any:
    """What a function is compiled for when it is handed this."""
    if isinstance(meaning, tuple):
        return tuple(shape(part) for part in meaning)
    if isinstance(meaning, Pointer):
        return ("pointer", meaning.kind, meaning.length is not None, meaning.columns is not None)
    return "spread" if isinstance(meaning, LaneAddresses) else meaning.kind


def codes_in(meaning: Content) -> list[Any]:
    """The codes in it, one after the other."""
    if isinstance(meaning, tuple):
        return [code for part in meaning for code in codes_in(part)]
    if isinstance(meaning, Pointer):
        more = [value.code for value in (meaning.length, meaning.columns) if value is not None]
        return [meaning.code, *more]
    return [meaning.code]


def rebuilt(meaning: Content, codes: list[Any]) -> Content:
    """The same with other codes, taken from the front of a list."""
    if isinstance(meaning, tuple):
        return tuple(rebuilt(part, codes) for part in meaning)
    if isinstance(meaning, Pointer):
        code = codes.pop(0)
        length = None if meaning.length is None else Number(meaning.length.kind, codes.pop(0))
        columns = None if meaning.columns is None else Number(meaning.columns.kind, codes.pop(0))
        return Pointer(meaning.kind, code, length, columns)
    return LaneAddresses(codes.pop(0)) if isinstance(meaning, LaneAddresses) else Number(meaning.kind, codes.pop(0))
