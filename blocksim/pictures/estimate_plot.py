"""Pictures of estimates: every parameter with its 95 % interval, divided by the truth so that all share an axis.

Numbers of a search that did not converge are no estimates: its identifier is named and not drawn.

plot_estimates(record.estimates, "estimates.png")   identifiers of one plant side by side
"""

from __future__ import annotations

import math
import os
from collections.abc import Mapping
from typing import TYPE_CHECKING

from ..estimation.estimates import Estimate, Estimates
from ..notation import concise, unit_label
from ..records.record import Record
from .figures import blank_figure
from .palette import Look, looks_of
from .plots import FIGURE_WIDTH, suffix, write_figure

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

ROW = 0.26
#: What lies further out than this, in truths, is drawn at the edge with its value.
FARTHEST = 1.0
LEAST = 0.02
#: What reaches so many times further than the middle one of all is no measure for the axis.
OUTLYING = 4.0
#: Letters that a line of the legend holds, and those that the mark of a name takes.
LEGEND_LINE, LEGEND_KEY = 84, 7
TRUTH_COLOUR = "#444444"


def plot_estimates(source: Record | Mapping[str, Estimates], path: str | os.PathLike[str] | None = None) -> Figure:
    """One axis for each plant, a row for each of its parameters, a colour for each identifier. Returns the Figure."""

    kind = suffix(path) if path is not None else ""
    groups: dict[str, dict[str, Estimates]] = {}
    by_identifier = source.estimates if isinstance(source, Record) else source
    looks = looks_of(by_identifier)
    for name, estimates in by_identifier.items():
        groups.setdefault(plant_drawn(estimates, by_identifier), {})[name] = estimates
    heights = [sum(1 for e in group.values() for _ in e) + len(names_of(group)) + 2.5 for group in groups.values()] or [4]
    figure = blank_figure(FIGURE_WIDTH, max(2.2, ROW * sum(heights) * 0.72 + 0.5), layout="constrained")
    if not groups:
        figure.text(0.5, 0.5, "no estimates", ha="center", va="center", color="#858585")
    else:
        axes = figure.subplots(len(groups), 1, squeeze=False, gridspec_kw={"height_ratios": heights})[:, 0]
        for spot, (model, group) in zip(axes, groups.items(), strict=True):
            draw_group(spot, model, group, looks)
    if path is not None:
        write_figure(figure, str(path), kind)
    return figure


def plant_drawn(estimates: Estimates, every: Mapping[str, Estimates]) -> str:
    """The plant of estimates. Of a measured record some do not name it: it is the one that others found the same names of."""
    others = {one.model for one in every.values() if one.model and set(one) & set(estimates)}
    return estimates.model or (others.pop() if len(others) == 1 else "")


def percent_label(x: float, middle: str) -> str:
    """A place on the axis in words: how far from the truth."""
    percent = 100 * (x - 1)
    return middle if abs(percent) < 1e-9 else f"{percent:+.3g} %".replace("-", "−")


def names_of(group: Mapping[str, Estimates]) -> list[str]:
    return list(dict.fromkeys(name for estimates in group.values() for name in estimates))


def draw_group(axes: Axes, model: str, group: Mapping[str, Estimates], looks: Mapping[str, Look]) -> None:
    """The parameters of one plant, from top to bottom as the identifiers name them."""
    true = any(math.isfinite(e.truth) for estimates in group.values() for e in estimates.entries)
    reach = axis_reach(group)
    places, labels, y = [], [], 0.0
    for name in names_of(group):
        first = y
        for method, estimates in group.items():
            if name in estimates and estimates.converged:
                draw_one(axes, estimates[name], unit_of(group, name), y, looks[method], reach)
                y -= 1.0
        places.append((first + y + 1.0) / 2)
        labels.append(name)
        y -= 0.6
    if true:
        axes.axvline(1.0, color=TRUTH_COLOUR, linewidth=1.0, zorder=1)
    axes.set_yticks(places, labels, fontsize=9, parse_math=False)
    axes.set_ylim(y + 0.6, 0.8)
    axes.set_xlim(1 - 1.06 * reach, 1 + 1.06 * reach)
    other = "estimate" if len(group) == 1 else f"estimate of {next(iter(group))}"
    free = ", dotted: not to scale" if any(not unit_of(group, name) for name in names_of(group)) else ""
    axes.set_xlabel(f"estimate with its 95 % interval, less {'the truth' if true else other}, in %{free}", fontsize=9)
    axes.grid(True, axis="x", linewidth=0.4, color="#dddddd")
    axes.set_axisbelow(True)
    axes.tick_params(labelsize=8)
    axes.xaxis.set_major_formatter(lambda x, _: percent_label(x, "truth" if true else "0"))
    for side in ("top", "right"):
        axes.spines[side].set_visible(False)
    titles = [(name or e.method) + ("" if e.converged else " (not converged)") for name, e in group.items()]
    what = titles[0] if len(group) == 1 else "Parameters"
    heading = f"{what} of {model}" if model else what
    if len(group) == 1 or sum(map(len, titles)) + LEGEND_KEY * len(titles) + len(heading) <= LEGEND_LINE:
        axes.set_title(heading, fontsize=9, loc="left", parse_math=False)
        heading = ""
    if len(group) > 1:
        name_methods(axes, titles, [looks[method] for method in group], heading)


def name_methods(axes: Axes, titles: list[str], every: list[Look], heading: str) -> None:
    """A legend above the axes, as many names on a line as it holds; with a heading of its own where it needs several lines."""
    handles = [axes.plot([], [], one.mark, color=one.colour, markersize=4)[0] for one in every]
    legend = axes.legend(
        handles,
        [f"{n}" for n in range(len(titles))],
        fontsize=8,
        frameon=False,
        loc="lower left" if heading else "lower right",
        bbox_to_anchor=(0.0 if heading else 1.0, 1.0),
        ncols=min(len(titles), max(1, LEGEND_LINE // (max(map(len, titles)) + LEGEND_KEY))),
        borderaxespad=0.1,
        title=heading,
        title_fontsize=9,
        alignment="left",
    )
    legend.get_title().set_parse_math(False)
    for text, title in zip(legend.get_texts(), titles, strict=True):
        text.set_parse_math(False)
        text.set_text(title)


def unit_of(group: Mapping[str, Estimates], name: str) -> float:
    """What a parameter is divided by: its truth, else what the first identifier found; 0 where the truth is 0."""
    candidates = [estimates[name] for estimates in group.values() if name in estimates and estimates.converged]
    return next((e.truth for e in candidates if math.isfinite(e.truth)), next((e.value for e in candidates if e.value), 1.0))


def interval_place(estimate: Estimate, unit: float) -> tuple[float, float]:
    """Place and half width of the interval on the common axis, where 1 is the truth."""
    half = estimate.quantile * estimate.std / abs(unit)
    return estimate.value / unit, half if math.isfinite(half) else 0.0


def axis_reach(group: Mapping[str, Estimates]) -> float:
    """Half the width of the axis: what most need. One that lies far out does not squash the others; an arrow points to it."""
    far = []
    for name in names_of(group):
        if unit := unit_of(group, name):
            places = (interval_place(e[name], unit) for e in group.values() if name in e and e.converged)
            far += [1.1 * (abs(x - 1) + half) for x, half in places if math.isfinite(x)]
    if not far:
        return LEAST
    typical = sorted(far)[len(far) // 2]
    return min(FARTHEST, max([LEAST, *(one for one in far if one <= OUTLYING * typical)]))


def draw_one(axes: Axes, estimate: Estimate, unit: float, y: float, style: Look, reach: float) -> None:
    """A point with its interval and, at the right, the numbers; an arrow at the edge where it lies outside."""
    if unit:
        x, half = interval_place(estimate, unit)
    else:  # a truth of 0 is no unit: the interval is drawn to a width of its own, hollow
        half = estimate.quantile * estimate.std if math.isfinite(estimate.std) else 0.0
        unit = (abs(estimate.value) + half) / (0.8 * reach) or 1.0
        x, half = 1 + estimate.value / unit, half / unit
    inside = abs(x - 1) <= reach
    place = min(max(x, 1 - reach), 1 + reach)
    if half:
        axes.plot(
            [max(x - half, 1 - 1.06 * reach), min(x + half, 1 + 1.06 * reach)],
            [y, y],
            color=style.colour,
            linewidth=1.6,
            solid_capstyle="butt",
            alpha=0.75,
            linestyle="-" if estimate.truth else ":",
        )
    axes.plot(
        [place],
        [y],
        style.mark if inside else (">" if x > 1 else "<"),
        color=style.colour,
        markersize=4.5 if inside else 7,
        markerfacecolor=style.colour if estimate.truth else "white",
    )
    text = f"{concise(estimate.value, estimate.std)} {unit_label(estimate.unit)}".rstrip()
    axes.annotate(
        text + ("" if estimate.truth else ", truth 0"),
        (1.01, y),
        xycoords=("axes fraction", "data"),
        fontsize=8,
        va="center",
        color=style.colour,
        parse_math=False,
        annotation_clip=False,
    )
