"""Sensitivities dy/dtheta of a twin's signals by central differences, two step sizes checked against each other.

Where halving the step changes the difference, the output is no smooth function of the parameter (a gap that rattles, a mode that
flips), or the effect drowns in rounding: then no number is told.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING, Any

from ..errors import DiagramError, SimulationError
from ..simulation.elements import run_settings
from ..simulation.overrides import Overrides

if TYPE_CHECKING:
    from ..contract.arrays import FloatArray
    from ..estimation.twin import Twin
    from ..schedule.schedule import Schedule

#: Steps of the differences, as a share of a parameter, in the order in which pairs of neighbours are tried.
LADDER = (4e-4, 1e-4, 2.5e-5, 6e-6, 1.5e-6, 4e-7)
#: The step at a parameter that is 0, before its effect is seen; and the effect it then aims at, as a share of the signals.
STEP_AT_ZERO, EFFECT_AT_ZERO = 1e-6, 1e-4
#: Neighbours that differ by more than this share of a column are no derivative.
DISAGREE = 0.03
#: Neighbours that differ by less need no further steps.
AGREE = 1e-3
#: A parameter whose change by all of itself moves the signals by less than this share of them does so by rounding only.
SILENT = 1e-10


@dataclass(frozen=True)
class Column:
    """d y / d theta of one parameter, [time, reading]; `disagreement` is how far a second step size is from it, relative."""

    name: str
    value: float
    slope: FloatArray
    disagreement: float
    step: float

    @property
    def doubtful(self) -> bool:
        return not self.disagreement <= DISAGREE


@dataclass(frozen=True)
class Sensitivities:
    """What the signals are, and how they depend on each parameter."""

    signals: FloatArray  # [time, reading]
    columns: tuple[Column, ...]
    simulations: int

    @property
    def slopes(self) -> FloatArray:
        """[time, reading, parameter]."""
        import numpy as np

        return np.stack([column.slope for column in self.columns], axis=2)


class Differences:
    """The differences of a twin's signals, in units of their noise, at one point; it counts its simulations."""

    def __init__(self, twin: Twin, names: Sequence[str], stds: FloatArray, rows: slice = slice(None)):
        self.twin, self.names, self.stds, self.rows = twin, tuple(names), stds, rows
        self.schedule = twin.experiment.schedule
        self.simulations = 0

    def run(self, table: Sequence[dict[str, Any]]) -> list[FloatArray]:
        """The readings of each row of a table, [time, reading] in standard deviations."""
        self.simulations += len(table)
        results = []
        for end in self.twin.run_many([run_settings(self.schedule, row) for row in table]):
            if isinstance(end, SimulationError):
                raise end
            results.append(side_by_side(end, self.names)[self.rows] / self.stds)
        return results

    def sensitivities(self, values: dict[str, float], checked: bool = True) -> Sensitivities:
        """Of every parameter; unchecked ones take one step size."""
        import numpy as np

        here = self.run([{}])[0]
        size = float(np.sqrt(np.mean(np.square(here)))) or 1.0
        present = {name: v for name, v in values.items() if name.rpartition(".")[0] in self.schedule.by_path}
        steps = {name: abs(value) or self.step_at_zero(name, here, size) for name, value in present.items()}
        slopes = self.slopes_at(present, steps, LADDER[:2] if checked else LADDER[1:2])
        columns = []
        for name, value in values.items():
            if name not in present:  # of a block that nothing read depends on, which a twin leaves out
                columns.append(Column(name, value, np.zeros_like(here), 0.0, 0.0))
                continue
            pair = slopes[name]
            while checked and unsettled(pair, size, steps[name]) and len(pair) < len(LADDER):
                share = LADDER[len(pair)]
                pair.append(self.slopes_at({name: value}, steps, (share,))[name][0])
            columns.append(settled_column(name, value, pair, steps[name], size, checked))
        return Sensitivities(here, tuple(columns), self.simulations)

    def slopes_at(
        self, values: dict[str, float], sizes: dict[str, float], shares: Sequence[float]
    ) -> dict[str, list[FloatArray]]:
        """Differences of every parameter with steps of these shares, all in one batch."""
        ends = []
        for name, value in values.items():
            for share in shares:
                ends.append((name, *step_ends(self.schedule, name, value, share * sizes[name])))
        results = self.run([{name: end} for name, *pair in ends for end in pair])
        slopes: dict[str, list[FloatArray]] = {name: [] for name in values}
        for k, (name, low, high) in enumerate(ends):
            slopes[name].append((results[2 * k + 1] - results[2 * k]) / (high - low))
        return slopes

    def step_at_zero(self, name: str, here: FloatArray, size: float) -> float:
        """What stands for the size of a parameter that is 0: a change of it by that moves the signals by their own size."""
        import numpy as np

        low, high = step_ends(self.schedule, name, 0.0, STEP_AT_ZERO)
        moved = max(float(np.abs(self.run([{name: end}])[0] - here).max()) for end in {low, high} - {0.0})
        return (
            STEP_AT_ZERO if moved == 0 else float(np.clip(STEP_AT_ZERO * size * EFFECT_AT_ZERO / moved, 1e-15, 1e9)) / LADDER[1]
        )


def unsettled(slopes: list[FloatArray], size: float, step: float) -> bool:
    """Whether the two best neighbours differ so much that smaller steps are worth a try."""
    return not silent(slopes[0], size, step) and best_pair(slopes)[1] > AGREE


def settled_column(name: str, value: float, slopes: list[FloatArray], step: float, size: float, checked: bool) -> Column:
    """The slope of the smaller step of the pair of neighbours that agree best."""
    import numpy as np

    if silent(slopes[0], size, step):
        return Column(name, value, np.zeros_like(slopes[0]), 0.0, step)
    if not checked:
        return Column(name, value, slopes[0], 0.0, LADDER[1] * step)
    place, disagreement = best_pair(slopes)
    return Column(name, value, slopes[place + 1], disagreement, LADDER[place + 1] * step)


def silent(slope: FloatArray, size: float, step: float) -> bool:
    """Whether a change of a parameter by all of itself moves nothing by more than rounding."""
    import numpy as np

    return bool(np.abs(slope).max(initial=0.0) * step <= SILENT * size)


def best_pair(slopes: list[FloatArray]) -> tuple[int, float]:
    import numpy as np

    def size(values: FloatArray) -> float:  # not by a library's dot product, whose threads wait for a busy core
        return float(np.sqrt(np.square(values).sum()))

    apart = [size(a - b) / (size(b) or np.inf) for a, b in pairwise(slopes)]
    place = int(np.argmin(apart))
    return place, apart[place]


def step_ends(schedule: Schedule, name: str, value: float, step: float) -> tuple[float, float]:
    """value - step and value + step, or value itself on a side that the block refuses: a friction or a gap below 0."""
    low, high = value - step, value + step
    if not allowed(schedule, name, low):
        low = value
    if not allowed(schedule, name, high):
        high = value
    if low == high:
        raise DiagramError(f"'{name}' can be changed to neither side of {value:g} by {step:g}: no difference can be taken.")
    return low, high


def allowed(schedule: Schedule, name: str, value: float) -> bool:
    try:
        Overrides(run_settings(schedule, {name: value})).by_unit(schedule)
    except DiagramError:
        return False
    return True


def side_by_side(signals: dict[str, FloatArray], names: Sequence[str]) -> FloatArray:
    """Signals side by side, [time, reading]: an element of a vector is a reading of its own."""
    import numpy as np

    return np.concatenate([signals[name].reshape(len(signals[name]), -1) for name in names], axis=1)
