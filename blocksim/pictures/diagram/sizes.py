"""How big each block is, on which side each wire meets it, and how far it shifts in its row to keep its main wire straight."""

from __future__ import annotations

from dataclasses import dataclass

from ...notation import FRACTION_BAR
from .graph import BlockGraph, Item, Link
from .lettering import width_of

FIRST_FONT, SECOND_FONT, NAME_FONT, PORT_FONT, SIGN_FONT, FRACTION_FONT = 13.0, 11.0, 10.0, 8.5, 12.0, 12.0
BOX_HEIGHT, BOX_WIDTH, CIRCLE, OVAL = 44.0, 58.0, 32.0, 24.0
PADDING = 11.0
#: Ports lie on multiples of half a pitch around the middle of their row, so wires in one row are never closer than that.
PITCH = 20.0
NAME_ROOM = 17.0
#: A block's sign, above its text: width, height, and the room between them.
ICON_WIDTH, ICON_HEIGHT, ICON_GAP = 26.0, 15.0, 5.0
LINE_STEP = 15.0


@dataclass(frozen=True)
class BoxSize:
    width: float
    height: float


@dataclass(frozen=True)
class Spot:
    """Where a wire meets a block: the side ('W', 'E', 'N', 'S') and how far below the block's middle."""

    side: str
    offset: float


def size_of(item: Item) -> BoxSize:
    """Width and height of the shape."""
    if item.shape == "circle":
        return BoxSize(CIRCLE, CIRCLE)
    widest = max([width_of(line, FIRST_FONT if n == 0 else SECOND_FONT) for n, line in enumerate(item.lines)], default=0.0)
    if item.shape == "oval":
        return BoxSize(max(44.0, widest + 2 * PADDING), OVAL)
    if item.shape == "triangle":
        return BoxSize(max(46.0, 1.7 * width_of(item.lines[0], SECOND_FONT) + 22), BOX_HEIGHT)
    left = max([width_of(port.label, PORT_FONT) for port in item.inputs], default=0.0)
    right = max([width_of(port.label, PORT_FONT) for port in item.outputs], default=0.0)
    side = max(left, right) + 4 if left or right else 0.0
    ports = max(len(item.inputs), len(item.outputs))
    lines = sum(line != FRACTION_BAR for line in item.lines)
    sign = ICON_HEIGHT + ICON_GAP if item.icon else 0.0
    height = max(BOX_HEIGHT, 16.0 * lines + 14 + sign, PITCH * ports + 10)
    return BoxSize(max(BOX_WIDTH, widest + 2 * PADDING + 2 * side), height)


def offsets(count: int) -> list[float]:
    return [(n - (count - 1) / 2) * PITCH for n in range(count)]


def find_spots(
    graph: BlockGraph, cuts: list[Link], flipped: set[str], columns: dict[str, int], rows: dict[str, int]
) -> dict[tuple[str, str, int], Spot]:
    """For every ('in' or 'out', item, number) the spot where its wire ends."""
    spots: dict[tuple[str, str, int], Spot] = {}
    for key, item in graph.items.items():
        west, east = ("E", "W") if key in flipped else ("W", "E")
        for n, offset in enumerate(offsets(len(item.outputs))):
            spots["out", key, n] = Spot(east, offset)
        if item.shape == "circle":
            sides = circle_sides(graph, item, cuts, columns, rows)
            for n in range(len(item.inputs)):
                spots["in", key, n] = Spot(west if sides[n] == "W" else sides[n], 0.0)
        else:
            for n, offset in enumerate(offsets(len(item.inputs))):
                spots["in", key, n] = Spot(west, offset)
    return spots


def circle_sides(
    graph: BlockGraph, item: Item, cuts: list[Link], columns: dict[str, int], rows: dict[str, int]
) -> dict[int, str]:
    """First input from the west, feedback from the south, others from the north; a taken side gives way to the opposite one."""
    links = {link.slot: link for link in graph.into(item.key)}
    back = sorted((n for n, link in links.items() if link in cuts), key=lambda n: -rows[links[n].source])
    ahead = [n for n in range(len(item.inputs)) if n not in back]
    sides: dict[int, str] = {}
    first = west_input(graph, item, [(n, links.get(n)) for n in ahead or back], columns, rows)
    for n in [first, *back, *ahead]:
        if n in sides or n < 0:
            continue
        below = n in back or (n in links and rows[links[n].source] > rows[item.key])
        wish = ["W"] if n == first else (["S", "N"] if below else ["N", "S"])
        sides[n] = next(side for side in [*wish, "W"] if side not in sides.values())
    return sides


def west_input(
    graph: BlockGraph, item: Item, inputs: list[tuple[int, Link | None]], columns: dict[str, int], rows: dict[str, int]
) -> int:
    """The first input, unless its wire must go round a block of the row that itself drives a later input, as a bypass does."""
    if not inputs:
        return -1
    row = rows[item.key]
    between = [(columns[key], key) for key in graph.items if rows[key] == row and columns[key] < columns[item.key]]
    nearest = max(between, default=(-1, ""))[1]
    first = inputs[0][1]
    if first is not None and rows[first.source] == row and first.source != nearest:
        return next((n for n, link in inputs if link is not None and link.source == nearest), inputs[0][0])
    return inputs[0][0]


def find_shifts(
    graph: BlockGraph,
    columns: dict[str, int],
    rows: dict[str, int],
    sizes: dict[str, BoxSize],
    spots: dict[tuple[str, str, int], Spot],
) -> dict[str, float]:
    """How far below the middle of its row each item stands: so that a wire along the row is straight at both its ports."""
    shifts: dict[str, float] = {}
    cells = {(columns[key], rows[key]) for key in graph.items}

    def joined(link: Link) -> bool:
        low, high = sorted((columns[link.source], columns[link.target]))
        level = {spots["out", link.source, link.port].side, spots["in", link.target, link.slot].side} == {"E", "W"}
        facing = (spots["out", link.source, link.port].side == "E") == (columns[link.source] < columns[link.target])
        clear = not any((c, rows[link.source]) in cells for c in range(low + 1, high))
        return rows[link.source] == rows[link.target] and level and facing and clear

    straight = [link for link in graph.links if link.source != link.target and joined(link)]
    straight.sort(key=lambda link: (graph.items[link.target].record, link.slot, graph.items[link.target].index))
    todo = sorted(graph.items, key=lambda key: (-len(graph.items[key].inputs), columns[key], graph.items[key].index))
    for root in todo:
        if root in shifts:
            continue
        shifts[root] = 0.0
        front = [root]
        while front:
            key = front.pop(0)
            for link in straight:
                out, into = spots["out", link.source, link.port].offset, spots["in", link.target, link.slot].offset
                if link.source == key and link.target not in shifts:
                    shifts[link.target] = limited(shifts[key] + out - into)
                    front.append(link.target)
                elif link.target == key and link.source not in shifts:
                    shifts[link.source] = limited(shifts[key] + into - out)
                    front.append(link.source)
    return shifts


def limited(shift: float) -> float:
    """A block that would wander off its row stays."""
    return shift if abs(shift) <= 3 * PITCH else 0.0
