"""Algebraic loops in the program: what is guessed, in which order the rest follows, and several of them side by side."""

from __future__ import annotations

import numpy as np
import pytest

import blocksim as bs
from blocksim.compiler.algebraic import inside_loop, tear

A, B, C, D = ((n, "output") for n in range(4))

#: Two linear loops of the same input that share nothing else: a = u - b/2, c = u - 3 d.
TWO = """
format: 1
simulate: {stop: 1, solver: rk4, step: 0.125, algebraic_loops: solve}
blocks:
  u: {type: Sine, frequency: 1.0, bias: 2.0}
  a: {type: Sum, in: [u, b]}
  b: {type: Gain, k: -0.5, in: a}
  c: {type: Sum, in: [u, d]}
  d: {type: Gain, k: -3.0, in: c}
"""
#: The same with a third that reads both and squares: e = a + c - e^2/4.
CHAINED = (
    TWO
    + """
  f: {type: Function, expression: -u**2/4, in: e}
  e: {type: Sum, in: [a, c, f]}
"""
)


def test_one_guess_opens_a_ring():
    needs = {A: [C], B: [A], C: [B]}
    torn = tear([A, B, C], needs)
    assert len(torn) == 1
    order = inside_loop([A, B, C], torn, needs)
    opened = next(iter(torn))
    assert sorted(order) == [A, B, C]
    for evaluation in order:
        assert all(source == opened or order.index(source) < order.index(evaluation) for source in needs[evaluation])


def test_a_node_in_every_cycle_is_the_one_to_guess():
    """B lies on both cycles, A <-> B and B <-> C."""
    assert tear([A, B, C], {A: [B], B: [A, C], C: [B]}) == {B}


def test_needs_from_outside_the_loop_do_not_count():
    assert inside_loop([A, B], {A}, {A: [B, D], B: [A, C]}) == [B, A]


def test_a_block_that_needs_itself_is_guessed():
    assert tear([A], {A: [A]}) == {A}


@pytest.mark.parametrize("engine", ["python", "compiled"])
def test_two_loops_side_by_side(engine):
    record = bs.simulate(TWO, engine=engine)
    u = record["u"]
    for name, expected in (("a", u / 1.5), ("b", -u / 3), ("c", u / 4), ("d", -3 * u / 4)):
        np.testing.assert_allclose(record[name], expected, rtol=1e-12, err_msg=name)


@pytest.mark.parametrize("engine", ["python", "compiled"])
def test_a_loop_that_reads_two_others(engine):
    """e = s - e^2/4 with s = a + c: e = 2 (sqrt(1 + s) - 1), the root near zero."""
    record = bs.simulate(CHAINED, engine=engine)
    s = record["u"] / 1.5 + record["u"] / 4
    np.testing.assert_allclose(record["e"], 2 * (np.sqrt(1 + s) - 1), rtol=1e-9)


@pytest.mark.parametrize("engine", ["python", "compiled"])
def test_two_loops_of_vectors_and_one_that_drives_a_state(engine):
    """a = u - 2 b, b = a: a = u/3 element by element; x' = c, c = x0 - c: x = 3 + t for c = 1."""
    text = """
format: 1
simulate: {stop: 1, solver: rk4, step: 0.125, algebraic_loops: solve}
blocks:
  u:   {type: Constant, value: [3.0, -6.0]}
  a:   {type: Sum, in: [u, b]}
  b:   {type: Gain, k: -2.0, in: a}
  two: {type: Constant, value: 2.0}
  c:   {type: Sum, in: [two, d]}
  d:   {type: Gain, k: -1.0, in: c}
  x:   {type: Integrator, x: 3.0, in: c}
"""
    record = bs.simulate(text, engine=engine)
    np.testing.assert_allclose(record["a"], np.tile([1.0, -2.0], (len(record.t), 1)), rtol=1e-12)
    np.testing.assert_allclose(record["x"], 3 + record.t, rtol=1e-12)


@pytest.mark.parametrize("engine", ["python", "compiled"])
def test_a_loop_without_a_solution_names_itself_and_not_its_neighbour(engine):
    """d = u + d has none for u > 0; a = u - a/2 has one."""
    text = """
format: 1
simulate: {stop: 1, solver: rk4, step: 0.125, algebraic_loops: solve}
blocks:
  u: {type: Sine, frequency: 1.0, bias: 2.0}
  a: {type: Sum, in: [u, b]}
  b: {type: Gain, k: -0.5, in: a}
  c: {type: Sum, in: [u, d]}
  d: {type: Gain, k: 1.0, in: c}
"""
    with pytest.raises(
        bs.SimulationError, match=r"at t = 0 s the algebraic loop c -> d -> c \(lines 8 and 9\) has no solution"
    ) as caught:
        bs.simulate(text, engine=engine)
    assert caught.value.time == 0 and caught.value.block == "c"


@pytest.mark.parametrize("gain", [1.0, 1 + 1e-12, 1 - 1e-15])
def test_a_gain_of_one_is_no_loop_that_can_be_solved(gain):
    """Not even where rounding makes it a little less: the solution would be 1e12 and more."""
    text = f"""
format: 1
simulate: {{stop: 1, solver: rk4, step: 0.5, algebraic_loops: solve}}
blocks:
  one: {{type: Constant, value: 1}}
  a: {{type: Sum, in: [one, b]}}
  b: {{type: Gain, k: {gain!r}, in: a}}
"""
    with pytest.raises(bs.SimulationError, match="has no solution"):
        bs.simulate(text)


def test_two_unknowns_that_contradict_each_other():
    """a = b + 1 and b = a - 2, as sums of two signals each, have no solution."""
    text = """
format: 1
simulate: {stop: 1, solver: rk4, step: 0.5, algebraic_loops: solve}
blocks:
  one: {type: Constant, value: 1}
  two: {type: Constant, value: 2}
  a: {type: Sum, in: [b, one, half]}
  b: {type: Sum, signs: "+-+", in: [a, two, rest]}
  half: {type: Sum, signs: "+-", in: [a, a]}
  rest: {type: Sum, signs: "+-", in: [b, b]}
"""
    with pytest.raises(bs.SimulationError, match="has no solution"):
        bs.simulate(text)
