"""Taps: signals of a diagram that are driven from outside or read, and the flat copy of the diagram they are put into.

What is driven gets a block of its own between its maker and its readers; what is read becomes the slope of an extra state, so
that one call of the generated `derivative` gives slopes and outputs together.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any

from ..contract.block import Block, inport, outport, param, state
from ..contract.declarations import Inport, Outport
from ..diagram.diagram import Diagram, Node, Ref
from ..diagram.spec import LogSpec, SimulateSpec
from ..errors import DiagramError, Problem
from ..schedule.logs import named_signals
from ..schedule.schedule import Schedule


class Added(Block):
    """y = u + value: a signal with an input of ours added, the loop around it closed."""

    value: Any = param(0.0, "what is added")
    u = inport("the signal")
    y = outport("the signal and the input")

    @staticmethod
    def output(u: float, value: float) -> float:
        return u + value


class Opened(Block):
    """y = value: a signal cut, and driven from outside instead."""

    value: Any = param(0.0, "what stands in for the signal")
    y = outport("the input")

    @staticmethod
    def output(value: float) -> float:
        return value


class PartlyOpened(Block):
    """y = keep u + value: a vector of which some elements are cut (keep 0) and the others pass (keep 1)."""

    value: Any = param(0.0, "what is added, or stands in")
    keep: Any = param(1.0, "1 where the signal passes, 0 where it is cut")
    u = inport("the signal")
    y = outport("the signal and the input")

    @staticmethod
    def output(u: float, keep: float, value: float) -> float:
        return keep * u + value


class Probe(Block):
    """z' = u: the slope of z is the signal that is read."""

    u = inport("the signal")
    z: float = state(0.0, "its integral, of no interest")

    @staticmethod
    def derivative(u: float) -> float:
        return u


@dataclass(frozen=True)
class Tap:
    """One scalar signal that is driven or read: the name it goes by, the block and port that make it, its element."""

    name: str
    path: str
    port: str
    element: int

    @property
    def wire(self) -> tuple[str, str, int]:
        return self.path, self.port, self.element


def taps(schedule: Schedule, names: str | Iterable[str], role: str) -> list[Tap]:
    """Signals by name, one tap for each scalar; what is wrong is reported together, in the words of `role`."""
    problems: list[Problem] = []
    result: list[Tap] = []
    for name in [names] if isinstance(names, str) else names:
        for full, elements in named_signals(schedule, LogSpec(name), problems):
            word = name if full.startswith(f"{name}.") and full.count(".") == name.count(".") + 1 else full
            several = len(named_signals(schedule, LogSpec(name), [])) > 1
            for index, port, k in elements:
                label = (full if several else word) + (f"[{k}]" if len(elements) > 1 else "")
                result.append(Tap(label, schedule.units[index].path, port, k))
    if problems:
        raise DiagramError([Problem(p.what.replace("log:", f"{role}:", 1)) for p in problems])
    twice = [a.name for i, a in enumerate(result) if any(a.wire == b.wire for b in result[:i])]
    if twice:
        raise DiagramError(f"{role}: '{twice[0]}' is named twice.")
    return result


def bypassed(schedule: Schedule, names: str | Iterable[str]) -> Schedule:
    """The schedule with some blocks passed by: what they would read goes straight to their readers, as if y = u."""
    wires: dict[str, Ref] = {}
    for name in [names] if isinstance(names, str) else names:
        unit = schedule.unit(name)
        refs = [r for refs in unit.inputs.values() for r in refs]
        ports = list(unit.kind.of(Outport))
        if len(refs) != 1 or len(ports) != 1:
            raise DiagramError(
                f"through: block '{name}' has {len(refs)} inputs and {len(ports)} outputs; one of each can be passed by."
            )
        wires[name] = refs[0]

    def past(ref: Ref) -> Ref:
        earlier: set[str] = set()
        while ref.block in wires and ref.block not in earlier:
            earlier.add(ref.block)
            source = wires[ref.block]
            ref = source if source.element is not None else replace(source, element=ref.element)
        return ref

    def passed(refs: list[Ref]) -> list[Ref]:
        return [past(r) for r in refs]

    units = [replace(u, inputs={p: passed(refs) for p, refs in u.inputs.items()}) for u in schedule.units]
    return replace(schedule, units=units)


def flat_copy(
    schedule: Schedule, driven: Sequence[Tap], probed: Sequence[Tap], opened: Iterable[Tap], paths: dict[str, str]
) -> tuple[Diagram, list[tuple[str, int]], list[str]]:
    """The diagram without subsystems, with its taps; the block and element that drive each input; the probe of each output."""
    names: dict[str, str] = {}

    def named(path: str, label: str) -> str:
        name = path.replace(".", "__")
        while name in paths:
            name += "_"
        paths[name] = label
        return name

    for unit in schedule.units:
        names[unit.path] = named(unit.path, unit.path)
    cut = {tap.wire for tap in opened}
    units = {u.path: u for u in schedule.units}
    makers: dict[tuple[str, str], str] = {}
    nodes: dict[str, Node] = {}
    for path, port in dict.fromkeys((tap.path, tap.port) for tap in driven):
        size = units[path].port(port)
        keep = [0.0 if (path, port, k) in cut else 1.0 for k in range(size)]
        zero: Any = [0.0] * size if size > 1 else 0.0
        block = Opened(value=zero) if not any(keep) else Added(value=zero) if all(keep) else PartlyOpened(value=zero, keep=keep)
        maker = makers[(path, port)] = named(f"{path}.driven", path)
        nodes[maker] = Node(maker, block, None if isinstance(block, Opened) else f"{names[path]}.{port}")

    def written(ref: Ref) -> str:
        through = makers.get((ref.block, ref.port))
        return str(Ref(through, "y", ref.element) if through else Ref(names[ref.block], ref.port, ref.element))

    for unit in schedule.units:
        inputs = {p: [written(r) for r in refs] for p, refs in unit.inputs.items() if refs}
        single = {p: inputs[p] if declared.many else inputs[p][0] for p, declared in unit.kind.of(Inport).items() if p in inputs}
        gates = tuple(names[path] for path in unit.gates)
        nodes[names[unit.path]] = Node(names[unit.path], unit.block, single or None, place=unit.node.place, gates=gates)
    probes = []
    for tap in probed:
        probes.append(named(f"{tap.path}.read", tap.path))
        element = tap.element if units[tap.path].port(tap.port) > 1 else None
        nodes[probes[-1]] = Node(probes[-1], Probe(), str(Ref(names[tap.path], tap.port, element)))
    settings = SimulateSpec(stop=1, solver="euler", step=1, every=1, algebraic_loops=schedule.diagram.simulate.algebraic_loops)
    flat = Diagram(schedule.name, simulate=settings, log=[], nodes=nodes)
    return flat, [(makers[(tap.path, tap.port)], tap.element) for tap in driven], probes
