"""The drawn diagram in the page: the picture of `draw`, its blocks and wires in groups that a click or a test finds."""

from __future__ import annotations

from html import escape
from typing import TYPE_CHECKING, Any

from ..diagram.diagram import kind
from ..pictures.diagram.layout import layout
from ..pictures.diagram.shapes import DOT, LINE, Picture, arrowhead
from ..pictures.diagram.svg import pair, shape_svg, svg_number, text_svg, wire_svg

if TYPE_CHECKING:
    from ..diagram.diagram import Diagram


def diagram_svg(diagram: Diagram) -> str:
    """The picture of a diagram, complete or not, as an SVG element for the page; its colours are the page's to change."""
    return page_svg(layout(diagram))


def page_svg(picture: Picture) -> str:
    """Frames, wires and blocks, in this order; a wire is one group with its arrow and the ports it joins."""
    width, height = svg_number(picture.width), svg_number(picture.height)
    rows = [
        f'<svg xmlns="http://www.w3.org/2000/svg" class="diagram" data-testid="diagram" viewBox="0 0 {width} {height}" '
        f'data-width="{width}" data-height="{height}" role="group" aria-label="{escape(picture.title or "diagram")}">'
    ]
    for f in picture.frames:
        rows.append(
            f'<rect class="frame" x="{svg_number(f.left)}" y="{svg_number(f.top)}" width="{svg_number(f.right - f.left)}" '
            f'height="{svg_number(f.bottom - f.top)}" rx="8"/>'
        )
        rows.append(text_svg(f.label()))
    for wire in picture.wires:
        ends = {"from": ".".join(wire.source), "to": ".".join(wire.target)}
        data = " ".join(f'data-{name}="{escape(text)}"' for name, text in ends.items())
        head = "M" + " ".join(pair(p) for p in arrowhead(wire.points)) + "z"
        line = f'<g fill="none" stroke-width="{LINE}">{wire_svg(wire, picture.dots)}</g>'
        rows.append(f'<g class="wire" {data}>{line}<path class="arrow" d="{head}"/></g>')
    rows += [f'<circle class="dot" cx="{svg_number(x)}" cy="{svg_number(y)}" r="{DOT}"/>' for x, y in picture.dots]
    for shape in picture.shapes:
        name = escape(shape.key)
        words = escape(f"block {shape.key}")
        rows.append(
            f'<g class="block" data-block="{name}" data-testid="block-{name}" tabindex="0" role="button" aria-label="{words}" '
            f'data-box="{" ".join(svg_number(v) for v in shape.box)}">{shape_svg(shape)}</g>'
        )
    return "\n".join([*rows, *(text_svg(text) for text in picture.texts), "</svg>"])


def blocks_data(diagram: Diagram) -> list[dict[str, Any]]:
    """Every block of the diagram: its name, its type, the line it stands on."""
    return [
        {"name": node.name, "type": kind(node.block), "line": node.place.line if node.place else 0}
        for node in diagram.nodes.values()
    ]
