"""After routing: neighbouring tracks whose wires do not meet become one, so that channels are no wider than they need to be."""

from __future__ import annotations

from .grid import Line

Node = tuple[int, int]
Paths = list[list[Node]]
#: The steps of a wire that goes straight through a crossing.
LEVEL, UPRIGHT = frozenset({(1, 0), (-1, 0)}), frozenset({(0, 1), (0, -1)})


def merge_tracks(paths: Paths, nets: list[int], xs: list[Line], ys: list[Line]) -> Paths:
    """The same wires on fewer tracks."""
    paths = merge_axis(paths, nets, xs)
    turned = merge_axis([[(j, i) for i, j in path] for path in paths], nets, ys)
    return [[(i, j) for j, i in path] for path in turned]


def merge_axis(paths: Paths, nets: list[int], lines: list[Line]) -> Paths:
    """Try to move the wires of each used track onto the used track before it."""
    used = sorted({i for path in paths for i, _ in turning(path)})
    last: dict[int, int] = {}
    for track in used:
        channel = lines[track].channel
        if channel is None:
            continue
        if channel in last:
            moved = [moved_path(path, last[channel], track) for path in paths]
            if fits(moved, nets, last[channel]):
                paths = moved
                continue
        last[channel] = track
    return paths


def turning(path: list[Node]) -> list[Node]:
    """Ends and corners: where a path lies on a track rather than crossing it."""
    corners = [b for a, b, c in zip(path, path[1:], path[2:], strict=False) if (a[0] == b[0]) != (b[0] == c[0])]
    return [path[0], *corners, path[-1]]


def moved_path(path: list[Node], onto: int, track: int) -> list[Node]:
    """The path with the tracks from `onto` to `track` drawn together."""
    moved: list[Node] = []
    for i, j in path:
        node = (onto if onto <= i <= track else i, j)
        if not moved or moved[-1] != node:
            moved.append(node)
    return moved


def fits(paths: Paths, nets: list[int], track: int) -> bool:
    """Whether on this track no two nets share a stretch or touch at a corner, and no wire doubles back on itself."""
    around: dict[int, dict[int, set[Node]]] = {}
    for path, net in zip(paths, nets, strict=True):
        for n, (i, j) in enumerate(path):
            if i != track:
                continue
            steps = [(path[k][0] - i, path[k][1] - j) for k in (n - 1, n + 1) if 0 <= k < len(path)]
            units = {((dx > 0) - (dx < 0), (dy > 0) - (dy < 0)) for dx, dy in steps}
            if len(units) < len(steps):
                return False
            around.setdefault(j, {}).setdefault(net, set()).update(units)
    for here in around.values():
        if len(here) > 2:
            return False
        if len(here) == 2 and {frozenset(units) for units in here.values()} != {LEVEL, UPRIGHT}:
            return False
    return True
