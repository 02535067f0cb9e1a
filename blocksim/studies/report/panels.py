"""What the figures of a study share: panels for parameters, the axis of what was swept, colours, one legend."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from ...diagram.checks import is_finite_number
from ...notation import unit_label
from ...pictures.figures import blank_figure
from ...pictures.palette import look
from .text import short

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from ..study import StudyResult

#: Two panels beside each other can be read on a telephone; a wide page sets figures side by side.
PANEL_COLUMNS = 2
PANEL = (2.5, 2.1)
#: So many swept values or fewer are all written at the axis.
MOST_TICKS = 9
#: Swept values that span more than this factor have a logarithmic axis.
DECADE = 10.0

TableLine = dict[str, Any]


@dataclass(frozen=True)
class SweptAxis:
    """The x axis of figures over a sweep: the setting that has most values; texts and lists stand side by side."""

    name: str
    label: str  # with its unit
    values: tuple[Any, ...]
    others: tuple[str, ...]  # settings that are varied as well
    shift: float = 0.0  # to the side, where texts stand and several methods would hide each other

    @property
    def numeric(self) -> bool:
        return all(is_finite_number(value) for value in self.values)

    def place(self, line: TableLine) -> float:
        return line[self.name] if self.numeric else self.values.index(line[self.name]) + self.shift

    def beside(self, number: int, count: int) -> SweptAxis:
        """The axis for one of several series."""
        return replace(self, shift=min(0.15, 0.7 / count) * (number - (count - 1) / 2))

    def dress(self, axis: Axes) -> None:
        """Logarithmic where the values span decades; the texts where they are no numbers."""
        if not self.numeric:
            axis.set_xticks(range(len(self.values)), [short(v) for v in self.values], rotation=40, ha="right", fontsize=7)
        elif min(self.values) > 0 and max(self.values) / min(self.values) > DECADE:
            axis.set_xscale("log")
            if len(self.values) <= MOST_TICKS:
                axis.set_xticks(self.values, [short(v, 3) for v in self.values], rotation=40, ha="right", fontsize=7)
                axis.minorticks_off()


def main_axis(result: StudyResult, scores: list[TableLine]) -> SweptAxis | None:
    """Over what figures are drawn; None without a sweep."""
    values = {name: unique(line[name] for line in scores) for name in result.shown}
    name = max(values, key=lambda n: (len(values[n]), all(is_finite_number(v) for v in values[n])), default="")
    if not name or len(values[name]) < 2:
        return None
    unit = result.about["units"].get(name, "")
    return SweptAxis(
        name, f"{name} [{unit_label(unit)}]" if unit else name, tuple(values[name]), tuple(n for n in values if n != name)
    )


def unique(values: Iterable[Any]) -> list[Any]:
    return list(dict.fromkeys(values))


def colour(number: int) -> str:
    return look(number).colour


def titles(lines: list[TableLine]) -> dict[str, str]:
    """The parameters' names; where the truth is 0 or unknown, with the unit their panel has instead of %."""
    result: dict[str, str] = {}
    for line in lines:
        whole = (
            is_finite_number(line["truth"]) and line["truth"] if "truth" in line else is_finite_number(line["percent_of_truth"])
        )
        result.setdefault(
            line["parameter"], line["parameter"] if whole else f"{line['parameter']}, in {unit_label(line['unit']) or 'itself'}"
        )
    return result


def panels(parameters: dict[Any, str], shared: str, height: float = PANEL[1], columns: int = 0) -> tuple[Figure, dict[Any, Axes]]:
    """A grid with one panel for each parameter."""
    columns = columns or min(PANEL_COLUMNS, len(parameters))
    rows = -(-len(parameters) // columns)
    width = max(PANEL[0] * columns, 5.2)
    figure = blank_figure(width + 0.6, height * rows + 0.7, layout="constrained")
    axes = {}
    for number, (name, title) in enumerate(parameters.items()):
        axis = figure.add_subplot(rows, columns, number + 1)
        axis.set_title(title, fontsize=11)
        axis.tick_params(which="both", labelsize=9)
        axis.grid(True, color="#dddddd", linewidth=0.6)
        axis.set_axisbelow(True)
        for side in ("top", "right"):
            axis.spines[side].set_visible(False)
        axes[name] = axis
    figure.supylabel(shared, fontsize=9)
    return figure, axes


def label_of(group: tuple[Any, ...], settings: Sequence[str] = ()) -> str:
    """'ls, noise_std 0.3': the method, then each setting by its name."""
    names = ["", *(name.rpartition(".")[2] + " " for name in settings)]
    return ", ".join(name + short(part, 3) for name, part in zip(names, group, strict=False) if part != "")


def leftmost(axis: Axes) -> bool:
    """Whether a panel stands in the first column, where names are written."""
    place = axis.get_subplotspec()
    return place is not None and place.is_first_col()


def figure_legend(figure: Figure, axes: Iterable[Axes]) -> None:
    """One for all panels, above them, where there is more than one thing to tell apart; a panel may lack some."""
    handles = {label: handle for axis in axes for handle, label in zip(*axis.get_legend_handles_labels(), strict=True)}
    if len(handles) > 1:
        widest = 0.6 + 0.075 * max(map(len, handles))  # inches that an entry takes
        columns = min(6, len(handles), max(1, int(figure.get_figwidth() / widest)))
        place: Any = {"loc": "outside upper center", "ncols": columns, "fontsize": 8, "frameon": False}
        legend = figure.legend(handles.values(), handles.keys(), **place)
        for key in legend.get_lines():  # the points of a cloud are small and pale, the key to them is not
            key.set_alpha(1.0)
            key.set_markersize(4.5)
