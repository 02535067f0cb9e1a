"""Picture -> SVG text: small, with real text, a tooltip for every block, and no outside resources."""

from __future__ import annotations

from html import escape

from .shapes import DOT, INK, LINE, THIN, Picture, Point, Shape, TextLine, Wire, arrowhead, corners, rounded

FONT = "DejaVu Sans, Verdana, Helvetica, Arial, sans-serif"


def svg_number(value: float) -> str:
    text = f"{value:.1f}"
    return text[:-2] if text.endswith(".0") else text


def pair(point: Point) -> str:
    return f"{svg_number(point[0])},{svg_number(point[1])}"


def picture_svg(picture: Picture) -> str:
    """The whole picture as one SVG element."""
    w, h = svg_number(picture.width), svg_number(picture.height)
    rows = [
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{w}" height="{h}" viewBox="0 0 {w} {h}" fill="{INK}" '
        f'font-family="{FONT}">',
        f"<title>{escape(picture.title)}</title>" if picture.title else "",
        f'<rect width="{w}" height="{h}" fill="#fff"/>',
    ]
    for f in picture.frames:
        rows.append(
            f'<rect x="{svg_number(f.left)}" y="{svg_number(f.top)}" width="{svg_number(f.right - f.left)}" '
            f'height="{svg_number(f.bottom - f.top)}" rx="8" fill="none" stroke="#bbb" stroke-dasharray="2 4"/>'
        )
        rows.append(text_svg(f.label()))
    rows.append(f'<g fill="none" stroke="{INK}" stroke-width="{LINE}">')
    rows += [wire_svg(wire, picture.dots) for wire in picture.wires]
    rows.append(f'</g><g fill="{INK}">')
    rows += ['<path d="M' + " ".join(pair(p) for p in arrowhead(wire.points)) + 'z"/>' for wire in picture.wires]
    rows += [f'<circle cx="{svg_number(x)}" cy="{svg_number(y)}" r="{DOT}"/>' for x, y in picture.dots]
    rows.append("</g>")
    rows += [shape_svg(shape) for shape in picture.shapes]
    rows += [text_svg(text) for text in picture.texts]
    return "\n".join(row for row in [*rows, "</svg>"] if row) + "\n"


def wire_svg(wire: Wire, dots: list[Point]) -> str:
    path = "".join(f"{pen}{pair(p)}" if pen else f" {pair(p)}" for pen, p in rounded(wire.points, dots))
    return f'<path d="{path}"' + (' stroke-dasharray="5 4"/>' if wire.dashed else "/>")


def shape_svg(shape: Shape) -> str:
    """A block: its tooltip, its outline, its texts."""
    style = f'fill="{shape.fill}" stroke="{INK}" stroke-width="{LINE}"'
    left, top, _, _ = shape.box
    x, y, w, h = (svg_number(v) for v in (left, top, shape.width, shape.height))
    if shape.kind == "circle":
        body = f'<circle cx="{svg_number(shape.x)}" cy="{svg_number(shape.y)}" r="{svg_number(shape.width / 2)}" {style}/>'
    elif shape.kind == "triangle":
        body = '<path d="M' + " ".join(pair(p) for p in corners(shape)) + f'z" {style} stroke-linejoin="round"/>'
    else:
        radius = shape.height / 2 if shape.kind == "oval" else 4
        body = f'<rect x="{x}" y="{y}" width="{w}" height="{h}" rx="{svg_number(radius)}" {style}/>'
    if shape.double:
        body += (
            f'<rect x="{svg_number(left + 3)}" y="{svg_number(top + 3)}" width="{svg_number(shape.width - 6)}" '
            f'height="{svg_number(shape.height - 6)}" rx="2" fill="none" stroke="{INK}" stroke-width="0.7"/>'
        )
    if shape.strokes:
        path = "".join("M" + " ".join(pair(p) for p in stroke) for stroke in shape.strokes)
        body += f'<path d="{path}" fill="none" stroke="{INK}" stroke-width="{THIN}" stroke-linejoin="round"/>'
    texts = "".join(text_svg(t) for t in shape.texts)
    return f'<g data-block="{escape(shape.key)}"><title>{escape(shape.title)}</title>{body}{texts}</g>'


def text_svg(text: TextLine) -> str:
    colour = "" if text.colour == INK else f' fill="{text.colour}"'
    anchor = "" if text.anchor == "start" else f' text-anchor="{text.anchor}"'
    return (
        f'<text x="{svg_number(text.x)}" y="{svg_number(text.baseline)}" font-size="{svg_number(text.size)}"{anchor}{colour}>'
        f"{escape(text.text)}</text>"
    )
