"""Ways: the undecided tests that lead to where something is computed, put together where they cover both outcomes."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from .graph import Facts, Term

#: A way: the undecided tests that lead somewhere, with their outcomes.
Way = tuple[tuple[Term, bool], ...]


def operands(node: Term) -> list[tuple[Term, Way]]:
    """What a node is made of, and the turn taken to get there."""
    if node.op != "choice":
        return [(n, ()) for n in node.inputs]
    test, yes, no = node.inputs
    return [(test, ()), (yes, ((test, True),)), (no, ((test, False),))]


def shortest(ways: set[Way]) -> list[Way]:
    """The same places in as few ways as possible: without those that continue another, both outcomes of a test as one."""
    left = set(ways)
    while True:
        left = {w for w in left if not any(w[:k] in left for k in range(len(w)))}
        pairs = [w for w in left if w and w[-1][1] and (*w[:-1], (w[-1][0], False)) in left]
        if not pairs:
            return sorted(left, key=lambda w: [(test.index, outcome) for test, outcome in w])
        for w in pairs:
            left -= {w, (*w[:-1], (w[-1][0], False))}
            left.add(w[:-1])


def joined_ways(ways: list[Way], homes: set[Facts]) -> list[Way]:
    """Ways as one where they part, unless what is computed there might fail before they do: then further on."""
    if len(ways) == 1:
        return ways
    start = common(ways)
    if any(home <= set(start) for home in homes):
        return [start]
    groups: dict[tuple[Term, bool], list[Way]] = {}
    for way in ways:
        groups.setdefault(way[len(start)], []).append(way)
    return [way for group in groups.values() for way in joined_ways(group, homes)]


def whole(homes: Iterable[Facts]) -> set[Facts]:
    """The same places in fewer facts: a test that is there with both outcomes does not matter."""
    left = set(homes)
    while True:
        pairs = [(h, f) for h in left for f in h if f[1] and (h - {f}) | {(f[0], False)} in left]
        if not pairs:
            return left
        for home, fact in pairs:
            left -= {home, (home - {fact}) | {(fact[0], False)}}
            left.add(home - {fact})


def common(ways: Sequence[Way]) -> Way:
    """How far all ways are one."""
    length = 0
    while all(len(w) > length for w in ways) and len({w[length] for w in ways}) == 1:
        length += 1
    return ways[0][:length]
