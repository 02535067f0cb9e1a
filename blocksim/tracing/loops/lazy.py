"""Lazy: a vector or a matrix of a text of loops, its shape and what its element at a place is; Room: the text as it grows."""

from __future__ import annotations

import ast
from collections import Counter
from collections.abc import Callable
from typing import Any


class Lazy(ast.expr):
    """Elements as expressions of their places, in place of values.

    `reads` are the arrays it reads, `apart` those that it reads at other places than its own, `held` the array that holds it row
    by row, from its beginning. A `view` is read as it stands, what is `heavy` is dear to compute twice. What has no element by
    itself is made of `parts`, (row, column, part), or `mirrored`, the upper half of another.
    """

    def __init__(
        self,
        shape: tuple[int, ...],
        element: Callable[..., ast.expr] | None = None,
        reads: frozenset[str] = frozenset(),
        apart: frozenset[str] = frozenset(),
        place: str = "",
        view: bool = False,
        heavy: bool = False,
        parts: tuple[tuple[int, int, Lazy], ...] = (),
        mirrored: Lazy | None = None,
    ):
        super().__init__()
        self.shape, self.element, self.reads, self.apart = shape, element, reads, apart
        self.held, self.view, self.heavy, self.parts, self.mirrored = place, view, heavy, parts, mirrored

    def at(self, *places: ast.expr) -> ast.expr:
        assert self.element is not None
        return self.element(*places)

    def __getitem__(self, place: ast.expr) -> Any:
        """An element of a vector, a row of a matrix."""
        if isinstance(place, ast.Constant) and isinstance(place.value, int):
            if not -self.shape[0] <= place.value < self.shape[0]:
                raise IndexError(place.value)
            place = spot(place.value % self.shape[0])
        if len(self.shape) == 1:
            return self.at(place)
        index = frozenset(n.id for n in ast.walk(place) if isinstance(n, ast.Name))
        reads = self.reads | index
        return Lazy(self.shape[1:], lambda j: self.at(place, j), reads, reads, view=self.view, heavy=self.heavy)


def spot(value: int) -> ast.Constant:
    return ast.Constant(value)


def place_plus(a: ast.expr, b: ast.expr) -> ast.expr:
    """a + b of places, computed where both are known."""
    if isinstance(a, ast.Constant) and isinstance(b, ast.Constant):
        return ast.Constant(a.value + b.value)  # type: ignore[operator]
    if isinstance(a, ast.Constant) and a.value == 0:
        return b
    return a if isinstance(b, ast.Constant) and b.value == 0 else ast.BinOp(a, ast.Add(), b)


def place_times(a: ast.expr, b: ast.expr) -> ast.expr:
    """a b of places, computed where both are known."""
    if isinstance(a, ast.Constant) and isinstance(b, ast.Constant):
        return ast.Constant(a.value * b.value)  # type: ignore[operator]
    return a if isinstance(b, ast.Constant) and b.value == 1 else ast.BinOp(a, ast.Mult(), b)


def element_at(array: str, place: ast.expr) -> ast.expr:
    return ast.Subscript(ast.Name(array, ast.Load()), place, ast.Load())


def assignment(array: str, place: ast.expr, value: ast.expr) -> ast.stmt:
    return ast.Assign([ast.Subscript(ast.Name(array, ast.Load()), place, ast.Store())], value, lineno=0)


def array_at(array: str, shape: tuple[int, ...]) -> Lazy:
    """An array, row by row."""
    reads = frozenset({array})
    if len(shape) == 1:
        return Lazy(shape, lambda i: element_at(array, i), reads, place=array, view=True)
    return Lazy(
        shape, lambda i, j: element_at(array, place_plus(place_times(i, spot(shape[1])), j)), reads, place=array, view=True
    )


def length_of(shape: tuple[int, ...]) -> int:
    return shape[0] * (shape[1] if len(shape) > 1 else 1)


def is_size(node: ast.expr) -> bool:
    """Whether a known value is a size, or places."""
    if isinstance(node, ast.Tuple):
        return all(map(is_size, node.elts))
    return isinstance(node, ast.Constant) and type(node.value) is int


def product_of(a: ast.expr, b: ast.expr) -> ast.expr:
    return ast.BinOp(a, ast.Mult(), b)


def where_equal(i: ast.expr, j: ast.expr, value: ast.expr) -> ast.expr:
    """The value on the diagonal, 0 elsewhere."""
    if isinstance(i, ast.Constant) and isinstance(j, ast.Constant):
        return value if i.value == j.value else ast.Constant(0.0)
    return ast.IfExp(ast.Compare(i, [ast.Eq()], [j]), value, ast.Constant(0.0))


class Room:
    """What one text has: its lines so far, its arrays with their lengths, and names for more."""

    def __init__(self) -> None:
        self.lines: list[ast.stmt] = []
        self.arrays: dict[str, int] = {}
        self.moving: set[str] = set()  # names that have more than one value: nothing else may stand for them
        self.counts: Counter[str] = Counter()

    def name(self, kind: str) -> str:
        self.counts[kind] += 1
        return f"{kind}{self.counts[kind]}_"

    def loop(self, start: ast.expr, end: int, body: Callable[[ast.expr], None]) -> None:
        """for i in range(start, end), with the lines that the body writes; none where it would never turn."""
        if end == 0:
            return
        if end == 1 and isinstance(start, ast.Constant):
            body(spot(0))
            return
        name = self.name("i")
        outer, self.lines = self.lines, []
        body(ast.Name(name, ast.Load()))
        lines, self.lines = self.lines, outer
        if lines:
            outer.append(
                ast.For(ast.Name(name, ast.Store()), ast.Call(ast.Name("range", ast.Load()), [start, spot(end)], []), lines, [])
            )
