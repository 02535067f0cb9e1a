"""simulate(): a path, a bundled name, YAML text or a Diagram in, a Record out; many at once on all cores."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, Literal, TypeAlias, TypeVar, Unpack, overload

from ..contract.times import Seconds
from ..diagram.spec import RunOptions, SeededOptions
from ..errors import BlocksimError, DiagramError
from ..estimation.process import process
from ..records.record import Record
from ..simulation.experiment import Experiment
from ..simulation.many.lanes import LogMemory, batches, run_together
from ..simulation.many.threads import free_cores, share_out
from ..simulation.noise import draw_noise
from ..simulation.prepare import Diagrammatic, experiment, prepared
from ..simulation.simulation import Progress, Simulation, run_experiment

T = TypeVar("T")
#: What is kept of a record.
Collector: TypeAlias = Callable[[Record], T]
#: A dict of lists, for every combination, or a list of dicts.
ParameterSets: TypeAlias = Mapping[str, Sequence[Any]] | Sequence[Mapping[str, Any]]


class SimulateOptions(SeededOptions, total=False):
    """What `simulate` takes beside the diagram."""

    params: Mapping[str, Any] | None
    engine: str
    progress: Progress | None
    limit: int | None


class ManyOptions(RunOptions, total=False):
    """What `simulate_many` takes beside the diagram, and what is kept of each run."""

    params: ParameterSets | None
    seeds: Iterable[int] | None
    jobs: int | None
    progress: Progress | None


def simulate(
    diagram: Diagrammatic,
    *,
    stop: Seconds | None = None,
    solver: str | None = None,
    params: Mapping[str, Any] | None = None,
    seed: int | None = None,
    step: Seconds | None = None,
    rtol: float | None = None,
    atol: float | None = None,
    every: Seconds | None = None,
    start: Seconds | None = None,
    max_step: float | None = None,
    algebraic_loops: str | None = None,
    math: str | None = None,
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
        "math": math,
    }
    ready, changes = prepared(diagram, params or {}, {n: v for n, v in options.items() if v is not None})
    noise = draw_noise(ready, seed, limit)
    record = run_experiment(ready, changes, noise, engine, progress, params, limit)
    return process(ready.schedule, record, changes)


def start(
    diagram: Diagrammatic,
    *,
    params: Mapping[str, Any] | None = None,
    seed: int | None = None,
    engine: str = "auto",
    **options: Unpack[RunOptions],
) -> Simulation:
    """A simulation to step through by hand."""
    ready, changes = prepared(diagram, params or {}, options)
    return Simulation(ready, changes, draw_noise(ready, seed), engine, params)


@overload
def simulate_many(
    diagram: Diagrammatic, *, collect: None = None, on_error: Literal["raise"] = "raise", **options: Unpack[ManyOptions]
) -> list[Record]: ...
@overload
def simulate_many(
    diagram: Diagrammatic, *, collect: Collector[T], on_error: Literal["raise"] = "raise", **options: Unpack[ManyOptions]
) -> list[T]: ...
@overload
def simulate_many(
    diagram: Diagrammatic, *, collect: None = None, on_error: str, **options: Unpack[ManyOptions]
) -> list[Record | BlocksimError]: ...
@overload
def simulate_many(
    diagram: Diagrammatic, *, collect: Collector[T], on_error: str, **options: Unpack[ManyOptions]
) -> list[T | BlocksimError]: ...
def simulate_many(
    diagram: Diagrammatic,
    *,
    params: ParameterSets | None = None,
    seeds: Iterable[int] | None = None,
    jobs: int | None = None,
    progress: Progress | None = None,
    collect: Collector[Any] | None = None,
    on_error: str = "raise",
    **options: Unpack[RunOptions],
) -> list[Any]:
    """Run a table of parameter sets and seeds on all cores from one compiled program.

    `params` is a dict of lists (every combination) or a list of dicts (as they are); every set runs with every seed. Results come
    in the order of the table: parameter sets outside, seeds inside. `collect(record)` keeps only what it returns, so that memory
    does not grow with the number of runs. With `on_error="keep"` a failed run is its error in the list, with the `record` up to
    the failure, instead of ending everything.
    """
    table = parameter_table(params)
    count: list[int | None] = [None] if seeds is None else list(seeds)
    runs = [(row, seed) for row in range(len(table)) for seed in count]
    return simulate_table(experiment(diagram, {}, **options), table, runs, jobs, progress, collect, on_error)


def simulate_table(
    ready: Experiment,
    table: Sequence[Mapping[str, Any]],
    runs: Sequence[tuple[int, int | None]],
    jobs: int | None = None,
    progress: Progress | None = None,
    collect: Collector[Any] | None = None,
    on_error: str = "raise",
) -> list[Any]:
    """The same for runs that are told one by one: a row of the table and a seed each."""
    results = [prepared(ready, row, {}) for row in table]
    work = len(runs)
    jobs = jobs or free_cores()
    parts = batches([results[row][0] for row, _ in runs], jobs)
    if work > 1 and ready.method.compiled and any(len(part) == 1 for part in parts):
        for one in {id(e): e for e, _ in results}.values():  # compile once, before the threads start
            one.program.fast()
    done, memory = itertools.count(1), LogMemory(len(parts)) if collect is None else None

    def run(index: int, logged: Record | None = None) -> Any:
        row, seed = runs[index]
        one, changes = results[row]
        try:
            if logged is None:
                logged = run_experiment(one, changes, draw_noise(one, seed), named=table[row])
            record = process(one.schedule, logged, changes)
            result = record if collect is None else collect(record)
        except BlocksimError as error:
            if on_error != "keep" or error.record is None:
                raise
            result = error
        if progress:
            progress(next(done) / work)
        return result

    def run_part(number: int) -> list[Any]:
        part = parts[number]
        logged: Sequence[Record | None] = [None] * len(part)
        if len(part) > 1:
            one, rows = results[runs[part[0]][0]][0], [runs[index] for index in part]
            noises = [draw_noise(one, seed) for _, seed in rows]
            changes, named = [results[row][1] for row, _ in rows], [table[row] for row, _ in rows]
            logged = run_together(one, changes, noises, named, memory) or logged
        return [run(index, record) for index, record in zip(part, logged, strict=True)]

    return [end for ends in share_out(len(parts), run_part, jobs) for end in ends]


def parameter_table(params: ParameterSets | None) -> list[dict[str, Any]]:
    """A dict of lists as every combination; a list of dicts as it is."""
    if params is None:
        return [{}]
    if isinstance(params, Mapping):
        for name, values in params.items():
            if not isinstance(values, (list, tuple, range)) and not hasattr(values, "tolist"):
                raise DiagramError(f"'{name}' needs a list of values to run through, found {values!r}.")
        return [dict(zip(params, values, strict=True)) for values in itertools.product(*params.values())]
    return [dict(row) for row in params]
