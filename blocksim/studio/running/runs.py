"""Live runs: one simulation with the sliders' values, what is quick of its record blocks at once, the rest on its own time."""

from __future__ import annotations

import itertools
import time as wall
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from ...errors import BlocksimError, DiagramError, SimulationError
from ...estimation.process import process_units
from ...estimation.running_estimates import estimators
from ...simulation.noise import draw_noise
from ...simulation.prepare import prepared
from ...simulation.simulation import run_experiment

if TYPE_CHECKING:
    from ...records.record import Record
    from ...schedule.schedule import Unit
    from ...simulation.experiment import Experiment

#: Seconds of a record block beyond which the curves do not wait for it.
QUICK = 0.015
UNTIMED = 0.0  # a block's first time compiles, and says nothing
RUN_NUMBERS = itertools.count(1)


@dataclass
class LiveRun:
    """A run with its record, what is still to be computed of it, what failed, and how long it took.

    `late` are the paths of what was computed after the curves: whoever asks for the rest twice is told it twice.
    """

    experiment: Experiment
    changes: dict[str, Any]
    record: Record
    number: int = field(default_factory=lambda: next(RUN_NUMBERS))
    rest: list[Unit] = field(default_factory=list)
    late: frozenset[str] = frozenset()
    failures: list[BlocksimError] = field(default_factory=list)
    seconds: float = 0.0


def live_run(
    base: Experiment, changes: Mapping[str, Any], seed: int | None, spent: dict[str, float], options: Mapping[str, Any]
) -> LiveRun:
    """Run the loop and what is quick behind it. A run that ends early keeps its record, and says why it ended.

    `spent` is how long each record block took last; those that nobody has timed yet are timed now.
    """
    begin = wall.perf_counter()
    ready, left = prepared(base, changes, options)
    try:
        record = run_experiment(ready, left, draw_noise(ready, seed), named=changes)
    except SimulationError as error:
        if error.record is None:
            raise
        return LiveRun(ready, left, error.record, failures=[error], seconds=wall.perf_counter() - begin)
    run = LiveRun(ready, left, record)
    slow = slow_units(ready.schedule.after_run, spent)
    run_units(run, [unit for unit in ready.schedule.after_run if unit.path not in slow], spent)
    run.rest = [unit for unit in ready.schedule.after_run if unit.path in slow]
    run.seconds = wall.perf_counter() - begin
    return run


def slow_units(units: list[Unit], spent: Mapping[str, float]) -> set[str]:
    """The record blocks that take long, and those that read them."""
    slow: set[str] = set()
    for unit in units:
        reads = {ref.block for refs in unit.inputs.values() for ref in refs}
        if spent.get(unit.path, 0.0) > QUICK or reads & slow:
            slow.add(unit.path)
    return slow


def run_units(run: LiveRun, units: list[Unit], spent: dict[str, float]) -> None:
    """Let record blocks work on the run's record; one that fails takes only those with it that read it."""
    schedule = run.experiment.schedule
    lost: set[str] = set()
    pending: list[Unit | None] = [*units] if units else [None]  # blocks that estimated while they ran are asked even so
    for number, unit in enumerate(pending):
        if unit is not None and {ref.block for refs in unit.inputs.values() for ref in refs} & lost:
            lost.add(unit.path)
            continue
        busy = wall.thread_time()
        part = [] if unit is None else [unit]
        estimating = estimators(schedule) if number == 0 else [unit] if unit is not None and unit.kind.estimated else []
        try:
            run.record = process_units(schedule, part, estimating, run.record, run.changes, True)
        except DiagramError as error:
            run.failures.append(error)
            run.record = run.record if error.record is None else error.record
            lost |= {u.path for u in part}
        if unit is not None:
            took = wall.thread_time() - busy  # of the processor: a busy machine makes no method slow
            before = spent.get(unit.path)
            spent[unit.path] = UNTIMED if before is None else took if before == UNTIMED else min(took, before)
