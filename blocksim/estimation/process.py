"""Run record blocks (filters, smoothers, identifiers) over a whole Record, simulated or measured, in dependency order."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import TYPE_CHECKING, Any

from ..contract.block import Block
from ..contract.declarations import Inport, Outport
from ..contract.plant import Plant
from ..diagram.diagram import Diagram, Ref
from ..errors import BlocksimError, DiagramError, Problem, RecordError
from ..records.estimate_set import EstimateSet
from ..records.grid import Grid, Signal, grows_apart
from ..records.record import Record
from ..schedule.flatten import flatten
from ..schedule.schedule import Schedule, Unit
from ..schedule.units import derived, unit_text
from ..simulation.overrides import Overrides
from ..solvers.kernel import MOST_STATE
from .estimates import Estimates
from .input_warnings import apart
from .named_values import with_values
from .running_estimates import estimators, running_estimates
from .score import score

if TYPE_CHECKING:
    import numpy as np


@dataclass(frozen=True)
class Run:
    """What a record block may know beyond its inputs: a method that asks for `run` gets this."""

    diagram: Diagram  # as it stands in the file
    changes: Mapping[str, Any]  # settings of this run beside the diagram, {"joint.J": 0.02}
    record: Record  # everything so far
    path: str  # of the block itself
    simulated: bool = True  # the diagram made the record, so that its plants' values are the truth


def process(
    diagram: Diagram | Schedule, record: Record, changes: Mapping[str, Any] | None = None, simulated: bool = True
) -> Record:
    """The record with the outputs and estimates of the diagram's record blocks added.

    `changes` are the settings the run had beside the diagram; a record that was not `simulated` by the diagram has no truth.
    A block that fails takes only those with it that read it: DiagramError tells all that failed, its `record` has the rest.
    """
    schedule = flatten(diagram) if isinstance(diagram, Diagram) else diagram
    if not schedule.reports:
        return record
    return process_units(schedule, schedule.after_run, estimators(schedule), record, changes or {}, simulated)


def process_units(
    schedule: Schedule,
    units: Iterable[Unit],
    estimating: Iterable[Unit],
    record: Record,
    changes: Mapping[str, Any],
    simulated: bool,
    measured: Collection[str] = (),
) -> Record:
    """The record after some blocks in turn, with the estimates of those that estimated while they ran, all scored.

    Signals that were `measured` stay what they were, though a block that has to run makes them too.
    """

    def run_of(unit: Unit, record: Record) -> Run:
        return Run(schedule.diagram, changes, record, unit.path, simulated)

    record = with_estimates(
        record, {**record.estimates, **last_estimates((u for u in estimating if not u.after), record, run_of)}
    )
    record, failures = in_turn(units, record, run_of, measured)
    place = {name: number for number, name in enumerate(schedule.diagram.nodes)}
    ordered = sorted(record.estimates, key=lambda path: place.get(path.split(".")[0], len(place)))  # as the file has them
    record = with_estimates(record, {path: record.estimates[path] for path in ordered})
    record = with_estimates(record, score(record, schedule, changes, simulated))
    if failures:
        problems = [problem for failure in failures for problem in failure.problems]
        raise DiagramError(problems, record) from failures[0].__cause__
    return record


def last_estimates(units: Iterable[Unit], record: Record, run_of: Callable[[Unit, Record], Run]) -> dict[str, Estimates]:
    """What blocks that estimate while they run say at the end, by path."""
    last = {}
    for unit in units:
        run = run_of(unit, record)
        estimates = running_estimates(unit, started(unit, record, run), record, plants_in(unit, run))
        if estimates is not None:
            last[unit.path] = estimates
    return last


def in_turn(
    units: Iterable[Unit], record: Record, run_of: Callable[[Unit, Record], Run], measured: Collection[str]
) -> tuple[Record, list[DiagramError]]:
    """The record after every block that could work, and what hindered the others; those that read them are left out."""
    failures: list[DiagramError] = []
    lost: set[str] = set()
    units = list(units)
    makers = {unit.path: unit for unit in units}
    for unit in units:
        if any(ref.block in lost for refs in unit.inputs.values() for ref in refs):
            lost.add(unit.path)
            continue
        try:
            after = apply(unit, record, run_of(unit, record), makers)
        except DiagramError as error:
            failures.append(error)
            lost.add(unit.path)
            continue
        for grid in after.grids:
            for name in grid.signals.keys() & measured:
                grid.signals[name] = record.signal(name)
        after.estimates.update(last_estimates([unit] if unit.kind.estimated else [], after, run_of))
        record = after
    return record, failures


def with_estimates(record: Record, estimates: dict[str, Estimates]) -> Record:
    changed = Record(record.grids, record.provenance, record.aliases)
    changed.estimates = EstimateSet(estimates)
    return changed


def apply(unit: Unit, record: Record, run: Run, makers: Mapping[str, Unit] | None = None) -> Record:
    """One record block: its inputs on one grid, its outputs as new signals on that grid, its estimates by its name."""
    if not unit.kind.after_run:
        from .replay import replay

        return replay(unit, record, run)
    block = started(unit, record, run)
    t, values = arguments_in(unit, record, run, makers)
    required, optional, rest = arguments_of_process(type(block).process)  # type: ignore[attr-defined]
    refuse_missing(unit, [n for n in required if n not in values])
    with failures_named(unit, block):
        names = dict.fromkeys((*required, *optional, *(unit.inputs if rest else ())))
        result = block.process(**{n: values[n] for n in names if n in values})  # type: ignore[attr-defined]
        t = block.times(t)  # type: ignore[attr-defined]
    return with_results(unit, record, t, result)


def arguments_in(
    unit: Unit, record: Record, run: Run, makers: Mapping[str, Unit] | None = None
) -> tuple[np.ndarray, dict[str, Any]]:
    """The times of a block's inputs, and all that its `process` may ask for, by name."""
    t, inputs = arriving(unit, record, makers)
    return t, {"t": t, **inputs, **plants_in(unit, run), "run": run}


def refuse_missing(unit: Unit, missing: Sequence[str]) -> None:
    if missing:
        raise DiagramError(
            [Problem(f"block '{unit.path}': process asks for {', '.join(missing)}, which is not connected.", unit.node.at("in"))]
        )


@contextmanager
def failures_named(unit: Unit, block: Block) -> Iterator[None]:
    """What goes wrong in a record block, told with its name and its line."""
    try:
        yield
    except RecordError as error:
        raise DiagramError([Problem(f"block '{unit.path}': {error}", unit.node.place)]) from None
    except BlocksimError:
        raise
    except Exception as error:  # of somebody's own block: the run must not be lost with it
        what = f"block '{unit.path}' ({type(block).__name__}) broke down: {type(error).__name__}: {error}"
        raise DiagramError([Problem(what, unit.node.place)]) from error


def with_results(unit: Unit, record: Record, t: np.ndarray, result: Any) -> Record:
    """The record with what a block's `process` returned: its outputs as signals, its estimates by its name."""
    results = result if isinstance(result, tuple) else () if result is None else (result,)
    outputs = [r for r in results if not isinstance(r, Estimates)]
    ports = list(unit.kind.of(Outport))
    measured = all(record.signal(f"{r.block}.{r.port}").measured for refs in unit.inputs.values() for r in refs)
    extended = with_signals(record, t, unit, dict(zip(ports, outputs, strict=True)), measured)
    for estimate in results:
        if isinstance(estimate, Estimates):
            extended.estimates[unit.path] = estimate
    return extended


def started(unit: Unit, record: Record, run: Run) -> Block:
    """The block as it is in this run, with what others have found where it names them."""
    try:
        return with_values(Overrides(run.changes).block(unit), unit, record)
    except RecordError as error:
        raise DiagramError([Problem(f"block '{unit.path}': {error}", unit.node.place)]) from None


@lru_cache(maxsize=256)
def arguments_of_process(function: Any) -> tuple[tuple[str, ...], tuple[str, ...], bool]:
    """What a `process` must be given, what it may be, and whether it takes all its inputs, whatever they are called."""
    every = [a for a in inspect.signature(function).parameters.values()][1:]
    named = [a for a in every if a.kind is not a.VAR_KEYWORD]
    required = tuple(a.name for a in named if a.default is a.empty)
    return required, tuple(a.name for a in named if a.default is not a.empty), len(named) < len(every)


def plants_in(unit: Unit, run: Run) -> dict[str, Plant | None]:
    """The plants a block asks for, with the settings of this run; of a measured record nobody knows the truth."""
    named = Overrides(run.changes).plants(unit)
    return {n: None if p is None else replace(p, path=p.path if run.simulated else "") for n, p in named.items()}


def arriving(unit: Unit, record: Record, makers: Mapping[str, Unit] | None = None) -> tuple[np.ndarray, dict[str, Any]]:
    """The times of a block's inputs, and its inputs by port; all must share one grid. `makers` are the blocks of the record."""
    inputs: dict[str, Any] = {}
    t = None
    for port, refs in unit.inputs.items():
        arrays = [read_signal(unit, ref, record) for ref in refs]
        for ref in refs:
            grid = record.time(f"{ref.block}.{ref.port}")
            if t is None:
                t = grid
            elif len(grid) != len(t) or (grid != t).any():
                raise DiagramError([Problem(" ".join(different_times(unit, record, makers or {})), unit.node.at("in"))])
        if arrays:
            inputs[port] = arrays if unit.kind.of(Inport)[port].many else arrays[0]
    return record.t if t is None else t, inputs


def different_times(unit: Unit, record: Record, makers: Mapping[str, Unit]) -> tuple[str, str]:
    """What is said of inputs that do not share their times."""

    def interval(ref: Ref) -> float:
        t = record.time(f"{ref.block}.{ref.port}")
        return float(t[-1] - t[0]) / max(1, len(t) - 1)

    refs = {f"{ref.block}.{ref.port}": ref for refs in unit.inputs.values() for ref in refs}
    intervals = {name: interval(ref) for name, ref in refs.items()}
    thinning = {}
    for name, ref in refs.items():
        maker = makers.get(ref.block)
        first = next((source for sources in maker.inputs.values() for source in sources), None) if maker is not None else None
        if maker is not None and first is not None and intervals[name] > 1.001 * interval(first):
            thinning[name] = maker
    return apart(unit, intervals, thinning)


def read_signal(unit: Unit, ref: Ref, record: Record) -> np.ndarray:
    """A signal of the record; one that has left any credible scale is refused, for nothing can be told from it."""
    try:
        values = record[f"{ref.block}.{ref.port}"]
    except RecordError as error:
        raise DiagramError([Problem(f"block '{unit.path}': {error}", unit.node.at("in"))]) from None
    values = values if ref.element is None else values[:, ref.element]
    most = max(values.max(), -values.min()) if len(values) else 0.0
    if most > MOST_STATE or grows_apart(values):
        way = "goes up to" if most > MOST_STATE else "grows from part to part of the record, up to"
        words = f"'{ref}' {way} {most:.3g}: the loop diverged, and nothing can be told from that"
        what = f"block '{unit.path}': {words}. Mend the loop, or end the record before."
        raise DiagramError([Problem(what, unit.node.at("in"))])
    return values


def unit_in(record: Record, unit: Unit, port: str) -> str:
    """The unit of a port of a record block, from what it declares and from the signals that come in."""
    kind = unit.kind
    if port in kind.of(Inport):
        return next((record.unit(f"{ref.block}.{ref.port}") for ref in unit.inputs.get(port, [])), "")
    declared = kind.of(Outport)[port]
    if kind.same_unit:
        return next((u for u in (unit_in(record, unit, p) for p in kind.of(Inport)) if u), declared.unit)
    if declared.unit:
        return declared.unit
    name, times = declared.relative()
    base = unit_in(record, unit, name) if name else ""
    return unit_text(derived(base, times)) if base else ""


def with_signals(record: Record, t: np.ndarray, unit: Unit, outputs: dict[str, np.ndarray], measured: bool) -> Record:
    """A record that holds these outputs too, on the grid their times belong to."""
    signals = {
        f"{unit.path}.{port}": Signal(values, unit_in(record, unit, port), unit.kind.declared[port].doc, measured)
        for port, values in outputs.items()
    }
    grids = [Grid(g.t, dict(g.signals)) for g in record.grids]
    home = next((g for g in grids if len(g.t) == len(t) and (g.t == t).all()), None)
    if home is None:
        grids.append(Grid(t, signals))
    else:
        home.signals.update(signals)
    extended = Record(grids, record.provenance, record.aliases)
    extended.estimates = EstimateSet(record.estimates)
    return extended
