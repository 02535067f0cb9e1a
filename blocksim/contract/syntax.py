"""Syntax trees, one thread at a time: CPython 3.11 keeps the depth of a tree under construction in one place for all threads."""

from __future__ import annotations

import ast
import threading
from typing import Any

LOCK = threading.RLock()


def parse(text: str, mode: str = "exec") -> Any:
    """The tree of a text."""
    with LOCK:
        return ast.parse(text, mode=mode)


def compiled(tree: Any, filename: str, mode: str) -> Any:
    """The code of a tree, or of a text."""
    with LOCK:
        return compile(tree, filename, mode)
