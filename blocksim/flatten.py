"""Diagram -> Schedule: subsystems expanded to dotted names, sizes, exact ticks, and who must be computed before whom."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any

from .block import Block
from .contract import arguments, kind_of
from .declarations import Inport, Memory, Noise, Outport, Param, Period, State
from .diagram import Diagram, Node, Ref, outports, resolve
from .errors import DiagramError, Problem, did_you_mean, listing
from .ticks import exact

#: One scalar element of a signal: (unit, output port, index).
Element = tuple[int, str, int]
#: One evaluation: an output function of a unit.
Evaluation = tuple[int, str]


@dataclass
class Unit:
    """One block of the flat diagram, with everything fixed that the code depends on."""

    index: int
    path: str
    node: Node
    block: Block
    kind: type[Block]
    inputs: dict[str, list[Ref]] = field(default_factory=dict)  # Refs by flat path
    width: int = 1  # copies that run side by side when a scalar block is fed a vector
    sizes: dict[str, int] = field(default_factory=dict)  # of ports, states, memories and size names
    elements: dict[str, list[list[Element]]] = field(default_factory=dict)  # what arrives, element by element
    group: int | None = None  # which sample hits it acts at
    settings: dict[str, Any] = field(default_factory=dict)

    @property
    def wide(self) -> bool:
        return self.width > 1

    def size(self, name: str) -> int:
        return self.sizes[name]


@dataclass
class Group:
    """Blocks that act at the same instants."""

    period: Fraction
    offset: Fraction


@dataclass
class Schedule:
    """All that code generation needs to know, and nothing about the text."""

    name: str
    units: list[Unit]
    groups: list[Group]
    order: list[list[Evaluation]]  # feedthrough order; a list of several is an algebraic loop to solve
    needs: dict[Evaluation, list[Evaluation]]  # direct feedthrough
    after_run: list[Unit]  # record blocks, in dependency order
    diagram: Diagram

    def unit(self, path: str) -> Unit:
        for unit in self.units:
            if unit.path == path:
                return unit
        paths = [u.path for u in self.units]
        raise DiagramError(f"there is no block '{path}'. Blocks are: {listing(paths)}." + did_you_mean(path, paths))

    def __str__(self) -> str:
        lines = [f"{self.name or 'diagram'}: {len(self.units)} blocks"]
        for number, group in enumerate(self.groups):
            members = [u.path for u in self.units if u.group == number]
            lines.append(f"every {group.period} s" + (f" from {group.offset} s" if group.offset else "") + f": {listing(members)}")
        for number, evaluations in enumerate(self.order, 1):
            text = " = ".join(f"{self.units[u].path}.{f.removeprefix('output_')}" for u, f in evaluations)
            rate = self.units[evaluations[0][0]].group
            held = rate is not None and self.units[evaluations[0][0]].kind.sampled
            lines.append(f"{number:4}  {text}" + (f"  (every {self.groups[rate].period} s)" if held and rate is not None else "")
                         + ("  [algebraic loop]" if len(evaluations) > 1 else ""))
        return "\n".join(lines)


def flatten(diagram: Diagram) -> Schedule:
    """Expand, size, clock and order a diagram. All problems of one stage are reported together."""
    units = expand(diagram)
    settle_sizes(units)
    groups = clock(units)
    running = [u for u in units if not u.kind.after_run]
    needs = feedthrough(units, running)
    order = sort(needs, units, diagram.simulate.algebraic_loops == "solve")
    return Schedule(diagram.name, running, groups, order, needs, record_order(units), diagram)


def expand(diagram: Diagram) -> list[Unit]:
    """Subsystems become dotted names; every input refers to a real block's output."""
    units: list[Unit] = []
    problems: list[Problem] = []
    scopes: dict[str, tuple[Diagram, dict[str, dict[str, list[Ref]]]]] = {}

    def scan(part: Diagram, prefix: str) -> None:
        try:
            scopes[prefix] = (part, resolve(part))
        except DiagramError as error:
            problems.extend(error.problems)
            return
        for node in part.nodes.values():
            if isinstance(node.block, Diagram):
                scan(node.block, f"{prefix}{node.name}.")

    scan(diagram, "")
    if problems:
        raise DiagramError(problems)

    def trace(prefix: str, ref: Ref) -> Ref | None:
        """Follow a signal through subsystem borders to the block that makes it; None where an optional input is open."""
        if not ref.block:  # an input of the subsystem itself: go out
            outer, _, name = prefix.rstrip(".").rpartition(".")
            outer = f"{outer}." if outer else ""
            links = scopes[outer][1][name][ref.port]
            if not links:
                return None
            source = trace(outer, links[0])
            return pick(source, ref.element)
        block = scopes[prefix][0].nodes[ref.block].block
        if isinstance(block, Diagram):  # an output of a subsystem: go in
            inner = f"{prefix}{ref.block}."
            assert block.ports is not None
            found: list[str] = []
            inside = reference_inside(block, block.ports.outputs[ref.port], found)
            if inside is None:
                raise DiagramError([Problem(f"output '{ref.port}' of {prefix}{ref.block}: {found[0]}", block.ports.places.get(ref.port))])
            return pick(trace(inner, inside), ref.element)
        return Ref(prefix + ref.block, ref.port, ref.element)

    for prefix, (part, links) in scopes.items():
        for node in part.nodes.values():
            if isinstance(node.block, Diagram):
                continue
            inputs = {port: [r for r in (trace(prefix, ref) for ref in refs) if r is not None]
                      for port, refs in links[node.name].items()}
            with naming(prefix + node.name, node):
                units.append(Unit(0, prefix + node.name, node, node.block, kind_for(node.block, inputs), inputs,
                                  settings=complete(node.block, kind_for(node.block, inputs))))
    for index, unit in enumerate(units):
        unit.index = index
    if not units:
        raise DiagramError([Problem("the diagram has no blocks.")])
    return units


@contextlib.contextmanager
def naming(path: str, node: Node) -> Iterator[None]:
    """Errors raised while a block is asked for its variant, sizes or tables carry its name and line."""
    try:
        yield
    except DiagramError as error:
        raise DiagramError([p if p.where else Problem(f"block '{path}': {p.what}", node.place) for p in error.problems]) from None


def kind_for(block: Block, inputs: dict[str, list[Ref]]) -> type[Block]:
    return block.variant(sum(len(r) for r in inputs.values()))


def complete(block: Block, kind: type[Block]) -> dict[str, Any]:
    """The block's settings, and defaults for what its variant declares beyond them."""
    return {**{n: d.default for n, d in kind.declared.items() if d.settable}, **block.settings}


def reference_inside(part: Diagram, written: str, found: list[str]) -> Ref | None:
    from .diagram import reference

    return reference(part, written, found.append)


def pick(source: Ref | None, element: int | None) -> Ref | None:
    """An element of a signal; an element of an element is the element itself."""
    if source is None or element is None or source.element is not None:
        return source
    return Ref(source.block, source.port, element)


def widenable(kind: type[Block]) -> bool:
    """Whether every port is scalar, so that a vector simply means several copies."""
    return all(d.size == 1 for d in kind.of(Inport, Outport).values()) and not kind.after_run


def settle_sizes(units: list[Unit]) -> None:
    """Sizes flow along the wires until nothing changes; then everything must fit."""
    by_path = {u.path: u for u in units}
    for unit in units:
        unit.sizes = {name: d.size if isinstance(d.size, int) else 1 for name, d in unit.kind.of(Outport).items()}
    for _ in range(len(units) + 2):
        changed = False
        for unit in units:
            before = (unit.width, dict(unit.sizes))
            with naming(unit.path, unit.node):
                fit(unit, by_path)
            changed |= before != (unit.width, unit.sizes)
        if not changed:
            break
    problems = [p for unit in units for p in size_problems(unit, by_path)]
    if problems:
        raise DiagramError(problems)
    for unit in units:
        for port, refs in unit.inputs.items():
            unit.elements[port] = [elements_of(ref, by_path) for ref in refs]


def connected(ref: Ref, by_path: dict[str, Unit]) -> int:
    return 1 if ref.element is not None else by_path[ref.block].sizes[ref.port]


def elements_of(ref: Ref, by_path: dict[str, Unit]) -> list[Element]:
    unit = by_path[ref.block]
    if ref.element is not None:
        return [(unit.index, ref.port, ref.element)]
    return [(unit.index, ref.port, k) for k in range(unit.sizes[ref.port])]


def fit(unit: Unit, by_path: dict[str, Unit]) -> None:
    """Sizes of one block from what is connected to it now."""
    arriving = {port: [connected(r, by_path) for r in refs] for port, refs in unit.inputs.items()}
    kind = unit.kind
    if widenable(kind):
        lists = [len(v) for n, d in kind.of(Param).items()
                 if not d.shape and getattr(d, "size", 1) == 1 and isinstance(v := unit.settings.get(n), (list, tuple))]
        unit.width = max([1, *lists, *(n for sizes in arriving.values() for n in sizes)])
        unit.sizes = {n: unit.width for n in kind.of(Outport)}
        unit.sizes.update({n: 1 for n in kind.of(State, Memory)})
    ports = {p: (tuple(s) if kind.declared[p].many else (s[0] if s else 1)) for p, s in arriving.items()}
    for name, function in kind.functions.items():
        if name.startswith("size_"):
            values = {**unit.settings, **ports}
            unit.sizes[name[5:]] = int(function(**{a: values[a] for a in arguments(function)}))
    for name, declaration in kind.of(State, Outport).items():
        if isinstance(declaration.size, str) and declaration.size != "any":
            value = unit.sizes.get(declaration.size, unit.settings.get(declaration.size))
            unit.sizes[name] = int(value) if value is not None else 1
        elif not widenable(kind):
            unit.sizes[name] = declaration.size if isinstance(declaration.size, int) else 1


def size_problems(unit: Unit, by_path: dict[str, Unit]) -> list[Problem]:
    """Everything that does not fit at one block, naming both ends and both sizes."""
    found = []
    where = unit.node.at("in")
    wide = widenable(unit.kind)
    for port, refs in unit.inputs.items():
        declaration = unit.kind.declared[port]
        for ref in refs:
            source = by_path[ref.block]
            if ref.element is not None and not 0 <= ref.element < source.sizes[ref.port]:
                found.append(Problem(f"block '{unit.path}': '{ref}' asks for element {ref.element} of '{ref.block}.{ref.port}', which has "
                                     f"{source.sizes[ref.port]} (counted from 0).", where))
                continue
            size = connected(ref, by_path)
            if wide:
                wanted, allowed = unit.width, (1, unit.width)
            elif declaration.size == "any":
                continue
            else:
                wanted = declaration.size if isinstance(declaration.size, int) else unit.sizes.get(
                    declaration.size, unit.settings.get(declaration.size, 1))
                allowed = (wanted,)
            if size not in allowed:
                found.append(Problem(
                    f"size mismatch: '{ref.block}.{ref.port}' ({type(source.block).__name__}) has {size} elements, input '{port}' of "
                    f"'{unit.path}' ({type(unit.block).__name__}) takes {wanted}. Select takes one element, Mux joins several.", where))
    for name, declaration in unit.kind.of(Param).items():
        value = unit.settings.get(name)
        if not declaration.shape and isinstance(value, (list, tuple)):
            vector = isinstance(declaration, State) and (not wide or declaration.size != 1)
            wanted = unit.sizes[name] if vector else unit.width
            if len(value) not in (wanted, 1):
                found.append(Problem(f"block '{unit.path}': {name} has {len(value)} numbers; {wanted} is wanted"
                                     + (" (the size of its inputs)." if wide else "."), unit.node.at(name)))
    return found


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


def output_functions(kind: type[Block]) -> dict[str, list[str]]:
    """Output function -> the ports it gives."""
    ports = list(kind.of(Outport))
    if "step" in kind.functions:
        return {"step": ports}
    if "output" in kind.functions:
        return {"output": ports}
    return {f"output_{p}": [p] for p in ports}


def evaluation_of(unit: Unit, port: str) -> Evaluation:
    """Which function of a unit gives a port."""
    for function, ports in output_functions(unit.kind).items():
        if port in ports:
            return unit.index, function
    raise KeyError(port)


def feedthrough(units: list[Unit], running: list[Unit]) -> dict[Evaluation, list[Evaluation]]:
    """For each output function, the output functions whose value it needs at the same instant."""
    for index, unit in enumerate(running):
        if unit.index != index:
            renumber(units, running)
            break
    needs: dict[Evaluation, list[Evaluation]] = {}
    for unit in running:
        for function in output_functions(unit.kind):
            asked = arguments(unit.kind.functions[function])
            needs[(unit.index, function)] = list(dict.fromkeys(
                evaluation_of(running[e[0]], e[1]) for port in unit.kind.of(Inport) if port in asked
                for elements in unit.elements.get(port, []) for e in elements))
    return needs


def renumber(units: list[Unit], running: list[Unit]) -> None:
    """Record blocks are not part of the program: number the running ones without gaps."""
    new = {u.index: i for i, u in enumerate(running)}
    new.update({u.index: len(running) + i for i, u in enumerate(u for u in units if u.kind.after_run)})
    for unit in units:
        unit.elements = {p: [[(new[i], q, k) for i, q, k in es] for es in ess] for p, ess in unit.elements.items()}
    for unit in units:
        unit.index = new[unit.index]


def sort(needs: dict[Evaluation, list[Evaluation]], units: list[Unit], solve: bool) -> list[list[Evaluation]]:
    """Feedthrough order, in file order where free; loops refused as a walk, or kept together to be solved."""
    import networkx as nx

    graph = nx.DiGraph()
    graph.add_nodes_from(needs)
    graph.add_edges_from((source, target) for target, sources in needs.items() for source in sources)
    loops = [c for c in nx.strongly_connected_components(graph) if len(c) > 1 or any(graph.has_edge(n, n) for n in c)]
    if loops and not solve:
        raise DiagramError([loop_problem(graph.subgraph(c), units) for c in loops])
    for loop in loops:
        sampled = [units[u] for u, _ in loop if units[u].kind.sampled]
        if sampled:
            raise DiagramError([Problem(
                loop_problem(graph.subgraph(loop), units).what + f" It passes through the sampled block '{sampled[0].path}' and cannot "
                "be solved; a UnitDelay breaks it.", sampled[0].node.at("in"))])
    condensed = nx.condensation(graph)
    members = {n: sorted(condensed.nodes[n]["members"]) for n in condensed}
    ordered = nx.lexicographical_topological_sort(condensed, key=lambda n: members[n][0])
    return [members[n] for n in ordered]


def loop_problem(graph: Any, units: list[Unit]) -> Problem:
    """An algebraic loop as a walk a.y -> b.u -> b.y -> ... back to the start."""
    import networkx as nx

    start = min(graph.nodes)
    cycle = nx.find_cycle(graph, start)
    steps = []
    for (source, function), (target, _) in cycle:
        made = output_functions(units[source].kind)[function]
        port, entry = next((e[1], p) for p, ess in units[target].elements.items() for es in ess for e in es
                           if e[0] == source and e[1] in made)
        steps.append(f"{units[source].path}.{port} -> {units[target].path}.{entry}")
    node = units[start[0]].node
    return Problem("algebraic loop: " + " -> ".join(steps) + ". Each needs the next at the same instant: break it with a state, a "
                   "lag or a UnitDelay, or set simulate: {algebraic_loops: solve}.", node.at("in"))


def record_order(units: Iterable[Unit]) -> list[Unit]:
    """Record blocks so that each comes after those it reads."""
    waiting = [u for u in units if u.kind.after_run]
    done: list[Unit] = []
    names = {u.path for u in waiting}
    while waiting:
        ready = [u for u in waiting if all(r.block not in names or r.block in {d.path for d in done}
                                           for refs in u.inputs.values() for r in refs)]
        if not ready:
            raise DiagramError([Problem(f"record blocks wait for each other: {listing(u.path for u in waiting)}.", waiting[0].node.place)])
        done += ready
        waiting = [u for u in waiting if u not in ready]
    return done


def functions_of(unit: Unit, kind: str) -> dict[str, Callable]:
    """A unit's functions of one kind, e.g. its guards by name."""
    return {n: f for n, f in unit.kind.functions.items() if kind_of(n) == kind}


def noise_of(unit: Unit) -> dict[str, Noise]:
    return unit.kind.of(Noise)


__all__ = ["Element", "Evaluation", "Group", "Schedule", "Unit", "evaluation_of", "flatten", "outports", "output_functions"]
