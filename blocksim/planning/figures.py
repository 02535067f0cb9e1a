"""Pictures of what an experiment teaches: over time and frequency, as ellipses, before and after a design, and as a front."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from ..notation import short_labels, unit_label
from ..pictures.figures import blank_figure
from ..pictures.palette import COLOURS
from ..pictures.plots import suffix, write_figure
from ..running.signals import Analysis
from ..schedule.flatten import flatten
from ..schedule.units import infer_units

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from ..contract.arrays import FloatArray
    from .design.design import DesignResult
    from .design.limits import Margin
    from .information import Information
    from .pareto import Front

TIME_BINS, FREQUENCY_BINS = 40, 60
#: Pairs of parameters that get an ellipse.
MOST_PAIRS = 6
#: sqrt of the chi-square quantile, two degrees of freedom, 95 %.
ELLIPSE = 2.4477


def new_figure(width: float, height: float, rows: int = 1, columns: int = 1, **options: Any) -> tuple[Figure, Any]:

    figure = blank_figure(width, height, layout="constrained")
    return figure, figure.subplots(rows, columns, squeeze=False, **options)


def finished(figure: Figure, path: str | os.PathLike[str] | None) -> Figure:
    if path is not None:
        write_figure(figure, str(path), suffix(path))
    return figure


def plot_information(info: Information, path: str | os.PathLike[str] | None = None) -> Figure:
    """The share of what is learnt of each parameter, over time and over frequency."""
    figure, axes = new_figure(10.0, 3.4, 1, 2)
    edges, shares = info.by_time(TIME_BINS)
    f, lines = info.by_frequency()
    grid = np.geomspace(max(f[1], f[-1] / 1e4), f[-1], FREQUENCY_BINS + 1)
    place = np.clip(np.searchsorted(grid, f[1:], side="right") - 1, 0, FREQUENCY_BINS - 1)
    for k, (name, label) in enumerate(zip(info.parameters, short_labels(info.parameters), strict=True)):
        colour = COLOURS[k % len(COLOURS)]
        axes[0][0].stairs(100 * shares[name], edges, color=colour, label=label, linewidth=1.4)
        axes[0][1].stairs(100 * np.bincount(place, lines[name][1:], FREQUENCY_BINS), grid, color=colour, linewidth=1.4)
    axes[0][1].set_xscale("log")
    for axis, title, label in zip(
        axes[0], ("when it is learnt", "at which frequencies"), ("time [s]", "frequency [Hz]"), strict=True
    ):
        axis.set_title(title, fontsize=9)
        axis.set_xlabel(label, fontsize=9)
        axis.set_ylabel("share [%]", fontsize=9)
        axis.grid(alpha=0.3)
    axes[0][0].legend(fontsize=8, ncols=2)
    return finished(figure, path)


def plot_ellipses(info: Information, estimates: FloatArray | None = None, path: str | os.PathLike[str] | None = None) -> Figure:
    """The predicted 95 % ellipses of pairs of parameters; estimates, a row per run, as points on top."""
    names = info.parameters
    pairs = [(i, j) for i in range(len(names)) for j in range(i + 1, len(names))] or [(0, 0)]
    pairs = sorted(pairs, key=lambda pair: -abs(np.nan_to_num(info.correlation[pair])))[:MOST_PAIRS]
    columns = min(3, len(pairs))
    figure, axes = new_figure(3.4 * columns, 3.2 * -(-len(pairs) // columns), -(-len(pairs) // columns), columns)
    truth = np.array(list(info.values.values()))
    size = np.where(truth == 0, 1.0, truth / 100.0)  # one that is 0 has no shares
    labels = [f"{label} [%]" if value else label for label, value in zip(short_labels(names), truth, strict=True)]
    turn = np.linspace(0.0, 2.0 * np.pi, 200)
    circle = np.stack([np.cos(turn), np.sin(turn)])
    for axis in axes.flat[len(pairs) :]:
        axis.set_visible(False)
    for axis, (i, j) in zip(axes.flat, pairs, strict=False):
        both = np.ix_([i, j], [i, j])
        if np.isfinite(info.covariance[both]).all() and i != j:
            ellipse = ELLIPSE * np.linalg.cholesky(info.covariance[both]) @ circle
            axis.plot(*(ellipse / size[[i, j], None]), color=COLOURS[0], linewidth=1.6)
        if estimates is not None:
            axis.plot(*((estimates[:, [i, j]] - truth[[i, j]]) / size[[i, j]]).T, ".", color=COLOURS[1], markersize=4)
        axis.set_xlabel(labels[i], fontsize=9)
        axis.set_ylabel(labels[j], fontsize=9)
        axis.grid(alpha=0.3)
    return finished(figure, path)


def plot_design(result: DesignResult, path: str | os.PathLike[str] | None = None) -> Figure:
    """The designed signals in time and spectrum with their limits drawn, and the parameters before and after."""
    from ..running.simulate import simulate

    names = list(dict.fromkeys([*(m.signal for m in result.margins)])) or [f"{p}.y" for p in result.settings if "." not in p][:1]
    record = simulate(replace(result.diagram, log=None))  # a limit may be on what is not logged
    names = [name for name in names if name in record] or list(record)[:1]
    figure, axes = new_figure(11.0, 2.4 * len(names) + 0.4, len(names), 3, width_ratios=(3, 2, 2))
    for row, name in zip(axes, names, strict=True):
        draw_limited_signal(row[0], row[1], record.time(name), record[name].reshape(len(record.time(name)), -1), name, result)
        if unit := record.unit(name):
            row[0].set_ylabel(f"{name} [{unit_label(unit)}]", fontsize=9)
            row[1].set_ylabel(f"amplitude [{unit_label(unit)}]", fontsize=9)
    for axis in axes[1:, 2]:
        axis.set_visible(False)
    draw_bars(axes[0][2], result)
    return finished(figure, path)


def draw_limited_signal(time: Axes, lines: Axes, t: FloatArray, x: FloatArray, name: str, result: DesignResult) -> None:
    """One signal, its limits dashed, and its spectrum."""
    for k in range(x.shape[1]):
        time.plot(t, x[:, k], color=COLOURS[k % len(COLOURS)], linewidth=0.7)
        one = Analysis(name, "", t, x[:, k])
        lines.plot(one.frequency[1:], one.amplitude[1:], color=COLOURS[k % len(COLOURS)], linewidth=0.7)
    margins = [margin for margin in result.margins if margin.signal == name]
    for margin in margins:
        for level in drawn_levels(margin, x):
            time.axhline(level, color="black", linestyle="--" if margin.kind != "travel" else ":", linewidth=1.0)
    others = [f"{m.kind} {m.value:.3g} of {m.limit:.3g}" for m in margins if m.kind not in ("peak", "min", "max")]
    time.set_title(", ".join(others), fontsize=8)  # those that are no level
    time.set_ylabel(name, fontsize=9)
    time.set_xlabel("time [s]", fontsize=9)
    lines.set_xscale("log")
    lines.set_xlabel("frequency [Hz]", fontsize=9)
    lines.set_ylabel("amplitude", fontsize=9)
    for axis in (time, lines):
        axis.grid(alpha=0.3)


def drawn_levels(margin: Margin, x: FloatArray) -> tuple[float, ...]:
    """Where a limit is a line over time; travel is drawn from the lowest value of a lone signal on."""
    if margin.kind == "peak":
        return margin.limit, -margin.limit
    if margin.kind == "travel" and x.shape[1] == 1:
        return float(x.min()), float(x.min()) + margin.limit
    return (margin.limit,) if margin.kind in ("min", "max") else ()


def draw_bars(axis: Axes, result: DesignResult) -> None:
    """Relative standard deviations before and after, as bars on a logarithmic scale."""
    from matplotlib.ticker import LogLocator, NullFormatter

    if result.predicted is None:
        axis.set_visible(False)
        return
    names = list(result.predicted.relative_std)
    places = np.arange(len(names))
    for shift, info, label, colour in (
        (-0.2, result.before, "before", COLOURS[3]),
        (0.2, result.predicted, "designed", COLOURS[0]),
    ):
        if info is None:  # what was there before could not be judged
            continue
        shares = np.array([100 * info.relative_std[name] for name in names])
        axis.barh(places + shift, np.where(np.isfinite(shares), shares, np.nan), height=0.38, color=colour, label=label)
    axis.set_yticks(places, short_labels(names), fontsize=8)
    axis.invert_yaxis()
    axis.set_xscale("log")
    decades = np.ptp(np.log10(axis.get_xlim()))
    axis.xaxis.set_major_locator(LogLocator(subs=(1.0, 2.0, 5.0) if decades < 2 else (1.0,)))
    axis.xaxis.set_major_formatter("{x:g}")
    axis.xaxis.set_minor_formatter(NullFormatter())  # its labels would stand on each other
    axis.set_xlabel("standard deviation [%]", fontsize=9)
    axis.legend(fontsize=8)
    axis.grid(alpha=0.3, axis="x")


def plot_front(front: Front, path: str | os.PathLike[str] | None = None) -> Figure:
    """What accuracy costs: the criterion over what was asked for, peak or seconds."""
    figure, axes = new_figure(5.5, 3.6)
    axis = axes[0][0]
    axis.loglog(front.values, front.criteria, "o-", color=COLOURS[0], linewidth=1.6)
    axis.set_xlabel("duration [s]" if front.over == "duration" else f"peak of {source_label(front.results[0])}", fontsize=9)
    relative = front.criterion in ("D", "A", "E", "worst")
    axis.set_ylabel(f"{front.criterion}{', relative standard deviation' if relative else ''}", fontsize=9)
    axis.set_xticks(front.values, [f"{value:g}" for value in front.values], fontsize=9)
    axis.tick_params(axis="x", which="minor", labelbottom=False)
    axis.grid(alpha=0.3, which="both")
    return finished(figure, path)


def source_label(result: DesignResult) -> str:
    """'u [N m]': the first source that varies, with its unit where the wires tell one."""
    name = next(iter(result.spec.vary))
    schedule = flatten(result.diagram)
    ports = [unit for (index, _), unit in infer_units(schedule).items() if schedule.units[index].path == name and unit]
    return name + (f" [{unit_label(ports[0])}]" if ports else "")


def write_design_figures(result: DesignResult, folder: Path) -> list[str]:
    """design.png, and information.png where there is any."""
    paths = [str(folder / "design.png")]
    plot_design(result, paths[0])
    if result.predicted is not None:
        paths.append(str(folder / "information.png"))
        plot_information(result.predicted, paths[-1])
    return paths


def write_information_figures(info: Information, paths: Sequence[Path]) -> list[str]:
    """information.png and ellipses.png."""
    plot_information(info, paths[0])
    plot_ellipses(info, None, paths[1])
    return [str(path) for path in paths]
