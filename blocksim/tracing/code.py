"""Code: program text whose addresses are objects, so that equal code at other addresses is known to be equal."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any

#: How strongly an expression holds together, weakest first: a part that holds less than its place asks for gets parentheses.
CHOICE, OR, AND, NOT, RELATION, SUM, PRODUCT, SIGN, ATOM = range(9)


class Address(int):
    """A place in one of the program's stores."""


@dataclass(frozen=True, slots=True)
class Code:
    """Text and addresses in turn; `strength` says how strongly an expression holds together."""

    parts: tuple[str | Address, ...]
    strength: int = ATOM

    def __str__(self) -> str:
        return "".join(map(str, self.parts))

    @property
    def shape(self) -> tuple[str | None, ...]:
        """What is left without the addresses."""
        return tuple(None if isinstance(p, Address) else p for p in self.parts)

    @property
    def addresses(self) -> list[int]:
        return [int(p) for p in self.parts if isinstance(p, Address)]

    @property
    def name(self) -> bool:
        """Whether it is a plain name."""
        return len(self.parts) == 1 and str(self.parts[0]).isidentifier()

    def within(self, strength: int) -> Code:
        """In parentheses where its place asks for more strength than it has."""
        return self if self.strength >= strength else code("(", self, ")")

    def indented(self) -> Code:
        """One level further in; for whole lines."""
        return Code(("    ", *(p if isinstance(p, Address) else p.replace("\n", "\n    ") for p in self.parts)))

    def filled(self, addresses: Iterator[str]) -> str:
        """The text with these in the place of its addresses, in parentheses unless they are the whole of an index."""
        texts: list[str] = []
        for place, part in enumerate(self.parts):
            if not isinstance(part, Address):
                texts.append(part)
                continue
            text = next(addresses)
            before = str(self.parts[place - 1]) if place else ""
            behind = str(self.parts[place + 1]) if place + 1 < len(self.parts) else ""
            whole = before.endswith("[") and behind.startswith("]")
            texts.append(text if whole or " " not in text or text.startswith("o[") else f"({text})")
        return "".join(texts)


def code(*parts: str | int | Code, strength: int = ATOM) -> Code:
    """Code of texts, addresses (whole numbers) and other code, one after another."""
    merged: list[str | Address] = []
    for part in parts:
        for piece in part.parts if isinstance(part, Code) else (part,):
            if isinstance(piece, str) and merged and isinstance(merged[-1], str):
                merged[-1] += piece
            else:
                merged.append(piece if isinstance(piece, str) else Address(piece))
    return Code(tuple(merged), strength)


def joined(separator: str, pieces: Iterable[Code]) -> Code:
    """Pieces with a separator between."""
    parts: list[str | Code] = []
    for piece in pieces:
        parts += [separator, piece] if parts else [piece]
    return code(*parts)


def literal(value: Any) -> Code:
    """A known value as text."""
    if isinstance(value, (list, tuple)):
        inner = joined(", ", [literal(v) for v in value])
        return code("(", inner, ",)" if len(value) == 1 else ")")
    if hasattr(value, "item") and getattr(value, "ndim", 1) == 0:
        value = value.item()
    if isinstance(value, int) and abs(value) >= 2**63:
        value = float(value)
    if isinstance(value, float) and not math.isfinite(value):
        return Code(("nan" if value != value else "inf" if value > 0 else "-inf",), SIGN if value < 0 else ATOM)
    negative = isinstance(value, (int, float)) and math.copysign(1.0, value) < 0
    return Code((repr(value),), SIGN if negative else ATOM)


def call(name: str, inputs: Iterable[Code]) -> Code:
    return code(f"{name}(", joined(", ", inputs), ")")


def binary(sign: str, left: Code, right: Code, strength: int) -> Code:
    """left sign right, in the order it was written: only the left side may stand without parentheses at equal strength."""
    low = strength + 1 if strength == RELATION else strength
    return code(left.within(low), f" {sign} ", right.within(strength + 1), strength=strength)


SIGNS: dict[str, int] = {
    **dict.fromkeys(("+", "-"), SUM),
    **dict.fromkeys(("*", "/", "//", "%"), PRODUCT),
    **dict.fromkeys(("<", "<=", ">", ">=", "==", "!="), RELATION),
}


def operation(op: str, inputs: list[Code]) -> Code:
    """An operation of a graph as text."""
    if op in SIGNS:
        return binary(op, inputs[0], inputs[1], SIGNS[op])
    if op == "negative":
        return code("-", inputs[0].within(SIGN), strength=SIGN)
    if op == "not":
        return code("not ", inputs[0].within(NOT), strength=NOT)
    if op == "and":
        return code(inputs[0].within(AND), " and ", inputs[1].within(AND), strength=AND)
    if op == "or":
        return code(inputs[0].within(OR), " or ", inputs[1].within(OR), strength=OR)
    if op == "choice":
        test, yes, no = inputs
        return code(yes.within(OR), " if ", test.within(OR), " else ", no, strength=CHOICE)
    return call(op, inputs)
