"""Feedthrough, its order in any order of the file, and loops: told as a walk, kept together, each on its own."""

from __future__ import annotations

import subprocess
import sys

import networkx as nx
import pytest
from hypothesis import given
from hypothesis import strategies as st

from blocksim.diagram.build import open_diagram
from blocksim.errors import DiagramError
from blocksim.schedule.flatten import flatten
from blocksim.schedule.ordering import feedthrough_order, record_order, sort

#: a feeds b and c, both feed d; the integrator closes a loop that is none, since its output is its state.
LINES = {
    "a": "  a: {type: Sum, in: [u, x]}",
    "b": "  b: {type: Gain, k: 2, in: a}",
    "c": "  c: {type: Gain, k: 3, in: a}",
    "d": "  d: {type: Sum, in: [b, c]}",
    "u": "  u: {type: Constant}",
    "x": "  x: {type: Integrator, in: d}",
}
TWO_LOOPS = """
format: 1
simulate: {stop: 1%s}
blocks:
  u: {type: Constant}
  a: {type: Sum, in: [u, b]}
  b: {type: Gain, k: -0.5, in: a}
  c: {type: Sum, in: [u, d]}
  d: {type: Gain, k: -3, in: c}
"""


def flat(lines):
    return flatten(open_diagram("format: 1\nblocks:\n" + "\n".join(lines)))


@given(st.permutations(list(LINES)))
def test_every_block_comes_after_those_it_needs(names):
    schedule = flat(LINES[name] for name in names)
    place = {schedule.units[group[0][0]].path: n for n, group in enumerate(schedule.order)}
    assert place["u"] < place["a"] and place["x"] < place["a"]
    assert place["a"] < min(place["b"], place["c"]) and max(place["b"], place["c"]) < place["d"]


def test_what_needs_whom():
    schedule = flat(LINES.values())
    path = {unit.index: unit.path for unit in schedule.units}
    needs = {path[u]: {path[v] for v, _ in sources} for (u, _), sources in schedule.needs.items()}
    assert needs == {"a": {"u", "x"}, "b": {"a"}, "c": {"a"}, "d": {"b", "c"}, "u": set(), "x": set()}


def test_where_it_is_free_the_order_is_that_of_the_file():
    needs = {(n, "output"): [] for n in range(4)} | {(1, "output"): [(3, "output")]}
    assert sort(needs, [], solve=False) == [[(0, "output")], [(2, "output")], [(3, "output")], [(1, "output")]]


def test_every_loop_is_told_as_a_walk():
    with pytest.raises(DiagramError) as caught:
        flatten(open_diagram(TWO_LOOPS % ""))
    first, second = sorted(problem.what for problem in caught.value.problems)
    assert first.startswith("algebraic loop: a.y -> b.u -> b.y -> a.u (lines 6 and 7). Each needs the next at the same instant")
    assert second.startswith("algebraic loop: c.y -> d.u -> d.y -> c.u (lines 8 and 9). ") and "algebraic_loops: solve" in second


def test_loops_to_be_solved_stay_together_and_apart_from_each_other():
    schedule = flatten(open_diagram(TWO_LOOPS % ", algebraic_loops: solve"))
    groups = [{schedule.units[u].path for u, _ in group} for group in schedule.order]
    assert groups == [{"u"}, {"a", "b"}, {"c", "d"}]


def test_a_sampled_block_in_a_loop_cannot_be_solved():
    text = """
format: 1
simulate: {algebraic_loops: solve}
blocks:
  a: {type: Sum, in: [b, b]}
  b: {type: ZeroOrderHold, Ts: 0.1, in: a}
"""
    with pytest.raises(
        DiagramError, match=r"It passes through the sampled block 'b' and cannot be solved; a UnitDelay breaks it"
    ):
        flatten(open_diagram(text))


def test_record_blocks_wait_for_those_they_read():
    text = """
format: 1
blocks:
  late:  {type: ZeroPhaseFilter, order: 2, cutoff: 3, in: early}
  early: {type: ZeroPhaseFilter, order: 2, cutoff: 4, in: u}
  u:     {type: Sine}
"""
    schedule = flatten(open_diagram(text))
    assert [unit.path for unit in schedule.after_run] == ["early", "late"]
    assert [unit.path for unit in record_order(reversed(schedule.after_run))] == ["early", "late"]


def test_record_blocks_that_wait_for_each_other_are_named():
    text = """
format: 1
blocks:
  one: {type: ZeroPhaseFilter, order: 2, cutoff: 3, in: two}
  two: {type: ZeroPhaseFilter, order: 2, cutoff: 4, in: one}
"""
    with pytest.raises(DiagramError, match=r"record blocks read each other: one\.y -> two\.u -> two\.y -> one\.u"):
        flatten(open_diagram(text))


@given(
    st.integers(1, 12).flatmap(lambda n: st.tuples(st.just(n), st.sets(st.tuples(st.integers(0, n - 1), st.integers(0, n - 1)))))
)
def test_without_loops_the_order_is_the_lexicographical_one_and_with_loops_it_stops_before_them(graph):
    count, edges = graph
    nodes = [(i, "output") for i in range(count)]
    needs = {node: [nodes[i] for i, j in sorted(edges) if nodes[j] == node] for node in nodes}
    directed = nx.DiGraph()
    directed.add_nodes_from(nodes)
    directed.add_edges_from((source, target) for target, sources in needs.items() for source in sources)
    circling = {
        n for part in nx.strongly_connected_components(directed) for n in part if len(part) > 1 or directed.has_edge(n, n)
    }
    blocked = circling.union(*(nx.descendants(directed, node) for node in circling))
    free = directed.subgraph(set(nodes) - blocked)
    assert feedthrough_order(needs) == list(nx.lexicographical_topological_sort(free))


def test_a_diagram_without_loops_is_run_without_importing_networkx():
    text = "format: 1\nblocks:\n" + "\n".join(LINES.values()) + "\nsimulate: {stop: 0.1}\n"
    code = f"import sys, blocksim; blocksim.simulate({text!r}, engine='python'); print('networkx' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "False"
