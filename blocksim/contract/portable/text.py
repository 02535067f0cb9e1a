"""The functions of this package as text of a program: those asked for, with the ones they call and their numbers folded."""

from __future__ import annotations

import ast
import functools
import inspect
from collections.abc import Iterable
from typing import Any

from . import bits, circular, exponential, inverse, logarithm

PORTABLE_PARTS = (bits, exponential, circular, logarithm, inverse)
#: What reads or writes the bits of a number: handed to a program from outside, as it is done otherwise under each compiler.
BIT_WORDS = {"two_to": bits.two_to, "binary_exponent": bits.binary_exponent}
#: Words of the vocabulary that are correctly rounded everywhere, and need no function of ours.
EXACT_WORDS = ("sqrt", "copysign")


class Folding(ast.NodeTransformer):
    """Numbers of a module in the place of their names."""

    def __init__(self, numbers: dict[str, float]):
        self.numbers = numbers

    def visit_Name(self, node: ast.Name) -> ast.expr:
        return ast.Constant(self.numbers[node.id]) if node.id in self.numbers else node


@functools.cache
def functions() -> dict[str, ast.FunctionDef]:
    """Every function by name, without types and docstrings."""
    named: dict[str, ast.FunctionDef] = {}
    for module in PORTABLE_PARTS:
        numbers = {n: v for n, v in vars(module).items() if isinstance(v, float) and n not in ("inf", "nan")}
        for node in ast.parse(inspect.getsource(module)).body:
            if not isinstance(node, ast.FunctionDef) or node.name in BIT_WORDS:
                continue
            for argument in node.args.args:
                argument.annotation = None
            node.returns = None
            node.body = node.body[1:]
            named[node.name] = Folding(numbers).visit(node)
    return named


@functools.cache
def calls(name: str) -> frozenset[str]:
    """The functions that one of them calls."""
    return frozenset(n.id for n in ast.walk(functions()[name]) if isinstance(n, ast.Name)) & functions().keys()


@functools.cache
def names() -> frozenset[str]:
    """All names that a program with these functions has."""
    return frozenset(functions()) | BIT_WORDS.keys()


@functools.cache
def text_of(name: str) -> str:
    return ast.unparse(functions()[name]) + "\n"


def portable_texts(words: Iterable[str]) -> list[str]:
    """The texts of functions by name, and of those they call."""
    texts: set[str] = set()
    left = [name for name in words if name in functions()]
    while left:
        name = left.pop()
        if name not in texts:
            texts.add(name)
            left += calls(name)
    return [text_of(name) for name in sorted(texts)]


def meaning(name: str) -> Any:
    """The function of that name, where it is one of ours."""
    own = (getattr(module, name, None) for module in PORTABLE_PARTS) if name in functions() else ()
    return next((function for function in own if function is not None), None)
