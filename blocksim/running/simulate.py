"""simulate(): a path, a bundled name, YAML text or a Diagram in, a Record out; many at once on all cores."""

from __future__ import annotations

import itertools
import os
from collections import deque
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from ..diagram.diagram import Diagram
from ..errors import BlocksimError, DiagramError, RecordError
from ..records.record import Record
from ..simulation.experiment import MAX_STEPS, Experiment, make_experiment
from ..simulation.overrides import applied, only_a_number, shaping, subsystem_parameters
from ..simulation.simulation import Progress, Simulation
from ..solvers import COMPILED

Diagrammatic = str | os.PathLike | Diagram | Experiment


def experiment(diagram: Diagrammatic, params: Mapping[str, Any] | None = None, **options: Any) -> Experiment:
    """Make a diagram ready to run once and for many runs; changes that shape the code are applied here."""
    return prepared(diagram, params or {}, options)[0]


def prepared(diagram: Diagrammatic, params: Mapping[str, Any], options: dict[str, Any]) -> tuple[Experiment, dict[str, Any]]:
    """The experiment, and those changes that are left for the run because they only change numbers."""
    if isinstance(diagram, Experiment):
        if not options:
            shape = shaping(diagram, params)
            if not shape:
                return diagram, dict(params)
        options = {**vars(diagram.options), **options}
        diagram = diagram.diagram
    outer = {n: v for n, v in params.items() if "." not in n}
    inner = {n: v for n, v in params.items() if "." in n}
    built = opened(diagram, outer)
    parts = subsystem_parameters(built, inner)
    if parts:
        built = applied(built, {n: inner.pop(n) for n in parts})
    made = make_experiment(built, **options)
    shape = shaping(made, inner)
    if shape:
        made = make_experiment(applied(built, {n: inner.pop(n) for n in shape}), **options)
    return made, inner


def opened(diagram: str | os.PathLike | Diagram, parameters: dict[str, Any]) -> Diagram:
    """A Diagram from whatever names one, with its own ${parameters} changed."""
    from ..diagram.build import build
    from ..diagram.loader import load

    if isinstance(diagram, Diagram):
        if not parameters:
            return diagram
        if diagram.spec is None:
            raise DiagramError(
                f"this diagram has no parameters of its own; found {', '.join(parameters)}. Write block.parameter."
            )
        rebuilt = build(diagram.spec, parameters=parameters)
        for name, node in diagram.nodes.items():  # what was added in Python stays
            rebuilt.nodes.setdefault(name, node)
        known = {entry.signal for entry in rebuilt.log or ()}
        more = [entry for entry in diagram.log or () if entry.signal not in known]
        return replace(rebuilt, log=[*(rebuilt.log or ()), *more]) if more else rebuilt
    return build(load(str(diagram) if isinstance(diagram, Path) else diagram), parameters=parameters or None)


def simulate(
    diagram: Diagrammatic,
    *,
    stop: Any = None,
    solver: str | None = None,
    params: Mapping[str, Any] | None = None,
    seed: int | None = None,
    step: Any = None,
    rtol: float | None = None,
    atol: float | None = None,
    every: Any = None,
    start: Any = None,
    max_step: float | None = None,
    algebraic_loops: str | None = None,
    engine: str = "auto",
    progress: Progress | None = None,
    limit: int | None = None,
) -> Record:
    """Run a diagram and return what it logged.

    `diagram` is a path, a bundled name, YAML text, a Diagram or an Experiment. `params` changes settings: {"plant.J": 0.02}, or
    one of the diagram's own parameters: {"Ts": 0.002}. `engine` is 'auto', 'compiled', or 'python' for breakpoints. A run that
    fails raises SimulationError, whose `record` holds everything up to the failure.
    """
    if engine not in ("auto", "compiled", "python"):
        raise DiagramError(f"there is no engine '{engine}'. Engines are: auto, compiled, python.")
    options = {
        "stop": stop,
        "solver": solver,
        "step": step,
        "rtol": rtol,
        "atol": atol,
        "every": every,
        "start": start,
        "max_step": max_step,
        "algebraic_loops": algebraic_loops,
    }
    ready, inner = prepared(diagram, params or {}, {n: v for n, v in options.items() if v is not None})
    sim = Simulation(ready, inner, seed, engine, limit=MAX_STEPS if limit is None else limit)
    record = sim.run(progress)
    if ready.schedule.reports:
        from ..estimation.process import process

        record = process(ready.schedule, record, inner)
    return record


def rerun(record: Record, **options: Any) -> Record:
    """Run the diagram of a record again from its provenance; options change what they name, e.g. seed=4.

    A diagram that came from a file finds its subsystems and records beside that file.
    """
    from ..diagram.build import build
    from ..diagram.loader import parse

    made = record.provenance
    if not made.get("diagram"):
        raise RecordError("this record carries no diagram: it was measured or made by hand, so there is nothing to run again.")
    spec = parse(made["diagram"], made.get("path", ""), made.get("allow_outside", False))
    names = ("stop", "start", "solver", "step", "rtol", "atol", "every", "max_step", "algebraic_loops", "seed")
    kept = {n: made.get(n) for n in names}
    kept["params"] = made.get("parameters") or None
    return simulate(build(spec), **{**{n: v for n, v in kept.items() if v is not None}, **options})


def start(
    diagram: Diagrammatic,
    *,
    params: Mapping[str, Any] | None = None,
    seed: int | None = None,
    engine: str = "auto",
    **options: Any,
) -> Simulation:
    """A simulation to step through by hand."""
    ready, inner = prepared(diagram, params or {}, options)
    return Simulation(ready, inner, seed, engine)


def simulate_many(
    diagram: Diagrammatic,
    *,
    params: Mapping[str, Sequence[Any]] | Sequence[Mapping[str, Any]] | None = None,
    seeds: Iterable[int] | None = None,
    jobs: int | None = None,
    progress: Progress | None = None,
    collect: Callable[[Record], Any] | None = None,
    on_error: str = "raise",
    **options: Any,
) -> list[Any]:
    """Run a table of parameter sets and seeds on all cores from one compiled program.

    `params` is a dict of lists (every combination) or a list of dicts (as they are); every set runs with every seed. Results come
    in the order of the table: parameter sets outside, seeds inside. `collect(record)` keeps only what it returns, so that memory
    does not grow with the number of runs. With `on_error="keep"` a failed run is its error in the list, with the `record` up to
    the failure, instead of ending everything.
    """
    from ..estimation.process import process

    table = parameter_table(params)
    asked: list[int | None] = [None] if seeds is None else list(seeds)
    runs = [(row, seed) for row in range(len(table)) for seed in asked]
    ready = experiment(diagram, {}, **options)
    made = variants(ready, table)
    work = len(runs)
    if work > 1 and ready.options.solver in COMPILED:
        for one in {id(e): e for e, _ in made}.values():  # compile once, before the threads start
            one.program.fast()
    done = itertools.count(1)

    def run(index: int) -> Any:
        row, seed = runs[index]
        one, changes = made[row]
        try:
            record = Simulation(one, changes, seed).run()
            if one.schedule.reports:
                record = process(one.schedule, record, changes)
            result = record if collect is None else collect(record)
        except BlocksimError as error:
            if on_error != "keep" or error.record is None:
                raise
            result = error
        if progress:
            progress(next(done) / work)
        return result

    return share_out(work, run, jobs or os.cpu_count() or 1)


def share_out(work: int, run: Callable[[int], Any], jobs: int) -> list[Any]:
    """The results of run(0) ... run(work - 1); each thread takes the next that nobody has, and one that raises ends all."""
    from concurrent.futures import ThreadPoolExecutor

    todo, results, raised = deque(range(work)), [None] * work, {}

    def take_turns() -> None:
        while todo:
            try:
                index = todo.popleft()
            except IndexError:  # another thread took the last one
                return
            try:
                results[index] = run(index)
            except BaseException as error:
                raised[index] = error
                todo.clear()

    threads = min(jobs, work)
    if threads <= 1:
        take_turns()
    else:
        with ThreadPoolExecutor(threads) as pool:
            try:
                for turns in [pool.submit(take_turns) for _ in range(threads)]:
                    turns.result()
            finally:
                todo.clear()  # an interrupt of the caller ends the threads too
    if raised:
        raise raised[min(raised)]  # runs start in order: whatever the number of threads, the first that fails is among these
    return results


def variants(ready: Experiment, table: list[dict[str, Any]]) -> list[tuple[Experiment, dict[str, Any]]]:
    """For each row of a table the experiment it runs on, one per shape of the code, and the changes left for the run."""
    free = {n for n in {n for row in table for n in row} if only_a_number(ready, n)}
    by_shape: dict[str, Experiment] = {}
    made = []
    for row in table:
        if all(n in free and isinstance(v, (int, float)) for n, v in row.items()):
            made.append((ready, row))
            continue
        shape = shaping(ready, row)
        key = repr(sorted((n, row[n]) for n in shape))
        if key not in by_shape:
            by_shape[key] = experiment(ready, {n: row[n] for n in shape})
        made.append((by_shape[key], {n: v for n, v in row.items() if n not in shape}))
    return made


def parameter_table(params: Mapping[str, Sequence[Any]] | Sequence[Mapping[str, Any]] | None) -> list[dict[str, Any]]:
    """A dict of lists as every combination; a list of dicts as it is."""
    if params is None:
        return [{}]
    if isinstance(params, Mapping):
        for name, values in params.items():
            if not isinstance(values, (list, tuple, range)) and not hasattr(values, "tolist"):
                raise DiagramError(f"'{name}' needs a list of values to run through, found {values!r}.")
        return [dict(zip(params, values, strict=True)) for values in itertools.product(*params.values())]
    return [dict(row) for row in params]
