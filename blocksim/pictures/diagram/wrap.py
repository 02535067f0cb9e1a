"""A diagram of many columns continues on the next band of the page, like text."""

from __future__ import annotations

from .graph import Graph

#: Columns that fit a page at a readable size.
PAGE = 12


def wrap(graph: Graph, columns: dict[str, int], rows: dict[str, int]) -> tuple[dict[str, int], dict[str, int]]:
    """New columns and rows; bands are cut where few wires pass, and record blocks stay together at the foot of the page."""
    count = 1 + max(columns.values(), default=0)
    if count <= PAGE:
        return columns, rows
    starts = find_breaks(graph, columns, count)
    band = {key: sum(start <= column for start in starts) - 1 for key, column in columns.items()}
    foot = len(starts)
    order = sorted({(foot if graph.items[key].record else band[key], row) for key, row in rows.items()})
    place = {spot: n for n, spot in enumerate(order)}
    return (
        {key: column - starts[band[key]] for key, column in columns.items()},
        {key: place[foot if graph.items[key].record else band[key], row] for key, row in rows.items()},
    )


def find_breaks(graph: Graph, columns: dict[str, int], count: int) -> list[int]:
    """First column of each band: bands of equal length would do, but a break nearby that fewer wires pass is better."""
    passing = [0] * (count + 1)
    for link in graph.links:
        low, high = sorted((columns[link.source], columns[link.target]))
        for column in range(low + 1, high + 1):
            passing[column] += 1
    bands = -(-count // PAGE)
    starts = [0]
    for n in range(1, bands):
        low = max(starts[-1] + PAGE // 2, count - (bands - n) * PAGE)
        high = min(starts[-1] + PAGE, count - 1)
        ideal = starts[-1] + -(-(count - starts[-1]) // (bands - n + 1))
        starts.append(min(range(low, high + 1), key=lambda c: (passing[c] + 0.5 * abs(c - ideal), c)))
    return starts
