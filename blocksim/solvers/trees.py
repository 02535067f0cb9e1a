"""Rooted trees: the conditions that the coefficients of a one-step method of some order must meet.

Hairer, Norsett & Wanner, Theorem II.2.13, and for Rosenbrock methods Hairer & Wanner, Theorem IV.7.5.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from fractions import Fraction
from functools import cache
from typing import Any

#: A tree is the tuple of the trees that grow from its root; () is a single vertex.
Tree = tuple[Any, ...]
Matrix = Sequence[Sequence[Any]]
#: Published coefficients have 15 digits and more; a wrong one misses by far more than this.
ROUNDING_OF_CONDITIONS = 1e-12


@cache
def trees(order: int) -> tuple[Tree, ...]:
    """Every rooted tree with this many vertices."""
    return tuple(sorted({tuple(sorted(forest)) for forest in forests(order - 1)}))


def forests(vertices: int) -> list[Tree]:
    """Every way to share vertices among trees."""
    if not vertices:
        return [()]
    return [(tree, *rest) for size in range(1, vertices + 1) for tree in trees(size) for rest in forests(vertices - size)]


def size(tree: Tree) -> int:
    return 1 + sum(size(branch) for branch in tree)


def density(tree: Tree) -> int:
    """gamma(t): the sizes of the tree and of all its parts, multiplied."""
    return size(tree) * math.prod(density(branch) for branch in tree)


def elementary(order: int, forked: Matrix, single: Matrix | None = None) -> dict[Tree, list[Any]]:
    """Phi_i(t) of every tree up to an order: the product over its branches of sum_j a_ij Phi_j(branch).

    A vertex with one branch takes `single` for a, where it is given.
    """
    values: dict[Tree, list[Any]] = {}
    for tree in (t for n in range(1, order + 1) for t in trees(n)):
        product: list[Any] = [1] * len(forked)
        for branch in tree:
            matrix = single if single and len(tree) == 1 else forked
            product = [v and v * dot_product(row, values[branch]) for v, row in zip(product, matrix, strict=True)]
        values[tree] = product
    return values


def dot_product(left: Sequence[Any], right: Sequence[Any]) -> Any:
    return sum((u * v for u, v in zip(left, right, strict=True) if u and v), Fraction(0))


def title(tree: Tree, weight: str) -> str:
    """'sum b_i c_i a_ij c_j' for the tree whose root carries a leaf and a stem with a leaf."""
    letters, factors = iter("jklmnopqrstuvw"), [f"{weight}_i"]

    def grow(tree: Tree, at: str) -> None:
        leaves = tree.count(())
        if leaves:
            factors.append(f"c_{at}" + (f"^{leaves}" if leaves > 1 else ""))
        for branch in tree[leaves:]:  # leaves are sorted to the front
            to = next(letters)
            factors.append(f"a_{at}{to}")
            grow(branch, to)

    grow(tree, "i")
    return "sum " + " ".join(factors)


def broken(weight: str, weights: Sequence[Any], order: int, values: dict[Tree, list[Any]]) -> str:
    """The first order condition that the weights miss, in words; '' when they meet all."""
    for tree in (t for t in values if size(t) <= order):
        value, target = dot_product(weights, values[tree]), Fraction(1, density(tree))
        if abs(value - target) > ROUNDING_OF_CONDITIONS:
            return f"{title(tree, weight)} = {target} (order {size(tree)}) does not hold: it is {shown(value)}"
    return ""


def broken_inside(powers: Sequence[Sequence[Any]], order: int, values: dict[Tree, list[Any]]) -> str:
    """The first condition that a dense output misses: its weights are sum_n powers[n - 1] theta^n, and
    sum b_i(theta) Phi_i = theta^order / gamma must hold power by power."""
    for tree in (t for t in values if size(t) <= order):
        for power, weights in enumerate(powers, 1):
            value, target = dot_product(weights, values[tree]), Fraction(power == size(tree), density(tree))
            if abs(value - target) > ROUNDING_OF_CONDITIONS:
                return (
                    f"{title(tree, 'b(theta)')} = theta^{size(tree)}/{density(tree)} (order {size(tree)}) does not hold: "
                    f"its theta^{power} comes with {shown(value)} instead of {target}"
                )
    return ""


def shown(value: Any) -> str:
    return str(value) if isinstance(value, Fraction) and value.denominator < 10**6 else f"{float(value):.12g}"
