"""The block contract: what may be declared, and every mistake refused when the class is made."""

import numpy as np
import pytest

from blocksim.contract.block import (
    Block,
    RecordBlock,
    SampledBlock,
    inport,
    memory,
    normal,
    outport,
    param,
    required,
    state,
    static,
)
from blocksim.contract.vocabulary import sin
from blocksim.errors import BlockDefinitionError, DiagramError


class Lag(Block):
    """T y' + y = k u."""

    k: float = param(1.0, "static gain")
    T: float = required("time constant", "s", above=0)
    u = inport("input")
    y = outport("lagged input")
    x: float = state(0.0, "lagged value")

    @staticmethod
    def output(x):
        return x

    @staticmethod
    def derivative(x, u, k, T):
        return (k * u - x) / T


def test_testing_a_block_is_calling_a_function():
    assert Lag.derivative(x=0, u=1, k=2, T=0.5) == 4
    assert Lag(T=2).T == 2
    assert Lag.T.unit == "s"
    assert repr(Lag(T=2, k=3)) == "Lag(k=3, T=2)"


def test_an_outport_may_not_be_called_like_a_state():
    """A name is one thing: the later declaration replaces the earlier, and the class then contradicts itself."""
    with pytest.raises(BlockDefinitionError, match="declares"):
        make({"x": state(0.0, "s"), "y": outport("o")}, output=lambda x: x)


def make(names, bases=(Block,), doc="Does something.", **functions):
    members = {"__doc__": doc, **names, **{n: staticmethod(f) for n, f in functions.items()}}
    return type("Made", bases, members)


PORTS = {"u": inport("input"), "y": outport("output")}


def foreign(u):
    return open(u)


MISTAKES = [
    ("no docstring", lambda: make(PORTS, doc="", output=lambda u: u), "has no docstring"),
    (
        "declaration without words",
        lambda: make({**PORTS, "k": param(1.0, " ")}, output=lambda u: u),
        "k: a declaration says in words",
    ),
    (
        "default outside its limits",
        lambda: make({**PORTS, "k": param(-1.0, "gain", above=0)}, output=lambda u: u),
        "k: its default: must be above 0",
    ),
    (
        "choice that is none",
        lambda: make({**PORTS, "law": static("tan", "law", choices=("tanh",))}, output=lambda u: u),
        "law: its default 'tan'",
    ),
    ("reserved name", lambda: make({**PORTS, "t": param(1.0, "time")}, output=lambda u: u), "'t' cannot be declared"),
    (
        "undeclared argument",
        lambda: make(PORTS, output=lambda u, k: u),
        "output asks for 'k', which is not declared. Declared for it: u, t, out",
    ),
    ("argument with a default", lambda: make(PORTS, output=lambda u=1: u), "takes plain arguments only"),
    ("star argument", lambda: make(PORTS, output=lambda *u: u), "takes plain arguments only"),
    ("name from outside", lambda: make(PORTS, output=foreign), "uses 'open', which a compiled function cannot see"),
    (
        "misspelt function",
        lambda: make({**PORTS, "x": state(0.0, "s")}, output=lambda x: x, derivate=lambda u: u),
        "Did you mean 'derivative'?",
    ),
    ("output of no port", lambda: make(PORTS, output_z=lambda u: u), "no outport 'z'. It has: y"),
    ("no output", lambda: make(PORTS), "gives no output for: y"),
    ("both ways of output", lambda: make(PORTS, output=lambda u: u, output_y=lambda u: u), "use one way"),
    (
        "state without derivative",
        lambda: make({**PORTS, "x": state(0.0, "s")}, output=lambda x: x),
        "declares the state x but no derivative",
    ),
    (
        "derivative without state",
        lambda: make(PORTS, output=lambda u: u, derivative=lambda u: u),
        "has a derivative but declares no state",
    ),
    (
        "sampled with a state",
        lambda: make({**PORTS, "x": state(0.0, "s")}, (SampledBlock,), output=lambda x: x, derivative=lambda u: u),
        "is sampled and cannot have continuous states",
    ),
    (
        "update without memory",
        lambda: make(PORTS, (SampledBlock,), output=lambda u: u, update=lambda u: u),
        "has 'update' but declares no memory",
    ),
    (
        "update without sample time",
        lambda: make({**PORTS, "m": memory(0.0, "m")}, output=lambda m: m, update=lambda u: u),
        "no sample time",
    ),
    (
        "noise without sample time",
        lambda: make({**PORTS, "w": normal("noise")}, output=lambda u, w: u + w),
        "no sample time to draw them at",
    ),
    (
        "step beside output",
        lambda: make(PORTS, (SampledBlock,), step=lambda u: u, output=lambda u: u),
        "'output' and 'update' cannot stand beside it",
    ),
    (
        "guard without reset",
        lambda: make({**PORTS, "m": memory(0.0, "m")}, output=lambda m: m, guard_hit=lambda u: u),
        "alone: hit",
    ),
    (
        "reset of nothing",
        lambda: make(PORTS, output=lambda u: u, guard_hit=lambda u: u, reset_hit=lambda u: u),
        "neither state nor memory",
    ),
    ("record block without process", lambda: make(PORTS, (RecordBlock,)), "needs a method process"),
]


@pytest.mark.parametrize(("mistake", "words"), [m[1:] for m in MISTAKES], ids=[m[0] for m in MISTAKES])
def test_mistakes_in_a_class_are_refused_when_it_is_made(mistake, words):
    with pytest.raises(BlockDefinitionError, match=r"^block Made: ") as caught:
        mistake()
    assert words in str(caught.value)


@pytest.mark.parametrize(
    ("settings", "words"),
    [
        ({}, "'T' must be given: time constant [s]"),
        ({"T": 0}, "T: must be above 0, found 0"),
        ({"T": "fast"}, "T: found 'fast'. A number is wanted: time constant [s], above 0."),
        ({"T": float("nan")}, "T: nan is not a finite number"),
        ({"T": float("inf")}, "T: inf is not a finite number"),
        ({"T": True}, "T: found True"),
        ({"T": 1, "kk": 2}, "no parameter 'kk'. Lag takes: k, T, x. Did you mean 'k'?"),
        ({"T": 1, "k": None}, "k: found None"),
    ],
)
def test_bad_settings_are_refused_in_words(settings, words):
    with pytest.raises(DiagramError) as caught:
        Lag(**settings)
    assert words in str(caught.value)


def test_all_bad_settings_are_reported_together():
    with pytest.raises(DiagramError) as caught:
        Lag(T=-1, k="x", z=3)
    assert len(caught.value.problems) == 3


def test_a_result_of_the_wrong_length_is_named_when_the_program_is_written():
    import blocksim as bs
    from blocksim.simulation.prepare import experiment

    class Two(Block):
        """Gives one value for two ports."""

        a = outport("first")
        b = outport("second")

        @staticmethod
        def output(t):
            return t

    d = bs.Diagram("d")
    d.add("two", Two())
    with pytest.raises(BlockDefinitionError, match=r"Two.output returns 1 value\(s\) where 2 are wanted \(a, b\)"):
        experiment(d, stop=1)


class Pendulum(Block):
    """q'' = tau - sin q."""

    tau = inport("torque", "N m")
    q: float = state(0.3, "angle", "rad", port=True)
    qd: float = state(0.0, "speed", "rad/s", port=True)
    qdd = outport("acceleration", "rad/s^2")

    @staticmethod
    def output(q, tau):
        return tau - sin(q)

    @staticmethod
    def derivative(q, qd, tau):
        return qd, tau - sin(q)


def test_a_state_may_be_an_output_under_the_same_name():
    import blocksim as bs

    d = bs.Diagram("two pendulums")
    d.add("u", "Constant", value=[0.0, 0.1])
    d.add("p", Pendulum(q=[0.5, 0.2]), inputs="u")
    record = bs.simulate(d, stop=2, engine="python")
    np.testing.assert_array_equal(record["p.q"][0], [0.5, 0.2])
    np.testing.assert_array_equal(record["p.qdd"][:, 1], 0.1 - np.sin(record["p.q"][:, 1]))
    energy = record["p.qd"][:, 0] ** 2 / 2 - np.cos(record["p.q"][:, 0])  # the first swings freely
    np.testing.assert_allclose(energy, -np.cos(0.5), rtol=1e-7)


def test_only_the_output_that_asks_for_an_input_has_feedthrough():
    """q feeds its own torque: no algebraic loop, since q does not ask for tau; with qdd there is one."""
    import blocksim as bs

    d = bs.Diagram("spring")
    d.add("p", Pendulum(), inputs="g")
    d.add("g", "Gain", k=-1, inputs="p.q")
    assert bs.simulate(d, stop=1, engine="python")["p.q"][0] == 0.3
    d.nodes["g"].inputs = "p.qdd"
    with pytest.raises(DiagramError, match=r"algebraic loop: p.qdd -> g.u -> g.y -> p.tau"):
        bs.simulate(d, stop=1)
