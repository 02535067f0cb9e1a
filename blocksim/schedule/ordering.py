"""Who must be computed before whom: direct feedthrough, its order, and the loops in it."""

from __future__ import annotations

import heapq
from collections.abc import Iterable
from typing import Any

from ..contract.declarations import Inport
from ..contract.definition import arguments
from ..diagram.diagram import Node
from ..errors import DiagramError, Problem, lines_of
from .named_starts import awaited
from .schedule import Evaluation, Unit, evaluation_of, output_functions


def feedthrough_edges(units: list[Unit], running: list[Unit]) -> dict[Evaluation, list[Evaluation]]:
    """For each output function, the output functions whose value it needs at the same instant."""
    for index, unit in enumerate(running):
        if unit.index != index:
            renumber(units, running)
            break
    needs: dict[Evaluation, list[Evaluation]] = {}
    for unit in running:
        for function in output_functions(unit.kind):
            names = arguments(unit.kind.functions[function])
            needs[(unit.index, function)] = list(
                dict.fromkeys(
                    evaluation_of(running[e[0]], e[1])
                    for port in unit.kind.of(Inport)
                    if port in names
                    for elements in unit.elements.get(port, [])
                    for e in elements
                )
            )
    return needs


def renumber(units: list[Unit], running: list[Unit]) -> None:
    """Record blocks are not part of the program: number the running ones without gaps."""
    new = {u.index: i for i, u in enumerate(running)}
    new.update({u.index: len(running) + i for i, u in enumerate(u for u in units if u.after)})
    for unit in units:
        unit.elements = {p: [[(new[i], q, k) for i, q, k in es] for es in ess] for p, ess in unit.elements.items()}
    for unit in units:
        unit.index = new[unit.index]


def feedthrough_order(needs: dict[Evaluation, list[Evaluation]]) -> list[Evaluation]:
    """Feedthrough order, in file order where free, of all that is in no loop and behind none."""
    left = {target: len(sources) for target, sources in needs.items()}
    users: dict[Evaluation, list[Evaluation]] = {evaluation: [] for evaluation in needs}
    for target, sources in needs.items():
        for source in sources:
            users[source].append(target)
    ready, order = [evaluation for evaluation, count in left.items() if count == 0], []
    heapq.heapify(ready)
    while ready:
        order.append(first := heapq.heappop(ready))
        for user in users[first]:
            left[user] -= 1
            if left[user] == 0:
                heapq.heappush(ready, user)
    return order


def sort(needs: dict[Evaluation, list[Evaluation]], units: list[Unit], solve: bool) -> list[list[Evaluation]]:
    """Feedthrough order, in file order where free; loops refused as a walk, or kept together to be solved."""
    without_loops = feedthrough_order(needs)
    if len(without_loops) == len(needs):
        return [[evaluation] for evaluation in without_loops]
    import networkx as nx  # only here: importing it takes as long as all else of a small diagram

    graph = nx.DiGraph()
    graph.add_nodes_from(needs)
    graph.add_edges_from((source, target) for target, sources in needs.items() for source in sources)
    loops = [c for c in nx.strongly_connected_components(graph) if len(c) > 1 or any(graph.has_edge(n, n) for n in c)]
    if loops and not solve:
        raise DiagramError([loop_problem(graph.subgraph(c), units) for c in loops])
    for loop in loops:
        sampled = [units[u] for u, _ in loop if units[u].kind.sampled]
        if sampled:
            raise DiagramError(
                [
                    Problem(
                        loop_problem(graph.subgraph(loop), units).what
                        + f" It passes through the sampled block '{sampled[0].path}' and cannot "
                        "be solved; a UnitDelay breaks it.",
                        sampled[0].node.at("in"),
                    )
                ]
            )
    condensed = nx.condensation(graph)
    members = {n: sorted(condensed.nodes[n]["members"]) for n in condensed}
    ordered = nx.lexicographical_topological_sort(condensed, key=lambda n: members[n][0])
    return [members[n] for n in ordered]


def loop_problem(graph: Any, units: list[Unit]) -> Problem:
    """An algebraic loop as a walk a.y -> b.u -> b.y -> ... back to the start."""
    import networkx as nx

    start = min(graph.nodes)
    cycle = nx.find_cycle(graph, start)
    steps, on_the_way = [], []
    for (source, function), (target, _) in cycle:
        on_the_way.append(units[source].node.at("in"))
        ports = output_functions(units[source].kind)[function]
        arriving = ((e[1], p) for p, ess in units[target].elements.items() for es in ess for e in es if e[0] == source)
        link = next(((port, entry) for port, entry in arriving if port in ports), None)
        if link is not None:  # else one output of a block asks for another of the same
            steps.append(f"{units[source].path}.{link[0]} -> {units[target].path}.{link[1]}")
    node = units[start[0]].node
    return Problem(
        f"algebraic loop: {' -> '.join(steps)}{lines_of(on_the_way)}. Each needs the next at the same instant: break it with "
        "a state, a lag or a UnitDelay, or set simulate: {algebraic_loops: solve}.",
        node.at("in"),
    )


def record_order(units: Iterable[Unit]) -> list[Unit]:
    """The blocks that work after the run, each after those it reads or starts from."""
    waiting = [u for u in units if u.after]
    done: list[Unit] = []
    while waiting:
        left = {u.path for u in waiting}
        ready = [u for u in waiting if left.isdisjoint(r.block for refs in u.inputs.values() for r in refs)]
        ready = [u for u in ready if left.isdisjoint(awaited(u))]
        if not ready:
            walk, node = circle(waiting)
            raise DiagramError(
                [
                    Problem(
                        f"record blocks read each other: {walk}. Each works on the whole record of the one before it, after the "
                        "run, so that none can begin: take one of these links away.",
                        node.at("in"),
                    )
                ]
            )
        done += ready
        waiting = [u for u in waiting if u not in ready]
    return done


def circle(units: Iterable[Unit]) -> tuple[str, Node]:
    """A way around among blocks of which each reads another, as a walk a.y -> b.u -> b.y -> a.u, and where it begins."""
    by_path = {u.path: u for u in units}
    path = next(iter(by_path))
    steps: dict[str, str] = {}
    while path not in steps:  # each waits for another: going from reader to maker must come around
        unit = by_path[path]
        links = [(r.block, f"{r.block}.{r.port} -> {path}.{p}") for p, refs in unit.inputs.items() for r in refs]
        links += [(name, f"{name} -> {path}: start") for name in awaited(unit)]
        maker, steps[path] = next(link for link in links if link[0] in by_path)
        path = maker
    around = list(steps)[list(steps).index(path) :]
    return " -> ".join(steps[name] for name in reversed(around)), by_path[path].node
