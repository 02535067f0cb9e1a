"""Diagram -> Picture: the stages in order, and the geometry they end in.

read_graph -> find_cuts, find_flips -> find_columns -> find_rows -> wrap -> sizes and ports -> grid -> route -> Picture
"""

from __future__ import annotations

from dataclasses import dataclass

from ...diagram.diagram import Diagram
from .columns import TUCK_WIDTH, WRAP_WIDTH, find_columns, page_columns, tuck_records, wrap
from .feedback import colour_systems, find_cuts, find_flips
from .finishing import picture_of
from .graph import BlockGraph, Link, read_graph
from .grid import CLEAR, GAP, ROW_GAP, Body, WireGrid, make_grid, positions
from .lettering import clean
from .routes import Connection, End, merge_tracks, route, turning
from .rows import find_rows
from .shapes import GREY, Picture, TextLine
from .sizes import NAME_ROOM, BoxSize, Spot, find_shifts, find_spots, size_of

#: How often the channels are widened before wires may lie on each other.
WIDENINGS = 5


@dataclass
class Placement:
    """Everything decided before the wires: what is drawn, in which cell, how big, and where wires meet it."""

    graph: BlockGraph
    cuts: list[Link]
    flipped: set[str]
    columns: dict[str, int]
    rows: dict[str, int]
    sizes: dict[str, BoxSize]
    spots: dict[tuple[str, str, int], Spot]
    shifts: dict[str, float]

    def height(self, end: str, key: str, number: int) -> float:
        """Of a port, from the middle of its row."""
        return self.shifts[key] + self.spots[end, key, number].offset

    def reach(self, key: str) -> tuple[float, float]:
        """How far an item reaches above and below the middle of its row, its name included."""
        half = self.sizes[key].height / 2
        room = NAME_ROOM if self.graph.items[key].shape in ("box", "triangle") else 0.0
        return half - self.shifts[key], half + self.shifts[key] + room


def plan(diagram: Diagram) -> Placement:
    """Decide where everything stands."""
    graph = read_graph(diagram)
    cuts = find_cuts(graph)
    if diagram.ports is None:
        colour_systems(graph, cuts)
    flipped = find_flips(graph, cuts)
    columns = find_columns(graph, cuts, flipped)
    sizes = {key: size_of(item) for key, item in graph.items.items()}
    widths = {key: size.width for key, size in sizes.items()}
    columns = tuck_records(graph, columns, page_columns(columns, widths, TUCK_WIDTH))
    rows = find_rows(graph, cuts, flipped, columns)
    columns, rows = wrap(graph, columns, rows, page_columns(columns, widths, WRAP_WIDTH))
    spots = find_spots(graph, cuts, flipped, columns, rows)
    return Placement(graph, cuts, flipped, columns, rows, sizes, spots, find_shifts(graph, columns, rows, sizes, spots))


def layout(diagram: Diagram) -> Picture:
    """The picture of a diagram."""
    title = clean(diagram.name)
    if not diagram.nodes and not diagram.ports:
        return Picture(160, 48, title, texts=[TextLine(80, 24, "no blocks", 11, GREY)])
    where = plan(diagram)
    for attempt in range(WIDENINGS + 1):
        grid, jobs = ready(where, attempt)
        paths, failed = route(grid, jobs, strict=attempt < WIDENINGS)
        if not failed:
            break
    width = len(grid.xs)
    nodes = merge_tracks([[(n % width, n // width) for n in path] for path in paths], [job.net for job in jobs], grid.xs, grid.ys)
    place_lines(where, grid, nodes)
    return picture_of(where, grid, nodes, title)


def ready(where: Placement, attempt: int) -> tuple[WireGrid, list[Connection]]:
    """A grid with tracks where wires will want them, and the wires to be found on it."""
    columns, rows = 1 + max(where.columns.values()), 1 + max(where.rows.values())
    heights: list[list[float]] = [[0.0] for _ in range(rows)]
    bodies = []
    for key, item in where.graph.items.items():
        row = where.rows[key]
        above, below = where.reach(key)
        bodies.append(Body(where.columns[key], row, -above, below))
        heights[row] += [where.height("in", key, n) for n in range(len(item.inputs))]
        heights[row] += [where.height("out", key, n) for n in range(len(item.outputs))]
    across, down = demand(where, columns, rows)
    more = 2 * attempt * attempt
    grid = make_grid(columns, [sorted(set(h)) for h in heights], bodies, [n + more for n in across], [n + more for n in down])
    place_lines(where, grid, None)
    nets = {net: n + 1 for n, net in enumerate(dict.fromkeys(link.net for link in where.graph.links))}

    def end(kind: str, key: str, number: int) -> End:
        line, side = grid.heights[where.rows[key], where.height(kind, key, number)], where.spots[kind, key, number].side
        return End(where.columns[key], line, side, clear_line(grid, line, side, where.shifts[key], where.sizes[key].height / 2))

    solid = {link.net for link in where.graph.links if not link.dashed}
    return grid, [
        Connection(
            nets[link.net],
            end("out", link.source, link.port),
            end("in", link.target, link.slot),
            branch=link.dashed and link.net in solid,
        )
        for link in where.graph.links
    ]


def clear_line(grid: WireGrid, line: int, side: str, middle: float, half: float) -> int:
    """The first line past a block above or below one of its ports; ports at its sides are clear already."""
    step = {"N": -1, "S": 1}.get(side, 0)
    clear = line + step
    while step and grid.ys[clear].channel is None and abs(grid.ys[clear].at - middle) < half + CLEAR:
        clear += step
    return clear


def demand(where: Placement, columns: int, rows: int) -> tuple[list[int], list[int]]:
    """Tracks for each channel: two for every wire that ends beside it, within reason."""
    across, down = [1] * (columns + 1), [1] * (rows + 1)
    for link in where.graph.links:
        for end, key, number in (("out", link.source, link.port), ("in", link.target, link.slot)):
            side = where.spots[end, key, number].side
            across[where.columns[key] + (side == "E")] += 1
            if where.rows[link.source] != where.rows[link.target] or link in where.cuts or side in "NS":
                down[where.rows[key]] += side != "S"
                down[where.rows[key] + 1] += 1
    return [2 * min(max(n, 2), 5) for n in across], [2 * min(n, 4) for n in down]


def place_lines(where: Placement, grid: WireGrid, nodes: list[list[tuple[int, int]]] | None) -> None:
    """Give every line of the grid its coordinate; with `nodes`, only the tracks in use take room."""
    columns, rows = 1 + max(where.columns.values()), 1 + max(where.rows.values())
    half, above, below = [0.0] * columns, [0.0] * rows, [0.0] * rows
    for key in where.graph.items:
        c, r = where.columns[key], where.rows[key]
        half[c] = max(half[c], where.sizes[key].width / 2)
        up, down = where.reach(key)
        above[r], below[r] = max(above[r], up), max(below[r], down)
    all_x, all_y = set(range(len(grid.xs))), set(range(len(grid.ys)))
    if nodes is not None:
        runs = [run for path in nodes for run in zip(turning(path), turning(path)[1:], strict=False)]
        all_x, all_y = {a[0] for a, b in runs if a[0] == b[0]}, {a[1] for a, b in runs if a[1] == b[1]}
    grid.x = positions(grid.xs, all_x, half, half, GAP)
    grid.y = positions(grid.ys, all_y, above, below, ROW_GAP)
