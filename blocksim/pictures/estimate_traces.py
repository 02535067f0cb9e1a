"""Estimates over time: what blocks that estimate while they run say from sample to sample, beside the truth.

plot_traces(record, "rpem", "traces.png")            one panel for each parameter
plot_traces(record, ["ekf", "rls"])                  several estimators of one plant in the same panels
plot_traces(record, "rpem", until=0.5)               the first half second
"""

from __future__ import annotations

import math
import os
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from ..errors import RecordError, listing
from ..notation import unit_label
from ..records.record import Record
from .estimate_plot import TRUTH_COLOUR
from .figures import blank_figure
from .palette import looks_of
from .plots import suffix, thinned, write_figure

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from ..contract.arrays import FloatArray

#: As the thesis draws it: lines 5 % to either side of the truth.
BAND = 0.05
COLUMN, PANEL_HEIGHT = 4, 1.75
#: An axis shows all that comes after this share of the time, and no more than so many truths.
TRANSIENT, MOST_TRUTHS = 0.1, 3.0
#: Standard deviations are shaded to either side so many times.
SHADED = 2.0


@dataclass(frozen=True)
class EstimateTrace:
    """One parameter as one block sees it over time."""

    block: str
    t: FloatArray
    values: FloatArray
    std: FloatArray


def plot_traces(
    record: Record, blocks: str | Sequence[str] | None = None, path: str | os.PathLike[str] | None = None,
    parameters: Sequence[str] | None = None, until: float | None = None,
) -> Figure:  # fmt: skip
    """Draw estimates over time with the truth, 5 % to either side of it, and two standard deviations shaded. Returns the Figure.

    `blocks` are all that estimate while they run unless named; `parameters` all that they estimate; `until` a time that ends it.
    """

    kind = suffix(path) if path is not None else ""
    names = [blocks] if isinstance(blocks, str) else list(blocks or traced(record))
    check_blocks(record, names)
    panels = list(dict.fromkeys(p for block in names for p in record.estimates[block] if parameters is None or p in parameters))
    columns = max(1, -(-len(panels) // COLUMN))
    rows = max(1, -(-len(panels) // columns))
    figure = blank_figure(8.0 if columns == 1 else 5.2 * columns, PANEL_HEIGHT * rows + 0.7, layout="constrained")
    axes = figure.subplots(rows, columns, sharex=True, squeeze=False)
    for n in range(rows * columns):
        spot = axes[n % rows][n // rows]
        if n < len(panels):
            draw_panel(spot, record, panels[n], names, until)
        spot.set_visible(n < len(panels))
        if n % rows == rows - 1 or n == len(panels) - 1:
            spot.set_xlabel("time [s]", fontsize=9)
            spot.tick_params(labelbottom=True)
    name_blocks(figure, record, names)
    if path is not None:
        write_figure(figure, str(path), kind)
    return figure


def traced(record: Record) -> list[str]:
    """The blocks whose estimates over time are in the record."""
    return [block for block in record.estimates if f"{block}.theta" in record and f"{block}.std" in record]


def check_blocks(record: Record, names: Sequence[str]) -> None:
    have = traced(record)
    for name in names:
        if name not in have:
            raise RecordError(f"the record has no estimates of '{name}' over time. It has those of: {listing(have) or 'none'}.")
    if not names:
        raise RecordError(
            "the record has no estimates over time: no block in it estimates while it runs, or theta was not logged."
        )


def estimate_trace(record: Record, block: str, parameter: str, until: float | None = None) -> EstimateTrace:
    at = list(record.estimates[block]).index(parameter)
    count = len(record.estimates[block])
    theta, std = (record[f"{block}.{port}"].reshape(len(record.time(f"{block}.theta")), -1) for port in ("theta", "std"))
    t = record.time(f"{block}.theta")
    samples = slice(None) if until is None else t <= until
    return EstimateTrace(block, t[samples], theta[samples, at], std[samples, at - count])


def draw_panel(axes: Axes, record: Record, parameter: str, blocks: Sequence[str], until: float | None) -> None:
    """One parameter: a colour for each block, the truth dotted, its band dash-dotted as in the thesis."""
    looks = looks_of(record.estimates)
    traces = [estimate_trace(record, block, parameter, until) for block in blocks if parameter in record.estimates[block]]
    estimates = [record.estimates[one.block][parameter] for one in traces]
    truth = next((e.truth for e in estimates if math.isfinite(e.truth)), math.nan)
    low, high = axis_span(traces, truth)
    for one in traces:
        colour = looks[one.block].colour
        t, values = thinned(one.t, one.values)
        std = np.interp(t, one.t, one.std)
        far = 10.0 * (high - low)
        axes.fill_between(
            t, np.clip(values - SHADED * std, low - far, high + far), np.clip(values + SHADED * std, low - far, high + far),
            color=colour, alpha=0.15, linewidth=0,
        )  # fmt: skip
        axes.plot(t, values, color=colour, linewidth=1.1)
    if math.isfinite(truth):
        axes.axhline(truth, color=TRUTH_COLOUR, linewidth=1.0, linestyle=":")
        for side in (1 - BAND, 1 + BAND):
            axes.axhline(side * truth, color=TRUTH_COLOUR, linewidth=0.6, linestyle="-.")
    axes.set_ylim(low, high)
    unit = estimates[0].unit
    axes.set_ylabel(f"{parameter} [{unit_label(unit)}]" if unit else parameter, fontsize=9, parse_math=False)
    axes.grid(True, linewidth=0.4, color="#dddddd")
    axes.set_axisbelow(True)
    axes.tick_params(labelsize=8)
    axes.margins(x=0.01)
    for side_name in ("top", "right"):
        axes.spines[side_name].set_visible(False)


def axis_span(traces: Sequence[EstimateTrace], truth: float) -> tuple[float, float]:
    """The span of an axis: the estimates once the first transients are over, the truth and its band, and not much else."""
    late = np.concatenate([one.values[int(TRANSIENT * len(one.values)) :] for one in traces])
    first = [one.values[0] for one in traces]
    reach = [*np.quantile(late, [0.005, 0.995]), *first]
    if math.isfinite(truth):
        reach += [truth * (1 - 2 * BAND), truth * (1 + 2 * BAND)]
        if truth:
            reach = [min(max(v, truth - MOST_TRUTHS * abs(truth)), truth + MOST_TRUTHS * abs(truth)) for v in reach]
    low, high = float(min(reach)), float(max(reach))
    margin = 0.08 * (high - low) or 0.1 * abs(high) or 1.0
    return low - margin, high + margin


def name_blocks(figure: Figure, record: Record, blocks: Sequence[str]) -> None:
    from matplotlib.lines import Line2D

    looks = looks_of(record.estimates)
    handles = [Line2D([], [], color=looks[block].colour, linewidth=1.5) for block in blocks]
    labels = [f"{block} ({record.estimates[block].method})" for block in blocks]
    if any(math.isfinite(e.truth) for block in blocks for e in record.estimates[block].values()):
        handles += [
            Line2D([], [], color=TRUTH_COLOUR, linestyle=":"),
            Line2D([], [], color=TRUTH_COLOUR, linestyle="-.", linewidth=0.6),
        ]
        labels += ["truth", "5 % off"]
    legend = figure.legend(handles, labels, fontsize=8, frameon=False, ncols=len(labels), loc="outside upper center")
    for text, label in zip(legend.get_texts(), labels, strict=True):
        text.set_parse_math(False)
        text.set_text(label)
