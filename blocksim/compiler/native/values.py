"""What an expression of a program stands for while it is turned into LLVM's language."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from llvmlite import ir

WHOLE, REAL, TRUTH = "whole", "real", "truth"
BARE: dict[str, Any] = {WHOLE: ir.IntType(64), REAL: ir.DoubleType(), TRUTH: ir.IntType(1)}
#: Of two kinds of numbers, the later one holds both.
ORDER = (TRUTH, WHOLE, REAL)


@dataclass(frozen=True)
class Kind:
    """The kind of a number; `wide` where each lane has one of its own."""

    base: str
    wide: bool = False

    def joined(self, other: Kind) -> Kind:
        """A kind that holds numbers of both."""
        return Kind(max(self.base, other.base, key=ORDER.index), self.wide or other.wide)

    def type(self, lanes: int) -> Any:
        return ir.VectorType(BARE[self.base], lanes) if self.wide else BARE[self.base]


@dataclass(frozen=True)
class Value:
    """A number."""

    kind: Kind
    code: Any


@dataclass(frozen=True)
class Pointer:
    """An array of numbers; `length` and `columns` where the program asks for them."""

    kind: Kind
    code: Any
    length: Value | None = None
    columns: Value | None = None


@dataclass(frozen=True)
class Spread:
    """An array of real numbers of which each lane has one of its own, somewhere: a list of addresses."""

    code: Any


#: A tuple stands for several.
Meaning = Value | Pointer | Spread | tuple[Any, ...]


def shape(meaning: Meaning) -> Any:
    """What a function is compiled for when it is handed this."""
    if isinstance(meaning, tuple):
        return tuple(shape(part) for part in meaning)
    if isinstance(meaning, Pointer):
        return ("pointer", meaning.kind, meaning.length is not None, meaning.columns is not None)
    return "spread" if isinstance(meaning, Spread) else meaning.kind


def flat(meaning: Meaning) -> list[Any]:
    """The codes in it, one after the other."""
    if isinstance(meaning, tuple):
        return [code for part in meaning for code in flat(part)]
    if isinstance(meaning, Pointer):
        more = [value.code for value in (meaning.length, meaning.columns) if value is not None]
        return [meaning.code, *more]
    return [meaning.code]


def rebuilt(meaning: Meaning, codes: list[Any]) -> Meaning:
    """The same with other codes, taken from the front of a list."""
    if isinstance(meaning, tuple):
        return tuple(rebuilt(part, codes) for part in meaning)
    if isinstance(meaning, Pointer):
        code = codes.pop(0)
        length = None if meaning.length is None else Value(meaning.length.kind, codes.pop(0))
        columns = None if meaning.columns is None else Value(meaning.columns.kind, codes.pop(0))
        return Pointer(meaning.kind, code, length, columns)
    return Spread(codes.pop(0)) if isinstance(meaning, Spread) else Value(meaning.kind, codes.pop(0))
