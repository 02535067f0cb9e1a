"""The picture of a source: its signal over time, how often it takes which value, and its spectrum."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from ..diagram.diagram import Diagram, kind, walk
from ..notation import unit_label
from ..running.signals import Analysis
from .figures import blank_figure
from .palette import COLOURS
from .plots import suffix, thinned, write_figure

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

SHEET_WIDTH, SHEET_ROW_HEIGHT = 10.0, 2.6
BINS = 40
#: Spectral lines below this share of the largest are not shown: rounding.
SPECTRUM_FLOOR = 1e-6
#: What is above this share of the largest and has nothing around it is a line by itself.
DISTINCT = 1e-2
#: A signal that turns more often than this would be a filled area: only its first turns are shown.
MOST_TURNS, FIRST_TURNS = 500, 120


def plot_signals(analyses: Sequence[Analysis], title: str, path: str | os.PathLike[str] | None = None) -> Figure:
    """One figure for a source, with a row for each of its outputs; with a path, also written as .svg, .png or .pdf."""

    kind = suffix(path) if path is not None else ""
    rows: dict[str, list[Analysis]] = {}
    for one in analyses:
        rows.setdefault(one.name.partition("[")[0], []).append(one)
    figure = blank_figure(SHEET_WIDTH, SHEET_ROW_HEIGHT * len(rows) + 0.5, layout="constrained")
    figure.suptitle(title, fontsize=10, parse_math=False)
    axes = figure.subplots(len(rows), 3, squeeze=False, sharex="col", width_ratios=(3, 1, 3))
    for (time, values, lines), (name, group) in zip(axes, rows.items(), strict=True):
        draw_row(time, values, lines, name, group)
    for axis, text in zip(axes[-1], ("time [s]", "share [%]", "frequency [Hz]"), strict=True):
        axis.set_xlabel(text, fontsize=9)
    start, end = float(analyses[0].t[0]), max(map(shown_until, analyses))
    axes[0][0].set_xlim(start, end)
    heading = "signal" if end >= analyses[0].t[-1] else f"signal, its first {end - start:.2g} s"
    for axis, text in zip(axes[0], (heading, "distribution", "amplitude spectrum"), strict=True):
        axis.set_title(text, fontsize=9)
    if path is not None:
        write_figure(figure, str(path), kind)
    return figure


def write_figures(diagram: Diagram, analyses: dict[str, list[Analysis]], path: Path) -> list[str]:
    """A figure for each block: under the name given, with the block's own in it where there are several."""
    from ..records.writing import writing

    names = []
    blocks = dict(walk(diagram))
    for name, group in analyses.items():
        own = path if len(analyses) == 1 else path.with_stem(f"{path.stem}_{name.replace('.', '_')}")
        node = blocks.get(name)
        title = name if node is None else f"{name}: {kind(node.block)}"
        title += f"\n{signal_summary(group[0])}" if len(group) == 1 else ""
        with writing(own):
            plot_signals(group, title, own)
        names.append(str(own))
    return names


def draw_row(time: Any, values: Any, lines: Any, name: str, group: list[Analysis]) -> None:
    """The signal, its distribution with the same vertical axis, and its spectrum."""
    unit = f" [{unit_label(group[0].unit)}]" if group[0].unit else ""
    for one, colour in zip(group, COLOURS * len(group), strict=False):
        until = one.t <= shown_until(one)
        t, y = thinned(one.t[until], one.values[until])
        label = f"{one.name.removeprefix(name)} {one.crest_factor:.2f}"
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
    if len(group) > 1:
        time.legend(fontsize=8, frameon=False, title="crest factor", title_fontsize=8, loc="upper right")


def shown_until(one: Analysis) -> float:
    """The end of the signal, or of its first turns where it has too many to be seen."""
    rise = np.sign(np.diff(one.values))
    moving = np.flatnonzero(rise)
    turns = moving[1:][np.diff(rise[moving]) != 0]
    return float(one.t[-1] if len(turns) <= MOST_TURNS else one.t[turns[FIRST_TURNS]])


def draw_spectrum(axis: Axes, one: Analysis, colour: str) -> None:
    """Amplitudes over frequency, both logarithmic, a signal of few lines as lines; dotted, where 95 % of the power is reached."""
    from matplotlib.ticker import FuncFormatter, LogLocator, NullFormatter

    frequency, amplitude = one.frequency[1:], one.amplitude[1:]
    axis.set_xscale("log")
    axis.xaxis.set_major_locator(LogLocator(subs=(1.0, 2.0, 5.0)))
    axis.xaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))
    axis.xaxis.set_minor_formatter(NullFormatter())
    top = amplitude.max(initial=0.0)
    if not top > 0:
        return
    axis.set_yscale("log")
    peaks = amplitude > SPECTRUM_FLOOR * top
    low = amplitude[peaks].min()
    if np.count_nonzero(peaks) < 0.5 * len(peaks) and low > DISTINCT * top:
        axis.vlines(frequency[peaks], SPECTRUM_FLOOR * top, amplitude[peaks], color=colour, linewidth=0.9)
        axis.plot(frequency[peaks], amplitude[peaks], ".", color=colour, markersize=4)
        axis.set_ylim(0.1 * DISTINCT * top, 3.0 * top)
    else:
        axis.plot(frequency[peaks], amplitude[peaks], color=colour, linewidth=0.7)
    axis.axvline(one.bandwidth, color=colour, linewidth=0.9, linestyle=":")


def signal_summary(one: Analysis) -> str:
    unit = f" {one.unit}" if one.unit else ""
    return (
        f"peak {one.peak:.3g}{unit}, rms {one.rms:.3g}{unit}, crest factor {one.crest_factor:.2f}, "
        f"95 % of the power below {one.bandwidth:.3g} Hz"
    )
