"""Picture -> PNG or PDF, drawn with matplotlib's canvases from the same geometry as the SVG."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from .shapes import DOT, INK, LINE, THIN, Picture, Shape, TextLine, arrowhead, corners, rounded

if TYPE_CHECKING:
    from matplotlib.axes import Axes

#: Pixels of a picture per inch, points per pixel, and dots per inch of a PNG (two per pixel).
PER_INCH, POINT, DPI = 96.0, 0.75, 192


def save_figure(picture: Picture, path: str, kind: str) -> None:
    """Write the picture; the same picture gives the same bytes."""
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    figure = Figure(figsize=(picture.width / PER_INCH, picture.height / PER_INCH), facecolor="white")
    FigureCanvasAgg(figure)
    axes = figure.add_axes((0.0, 0.0, 1.0, 1.0))
    axes.set_xlim(0, picture.width)
    axes.set_ylim(picture.height, 0)
    axes.axis("off")
    draw_wires(axes, picture)
    for shape in picture.shapes:
        draw_shape(axes, shape)
        for text in shape.texts:
            draw_text(axes, text)
    for text in [*picture.texts, *(f.label() for f in picture.frames)]:
        draw_text(axes, text)
    figure.savefig(path, format=kind, dpi=DPI, metadata={"CreationDate": None} if kind == "pdf" else None)


def draw_wires(axes: Axes, picture: Picture) -> None:
    from matplotlib.patches import Circle, FancyBboxPatch, PathPatch, Polygon
    from matplotlib.path import Path

    pens = {"M": Path.MOVETO, "L": Path.LINETO, "Q": Path.CURVE3, "": Path.CURVE3}
    for f in picture.frames:
        axes.add_patch(
            FancyBboxPatch(
                (f.left + 8, f.top + 8),
                f.right - f.left - 16,
                f.bottom - f.top - 16,
                "round,pad=8",
                facecolor="none",
                edgecolor="#bbbbbb",
                linewidth=POINT,
                linestyle=(0, (2, 4)),
            )
        )
    for wire in picture.wires:
        strokes = rounded(wire.points, picture.dots)
        path = Path([p for _, p in strokes], [pens[pen] for pen, _ in strokes])
        axes.add_patch(
            PathPatch(
                path,
                facecolor="none",
                edgecolor=INK,
                linewidth=LINE * POINT,
                linestyle=(0, (3.6, 2.9)) if wire.dashed else "-",
                capstyle="butt",
            )
        )
        axes.add_patch(Polygon(arrowhead(wire.points), facecolor=INK, edgecolor="none"))
    for dot in picture.dots:
        axes.add_patch(Circle(dot, DOT, facecolor=INK, edgecolor="none"))


def draw_shape(axes: Axes, shape: Shape) -> None:
    from matplotlib.patches import Circle, FancyBboxPatch, Polygon

    left, top, _, _ = shape.box
    style: dict[str, Any] = {"facecolor": shape.fill, "edgecolor": INK, "linewidth": LINE * POINT}

    def box(inset: float, radius: float, **looks: Any) -> None:
        pad = inset + radius
        axes.add_patch(
            FancyBboxPatch(
                (left + pad, top + pad),
                shape.width - 2 * pad,
                shape.height - 2 * pad,
                f"round,pad={radius},rounding_size={radius}",
                **looks,
            )
        )

    if shape.kind == "circle":
        axes.add_patch(Circle((shape.x, shape.y), shape.width / 2, **style))
    elif shape.kind == "triangle":
        axes.add_patch(Polygon(corners(shape), joinstyle="round", **style))
    else:
        box(0, shape.height / 2 - 0.01 if shape.kind == "oval" else 4, **style)
    if shape.double:
        box(3, 2, facecolor="none", edgecolor=INK, linewidth=0.7 * POINT)
    for stroke in shape.strokes:
        axes.plot(*zip(*stroke, strict=True), color=INK, linewidth=THIN * POINT, solid_joinstyle="round")


def draw_text(axes: Axes, text: TextLine) -> None:
    align = {"start": "left", "middle": "center", "end": "right"}[text.anchor]
    axes.text(
        text.x,
        text.baseline,
        text.text,
        fontsize=text.size * POINT,
        color=text.colour,
        ha=align,
        va="baseline",
        family="DejaVu Sans",
        parse_math=False,
    )
