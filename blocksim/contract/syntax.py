"""Syntax trees, one thread at a time: CPython 3.11 keeps the depth of a tree under construction in one place for all threads."""

from __future__ import annotations

import ast
import threading
from typing import Any, Literal, overload

LOCK = threading.RLock()


@overload
def parse(text: str) -> ast.Module: ...
@overload
def parse(text: str, mode: Literal["eval"]) -> ast.Expression: ...
def parse(text: str, mode: Literal["exec", "eval"] = "exec") -> ast.Module | ast.Expression:
    """The tree of a text."""
    with LOCK:
        return ast.parse(text, mode="eval") if mode == "eval" else ast.parse(text)


def compiled(tree: Any, filename: str, mode: str) -> Any:
    """The code of a tree, or of a text."""
    with LOCK:
        return compile(tree, filename, mode)
