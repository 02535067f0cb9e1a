"""Which blocks of a diagram run over a measured record, in which order, and why one cannot; and whether its controller acted.

Identifiers that simulate the loop again blame the plant for a controller that is not quite the one of the experiment.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from ..contract.block import RecordBlock
from ..contract.declarations import Memory, Model, Noise, Outport, State
from ..contract.definition import arguments
from ..errors import BlocksimError, DiagramError, Problem, listing
from ..estimation.process import Run, in_turn
from ..records.grid import Grid
from ..records.record import Record, brief_listing
from ..schedule.named_starts import awaited
from ..schedule.schedule import Schedule, Unit

if TYPE_CHECKING:
    from .identify import MeasuredData

TO_TELL = 0.005  # of the control's own deviation: rounding and quantised columns leave less
FORGOTTEN = 0.05  # share of the record after which a filter has forgotten where it began


@dataclass
class Planner:
    """Decides which blocks run, each after those it reads; remembers why a signal cannot be had."""

    have: set[str]
    by_path: dict[str, Unit]

    def __post_init__(self) -> None:
        self.order: list[Unit] = []
        self.refused: dict[str, str] = {}

    def obtain(self, unit: Unit, trail: tuple[str, ...] = ()) -> str:
        """Make sure a block can run, planning what it needs; '' or why it cannot."""
        if unit in self.order:
            return ""
        if unit.path not in self.refused:
            self.refused[unit.path] = self.reason(unit, (*trail, unit.path))
            if not self.refused[unit.path]:
                self.order.append(unit)
        return self.refused[unit.path]

    def reason(self, unit: Unit, trail: tuple[str, ...]) -> str:
        """Why a block cannot run over the record: by itself, or for want of an input."""
        if not unit.after and (why := standing(unit)):
            return why
        for port, refs in unit.inputs.items():
            for ref in refs:
                signal = f"{ref.block}.{ref.port}"
                if signal in self.have:
                    continue
                maker = self.by_path[ref.block]
                why = f"'{ref.block}' waits for itself" if ref.block in trail else self.obtain(maker, trail)
                if why:
                    return f"its input '{port}' comes from '{signal}'\n{why}"
        for name in awaited(unit):
            if why := f"'{name}' waits for itself" if name in trail else self.obtain(self.by_path[name], trail):
                return f"its start comes from '{name}', which cannot be had: {why.replace(chr(10), ': ')}"
        return ""


def planned(schedule: Schedule, have: Any, source: Record, notes: list[str]) -> list[Unit]:
    """The blocks to run, in order: record blocks, what reads one, observers, and what these need that the record has not."""
    planner = Planner(set(have), {u.path: u for u in [*schedule.units, *schedule.after_run]})
    problems = []
    for unit in schedule.after_run:
        ports = [f"{unit.path}.{port}" for port in unit.kind.of(Outport)]
        left = [port for port in ports if port not in planner.have]
        if ports and not left:
            continue  # a mapping says it is measured
        if len(left) < len(ports):
            problems.append(Problem(f"record: '{unit.path}' makes {listing(ports)}; map {listing(left)} too, or none of them."))
        elif why := planner.obtain(unit):
            problems.append(Problem(wanting(unit, why, source), unit.node.at("in")))
    for unit in filter(observes, schedule.units):
        if why := planner.obtain(unit):
            lost = Problem(wanting(unit, why, source), unit.node.at("in"))
            if planner.order:
                notes.append(f"left out: {lost.what}")
            else:
                problems.append(lost)
    if problems:
        raise DiagramError(dict.fromkeys(problems))
    if not planner.order:
        raise DiagramError("the diagram has no block that works on a record: add an identifier, a filter or an observer.")
    return planner.order


def observes(unit: Unit) -> bool:
    """Whether a running block names a plant: an observer or a recursive estimator, wanted for its own sake."""
    return any(unit.settings.get(name) for name in unit.kind.of(Model))


def standing(unit: Unit) -> str:
    """Why a running block cannot be run over a record whatever its inputs are; '' where it can."""
    if any(not isinstance(d, Memory) for d in unit.kind.of(State).values()):
        return f"'{unit.path}' ({type(unit.block).__name__}) moves with states of its own"
    if unit.kind.of(Noise):
        return f"'{unit.path}' ({type(unit.block).__name__}) draws noise"
    if not any(unit.inputs.values()) and (unit.kind.of(State) or any("t" in arguments(f) for f in unit.kind.functions.values())):
        return f"'{unit.path}' ({type(unit.block).__name__}) is a source, and the diagram's need not be what was sent"
    return ""


def wanting(unit: Unit, why: str, source: Record) -> str:
    """Which input of a block is missing, why it cannot be computed, and what to do."""
    *steps, cause = why.split("\n")
    if not steps:
        return f"block '{unit.path}' cannot run on a record: {cause}."
    first, last = (step.split("'")[3] for step in (steps[0], steps[-1]))
    need = "" if first == last else f"that takes '{last}', and "
    return (
        f"block '{unit.path}': {steps[0]}, which the record does not have and which cannot be computed from it: {need}{cause}. "
        f"Map a column: record: {{signals: {{{first}: COLUMN}}}} or --map {first}=COLUMN. It has: {brief_listing(source)}."
    )


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
    replay, failures = in_turn(
        order, bare, lambda unit, r: Run(data.schedule.diagram, {}, r, unit.path, False), set(data.signals) - {signal}
    )
    if failures:
        raise failures[0]
    first = int(FORGOTTEN * len(recorded))
    rest = (recorded - np.asarray(replay[signal], dtype=float))[first:]
    size = float(np.sqrt(np.mean((rest - rest.mean(axis=0)) ** 2)))
    spread = float(np.std(recorded[first:]))
    return (size / spread if spread else 0.0), size
