"""The figures of a study: estimates around the truth, bias against what was swept, coverage, the error budget."""

from __future__ import annotations

import math
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import numpy as np

from .plots import COLOURS
from .results import writing
from .study import StudyResult
from .study_text import records, short

#: More methods than colours take these as well.
MORE = ("#b0413e", "#5b6770", "#c2a01c", "#3aa6a6")
COLUMNS = 4
PANEL = (2.6, 2.2)
#: Groups of estimates side by side in one panel; a sweep of more points is drawn as lines only.
MOST_GROUPS = 12
#: Swept values that span more than this factor have a logarithmic axis.
DECADE = 20.0

Line = dict[str, Any]


def study_figures(result: StudyResult) -> dict[str, Any]:
    """Every figure that has something to show, by name."""
    scores = [line for line in records(result.scores) if line["ablation"] in ("", "full")]
    estimates = [line for line in records(result.estimates) if line["ablation"] in ("", "full")]
    axis = main_axis(result, scores)
    made = {
        "estimates": estimates_figure(result, estimates),
        "bias": bias_figure(scores, axis) if axis else None,
        "spread": spread_figure(scores, axis) if axis else None,
        "coverage": coverage_figure(scores, axis),
        "budget": budget_figure(records(result.budget)),
    }
    return {name: figure for name, figure in made.items() if figure is not None}


def save_figures(figures: dict[str, Any], folder: Path) -> None:
    """figures/NAME.png to look at and figures/NAME.pdf for a paper."""
    from .plots import save

    with writing(folder):
        (folder / "figures").mkdir(exist_ok=True)
        for name, figure in figures.items():
            for kind in ("png", "pdf"):
                save(figure, str(folder / "figures" / f"{name}.{kind}"), kind)


def main_axis(result: StudyResult, scores: list[Line]) -> str:
    """The swept setting that has most numeric values: the x axis; '' without a sweep."""
    counts = {
        name: len({line[name] for line in scores}) for name in result.swept if all(is_number(line[name]) for line in scores)
    }
    return max(counts, key=lambda name: counts[name]) if counts and max(counts.values()) > 1 else ""


def is_number(value: Any) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool) and math.isfinite(value)


def unique(values: Iterable[Any]) -> list[Any]:
    return list(dict.fromkeys(values))


def colour(number: int) -> str:
    return [*COLOURS, *MORE][number % (len(COLOURS) + len(MORE))]


def titles(lines: list[Line]) -> dict[str, str]:
    """The parameters' names; where the truth is 0 or unknown, with the unit their panel has instead of %."""
    found: dict[str, str] = {}
    for line in lines:
        whole = is_number(line["truth"]) and line["truth"] if "truth" in line else is_number(line["percent_of_truth"])
        found.setdefault(line["parameter"], line["parameter"] if whole else f"{line['parameter']}, in {line['unit'] or 'itself'}")
    return found


def panels(parameters: dict[str, str], shared: str, height: float = PANEL[1]) -> tuple[Any, dict[str, Any]]:
    """A grid with one panel for each parameter."""
    from matplotlib.figure import Figure

    columns = min(COLUMNS, len(parameters))
    rows = -(-len(parameters) // columns)
    figure = Figure(figsize=(max(PANEL[0] * columns, 4.6) + 0.6, height * rows + 0.7), layout="constrained")
    axes = {}
    for number, (name, title) in enumerate(parameters.items()):
        axis = figure.add_subplot(rows, columns, number + 1)
        axis.set_title(title, fontsize=10)
        axis.tick_params(labelsize=8)
        axis.grid(True, color="#dddddd", linewidth=0.6)
        axis.set_axisbelow(True)
        for side in ("top", "right"):
            axis.spines[side].set_visible(False)
        axes[name] = axis
    figure.supylabel(shared, fontsize=9)
    return figure, axes


def key(line: Line, result: StudyResult) -> tuple[Any, ...]:
    return (line["method"], *(line[name] for name in result.swept))


def relative(line: Line, value: str = "error") -> float:
    """In % of the truth; the number itself where the truth is 0 or unknown."""
    truth = line["truth"]
    return 100 * line[value] / abs(truth) if is_number(truth) and truth else line[value]


def estimates_figure(result: StudyResult, estimates: list[Line]) -> Any:
    """Errors of every run, in % of the truth: a violin for each method and point, its median, the truth as a line."""
    lines = [line for line in estimates if is_number(line["value"]) and is_number(line["error"])]
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
        axis.set_yticks(range(len(groups)), [label_of(g) for g in groups] if axis.get_subplotspec().is_first_col() else [])
        axis.set_ylim(len(groups) - 0.4, -0.6)
    figure.supylabel("")
    figure.supxlabel("error, % of the truth (line: truth)", fontsize=9)
    return figure


def violin(axis: Any, values: np.ndarray, place: float, hue: str) -> None:
    """A distribution lying down; points alone where there are too few for a shape."""
    if len(values) >= 10 and np.ptp(values) > 0:
        shape = axis.violinplot([values], positions=[place], orientation="horizontal", widths=0.8, showextrema=False)
        for body in shape["bodies"]:
            body.set(facecolor=hue, edgecolor=hue, alpha=0.45)
    else:
        axis.plot(values, np.full(len(values), place), ".", color=hue, markersize=4, alpha=0.6)
    low, middle, high = np.percentile(values, [25, 50, 75])
    axis.plot([low, high], [place, place], color=hue, linewidth=3.2, solid_capstyle="butt")
    axis.plot([middle], [place], "o", color="white", markeredgecolor=hue, markersize=4.5)


def label_of(group: tuple[Any, ...]) -> str:
    return ", ".join(short(part, 3) for part in group if part != "")


def swept_figure(scores: list[Line], axis_name: str, what: str, title: str, draw: Any) -> Any:
    """One line per method and per combination of the other swept settings, over the main one."""
    lines = [line for line in scores if is_number(line[what])]
    if not lines:
        return None
    parameters = {line["parameter"]: line["parameter"] for line in lines} if what == "coverage" else titles(lines)
    others = [n for n in swept_names(lines) if n != axis_name]
    series = unique((line["method"], *(line[n] for n in others)) for line in lines)
    figure, axes = panels(parameters, title)
    for name, axis in axes.items():
        for number, one in enumerate(series):
            own = [s for s in lines if s["parameter"] == name and (s["method"], *(s[n] for n in others)) == one]
            own.sort(key=lambda s: s[axis_name])
            if own:
                draw(axis, [s[axis_name] for s in own], own, colour(number), label_of(one) or "estimate")
        xs = np.array(sorted({line[axis_name] for line in lines}))
        if (xs > 0).all() and xs[-1] / xs[0] > DECADE:
            axis.set_xscale("log")
    figure.supxlabel(axis_name, fontsize=9)
    handles, labels = next(iter(axes.values())).get_legend_handles_labels()
    if len(labels) > 1:
        figure.legend(handles, labels, loc="outside upper center", ncols=min(4, len(labels)), fontsize=8, frameon=False)
    return figure


def swept_names(lines: list[Line]) -> list[str]:
    """The columns between the method's and the parameter's that are settings: 'encoder.resolution'."""
    names = list(lines[0])
    return [n for n in names[: names.index("parameter")] if n not in ("method", "ablation", "point")]


def bias_figure(scores: list[Line], axis_name: str) -> Any:
    """Bias with its 95 % interval against what was swept."""

    def draw(axis: Any, xs: list[float], own: list[Line], hue: str, label: str) -> None:
        axis.axhline(0, color="black", linewidth=1.1)
        axis.plot(xs, [relative(s, "bias") for s in own], "o-", color=hue, markersize=3, linewidth=1.3, label=label)
        low, high = ([relative(s, f"bias_{end}") for s in own] for end in ("low", "high"))
        axis.fill_between(xs, low, high, color=hue, alpha=0.2, linewidth=0)

    return swept_figure(scores, axis_name, "bias", "bias, % of truth", draw)


def spread_figure(scores: list[Line], axis_name: str) -> Any:
    """Standard deviation found, and the one the method claims, dashed."""

    def draw(axis: Any, xs: list[float], own: list[Line], hue: str, label: str) -> None:
        axis.plot(xs, [relative(s, "std") for s in own], "o-", color=hue, markersize=3, linewidth=1.3, label=label)
        axis.plot(xs, [relative(s, "claimed_std") for s in own], "--", color=hue, linewidth=1.0)
        axis.set_yscale("log")

    return swept_figure(scores, axis_name, "std", "std, % of truth", draw)


def coverage_figure(scores: list[Line], axis_name: str) -> Any:
    """How often the method's own 95 % interval holds the truth."""
    lines = [line for line in scores if is_number(line["coverage"])]
    if not lines:
        return None
    if axis_name:

        def draw(axis: Any, xs: list[float], own: list[Line], hue: str, label: str) -> None:
            cover_lines(axis)
            axis.plot(xs, [100 * s["coverage"] for s in own], "o-", color=hue, markersize=3, linewidth=1.3, label=label)
            low, high = ([100 * s[f"coverage_{end}"] for s in own] for end in ("low", "high"))
            axis.fill_between(xs, low, high, color=hue, alpha=0.2, linewidth=0)

        return swept_figure(lines, axis_name, "coverage", "truth covered, %", draw)
    parameters, methods = unique(s["parameter"] for s in lines), unique(s["method"] for s in lines)
    figure, axes = panels({"coverage": ""}, "truth within the 95 % interval, %", 2.6)
    axis = axes["coverage"]
    cover_lines(axis)
    for number, method in enumerate(methods):
        own = [s for s in lines if s["method"] == method]
        xs = np.array([parameters.index(s["parameter"]) for s in own]) + 0.12 * (number - (len(methods) - 1) / 2)
        values = np.array([100 * s["coverage"] for s in own])
        reach = np.array([[100 * (s["coverage"] - s["coverage_low"]), 100 * (s["coverage_high"] - s["coverage"])] for s in own]).T
        axis.errorbar(xs, values, np.abs(reach), fmt="o", color=colour(number), markersize=4, label=method)
    axis.set_xticks(
        range(len(parameters)),
        parameters,
        rotation=30 if len(parameters) > 5 else 0,
        ha="right" if len(parameters) > 5 else "center",
    )
    if len(methods) > 1:
        figure.legend(loc="outside upper center", ncols=min(4, len(methods)), fontsize=8, frameon=False)
    return figure


def cover_lines(axis: Any) -> None:
    axis.axhline(95, color="black", linewidth=1.1)
    axis.set_ylim(-3, 103)


def budget_figure(budget: list[Line]) -> Any:
    """What each defect adds to the bias, in % of the truth, with its interval."""
    lines = [line for line in budget if is_number(line["effect"])]
    if not lines:
        return None
    parameters, defects = titles(lines), unique(s["defect"] for s in lines)
    swept = swept_names(lines)
    series = unique((s["method"], *(s[n] for n in swept)) for s in lines)
    figure, axes = panels(parameters, "", PANEL[1] + 0.18 * len(defects))
    for name, axis in axes.items():
        for number, one in enumerate(series[:4]):
            own = [s for s in lines if s["parameter"] == name and (s["method"], *(s[n] for n in swept)) == one]
            ys = [defects.index(s["defect"]) + 0.18 * (number - (min(len(series), 4) - 1) / 2) for s in own]
            values = np.array([s["percent_of_truth"] if is_number(s["percent_of_truth"]) else s["effect"] for s in own])
            share = np.array(
                [s["percent_of_truth"] / s["effect"] if is_number(s["percent_of_truth"]) and s["effect"] else 1.0 for s in own]
            )
            half = np.abs(np.array([(s["effect_high"] - s["effect_low"]) / 2 for s in own]) * share)
            axis.barh(
                ys,
                values,
                0.16 if len(series) > 1 else 0.5,
                xerr=half,
                color=colour(number),
                alpha=0.8,
                error_kw={"linewidth": 1.0},
                label=label_of(one),
            )
        axis.axvline(0, color="black", linewidth=1.1)
        axis.set_yticks(range(len(defects)), defects if axis.get_subplotspec().is_first_col() else [])
        axis.set_ylim(len(defects) - 0.4, -0.6)
    figure.supxlabel("effect on the bias, % of the truth", fontsize=9)
    handles, labels = next(iter(axes.values())).get_legend_handles_labels()
    if len(set(labels)) > 1:
        figure.legend(handles, labels, loc="outside upper center", ncols=4, fontsize=8, frameon=False)
    return figure
