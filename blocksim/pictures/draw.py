"""The picture of a diagram, from the diagram alone: no coordinates in the file, no browser, no system package.

draw(diagram, "servo.svg")      # or .png, .pdf; the diagram may also be a path, a bundled name or YAML text
text = draw_svg(diagram)
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING

from ..errors import BlocksimError, listing

if TYPE_CHECKING:
    from ..diagram.build import DiagramSource

PICTURE_KINDS = ("svg", "png", "pdf")


def draw_svg(diagram: DiagramSource) -> str:
    """The picture of a Diagram, or of whatever names one, as SVG text; an incomplete Diagram is drawn as far as it goes."""
    from ..diagram.build import open_diagram
    from .diagram.layout import layout
    from .diagram.svg import picture_svg

    return picture_svg(layout(open_diagram(diagram)))


def draw(diagram: DiagramSource, path: str | os.PathLike[str]) -> None:
    """Write the picture to a file; its suffix says how: .svg, .png or .pdf."""
    kind = Path(path).suffix.lower().lstrip(".")
    if kind not in PICTURE_KINDS:
        raise BlocksimError(f"cannot draw '{path}'. A picture's name ends in: {listing('.' + k for k in PICTURE_KINDS)}.")
    if kind == "svg":
        Path(path).write_text(draw_svg(diagram), encoding="utf-8")
        return
    from ..diagram.build import open_diagram
    from .diagram.layout import layout
    from .diagram.raster import save_figure

    save_figure(layout(open_diagram(diagram)), str(path), kind)
