"""The figure of an error budget: what each defect adds to the bias, as bars, or as lines over what was swept."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ...diagram.checks import is_finite_number
from .panels import PANEL, PANEL_COLUMNS, SweptAxis, TableLine, colour, figure_legend, label_of, leftmost, panels, titles, unique

if TYPE_CHECKING:
    from matplotlib.figure import Figure

#: Rows of panels of a budget over a sweep; what is not drawn stands in budget.csv.
MOST_PANEL_ROWS = 6


def budget_figure(budget: list[TableLine], swept: SweptAxis | None) -> Figure | None:
    """What each defect adds to the bias, in % of the truth, with its interval: bars, or lines over a sweep."""
    lines = [line for line in budget if is_finite_number(line["effect"])]
    if not lines:
        return None
    return budget_bars(lines) if swept is None else budget_lines(lines, swept)


def in_percent(line: TableLine, name: str) -> float:
    """A number of the budget in % of the truth; itself where the truth is 0 or unknown."""
    share = line["percent_of_truth"]
    return float(line[name] * share / line["effect"] if is_finite_number(share) and line["effect"] else line[name])


def budget_bars(lines: list[TableLine]) -> Figure:
    parameters, defects, methods = titles(lines), unique(s["defect"] for s in lines), unique(s["method"] for s in lines)
    width = 0.7 / len(methods)
    figure, axes = panels(parameters, "", PANEL[1] + 0.18 * len(defects) * max(1, len(methods) / 3))
    for name, axis in axes.items():
        for number, method in enumerate(methods):
            own = [s for s in lines if s["parameter"] == name and s["method"] == method]
            ys = [defects.index(s["defect"]) + width * (number - (len(methods) - 1) / 2) for s in own]
            values = [in_percent(s, "effect") for s in own]
            half = [abs(in_percent(s, "effect_high") - in_percent(s, "effect_low")) / 2 for s in own]
            axis.barh(
                ys, values, 0.9 * width, xerr=half, color=colour(number), alpha=0.8, error_kw={"linewidth": 1.0}, label=method
            )
        axis.axvline(0, color="black", linewidth=1.1)
        axis.set_yticks(range(len(defects)), defects if leftmost(axis) else [])
        axis.set_ylim(len(defects) - 0.4, -0.6)
    figure.supxlabel("effect on the bias, % of the truth", fontsize=9)
    figure_legend(figure, axes.values())
    return figure


def budget_lines(lines: list[TableLine], swept: SweptAxis) -> Figure:
    """A row of panels for each method and point of the other settings, a line for each defect; the whole bias is black."""
    parameters, defects = titles(lines), unique(s["defect"] for s in lines)
    series = unique((s["method"], *(s[n] for n in swept.others)) for s in lines)[:MOST_PANEL_ROWS]
    names = {(one, n): f"{title}, {label_of(one, swept.others)}" for one in series for n, title in parameters.items()}
    figure, axes = panels(names, "effect on the bias, % of the truth", columns=min(PANEL_COLUMNS, len(parameters)))
    for (one, name), axis in axes.items():
        for number, defect in enumerate(defects):
            own = [s for s in lines if (s["method"], *(s[n] for n in swept.others)) == one]
            own = sorted((s for s in own if s["parameter"] == name and s["defect"] == defect), key=swept.place)
            xs, whole = [swept.place(s) for s in own], defect == "(bias)"
            hue = "black" if whole else colour(number - 1)
            axis.plot(
                xs, [in_percent(s, "effect") for s in own], "o-", color=hue, markersize=3, label=defect, lw=2 if whole else 1.2
            )
            low, high = ([in_percent(s, f"effect_{end}") for s in own] for end in ("low", "high"))
            axis.fill_between(xs, low, high, color=hue, alpha=0.15, linewidth=0)
        axis.axhline(0, color="#888888", linewidth=0.8)
        swept.dress(axis)
    figure.supxlabel(swept.label, fontsize=9)
    figure_legend(figure, axes.values())
    return figure
