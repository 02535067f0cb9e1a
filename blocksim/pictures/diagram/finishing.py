"""The last stage: shapes with their texts, wires trimmed to the shapes they join, dots, the names of circles, the frame."""

from __future__ import annotations

import itertools
from dataclasses import replace
from typing import TYPE_CHECKING

from ...notation import FRACTION_BAR
from .graph import Item
from .grid import GAP, WireGrid
from .lettering import name_within, width_of
from .routes import turning
from .shapes import FILLS, GREY, INK, Frame, Picture, Point, Shape, TextLine, Wire
from .sizes import (
    CIRCLE,
    FIRST_FONT,
    FRACTION_FONT,
    ICON_GAP,
    ICON_HEIGHT,
    ICON_WIDTH,
    LINE_STEP,
    NAME_FONT,
    PORT_FONT,
    SECOND_FONT,
    SIGN_FONT,
)

if TYPE_CHECKING:
    from .layout import Placement

Nodes = list[list[tuple[int, int]]]


def picture_of(where: Placement, grid: WireGrid, nodes: Nodes, title: str) -> Picture:
    """Everything in pixels."""
    picture = Picture(grid.x[-1], grid.y[-1], title)
    centres = {key: centre(where, grid, key) for key in where.graph.items}
    drawn = [(n, wire) for n in range(len(nodes)) if (wire := wire_of(where, grid, nodes, n, centres)) is not None]
    picture.wires = [wire for _, wire in drawn]
    picture.dots = dots(where, grid, nodes)
    for key, item in where.graph.items.items():
        picture.shapes.append(block_shape(where, item, *centres[key], picture.wires))
    for n, wire in drawn:
        link = where.graph.links[n]
        if link.element is not None:
            (x, y), (bx, _) = wire.points[-1], wire.points[-2]
            side = -1 if bx < x else 1
            picture.texts.append(
                TextLine(x + side * 12, y - 8, f"[{link.element}]", PORT_FONT, GREY, "end" if side < 0 else "start")
            )
    records = [shape for shape in picture.shapes if where.graph.items[shape.key].record]
    if records and len(records) < len(picture.shapes):
        picture.frames.append(frame(records))
    return fit_page(picture)


def centre(where: Placement, grid: WireGrid, key: str) -> Point:
    row = where.rows[key]
    line = grid.heights[row, 0.0]
    return grid.x[grid.centres[where.columns[key]]], grid.y[line] + where.shifts[key]


def port(where: Placement, centres: dict[str, Point], kind: str, key: str, number: int) -> Point:
    """Where a wire touches the block."""
    (x, y), size, spot = centres[key], where.sizes[key], where.spots[kind, key, number]
    if spot.side in "NS":
        return x, y + (size.height / 2 if spot.side == "S" else -size.height / 2)
    return x + (size.width / 2 if spot.side == "E" else -size.width / 2), y + spot.offset


def wire_of(where: Placement, grid: WireGrid, nodes: Nodes, n: int, centres: dict[str, Point]) -> Wire | None:
    link, path = where.graph.links[n], nodes[n]
    if not path:
        return None
    points = [(grid.x[i], grid.y[j]) for i, j in turning(path)]
    points[-1] = port(where, centres, "in", link.target, link.slot)
    if path[0] == (
        grid.centres[where.columns[link.source]],
        grid.heights[where.rows[link.source], where.height("out", link.source, link.port)],
    ):
        points[0] = port(where, centres, "out", link.source, link.port)
    source, target = where.graph.items[link.source], where.graph.items[link.target]
    return Wire(
        tuple(points), (link.source, source.outputs[link.port].name), (link.target, target.inputs[link.slot].name), link.dashed
    )


def dots(where: Placement, grid: WireGrid, nodes: Nodes) -> list[Point]:
    """Where wires of one net part: crossings with three or more stretches."""
    result = []
    for net in dict.fromkeys(link.net for link in where.graph.links):
        around: dict[tuple[int, int], set[tuple[int, int]]] = {}
        for link, path in zip(where.graph.links, nodes, strict=True):
            if link.net == net:
                for a, b in itertools.pairwise(path):
                    step = (b[0] > a[0]) - (b[0] < a[0]), (b[1] > a[1]) - (b[1] < a[1])
                    around.setdefault(a, set()).add(step)
                    around.setdefault(b, set()).add((-step[0], -step[1]))
        result += [(grid.x[i], grid.y[j]) for (i, j), steps in around.items() if len(steps) > 2]
    return result


def block_shape(where: Placement, item: Item, x: float, y: float, wires: list[Wire]) -> Shape:
    """A block with its texts in place."""
    size, flipped = where.sizes[item.key], item.key in where.flipped
    texts = [*label_texts(item, x, y, size.width, flipped), *port_texts(where, item, x, y)]
    if item.shape == "circle":
        texts.append(circle_name(item, x, y, wires))
    elif item.shape != "oval":
        name = name_within(item.name, size.width + GAP - 6, NAME_FONT)  # the next column begins a gap further on
        texts.append(TextLine(x, y + size.height / 2 + 10, name, NAME_FONT, GREY))
    fill = "#ffffff" if item.shape == "circle" else FILLS.get(item.colour, FILLS["plain"])
    return Shape(
        item.key,
        item.name,
        item.shape,
        x,
        y,
        size.width,
        size.height,
        fill,
        flipped,
        item.double,
        item.title,
        tuple(texts),
        strokes_of(item, x, y),
    )


def label_texts(item: Item, x: float, y: float, width: float, flipped: bool) -> list[TextLine]:
    """What stands inside the shape."""
    if item.shape == "circle":
        return [] if item.signs else [TextLine(x, y, item.lines[0][:3], SECOND_FONT)]
    if item.shape == "oval":
        return [TextLine(x, y, item.lines[0], SECOND_FONT)]
    if item.shape == "triangle":
        return [TextLine(x + (0.12 if flipped else -0.12) * width, y, item.lines[0], SECOND_FONT)]
    y += (ICON_HEIGHT + ICON_GAP) / 2 if item.icon else 0.0
    if FRACTION_BAR in item.lines:
        top, _, bottom = item.lines
        return [TextLine(x, y - 10, top, FRACTION_FONT), TextLine(x, y + 11, bottom, FRACTION_FONT)]
    top_line = y - LINE_STEP * (len(item.lines) - 1) / 2
    fonts = [FIRST_FONT, *[SECOND_FONT] * len(item.lines)]
    return [TextLine(x, top_line + n * LINE_STEP, line, fonts[n]) for n, line in enumerate(item.lines)]


def strokes_of(item: Item, x: float, y: float) -> tuple[tuple[Point, ...], ...]:
    """The lines inside a box: its sign above the text, the bar of a fraction."""
    if item.shape != "box":
        return ()
    if FRACTION_BAR in item.lines:
        half = max(width_of(line, FRACTION_FONT) for line in item.lines if line != FRACTION_BAR) / 2 + 3
        return (((x - half, y), (x + half, y)),)
    text = LINE_STEP * (len(item.lines) - 1) / 2 + FIRST_FONT / 2
    left, foot = x - ICON_WIDTH / 2, y + (ICON_HEIGHT + ICON_GAP) / 2 - text - ICON_GAP
    return tuple(
        tuple((left + ICON_WIDTH * across, foot - ICON_HEIGHT * up) for across, up in polyline)
        for polyline in icon_lines(item.icon)
    )


def icon_lines(icon: str) -> list[list[Point]]:
    """The polylines of a block's `icon`: '0,0 0.5,1 1,0; 0,0 1,0'."""
    parts = [part.split() for part in icon.split(";") if part.strip()]
    return [[(float(x), float(y)) for x, y in (pair.split(",") for pair in part)] for part in parts]


def port_texts(where: Placement, item: Item, x: float, y: float) -> list[TextLine]:
    """Signs inside a circle, names of ports inside a box."""
    texts = []
    reach = CIRCLE / 2 - 6.5
    toward = {"W": (-reach, 0.0), "E": (reach, 0.0), "N": (0.0, -reach), "S": (0.0, reach)}
    for kind, ports in (("in", item.inputs), ("out", item.outputs)):
        for n, port in enumerate(ports):
            spot = where.spots[kind, item.key, n]
            if item.shape == "circle":
                sign = item.signs[n : n + 1].replace("-", "−") if kind == "in" else ""
                dx, dy = toward[spot.side]
                texts += [TextLine(x + dx, y + dy, sign, SIGN_FONT)] if sign else []
            elif port.label:
                side = -1 if spot.side == "W" else 1
                edge = x + side * (where.sizes[item.key].width / 2 - 4)
                colour, anchor = INK if item.signs else GREY, "end" if side > 0 else "start"
                texts.append(TextLine(edge, y + spot.offset, port.label, PORT_FONT, colour, anchor))
    return texts


def circle_name(item: Item, x: float, y: float, wires: list[Wire]) -> TextLine:
    """A circle's name goes into a corner that no wire passes."""
    below = TextLine(x, y + CIRCLE / 2 + 9, item.name, NAME_FONT, GREY)
    spots = [below]
    for dx, dy in ((-1, -1), (1, 1), (-1, 1), (1, -1)):
        spots.append(TextLine(x + dx * 8, y + dy * (CIRCLE / 2 + 6), item.name, NAME_FONT, GREY, "end" if dx < 0 else "start"))
    for spot in spots:
        left, top, right, bottom = text_area(spot)
        area = (left - 2, top - 1, right + 2, bottom + 1)
        if not any(touches(area, wire.points) for wire in wires):
            return spot
    return spots[1]


def touches(area: tuple[float, float, float, float], points: tuple[Point, ...]) -> bool:
    """Whether a polyline enters a rectangle."""
    left, top, right, bottom = area
    return any(
        min(a[0], b[0]) < right and max(a[0], b[0]) > left and min(a[1], b[1]) < bottom and max(a[1], b[1]) > top
        for a, b in itertools.pairwise(points)
    )


def frame(shapes: list[Shape]) -> Frame:
    """Around these blocks; its caption stands in the corner below left, lower where the name of a block is there."""
    boxes = [shape.box for shape in shapes]
    edges = (min(b[0] for b in boxes) - 14, min(b[1] for b in boxes) - 12, max(b[2] for b in boxes) + 14)
    close = Frame(*edges, max(b[3] for b in boxes) + 22, "after the run")
    names = [text_area(text) for shape in shapes for text in shape.texts]
    clear = not any(areas_meet(text_area(close.label()), area) for area in names)
    return close if clear else replace(close, bottom=close.bottom + NAME_FONT)


def text_area(text: TextLine) -> tuple[float, float, float, float]:
    """Left, top, right and bottom of a line of text."""
    wide = width_of(text.text, text.size)
    left = {"middle": text.x - wide / 2, "end": text.x - wide, "start": text.x}[text.anchor]
    return left, text.y - text.size / 2, left + wide, text.y + text.size / 2


def areas_meet(one: tuple[float, float, float, float], other: tuple[float, float, float, float]) -> bool:
    return one[0] < other[2] and other[0] < one[2] and one[1] < other[3] and other[1] < one[3]


def fit_page(picture: Picture) -> Picture:
    """Grow the page to what a frame or a long name needs on its right and below."""
    for f in picture.frames:
        picture.width, picture.height = max(picture.width, f.right + 10), max(picture.height, f.bottom + 10)
    return picture
