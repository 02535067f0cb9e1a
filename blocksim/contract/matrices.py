"""Words for vectors and matrices: tuples of numbers, and tuples of rows.

They are ordinary functions of numbers of any kind: floats when a block is tested, nodes of a graph when its function is followed.
Sums run in the order of the elements, starting from what is added (`plus`), so that a program has the bits of a loop.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

Vector = Sequence[Any]


def dot(a: Vector, b: Vector, plus: Any = 0.0) -> Any:
    """plus + a[0] b[0] + a[1] b[1] + ..."""
    total = plus
    for x, y in zip(a, b, strict=True):
        total = total + x * y
    return total


def multiply(A: Sequence[Vector], B: Any, plus: Any = None) -> Any:
    """A B + plus, B being a matrix or a vector."""
    if not is_matrix(B):
        return tuple(dot(row, B, 0.0 if plus is None else plus[i]) for i, row in enumerate(A))
    if plus is None:
        return tuple(tuple(dot(row, column) for column in transpose(B)) for row in A)
    return tuple(
        tuple(dot(row, column, first) for column, first in zip(transpose(B), more, strict=True))
        for row, more in zip(A, plus, strict=True)
    )


def transpose(A: Sequence[Vector]) -> Any:
    """A^T."""
    return tuple(tuple(row[j] for row in A) for j in range(len(A[0]) if len(A) else 0))


def outer(a: Vector, b: Vector) -> Any:
    """a b^T."""
    return tuple(tuple(x * y for y in b) for x in a)


def add(a: Any, b: Any) -> Any:
    """a + b, element by element."""
    return tuple(add(x, y) for x, y in zip(a, b, strict=True)) if is_sequence(a) else a + b


def subtract(a: Any, b: Any) -> Any:
    """a - b, element by element."""
    return tuple(subtract(x, y) for x, y in zip(a, b, strict=True)) if is_sequence(a) else a - b


def scale(a: Any, k: Any) -> Any:
    """k a, element by element; with a vector k, the columns of a matrix, or the elements of a vector, each by its own."""
    if is_sequence(k):
        return tuple(scale(row, k) for row in a) if is_matrix(a) else tuple(x * y for x, y in zip(a, k, strict=True))
    return tuple(scale(x, k) for x in a) if is_sequence(a) else a * k


def divide(a: Any, k: Any) -> Any:
    """a / k, element by element; with a vector k, the columns of a matrix, or the elements of a vector, each by its own."""
    if is_sequence(k):
        return tuple(divide(row, k) for row in a) if is_matrix(a) else tuple(x / y for x, y in zip(a, k, strict=True))
    return tuple(divide(x, k) for x in a) if is_sequence(a) else a / k


def identity(n: int) -> Any:
    """1 on the diagonal, 0 elsewhere."""
    return diagonal((1.0,) * n)


def diagonal(a: Vector) -> Any:
    """The elements of a on the diagonal, 0 elsewhere."""
    return tuple(tuple(a[i] if i == j else 0.0 for j in range(len(a))) for i in range(len(a)))


def symmetric(A: Sequence[Vector]) -> Any:
    """The upper half of A, mirrored."""
    return tuple(tuple(A[min(i, j)][max(i, j)] for j in range(len(A))) for i in range(len(A)))


def part(a: Vector, start: int, count: int) -> Any:
    """So many elements of a vector, from start on."""
    return tuple(a[start + k] for k in range(count))


def rows(a: Vector, count: int, width: int, start: int = 0) -> Any:
    """A vector's elements from start on as a matrix of so many rows."""
    return tuple(tuple(a[start + i * width + j] for j in range(width)) for i in range(count))


def chosen(a: Vector, places: Sequence[int]) -> Any:
    """The elements of a at these places."""
    return tuple(a[k] for k in places)


def block(A: Sequence[Vector], row: int, column: int, count: int, width: int) -> Any:
    """So many rows and columns of a matrix, from a row and a column on."""
    return tuple(tuple(A[row + i][column + j] for j in range(width)) for i in range(count))


def zeros(*shape: int) -> Any:
    """A vector or a matrix of zeros, whose elements may be set: A[i, j] = value."""
    import numpy as np

    return np.zeros(shape)


def array(a: Any) -> Any:
    """A vector or a matrix of one's own, whose elements may be set."""
    import numpy as np

    return np.array(a, dtype=float)


def chained(*vectors: Vector) -> Any:
    """Vectors, one behind another."""
    return tuple(x for vector in vectors for x in vector)


def stack(*matrices: Any) -> Any:
    """Matrices, or vectors as rows, one below another."""
    return tuple(row for A in matrices for row in (A if is_matrix(A) else (A,)))


def alongside(*matrices: Sequence[Vector]) -> Any:
    """Matrices, one beside another."""
    return tuple(chained(*rows) for rows in zip(*matrices, strict=True))


def is_sequence(a: Any) -> bool:
    return isinstance(a, (tuple, list)) or getattr(a, "ndim", 0) > 0


def is_matrix(a: Any) -> bool:
    return is_sequence(a) and len(a) > 0 and is_sequence(a[0])


MATRIX_WORDS = (
    *(dot, multiply, transpose, outer, add, subtract, scale, divide),
    *(identity, diagonal, symmetric, part, rows, chosen, block, zeros, array, chained, stack, alongside),
)
