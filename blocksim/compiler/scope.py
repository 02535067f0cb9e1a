"""Scope: one function being written, as pieces of code and the signals they have computed so far."""

from __future__ import annotations

from dataclasses import dataclass, field

from ..schedule.schedule import Element, Evaluation
from ..tracing.code import Code, code
from .roll import Piece

#: What a signal is in a function: code, or a number that cannot change.
Operand = Code | float


@dataclass
class Scope:
    """Pieces in order (one per block), what each signal is called here, and which evaluations are done."""

    pieces: list[Piece] = field(default_factory=list)
    signals: dict[Element, Operand] = field(default_factory=dict)
    done: set[Evaluation] = field(default_factory=set)

    def begin(self, title: str = "") -> None:
        """What is written next belongs to another block."""
        self.pieces.append(Piece([], title))

    def write(self, line: Code | str) -> None:
        if not self.pieces:
            self.begin()
        self.pieces[-1].lines.append(line if isinstance(line, Code) else code(line))

    def nest(self, head: Code | str, blocks: list[str]) -> None:
        """A head line (if, while) with an indented body, as a piece of its own."""
        self.begin()
        self.write(code(head, "\n", indented(blocks or ["pass"])))
        self.begin()

    def written(self) -> list[Piece]:
        return [p for p in self.pieces if p.lines]

    def blocks(self) -> list[str]:
        """The pieces as they are, each under its title."""
        return [p.text() for p in self.written()]


def indented(blocks: list[str]) -> str:
    return "\n".join("    " + line for block in blocks for line in block.splitlines())
