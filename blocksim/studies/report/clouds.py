"""Clouds of a study: the errors of two parameters against each other, a point for each run, and the ellipse of 95 %."""

from __future__ import annotations

import itertools
from typing import TYPE_CHECKING, Any

import numpy as np

from ...diagram.checks import is_finite_number
from ...pictures.palette import Look, look
from .panels import PANEL, TableLine, figure_legend, panels, unique

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from ...contract.arrays import FloatArray

#: Pairs of parameters that are drawn, methods in one picture, and runs from which a cloud has a shape.
CLOUD_PAIRS, MOST_CLOUDS, FEWEST_RUNS = 4, 6, 10
#: 95 % of chi-squared with two degrees of freedom, closed form: -2 log(0.05).
CHI_SQUARE_95 = -2 * float(np.log(0.05))


def clouds_figure(estimates: list[TableLine], settings: list[str]) -> Figure | None:
    """Pairs of parameters that lean on each other most come first; nothing over a sweep, whose points would mix."""
    groups = unique((line["method"], *(line[name] for name in settings)) for line in estimates)
    methods = unique(line["method"] for line in estimates)
    parameters = unique(line["parameter"] for line in estimates if truth_known(line))
    if len(groups) != len(methods) or not 0 < len(methods) <= MOST_CLOUDS or len(parameters) < 2:
        return None
    clouds = {method: run_errors(estimates, method, parameters) for method in methods}
    clouds = {method: cloud for method, cloud in clouds.items() if len(cloud) >= FEWEST_RUNS}
    if not clouds:
        return None
    pairs = sorted(itertools.combinations(range(len(parameters)), 2), key=lambda pair: -leaning(clouds, *pair))[:CLOUD_PAIRS]
    figure, axes = panels({pair: "" for pair in pairs}, "", PANEL[1] + 0.4)
    for (i, j), axis in axes.items():
        for method, cloud in clouds.items():
            draw_cloud(axis, cloud[:, [i, j]], look(methods.index(method)), str(method))
        axis.axhline(0, color="black", linewidth=0.8)
        axis.axvline(0, color="black", linewidth=0.8)
        axis.set_xlabel(f"{parameters[i]}, error in %", fontsize=9)
        axis.set_ylabel(f"{parameters[j]}, error in %", fontsize=9)
    figure_legend(figure, axes.values())
    return figure


def truth_known(line: TableLine) -> bool:
    return bool(is_finite_number(line["truth"]) and line["truth"])


def run_errors(estimates: list[TableLine], method: Any, parameters: list[str]) -> FloatArray:
    """A row for each run of a method that has all parameters, in % of the truth."""
    runs: dict[Any, dict[str, float]] = {}
    for line in estimates:
        if line["method"] == method and truth_known(line) and is_finite_number(line["error"]):
            runs.setdefault(line["repeat"], {})[line["parameter"]] = 100 * line["error"] / abs(line["truth"])
    rows = [[run[name] for name in parameters] for run in runs.values() if all(name in run for name in parameters)]
    return np.array(rows, dtype=float).reshape(len(rows), len(parameters))


def leaning(clouds: dict[Any, FloatArray], i: int, j: int) -> float:
    """The strongest correlation of two parameters in any cloud."""
    values = [abs(np.corrcoef(c[:, i], c[:, j])[0, 1]) for c in clouds.values() if np.ptp(c[:, i]) > 0 and np.ptp(c[:, j]) > 0]
    return max(values, default=0.0)


def draw_cloud(axis: Axes, points: FloatArray, one: Look, label: str) -> None:
    axis.plot(points[:, 0], points[:, 1], one.mark, color=one.colour, markersize=3, markeredgewidth=0, alpha=0.5, label=label)
    outline = ellipse(points)
    if outline is not None:
        axis.plot(*outline, color=one.colour, linewidth=1.4)


def ellipse(points: FloatArray) -> FloatArray | None:
    """The curve within which 95 % of a normal cloud with this mean and covariance lie; None for a cloud without area."""
    covariance = np.cov(points.T)
    values, directions = np.linalg.eigh(covariance)
    if not np.all(np.isfinite(values)) or values[0] <= 0:
        return None
    turn = np.linspace(0, 2 * np.pi, 100)
    circle = np.array([np.cos(turn), np.sin(turn)])
    return np.asarray(points.mean(axis=0)[:, None] + directions @ (np.sqrt(CHI_SQUARE_95 * values)[:, None] * circle))
