"""MatrixLoops: the words for matrices as loops, and how what they make gets into arrays."""

from __future__ import annotations

import ast
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NoReturn

from ..specialise import is_known, value_of
from .lazy import Lazy, Room, array_at, assignment, is_size, length_of, place_plus, place_times, product_of, spot, where_equal

Results = Sequence[tuple[str, int]]


class MatrixLoops:
    """What a text of loops knows of vectors and matrices."""

    room: Room
    refuse: Callable[[str], NoReturn]

    # ---- into arrays -----------------------------------------------------------------------------------------------

    def store(self, value: Lazy, array: str, start: ast.expr, width: int = 0) -> None:
        """Lines that fill an array from a place on with a value, row by row."""
        width = width or value.shape[-1]
        room = self.room
        for row, column, part in value.parts:
            self.store(part, array, place_plus(start, spot(row * width + column)), width)
        if value.mirrored is not None:
            upper = value.mirrored

            def halves(i: ast.expr, j: ast.expr) -> None:
                both = self.scalar(upper.at(i, j), always=True)
                room.lines.append(assignment(array, place_plus(start, place_plus(place_times(i, spot(width)), j)), both))
                room.lines.append(assignment(array, place_plus(start, place_plus(place_times(j, spot(width)), i)), both))

            room.loop(spot(0), upper.shape[0], lambda i: room.loop(i, upper.shape[0], lambda j: halves(i, j)))
        elif value.element is not None and len(value.shape) == 1:
            room.loop(spot(0), value.shape[0], lambda i: room.lines.append(assignment(array, place_plus(start, i), value.at(i))))
        elif value.element is not None:

            def one(i: ast.expr, j: ast.expr) -> None:
                room.lines.append(
                    assignment(array, place_plus(start, place_plus(place_times(i, spot(width)), j)), value.at(i, j))
                )

            rows, columns = value.shape
            room.loop(spot(0), rows, lambda i: room.loop(spot(0), columns, lambda j: one(i, j)))

    def held(self, value: Lazy, title: str = "", alone: bool = False) -> Lazy:
        """A value in an array: in one of this title, or in any; `alone`, in one that holds nothing else."""
        if value.held and not title and (alone or value.held not in self.room.moving):
            return value
        title = title or self.room.name("t")
        size = value.shape[0] * (value.shape[1] if len(value.shape) > 1 else 1)
        while self.room.arrays.setdefault(title, size) != size:
            title += "_"
        if title in value.apart or (title in value.reads and (value.parts or value.element is None) and not value.mirrored):
            value = self.held(value, self.room.name("t"))
        self.store(value, title, spot(0))
        return array_at(title, value.shape)

    def light(self, value: Lazy) -> Lazy:
        """What can be asked for the same element many times."""
        return self.held(value) if value.heavy or value.element is None else value

    def lazy(self, value: Any) -> Lazy:
        """A tuple of numbers or of rows, element by element in an array."""
        if isinstance(value, Lazy):
            return value
        if not isinstance(value, ast.Tuple):
            self.refuse(f"has '{ast.unparse(value)}', one spot, where a vector or a matrix is wanted.")
        if any(isinstance(v, Lazy) for v in value.elts):
            return self.stack(*[self.lazy(v) for v in value.elts])
        nested = [v.elts if isinstance(v, ast.Tuple) else [v] for v in value.elts]
        shape = (len(nested), len(nested[0])) if isinstance(value.elts[0], ast.Tuple) else (len(nested),)
        title = self.room.name("t")
        self.room.arrays[title] = sum(map(len, nested))
        for place, item in enumerate(v for row in nested for v in row):
            self.room.lines.append(assignment(title, spot(place), item))
        return array_at(title, shape)

    def scalar(self, value: ast.expr, always: bool = False) -> ast.expr:
        """A spot that is computed once."""
        if is_known(value) or (isinstance(value, ast.Name) and not always):
            return value
        name = self.room.name("v")
        self.room.lines.append(ast.Assign([ast.Name(name, ast.Store())], value, lineno=0))
        return ast.Name(name, ast.Load())

    def finish(self, value: Any, results: Results, shapes: Mapping[str, Any]) -> None:
        """What is returned, into `out` and into the arrays it names."""
        if isinstance(value, dict):
            names = {name for name, _ in results}
            arrays = {n: v for n, v in value.items() if n not in names}
            if names - set(value) or set(arrays) - set(shapes):
                self.refuse(f"returns {', '.join(value)} by name where {', '.join([*names, *shapes])} are wanted.")
            items = {n: self.lazy(v) for n, v in arrays.items()}
            items = {n: self.held(v) if v.reads & set(arrays) else v for n, v in items.items()}
            for name, item in items.items():
                if length_of(item.shape) != length_of(shapes[name]):
                    self.refuse(f"returns {length_of(item.shape)} value(s) for {name}, which has {length_of(shapes[name])}.")
            count = self.fill([value[name] for name, _ in results], 0)
            for name, item in items.items():
                self.store(item, name, spot(0))
        else:
            count = 0 if value is None else self.fill([value], 0)
        if count != sum(size for _, size in results):
            self.refuse(f"returns {count} value(s) where {', '.join(f'{n}[{s}]' for n, s in results)} are wanted.")

    def fill(self, items: list[Any], start: int) -> int:
        for item in items:
            if isinstance(item, ast.Tuple):
                start = self.fill(item.elts, start)
            elif isinstance(item, Lazy):
                self.store(item, "out", spot(start))
                start += length_of(item.shape)
            else:
                self.room.lines.append(assignment("out", spot(start), item))
                start += 1
        return start

    # ---- words -----------------------------------------------------------------------------------------------------

    def word(self, name: str, values: list[Any], keywords: dict[str, Any], node: ast.Call) -> Any:
        """A word for matrices; what does not fit together is said as it is where all is written out."""
        plain = [value_of(v) if not isinstance(v, Lazy) and is_known(v) and is_size(v) else v for v in values]
        try:
            return getattr(self, name)(*plain, **keywords)
        except (TypeError, ValueError, IndexError, AttributeError, AssertionError):
            self.refuse(f"has '{ast.unparse(node)}', whose parts do not fit together.")

    def sum_of(self, first: Any, count: int, term: Callable[..., ast.expr]) -> ast.expr:
        """first + term(0) + term(1) + ..."""
        name, room = self.room.name("total"), self.room
        room.lines.append(ast.Assign([ast.Name(name, ast.Store())], first, lineno=0))
        total = ast.Name(name, ast.Load())

        def turn(k: ast.expr) -> None:
            room.lines.append(ast.Assign([ast.Name(name, ast.Store())], ast.BinOp(total, ast.Add(), term(k)), lineno=0))

        room.loop(spot(0), count, turn)
        return total

    def dot(self, a: Any, b: Any, plus: Any = None) -> ast.expr:
        a, b = self.light(self.lazy(a)), self.light(self.lazy(b))
        must_fit(a.shape == b.shape)
        return self.sum_of(plus or ast.Constant(0.0), a.shape[0], lambda k: product_of(a.at(k), b.at(k)))

    def multiply(self, A: Any, B: Any, plus: Any = None) -> Lazy:
        A, B = self.light(self.lazy(A)), self.light(self.lazy(B))
        must_fit(A.shape[1] == B.shape[0])
        shape = (A.shape[0], *B.shape[1:])
        more = None if plus is None else self.lazy(plus)
        more = self.held(more) if more is not None and more.element is None else more
        must_fit(more is None or more.shape == shape)

        def element(i: ast.expr, *j: ast.expr) -> ast.expr:
            first = ast.Constant(0.0) if more is None else more.at(i, *j)
            return self.sum_of(first, B.shape[0], lambda k: product_of(A.at(i, k), B.at(k, *j)))

        extra = more or Lazy(shape)
        reads = A.reads | B.reads
        return Lazy(shape, element, reads | extra.reads, reads | extra.apart, heavy=True)

    def transpose(self, A: Any) -> Lazy:
        A = self.light(self.lazy(A))
        return Lazy(A.shape[::-1], lambda i, j: A.at(j, i), A.reads, A.reads, view=A.view)

    def outer(self, a: Any, b: Any) -> Lazy:
        a, b = self.light(self.lazy(a)), self.light(self.lazy(b))
        reads = a.reads | b.reads
        return Lazy((*a.shape, *b.shape), lambda i, j: product_of(a.at(i), b.at(j)), reads, reads)

    def pairs(self, a: Any, b: Any, op: ast.operator) -> Any:
        if not isinstance(a, (Lazy, ast.Tuple)):
            return ast.BinOp(a, op, b)
        a, b = (self.held(v) if v.element is None else v for v in (self.lazy(a), self.lazy(b)))
        must_fit(a.shape == b.shape)
        heavy = a.heavy or b.heavy
        return Lazy(a.shape, lambda *i: ast.BinOp(a.at(*i), op, b.at(*i)), a.reads | b.reads, a.apart | b.apart, heavy=heavy)

    def add(self, a: Any, b: Any) -> Any:
        return self.pairs(a, b, ast.Add())

    def subtract(self, a: Any, b: Any) -> Any:
        return self.pairs(a, b, ast.Sub())

    def by(self, a: Any, k: Any, op: ast.operator) -> Lazy:
        """With one spot, or the columns each with its own."""
        a = self.lazy(a)
        a = self.held(a) if a.element is None else a
        if isinstance(k, (Lazy, ast.Tuple)):
            k = self.light(self.lazy(k))
            must_fit(a.shape[-1:] == k.shape)
            reads, apart = a.reads | k.reads, a.apart | (k.reads if len(a.shape) > 1 else k.apart)
            return Lazy(a.shape, lambda *i: ast.BinOp(a.at(*i), op, k.at(i[-1])), reads, apart, heavy=a.heavy)
        factor = ast.Constant(k) if isinstance(k, (int, float)) else self.scalar(k)
        reads = a.reads | {n.id for n in ast.walk(factor) if isinstance(n, ast.Name)}
        return Lazy(a.shape, lambda *i: ast.BinOp(a.at(*i), op, factor), reads, a.apart, heavy=a.heavy)

    def scale(self, a: Any, k: Any) -> Lazy:
        return self.by(a, k, ast.Mult())

    def divide(self, a: Any, k: Any) -> Lazy:
        return self.by(a, k, ast.Div())

    def identity(self, n: int) -> Lazy:
        return Lazy((n, n), lambda i, j: where_equal(i, j, ast.Constant(1.0)))

    def diagonal(self, a: Any) -> Lazy:
        a = self.light(self.lazy(a))
        return Lazy(a.shape * 2, lambda i, j: where_equal(i, j, a.at(i)), a.reads, a.reads)

    def symmetric(self, A: Any) -> Lazy:
        A = self.lazy(A)
        A = self.held(A) if A.element is None else A
        must_fit(A.shape[0] == A.shape[1])
        return Lazy(A.shape, None, A.reads, A.apart, mirrored=A)

    def part(self, a: Any, start: int, count: int) -> Lazy:
        a = self.light(self.lazy(a))
        must_fit(len(a.shape) == 1 and 0 <= start <= start + count <= a.shape[0])
        reads = a.reads
        place = a.held if start == 0 else ""
        return Lazy((count,), lambda i: a.at(place_plus(spot(start), i)), reads, reads if start else a.apart, place, a.view)

    def rows(self, a: Any, count: int, width: int, start: int = 0) -> Lazy:
        a = self.light(self.lazy(a))
        must_fit(len(a.shape) == 1 and 0 <= start <= start + count * width <= a.shape[0])
        place = a.held if start == 0 else ""
        return Lazy(
            (count, width),
            lambda i, j: a.at(place_plus(place_plus(spot(start), place_times(i, spot(width))), j)),
            a.reads,
            a.reads if start else a.apart,
            place,
            a.view,
        )

    def chosen(self, a: Any, places: Any) -> Lazy:
        a = self.light(self.lazy(a))
        items = [a[spot(k)] for k in places]
        if items and isinstance(items[0], Lazy):
            return self.stack(*items)
        return self.lazy(ast.Tuple(items, ast.Load())) if items else Lazy((0,), lambda i: ast.Constant(0.0))

    def block(self, A: Any, row: int, column: int, count: int, width: int) -> Lazy:
        A = self.light(self.lazy(A))
        must_fit(0 <= row <= row + count <= A.shape[0] and 0 <= column <= column + width <= A.shape[1])

        at = A.at
        return Lazy(
            (count, width), lambda i, j: at(place_plus(spot(row), i), place_plus(spot(column), j)), A.reads, A.reads, view=A.view
        )

    def zeros(self, *shape: int) -> Lazy:
        return Lazy(shape, lambda *i: ast.Constant(0.0))

    def array(self, a: Any) -> Lazy:
        a = self.lazy(a)
        a = self.held(a) if a.element is None else a
        return Lazy(a.shape, a.element, a.reads, a.apart, heavy=a.heavy)

    def chained(self, *vectors: Any) -> Lazy:
        items = [self.lazy(v) for v in vectors]
        return made_of(
            [(0, sum(v.shape[0] for v in items[:k]), v) for k, v in enumerate(items)], (sum(v.shape[0] for v in items),)
        )

    def stack(self, *matrices: Any) -> Lazy:
        items = [self.lazy(A) for A in matrices]
        counts = [A.shape[0] if len(A.shape) > 1 else 1 for A in items]
        must_fit(len({A.shape[-1] for A in items}) == 1)
        return made_of([(sum(counts[:k]), 0, A) for k, A in enumerate(items)], (sum(counts), items[0].shape[-1]))

    def alongside(self, *matrices: Any) -> Lazy:
        items = [self.lazy(A) for A in matrices]
        widths = [A.shape[1] for A in items]
        must_fit(len({A.shape[0] for A in items}) == 1)
        return made_of([(0, sum(widths[:k]), A) for k, A in enumerate(items)], (items[0].shape[0], sum(widths)))


def made_of(parts: list[tuple[int, int, Lazy]], shape: tuple[int, ...]) -> Lazy:
    reads = frozenset[str]().union(*(part.reads for _, _, part in parts))
    return Lazy(shape, None, reads, reads, parts=tuple(parts))


def must_fit(fits: bool) -> None:
    if not fits:
        raise ValueError
