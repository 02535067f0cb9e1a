"""Rows: the main path straight, side paths above it, feedback lanes below, record blocks last.

Blocks are gathered into paths that stay on one row; each path is put where its wires are short and cross little, then moved again
once all the others have their place.
"""

from __future__ import annotations

from collections.abc import Iterator

from .graph import BlockGraph, Link, Port
from .wire_sketch import GridPoint, Sketch, crossings, make_sketch

BLOCKED_PENALTY, CROSSING_PENALTY, BEND_PENALTY, STEP_PENALTY, WRONG_SIDE_PENALTY, NEW_ROW_PENALTY, PASSED_PENALTY = (
    6.0,
    2.0,
    1.5,
    0.4,
    8.0,
    1.7,
    0.7,
)
#: Rounds of moving paths again, for small and for large diagrams, and how many half rows from its neighbours a path may go.
SWEEPS, MOST_SWEPT_PATHS, NEAREST_ROWS = 3, 30, 7


def find_rows(graph: BlockGraph, cuts: list[Link], flipped: set[str], columns: dict[str, int]) -> dict[str, int]:
    """Row of every item, from 0 at the top."""
    board = Board(graph, cuts, flipped, columns)
    groups = [
        [k for k, item in graph.items.items() if not item.record and k not in flipped],
        [k for k, item in graph.items.items() if not item.record and k in flipped],
    ]
    paths = [path for group in groups for path in find_paths(graph, cuts, group, columns)]
    for path in paths:
        board.put(path)
    for _ in range(SWEEPS if len(paths) <= MOST_SWEPT_PATHS else 1):
        before = dict(board.rows)
        for path in paths[1:]:
            board.lift(path)
            board.put(path)
        if board.rows == before:
            break
    last = max(board.rows.values(), default=-2)
    board.floor = last + 1
    for path in find_paths(graph, cuts, [k for k, item in graph.items.items() if item.record], columns):
        board.put(path)
    used = {row: n for n, row in enumerate(sorted(set(board.rows.values())))}
    return {key: used[row] for key, row in board.rows.items()}


def find_paths(graph: BlockGraph, cuts: list[Link], group: list[str], columns: dict[str, int]) -> list[list[str]]:
    """The group as paths, the weightiest first."""
    rest = set(group)
    paths = []
    while rest:
        path = heaviest(graph, cuts, rest, columns)
        paths.append(path)
        rest -= set(path)
    return paths


def heaviest(graph: BlockGraph, cuts: list[Link], rest: set[str], columns: dict[str, int]) -> list[str]:
    """The path of most blocks; it enters a Sum at its first input and prefers to start at a source."""
    order = sorted(rest, key=lambda key: (columns[key], graph.items[key].index))
    best = {key: 0.3 * (graph.items[key].colour == "source") for key in order}
    come_from: dict[str, str] = {}
    for key in order:
        near = [(link.source, link) for link in graph.into(key)] + [(link.target, link) for link in graph.out_of(key)]
        for other, link in near:
            if other not in rest or columns[other] >= columns[key] or link in cuts:
                continue
            if graph.items[other].sink:  # a flipped scope: the lane belongs to the wire that closes the loop
                continue
            weight = best[other] + (1.0 if link.slot == 0 or graph.items[link.target].shape != "circle" else 0.15)
            if weight > best[key] + 1e-9 and (other == link.source) == (columns[link.source] < columns[link.target]):
                best[key], come_from[key] = weight, other
    end = max(order, key=lambda key: (best[key], -graph.items[key].index))
    path = [end]
    while path[-1] in come_from:
        path.append(come_from[path[-1]])
    return path[::-1]


class Board:
    """Where the paths stand so far. Occupied rows are kept at even numbers, so that a path may always squeeze in between."""

    def __init__(self, graph: BlockGraph, cuts: list[Link], flipped: set[str], columns: dict[str, int]):
        self.graph, self.flipped, self.columns = graph, flipped, columns
        self.cuts = set(cuts)
        self.rows: dict[str, int] = {}
        self.cells: dict[GridPoint, str] = {}
        self.floor: int | None = None
        self.sketches: dict[Link, Sketch] = {}
        self.near: dict[str, list[Link]] = {key: [*graph.into(key), *graph.out_of(key)] for key in graph.items}

    def put(self, path: list[str]) -> None:
        """Place a path on the best free row."""
        rows = self.candidates(path)
        free = [row for row in rows if not any((self.columns[key], row) in self.cells for key in path)]
        down = -1 if path[0] in self.flipped else 1
        self.settle(path, min(free, key=lambda row: (round(self.cost(path, row), 6), down * abs(row), row)))

    def candidates(self, path: list[str]) -> range:
        """Rows worth a try: near its neighbours, one of them surely free; record blocks stay below the floor."""
        low, high = min(self.rows.values(), default=1), max(self.rows.values(), default=-1)
        if self.floor is not None:
            return range(self.floor, max(high + 2, self.floor + 1))
        ends = [self.rows[k] for key in path for link in self.near[key] for k in (link.source, link.target) if k in self.rows]
        if not ends:
            return range(low - 1, high + 2)
        return range(max(low - 1, min(ends) - NEAREST_ROWS), min(high + 1, max(ends) + NEAREST_ROWS) + 1)

    def settle(self, path: list[str], row: int) -> None:
        self.rows.update(dict.fromkeys(path, row))
        used = {value: 2 * n for n, value in enumerate(sorted(set(self.rows.values())))}
        shift = used[self.rows[next(iter(self.rows))]]
        self.rows = {key: used[value] - shift for key, value in self.rows.items()}
        if self.floor is not None:
            self.floor = min(r for k, r in self.rows.items() if self.graph.items[k].record) - 1
        self.cells = {(self.columns[key], value): key for key, value in self.rows.items()}
        self.sketches = {
            link: self.sketch(link)[1] for link in self.graph.links if link.source in self.rows and link.target in self.rows
        }

    def lift(self, path: list[str]) -> None:
        """Take a path off the board."""
        for key in path:
            del self.cells[self.columns[key], self.rows.pop(key)]
        self.sketches = {k: s for k, s in self.sketches.items() if k.source in self.rows and k.target in self.rows}

    def cost(self, path: list[str], row: int) -> float:
        """What the picture loses with this path on this row: bends, detours, crossings, wires that must go round it."""
        low, high = min(self.rows.values(), default=row), max(self.rows.values(), default=row)
        self.rows.update(dict.fromkeys(path, row))
        self.cells.update({(self.columns[key], row): key for key in path})
        near = {link for key in path for link in self.near[key] if link.source in self.rows and link.target in self.rows}
        total = 0.0 if row % 2 == 0 and low <= row <= high else NEW_ROW_PENALTY
        for link in sorted(near, key=lambda link: (self.graph.items[link.target].index, link.slot)):
            price, sketch = self.sketch(link)
            total += price + CROSSING_PENALTY * sum(
                crossings(sketch, other) for neighbour, other in self.sketches.items() if neighbour.net != link.net
            )
        mine = {(2 * self.columns[key], 2 * row) for key in path}
        total += BLOCKED_PENALTY * sum(len(mine.intersection(other.places)) for other in self.sketches.values())
        for key in path:
            del self.rows[key], self.cells[self.columns[key], row]
        return total

    def sketch(self, link: Link) -> tuple[float, Sketch]:
        """The cheapest of a few simple ways for a wire, and its price."""
        options = ((self.price(sketch), sketch) for sketch in map(make_sketch, self.ways(link)))
        price, best = min(options, key=lambda option: option[0])
        rise = self.rows[link.target] - self.rows[link.source]
        ports = passed_ports(self.graph.items[link.target].inputs, link.slot, rise) + passed_ports(
            self.graph.items[link.source].outputs, link.port, -rise
        )
        ends = {link.source, link.target} & self.flipped
        wrong = len(ends) == 1 and (-rise if link.source in self.flipped else rise) < 1
        return price + PASSED_PENALTY * ports + WRONG_SIDE_PENALTY * wrong, best

    def price(self, sketch: Sketch) -> float:
        blocked = sum((x // 2, y // 2) in self.cells for x, y in sketch.places)
        return BEND_PENALTY * sketch.bends + STEP_PENALTY * sketch.length + BLOCKED_PENALTY * blocked

    def ways(self, link: Link) -> Iterator[tuple[GridPoint, ...]]:
        x0, y0 = 2 * self.columns[link.source], 2 * self.rows[link.source]
        x1, y1 = 2 * self.columns[link.target], 2 * self.rows[link.target]
        out = x0 + (-1 if link.source in self.flipped else 1)
        target = self.graph.items[link.target]
        if target.shape == "circle" and (link in self.cuts or link.slot):
            side = 1 if link in self.cuts else -1
            if (y0 - y1) * side > 0 and (x1 > x0) == (out > x0) and x1 != x0:
                yield ((x0, y0), (x1, y0), (x1, y1))
            yield ((x0, y0), (out, y0), (out, y1 + side), (x1, y1 + side), (x1, y1))
            return
        enter = x1 + (1 if link.target in self.flipped else -1)
        if (out < x1) == (enter < x1):
            yield ((x0, y0), (out, y0), (out, y1), (x1, y1))
        if (enter > x0) == (out > x0):
            yield ((x0, y0), (enter, y0), (enter, y1), (x1, y1))
        for y in (y0 - 1, y0 + 1, y1 - 1, y1 + 1):
            yield ((x0, y0), (out, y0), (out, y), (enter, y), (enter, y1), (x1, y1))


def passed_ports(ports: list[Port], number: int, rise: int) -> int:
    """Ports of a box that a wire from above (rise > 0) or below passes before it reaches its own."""
    return 0 if rise == 0 else number if rise > 0 else len(ports) - 1 - number
