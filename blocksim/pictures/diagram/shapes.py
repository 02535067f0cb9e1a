"""What a picture is made of: shapes, wires, dots and texts in pixels, y growing downwards. Every renderer draws just these."""

from __future__ import annotations

from dataclasses import dataclass, field

Point = tuple[float, float]

INK = "#2f2f2f"
GREY = "#858585"
FILLS = {"source": "#eef7ee", "plant": "#eaf2fc", "plain": "#f5f5f5", "sink": "#fdf3e2", "record": "#f3eefa"}
LINE = 1.4
THIN = 1.2
CORNER = 5.0
ARROW = (10.0, 4.2)
DOT = 2.8


@dataclass(frozen=True)
class TextLine:
    """One line of text; (x, y) is the middle of its height, at its start, middle or end."""

    x: float
    y: float
    text: str
    size: float
    colour: str = INK
    anchor: str = "middle"

    @property
    def baseline(self) -> float:
        return self.y + 0.36 * self.size


@dataclass(frozen=True)
class Shape:
    """A block: 'box', 'circle', 'triangle' or 'oval' around (x, y)."""

    key: str
    name: str
    kind: str
    x: float
    y: float
    width: float
    height: float
    fill: str
    flipped: bool = False
    double: bool = False
    title: str = ""
    texts: tuple[TextLine, ...] = ()
    strokes: tuple[tuple[Point, ...], ...] = ()  # its sign, the bar of a fraction

    @property
    def box(self) -> tuple[float, float, float, float]:
        """left, top, right, bottom."""
        return self.x - self.width / 2, self.y - self.height / 2, self.x + self.width / 2, self.y + self.height / 2


@dataclass(frozen=True)
class Wire:
    """An orthogonal polyline from a block's output, or from a branch of its wire, to an input of another."""

    points: tuple[Point, ...]
    source: tuple[str, str]
    target: tuple[str, str]
    dashed: bool = False


@dataclass(frozen=True)
class Frame:
    """A dashed frame behind a group of blocks, with a caption."""

    left: float
    top: float
    right: float
    bottom: float
    caption: str

    def label(self) -> TextLine:
        return TextLine(self.left + 8, self.bottom - 8, self.caption, 9, GREY, "start")


@dataclass
class Picture:
    """Everything to draw, on a page of this size."""

    width: float
    height: float
    title: str = ""
    shapes: list[Shape] = field(default_factory=list)
    wires: list[Wire] = field(default_factory=list)
    dots: list[Point] = field(default_factory=list)
    texts: list[TextLine] = field(default_factory=list)
    frames: list[Frame] = field(default_factory=list)


def rounded(points: tuple[Point, ...], dots: list[Point]) -> list[tuple[str, Point]]:
    """A polyline as pen strokes: ('M', p), ('L', p), and for a round corner ('Q', corner) and ('', end). Sharp at dots."""
    strokes: list[tuple[str, Point]] = [("M", points[0])]
    for before, corner, after in zip(points, points[1:], points[2:], strict=False):
        if corner in dots:
            strokes.append(("L", corner))
            continue
        r = min(CORNER, distance(before, corner) / 2, distance(corner, after) / 2)
        strokes += [("L", toward(corner, before, r)), ("Q", corner), ("", toward(corner, after, r))]
    return [*strokes, ("L", points[-1])]


def arrowhead(points: tuple[Point, ...]) -> tuple[Point, Point, Point]:
    """The triangle at a wire's end."""
    length, half = ARROW
    (x, y), (bx, by) = points[-1], toward(points[-1], points[-2], length)
    ux, uy = (x - bx) / length, (y - by) / length
    return (x, y), (bx - uy * half, by + ux * half), (bx + uy * half, by - ux * half)


def corners(shape: Shape) -> list[Point]:
    """The three corners of a triangle, its tip last."""
    left, top, right, bottom = shape.box
    base, tip = (right, left) if shape.flipped else (left, right)
    return [(base, top), (base, bottom), (tip, shape.y)]


def distance(a: Point, b: Point) -> float:
    return abs(a[0] - b[0]) + abs(a[1] - b[1])


def toward(a: Point, b: Point, step: float) -> Point:
    """The point this far from a on the way to b, along an axis."""
    length = distance(a, b) or 1.0
    return a[0] + (b[0] - a[0]) * step / length, a[1] + (b[1] - a[1]) * step / length
