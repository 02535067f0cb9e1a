"""Whether the controller of a diagram is the one that acted: run over the record, it should make the control that was recorded.

Identifiers that simulate the loop again blame the plant for a controller that is not quite the one of the experiment.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from ..contract.block import RecordBlock
from ..contract.declarations import Outport
from ..errors import BlocksimError
from ..estimation.process import Run, in_turn
from ..records.grid import Grid
from ..records.record import Record
from ..schedule.schedule import Unit
from .planner import Planner, standing

if TYPE_CHECKING:
    from .identify import MeasuredData

TO_TELL = 0.005  # of the control's own deviation: rounding and quantised columns leave less
SETTLED = 0.05  # share of the record after which a filter has forgotten where it began


def controller_notes(data: MeasuredData, plan: Sequence[Unit]) -> list[str]:
    """How far what the diagram's own blocks make of the record is from what was recorded, for loops that are simulated again."""
    if not any(isinstance(unit.block, RecordBlock) and unit.block.repeats_loop for unit in plan):
        return []
    makers = {u.path: u for u in [*data.schedule.units, *data.schedule.after_run]}
    notes = []
    for signal in data.signals:
        unit = makers[signal.rpartition(".")[0]]
        if unit.after or standing(unit) or not any(unit.inputs.values()) or len(unit.kind.of(Outport)) > 1:
            continue
        planner = Planner(set(data.signals) - {signal}, makers)
        if planner.obtain(unit) or too_fast(data, signal, planner.order):
            continue
        try:
            share, size = missed(data, signal, planner.order)
        except BlocksimError:  # at another rate, with gaps: nothing can be told
            continue
        if share > TO_TELL:
            notes.append(
                f"'{signal}': what the diagram makes of the record differs from what was recorded by {100 * share:.2g} % "
                f"({size:.3g} rms): its controller is not quite the one that acted, and a simulated loop blames the plant. "
                "Look at its gains, filters, limits and delays"
            )
    return notes


def too_fast(data: MeasuredData, signal: str, order: Sequence[Unit]) -> bool:
    """Whether one of these blocks acts more often than the record has rows."""
    t = data.record.time(signal)
    interval = float(t[-1] - t[0]) / max(len(t) - 1, 1)
    groups = data.schedule.groups
    return any(unit.group is not None and float(groups[unit.group].period) < 0.999 * interval for unit in order)


def missed(data: MeasuredData, signal: str, order: Sequence[Unit]) -> tuple[float, float]:
    """The rms of recorded less made, without their means, which a controller may have had before: relative, and as it is."""
    recorded = np.asarray(data.record[signal], dtype=float)
    grids = [Grid(g.t, {n: s for n, s in g.signals.items() if n != signal}) for g in data.record.grids]
    bare = Record(grids, data.record.provenance, data.record.aliases)
    made, failures = in_turn(
        order, bare, lambda unit, r: Run(data.schedule.diagram, {}, r, unit.path, False), set(data.signals) - {signal}
    )
    if failures:
        raise failures[0]
    first = int(SETTLED * len(recorded))
    rest = (recorded - np.asarray(made[signal], dtype=float))[first:]
    size = float(np.sqrt(np.mean((rest - rest.mean(axis=0)) ** 2)))
    spread = float(np.std(recorded[first:]))
    return (size / spread if spread else 0.0), size
