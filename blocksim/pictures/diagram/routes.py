"""Wires on the grid: each takes the cheapest way that is still free, counting length, bends and crossings.

A wire that serves several inputs grows like a tree: later inputs are reached from wherever on it is nearest. After routing,
neighbouring tracks whose wires do not meet become one, so that channels are no wider than they need to be.
"""

from __future__ import annotations

import heapq
import itertools
from dataclasses import dataclass, field

from .grid import CLOSED, GridLine, WireGrid

Crossing = tuple[int, int]
Paths = list[list[Crossing]]
#: The steps of a wire that goes straight through a crossing.
LEVEL_STEPS, UPRIGHT_STEPS = frozenset({(1, 0), (-1, 0)}), frozenset({(0, 1), (0, -1)})

BEND_COST, CROSS_COST, BRANCH_COST = 45.0, 38.0, 20.0
#: Directions, in the order east, south, west, north; a turn is one step either way.
EAST, SOUTH, WEST, NORTH = range(4)
ENTERS = {"W": EAST, "E": WEST, "N": SOUTH, "S": NORTH}
LEAVES = {"E": EAST, "W": WEST}


@dataclass(frozen=True)
class End:
    """A port on the grid: column, line of its height, side of the block, and the first line clear of the block on that side."""

    column: int
    line: int
    side: str
    clear: int


@dataclass(frozen=True)
class Connection:
    """One wire to be found: the net it belongs to (numbered from 1), where it starts and where it ends.

    A `branch` is dashed where other wires of its net are solid. It is found after them, so that what they share is solid.
    """

    net: int
    start: End
    end: End
    branch: bool = False


@dataclass
class NetTree:
    """The crossings of the grid a net's wires pass so far."""

    nodes: set[int] = field(default_factory=set)


def beside(grid: WireGrid, end: End) -> int:
    """The crossing next to a port, where its wire is free to turn."""
    i = grid.centres[end.column] + {"W": -1, "E": 1}.get(end.side, 0)
    return grid.node(i, end.clear)


def inner_crossing(grid: WireGrid, end: End) -> int:
    """The crossing inside the block at which its wire ends."""
    return grid.node(grid.centres[end.column], end.line)


def keep_ports(grid: WireGrid, jobs: list[Connection]) -> None:
    """Reserve the stretch in front of each port; two ports that face each other share it half and half."""
    facing: dict[tuple[int, int], dict[str, int]] = {}
    for job in jobs:
        for end in (job.start, job.end):
            if end.side in "WE":
                facing.setdefault((end.column + (end.side == "E"), end.line), {})[end.side] = job.net
            else:
                keep_column(grid, end, job.net)
    for (channel, j), nets in facing.items():
        first = grid.centres[channel - 1] if channel else 0
        last = grid.centres[channel] if channel < len(grid.centres) else len(grid.xs) - 1
        owners = [nets.get("E", nets.get("W", 0))] * (last - first)
        if len(set(nets.values())) == 2:
            half = (last - first) // 2
            owners = [nets["E"]] * half + [CLOSED] + [nets["W"]] * (last - first - half - 1)
        for k, owner in enumerate(owners):
            grid.kept_across[grid.node(first + k, j)] = owner


def keep_column(grid: WireGrid, end: End, net: int) -> None:
    """Reserve the way into a circle from above or below, as far as the middle of the next channel."""
    cell = grid.ys[end.line].cell + (end.side == "S")
    tracks = [j for j, line in enumerate(grid.ys) if line.channel == cell]
    middle = tracks[len(tracks) // 2]
    for j in range(middle, end.line) if end.side == "N" else range(end.line, middle):
        grid.kept_down[grid.node(grid.centres[end.column], j)] = net


def route(grid: WireGrid, jobs: list[Connection], strict: bool = True) -> tuple[list[list[int]], list[int]]:
    """For each job the crossings it passes, in order, and the jobs for which there was no way."""
    trees: dict[int, NetTree] = {}
    paths: list[list[int]] = [[] for _ in jobs]
    failed = []
    keep_ports(grid, jobs)
    order = sorted(range(len(jobs)), key=lambda n: (jobs[n].branch, *effort(grid, jobs[n]), n))
    for n in order:
        job = jobs[n]
        first = job.net not in trees
        tree = trees.setdefault(job.net, NetTree())
        start = beside(grid, job.start)
        starts = [(start, LEAVES[job.start.side], 0.0)]
        if not first:
            starts += [
                (node, d, BRANCH_COST) for node in sorted(tree.nodes) if not foreign(grid, node, job.net) for d in range(4)
            ]
        path = find_path(grid, job, starts, tree.nodes, strict)
        if path:
            tree.nodes.update(path)
            paths[n] = [*([inner_crossing(grid, job.start)] if first else []), *path, inner_crossing(grid, job.end)]
            occupy(grid, job.net, paths[n], first)
        else:
            failed.append(n)
    return paths, failed


def effort(grid: WireGrid, job: Connection) -> tuple[int, float]:
    """Straight wires first, then short ones: they have the least choice."""
    start, end = beside(grid, job.start), beside(grid, job.end)
    width = len(grid.xs)
    dx = abs(grid.x[start % width] - grid.x[end % width])
    dy = abs(grid.y[start // width] - grid.y[end // width])
    straight = (
        job.start.line == job.end.line
        and {job.start.side, job.end.side} == {"E", "W"}
        and (job.start.side == "E") == (job.start.column < job.end.column)
    )
    return 0 if straight else 1, dx + dy


def foreign(grid: WireGrid, node: int, net: int) -> bool:
    """Whether another wire touches this crossing."""
    width = len(grid.xs)
    left, above = grid.across[node - 1] if node else 0, grid.down[node - width] if node >= width else 0
    return any(owner not in (0, CLOSED, net) for owner in (grid.across[node], grid.down[node], left, above))


def find_path(grid: WireGrid, job: Connection, starts: list[tuple[int, int, float]], own: set[int], strict: bool) -> list[int]:
    """A* over (crossing, direction); a turn is a move of its own."""
    width, net, goal, final = len(grid.xs), job.net, beside(grid, job.end), ENTERS[job.end.side]
    gx, gy = grid.x[goal % width], grid.y[goal // width]
    best: dict[int, float] = {}
    parent: dict[int, int] = {}
    heap: list[tuple[float, float, int, int]] = []

    def offer(state: int, cost: float, came: int) -> None:
        if cost < best.get(state, 1e18):
            best[state] = cost
            node = state >> 2
            guess = abs(grid.x[node % width] - gx) + abs(grid.y[node // width] - gy)
            heapq.heappush(heap, (cost + guess, -cost, state, came))

    for node, direction, cost in starts:
        offer(node << 2 | direction, cost, -1)
    while heap:
        _, minus, state, came = heapq.heappop(heap)
        if state in parent or -minus > best[state]:
            continue
        parent[state] = came
        node, direction = state >> 2, state & 3
        if node == goal and direction == final:
            return unwind(parent, state)
        if not strict or not foreign(grid, node, net):
            for turned in ((direction + 1) & 3, (direction + 3) & 3):
                offer(node << 2 | turned, best[state] + BEND_COST, state)
        after, price = step(grid, node, direction, net, strict)
        if after >= 0 and after not in own:
            offer(after << 2 | direction, best[state] + price, state)
    return []


def step(grid: WireGrid, node: int, direction: int, net: int, strict: bool) -> tuple[int, float]:
    """The next crossing that way and the price of going there, or -1 when the stretch is taken."""
    width = len(grid.xs)
    level = direction in (EAST, WEST)
    after = node + (1, width, -1, -width)[direction]
    edge = min(node, after)
    if edge < 0 or after >= len(grid.across):
        return -1, 0.0
    owner = (grid.across if level else grid.down)[edge]
    if owner == CLOSED or (level and node // width != after // width):
        return -1, 0.0
    if strict:
        keeper = (grid.kept_across if level else grid.kept_down).get(edge, 0)
        if owner or keeper not in (0, net) or grid.turns.get(after, net) != net:
            return -1, 0.0
    if level:
        length = abs(grid.x[after % width] - grid.x[node % width])
        across = grid.down[after], grid.down[after - width] if after >= width else 0
    else:
        length = abs(grid.y[after // width] - grid.y[node // width])
        across = grid.across[after], grid.across[after - 1] if after else 0
    return after, length + (CROSS_COST if max(across) > 0 else 0.0)


def unwind(parent: dict[int, int], state: int) -> list[int]:
    """The crossings that led here, each once."""
    path: list[int] = []
    while state >= 0:
        if not path or path[-1] != state >> 2:
            path.append(state >> 2)
        state = parent[state]
    return path[::-1]


def occupy(grid: WireGrid, net: int, path: list[int], first: bool) -> None:
    """Take the stretches of a path, and mark its turns, which no other wire may touch."""
    width = len(grid.xs)
    if not first:
        grid.turns[path[0]] = net
    level = [a // width == b // width for a, b in itertools.pairwise(path)]
    for a, b, flat in zip(path, path[1:], level, strict=False):
        (grid.across if flat else grid.down)[min(a, b)] = net
    for node, before, after in zip(path[1:], level, level[1:], strict=False):
        if before != after:
            grid.turns[node] = net


def merge_tracks(paths: Paths, nets: list[int], xs: list[GridLine], ys: list[GridLine]) -> Paths:
    """The same wires on fewer tracks."""
    paths = merge_axis(paths, nets, xs)
    turned = merge_axis([[(j, i) for i, j in path] for path in paths], nets, ys)
    return [[(i, j) for j, i in path] for path in turned]


def merge_axis(paths: Paths, nets: list[int], lines: list[GridLine]) -> Paths:
    """Try to move the wires of each used track onto the used track before it."""
    used = sorted({i for path in paths for i, _ in turning(path)})
    last: dict[int, int] = {}
    for track in used:
        channel = lines[track].channel
        if channel is None:
            continue
        if channel in last:
            moved = [moved_path(path, last[channel], track) for path in paths]
            if is_track_free(moved, nets, last[channel]):
                paths = moved
                continue
        last[channel] = track
    return paths


def turning(path: list[Crossing]) -> list[Crossing]:
    """Ends and corners: where a path lies on a track rather than crossing it."""
    corners = [b for a, b, c in zip(path, path[1:], path[2:], strict=False) if (a[0] == b[0]) != (b[0] == c[0])]
    return [path[0], *corners, path[-1]]


def moved_path(path: list[Crossing], onto: int, track: int) -> list[Crossing]:
    """The path with the tracks from `onto` to `track` drawn together."""
    moved: list[Crossing] = []
    for i, j in path:
        node = (onto if onto <= i <= track else i, j)
        if not moved or moved[-1] != node:
            moved.append(node)
    return moved


def is_track_free(paths: Paths, nets: list[int], track: int) -> bool:
    """Whether on this track no two nets share a stretch or touch at a corner, and no wire doubles back on itself."""
    around: dict[int, dict[int, set[Crossing]]] = {}
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
        if len(here) == 2 and {frozenset(units) for units in here.values()} != {LEVEL_STEPS, UPRIGHT_STEPS}:
            return False
    return True
