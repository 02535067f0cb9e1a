"""Pictures of a validation: each signal measured and by the model, with what is left between them below."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from ..estimation.validation import SignalFit, Validation
from ..notation import unit_label
from .figures import blank_figure
from .palette import COLOURS
from .plots import FIGURE_WIDTH, suffix, thinned, write_figure

if TYPE_CHECKING:
    import numpy as np
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

MEASURED_COLOUR, RESIDUAL_COLOUR = "#9a9a9a", "#444444"
UNCOUNTED_COLOUR = "#ececec"
SIGNAL_HEIGHT = 2.5


def plot_validation(source: Validation, path: str | os.PathLike[str] | None = None, name: str = "") -> Figure:
    """Two axes for each scalar signal: both curves, and their difference on its own scale. Returns the Figure.

    `name` is that of the model, where several are judged.
    """
    kind = suffix(path) if path is not None else ""
    panels = [(label, entry, column) for entry in source.entries for label, column in scalar_panels(entry)]
    figure = blank_figure(FIGURE_WIDTH, SIGNAL_HEIGHT * max(len(panels), 1) + 0.6, layout="constrained")
    ratios = [2.2, 1.0] * len(panels)
    axes = figure.subplots(len(ratios), 1, sharex=True, squeeze=False, gridspec_kw={"height_ratios": ratios})[:, 0]
    for n, (label, entry, column) in enumerate(panels):
        draw_signal(axes[2 * n], label, entry, column, first=n == 0)
        draw_residual(axes[2 * n + 1], entry, column)
    axes[-1].set_xlabel("time [s]", fontsize=9)
    title = source.title().partition("; there")[0]  # those scores are in the table
    figure.suptitle(f"{name}: {title}" if name else title, fontsize=9, x=0.01, ha="left", parse_math=False)
    if path is not None:
        write_figure(figure, str(path), kind)
    return figure


def scalar_panels(entry: SignalFit) -> list[tuple[str, int]]:
    width = entry.measured.reshape(len(entry.t), -1).shape[1]
    return [(entry.name if width == 1 else f"{entry.name}[{k}]", k) for k in range(width)]


def columns_of(entry: SignalFit, values: np.ndarray, k: int) -> np.ndarray:
    return values.reshape(len(entry.t), -1)[:, k]


def draw_signal(axes: Axes, label: str, entry: SignalFit, k: int, first: bool) -> None:
    """Measured behind, the model in front, with the fit in words."""
    shade_uncounted(axes, entry, k)
    for values, colour, width, name in (
        (entry.measured, MEASURED_COLOUR, 2.2, "measured"),
        (entry.model, COLOURS[0], 1.0, "model"),
    ):
        axes.plot(*thinned(entry.t, columns_of(entry, values, k)), color=colour, linewidth=width, label=name)
    axes.set_ylabel(f"{label}\n[{unit_label(entry.unit)}]" if entry.unit else label, fontsize=8, parse_math=False)
    score = f"fit {100 * entry.fit:.2f} %, relative error {100 * entry.relative_error:.3g} %"
    axes.set_title(score, fontsize=8, loc="right", color=RESIDUAL_COLOUR)
    if first:
        axes.legend(fontsize=8, frameon=False, loc="lower left", bbox_to_anchor=(0.0, 1.0), borderaxespad=0.1, ncols=3)
    tidy_axes(axes)


def draw_residual(axes: Axes, entry: SignalFit, k: int) -> None:
    shade_uncounted(axes, entry, k)
    axes.plot(*thinned(entry.t, columns_of(entry, entry.residual, k)), color=RESIDUAL_COLOUR, linewidth=0.8)
    axes.axhline(0.0, color="#dddddd", linewidth=0.8, zorder=0)
    axes.set_ylabel("residual" + (f"\n[{unit_label(entry.unit)}]" if entry.unit else ""), fontsize=8, parse_math=False)
    tidy_axes(axes)


def shade_uncounted(axes: Axes, entry: SignalFit, k: int) -> None:
    """Rows that are in no score, as they were in no fit, on grey ground."""
    if entry.counted is None or entry.counted.all():
        return
    left_out = ~columns_of(entry, entry.counted, k)
    axes.fill_between(
        entry.t, 0, 1, where=left_out, step="post", transform=axes.get_xaxis_transform(), color=UNCOUNTED_COLOUR,
        linewidth=0, zorder=0, label="not counted: at rest",
    )  # fmt: skip


def tidy_axes(axes: Axes) -> None:
    axes.grid(True, linewidth=0.4, color="#dddddd")
    axes.set_axisbelow(True)
    axes.tick_params(labelsize=8)
    axes.margins(x=0.01)
    for side in ("top", "right"):
        axes.spines[side].set_visible(False)
