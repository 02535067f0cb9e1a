"""What a run logs: signals by name, gathered by the grid they are logged on."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

from ..contract.declarations import Outport
from ..contract.times import exact
from ..diagram.diagram import REFERENCE, Diagram
from ..diagram.spec import LogSpec
from ..errors import DiagramError, Problem, did_you_mean, listing
from .clock import tame
from .enabling import output_path
from .schedule import Element, LogGroup, Schedule, Unit


def log_groups(diagram: Diagram, schedule: Schedule, every: Fraction) -> list[LogGroup]:
    """What is logged, by grid; signals that record blocks read are logged too."""
    entries = diagram.log
    if entries is None:
        entries = [LogSpec(f"{u.path}.{p}") for u in schedule.units if not u.border for p in u.kind.of(Outport)]
    by_interval: dict[Fraction, dict[str, list[Element]]] = {every: {}}
    problems: list[Problem] = []
    late = {u.path for u in schedule.after_run} | {f"{u.path}.{p}" for u in schedule.after_run for p in u.kind.of(Outport)}
    for entry in entries:
        if isinstance(entry.signal, str) and entry.signal.partition("[")[0] in late:
            continue  # what is made after the run is kept anyway
        grid = tame(exact(entry.every)) if entry.every is not None else every
        for name, elements in named_signals(schedule, entry, problems):
            by_interval.setdefault(grid, {}).setdefault(name, elements)
    if problems:
        raise DiagramError(problems)
    for unit in schedule.after_run:
        for refs in unit.inputs.values():
            for ref in refs:
                name = f"{ref.block}.{ref.port}"
                source = next((u for u in schedule.units if u.path == ref.block), None)
                if source is not None and not any(name in g for g in by_interval.values()):
                    by_interval[every][name] = [(source.index, ref.port, k) for k in range(source.port(ref.port))]
    return [LogGroup(grid, list(signals.items())) for grid, signals in by_interval.items() if signals]


def named_signals(schedule: Schedule, entry: LogSpec, problems: list[Problem]) -> list[tuple[str, list[Element]]]:
    """A log entry as full signal names: 'joint' means all its outputs, 'sub.joint.q' reaches into a subsystem."""
    match = REFERENCE.match(entry.signal) if isinstance(entry.signal, str) else None
    if not match:
        problems.append(
            Problem(f"log: '{entry.signal}' is not a signal. Write block, block.port or block.port[element].", entry.place)
        )
        return []
    path, element = match["path"], match["element"]
    by_path = {u.path: u for u in schedule.units}
    border = held_output(schedule, path)
    if border is not None:  # not what a block of that name inside does meanwhile
        unit, ports = border, ["y"]
    elif path in by_path:
        unit, ports = by_path[path], list(by_path[path].kind.of(Outport))
    elif path.rpartition(".")[0] in by_path and path.rpartition(".")[2] in by_path[path.rpartition(".")[0]].kind.of(Outport):
        unit, ports = by_path[path.rpartition(".")[0]], [path.rpartition(".")[2]]
    else:
        signals = subsystem_output(schedule, path)
        if signals is None:
            names = [*by_path, *(f"{p}.{o}" for p, u in by_path.items() for o in u.kind.of(Outport))]
            problems.append(
                Problem(
                    f"log: there is no signal '{entry.signal}'. Blocks are: {listing(by_path)}." + did_you_mean(path, names),
                    entry.place,
                )
            )
            return []
        return [(path, signals)]
    result = []
    for port in ports:
        elements: list[Element] = [(unit.index, port, k) for k in range(unit.port(port))]
        if element is not None:
            if not 0 <= int(element) < len(elements):
                problems.append(
                    Problem(f"log: '{entry.signal}' asks for element {element} of {len(elements)} (counted from 0).", entry.place)
                )
                return []
            elements = [elements[int(element)]]
        name = path if border is not None else f"{unit.path}.{port}"
        result.append((name + (f"[{element}]" if element is not None else ""), elements))
    return result


def held_output(schedule: Schedule, path: str) -> Unit | None:
    """What holds the output 'drive.q' of a subsystem that is switched."""
    head, _, port = path.rpartition(".")
    part: Any = schedule.diagram
    node: Any = None
    for name in head.split(".") if head else []:
        node = part.nodes.get(name) if isinstance(part, Diagram) else None
        part = node.block if node else None
    if node is None or node.enable is None or port not in part.ports.outputs:
        return None
    return schedule.by_path[output_path(head, part, port)]


def subsystem_output(schedule: Schedule, path: str) -> list[Element] | None:
    """'drive.q' where drive is a subsystem: the elements of the block that makes it."""
    head, _, port = path.rpartition(".")
    part: Any = schedule.diagram
    for name in head.split(".") if head else []:
        node = part.nodes.get(name) if isinstance(part, Diagram) else None
        part = node.block if node else None
    if not isinstance(part, Diagram) or part.ports is None or port not in part.ports.outputs:
        return None
    entry = LogSpec(f"{head}.{part.ports.outputs[port]}")
    signals = named_signals(schedule, entry, [])
    return signals[0][1] if len(signals) == 1 else None
