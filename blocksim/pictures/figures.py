"""Figures that show themselves in a notebook, with pyplot or without it."""

from __future__ import annotations

import functools
import io
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from matplotlib.figure import Figure

#: Dots per inch of a picture in a notebook.
NOTEBOOK_DPI = 110


@functools.cache
def figure_class() -> type[Figure]:
    """matplotlib's Figure with a picture of its own; made when first asked for, as importing matplotlib takes long."""
    from matplotlib.figure import Figure

    class ShownFigure(Figure):
        """A matplotlib Figure that a notebook draws when it is the value of a cell."""

        def _repr_png_(self) -> bytes:
            data = io.BytesIO()
            self.savefig(data, format="png", dpi=NOTEBOOK_DPI)
            return data.getvalue()

    ShownFigure.__qualname__ = ShownFigure.__name__ = "Figure"
    return ShownFigure


def blank_figure(width: float, height: float, **options: Any) -> Figure:
    """An empty figure of this size in inches, on a canvas that needs no window."""
    from matplotlib.backends.backend_agg import FigureCanvasAgg

    figure = figure_class()(figsize=(width, height), **options)
    FigureCanvasAgg(figure)
    return figure
