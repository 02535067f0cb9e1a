"""Several algebraic loops in one diagram: each is solved on its own, in the right order, and named when it has no solution."""

import numpy as np
import pytest

import blocksim as bs


def two_loops():
    made = bs.Diagram("two loops")
    made.add("u", "Ramp", slope=1.0, start=0.0)
    made.add("a", "Function", ["u", "a_gain"], expression="u1 - 3 * u2")
    made.add("a_gain", "Gain", "a", k=1.0)
    made.add("b", "Function", ["u", "c"], expression="u1 + u2 / 2")
    made.add("c", "Function", ["b"], expression="1 - u / 3")
    return made


@pytest.mark.parametrize("engine", ["python", "compiled"])
def test_two_independent_loops_equal_their_closed_forms(engine):
    # a = u - 3 a: a = u / 4; b = u + c / 2, c = 1 - b / 3: b = 6/7 (u + 1/2).
    record = bs.simulate(two_loops(), stop=1, algebraic_loops="solve", solver="rk4", step=0.1, engine=engine)
    assert record["a"] == pytest.approx(record.t / 4, abs=1e-13)
    assert record["b"] == pytest.approx((record.t + 0.5) * 6 / 7, abs=1e-13)
    assert record["c"] == pytest.approx(1 - record["b"] / 3, abs=1e-13)


def test_a_loop_may_drive_another():
    # y = u / 4 drives z = y - z^3, of which z is the real root.
    made = two_loops()
    made.add("z", "Function", ["a", "z_gain"], expression="u1 - u2 ** 3")
    made.add("z_gain", "Gain", "z", k=1.0)
    record = bs.simulate(made, stop=8, algebraic_loops="solve", solver="rk4", step=0.5, engine="python")
    half = record.t / 8
    root = np.sqrt(half**2 + 1 / 27)
    assert record["z"] == pytest.approx(np.cbrt(half + root) + np.cbrt(half - root), abs=1e-12)


def test_the_loop_without_a_solution_is_the_one_that_is_named():
    # z = -u - z^2 has no real solution above u = 1/4; the others have one everywhere.
    made = two_loops()
    made.add("z", "Function", ["u", "z_gain"], expression="-u1 - u2 ** 2")
    made.add("z_gain", "Gain", "z", k=1.0)
    with pytest.raises(bs.SimulationError, match=r"at t = 0\.\d+ s the algebraic loop .*z.* has no solution") as caught:
        bs.simulate(made, stop=1, every=0.01, algebraic_loops="solve", engine="python")
    assert "'a'" not in str(caught.value) and "a_gain" not in str(caught.value)


@pytest.mark.parametrize("engine", ["python", "compiled"])
@pytest.mark.parametrize(
    "blocks, walk",
    [
        (["a: {type: Gain, k: 1, in: b}", "b: {type: Gain, k: 1, in: a}"], "a -> b -> a"),  # a = a
        (["u: {type: Sine}", "a: {type: Sum, in: [u, c]}", "b: {type: Gain, k: 2, in: a}", "c: {type: Gain, k: 0.5, in: b}"],
         "a -> b -> c -> a"),  # a = u + a, where u = 0 at the start
        (["a: {type: Sum, in: [b, c]}", "b: {type: Gain, k: 0.5, in: a}", "c: {type: Sum, in: [a, d]}",
          "d: {type: Gain, k: -0.5, in: a}"], "a -> b -> c -> d -> a"),  # a = a/2 + a - a/2: two unknowns or one, of any value
    ],
)  # fmt: skip
def test_a_loop_that_any_number_solves_is_told_at_the_start(engine, blocks, walk):
    """Zero reproduces itself in each, and so does every other number: nobody can have meant it."""
    lines = "".join(f"  {block}\n" for block in blocks)
    text = f"format: 1\nsimulate: {{stop: 1, solver: rk4, step: 0.1, algebraic_loops: solve}}\nblocks:\n{lines}"
    with pytest.raises(bs.SimulationError, match=r"or any number is one, where its gain is 1\. Break it") as caught:
        bs.simulate(text, engine=engine)
    assert f"at t = 0 s the algebraic loop {walk} " in str(caught.value)
