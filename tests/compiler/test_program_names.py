"""Names in the generated program never mean two things, whatever blocks, ports and locals are called."""

import numpy as np
import pytest

import blocksim as bs
from blocksim.contract.block import Block, inport, outport, state


class Shadow(Block):
    """y = 2 u + x with x' = u - x: its functions use one local name for different things."""

    u = inport("input")
    x: float = state(0.0, "state")
    y = outport("output")
    b_y = outport("another output, named to collide")

    @staticmethod
    def output_y(u, x):
        y = 2.0 * u
        y = y + x
        return y

    @staticmethod
    def output_b_y(u):
        y = -u
        y = y * 3.0
        return y

    @staticmethod
    def derivative(u, x):
        y = u - x
        y = y + 0.0
        return y


def run(**names):
    d = bs.Diagram("names")
    d.add(names["source"], "Constant", value=1.0)
    d.add(names["first"], Shadow(), inputs=names["source"])
    d.add(names["second"], Shadow(), inputs=f"{names['first']}.y")
    d.add(names["sum"], "Sum", signs="++-", inputs=[f"{names['first']}.y", f"{names['second']}.y", f"{names['first']}.b_y"])
    return bs.simulate(d, stop=1, every=0.25, engine="python")


def test_locals_of_one_function_do_not_reach_the_signals_of_another():
    # x1 = 1 - e^-t, y1 = 2 + x1, b = -3; second: x2' = y1 - x2, y2 = 2 y1 + x2
    plain = run(source="s", first="a", second="c", sum="e")
    t = plain.t
    x1 = 1 - np.exp(-t)
    x2 = 3 * (1 - np.exp(-t)) - t * np.exp(-t)
    np.testing.assert_allclose(plain["a.y"], 2 + x1, atol=1e-8)
    np.testing.assert_allclose(plain["c.y"], 2 * (2 + x1) + x2, atol=1e-7)
    np.testing.assert_allclose(plain["a.b_y"], -3, atol=0)
    np.testing.assert_allclose(plain["e.y"], 2 + x1 + 2 * (2 + x1) + x2 + 3, atol=1e-7)


def test_names_that_look_like_other_names_give_the_same_numbers():
    plain = run(source="s", first="a", second="c", sum="e")
    names = {"source": "a_b_y", "first": "a", "second": "a_b", "sum": "a_"}
    odd = run(**names)
    words = {"source": "for", "first": "sin", "second": "x", "sum": "t"}
    python = run(**words)
    for old, new in (("a.y", "first"), ("c.y", "second"), ("e.y", "sum")):
        np.testing.assert_array_equal(plain[old], odd[f"{names[new]}.y"])
        np.testing.assert_array_equal(plain[old], python[f"{words[new]}.y"])


def law(e, tau, pi):
    """A helper whose arguments are named like constants."""
    return e + 10.0 * tau + 100.0 * pi


class Constants(Block):
    """y = law(1, u, 3)."""

    u = inport("input")
    y = outport("output")

    @staticmethod
    def output(u):
        return law(1.0, u, 3.0)


def test_arguments_of_helpers_may_be_named_like_constants():
    d = bs.Diagram("constants")
    d.add("two", "Constant", value=2.0)
    d.add("law", Constants(), inputs="two")
    assert bs.simulate(d, stop=1, engine="python")["law"][-1] == 321.0


class Decay(Block):
    """x' = -x, x an output too."""

    x: float = state(1.0, "value", port=True)

    @staticmethod
    def derivative(x):
        return -x


def test_a_state_that_is_a_port_needs_a_step_too():
    d = bs.Diagram("decay")
    d.add("decay", Decay())
    with pytest.raises(bs.DiagramError, match="needs a 'step'"):
        bs.simulate(d, stop=1, solver="rk4")
