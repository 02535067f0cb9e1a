"""Columns: every wire that is not feedback goes to a later column; flipped blocks stand between the ends of their loop.

A diagram that is wider than a page has its record blocks drawn under the loop; if that is not enough, it continues on the next
band of the page, like text.
"""

from __future__ import annotations

from typing import Any

from .graph import BlockGraph, Link

#: Columns that fit a page at a readable size, if they are narrow.
PAGE = 12
#: Width from which record blocks stand under the loop, and from which a loop is broken, which costs more [px].
TUCK_WIDTH, WRAP_WIDTH = 1400.0, 1600.0
#: What a column takes beside its widest block: the wires before it [px].
BETWEEN = 52.0


def find_columns(graph: BlockGraph, cuts: list[Link], flipped: set[str]) -> dict[str, int]:
    """Column of every item, from 0."""
    import networkx as nx

    net = constraints(graph, cuts, flipped)
    order = list(nx.lexicographical_topological_sort(net, key=lambda key: graph.items[key].index))
    columns: dict[str, int] = {}
    for key in order:
        columns[key] = lowest(net, columns, key)
    for key in reversed(order):
        if waits(graph, net, key):
            columns[key] = max(columns[key], highest(net, columns, key))
    centre_lanes(graph, net, columns, [key for key in order if key in flipped])
    alone = [key for key in order if not graph.into(key) and not graph.out_of(key)]
    spread = min(PAGE, 1 + max(columns.values(), default=0))
    columns.update({key: n % spread for n, key in enumerate(alone)})
    used = {column: n for n, column in enumerate(sorted(set(columns.values())))}
    return {key: used[column] for key, column in columns.items()}


def page_columns(columns: dict[str, int], widths: dict[str, float], page_width: float) -> int:
    """How many columns fit a page, going by how wide they are on the average."""
    widest: dict[int, float] = {}
    for key, column in columns.items():
        widest[column] = max(widest.get(column, 0.0), widths[key] + BETWEEN)
    total = sum(widest.values())
    return PAGE if total <= page_width else min(PAGE, max(PAGE // 2, int(len(widest) * page_width / total)))


def tuck_records(graph: BlockGraph, columns: dict[str, int], page: int) -> dict[str, int]:
    """On a page too narrow, record blocks stand under the loop instead of right of it, in the order of their wires."""
    last = max((column for key, column in columns.items() if not graph.items[key].record), default=0)
    if 1 + max(columns.values(), default=0) <= page or last == 0:
        return columns
    depth: dict[str, int] = {}
    for key in sorted((key for key in columns if graph.items[key].record), key=lambda key: -columns[key]):
        readers = [link.target for link in graph.out_of(key) if link.target in depth]
        depth[key] = 1 + max((depth[reader] for reader in readers), default=-1)
    right = max(last, *depth.values()) if depth else last
    return {key: min(column, right - depth[key]) if key in depth else column for key, column in columns.items()}


def centre_lanes(graph: BlockGraph, net: Any, columns: dict[str, int], back: list[str]) -> None:
    """Flipped blocks stand in the middle of their loop, scopes of theirs just behind them."""
    lane = [key for key in back if not graph.items[key].sink]
    for key in reversed(lane):
        columns[key] = max(columns[key], highest(net, columns, key))
    for key in lane:
        low, high = lowest(net, columns, key), columns[key]
        columns[key] = max(low + (high - low + 1) // 2, high - PAGE // 2)
    for key in back:
        if key not in lane:
            columns[key] = highest(net, columns, key)


def constraints(graph: BlockGraph, cuts: list[Link], flipped: set[str]) -> Any:
    """An acyclic graph, left to right: u -> v with `gap` says that v stands at least so many columns right of u."""
    import networkx as nx

    net = nx.DiGraph()
    net.add_nodes_from(graph.items)

    def demand(left: str, right: str, gap: int) -> None:
        if left == right or nx.has_path(net, right, left):
            return
        gap_before = net.edges[left, right]["gap"] if net.has_edge(left, right) else 0
        net.add_edge(left, right, gap=max(gap, gap_before))

    ahead = [link for link in graph.links if link not in cuts and not {link.source, link.target} & flipped]
    for link in ahead:
        demand(link.source, link.target, 0 if link.dashed and not graph.items[link.source].record else 1)
    for link in graph.links:
        if link.target in flipped:
            demand(link.target, link.source, 1 if link.source in flipped else 0)
        elif link.source in flipped and link in cuts:
            demand(link.target, link.source, 1)
        elif link.source in flipped:
            demand(link.source, link.target, 0 if link.dashed else 1)
    return net


def lowest(net: Any, columns: dict[str, int], key: str) -> int:
    return max((columns[p] + net.edges[p, key]["gap"] for p in net.predecessors(key)), default=0)


def highest(net: Any, columns: dict[str, int], key: str) -> int:
    return min((columns[s] - net.edges[key, s]["gap"] for s in net.successors(key)), default=columns[key])


def waits(graph: BlockGraph, net: Any, key: str) -> bool:
    """Whether it stands better near what it drives: a source, or a filter that only sources lead to."""
    if graph.items[key].record:
        return False
    return all(net.out_degree(p) == 1 and waits(graph, net, p) for p in net.predecessors(key))


def wrap(graph: BlockGraph, columns: dict[str, int], rows: dict[str, int], page: int) -> tuple[dict[str, int], dict[str, int]]:
    """New columns and rows; bands are cut where few wires pass, and record blocks stay together at the foot of the page."""
    count = 1 + max(columns.values(), default=0)
    if count <= page:
        return columns, rows
    starts = find_breaks(graph, columns, count, page)
    last = max((column for key, column in columns.items() if not graph.items[key].record), default=0)
    if last <= starts[-1]:  # a band of one column would cost a wire across the page, and save little
        starts.pop()
    if len(starts) < 2:
        return columns, rows
    band = {key: sum(start <= column for start in starts) - 1 for key, column in columns.items()}
    foot = len(starts)
    order = sorted({(foot if graph.items[key].record else band[key], row) for key, row in rows.items()})
    place = {spot: n for n, spot in enumerate(order)}
    return (
        {key: column - starts[band[key]] for key, column in columns.items()},
        {key: place[foot if graph.items[key].record else band[key], row] for key, row in rows.items()},
    )


def find_breaks(graph: BlockGraph, columns: dict[str, int], count: int, page: int) -> list[int]:
    """First column of each band: bands of equal length would do, but a break nearby that fewer wires pass is better."""
    passing = [0] * (count + 1)
    for source in {link.net for link in graph.links}:
        ends = [columns[link.target] for link in graph.links if link.net == source and not link.dashed]
        reach = [*ends, columns[source[0]]]
        back = any(end <= columns[source[0]] for end in ends)
        for column in range(min(reach) + 1, max(reach) + 1):
            passing[column] += 3 if back else 1  # a loop broken in two is hard to follow
    bands = -(-count // page)
    starts = [0]
    for n in range(1, bands):
        low = max(starts[-1] + page // 2, count - (bands - n) * page)
        high = min(starts[-1] + page, count - 1)
        ideal = starts[-1] + -(-(count - starts[-1]) // (bands - n + 1))
        starts.append(min(range(low, high + 1), key=lambda c: (passing[c] + 0.5 * abs(c - ideal), c)))
    return starts
