"""Scopes: the signals of a Record over time.

plot(record, ["ref", "joint.q", "pid"], "run.png")          # grouped by unit and size
plot(record, [["ref", "joint.q"], "pid"])                   # or as asked
plot(record, kind="estimates", path="estimates.png")        # another kind of picture, ours or an installed one
"""

from __future__ import annotations

import io
import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from ..errors import RecordError, listing
from ..extensions import extension
from ..notation import unit_label
from ..records.record import Record, scalar_columns
from .draw import PICTURE_KINDS
from .figures import blank_figure
from .palette import COLOURS, Look, looks_of
from .scope_choice import AXIS_LINES, of_one_size, scopes_of

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from ..contract.arrays import FloatArray
    from ..estimation.estimates import Estimates

FIGURE_ROWS, MOST_AXES = 8, 24
#: Stretches of a long signal, each drawn by its smallest and largest value: more than a figure has pixels.
STRETCHES = 2000
#: A residual whose peak is this far above 99 % of it is drawn without the peak.
START_PEAK = 3.0
FIGURE_WIDTH, AXIS_HEIGHT = 8.0, 1.7


@dataclass(frozen=True)
class SignalLine:
    """One scalar signal as it is drawn."""

    label: str
    unit: str
    t: FloatArray
    values: FloatArray
    hold: bool

    @property
    def size(self) -> float:
        """The largest finite magnitude."""
        finite = np.abs(self.values[np.isfinite(self.values)])
        return float(finite.max()) if len(finite) else 0.0


def plot(
    record: Record | Estimates | Mapping[str, Estimates],
    signals: str | Iterable[str | Sequence[str]] | None = None,
    path: str | os.PathLike[str] | None = None,
    kind: str | Callable[[Record], Any] = "record",
) -> Figure:
    """Draw signals over time; with a path, also write .svg, .png or .pdf. Returns the matplotlib Figure.

    Signals of one unit and of_one_size size share an axis, four at most; a list inside the list is an axis as asked. Without
    names it draws what the diagram's `scopes:` says, or what a person would look at; `signals=list(record)` draws all.
    Estimates, of one identifier or of several by name, are drawn beside the truth. Another `kind` is drawn by a function of
    the record: one at hand, or the one `blocksim.plots` has under that name.
    """
    if not isinstance(record, Record):
        group = {"": record} if hasattr(record, "entries") else record
        picture: Figure = extension("plots", "estimates")(group, path)
        return picture
    if isinstance(signals, os.PathLike) or (isinstance(signals, str) and signals.endswith(tuple(f".{k}" for k in PICTURE_KINDS))):
        raise RecordError(f"signals: found '{signals}', the name of a picture. Write bs.plot(record, path='{signals}').")
    ending = suffix(path) if path is not None else ""
    drawing = [signals] if isinstance(signals, str) else signals
    figure: Figure
    if kind == "record":
        groups = signal_groups(record, drawing)
        figure = scopes(groups[:MOST_AXES], len(groups) - MOST_AXES, looks_of(record.estimates))
    else:
        draw = kind if callable(kind) else extension("plots", kind)
        names = [name for entry in drawing or () for name in ([entry] if isinstance(entry, str) else entry)]
        figure = draw(record.select(*names) if names else record)
        if not hasattr(figure, "savefig"):
            raise RecordError(f"the plot {kind} gave {type(figure).__name__} where a matplotlib Figure is wanted.")
    if path is not None:
        write_figure(figure, str(path), ending)
    return figure


def record_svg(record: Record) -> str:
    """The scopes of a record as SVG text, for a notebook."""
    text = io.StringIO()
    write_figure(plot(record), text, "svg")
    return text.getvalue()


def suffix(path: str | os.PathLike[str]) -> str:
    kind = Path(path).suffix.lower().lstrip(".")
    if kind not in PICTURE_KINDS:
        raise RecordError(f"cannot plot to '{path}'. A figure's name ends in: {listing('.' + k for k in PICTURE_KINDS)}.")
    return kind


def write_figure(figure: Figure, target: Any, kind: str) -> None:
    """Write a figure; the same figure gives the same bytes."""
    import matplotlib

    metadata = {"svg": {"Date": None}, "pdf": {"CreationDate": None}}.get(kind)
    with matplotlib.rc_context({"svg.fonttype": "none", "svg.hashsalt": "blocksim"}):
        figure.savefig(target, format=kind, dpi=150, metadata=metadata)


def signal_groups(record: Record, signals: Iterable[str | Sequence[str]] | None) -> list[list[SignalLine]]:
    """The lines of each axis, in the order the signals were named."""
    groups: list[list[SignalLine]] = []
    open_groups: list[list[SignalLine]] = []
    for entry in scopes_of(record) if signals is None else signals:
        if not isinstance(entry, str):
            together = [line for name in entry for line in lines(record, name)]
            groups += [together] if together else []
            continue
        for line in lines(record, entry):
            group = next((group for group in open_groups if may_share_axis(group, line)), None)
            if group is None:
                group = []
                groups.append(group)
                open_groups.append(group)
            group.append(line)
    return groups


def may_share_axis(group: list[SignalLine], line: SignalLine) -> bool:
    """Whether a line may share the axis: the same unit, room, and neither would look flat beside the other."""
    alike = of_one_size([line.size, max(other.size for other in group)])
    return group[0].unit == line.unit and len(group) < AXIS_LINES and alike


def lines(record: Record, name: str) -> list[SignalLine]:
    """A signal as scalar lines, one for each element of a vector; 'ref - joint.q' is the difference of two."""
    if " - " in name and name not in record:
        return differences(*(lines(record, end) for end in name.split(" - ", 1)))
    signal = record.signal(name)
    t = record.time(name)
    result = []
    for label, values in scalar_columns(name, signal.values):
        lasting = signal.hold and len(t) > 0 and t[-1] < record.t[-1]
        result.append(
            SignalLine(
                label,
                signal.unit,
                np.append(t, record.t[-1]) if lasting else t,
                np.append(values, values[-1]) if lasting else values,
                signal.hold,
            )
        )
    return result


def differences(one: list[SignalLine], other: list[SignalLine]) -> list[SignalLine]:
    """The first less the second, at the sample times of the second."""
    result = []
    for a, b in zip(one, other, strict=False):
        before = np.clip(np.searchsorted(a.t, b.t, side="right") - 1, 0, None)
        first = a.values[before] if a.hold else np.interp(b.t, a.t, a.values)
        result.append(SignalLine(f"{a.label} - {b.label}", b.unit, b.t, first - b.values, b.hold))
    return result


def scopes(groups: list[list[SignalLine]], left_out: int, looks: Mapping[str, Look]) -> Figure:
    """A figure with one axis for each group, in columns of at most eight, sharing time."""
    columns = max(1, -(-len(groups) // FIGURE_ROWS))
    rows = max(1, -(-len(groups) // columns))
    figure = blank_figure(
        FIGURE_WIDTH if columns == 1 else 6.2 * columns, max(3.2, AXIS_HEIGHT * rows + 0.6), layout="constrained"
    )
    if not groups:
        figure.text(0.5, 0.5, "no signals", ha="center", va="center", color="#858585")
        return figure
    axes = figure.subplots(rows, columns, sharex=True, squeeze=False)
    spots = [axes[n % rows][n // rows] for n in range(rows * columns)]
    for spot, group in zip(spots, groups, strict=False):
        draw_scope(spot, group, looks)
    for n, spot in enumerate(spots):
        if n >= len(groups):
            spot.set_visible(False)
        if n % rows == rows - 1 or n == len(groups) - 1:
            spot.set_xlabel("time [s]")
            spot.tick_params(labelbottom=True)
    figure.align_ylabels([spot for spot in spots if spot.get_visible()])
    if left_out > 0:
        figure.supxlabel(f"{left_out} more axes left out; name the signals to see them", fontsize=8, color="#858585")
    return figure


def draw_scope(axes: Axes, group: list[SignalLine], looks: Mapping[str, Look]) -> None:
    """One axis: its lines, thin grid, names and unit. What identifiers gave has the colour of their estimates."""
    handles = []
    methods = [looks.get(line.label.rpartition(".")[0]) for line in group]
    own = [method.colour for method in methods if method is not None]
    colours = own if len(set(own)) == len(group) else COLOURS
    for n, line in enumerate(group):
        t, values = thinned(line.t, line.values)
        handles += axes.plot(
            t,
            values,
            color=colours[n % len(colours)],
            linewidth=1.1 + 0.6 * (len(group) - 1 - n) / max(1, len(group) - 1),  # what lies below another still shows
            linestyle="-" if n < len(COLOURS) else "--",
            drawstyle="steps-post" if line.hold else "default",
        )
    if all(line.label.partition("[")[0].endswith("residual") for line in group):
        keep_start_outside(axes, group)
    axes.set_ylabel(caption(group), fontsize=9, parse_math=False)
    axes.grid(True, linewidth=0.4, color="#dddddd")
    axes.set_axisbelow(True)
    axes.tick_params(labelsize=8)
    axes.margins(x=0.01)
    for side in ("top", "right"):
        axes.spines[side].set_visible(False)
    if len(group) > 1:
        legend = axes.legend(
            handles,
            [line.label.lstrip("_") or line.label for line in group],
            fontsize=8,
            loc="upper left",
            bbox_to_anchor=(1.0, 1.0),
            frameon=False,
            handlelength=1.4,
            borderaxespad=0.2,
        )
        for text, line in zip(legend.get_texts(), group, strict=True):
            text.set_parse_math(False)
            text.set_text(line.label)


def keep_start_outside(axes: Axes, group: list[SignalLine]) -> None:
    """Limits of an axis of residuals: what an identifier leaves out at the start does not squash what it used."""
    sizes = np.concatenate([np.abs(line.values[np.isfinite(line.values)]) for line in group])
    usual = float(np.quantile(sizes, 0.99)) if len(sizes) else 0.0
    if usual > 0 and sizes.max() > START_PEAK * usual:
        axes.set_ylim(-2 * usual, 2 * usual)


def caption(group: list[SignalLine]) -> str:
    """'joint.q [rad]'; for several lines their names while they are short, else the unit alone."""
    units = list(dict.fromkeys(line.unit for line in group))
    unit = f"[{unit_label(units[0])}]" if len(units) == 1 and units[0] else ""
    names = ", ".join(line.label for line in group)
    return f"{names} {unit}".strip() if len(names) + len(unit) <= 24 or len(group) == 1 else unit


def thinned(t: FloatArray, values: FloatArray) -> tuple[FloatArray, FloatArray]:
    """The smallest and the largest sample of each stretch: no peak is lost, and a million samples draw fast."""
    width = len(t) // STRETCHES
    if width < 4:
        return t, values
    count = len(t) // width
    block = values[: count * width].reshape(count, width)
    start = np.arange(count) * width
    low = start + np.argmin(np.where(np.isnan(block), np.inf, block), axis=1)
    high = start + np.argmax(np.where(np.isnan(block), -np.inf, block), axis=1)
    places = np.unique(np.concatenate([low, high, [0, len(t) - 1], np.arange(count * width, len(t))]))
    return t[places], values[places]
