"""Diagram -> Schedule: subsystems expanded to dotted names, sizes, exact ticks, and who must be computed before whom."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

from ..contract.block import Block, RecordBlock
from ..contract.declarations import Memory, Model, Period, State
from ..contract.plant import Plant, plants_of
from ..contract.times import exact
from ..diagram.diagram import Diagram, Links, Node, Ref, named_blocks, reference, resolve
from ..diagram.diagram import kind as kind_name
from ..errors import DiagramError, Problem, listing
from .enabling import EnableSwitch, border, border_blocks, check_gates, switch_path
from .named_starts import awaited, check_names
from .ordering import feedthrough_edges, record_order, sort
from .schedule import Group, Schedule, Unit, naming
from .sizes import settle_sizes


def flatten(diagram: Diagram) -> Schedule:
    """Expand, size, clock and order a diagram. All problems of one stage are reported together."""
    if diagram.ports and diagram.ports.inputs:
        text = (
            f"{kind_name(diagram)} has inputs that nothing drives: {listing(diagram.ports.inputs)}. Use it as a block of "
            "another diagram: {type: ./its_file.yaml, in: ...}."
        )
        raise DiagramError([Problem(text, diagram.spec.places.get("ports") if diagram.spec is not None else None)])
    units = expand(diagram)
    settle_sizes(units)
    groups = clock(units)
    postpone(units)
    check_gates(units)
    running = [u for u in units if not u.after]
    needs = feedthrough_edges(units, running)
    order = sort(needs, units, diagram.simulate.algebraic_loops == "solve")
    schedule = Schedule(diagram.name, running, groups, order, needs, record_order(units), diagram)
    for unit in schedule.after_run:
        if isinstance(unit.block, RecordBlock):
            with naming(unit.path, unit.node):
                unit.block.fits(unit.path, schedule)
    return schedule


#: Of each subsystem, by the prefix of its blocks: its diagram and its links.
Scopes = dict[str, tuple[Diagram, Links]]


def expand(diagram: Diagram) -> list[Unit]:
    """Subsystems become dotted names; every input refers to a real block's output."""
    problems: list[Problem] = []
    scopes: Scopes = {}
    scan(diagram, "", scopes, problems)
    if problems:
        raise DiagramError(problems)
    units: list[Unit] = []
    for prefix, (part, links) in scopes.items():
        blocks = named_blocks(part)
        gates = gates_of(scopes, prefix)
        for node in part.nodes.values():
            if isinstance(node.block, Diagram):
                if node.enable is not None:
                    add_border(units, scopes, prefix, node, gates)
                continue
            traced = {port: [follow(scopes, prefix, ref) for ref in refs] for port, refs in links[node.name].items()}
            inputs = {port: [r for r in refs if r is not None] for port, refs in traced.items()}
            with naming(prefix + node.name, node):
                kind = kind_for(node.block, inputs)
                settings = complete(node.block, kind)
                plants = plants_of(node.block, blocks, prefix)
            units.append(Unit(len(units), prefix + node.name, node, node.block, kind, inputs, settings=settings, plants=plants))
            units[-1].after, units[-1].gates = kind.after_run, gates or node.gates
    if any(u.border for u in units):  # switches first: of several guards at one instant theirs are looked at before the others
        units.sort(key=lambda u: not isinstance(u.block, EnableSwitch))
        for index, unit in enumerate(units):
            unit.index = index
    if not units:
        raise DiagramError([Problem("the diagram has no blocks.")])
    by_path = {u.path: u for u in units}
    for unit in units:
        for setting, declared in unit.kind.of(Model).items():
            driver = next(iter(unit.inputs.get(declared.port, [])), None)
            if driver is not None and setting not in unit.plants:
                block = by_path[driver.block].block
                unit.plants[setting] = Plant(type(block), block.settings, driver.block)
    return units


def gates_of(scopes: Scopes, prefix: str) -> tuple[str, ...]:
    """The switches of the subsystems around a block, the outermost first."""
    names = prefix.rstrip(".").split(".") if prefix else []
    gates = []
    for depth, name in enumerate(names):
        outer = "".join(f"{n}." for n in names[:depth])
        node = scopes[outer][0].nodes[name]
        if node.enable is not None and isinstance(node.block, Diagram):
            gates.append(switch_path(outer + name, node.block))
    return tuple(gates)


def add_border(units: list[Unit], scopes: Scopes, prefix: str, node: Node, gates: tuple[str, ...]) -> None:
    """The switch of a subsystem, and what holds each of its outputs."""
    part, path = node.block, prefix + node.name
    assert isinstance(part, Diagram) and part.ports is not None
    for name, block, port in border_blocks(path, node, part):
        inputs = {"enable": [r for ref in scopes[prefix][1][node.name]["enable"] if (r := follow(scopes, prefix, ref))]}
        if port:
            inside = reference(part, part.ports.outputs[port], lambda _: None)
            source = follow(scopes, f"{path}.", inside) if inside is not None else None
            inputs = {"u": [source] if source is not None else [], "on": [Ref(switch_path(path, part), "on")]}
        kind = kind_for(block, inputs)
        units.append(Unit(len(units), name, node, block, kind, inputs, settings=complete(block, kind), gates=gates, border=True))


def postpone(units: list[Unit]) -> None:
    """What reads a record block works after the run too, if it can: without continuous states, sample by sample.

    So does what starts from the estimates of another block.
    """
    check_names(units)
    by_path = {u.path: u for u in units}
    patient = [u for u in units if not u.after and awaited(u)]
    for unit in patient:
        unit.after = True
    waiting = [u for u in units if not u.after]
    problems: list[Problem] = []
    why = "".join(f" '{u.path}' waits for the estimates of {listing(awaited(u))}, and so does what reads it." for u in patient)
    while waiting:
        late_links = [(u, p, r) for u in waiting for p, refs in u.inputs.items() for r in refs if by_path[r.block].after]
        if not late_links:
            break
        for unit, port, ref in late_links:
            if any(not isinstance(d, Memory) for d in unit.kind.of(State).values()):
                problems.append(
                    Problem(
                        f"input '{port}' of block '{unit.path}' comes from '{ref}', which works after the run; '{unit.path}' "
                        f"({type(unit.block).__name__}) moves during it and cannot wait for it.{why}",
                        unit.node.at("in"),
                    )
                )
            unit.after = True
        waiting = [u for u in waiting if not u.after]
    if problems:
        raise DiagramError(problems)


def scan(part: Diagram, prefix: str, scopes: Scopes, problems: list[Problem]) -> None:
    """The links of a diagram and of every subsystem in it; what is wrong is gathered."""
    try:
        scopes[prefix] = (part, resolve(part))
    except DiagramError as error:
        problems.extend(error.problems)
        return
    for node in part.nodes.values():
        if isinstance(node.block, Diagram):
            scan(node.block, f"{prefix}{node.name}.", scopes, problems)


def follow(scopes: Scopes, prefix: str, ref: Ref) -> Ref | None:
    """Follow a signal through subsystem borders to the block that makes it; None where an optional input is open."""
    if not ref.block:  # an input of the subsystem itself: go out
        outer, _, name = prefix.rstrip(".").rpartition(".")
        outer = f"{outer}." if outer else ""
        links = scopes[outer][1][name][ref.port]
        return pick(follow(scopes, outer, links[0]), ref.element) if links else None
    block = scopes[prefix][0].nodes[ref.block].block
    if not isinstance(block, Diagram):
        return Ref(prefix + ref.block, ref.port, ref.element)
    assert block.ports is not None  # an output of a subsystem: go in
    if scopes[prefix][0].nodes[ref.block].enable is not None:
        return border(prefix + ref.block, block, ref.port, ref.element)
    texts: list[str] = []
    inside = reference(block, block.ports.outputs[ref.port], texts.append)
    if inside is None:
        where = block.ports.places.get(ref.port)
        raise DiagramError([Problem(f"output '{ref.port}' of {prefix}{ref.block}: {texts[0]}", where)])
    return pick(follow(scopes, f"{prefix}{ref.block}.", inside), ref.element)


def kind_for(block: Block, inputs: dict[str, list[Ref]]) -> type[Block]:
    return block.variant(sum(len(r) for r in inputs.values()))


def complete(block: Block, kind: type[Block]) -> dict[str, Any]:
    """The block's settings, and defaults for what its variant declares beyond them."""
    return {**{n: d.default for n, d in kind.declared.items() if d.settable}, **block.settings}


def pick(source: Ref | None, element: int | None) -> Ref | None:
    """An element of a signal; an element of an element is the element itself."""
    if source is None or element is None or source.element is not None:
        return source
    return Ref(source.block, source.port, element)


def clock(units: list[Unit]) -> list[Group]:
    """Sample times, as exact fractions; blocks with the same hits share a group."""
    groups: list[Group] = []
    for unit in units:
        periods = {n: exact(unit.settings[n]) for n in unit.kind.of(Period) if unit.settings.get(n) is not None}
        offset = periods.pop("offset", Fraction(0))
        times = [t for t in periods.values() if t]
        if not times:
            continue
        group = Group(times[0], offset)
        if group not in groups:
            groups.append(group)
        unit.group = groups.index(group)
    return groups
