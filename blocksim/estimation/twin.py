"""Twin: the diagram of a run once more, with ideal sensors, ready to run many times with other values of its parameters.

What is ideal a block says itself (`Block.ideal`). Reference, controller, observers and plant stay as they were in the run; of a
measured record, the sources it holds are played from it. A twin is compiled once; parameters are only numbers to it.
"""

from __future__ import annotations

import functools
import threading
import weakref
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import TYPE_CHECKING, Any

from ..compiler.slots import fill
from ..contract.block import Block
from ..contract.declarations import Inport, Outport, State
from ..contract.declarations import Noise as Draw
from ..contract.definition import arguments
from ..contract.times import exact
from ..diagram.diagram import Diagram, Node
from ..errors import RecordError, SimulationError, listing
from ..schedule.schedule import Unit
from ..simulation.experiment import Experiment, make_experiment
from ..simulation.many.lanes import Lockstep, batches
from ..simulation.many.threads import free_cores, share_out
from ..simulation.noise import Draws, draw_noise
from ..simulation.overrides import Overrides, changed_schedule
from ..simulation.prepare import prepared
from ..simulation.remembering.shelf import Shelf
from ..simulation.simulation import Simulation
from ..solvers.stores import LOG
from .process import Run
from .twin_diagram import Played, models_named, played_source, player_path, twin_diagram

if TYPE_CHECKING:
    import numpy as np

Signals = dict[str, "np.ndarray"]


@dataclass
class Twin:
    """An experiment whose log has the rows of a record, from `first` on."""

    experiment: Experiment
    seed: int
    first: int
    signals: tuple[str, ...]
    assumed: tuple[str, ...] = ()  # sources that a measured record does not hold, and play as in the diagram
    silenced: tuple[str, ...] = ()  # noise that it does not hold, and that nobody can play again

    @functools.cached_property
    def noise(self) -> Draws:
        """The draws of its random sources, the same in every run."""
        return draw_noise(self.experiment, self.seed)

    def run(self, params: Mapping[str, Any]) -> Signals:
        """The twin's signals at these parameters; SimulationError where it fails."""
        return self.signals_of(Simulation(self.experiment, params, self.noise))

    def run_many(
        self, table: Sequence[Mapping[str, Any]], then: Callable[[int, Signals], Any] | None = None
    ) -> list[Any | SimulationError]:
        """The same for a table of parameters, on all cores; `then` makes of a row's number and signals what is kept."""
        noise = self.noise  # once, before the threads start
        cores = free_cores()
        parts = batches([self.experiment] * len(table), cores)
        if self.experiment.method.compiled and any(len(part) == 1 for part in parts):
            self.experiment.program.fast()  # once too

        def run(row: int) -> Any | SimulationError:
            try:
                signals = self.signals_of(Simulation(self.experiment, table[row], noise))
            except SimulationError as error:
                return error
            return signals if then is None else then(row, signals)

        def run_part(number: int) -> list[Any | SimulationError]:
            rows = parts[number]
            if len(rows) > 1 and self.columns is not None:
                simulations = [Simulation(self.experiment, table[row], noise, "compiled") for row in rows]
                if Lockstep(self.experiment, simulations).run():
                    ends: list[Any] = [self.logged(simulation) for simulation in simulations]
                    return ends if then is None else [then(row, end) for row, end in zip(rows, ends, strict=True)]
            return [run(row) for row in rows]

        return [end for ends in share_out(len(parts), run_part, cores) for end in ends]

    @functools.cached_property
    def columns(self) -> list[tuple[str, int, int]] | None:
        """Where the log has each signal: its first column and its size; None where a name is not as it is logged."""
        experiment = self.experiment
        places = {name: (column, size) for name, column, size, *_ in experiment.columns[0]}
        columns = {name: places.get(experiment.aliases.get(name, name)) for name in self.signals}
        if len(experiment.columns) > 1 or None in columns.values():
            return None
        return [(name, *place) for name, place in columns.items() if place is not None]

    def signals_of(self, simulation: Simulation) -> Signals:
        """What a run gives of it, straight from the log where that is possible: a record of all has much to say besides."""
        if self.columns is None or not self.experiment.method.compiled:
            record = simulation.run()
            return {name: record[name][self.first :] for name in self.signals}
        simulation.raise_failure(simulation.run_to(simulation.end))
        return self.logged(simulation)

    def logged(self, simulation: Simulation) -> Signals:
        """The signals of a run that has ended, as views of its log."""
        assert self.columns is not None
        machine = simulation.machine
        _, _, filled, rows, start = machine.logs[:LOG].tolist()
        signals = {}
        for name, column, size in self.columns:
            values = machine.record[start + column * rows :][: filled * size]
            signals[name] = (values if size == 1 else values.reshape(filled, size))[self.first :]
        return signals


def twin_of(
    run: Run, t: np.ndarray, signals: Iterable[str], played: Sequence[Played] = (), start: Mapping[str, Any] | None = None
) -> Twin:
    """The twin of a run that gives these signals at the times of its record.

    `start` are initial values beside the diagram's. The random sources that are left have the draws of the run.
    """
    names, every = tuple(signals), interval_of(t)
    opening = Fraction(float(t[0])).limit_denominator(10**7)
    if not run.simulated:
        nearest = every * round(
            opening / every
        )  # clocks jitter; what is sampled at multiples of its period must meet the first row
        opening = nearest if abs(nearest - opening) < every / 1000 else opening
        opening = max(opening, Fraction(0))  # a record may begin before its trigger; a run begins at 0 or later
    begin = exact(run.diagram.simulate.start or 0) if run.simulated else opening
    first = (opening - begin) / every
    if first < 0 or abs(first - round(first)) > Fraction(1, 1000):
        raise RecordError(
            f"the samples start at {t[0]:g} s and come every {float(every):g} s, which is no grid from the start of the run at "
            f"{float(begin):g} s: connect the signal before it is decimated, and decimate here."
        )
    recorded = [*played, *([] if run.simulated else recorded_sources(run, t))]
    refuse_gaps(recorded, t)
    base = kept_base(run, names, recorded, begin, every, begin + every * (round(first) + len(t) - 1))
    values = {player_path(p): p.values.reshape(len(p.values), -1) for p in recorded}
    own = with_numbers(base, {**settings_in(base, run.changes), **(start or {})}, values)
    assumed = () if run.simulated else tuple(u.path for u in own.schedule.units if is_source(u) and u.path not in values)
    if not run.simulated:
        refuse_unasked(run, [u.path for u in own.schedule.units if u.path in assumed and not u.kind.of(Draw)])
    quiet = {
        path for path, node in blocks_of(run.diagram) if isinstance(node.block, Block) and node.block.ideal() is not node.block
    }
    played_as_drawn, silenced = (tuple(p for p in assumed if (p in quiet) is silent) for silent in (False, True))
    return Twin(own, int(run.record.provenance.get("seed") or 0), round(first), names, played_as_drawn, silenced)


def refuse_gaps(recorded: Sequence[Played], t: np.ndarray) -> None:
    """What drives a simulation must be there at every sample."""
    import numpy as np

    for one in recorded:
        rows = np.flatnonzero(~np.isfinite(one.values.reshape(len(one.values), -1)).all(axis=1))
        if len(rows) and len(one.values) == len(t):
            raise RecordError(
                f"'{one.signal}' drives what is simulated and misses {len(rows)} samples, the first at {t[rows[0]]:.6g} s. Fill "
                f"them: --resample {float(interval_of(t)):.6g} in place of --missing bridge."
            )


def refuse_unasked(run: Run, sources: Sequence[str]) -> None:
    """A source that acts on what is simulated must be in a measured record, unless somebody says that it acted as drawn."""
    spec = run.diagram.record
    allowed = spec.assume if spec is not None and spec.assume is not None else []
    missing = [] if allowed == "all" else [path for path in sources if path not in allowed]
    if missing:
        raise RecordError(
            f"the record does not hold {listing(missing)}, which the simulated loop needs: what acted in the experiment is "
            f"wanted. Map its column: --map {missing[0]}=COLUMN, record: {{signals: {{{missing[0]}: COLUMN}}}}. Where it acted "
            f"as the diagram says, write so: --assume {missing[0]}, record: {{assume: [{missing[0]}]}}."
        )


def is_source(unit: Unit) -> bool:
    """Whether a block makes a signal that changes, out of nothing."""
    changes = unit.kind.of(State, Draw) or any("t" in arguments(f) for f in unit.kind.functions.values())
    return bool(changes) and not unit.kind.of(Inport)


def interval_of(t: np.ndarray) -> Fraction:
    """The interval of a regular grid, exact."""
    import numpy as np

    if len(t) < 2:
        raise RecordError(f"a record of {len(t)} samples is too short to be simulated again.")
    mean = float(t[-1] - t[0]) / (len(t) - 1)
    if np.abs(t - t[0] - mean * np.arange(len(t))).max() > 1e-3 * mean:
        raise RecordError("its samples are not evenly spaced; resample the record first.")
    return Fraction(mean).limit_denominator(10**7)


def recorded_sources(run: Run, t: np.ndarray) -> list[Played]:
    """Outputs of source blocks that a measured record holds on this grid: what really was asked of the loop."""
    sources = []
    for path, node in blocks_of(run.diagram):
        block = node.block
        if isinstance(block, Block) and not block.after_run and not (block.bound or type(block)).of(Inport):
            for port in (block.bound or type(block)).of(Outport):
                name = f"{path}.{port}"
                if name in run.record and len(run.record.time(name)) == len(t) and (run.record.time(name) == t).all():
                    sources.append(played_source(name, run.record[name]))
    return sources


def blocks_of(diagram: Diagram, prefix: str = "") -> Iterable[tuple[str, Node]]:
    for node in diagram.nodes.values():
        yield prefix + node.name, node
        if isinstance(node.block, Diagram):
            yield from blocks_of(node.block, f"{prefix}{node.name}.")


# ---- the experiment, kept for the next run of the same diagram ----------------------------------------------------------


#: Twins of one diagram that are kept: of several identifiers, and of the last values of what shapes the program.
MOST_TWINS = 16
KEPT: dict[int, tuple[Any, Shelf[Experiment]]] = {}
LOCK = threading.Lock()


def kept_base(
    run: Run, signals: tuple[str, ...], played: Sequence[Played], begin: Fraction, every: Fraction, stop: Fraction
) -> Experiment:
    """The experiment for a diagram and a grid, made once however many runs are identified."""
    diagram = run.diagram
    shapes = tuple((p.signal, p.hold, p.port, p.finer, p.values.reshape(len(p.values), -1).shape) for p in played)
    frozen = models_named(diagram)
    fixed = repr(sorted((n, v) for n, v in run.changes.items() if any(n.startswith(f"{path}.") for path in frozen)))
    with LOCK:
        if id(diagram) not in KEPT:
            forget = functools.partial(lambda place, _: KEPT.pop(place, None), id(diagram))
            KEPT[id(diagram)] = (weakref.ref(diagram, forget), Shelf(MOST_TWINS))
        shelf = KEPT[id(diagram)][1]

    def make() -> Experiment:
        diagram_of_twin = twin_diagram(run, signals, played, begin, every)
        times: dict[str, Any] = {"start": str(begin), "stop": str(stop), "every": str(every)}
        base = make_experiment(replace(diagram_of_twin, simulate=replace(diagram_of_twin.simulate, **times)))
        base.text = ""  # it is in no file, and would be long with all its samples
        return base

    return shelf.recall((signals, shapes, begin, every, stop, fixed), make)


def with_numbers(base: Experiment, changes: Mapping[str, Any], samples: Mapping[str, np.ndarray]) -> Experiment:
    """The experiment with settings and recorded samples of one run."""
    if not changes and not samples:
        return base
    base, left = prepared(base, changes, {})
    new = {unit.path: settings for unit, settings in Overrides(left).by_unit(base.schedule)}
    new |= {path: {"values_": values} for path, values in samples.items() if path in base.schedule.by_path}
    schedule = changed_schedule(base.schedule, new)
    experiment = replace(base, schedule=schedule, numbers=fill(schedule, base.slots))
    experiment.text = ""
    return experiment


def settings_in(experiment: Experiment, changes: Mapping[str, Any]) -> dict[str, Any]:
    """Those changes that concern blocks which the twin has."""
    return {n: v for n, v in changes.items() if n.rpartition(".")[0] in experiment.schedule.by_path}
