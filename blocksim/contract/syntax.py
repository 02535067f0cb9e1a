"""Syntax trees, one thread at a time: CPython 3.11 keeps the depth of a tree under construction in one place for all threads."""

from __future__ import annotations

import ast
import functools
import inspect
import linecache
import textwrap
import threading
from collections.abc import Callable
from typing import Any, Literal, overload

from ..errors import BlockDefinitionError

SYNTAX_LOCK = threading.RLock()


@overload
def parse(text: str) -> ast.Module: ...
@overload
def parse(text: str, mode: Literal["eval"]) -> ast.Expression: ...
def parse(text: str, mode: Literal["exec", "eval"] = "exec") -> ast.Module | ast.Expression:
    """The tree of a text."""
    with SYNTAX_LOCK:
        return ast.parse(text, mode="eval") if mode == "eval" else ast.parse(text)


def compiled(tree: Any, filename: str, mode: str) -> Any:
    """The code of a tree, or of a text."""
    with SYNTAX_LOCK:
        return compile(tree, filename, mode)


@functools.cache
def parsed(function: Callable[..., Any]) -> ast.FunctionDef:
    """The tree of a function's text; a generated function carries its text in `__source__`."""
    text = getattr(function, "__source__", None)
    tree = parse(textwrap.dedent(text)) if text is not None else quick_tree(function)
    if tree is None:
        try:
            tree = parse(textwrap.dedent(inspect.getsource(function)))
        except (OSError, TypeError, SyntaxError):
            raise BlockDefinitionError(
                f"the source of {function.__qualname__} cannot be read; define blocks in a file."
            ) from None
    definition = next((n for n in tree.body if isinstance(n, ast.FunctionDef)), None)
    if definition is None:
        raise BlockDefinitionError(f"{function.__qualname__} must be written with def.")
    return definition


def quick_tree(function: Callable[..., Any]) -> ast.Module | None:
    """The tree by the lines its code says it has, which is far faster than looking where it ends; None where that fails."""
    code = function.__code__
    last = max((end for _, end, _, _ in code.co_positions() if end), default=code.co_firstlineno)
    linecache.checkcache(code.co_filename)  # a module that was edited and loaded again
    lines = linecache.getlines(code.co_filename, function.__globals__)[code.co_firstlineno - 1 : last]
    try:
        tree = parse(textwrap.dedent("".join(lines)))
    except (SyntaxError, ValueError):
        return None
    whole = len(tree.body) == 1 and isinstance(tree.body[0], ast.FunctionDef) and tree.body[0].name == function.__name__
    return tree if whole else None


def fresh_arrays(tree: ast.FunctionDef) -> set[str]:
    """Names that only ever stand for arrays made by zeros(...) or array(...): their elements may be set."""
    makers: dict[str, set[str]] = {}
    assignments = [node for node in ast.walk(tree) if isinstance(node, ast.Assign)]
    for target, value in [(t, node.value) for node in assignments for t in node.targets]:
        several = isinstance(target, ast.Tuple) and isinstance(value, ast.Tuple)
        pairs = zip(target.elts, value.elts, strict=False) if several else [(target, value)]  # type: ignore[attr-defined]
        for name, one in pairs:
            for part in name.elts if isinstance(name, ast.Tuple) else [name]:
                maker = getattr(one.func, "id", "") if isinstance(one, ast.Call) and part is name else ""
                makers.setdefault(getattr(part, "id", ""), set()).add(maker)
    return {name for name, words in makers.items() if words <= {"zeros", "array"}}
