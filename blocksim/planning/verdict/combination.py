"""What is seen of parameters that cannot be told apart: a sum, a difference, a product, a ratio."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from ..fisher import Fisher
    from ..sensitivities import Column

#: A component of the weakest direction, scaled, that counts as taking part.
PART = 0.25
#: Two numbers this close are the same when a combination is put in words.
SAME_SHARE = 0.1


def weak_group(fisher: Fisher, place: int) -> list[int]:
    """The parameters of the direction that takes most of this one's accuracy; itself among them."""
    import numpy as np

    values, vectors = fisher.eigen
    losses = vectors[place] ** 2 / np.maximum(values, 1e-300)
    direction = np.abs(vectors[:, int(np.argmax(losses))])
    top = direction.max()
    return [k for k, part in enumerate(direction) if part > PART * top or k == place]


def visible_combination(columns: Sequence[Column], fisher: Fisher, group: Sequence[int]) -> str:
    """'only k1 + A is seen'."""
    import numpy as np

    values, vectors = fisher.eigen
    weakest = int(np.argmax((vectors[list(group)] ** 2).sum(axis=0) / np.maximum(values, 1e-300)))
    change = vectors[list(group), weakest] / np.where(fisher.dead, 1.0, fisher.scale)[list(group)]
    names = [column.name for column in columns]
    if len(names) > 2:
        return f"a change of one is made up for by the others ({joint_change(columns, change.tolist())})"
    (one, two), (a, b) = names, change
    ways = [(relative_distance(a, -b), "+"), (relative_distance(a, b), "-")]
    shares = [part / column.value if column.value else 0.0 for part, column in zip(change, columns, strict=True)]
    if all(shares):
        ways += [(relative_distance(shares[0], -shares[1]), "*"), (relative_distance(shares[0], shares[1]), "/")]
    nearest, sign = min(ways, key=lambda way: way[0])
    if nearest <= SAME_SHARE:
        return f"only {one} {sign} {two} is seen"
    factor = -a / b
    return f"only {one} {'+' if factor > 0 else '-'} {abs(factor):.3g} {two} is seen"


def joint_change(columns: Sequence[Column], change: Sequence[float]) -> str:
    """'k1 +1 %, A -0.15 %': a change that is hardly seen."""
    shares = [part / column.value if column.value else part for part, column in zip(change, columns, strict=True)]
    top = max(abs(share) for share in shares) or 1.0
    return ", ".join(f"{column.name} {share / top:+.2g} %" for column, share in zip(columns, shares, strict=True))


def relative_distance(one: float, two: float) -> float:
    """How far two numbers are from each other, as a share."""
    return abs(one - two) / max(abs(one), abs(two))
