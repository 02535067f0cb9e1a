"""Scope: one function being written, as pieces of text and the signals they have computed so far."""

from __future__ import annotations

import ast
from dataclasses import dataclass, field

from ..schedule.schedule import Element, Evaluation
from .roll import Piece


@dataclass
class Scope:
    """Pieces in order (one per block), what each signal is called here, and which evaluations are done."""

    pieces: list[Piece] = field(default_factory=list)
    signals: dict[Element, ast.expr] = field(default_factory=dict)
    done: set[Evaluation] = field(default_factory=set)

    def begin(self, title: str = "") -> None:
        """What is written next belongs to another block."""
        self.pieces.append(Piece("", title))

    def write(self, text: str) -> None:
        if not self.pieces:
            self.begin()
        last = self.pieces[-1]
        last.text = f"{last.text}\n{text}" if last.text else text

    def nest(self, head: str, blocks: list[str]) -> None:
        """A head line (if, while) with an indented body, as a piece of its own."""
        self.pieces.append(Piece(head + "\n" + indented(blocks or ["pass"])))
        self.begin()

    def written(self) -> list[Piece]:
        return [p for p in self.pieces if p.text]

    def blocks(self) -> list[str]:
        """The pieces as they are, each under its title."""
        return [(f"# {p.title}\n" if p.title else "") + p.text for p in self.written()]


def indented(blocks: list[str]) -> str:
    return "\n".join("    " + line for block in blocks for line in block.splitlines())
