"""Record blocks over several records of one system.

A block with a method `process_together` is given all of them at once, and fits its parameters to them together. Every other block
runs over each record by itself; what an identifier found in each is then pooled.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import replace

from ...contract.definition import arguments
from ...errors import DiagramError, Problem, RecordError
from ...records.record import Record
from ...schedule.schedule import Schedule, Unit
from ..estimates import Estimates
from ..pool import pool
from ..process import Run, arguments_in, failures_named, in_turn, refuse_missing, started, with_estimates, with_results
from ..score import score


def process_together(
    schedule: Schedule, units: Iterable[Unit], records: Sequence[Record], measured: Collection[str]
) -> list[Record]:
    """The records after every block in turn, each with the same estimates; none of them has a truth.

    A block that fails takes only those with it that read it: DiagramError tells all that failed, its `record` is the first one.
    """
    units, failures, lost = list(units), [], set()
    makers = {unit.path: unit for unit in units}
    current = list(records)
    for unit in units:
        if any(ref.block in lost for refs in unit.inputs.values() for ref in refs):
            lost.add(unit.path)
            continue
        try:
            together = unit.kind.after_run and hasattr(unit.block, "process_together")
            current = at_once(unit, current, schedule, makers) if together else one_by_one(unit, current, schedule, measured)
        except DiagramError as error:
            failures.append(error)
            lost.add(unit.path)
    current = [with_estimates(record, score(record, schedule, {}, simulated=False)) for record in current]
    if failures:
        raise DiagramError([p for failure in failures for p in failure.problems], current[0]) from failures[0].__cause__
    return current


def run_in(schedule: Schedule, record: Record, unit: Unit) -> Run:
    return Run(schedule.diagram, {}, record, unit.path, False)


def at_once(unit: Unit, records: Sequence[Record], schedule: Schedule, makers: Mapping[str, Unit]) -> list[Record]:
    """One block that takes all records: what it makes of each, and the one set of estimates in all."""
    runs = [run_in(schedule, record, unit) for record in records]
    block = started(unit, records[0], runs[0])
    sets = [arguments_in(unit, record, run, makers) for record, run in zip(records, runs, strict=True)]
    names = arguments(type(block).process)[1:]  # type: ignore[attr-defined]
    refuse_missing(unit, [name for name in names if any(name not in values for _, values in sets)])
    with failures_named(unit, block):
        results = block.process_together([{name: values[name] for name in names} for _, values in sets])  # type: ignore[attr-defined]
    return [with_results(unit, r, t, result) for r, (t, _), result in zip(records, sets, results, strict=True)]


def one_by_one(unit: Unit, records: Sequence[Record], schedule: Schedule, measured: Collection[str]) -> list[Record]:
    """One block over each record by itself; what it found in each as one."""
    after = []
    for number, record in enumerate(records):
        result, failures = in_turn([unit], record, lambda u, r: run_in(schedule, r, u), measured)
        if failures:
            problems = [replace(p, what=f"record {number + 1} of {len(records)}: {p.what}") for p in failures[0].problems]
            raise DiagramError(problems) from failures[0].__cause__
        after.append(result)
    if unit.path not in after[0].estimates:
        return after
    shared = pooled(unit, [record.estimates[unit.path] for record in after])
    return [with_estimates(record, {**record.estimates, unit.path: shared}) for record in after]


def pooled(unit: Unit, estimates: Sequence[Estimates]) -> Estimates:
    """What was found in each record as one, with all that was said of any."""
    try:
        whole = pool(estimates)
    except RecordError as error:
        raise DiagramError(
            [Problem(f"block '{unit.path}' was fitted to each of {len(estimates)} records by itself: {error}", unit.node.place)]
        ) from None
    remarks = [f"record {k + 1}: {text}" for k, one in enumerate(estimates) for text in one.warnings]
    return replace(
        whole.warned(*remarks),
        reason=f"fitted to each of {len(estimates)} records by itself, and pooled",
        details={**estimates[0].details, **whole.details, "converged": all(e.converged for e in estimates)},
    )
