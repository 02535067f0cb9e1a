"""The figures of a study: estimates around the truth, bias against what was swept, coverage, the error budget."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from ...diagram.checks import is_finite_number
from ...pictures.palette import Look, look
from ...records.writing import writing
from ..study import StudyResult
from .budget_figure import budget_figure
from .clouds import clouds_figure
from .panels import PANEL, SweptAxis, TableLine, colour, figure_legend, label_of, leftmost, main_axis, panels, titles, unique
from .text import records

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from ...contract.arrays import FloatArray

#: Groups of estimates side by side in one panel; a sweep of more points is drawn as lines only.
MOST_GROUPS = 12

#: Draws the line of one method: axis, where it stands, its scores, its look, name.
Drawing = Callable[["Axes", SweptAxis, list[TableLine], Look, str], None]


def study_figures(result: StudyResult) -> dict[str, Figure]:
    """Every figure that has something to show, by name."""
    scores = [line for line in records(result.scores) if line["ablation"] in ("", "full")]
    estimates = [line for line in records(result.estimates) if line["ablation"] in ("", "full") and line.get("converged", True)]
    axis = main_axis(result, scores)
    figures = {
        "estimates": estimates_figure(result, estimates),
        "clouds": clouds_figure(estimates, result.shown),
        "bias": bias_figure(scores, axis) if axis else None,
        "spread": spread_figure(scores, axis) if axis else None,
        "coverage": coverage_figure(scores, axis),
        "budget": budget_figure(records(result.budget), axis),
    }
    return {name: figure for name, figure in figures.items() if figure is not None}


def save_figures(figures: dict[str, Figure], folder: Path) -> None:
    """figures/NAME.png to look at and figures/NAME.pdf for a paper."""
    from ...pictures.plots import write_figure

    with writing(folder):
        (folder / "figures").mkdir(exist_ok=True)
        for name, figure in figures.items():
            for kind in ("png", "pdf"):
                write_figure(figure, str(folder / "figures" / f"{name}.{kind}"), kind)


def key(line: TableLine, result: StudyResult) -> tuple[Any, ...]:
    return (line["method"], *(line[name] for name in result.shown))


def relative(line: TableLine, value: str = "error") -> float:
    """In % of the truth; the number itself where the truth is 0 or unknown."""
    truth = line["truth"]
    return float(100 * line[value] / abs(truth) if is_finite_number(truth) and truth else line[value])


def estimates_figure(result: StudyResult, estimates: list[TableLine]) -> Figure | None:
    """Errors of every run, in % of the truth: a violin for each method and point, its median, the truth as a line."""
    lines = [line for line in estimates if is_finite_number(line["value"]) and is_finite_number(line["error"])]
    groups = unique(key(line, result) for line in lines)
    if not lines or len(groups) > MOST_GROUPS:
        return None
    parameters = titles(lines)
    methods = unique(line["method"] for line in lines)
    figure, axes = panels(parameters, "error, % of truth", PANEL[1] + 0.22 * min(len(groups), 6))
    for name, axis in axes.items():
        for place, group in enumerate(groups):
            values = np.array([relative(s) for s in lines if s["parameter"] == name and key(s, result) == group])
            if len(values):
                violin(axis, values, place, colour(methods.index(group[0])))
        axis.axvline(0, color="black", linewidth=1.1)
        axis.set_yticks(range(len(groups)), [label_of(g, result.shown) for g in groups] if leftmost(axis) else [])
        axis.set_ylim(len(groups) - 0.4, -0.6)
    figure.supylabel("")
    figure.supxlabel("error, % of the truth (line: truth)", fontsize=9)
    return figure


def violin(axis: Axes, values: FloatArray, place: float, hue: str) -> None:
    """A distribution lying down; points alone where there are too few for a shape."""
    if len(values) >= 10 and np.ptp(values) > 0:
        shape = axis.violinplot([values], positions=[place], orientation="horizontal", widths=0.8, showextrema=False)
        bodies: Any = shape["bodies"]
        for body in bodies:
            body.set(facecolor=hue, edgecolor=hue, alpha=0.45)
    else:
        axis.plot(values, np.full(len(values), place), ".", color=hue, markersize=4, alpha=0.6)
    low, middle, high = np.percentile(values, [25, 50, 75])
    axis.plot([low, high], [place, place], color=hue, linewidth=3.2, solid_capstyle="butt")
    axis.plot([middle], [place], "o", color="white", markeredgecolor=hue, markersize=4.5)


def swept_figure(scores: list[TableLine], swept: SweptAxis, what: str, title: str, draw: Drawing) -> Figure | None:
    """One line per method and per combination of the other swept settings, over the main one."""
    lines = [line for line in scores if is_finite_number(line[what])]
    if not lines:
        return None
    parameters = {line["parameter"]: line["parameter"] for line in lines} if what == "coverage" else titles(lines)
    series = unique((line["method"], *(line[n] for n in swept.others)) for line in lines)
    figure, axes = panels(parameters, title, PANEL[1] if swept.numeric else PANEL[1] + 0.5)
    for name, axis in axes.items():
        for number, one in enumerate(series):
            own = [s for s in lines if s["parameter"] == name and (s["method"], *(s[n] for n in swept.others)) == one]
            own.sort(key=swept.place)
            if own:
                draw(axis, swept.beside(number, len(series)), own, look(number), label_of(one, swept.others) or "estimate")
        swept.dress(axis)
    figure.supxlabel(swept.label, fontsize=9)
    figure_legend(figure, axes.values())
    return figure


def curve(
    axis: Axes, swept: SweptAxis, own: list[TableLine], value: Callable[[TableLine, str], float], name: str, one: Look, label: str
) -> None:
    """A score with its interval: a line and a band over numbers, points with bars over texts, which have no order."""
    xs = [swept.place(s) for s in own]
    middle, low, high = (np.array([value(s, f"{name}{end}") for s in own]) for end in ("", "_low", "_high"))
    if swept.numeric:
        axis.plot(xs, middle, f"{one.mark}-", color=one.colour, markersize=4, linewidth=1.3, label=label)
        axis.fill_between(xs, low, high, color=one.colour, alpha=0.2, linewidth=0)
    else:
        reach = np.nan_to_num(np.array([middle - low, high - middle]).clip(min=0))
        axis.errorbar(xs, middle, reach, fmt=one.mark, color=one.colour, markersize=4, linewidth=1.0, label=label)


def bias_figure(scores: list[TableLine], swept: SweptAxis) -> Figure | None:
    """Bias with its 95 % interval against what was swept."""

    def draw(axis: Axes, place: SweptAxis, own: list[TableLine], one: Look, label: str) -> None:
        axis.axhline(0, color="black", linewidth=1.1)
        curve(axis, place, own, relative, "bias", one, label)

    return swept_figure(scores, swept, "bias", "bias, % of truth", draw)


def spread_figure(scores: list[TableLine], swept: SweptAxis) -> Figure | None:
    """Standard deviation found, the one the method claims, dashed, and the Cramer-Rao bound where there is one, dotted."""
    line = swept.numeric

    def draw(axis: Axes, place: SweptAxis, own: list[TableLine], one: Look, label: str) -> None:
        xs = [place.place(s) for s in own]
        curve(axis, place, own, relative, "std", one, label)
        claimed, bound = ([relative(s, name) for s in own] for name in ("claimed_std", "crb_std"))
        axis.plot(xs, claimed, "--" if line else "_", color=one.colour, linewidth=1.0, markersize=9)
        axis.plot(xs, bound, ":" if line else "x", color="black", linewidth=1.4, markersize=5)
        axis.set_yscale("log")
        plain_decades(axis)

    words = "dashed: claimed, dotted: bound" if line else "bars: claimed, crosses: bound"
    words = words if any(is_finite_number(s["crb_std"]) for s in scores) else words.partition(",")[0]
    return swept_figure(scores, swept, "std", f"std, % of truth\n({words})", draw)


def coverage_figure(scores: list[TableLine], swept: SweptAxis | None) -> Figure | None:
    """How often the method's own 95 % interval holds the truth."""
    lines = [line for line in scores if is_finite_number(line["coverage"])]
    if not lines:
        return None
    if swept is not None:

        def draw(axis: Axes, place: SweptAxis, own: list[TableLine], one: Look, label: str) -> None:
            cover_lines(axis)
            curve(axis, place, own, lambda s, name: 100 * s[name], "coverage", one, label)

        return swept_figure(lines, swept, "coverage", "truth covered, %", draw)
    parameters, methods = unique(s["parameter"] for s in lines), unique(s["method"] for s in lines)
    figure, axes = panels({"coverage": ""}, "truth within the 95 % interval, %", 2.6)
    axis = axes["coverage"]
    cover_lines(axis)
    for number, method in enumerate(methods):
        own = [s for s in lines if s["method"] == method]
        xs = np.array([parameters.index(s["parameter"]) for s in own]) + 0.12 * (number - (len(methods) - 1) / 2)
        values = np.array([100 * s["coverage"] for s in own])
        reach = np.array([[100 * (s["coverage"] - s["coverage_low"]), 100 * (s["coverage_high"] - s["coverage"])] for s in own]).T
        axis.errorbar(xs, values, np.abs(reach), fmt=look(number).mark, color=look(number).colour, markersize=4, label=method)
    axis.set_xticks(
        range(len(parameters)),
        parameters,
        rotation=30 if len(parameters) > 5 else 0,
        ha="right" if len(parameters) > 5 else "center",
    )
    figure_legend(figure, [axis])
    return figure


def cover_lines(axis: Axes) -> None:
    axis.axhline(95, color="black", linewidth=1.1)
    axis.set_ylim(-3, 103)


def plain_decades(axis: Axes) -> None:
    """Ticks of a logarithmic axis at 1, 2 and 5 as plain numbers: powers of ten on every minor tick cannot be read when small."""
    from matplotlib.ticker import FuncFormatter, LogLocator, NullFormatter

    axis.yaxis.set_major_locator(LogLocator(subs=(1.0, 2.0, 5.0), numticks=6))
    axis.yaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))
    axis.yaxis.set_minor_formatter(NullFormatter())
