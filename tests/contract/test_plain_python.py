"""What a block's function says in plain Python is what it does in a diagram, or its class is refused; never something else."""

from __future__ import annotations

import importlib
import math
from math import inf, nan

import numpy as np
import pytest

import blocksim as bs
from blocksim.contract.block import Block, inport, outport, param, state
from blocksim.contract.vocabulary import maximum, minimum, sin
from blocksim.errors import BlockDefinitionError

NO_LIMIT, NOTHING, BELOW = math.inf, math.nan, -math.inf
GAIN = 0.1


def scaled(value, gain, offset):
    return gain * value + offset


def with_default(value, gain=3.0):
    return gain * value


def difference(first, second):
    return first - second


def limited(value, limit):
    a = b = minimum(value, limit)
    return a + b if b > 0.0 else a


def chosen(value):
    if value > 0.0:
        size = value
        side = 1.0
    else:
        size = -value
        side = -1.0
    return size * side + size


# Constants of the module that are no ordinary numbers.


def not_above_infinity(u, k):
    return minimum(u, NO_LIMIT) * k


def not_below_minus_infinity(u, k):
    return maximum(u, BELOW) + (k if u > -inf else 0.0)


def everything_is_less_than_infinity(u, k):
    return k * u if abs(u) < inf else 0.0


def nothing_equals_nan(u, k):
    return k * u if NOTHING == NOTHING else -u


def nan_differs_from_itself(u, k):
    return k * u if nan != nan else -u


def nan_comes_out(u, k):
    return NOTHING if u < 0.0 else k * u


def infinity_comes_out(u, k):
    return BELOW if u < 0.0 else NO_LIMIT * k


def infinity_is_computed_with(u, k):
    return k * u / NO_LIMIT + GAIN


def infinity_of_the_module_math(u, k):
    return minimum(k * u, math.inf) if u == u else math.nan


# Calls of functions of the module.


def keywords(u, k):
    return scaled(u, gain=k, offset=0.5)


def keywords_in_another_order(u, k):
    return scaled(offset=u, gain=3.0, value=k)


def starred(u, k):
    pair = (k, u)
    return difference(*pair)


def starred_in_place(u, k):
    return scaled(*(u, k), 0.25)


def default_given(u, k):
    return with_default(u, gain=k)


def a_call_in_a_call(u, k):
    return difference(scaled(u, k, difference(k, u)), difference(u, k))


def a_helper_with_locals(u, k):
    return limited(u, k) + limited(-u, 0.5 * k) + chosen(u)


# Assignments.


def two_at_once(u, k):
    a = b = k * u
    a = a + 1.0
    return a * 10.0 + b


def three_at_once(u, k):
    a = b = c = sin(u) + k
    b = b + a
    return a + 10.0 * b + 100.0 * c


def a_pair_at_once(u, k):
    a = (b, c) = (u, k)
    return a[0] + 10.0 * b + 100.0 * c


def swapped(u, k):
    a, b = u, k
    a, b = b, a
    return a - 2.0 * b


def each_of_itself(u, k):
    a = b = u
    a, b = a + b, a - k
    return a * b


# Locals that are born in branches.


def born_in_both(u, k):
    if u > 0.0:
        gain = k
    else:
        gain = -2.0 * k
    return gain * u


def born_in_both_of_different_things(u, k):
    if u > 0.0:
        a = u
        b = k
    else:
        b = a = -u
    return a + 10.0 * b


def born_in_three(u, k):
    if u > 0.5:
        level = 3.0
    elif u > -0.5:
        level = k * u
    else:
        level = -1.0
    return level + u


def born_in_nested_ones(u, k):
    if u > 0.0:
        if u > 0.5:
            a = 1.0
        else:
            a = 2.0
        b = a + k
    else:
        a = u
        b = a * k
    return a + 10.0 * b


def changed_in_one(u, k):
    a = u
    if u > 0.0:
        a = a * k
    a = a + 1.0
    return a


def born_and_changed(u, k):
    if u > 0.0:
        a = u
        a = a * k
    else:
        a = k
        a = a - u
        a = a * a
    return a


FUNCTIONS = [
    not_above_infinity, not_below_minus_infinity, everything_is_less_than_infinity, nothing_equals_nan, nan_differs_from_itself,
    nan_comes_out, infinity_comes_out, infinity_is_computed_with, infinity_of_the_module_math,
    keywords, keywords_in_another_order, starred, starred_in_place, default_given, a_call_in_a_call,
    a_helper_with_locals, two_at_once, three_at_once, a_pair_at_once, swapped, each_of_itself,
    born_in_both, born_in_both_of_different_things, born_in_three, born_in_nested_ones, changed_in_one, born_and_changed,
]  # fmt: skip
#: What may be refused as well, in words, in place of meaning what it means.
REFUSABLE = [keywords, keywords_in_another_order, starred, starred_in_place, default_given, a_pair_at_once]


def block(function) -> type[Block]:
    members = {"k": param(1.0, "a number"), "u": inport("input"), "y": outport("output"), "output": staticmethod(function)}
    return type("Case", (Block,), {"__doc__": "y = f(u, k).", **members})


def check(functions, engine: str) -> None:
    """A diagram of these functions gives at each sample what calling them gives."""
    diagram = bs.Diagram()
    diagram.add("wave", "Sine", amplitude=1.0, frequency=1.0)
    for function in functions:
        diagram.add(function.__name__, block(function)(k=2.5), inputs="wave")
    record = bs.simulate(diagram, stop=1, solver="rk4", step=1 / 16, engine=engine)
    assert len(record.t) == 17
    for function in functions:
        expected = [function(float(u), 2.5) for u in record["wave"]]
        np.testing.assert_array_equal(record[function.__name__], expected, err_msg=function.__name__)


@pytest.mark.parametrize("function", FUNCTIONS, ids=lambda f: f.__name__)
def test_it_means_what_it_means_in_python(function):
    try:
        check([function], "python")
    except BlockDefinitionError as error:
        assert function in REFUSABLE, error
        assert function.__name__ in str(error) or "output" in str(error)  # it says where


def test_it_means_the_same_compiled():
    """All in one program, which is compiled once; a function that may be refused is left to the test before."""
    check([function for function in FUNCTIONS if function not in REFUSABLE], "compiled")


@pytest.mark.parametrize("engine", ["python", "compiled"])
def test_locals_born_in_both_branches_of_a_derivative(engine):
    """x' = -a x with a = 1 before 1 s, 3 after: exp(-1 - 3 (t - 1))."""
    diagram = bs.Diagram()
    diagram.add("decay", TwoRates())
    record = bs.simulate(diagram, stop=2, solver="dopri5", rtol=1e-10, atol=1e-12, every=0.5, engine=engine)
    t = record.t
    assert record["decay.x"] == pytest.approx(np.where(t < 1, np.exp(-t), np.exp(-1 - 3 * (t - 1))), rel=1e-6)


class TwoRates(Block):
    """x' = -a x, a = 1 before 1 s and 3 after."""

    x: float = state(1.0, "what is left", port=True)

    @staticmethod
    def derivative(t, x):
        if t < 1.0:
            rate = 1.0
            lost = rate * x
        else:
            rate = 3.0
            lost = x * rate
        return -lost


OWN_WORDS = '''
from blocksim import Block, inport, outport

inf, nan = 0.5, 0.25


class Own(Block):
    """y = min(u, inf) + nan, where both are numbers of this module."""

    u = inport("input")
    y = outport("output")

    @staticmethod
    def output(u):
        return (u if u < inf else inf) + nan
'''


@pytest.mark.parametrize("engine", ["python", "compiled"])
def test_a_module_may_call_its_own_numbers_inf_and_nan(tmp_path, monkeypatch, engine):
    (tmp_path / "own_words.py").write_text(OWN_WORDS)
    monkeypatch.syspath_prepend(str(tmp_path))
    own = importlib.import_module("own_words").Own
    diagram = bs.Diagram()
    diagram.add("wave", "Sine", amplitude=1.0, frequency=1.0)
    diagram.add("own", own(), inputs="wave")
    record = bs.simulate(diagram, stop=1, solver="rk4", step=1 / 16, engine=engine)
    assert list(record["own.y"]) == [own.output(float(u)) for u in record["wave"]]
