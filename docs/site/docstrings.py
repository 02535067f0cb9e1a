"""Docstrings of the engine are plain text with `names` and indented code; this makes reStructuredText of them."""

from __future__ import annotations

import re
from typing import Any

STATEMENT = re.compile(r"(import|from|with|for|print\(|[\w.\[\]\"', ]+ = |\w+(\.\w+)*\(|\w+\[)")


def paragraphs(lines: list[str]) -> list[list[str]]:
    result: list[list[str]] = [[]]
    for line in lines:
        if line.strip():
            result[-1].append(line)
        elif result[-1]:
            result.append([])
    return [part for part in result if part]


def is_code(part: list[str]) -> bool:
    """Whether a paragraph is an example: indented, a statement, or in columns."""
    first = part[0]
    statement = STATEMENT.match(first) is not None and not first.rstrip().endswith((".", ":"))
    return statement or first.startswith("    ") or "   " in first.strip()


def literal(text: str) -> str:
    """Text whose signs reStructuredText would take for its own; what stands in backticks stays."""
    pieces = text.split("`")
    if len(pieces) % 2 == 0:
        return re.sub(r"([\\*_|`])", r"\\\1", text)
    for i in range(0, len(pieces), 2):
        pieces[i] = re.sub(r"([\\*_|])", r"\\\1", pieces[i])
    for i in range(1, len(pieces), 2):
        pieces[i] = f"``{pieces[i]}``"
    return "".join(pieces)


def rewrite(app: Any, what: str, name: str, obj: Any, options: Any, lines: list[str]) -> None:
    result: list[str] = []
    for part in paragraphs(list(lines)):
        if is_code(part):
            result += ["::", "", *("    " + line for line in part), ""]
        else:
            result += [*literal("\n".join(line.strip() for line in part)).split("\n"), ""]
    lines[:] = result


def setup(app: Any) -> dict[str, bool]:
    app.connect("autodoc-process-docstring", rewrite)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
