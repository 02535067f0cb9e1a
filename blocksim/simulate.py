"""simulate(): a path, a bundled name, YAML text or a Diagram in, a Record out; many at once on all cores."""

from __future__ import annotations

import itertools
import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from .diagram import Diagram
from .errors import DiagramError, RecordError, SimulationError
from .experiment import Experiment, make_experiment
from .record import Record
from .simulation import Progress, Simulation

Diagrammatic = str | os.PathLike | Diagram | Experiment


def experiment(diagram: Diagrammatic, params: Mapping[str, Any] | None = None, **options: Any) -> Experiment:
    """Make a diagram ready to run once and for many runs; settings that shape the code are applied here."""
    if isinstance(diagram, Experiment):
        if not options and not (params and diagram.recompiles(dict(params))):
            return diagram
        options = {**vars(diagram.options), **options}
        diagram = diagram.diagram
    params = dict(params or {})
    built = opened(diagram, {n: v for n, v in params.items() if "." not in n})
    made = make_experiment(built, **options)
    inner = {n: v for n, v in params.items() if "." in n}
    if inner and made.recompiles(inner):
        made = make_experiment(changed(built, inner), **options)
    return made


def opened(diagram: str | os.PathLike | Diagram, parameters: dict[str, Any]) -> Diagram:
    """A Diagram from whatever names one, with its own ${parameters} changed."""
    from .build import build
    from .loader import load

    if isinstance(diagram, Diagram):
        if not parameters:
            return diagram
        if diagram.spec is None:
            raise DiagramError(
                f"this diagram has no parameters of its own; found {', '.join(parameters)}. Write block.parameter."
            )
        return build(diagram.spec, parameters=parameters)
    return build(load(str(diagram) if isinstance(diagram, Path) else diagram), parameters=parameters or None)


def changed(diagram: Diagram, params: Mapping[str, Any]) -> Diagram:
    """A copy of a diagram with some settings of its blocks changed."""
    from dataclasses import replace

    nodes = dict(diagram.nodes)
    for name, value in params.items():
        head, _, rest = name.partition(".")
        node = nodes.get(head)
        if node is None:
            continue
        if isinstance(node.block, Diagram):
            nodes[head] = replace(node, block=changed(node.block, {rest: value}))
        else:
            nodes[head] = replace(node, block=type(node.block)(**{**node.block.settings, rest: value}))
    return replace(diagram, nodes=nodes)


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
    ready = experiment(diagram, params, **{n: v for n, v in options.items() if v is not None})
    inner = {n: v for n, v in (params or {}).items() if "." in n}
    sim = Simulation(ready, inner, seed, engine, **({} if limit is None else {"limit": limit}))
    record = sim.run(progress)
    if ready.schedule.after_run:
        from .process import process

        record = process(ready.schedule, record)
    return record


def rerun(record: Record, **options: Any) -> Record:
    """Run the diagram of a record again from its provenance; options change what they name, e.g. seed=4.

    A diagram that came from a file finds its subsystems and records beside that file.
    """
    from .build import build
    from .loader import parse

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
    ready = experiment(diagram, params, **options)
    return Simulation(ready, {n: v for n, v in (params or {}).items() if "." in n}, seed, engine)


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
    in the order of the table: parameter sets outside, seeds inside. `collect(record)` keeps only what it returns. With
    `on_error="keep"` a failed run is its SimulationError in the list instead of ending everything.
    """
    from concurrent.futures import ThreadPoolExecutor

    table = parameter_table(params)
    asked: list[int | None] = [None] if seeds is None else list(seeds)
    runs = [(row, seed) for row in table for seed in asked]
    by_shape: dict[str, Experiment] = {}
    ready = experiment(diagram, {}, **options)

    def prepared(row: Mapping[str, Any]) -> Experiment:
        shaping = {n: v for n, v in row.items() if ready.recompiles({n: v})}
        if not shaping:
            return ready
        key = repr(sorted(shaping.items()))
        if key not in by_shape:
            by_shape[key] = experiment(diagram, shaping, **options)
        return by_shape[key]

    experiments = [prepared(row) for row, _ in runs]
    work = len(runs)
    for one in {id(e): e for e in experiments}.values():  # compile once, before the threads start
        if work > 1 and one.options.solver in driver_solvers():
            one.program.fast()
    done = itertools.count(1)

    def run(index: int) -> Any:
        row, seed = runs[index]
        sim = Simulation(experiments[index], {n: v for n, v in row.items() if "." in n}, seed)
        try:
            record = sim.run()
            result = record if collect is None else collect(record)
        except SimulationError as error:
            if on_error != "keep":
                raise
            result = error
        if progress:
            progress(next(done) / work)
        return result

    if work <= 1:
        return [run(i) for i in range(work)]
    with ThreadPoolExecutor(jobs or os.cpu_count() or 1) as pool:
        return list(pool.map(run, range(work)))


def driver_solvers() -> tuple[str, ...]:
    from .solvers import COMPILED

    return COMPILED


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
