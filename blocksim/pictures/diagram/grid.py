"""The grid wires run on: tracks in the channels between columns and rows, and a line at the height of every port.

A stretch of line belongs to one wire only, a block closes the stretches it covers, and the stretch in front of a port is kept for
the port's own wire: so no wire can run through a block or along another, and every port can be left.
"""

from __future__ import annotations

from dataclasses import dataclass, field

CLOSED = -1
TRACK = 12.0
GAP, ROW_GAP, PAGE_MARGIN = 46.0, 22.0, 24.0
#: Room a block keeps from wires that pass above and below it.
CLEAR = 5.0


@dataclass
class Body:
    """The part of its cell a block covers, from the middle of its row: `top` and `bottom`, name included."""

    column: int
    row: int
    top: float
    bottom: float


@dataclass
class GridLine:
    """A vertical or horizontal line of the grid: a track of a channel, or `at` a height in a row (the middle of a column)."""

    channel: int | None
    cell: int
    at: float = 0.0


@dataclass
class WireGrid:
    """Lines in order, and who owns the stretch from each crossing to the right (`across`) and downwards (`down`)."""

    xs: list[GridLine]
    ys: list[GridLine]
    centres: list[int]
    heights: dict[tuple[int, float], int]
    across: list[int] = field(default_factory=list)
    down: list[int] = field(default_factory=list)
    kept_across: dict[int, int] = field(default_factory=dict)
    kept_down: dict[int, int] = field(default_factory=dict)
    turns: dict[int, int] = field(default_factory=dict)
    x: list[float] = field(default_factory=list)
    y: list[float] = field(default_factory=list)

    def node(self, i: int, j: int) -> int:
        return j * len(self.xs) + i


def make_grid(columns: int, heights: list[list[float]], bodies: list[Body], across: list[int], down: list[int]) -> WireGrid:
    """A grid with so many tracks in the channels left of each column (`across`) and above each row (`down`)."""
    xs: list[GridLine] = []
    centres: list[int] = []
    for c in range(columns + 1):
        xs += [GridLine(c, c) for _ in range(across[c])]
        if c < columns:
            centres.append(len(xs))
            xs.append(GridLine(None, c))
    ys: list[GridLine] = []
    places: dict[tuple[int, float], int] = {}
    for r in range(len(heights) + 1):
        ys += [GridLine(r, r) for _ in range(down[r])]
        for at in sorted(heights[r]) if r < len(heights) else []:
            places[r, at] = len(ys)
            ys.append(GridLine(None, r, at))
    grid = WireGrid(xs, ys, centres, places, [0] * (len(xs) * len(ys)), [0] * (len(xs) * len(ys)))
    close_edges(grid)
    for body in bodies:
        close_body(grid, body)
    return grid


def close_edges(grid: WireGrid) -> None:
    for j in range(len(grid.ys)):
        grid.across[grid.node(len(grid.xs) - 1, j)] = CLOSED
    for i in range(len(grid.xs)):
        grid.down[grid.node(i, len(grid.ys) - 1)] = CLOSED


def close_body(grid: WireGrid, body: Body) -> None:
    """No stretch may enter a block."""
    i = grid.centres[body.column]
    rows = [j for j, line in enumerate(grid.ys) if line.channel is None and line.cell == body.row]
    for j in rows:
        if body.top - CLEAR < grid.ys[j].at < body.bottom + CLEAR:
            grid.across[grid.node(i - 1, j)] = grid.across[grid.node(i, j)] = CLOSED
    for j in [rows[0] - 1, *rows]:
        upper = grid.ys[j].at if j in rows else -1e9
        lower = grid.ys[j + 1].at if j + 1 in rows else 1e9
        if body.top < lower and upper < body.bottom:
            grid.down[grid.node(i, j)] = CLOSED


def positions(lines: list[GridLine], used: set[int], before: list[float], after: list[float], gap: float) -> list[float]:
    """Coordinate of every line when only the used tracks take room; `before` and `after`: each cell's reach from its middle."""
    result = [0.0] * len(lines)
    tracks: dict[int, list[int]] = {}
    for n, line in enumerate(lines):
        if line.channel is not None:
            tracks.setdefault(line.channel, []).append(n)
    here = PAGE_MARGIN
    for cell in range(len(before) + 1):
        busy = [n for n in tracks[cell] if n in used]
        room = (len(busy) + 1) * TRACK + 6 if busy else 0.0
        outer = cell in (0, len(before))
        width = room if outer else max(gap, room + (gap - 2 * TRACK if gap == GAP else 0.0))
        first = here + (width - (len(busy) - 1) * TRACK) / 2
        for k, n in enumerate(busy):
            result[n] = first + k * TRACK
        for n in tracks[cell]:
            if n not in used:
                result[n] = here + width / 2
        here += width
        if cell < len(before):
            middle = here + before[cell]
            for n, line in enumerate(lines):
                if line.channel is None and line.cell == cell:
                    result[n] = middle + line.at
            here = middle + after[cell]
    return [*result, here + PAGE_MARGIN]
