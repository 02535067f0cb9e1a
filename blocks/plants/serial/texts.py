"""The texts of a chain: functions of plain numbers that programs contain and that numpy evaluates sample by sample at once."""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from blocksim.contract.expression import function
from blocksim.tracing.graph import Graph, Term, reached
from blocksim.tracing.scalars import Scalar
from blocksim.tracing.straight_line import function_text

from .chain import Chain
from .dynamics import bias_of, constant_of, factorised, frames_of, inertial_names, mass_matrix, motion_of, solution, values_read

LONGEST_INLINE = 20  # lines of a law that is written into what calls it


@dataclass(frozen=True)
class TextLaw:
    """A function made of text, and the parameters it asks for, in the order of its last argument."""

    function: Callable[..., Any]
    parameters: tuple[str, ...]


def motor_names(chain: Chain) -> list[str]:
    """Ia1, ..., and the Iam of motors that several joints turn."""
    return [f"Ia{j + 1}" for j in range(len(chain))] + [f"Iam{k + 1}" for k in chain.coupled]


def with_motors(chain: Chain, graph: Graph, M: dict[tuple[int, int], Any]) -> dict[tuple[int, int], Any]:
    """The mass matrix with the inertia of rigidly joined motors: Ia on the diagonal, Iam where two turn one motor."""
    total = dict(M)
    for j in (k for k in range(len(chain)) if k not in chain.flexible):
        total[j, j] = total[j, j] + values_read(graph, "parameter", [f"Ia{j + 1}"])[0]
    for k in chain.coupled:
        (inertia,) = values_read(graph, "parameter", [f"Iam{k + 1}"])
        row = chain.coupling[k]
        for i in range(len(chain)):
            for j in range(i):
                if row[i] and row[j]:
                    total[i, j] = total[i, j] + inertia * constant_of(graph, row[i] * row[j])
    return total


def law_text(
    graph: Graph, name: str, inputs: Sequence[str], n: int, results: Sequence[Term]
) -> tuple[Callable[..., Any], tuple[str, ...]]:
    """A function of vectors by name and of the parameters P that its results need."""
    names = tuple(n.value for n in reached(results) if n.op == "parameter")
    places = {graph.read("state", f"{vector}{k}"): f"{vector}[{k}]" for vector in inputs for k in range(n)}
    places |= {graph.read("parameter", n): f"P[{k}]" for k, n in enumerate(names)}
    text = function_text(graph, name, (*inputs, "P"), places, results)
    law = function(text)
    law.__dict__["__stays__"] = text.count("\n") > LONGEST_INLINE  # who calls it several times would grow with each
    return law, names


def joint_vector(graph: Graph, name: str, n: int) -> list[Any]:
    return values_read(graph, "state", [f"{name}{k}" for k in range(n)])


@functools.lru_cache(maxsize=64)
def acceleration_law(chain: Chain) -> TextLaw:
    """qdd of M(q) qdd = e - bias(q, v): nan where the mass matrix is not positive definite."""
    graph, n = Graph(), len(chain)
    q, v, e = (joint_vector(graph, name, n) for name in ("q", "v", "e"))
    P = [values_read(graph, "parameter", names) for names in inertial_names(chain)]
    frames = frames_of(graph, chain, q)
    bias = bias_of(chain, frames, motion_of(chain, frames, v, None), P)
    L, D = factorised(with_motors(chain, graph, mass_matrix(chain, frames, P)), n)
    a = solution(L, D, [drive - load for drive, load in zip(e, bias, strict=True)])
    return TextLaw(*law_text(graph, "accelerations", "qve", n, positive_only(graph, D, a)))


@functools.lru_cache(maxsize=64)
def contact_law(chain: Chain) -> TextLaw:
    """Accelerations while joints of mode 0 stick, which have none; then what dry friction has to hold at each of these."""
    graph, n = Graph(), len(chain)
    q, v, e, mode = (joint_vector(graph, name, n) for name in "qves")
    P = [values_read(graph, "parameter", names) for names in inertial_names(chain)]
    frames = frames_of(graph, chain, q)
    bias = bias_of(chain, frames, motion_of(chain, frames, v, None), P)
    M = with_motors(chain, graph, mass_matrix(chain, frames, P))
    one, zero = graph.constant(1.0), graph.constant(0.0)
    slips = [graph.apply("!=", item.node, zero) for item in mode]
    free = [Scalar(graph, graph.choose(test, one, zero)) for test in slips]
    bound = {
        (i, j): Scalar(graph, graph.choose(slips[i], M[i, i].node, one)) if i == j else M[i, j] * (free[i] * free[j])
        for i, j in M
    }
    b = [drive - load for drive, load in zip(e, bias, strict=True)]
    L, D = factorised(bound, n)
    a = solution(L, D, [item * share for item, share in zip(b, free, strict=True)])
    loads = []
    for i in range(n):
        load = b[i]
        for j in range(n):
            if j != i:
                load = load - M[max(i, j), min(i, j)] * a[j]
        loads.append(load)
    results = [*positive_only(graph, D, a), *(load.node for load in loads)]
    return TextLaw(*law_text(graph, "contacts", "qves", n, results))


def positive_only(graph: Graph, D: Sequence[Any], values: Sequence[Any]) -> list[Term]:
    """The values where all pivots are above 0, else nan."""
    least = D[0].node
    for pivot in D[1:]:
        least = graph.apply("minimum", least, pivot.node)
    test = graph.apply(">", least, graph.constant(0.0))
    return [graph.choose(test, item.node, graph.constant(float("nan"))) for item in values]


@functools.lru_cache(maxsize=64)
def pivot_law(chain: Chain) -> TextLaw:
    """The pivots of the mass matrix, joint by joint: all are above 0 where the motion is possible."""
    graph, n = Graph(), len(chain)
    q = joint_vector(graph, "q", n)
    P = [values_read(graph, "parameter", names) for names in inertial_names(chain)]
    M = with_motors(chain, graph, mass_matrix(chain, frames_of(graph, chain, q), P))
    return TextLaw(*law_text(graph, "pivots", "q", n, [pivot.node for pivot in factorised(M, n)[1]]))


@functools.lru_cache(maxsize=64)
def effort_law(chain: Chain) -> TextLaw:
    """The efforts of the joints that a motion takes, friction and motors left out."""
    graph, n = Graph(), len(chain)
    q, v, a = (joint_vector(graph, name, n) for name in ("q", "v", "a"))
    P = [values_read(graph, "parameter", names) for names in inertial_names(chain)]
    frames = frames_of(graph, chain, q)
    efforts = bias_of(chain, frames, motion_of(chain, frames, v, a), P)
    return TextLaw(*law_text(graph, "efforts", "qva", n, [item.node for item in efforts]))
