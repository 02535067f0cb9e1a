"""What surrounds the parameters in a run: signals of their blocks, what drives them, whether a loop answers to a change."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from ..checking.upstream import units_by_path, upstream
from ..contract.declarations import Inport, Outport, State
from ..diagram.diagram import Ref
from ..errors import SimulationError
from ..simulation.elements import run_settings, split_element
from ..simulation.overrides import Overrides

if TYPE_CHECKING:
    from ..contract.arrays import FloatArray
    from ..contract.block import Block
    from ..estimation.twin import Signals, Twin
    from ..schedule.schedule import Schedule, Unit
    from ..simulation.experiment import Experiment

#: Step of the look at what drives a block, as a share of a parameter.
LOOK_SHARE = 1e-3


@dataclass(frozen=True)
class Neighbour:
    """A block that has parameters: with its settings in this run, the signals at its ports, and what drives it."""

    block: Block
    signals: Mapping[str, FloatArray]
    drive: str = ""  # the signal at its first input
    excited: bool = False  # whether that is a source, which can be chosen
    inputs: tuple[str, ...] = ()  # those of its ports where something arrives
    feedback: Mapping[str, float] = field(default_factory=dict)  # relative change of the drive per relative change of a parameter

    @property
    def arriving(self) -> list[FloatArray]:
        return [self.signals[port] for port in self.inputs]


@dataclass(frozen=True)
class Surroundings:
    """By the path of each block, and the step that every output is rounded to, 0 where it is not."""

    neighbours: Mapping[str, Neighbour] = field(default_factory=dict)
    resolutions: Mapping[str, float] = field(default_factory=dict)
    initial: frozenset[str] = frozenset()  # the parameters that are initial states
    apart: frozenset[str] = frozenset()  # blocks of parameters from which nothing goes to what is read
    output_size: float = 0.0  # norm of all outputs together, in units of their noise

    @property
    def answers(self) -> dict[str, float]:
        """By parameter, how its block's drive answers to it."""
        return {name: change for neighbour in self.neighbours.values() for name, change in neighbour.feedback.items()}

    def of(self, parameter: str) -> Neighbour | None:
        return self.neighbours.get(parameter.rpartition(".")[0])


def watched_signals(schedule: Schedule, parameters: Sequence[str]) -> list[str]:
    """The outputs of the blocks that have parameters, and what arrives at their inputs."""
    names: dict[str, None] = {}
    for path in dict.fromkeys(name.rpartition(".")[0] for name in parameters):
        unit = schedule.unit(path)
        if not unit.after:
            names |= dict.fromkeys(f"{path}.{port}" for port in unit.kind.of(Outport))
            names |= dict.fromkeys(signal for signals in arriving_signals(unit).values() for signal in signals)
    return list(names)


def arriving_signals(unit: Unit) -> dict[str, list[str]]:
    """For each input the signals that arrive there."""
    return {port: [f"{ref.block}.{ref.port}" for ref in refs] for port, refs in unit.inputs.items()}


def surroundings_of(
    twin: Twin,
    ready: Experiment,
    changes: Mapping[str, Any],
    signals: Signals,
    values: Mapping[str, float],
    resolutions: Mapping[str, float],
    output_size: float,
    outputs: Sequence[str],
    answers: Mapping[str, float] | None = None,
) -> Surroundings:
    """Look around: one more run for each parameter shows whether its block's drive answers, unless that is known."""
    schedule = ready.schedule
    paths = dict.fromkeys(name.rpartition(".")[0] for name in values)
    if answers is None:
        answers = drive_answers(twin, schedule, signals, values)
    neighbours = {}
    for path in paths:
        unit = schedule.unit(path)
        arriving = {port: names[0] for port, names in arriving_signals(unit).items() if names and names[0] in signals}
        own = {port: signals[name] for port, name in arriving.items()}
        own |= {port: signals[f"{path}.{port}"] for port in unit.kind.of(Outport) if f"{path}.{port}" in signals}
        drive = next((arriving[port] for port in unit.kind.of(Inport) if port in arriving), "")
        feedback = {name: answers[name] for name in values if name.rpartition(".")[0] == path and name in answers}
        excited = bool(drive) and not schedule.unit(drive.rpartition(".")[0]).inputs
        neighbours[path] = Neighbour(Overrides(changes).block(unit), own, drive, excited, tuple(arriving), feedback)
    states = {name for name in values if isinstance(of_setting(schedule, name), State)}
    refs = [Ref(*name.rpartition(".")[::2]) for name in outputs]
    apart = frozenset(paths) - set(upstream(refs, units_by_path(schedule)))
    return Surroundings(neighbours, resolutions, frozenset(states), apart, output_size)


def of_setting(schedule: Schedule, name: str) -> Any:
    path, _, key = split_element(name)[0].rpartition(".")
    return schedule.unit(path).kind.declared[key]


def drive_answers(twin: Twin, schedule: Schedule, signals: Signals, values: Mapping[str, float]) -> dict[str, float]:
    """How much, relative to itself, what drives a parameter's block changes with the parameter: 0 without a loop."""
    import numpy as np

    drives = {}
    for name, value in values.items():
        arriving = arriving_signals(schedule.unit(name.rpartition(".")[0]))
        drive = next((names[0] for names in arriving.values() if names), "")
        if value and drive in signals:
            drives[name] = drive
    table = [run_settings(twin.experiment.schedule, {name: values[name] * (1.0 + LOOK_SHARE)}) for name in drives]
    answers = {}
    for (name, drive), end in zip(drives.items(), twin.run_many(table) if table else [], strict=True):
        if not isinstance(end, SimulationError):
            size = float(np.linalg.norm(signals[drive])) or 1.0
            moved = end[drive][-len(signals[drive]) :] - signals[drive]
            answers[name] = float(np.linalg.norm(moved)) / (LOOK_SHARE * size)
    return answers
