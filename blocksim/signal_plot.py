"""The picture of a source: its signal over time, how often it takes which value, and its spectrum."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import Any

import numpy as np

from .plots import COLOURS, save, suffix, thinned
from .signals import Analysis

WIDTH, HEIGHT = 10.0, 2.6
BINS = 40
#: Spectral lines below this share of the largest are not shown: rounding.
FLOOR = 1e-6


def plot_signals(found: Sequence[Analysis], title: str, path: str | os.PathLike[str] | None = None) -> Any:
    """One figure for a source, with a row for each of its outputs; with a path, also written as .svg, .png or .pdf."""
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    kind = suffix(path) if path is not None else ""
    rows: dict[str, list[Analysis]] = {}
    for one in found:
        rows.setdefault(one.name.partition("[")[0], []).append(one)
    figure = Figure(figsize=(WIDTH, HEIGHT * len(rows) + 0.5), layout="constrained")
    FigureCanvasAgg(figure)
    figure.suptitle(title, fontsize=10, parse_math=False)
    axes = figure.subplots(len(rows), 3, squeeze=False, width_ratios=(3, 1, 3))
    for (time, values, lines), (name, group) in zip(axes, rows.items(), strict=True):
        draw_row(time, values, lines, name, group)
    for axis, text in zip(axes[-1], ("time [s]", "share [%]", "frequency [Hz]"), strict=True):
        axis.set_xlabel(text, fontsize=9)
    for axis, text in zip(axes[0], ("signal", "distribution", "amplitude spectrum"), strict=True):
        axis.set_title(text, fontsize=9)
    if path is not None:
        save(figure, str(path), kind)
    return figure


def draw_row(time: Any, values: Any, lines: Any, name: str, group: list[Analysis]) -> None:
    """The signal, its distribution with the same vertical axis, and its spectrum."""
    unit = f" [{group[0].unit}]" if group[0].unit else ""
    for one, colour in zip(group, COLOURS * len(group), strict=False):
        t, y = thinned(one.t, one.values)
        label = f"{one.name.removeprefix(name) or 'crest factor'} {one.crest_factor:.2f}"
        time.plot(t, y, color=colour, linewidth=0.9, drawstyle="steps-post" if one.hold else "default", label=label)
        share, edges = np.histogram(one.values[:-1], bins=BINS)
        values.stairs(100.0 * share / share.sum(), edges, orientation="horizontal", fill=len(group) == 1, color=colour)
        draw_spectrum(lines, one, colour)
    time.set_ylabel(name + unit, fontsize=9, parse_math=False)
    values.sharey(time)
    values.tick_params(labelleft=False)
    lines.set_ylabel(unit.strip(), fontsize=9, parse_math=False)
    for axis in (time, values, lines):
        axis.grid(True, linewidth=0.4, color="#dddddd")
        axis.set_axisbelow(True)
        axis.tick_params(labelsize=8)
        for side in ("top", "right"):
            axis.spines[side].set_visible(False)
    time.margins(x=0.01)
    if len(group) > 1:
        time.legend(fontsize=8, frameon=False, title="crest factor", title_fontsize=8, loc="upper right")


def draw_spectrum(axis: Any, one: Analysis, colour: str) -> None:
    """Amplitudes over frequency, both logarithmic, and the bandwidth as a dotted line."""
    frequency, amplitude = one.frequency[1:], one.amplitude[1:]
    axis.set_xscale("log")
    top = amplitude.max(initial=0.0)
    if not top > 0:
        return
    shown = amplitude > FLOOR * top
    axis.set_yscale("log")
    few = np.count_nonzero(shown) < 0.5 * len(shown)
    axis.plot(frequency[shown], amplitude[shown], color=colour, linewidth=0.7, linestyle="none" if few else "-",
              marker="." if few else "", markersize=3)
    axis.axvline(one.bandwidth, color=colour, linewidth=0.8, linestyle=":")
