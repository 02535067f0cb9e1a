"""Algebraic loops in the program: which signals to guess, and the residual that Newton's method drives to zero."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field

from ..schedule.schedule import Element, Evaluation, evaluation_of, output_functions
from ..tracing.code import SUM, code
from .emitter import STORE_LIST, Emitter
from .following import element_of, written
from .scope import Scope, indented
from .slots import Slot

Needs = dict[Evaluation, list[Evaluation]]


@dataclass
class AlgebraicLoop:
    """One loop: the elements guessed, and where in m the signals from outside are left for its residual."""

    number: int
    evaluations: list[Evaluation]
    unknown: list[Element]
    borrowed: dict[Element, int] = field(default_factory=dict)
    text: str = ""


def make_loop(emitter: Emitter, number: int, evaluations: list[Evaluation]) -> AlgebraicLoop:
    """Choose the guesses, reserve their places, write the function loop_<number>: r = blocks(z) - z."""
    units, needs = emitter.units, emitter.schedule.needs
    torn = tear(evaluations, needs)
    unknown = [
        (index, port, k)
        for index, function in sorted(torn)
        for port in output_functions(units[index].kind)[function]
        for k in range(units[index].port(port))
    ]
    read = [e for u, f in evaluations for e in emitter.elements_read(units[u], [units[u].kind.functions[f]])]
    outside = [
        e for e in dict.fromkeys(read) if evaluation_of(units[e[0]], e[1]) not in evaluations and not units[e[0]].kind.sampled
    ]
    loop = AlgebraicLoop(number, evaluations, unknown, {e: len(emitter.slots.m) + i for i, e in enumerate(outside)})
    emitter.slots.m += [Slot(units[e[0]].path, e[1], e[2]) for e in outside]
    count = len(unknown)
    for part, length in (("z", count), ("r", count), ("q", count), ("jacobian", count * count)):
        emitter.slots.region(-1 - number, part, (), length)
    guesses = {e: code(f"z[{i}]") for i, e in enumerate(unknown)}
    scope = Scope(signals={**guesses, **{e: code("m[", i, "]") for e, i in loop.borrowed.items()}})
    for evaluation in inside_loop(evaluations, torn, needs):
        emitter.evaluate(scope, evaluation)
        if evaluation in torn:  # others in the loop read the guess, not what was made of it
            for i, element in enumerate(unknown):
                if evaluation_of(units[element[0]], element[1]) == evaluation:
                    scope.write(code(f"r[{i}] = ", written(scope.signals[element]).within(SUM), f" - z[{i}]"))
                    scope.signals[element] = guesses[element]
    loop.text = f"def loop_{number}(z, r, t, {STORE_LIST}):\n{indented(scope.blocks())}\n"
    return loop


def solution_call(emitter: Emitter, scope: Scope, loop: AlgebraicLoop) -> None:
    """Solve a loop, then compute its signals from the solution."""
    scope.begin()
    for element, address in loop.borrowed.items():
        scope.write(code("m[", address, "] = ", written(emitter.signal(scope, element))))
    scope.write(f"solve_loop_{loop.number}(t, {STORE_LIST})")
    region = emitter.slots.arrays[(-1 - loop.number, "z")]
    for i, element in enumerate(loop.unknown):
        scope.signals[element] = emitter.keep(scope, emitter.units[element[0]], element[1], element[2], element_of(region, i))
    torn = {evaluation_of(emitter.units[e[0]], e[1]) for e in loop.unknown}
    for evaluation in inside_loop(loop.evaluations, torn, emitter.schedule.needs):
        if evaluation not in torn:
            emitter.evaluate(scope, evaluation)


def tear(loop: list[Evaluation], needs: Needs) -> set[Evaluation]:
    """Few evaluations that, once guessed, leave the rest of a loop without a cycle."""
    import networkx as nx

    graph = nx.DiGraph((s, e) for e in loop for s in needs[e] if s in loop)
    torn: set[Evaluation] = set()
    while not nx.is_directed_acyclic_graph(graph):
        busiest = max(sorted(graph.nodes), key=lambda n: graph.in_degree(n) * graph.out_degree(n))
        torn.add(busiest)
        graph.remove_node(busiest)
    return torn


def inside_loop(loop: list[Evaluation], torn: Iterable[Evaluation], needs: Needs) -> list[Evaluation]:
    """A loop's evaluations in order, given the torn ones."""
    import networkx as nx

    torn = set(torn)
    graph = nx.DiGraph()
    graph.add_nodes_from(loop)
    graph.add_edges_from((s, e) for e in loop for s in needs[e] if s in loop and s not in torn)
    return list(nx.lexicographical_topological_sort(graph))
