"""Measuring: an experiment as its readings are taken: the twin that gives them, when, with which noise, and what is sought.

It is made once; other settings of the sources are only other numbers to it, while the code of the program stays.
"""

from __future__ import annotations

import functools
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from ...contract.block import Block
from ...contract.times import Seconds, exact
from ...diagram.spec import LogSpec
from ...errors import DiagramError
from ...estimation.process import Run
from ...estimation.twin import twin_of
from ...estimation.twin_diagram import Played, edited
from ...simulation.elements import parameter_number, run_settings, split_element
from ...simulation.noise import draw_noise
from ...simulation.overrides import Overrides
from ...simulation.prepare import experiment
from ...simulation.settings import find_setting
from ...simulation.simulation import run_experiment
from ..sensitivities import side_by_side
from ..surroundings import watched_signals
from .readings import (
    NOISE_RUNS,
    NoiseWords,
    NoisyOutput,
    noise_colour,
    noisy_outputs,
    own_noise,
    refuse_other_way,
    rounding_steps,
    whole_name,
)
from .renumbering import only_numbers, renumbered_experiment

if TYPE_CHECKING:
    from ...contract.arrays import FloatArray
    from ...diagram.diagram import Diagram
    from ...estimation.twin import Twin
    from ...simulation.experiment import Experiment
    from .colour import Colour

#: While settings change from one moment to the next, noise is estimated from so many readings at least, and so many runs.
ENOUGH_READINGS, FEW_NOISE_RUNS = 60_000, 4
#: A change of a parameter that is tried to see whether the program stays, as a share of it.
LITTLE = 1e-4


@dataclass(frozen=True)
class Measuring:
    """Readings of an experiment: `signals` of its twin at the times t[rows], noise of this colour; values of what is sought."""

    ready: Experiment
    changes: Mapping[str, Any]
    twin: Twin
    signals: tuple[str, ...]
    labels: tuple[str, ...]  # of every element of every signal
    values: dict[str, float]  # what is wanted first, then nuisance
    wanted_count: int
    t: FloatArray
    rows: slice
    colour: Colour
    readings: Sequence[NoisyOutput] | None = None
    played: bool = False  # inputs come from the record of one run

    @property
    def resolutions(self) -> dict[str, float]:
        """The step that each signal is rounded to; of the diagram's own noise, that of its sensor."""
        if self.readings is not None:
            return {reading.signal: reading.resolution for reading in self.readings}
        names = (label.partition("[")[0] for label in self.labels)
        still = {name: step for name, step in zip(names, self.colour.steps, strict=False) if step > 0}
        return rounding_steps(self.ready, self.changes, self.signals) | still

    def with_settings(self, settings: Mapping[str, Any]) -> Measuring | None:
        """The same with other settings of its blocks; None where they would change the code.

        The diagram's own noise is estimated anew, from few runs: rounding and friction make it depend on the motion.
        """
        if set(self.changes) - set(settings) or set(settings) & set(self.values) or self.played:
            return None
        try:
            ready, other = (renumbered_experiment(base, settings) for base in (self.ready, self.twin.experiment))
        except DiagramError:  # a block that the twin has no need of, or a value that the full road refuses in better words
            return None
        if ready is None or other is None:
            return None
        twin, colour = replace(self.twin, experiment=other), self.colour
        if self.readings is None:
            count = min(max(FEW_NOISE_RUNS, -(-ENOUGH_READINGS // len(self.t))), NOISE_RUNS)
            colour = own_noise(ready, {}, self.signals, side_by_side(twin.run({}), self.signals), None, count, self.rows)
        return replace(self, changes=dict(settings), twin=twin, colour=colour)


def measuring_of(
    ready: Experiment,
    changes: Mapping[str, Any],
    sought: tuple[tuple[str, ...], tuple[str, ...]],
    outputs: Sequence[str],
    noise_std: NoiseWords = None,
    inputs: Sequence[str] = (),
    times: tuple[Seconds | None, float] = (None, 0.0),
    seed: int | None = None,
) -> Measuring:
    """The diagram is run once for the grid of its readings, and a few times more where its own noise is asked for."""
    names = [*sought[0], *sought[1]]
    ready = logging(ready, [*outputs, *inputs])
    check_parameters(ready, names, outputs)
    refuse_other_code(ready, changes, names)
    readings = noisy_outputs(ready, changes, outputs, noise_std)
    record = run_experiment(ready, changes, draw_noise(ready, seed))
    diagram = ready.schedule.diagram
    known_inputs = [whole_name(diagram, name, "inputs") for name in inputs]
    signals = [whole_name(diagram, name) for name in outputs]
    timed = (
        next((name for name in (*known_inputs, *signals) if name in record), "") if known_inputs or signals[0] in record else ""
    )
    t = record.time(timed) if timed else record.t
    watched = watched_signals(ready.schedule, names)
    played = [Played(name, record[name], hold="zero") for name in known_inputs]
    run = Run(with_faults(diagram, names), changes, record, "information")
    twin = twin_of(run, t, tuple(dict.fromkeys([*signals, *watched])), played)
    rows = reading_rows(t, *times)
    whole = twin.run({})
    sizes = {name: 1 if whole[name].ndim == 1 else whole[name].shape[1] for name in signals}
    if played:
        refuse_other_way(ready, changes, record, whole, known_inputs, signals)
    if readings is None:
        ideal = side_by_side(whole, signals)
        lone = side_by_side({name: record[name] for name in signals}, signals) if known_inputs else None
        colour = own_noise(ready, changes, signals, ideal, lone, rows=rows)
    else:
        interval = float(t[-1] - t[0]) / (len(t) - 1) * (rows.step or 1)
        colour = noise_colour(readings, sizes, interval)
    labels = tuple(n if sizes[n] == 1 else f"{n}[{k}]" for n in signals for k in range(sizes[n]))
    values = {name: float(parameter_number(ready.schedule, changes, name)) for name in names}
    return Measuring(
        ready, changes, twin, tuple(signals), labels, values, len(sought[0]), t, rows, colour, readings, bool(played)
    )


def with_faults(diagram: Diagram, names: Sequence[str]) -> Diagram:
    """The diagram of which a twin keeps the faults that are asked for: the offset of a sensor, which is ideal otherwise."""
    for path in dict.fromkeys(split_element(name)[0].rpartition(".")[0] for name in names):
        *scope, block = path.split(".")
        diagram = edited(diagram, scope, functools.partial(smooth_block, name=block))
    return diagram


def smooth_block(part: Diagram, name: str) -> Diagram:
    node = part.nodes[name]
    if not isinstance(node.block, Block):
        return part
    return replace(part, nodes={**part.nodes, name: replace(node, block=node.block.smooth())})


def logging(ready: Experiment, names: Sequence[str]) -> Experiment:
    """The experiment with these signals in its log."""
    diagram = ready.diagram
    missing = [name for name in names if diagram.log is not None and name not in {entry.signal for entry in diagram.log}]
    if not missing:
        return ready
    for name in missing:
        whole_name(diagram, name)
    logged = replace(diagram, log=[*(diagram.log or ()), *(LogSpec(name) for name in missing)])
    return experiment(logged, {}, **vars(ready.options))


def check_parameters(ready: Experiment, parameters: Sequence[str], outputs: Sequence[str]) -> None:
    """Every parameter is a number of a running block, named once."""
    if not parameters or not outputs:
        raise DiagramError("information needs at least one parameter and one output.")
    for name in parameters:
        unit, _ = find_setting(ready.schedule, split_element(name)[0])
        value = parameter_number(ready.schedule, {}, name)
        if unit.after or isinstance(value, bool) or not isinstance(value, (int, float)):
            raise DiagramError(f"'{name}' is no single number of a running block, found {value!r}: nothing can be learnt of it.")
        if list(parameters).count(name) > 1:
            raise DiagramError(f"'{name}' is named twice among the parameters.")


def refuse_other_code(ready: Experiment, changes: Mapping[str, Any], names: Sequence[str]) -> None:
    """Every parameter can change a little while the program stays: a gap of 0 has no place in it."""
    for name in names:
        value = parameter_number(ready.schedule, changes, name)
        moved = value * (1.0 + LITTLE) if value else LITTLE
        overrides = Overrides(run_settings(ready.schedule, {name: moved}))
        if split_element(name)[1]:  # the list keeps its length, and all that is sized by it
            other = not all(only_numbers(unit, own) for unit, own in overrides.by_unit(ready.schedule))
        else:
            other = bool(overrides.shaping(ready.schedule, ready))
        if other:
            where = ", at which the program leaves out all that it does" if value == 0 else ""
            raise DiagramError(
                f"'{name}' is {value:g}{where}: another value makes another program, so that no small change of it can be tried. "
                "Give it the value that is expected, with params or in the diagram."
            )


def reading_rows(t: FloatArray, every: Seconds | None, skip: float = 0.0) -> slice:
    """The rows of a grid that are read."""
    interval = float(t[-1] - t[0]) / (len(t) - 1)
    step = 1 if not every else max(1, round(float(exact(every)) / interval))
    if every and abs(float(exact(every)) - step * interval) > 1e-3 * interval:
        raise DiagramError(
            f"every: readings every {every} s are asked for, and the log has one every {interval:g} s. A whole multiple of that "
            "is wanted, or another log (simulate: every)."
        )
    if skip > t[-1] - t[0] - interval:
        raise DiagramError(f"skip: without its first {skip:g} s nothing is left of a run of {t[-1] - t[0]:g} s.")
    return slice(round(skip / interval) or None, None, step)
