"""Large diagrams: equal blocks share one loop, and long functions are cut into parts.

Every piece of code knows its addresses. Pieces that differ in their addresses only become one loop over them: addresses that
run evenly are computed, others are read from a table. So compile time grows with the number of kinds of block, not with the
number of blocks.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable
from dataclasses import dataclass

from ..tracing.code import Code, joined

#: Fewer equal pieces than this are written out.
ENOUGH = 4
#: Lines of a function before it is cut.
LONG = 150
TextShape = tuple[str | None, ...]


@dataclass
class Piece:
    """The code of one block at one place: lines, and whose it is."""

    lines: list[Code]
    title: str = ""

    def whole(self) -> Code:
        return joined("\n", self.lines)

    def text(self) -> str:
        return (f"# {self.title}\n" if self.title else "") + "\n".join(map(str, self.lines))


def roll(pieces: list[Piece], table: Callable[[list[int]], int], free: bool = False) -> list[str]:
    """Pieces as text blocks; neighbours of equal shape (`free`: all of equal shape) are one loop. `table` puts numbers in o."""
    runs: list[tuple[TextShape, list[Piece]]] = []
    places: dict[TextShape, int] = {}
    for piece in pieces:
        shape = piece.whole().shape
        if free and shape in places:
            runs[places[shape]][1].append(piece)
        elif runs and not free and runs[-1][0] == shape:
            runs[-1][1].append(piece)
        else:
            places[shape] = len(runs)
            runs.append((shape, [piece]))
    blocks = []
    for _, run in runs:
        blocks += [p.text() for p in run] if len(run) < ENOUGH else [loop(run, table)]
    return blocks


def loop(run: list[Piece], table: Callable[[list[int]], int]) -> str:
    """One loop over pieces of equal shape."""
    rows = [p.whole().addresses for p in run]
    texts: list[str | None] = [column_text(c) for c in zip(*rows, strict=True)]
    loose = [j for j, text in enumerate(texts) if text is None]
    if loose:
        start = table([row[j] for row in rows for j in loose])
        for place, j in enumerate(loose):
            texts[j] = f"o[{start + place} + {len(loose)} * i]"
    body = run[0].whole().filled(str(text) for text in texts)
    head = f"# {len(run)} times, from {run[0].title} to {run[-1].title}\n" if run[0].title else ""
    return head + f"for i in range({len(run)}):\n" + "\n".join("    " + line for line in body.splitlines())


def column_text(column: tuple[int, ...]) -> str | None:
    """Addresses that stay or run evenly, as text in the loop variable; None for any others."""
    step = column[1] - column[0]
    if any(b - a != step for a, b in itertools.pairwise(column)):
        return None
    if step == 0:
        return str(column[0])
    walk = "i" if step == 1 else f"{step} * i"
    return walk if column[0] == 0 else f"{column[0]} + {walk}"


def parts(name: str, inputs: str, blocks: list[str]) -> tuple[list[str], list[str]]:
    """Blocks as they are, or, when they are many, as calls of part functions; gives (blocks, functions)."""
    if sum(b.count("\n") + 1 for b in blocks) <= LONG:
        return blocks, []
    calls: list[str] = []
    functions: list[str] = []
    waiting: list[str] = []

    def close() -> None:
        title = f"{name}_part_{len(functions) + 1}"
        body = "\n".join("    " + line for block in waiting for line in block.splitlines())
        functions.append(f"def {title}({inputs}):\n{body}\n")
        calls.append(f"{title}({inputs})")
        waiting.clear()

    for block in blocks:
        waiting.append(block)
        if sum(b.count("\n") + 1 for b in waiting) >= LONG // 2:
            close()
    if waiting:
        close()
    return calls, functions
