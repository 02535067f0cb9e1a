"""A plant's equations as flat code: the plant's own rates, exact derivatives, literal zeros, and refusals in words."""

from __future__ import annotations

import ast
import inspect
import itertools
import math
import random

import numpy as np
import pytest
from numba import njit

import blocksim as bs
from blocks.basic.continuous import StateSpace, TransferFunction
from blocks.plants.friction import BoucWen, LuGre, contact_side
from blocks.plants.joints import AsymmetricPositioner, ElectroMechanicalPositioner, GravityJoint
from blocks.plants.scara import ScaraRobot
from blocks.plants.three_mass import ThreeMassRobot
from blocks.plants.two_mass import TwoMassRobot
from blocksim.contract import vocabulary
from blocksim.contract.block import Block, inport, memory, outport, param, state, static
from blocksim.contract.declarations import Fixed, Inport
from blocksim.contract.definition import arguments
from blocksim.contract.expression import function
from blocksim.contract.vocabulary import FUNCTIONS, LIBM, PRELUDE, atan2, exp, hypot, maximum, sign, sin, sqrt
from blocksim.errors import BlockDefinitionError, DiagramError
from blocksim.tracing.derivative_rules import differentiate
from blocksim.tracing.equations import OUTPUTS, equations
from blocksim.tracing.graph import Graph
from blocksim.tracing.straight_line import function_text
from blocksim.tracing.tracer import Tracer

LONG = np.longdouble
GAP, HYSTERESIS = {"q": 1e-3}, {"alpha": 1e3, "A": 1e7}
STRIBECK = {"Fs": 1.1, "vs": 3.0}
SMALL = [
    (kind, {"friction": f})
    for kind in (GravityJoint, ElectroMechanicalPositioner, ScaraRobot, AsymmetricPositioner)
    for f in ("tanh", "sign")
]
LARGE = [
    (kind, {"friction": f, "backlash": b, **STRIBECK, **gap, **bent})
    for kind in (TwoMassRobot, ThreeMassRobot)
    for f, b, gap, bent in itertools.product(
        ("tanh", "sign", "stribeck"), ("thesis", "elasto", "elasto2"), ({}, GAP), ({}, HYSTERESIS)
    )
    if gap or b == "thesis"
]
LAWS = [
    (LuGre, {"sigma0": 10.0, "sigma1": 0.3, "Fc": 1.0, "Fs": 1.5, "vs": 0.7}),
    (BoucWen, {"beta": 2.0, "gamma": 1.0, "n": 1.7}),
]
COMPILED = [SMALL[0], SMALL[5], LARGE[0], LARGE[5], LARGE[14], LAWS[1]]


def title(case):
    kind, settings = case
    return f"{kind.__name__}-" + "-".join(str(v) for v in settings.values())


def points(eq, count=6, seed=1):
    """States, inputs and parameters at random, away from rest; the two angles of a gear a little apart."""
    draw = np.random.default_rng(seed)
    for _ in range(count):
        x = draw.uniform(0.2, 1.5, len(eq.states)) * draw.choice([-1.0, 1.0], len(eq.states))
        u = draw.uniform(-2.0, 2.0, len(eq.inputs))
        p = np.array(eq.values) * draw.uniform(0.8, 1.2, len(eq.values))
        far = "phi_g" if "phi_g" in eq.states else "phi_a"
        if far in eq.states:
            ratio = p[eq.parameters.index("r")]
            x[eq.states.index(far)] = ratio * x[eq.states.index("phi_m")] + draw.uniform(-2e-3, 2e-3)
            x[eq.states.index("w_" + far[4:])] *= 0.01
        yield x.tolist(), u.tolist(), p.tolist()


def long_version(text):
    """The text as a function of long doubles, for differences that lose nothing."""
    numpy_names = {"asin": "arcsin", "acos": "arccos", "atan": "arctan", "atan2": "arctan2", "power": "power", "hypot": "hypot"}
    space = {name: getattr(vocabulary, name) for name in vocabulary.__all__}
    space |= {name: getattr(np, numpy_names.get(name, name)) for name in (*LIBM, "power", "hypot")}
    exec(text, space)
    return space[ast.parse(text).body[0].name]


def slope(f, values, k):
    """df/dvalues[k] by central differences of sixth order."""
    h = LONG(1e-5) * max(abs(values[k]), LONG(1e-3))
    total = 0
    for weight, steps in ((45, 1), (-9, 2), (1, 3)):
        for way in (1, -1):
            moved = list(values)
            moved[k] = moved[k] + way * steps * h
            total = total + way * weight * np.array(f(moved))
    return total / (60 * h)


def check_slopes(eq, ports=(), **more):
    """All derivatives against differences of the values, in long doubles."""
    every = eq.function("every", OUTPUTS, ports=ports)
    where = eq.layout(OUTPUTS, ports=ports)
    plain = long_version(eq.text("plain", ("f", "y"), ports=ports))
    n, m = len(eq.states), len(eq.inputs)
    for x, u, p in points(eq, **more):
        found = every(x, u, p)
        whole = [LONG(v) for v in (*x, *u, *p)]
        columns = [slope(lambda v: plain(v[:n], v[n : n + m], v[n + m :]), whole, k) for k in range(len(whole))]
        if "q" in eq.parameters and "q" not in eq.states and p[eq.parameters.index("q")] == 0.0:
            columns[n + m + eq.parameters.index("q")][:] = 0.0  # a gap up to 1e-10 counts as none, a wider one is a jump
        numbers = np.array(columns, dtype=float).T
        for letter, rows in (("f", numbers[:n]), ("y", numbers[n:])):
            parts = {"x": rows[:, :n], "u": rows[:, n : n + m], "p": rows[:, n + m :]}
            for variable, wanted in parts.items():
                start, shape = where[f"d{letter}d{variable}"]
                given = np.reshape(found[start : start + shape[0] * shape[1]], shape)
                scale = np.abs(rows).max(initial=1.0) * 1e-12
                np.testing.assert_allclose(given, wanted, rtol=1e-6, atol=scale, err_msg=f"d{letter}d{variable}")


def own_rates(kind, settings, eq, x, u, p):
    """The derivative as the plant itself computes it, its modes as they are in motion."""
    block = kind(**settings)
    variant = block.variant(1)
    values = {n: d.default for n, d in variant.of(Fixed, Inport).items()}  # constants of the class; inputs that are left open
    values |= {**block.settings, **dict(zip(eq.parameters, p, strict=True))}
    for names, numbers in ((eq.states, x), (eq.inputs, u)):
        for head, group in itertools.groupby(zip(names, numbers, strict=True), key=lambda pair: pair[0].partition("[")[0]):
            found = list(group)
            values[head] = tuple(v for _, v in found) if "[" in found[0][0] else found[0][1]
    if "mode" in variant.declared:
        values["mode"] = sign(values.get("w_m", values.get("qd")))
    if "mode1" in variant.declared:
        values |= {"mode1": sign(values["qd"][0]), "mode2": sign(values["qd"][1])}
    if "side" in variant.declared:
        far = values["phi_g"] if "phi_g" in values else values["phi_a"]
        values["side"] = contact_side(values["r"] * values["phi_m"] - far, values["q"])
    law = variant.functions["derivative"]
    return law(**{a: values[a] for a in arguments(law)})


@pytest.mark.parametrize("case", SMALL + LARGE + LAWS, ids=title)
def test_rates_are_the_plants_own_bit_for_bit(case):
    kind, settings = case
    eq = equations(kind, settings)
    f = eq.function("f", ("f",))
    for x, u, p in points(eq, 20):
        wanted = own_rates(kind, settings, eq, x, u, p)
        assert f(x, u, p) == (wanted if isinstance(wanted, tuple) else (wanted,))


@pytest.mark.parametrize("case", SMALL + LARGE + LAWS, ids=title)
def test_derivatives_are_exact(case):
    kind, settings = case
    eq = equations(kind, settings)
    check_slopes(eq, ports=tuple(eq.ports))


@pytest.mark.parametrize("case", COMPILED, ids=title)
def test_compiled_text_gives_what_python_gives(case):
    kind, settings = case
    eq = equations(kind, settings)
    text = eq.text("every", ("f", "dfdx", "dfdp", "dfdu"))
    plain, fast = eq.function("every", ("f", "dfdx", "dfdp", "dfdu")), compiled(text, "every")
    for x, u, p in points(eq, 10):
        np.testing.assert_allclose(fast(np.array(x), np.array(u), np.array(p)), plain(x, u, p), rtol=1e-15, atol=0)


def compiled(text, name):
    space = {word: getattr(math, word) for word in LIBM}
    space["libm_pow"] = math.pow
    for word in PRELUDE:
        exec(inspect.getsource(getattr(vocabulary, word)), space)
    for word in PRELUDE:
        space[word] = njit(error_model="numpy")(space[word])
    exec(text, space)
    return njit(error_model="numpy")(space[name])


def test_names_are_in_declared_order():
    eq = equations(ScaraRobot, {})
    assert eq.states == ("q[0]", "q[1]", "qd[0]", "qd[1]")
    assert eq.inputs == ("tau[0]", "tau[1]")
    assert eq.parameters == ("ZZR1", "Fv1", "Fs1", "ZZ2", "LMX2", "LMY2", "Fv2", "Fs2", "beta")
    assert equations(ScaraRobot, {"friction": "sign"}).parameters == eq.parameters[:-1]
    assert eq.values == tuple(ScaraRobot().settings[n] for n in eq.parameters)
    assert eq.ports == {"q": 2, "qd": 2, "qdd": 2}


def test_what_is_zero_by_structure_is_a_literal_zero():
    eq = equations(ScaraRobot, {"friction": "sign"})
    outputs = ("f", "dfdx", "dfdp", "dfdu")
    text = eq.text("scara", outputs)
    result = ast.parse(text).body[0].body[-1].value.elts
    start, (rows, columns) = eq.layout(outputs)["dfdx"]
    grid = [[ast.unparse(e) for e in result[start + r * columns : start + (r + 1) * columns]] for r in range(rows)]
    assert grid[0] == ["0.0", "0.0", "1.0", "0.0"] and grid[1] == ["0.0", "0.0", "0.0", "1.0"]
    assert grid[2][0] == grid[3][0] == "0.0" and "0.0" not in grid[2][1:] + grid[3][1:]
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.BinOp):
            assert not any(isinstance(n, ast.Constant) and n.value == 0.0 for n in (node.left, node.right)), ast.unparse(node)


def test_nothing_is_computed_twice_or_for_nothing():
    text = equations(ScaraRobot, {}).text("scara", ("f", "dfdx", "dfdp", "dfdu"))
    assert text.count("sin(") == text.count("cos(") == 1 and text.count("tanh(") == 2
    assert "tanh" not in equations(GravityJoint, {}).text("rest", ("dfdu",))


def test_a_text_does_not_depend_on_earlier_ones():
    eq, again = equations(TwoMassRobot, GAP), equations(TwoMassRobot, GAP)
    eq.text("other", ("dfdp", "dfdu"))
    assert eq.text("same", ("f", "dfdx")) == again.text("same", ("f", "dfdx"))


def test_layout_says_what_is_where():
    eq = equations(GravityJoint, {})
    asked = (("dfdp", "f", "y", "dydp"), ("Fc", "J"), ("qdd", "q"))
    where = eq.layout(*asked)
    assert where == {"dfdp": (0, (2, 2)), "f": (4, (2,)), "y": (6, (2,)), "dydp": (8, (2, 2))}
    found = eq.function("joint", *asked)((0.3, 0.5), (0.1,), eq.values)
    assert len(found) == 12 and found[5] == found[6] and found[7] == 0.3 and found[2:4] == found[8:10]


# ---- rules -----------------------------------------------------------------------------------------------------------

ARGUMENTS = {
    "acos": [(0.3,), (-0.8,)],
    "asin": [(0.3,), (-0.8,)],
    "atan2": [(0.3, 0.7), (-0.4, -1.2), (0.5, -2.0)],
    "copysign": [(0.3, -0.7), (-0.4, -1.2), (-0.5, 2.0)],
    "fmod": [(5.3, 1.7), (-5.3, 1.7), (5.3, -1.7)],
    "hypot": [(0.3, -0.7), (3.0, 4.0)],
    "log": [(0.3,), (7.0,)],
    "log10": [(0.3,), (7.0,)],
    "log1p": [(-0.3,), (7.0,)],
    "maximum": [(0.3, 0.7), (1.3, 0.7)],
    "minimum": [(0.3, 0.7), (1.3, 0.7)],
    "power": [(0.3, 0.7), (1.3, -2.7)],
    "sqrt": [(0.3,), (7.0,)],
    "%": [(5.3, 1.7), (-5.3, 1.7)],
    "//": [(5.3, 1.7)],
    **{op: [(0.3, 0.7), (-1.3, 0.7)] for op in "+-*/"},
}
SCALAR_WORDS = [w for w in FUNCTIONS if w != "power_int"]


@pytest.mark.parametrize("word", [*SCALAR_WORDS, "negative", "%", "//", *"+-*/"])
def test_every_word_of_the_vocabulary_has_its_rule(word):
    for place in ARGUMENTS.get(word, [(0.3,), (-1.4,)]):
        check_rule(lambda g, *nodes: g.apply(word, *nodes), place)


@pytest.mark.parametrize("count", [-3, -1, 0, 1, 2, 3, 4, 5, 9])
def test_whole_powers_have_their_rule(count):
    for place in ((0.7,), (-1.4,)):
        check_rule(lambda g, a: g.call("power_int", a, count), place)


def check_rule(build, place):
    graph = Graph()
    variables = [graph.read("state", f"x{k}") for k in range(len(place))]
    result = build(graph, *variables)
    partials = differentiate(graph, [result], variables)[result]
    reads = {v: f"x[{k}]" for k, v in enumerate(variables)}
    results = [result, *(partials.get(v, graph.zero) for v in variables)]
    text = function_text(graph, "rule", ["x"], reads, results)
    found = function(text)(place)[1:]
    f = long_version(function_text(graph, "value", ["x"], reads, [result]))
    wanted = [float(slope(f, [LONG(v) for v in place], k)[0]) for k in range(len(place))]
    np.testing.assert_allclose(found, wanted, rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize(
    "word, place",
    [("abs", (0.0,)), ("hypot", (0.0, 0.0)), ("sqrt", (0.0,)), ("atan2", (0.0, 0.0)), ("asin", (1.0,)), ("power", (0.0, 0.5))],
)
def test_a_derivative_that_does_not_exist_is_zero(word, place):
    graph = Graph()
    variables = [graph.read("state", f"x{k}") for k in range(len(place))]
    result = graph.apply(word, *variables)
    partials = differentiate(graph, [result], variables)[result]
    text = function_text(graph, "rule", ["x"], {v: f"x[{k}]" for k, v in enumerate(variables)}, [partials[v] for v in variables])
    assert set(function(text)(place)) == {0.0}


# ---- blocks of one's own ---------------------------------------------------------------------------------------------

LIMIT = 0.6


def soft(a, k):
    """Two early returns and one in an else."""
    if a > LIMIT:
        return LIMIT + (a - LIMIT) / (1.0 + k * (a - LIMIT))
    elif a < -LIMIT:
        return -LIMIT
    else:
        if k > 100.0:
            return 0.0
    return a


def both(a, b):
    return a * b, (a + b, a - b)


class Chain(Block):
    """A chain of n masses with a soft spring between neighbours, branches of all kinds."""

    k: float = param(2.0, "stiffness")
    d: float = param(0.3, "damping")
    n: int = static(3, "masses", kind=int)
    closed: bool = static(False, "the last one is held")
    u = inport("force on the first", size=2)
    x = state(0.0, "places", size="n", port=True)
    v = state(0.0, "speeds", size="n")
    y = outport("first two places", size=2)

    @staticmethod
    def output(x, v):
        return x[0], hypot(x[1], v[1])

    @staticmethod
    def derivative(x, v, u, k, d, n, closed, out):
        for i in range(n):
            out[i] = v[i]
            force = 0.0
            if i > 0:
                force = force + soft(x[i - 1] - x[i], k)
            if i < n - 1:
                force -= soft(x[i] - x[i + 1], k)
            elif closed:
                force -= k * x[i] ** 3
            if v[i] > 0.0:
                drag = d * v[i] ** 2
                sense = 1.0
            else:
                drag = d * abs(v[i]) ** 1.5
                sense = -1.0
            total, (plus, minus) = both(force, u[i % 2])
            out[n + i] = force + (u[i] if i < 2 else 0.0) - sense * drag + 0.1 * total + min(plus, minus, k)


def test_a_block_with_loops_branches_and_early_returns():
    for closed in (False, True):
        settings = {"n": 4, "closed": closed}
        eq = equations(Chain, settings)
        assert eq.states[:2] == ("x[0]", "x[1]") and len(eq.states) == 8
        f = eq.function("chain", ("f",))
        for x, u, p in points(eq, 30, seed=3):
            out = [0.0] * 8
            law = Chain.functions["derivative"]
            law(tuple(x[:4]), tuple(x[4:]), tuple(u), *p, 4, closed, out)
            np.testing.assert_allclose(f(x, u, p), out, rtol=1e-14)
        check_slopes(eq, ports=("y", "x"), count=12)


class Guarded(Block):
    """A law that divides only where it may, twice, under different tests."""

    a: float = param(1.0, "gain")
    u = inport("input")
    s = state(0.0, "state", port=True)
    r = state(0.0, "other state")

    @staticmethod
    def derivative(s, r, u, a):
        smooth = sin(s) / s if s != 0.0 else 1.0
        inverse = 1.0 / s if s > 0.0 and r > 0.0 else 0.0
        if (s > 0.0 and sqrt(s) > 0.1) or u > 5.0:
            inverse = inverse + a * r
        return smooth * a + u, inverse - r


def test_what_a_branch_guards_stays_within_it():
    eq = equations(Guarded, {})
    every = eq.function("guarded", ("f", "dfdx", "dfdp", "dfdu"))
    assert every((0.0, 1.0), (0.5,), (2.0,))[:2] == (2.5, -1.0)
    assert every((-1.0, 1.0), (6.0,), (2.0,))[1] == 1.0
    check_slopes(eq, ports=("s",), count=20)


class Clocked(Block):
    """A rate that depends on the time."""

    u = inport("input")
    x = state(0.0, "state", port=True)

    @staticmethod
    def derivative(x, u, t):
        return u * exp(-t) - atan2(x, 2.0)


def test_time_is_a_fourth_argument():
    eq = equations(Clocked, {})
    assert eq.timed and not equations(GravityJoint, {}).timed
    f = eq.function("clocked", ("f", "dfdu"))
    assert arguments(f) == ("x", "u", "p", "t")
    assert f((0.0,), (2.0,), (), 0.0) == (2.0, 1.0)


joint_rates = equations(GravityJoint, {"friction": "tanh"}).function("joint_rates", ("f", "dfdx"))


class Copied(Block):
    """A joint and its sensitivity to the initial angle, by the generated function."""

    J: float = param(1.9e-4, "inertia")
    tau = inport("torque")
    q: float = state(0.0, "angle", port=True)
    qd: float = state(0.0, "speed", port=True)
    s: float = state(1.0, "angle's sensitivity", port=True)
    sd: float = state(0.0, "speed's sensitivity", port=True)

    @staticmethod
    def derivative(q, qd, s, sd, tau, J):
        r = joint_rates((q, qd), (tau,), (J, 2e-4, 0.02, 0.0133, 15.0, 0.0, 9.81, 0.0, 10.0))
        return r[0], r[1], r[2] * s + r[3] * sd, r[4] * s + r[5] * sd


def test_a_block_may_call_the_generated_function():
    diagram = bs.Diagram()
    diagram.add("torque", bs.library()["Sine"](amplitude=0.02, frequency=0.5, bias=0.13))
    diagram.add("joint", GravityJoint(), inputs="torque")
    diagram.add("copy", Copied(), inputs="torque")
    record = bs.simulate(diagram, stop=1.0, solver="rk4", step=1e-3)
    np.testing.assert_allclose(record["copy.q"], record["joint.q"], rtol=1e-13, atol=1e-15)
    moved = bs.simulate(diagram, stop=1.0, solver="rk4", step=1e-3, params={"joint.q": 1e-5})
    wanted = (moved["joint.q"][-1] - record["joint.q"][-1]) / 1e-5
    assert record["copy.s"][-1] == pytest.approx(wanted, rel=1e-3)


# ---- refusals --------------------------------------------------------------------------------------------------------


class Moody(Block):
    """A block whose rate depends on a memory, without equations of its own."""

    u = inport("input")
    x = state(0.0, "state", port=True)
    mood = memory(0.0, "mood")

    @staticmethod
    def derivative(x, u, mood):
        return u - mood * x

    @staticmethod
    def guard_turn(x):
        return x

    @staticmethod
    def reset_turn(mood):
        return {"mood": 1.0 - mood}


class Endless(Block):
    """A block with a loop whose length nobody knows."""

    k: float = param(1.0, "turns")
    u = inport("input")
    x = state(0.0, "state", port=True)

    @staticmethod
    def derivative(x, u, k):
        total = 0.0
        for i in range(int(k)):
            total = total + i * x
        return total


def test_refusals_say_which_plant_and_what_to_do():
    with pytest.raises(DiagramError, match=r"Moody depends on its memory 'mood'.* static function equations\(...\)"):
        equations(Moody, {})
    with pytest.raises(DiagramError, match=r"Endless.derivative has the loop over .* known only at the run"):
        equations(Endless, {})
    with pytest.raises(DiagramError, match="TransferFunction depends on 'a', which is a table"):
        equations(TransferFunction, {"num": [1.0], "den": [1.0, 1.0]})
    with pytest.raises(DiagramError, match="StateSpace depends on 'A', which is an array"):
        equations(StateSpace, {"A": [[-1.0]], "B": [[1.0]], "C": [[1.0]]})
    with pytest.raises(DiagramError, match="Gain has no continuous states"):
        equations(bs.library()["Gain"], {})
    with pytest.raises(DiagramError, match="GravityJoint has several numbers for 'J'"):
        equations(GravityJoint, {"J": [1e-4, 2e-4]})


def test_requests_are_checked():
    eq = equations(GravityJoint, {"friction": "sign"})
    with pytest.raises(DiagramError, match="do not depend on a parameter 'beta'"):
        eq.text("joint", ("f", "dfdp"), ("J", "beta"))
    with pytest.raises(DiagramError, match="no output 'dfdz'"):
        eq.text("joint", ("dfdz",))
    with pytest.raises(DiagramError, match=r"'qdd' cannot be measured because GravityJoint.*memory 'mode'.*What can be: q, qd"):
        eq.text("joint", ("y",), ports=("qdd",))
    with pytest.raises(DiagramError, match="'qq' cannot be measured: GravityJoint has no such outport"):
        eq.text("joint", ("y",), ports=("qq",))


def test_equations_are_part_of_the_contract():
    with pytest.raises(BlockDefinitionError, match="equations asks for the memory 'mode'"):

        class Wrong(GravityJoint):
            """Asks for a memory where none is to be had."""

            mode: float = memory(0.0, "mode")

            @staticmethod
            def equations(qd, mode):
                return qd, mode


def test_maximum_follows_its_branch():
    graph = Graph()
    a = graph.read("state", "a")
    node = graph.apply("maximum", a, graph.constant(0.0))
    partial = differentiate(graph, [node], [a])[node][a]
    text = function_text(graph, "slope", ["x"], {a: "x[0]"}, [partial])
    assert [function(text)((v,))[0] for v in (-1.0, 1.0)] == [0.0, 1.0] and maximum(-1.0, 0.0) == 0.0


# ---- any law ---------------------------------------------------------------------------------------------------------


def random_term(draw, names, depth=0):
    """A random expression; whatever could fail is guarded by a branch."""
    kind = draw.random() if depth < 3 else 0.0
    inner = lambda: random_term(draw, names, depth + 1)
    name = draw.choice(names)
    if kind < 0.3:
        return name
    if kind < 0.6:
        return f"({inner()} {draw.choice('+-*')} {inner()})"
    if kind < 0.8:
        return f"{draw.choice(['sin', 'tanh', 'abs', 'atan'])}({inner()})"
    if kind < 0.87:
        return f"({inner()} / {name} if abs({name}) > 0.3 else {inner()})"
    if kind < 0.94:
        return f"(sqrt({name}) if {name} > 0.2 and 1.0 / {name} > 0.4 else {inner()})"
    return f"maximum({inner()}, {inner()})"


def random_body(draw, names, indent, depth):
    """Random statements: assignments, branches that set a name, branches that return."""
    lines, names = [], list(names)
    for _ in range(draw.randint(1, 4)):
        kind, name = draw.random() if depth < 2 else 0.0, draw.choice("fghmn")
        test = f"{indent}if {random_term(draw, names, 2)} {draw.choice(['<', '>='])} {random_term(draw, names, 2)}:"
        if kind < 0.5:
            lines.append(f"{indent}{name} = {random_term(draw, names)}")
        elif kind < 0.75:
            for head in (test, f"{indent}else:"):
                inside, _ = random_body(draw, names, indent + "    ", depth + 1)
                lines += [head, *inside, f"{indent}    {name} = {random_term(draw, names)}"]
        else:
            inside, known = random_body(draw, names, indent + "    ", depth + 1)
            lines += [test, *inside, f"{indent}    return {random_term(draw, known)}, {random_term(draw, known)}"]
            continue
        names.append(name)
    return lines, names


@pytest.mark.parametrize("seed", range(30))
def test_random_laws_keep_their_values_guards_and_slopes(seed):
    draw = random.Random(seed)
    lines, names = random_body(draw, ["a", "b", "c"], "    ", 0)
    lines = ["def law(a, b, c):", *lines, f"    return {random_term(draw, names)}, {random_term(draw, names)}", ""]
    law = function("\n".join(lines))
    graph = Graph()
    variables = [graph.read("state", name) for name in "abc"]
    rates = Tracer(graph).run(law, dict(zip("abc", variables, strict=True)))
    partials = differentiate(graph, rates, variables)
    results = [*rates, *(partials[n].get(v, graph.zero) for n in rates for v in variables)]
    made = function(function_text(graph, "made", ["x"], {v: f"x[{k}]" for k, v in enumerate(variables)}, results))
    exact = long_version("\n".join(lines))
    for _ in range(20):
        x = [draw.choice([0.0, draw.uniform(-2.0, 2.0), draw.uniform(-2.0, 2.0)]) for _ in range(3)]
        found = made(x)
        assert found[:2] == law(*x)
        if 0.0 in x:
            continue  # on many a kink
        for k in range(3):
            wanted = slope(lambda v: exact(*v), [LONG(v) for v in x], k).astype(float)
            np.testing.assert_allclose(found[2 + k :: 3], wanted, rtol=1e-6, atol=1e-9)
