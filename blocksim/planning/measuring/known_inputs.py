"""Inputs that are recorded in the experiment: given them, a reading's own noise is all that is left of it, loop or not.

The noise of a sensor goes around a loop and into what drives the plant. Who records that drive knows it as it was, and fits the
plant alone; what the loop does is then no part of what is learnt, only of what drives.
"""

from __future__ import annotations

import copy
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from ...errors import DiagramError, listing
from ...estimation.process import Run
from ...estimation.twin import settings_in, twin_of
from ...estimation.twin_diagram import Played, player_path
from .renumbering import put_settings

if TYPE_CHECKING:
    from ...contract.arrays import FloatArray
    from ...simulation.experiment import Experiment


class KnownInputs:
    """What the known inputs drive, without what makes them; made ready once, the samples of each are other numbers to it."""

    def __init__(self, run: Run, t: FloatArray, outputs: Sequence[str], names: Sequence[str]):
        played = [Played(name, run.record[name], hold="zero") for name in names]
        self.names = tuple(names)
        self.twin = twin_of(run, t, tuple(outputs), played)
        schedule = self.twin.experiment.schedule
        self.players = {p.signal: schedule.unit(player_path(p)) for p in played if player_path(p) in schedule.by_path}
        self.shapes = {p.signal: p.values.reshape(len(p.values), -1).shape for p in played}

    def experiment_of(self, signals: Mapping[str, FloatArray]) -> Experiment:
        """The experiment in which these samples act."""
        base = self.twin.experiment
        ready = copy.copy(base)  # with all that was computed of it: only its numbers are others
        ready.numbers = base.numbers.copy()
        for name, unit in self.players.items():
            put_settings(base, ready.numbers, unit, {"values_": held_rows(signals[name], self.shapes[name])})
        return ready

    def changes_in(self, changes: Mapping[str, Any]) -> dict[str, Any]:
        """Those changes that concern what is driven, and those that are no setting of a block."""
        return {n: v for n, v in changes.items() if "." not in n} | settings_in(self.twin.experiment, changes)

    def refuse_beside(self, sources: Sequence[str]) -> None:
        """What varies must come in through the known inputs only: the rest of what is driven is the same for all candidates."""
        beside = [path for path in sources if path in self.twin.experiment.schedule.by_path]
        if beside:
            raise DiagramError(
                f"inputs: '{beside[0]}' varies, and drives what is read beside {listing(self.names)}. Name it among the inputs "
                "too."
            )


def held_rows(values: FloatArray, shape: tuple[int, ...]) -> FloatArray:
    """Samples as rows, the last one held where a run ended sooner."""
    import numpy as np

    rows = values.reshape(len(values), -1)[: shape[0]]
    whole: FloatArray = np.concatenate([rows, np.repeat(rows[-1:], shape[0] - len(rows), axis=0)])
    return whole
