"""What an excitation does: the source's signals and those that are limited, run with changed settings; its limits; defaults."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from ...contract.block import Block
from ...contract.declarations import Model, Outport, Param, State
from ...diagram.diagram import Diagram, outports, resolve
from ...errors import BlocksimError, listing
from ...planning.design.limits import Margin, margins_of
from ...planning.measuring.measuring import logging
from ...running.signals import sources
from ...simulation.noise import draw_noise
from ...simulation.prepare import prepared
from ...simulation.simulation import run_experiment

if TYPE_CHECKING:
    from ...records.record import Record

#: A limit that nobody gave: the source keeps its peak, and what follows it may use so many times what it uses now.
LIMIT_ROOM = 2.0
#: Parameters that are looked for before anybody chose.
FIRST_PARAMETERS = 8
#: A plant with more than these is a chain of links.
CHAIN_PARAMETERS = 16
FRICTION_UNITS = ("N m s/rad", "N m", "N s/m", "N")


@dataclass(frozen=True)
class Question:
    """What is asked of an experiment: the source, its changed settings, limits, and what is sought from which readings."""

    source: str
    settings: dict[str, Any]
    limits: dict[str, dict[str, float]]
    parameters: list[str]
    outputs: list[str]


def question_of(diagram: Diagram, request: Mapping[str, Any]) -> Question:
    """A request with what it leaves open filled in."""
    names = [name for name in sources(diagram) if "." not in name]
    if not names:
        raise BlocksimError("the diagram has no source of its own; sources inside subsystems are edited in their files.")
    source = str(request.get("source") or first_source(diagram, names))
    if source not in names:
        raise BlocksimError(f"'{source}' is no source. Sources are: {listing(names)}.")
    parameters = [str(name) for name in request.get("parameters") or first_parameters(diagram)]
    outputs = [str(name) for name in request.get("outputs") or first_outputs(diagram, parameters)]
    return Question(source, dict(request.get("settings") or {}), dict(request.get("limits") or {}), parameters, outputs)


def first_source(diagram: Diagram, names: list[str]) -> str:
    """The one with most to drag: a trajectory or a multisine before a sine."""
    rich = ("Multisine", "FourierTrajectory", "PolynomialTrajectory", "LevelSequence", "TrapezoidTrajectory")
    kinds = {name: type(diagram.nodes[name].block).__name__ for name in names}
    return min(names, key=lambda name: rich.index(kinds[name]) if kinds[name] in rich else len(rich))


def blocks_by_path(diagram: Diagram, prefix: str = "") -> dict[str, Block]:
    """Every block, those inside subsystems by their dotted paths."""
    blocks: dict[str, Block] = {}
    for name, node in diagram.nodes.items():
        if isinstance(node.block, Block):
            blocks[prefix + name] = node.block
        elif isinstance(node.block, Diagram):
            blocks |= blocks_by_path(node.block, f"{prefix}{name}.")
    return blocks


def plant_of(diagram: Diagram) -> str:
    """The block whose parameters are sought: the one that identifiers name, else the first robot."""
    blocks = blocks_by_path(diagram)
    for path, block in blocks.items():
        for key in block.of(Model):
            named = f"{path.rpartition('.')[0]}.{block.settings.get(key)}".removeprefix(".")
            if named in blocks:
                return named
    return next((name for name, block in blocks.items() if block.colour == "plant"), "")


def first_parameters(diagram: Diagram) -> list[str]:
    """The numbers of the plant that identifiers estimate, else those that are not 0.

    Of a chain of links the inertias are seen in groups only; its friction is seen by itself in every motion, and comes first.
    """
    plant = plant_of(diagram)
    if not plant:
        return []
    block = blocks_by_path(diagram)[plant]
    own = {
        name: one.unit
        for name, one in type(block).declared.items()
        if isinstance(one, Param) and not isinstance(one, State) and not one.shape
    }
    named = list(getattr(type(block), "inverse_parameters", ()) or own)
    good = [name for name in named if isinstance(block.settings.get(name), (int, float)) and block.settings[name]]
    if len(good) > CHAIN_PARAMETERS:
        good.sort(key=lambda name: own[name] not in FRICTION_UNITS)
    return [f"{plant}.{name}" for name in good[:FIRST_PARAMETERS]]


def sought_choices(diagram: Diagram) -> list[str]:
    """The numbers of every block that runs and is no source: any of them may be what is to be found."""
    inputs = set(sources(diagram))
    return [
        f"{name}.{key}"
        for name, block in blocks_by_path(diagram).items()
        if not block.after_run and name not in inputs
        for key, one in type(block).declared.items()
        if isinstance(one, Param) and isinstance(block.settings.get(key), (int, float))
    ]


def first_outputs(diagram: Diagram, parameters: list[str]) -> list[str]:
    """What a sensor delivers; without one, what the plant, or the block of what is sought, puts out first."""
    sensed = [
        f"{name}.{port}"
        for name, block in blocks_by_path(diagram).items()
        if type(block).family == "sensors"
        for port, one in block.of(Outport).items()
        if one.measured
    ]
    if sensed:
        return sensed
    plant = plant_of(diagram) or (parameters[0].rpartition(".")[0] if parameters else "")
    return [f"{plant}.{next(iter(outports(blocks_by_path(diagram)[plant])))}"] if plant else []


def source_signals(diagram: Diagram, source: str) -> list[str]:
    return [f"{source}.{port}" for port in outports(diagram.nodes[source].block)]


def watched(diagram: Diagram, source: str) -> list[str]:
    """Signals whose limits matter on a robot: the source's, the torque into the plant, and its speed."""
    names = source_signals(diagram, source)[:1]
    plant = plant_of(diagram)
    if plant:
        links = resolve(diagram).get(plant, {})  # of one inside a subsystem the torque has a name there only
        torque = next((str(refs[0]) for refs in links.values() if refs and refs[0].block), "")
        ports = outports(blocks_by_path(diagram)[plant])
        speed = next((f"{plant}.{port}" for port in ("qd", "w_m", "v", "dq") if port in ports), "")
        names += [name for name in (torque, speed) if name and name not in names]
    return names


def played_run(diagram: Diagram, question: Question, names: list[str], every_step: bool = False) -> Record:
    """One run with the source's settings, logging what is looked at, without identifiers."""
    options = {}
    if every_step and diagram.simulate.step is not None:
        options["every"] = diagram.simulate.step
    ready, changes = prepared(diagram, question.settings, options)
    ready = logging(ready, names)
    return run_experiment(ready, changes, draw_noise(ready, None))


def first_limits(diagram: Diagram, question: Question, record: Record) -> dict[str, dict[str, float]]:
    """Limits before anybody gave them: what is used now and some room."""
    import numpy as np

    peaks = {name: float(np.abs(record[name]).max()) for name in watched(diagram, question.source)}
    rooms = {name: 1.0 if name.split(".")[0] == question.source else LIMIT_ROOM for name in peaks}
    return {name: {"peak": rounded_up(rooms[name] * peak)} for name, peak in peaks.items() if peak > 0}


def rounded_up(value: float) -> float:
    """The next number with two digits."""
    step = 10.0 ** (math.floor(math.log10(value)) - 1)
    return float(f"{math.ceil(value / step - 1e-9) * step:.3g}")


def margins(question: Question, record: Record) -> list[Margin]:
    """Every limit on the record."""
    missing = [name for name in question.limits if name not in record]
    if missing:
        raise BlocksimError(f"limits: there is no signal '{missing[0]}' in the run.")
    result = []
    for name, kinds in question.limits.items():
        t = record.time(name)
        interval = float(t[-1] - t[0]) / max(len(t) - 1, 1)
        result += list(margins_of({name: kinds}, {name: record[name]}, interval))
    return result
