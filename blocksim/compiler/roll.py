"""Large diagrams: equal blocks share one loop, and long functions are cut into parts.

Every piece of code is text with whole numbers as addresses. Pieces that differ in their addresses only become one loop over
them: addresses that run evenly are computed, others are read from a table. So compile time grows with the number of kinds
of block, not with the number of blocks.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Callable
from dataclasses import dataclass

#: A whole number that stands alone: an address, not a part of 0.5, 1e-3 or a name.
NUMBER = re.compile(r"(?<![\w.])\d+(?![\w.])")
#: Fewer equal pieces than this are written out.
ENOUGH = 4
#: Lines of a function before it is cut.
LONG = 150


@dataclass
class Piece:
    """The code of one block at one place: lines, and whose it is."""

    text: str
    title: str = ""

    def shape(self) -> str:
        return NUMBER.sub("#", self.text)

    def addresses(self) -> list[int]:
        return [int(n) for n in NUMBER.findall(self.text)]


def roll(pieces: list[Piece], table: Callable[[list[int]], int], free: bool = False) -> list[str]:
    """Pieces as text blocks; neighbours of equal shape (`free`: all of equal shape) are one loop. `table` puts numbers in o."""
    runs: list[list[Piece]] = []
    places: dict[str, int] = {}
    for piece in pieces:
        shape = piece.shape()
        if free and shape in places:
            runs[places[shape]].append(piece)
        elif runs and not free and runs[-1][0].shape() == shape:
            runs[-1].append(piece)
        else:
            places[shape] = len(runs)
            runs.append([piece])
    blocks = []
    for run in runs:
        if len(run) < ENOUGH:
            blocks += [(f"# {p.title}\n" if p.title else "") + p.text for p in run]
        else:
            blocks.append(loop(run, table))
    return blocks


def loop(run: list[Piece], table: Callable[[list[int]], int]) -> str:
    """One loop over pieces of equal shape."""
    columns = list(zip(*(p.addresses() for p in run), strict=True))
    texts: list[str | None] = [column_text(c) for c in columns]
    loose = [j for j, text in enumerate(texts) if text is None]
    if loose:
        start = table([run[i].addresses()[j] for i in range(len(run)) for j in loose])
        for place, j in enumerate(loose):
            texts[j] = f"o[{start + place} + {len(loose)} * i]"
    values = iter(texts)
    body = NUMBER.sub(lambda match: enclosed(str(next(values)), match), run[0].text)
    head = f"# {len(run)} times, from {run[0].title} to {run[-1].title}\n" if run[0].title else ""
    return head + f"for i in range({len(run)}):\n" + "\n".join("    " + line for line in body.splitlines())


def enclosed(text: str, match: re.Match[str]) -> str:
    """An address that is computed, in parentheses unless it is a whole index: it may stand in a product."""
    whole = match.string[match.start() - 1 : match.start()] == "[" and match.string[match.end() : match.end() + 1] == "]"
    return text if whole or " " not in text or text.startswith("o[") else f"({text})"


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
