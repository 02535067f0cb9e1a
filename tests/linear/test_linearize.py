"""linearize() and operating_point() against closed forms, scipy.signal and python-control."""

import sys
from pathlib import Path

import numpy as np
import pytest
from scipy import signal

import blocksim as bs
from blocksim.contract.block import Block, inport, outport, param, state
from blocksim.contract.vocabulary import sin
from blocksim.errors import BlocksimError, DiagramError
from blocksim.linear.differences import jacobian
from blocksim.linear.linearize import bode

PI = "basics/pi_loop.yaml"
MOTOR = Path(__file__).parents[2] / "diagrams" / "basics" / "parts" / "motor.yaml"
W = np.geomspace(0.01, 100, 40)


class Joint(Block):
    """J q'' = tau - Fv q' - g sin q: a joint under gravity."""

    J: float = param(0.5, "inertia", "kg m^2", above=0)
    Fv: float = param(0.2, "viscous friction", "N m s/rad")
    g: float = param(3.0, "gravity torque at the horizontal", "N m")
    tau = inport("torque", "N m")
    angle = outport("angle", "rad")
    speed = outport("speed", "rad/s")
    q: float = state(0.0, "angle", "rad")
    qd: float = state(0.0, "speed", "rad/s")

    @staticmethod
    def output(q, qd):
        return q, qd

    @staticmethod
    def derivative(q, qd, tau, J, Fv, g):
        return qd, (tau - Fv * qd - g * sin(q)) / J


def joint(value=0.0, **settings):
    d = bs.Diagram("joint")
    d.add("u", "Constant", value=value)
    d.add("joint", Joint(**settings), inputs="u")
    return d


def feedback(plant, controller):
    """Unit feedback of two transfer functions given as (num, den): Sum -> controller -> plant -> y."""
    d = bs.Diagram("feedback")
    d.add("r", "Constant", value=0.0)
    d.add("e", "Sum", signs="+-", inputs=["r", "plant"])
    d.add("c", "TransferFunction", num=list(controller[0]), den=list(controller[1]), inputs="e")
    d.add("plant", "TransferFunction", num=list(plant[0]), den=list(plant[1]), inputs="c")
    return d


def stable(rng, order, excess):
    """A random stable transfer function with distinct poles, `excess` more poles than zeros."""
    den = np.poly(-rng.uniform(0.3, 4.0, order))
    return rng.uniform(0.5, 2.0, order + 1 - excess), den


def over(fraction, s):
    return np.polyval(fraction[0], s) / np.polyval(fraction[1], s)


# ---- loops against closed forms ------------------------------------------------------------------------------------


def test_poles_and_zero_of_the_pi_loop():
    """10 + 3/s around 0.5/(2s + 1): 2 s^2 + 6 s + 1.5 = 0, and the controller's zero at -0.3."""
    model = bs.linearize(PI, inputs=["ref"], outputs=["plant"])
    assert np.sort(model.poles().real) == pytest.approx(np.sort(np.roots([2, 6, 1.5])), rel=1e-12)
    assert model.zeros() == pytest.approx([-0.3], rel=1e-9)
    assert (model.inputs, model.outputs, sorted(model.states)) == (["ref"], ["plant"], ["pi.x", "plant.x"])
    A, B, C, D = model
    s = 1j * W[:, None, None]
    by_hand = (C @ np.linalg.solve(s * np.eye(2) - A, np.broadcast_to(B, (len(W), 2, 1))) + D)[:, 0, 0]
    assert by_hand == pytest.approx((2.5 * 1j * W + 0.75) / (-(W**2) + 3j * W + 0.75), rel=1e-10)


@pytest.mark.parametrize("seed", range(4))
def test_transfer_functions_of_random_loops(seed):
    rng = np.random.default_rng(seed)
    P, C = stable(rng, int(rng.integers(2, 5)), 1), stable(rng, int(rng.integers(1, 4)), 0)
    d, s = feedback(P, C), 1j * W
    L = over(P, s) * over(C, s)
    closed = bs.linearize(d, "r", ["plant", "e"]).frequency_response(W)
    assert closed[0, 0] == pytest.approx(L / (1 + L), rel=1e-9)
    assert closed[1, 0] == pytest.approx(1 / (1 + L), rel=1e-9)
    load = bs.linearize(d, "c", "plant").frequency_response(W)[0, 0]  # added to the controller's output, loop closed
    assert load == pytest.approx(over(P, s) / (1 + L), rel=1e-9)
    opened = bs.linearize(d, "c", ["c", "plant"], cut="c").frequency_response(W)
    assert opened[0, 0] == pytest.approx(-L, rel=1e-9)
    assert opened[1, 0] == pytest.approx(over(P, s), rel=1e-9)


def test_scipy_agrees_on_a_series():
    rng = np.random.default_rng(11)
    P, Q = stable(rng, 3, 2), stable(rng, 2, 0)
    d = bs.Diagram()
    d.add("u", "Step")
    d.add("first", "TransferFunction", num=list(P[0]), den=list(P[1]), inputs="u")
    d.add("second", "TransferFunction", num=list(Q[0]), den=list(Q[1]), inputs="first")
    model = bs.linearize(d, "u", "second")
    expected = signal.TransferFunction(np.polymul(P[0], Q[0]), np.polymul(P[1], Q[1]))
    assert model.frequency_response(W)[0, 0] == pytest.approx(signal.freqresp(expected, W)[1], rel=1e-9)
    assert np.sort(np.linalg.eigvals(model.to_scipy().A).real) == pytest.approx(np.sort(expected.poles.real), rel=1e-8)


def test_python_control_agrees():
    control = pytest.importorskip("control")
    rng = np.random.default_rng(5)
    P, C = stable(rng, 3, 1), stable(rng, 2, 0)
    found = bs.linearize(feedback(P, C), "r", "plant").to_control()
    expected = control.feedback(control.tf(*P) * control.tf(*C))
    assert found(1j * W) == pytest.approx(expected(1j * W), rel=1e-8)
    assert np.sort(control.poles(found)) == pytest.approx(np.sort(control.poles(expected)), rel=1e-6)
    assert found.input_labels == ["r"] and found.state_labels[0] == "c_x[0]"


def test_control_missing_names_the_extra(monkeypatch):
    monkeypatch.setitem(sys.modules, "control", None)
    with pytest.raises(BlocksimError, match=r"pip install blocksim\[control\]"):
        bs.linearize(PI, "ref", "plant").to_control()


def test_notch_and_resonance_of_the_two_mass_robot():
    """Thesis, table 7.1, without friction and damping: notch sqrt(k1/Ja), resonance sqrt(k1 (Jm + r^2 Ja)/(Jm Ja))."""
    Jm, Ja, k1, r = 1.21e-2, 1.13e3, 1.46e6, 4.46e-3
    notch, resonance = np.sqrt(k1 / Ja), np.sqrt(k1 * (Jm + r**2 * Ja) / (Jm * Ja))
    assert (round(notch), round(resonance)) == (36, 61)
    d = bs.Diagram("two-mass")
    d.add("u", "Constant", value=0.0)
    d.add(
        "robot",
        "StateSpace",
        inputs="u",
        B=[[0], [1 / Jm], [0]],
        C=[[0, 1, 0], [0, 0, 1]],
        A=[[0, r, -1], [-r * k1 / Jm, 0, 0], [k1 / Ja, 0, 0]],
    )  # twist, motor speed, arm speed
    model = bs.linearize(d, "u", "robot.y[0]")
    assert np.sort(np.abs(model.zeros())) == pytest.approx([notch, notch], rel=1e-9)
    assert np.sort(np.abs(model.poles())) == pytest.approx([0, resonance, resonance], rel=1e-9, abs=1e-7)
    w = np.linspace(20, 80, 6001)
    size = np.abs(model.frequency_response(w)[0, 0])
    assert (w[np.argmin(size)], w[np.argmax(size)]) == pytest.approx((notch, resonance), abs=0.011)


# ---- operating points ----------------------------------------------------------------------------------------------


def test_a_tilted_joint():
    J, Fv, g, q = 0.5, 0.2, 3.0, 0.7
    point = bs.operating_point(joint(), inputs={"u": g * np.sin(q)}, guess={"joint.q": 0.3}, outputs="joint.angle")
    assert point.states == pytest.approx({"joint.q": q, "joint.qd": 0.0}, abs=1e-11)
    assert point.outputs["joint.angle"] == pytest.approx(q) and point.residual < 1e-11
    model = bs.linearize(joint(), "u", ["joint.angle", "joint.speed"], at=point)
    assert model.A == pytest.approx(np.array([[0, 1], [-g * np.cos(q) / J, -Fv / J]]), rel=1e-9, abs=1e-11)
    assert pytest.approx(np.array([[0], [1 / J]]), abs=1e-11) == model.B
    assert pytest.approx(np.eye(2), abs=1e-12) == model.C
    assert model.operating_point.inputs["u"] == pytest.approx(g * np.sin(q))
    assert model.operating_point.residual < 1e-11
    again = bs.linearize(joint(), "u", "joint.angle", at=model.operating_point)
    assert pytest.approx(model.A, rel=1e-12) == again.A


def test_the_input_that_holds_an_angle():
    found = bs.operating_point(joint(), inputs={"u": None}, fixed={"joint.q": 2.0})
    assert found.inputs["u"] == pytest.approx(3.0 * np.sin(2.0), rel=1e-10)
    by_signal = bs.operating_point(joint(), inputs={"u": None}, fixed={"joint.angle": 2.0}, guess={"joint.q": 1.5})
    assert by_signal.states["joint.q"] == pytest.approx(2.0, rel=1e-10)
    assert by_signal.inputs["u"] == pytest.approx(3.0 * np.sin(2.0), rel=1e-9)


def test_rest_of_a_hardening_spring_in_a_loop():
    """m v' = F - d v - k1 x - k3 x^3 rests where k1 x + k3 x^3 = F; its stiffness there is k1 + 3 k3 x^2."""
    d = bs.Diagram("spring")
    d.add("F", "Constant", value=0.0)
    d.add("spring", "Function", expression="4 * u + 250 * u**3", inputs="x")
    d.add("damper", "Gain", k=0.8, inputs="v")
    d.add("net", "Sum", signs="+--", inputs=["F", "spring", "damper"])
    d.add("v", "Integrator", inputs="net")
    d.add("x", "Integrator", inputs="v")
    point = bs.operating_point(d, inputs={"F": 9.0})
    x = np.roots([250, 0, 4, -9.0])
    x = x[np.abs(x.imag) < 1e-9].real[0]
    assert point.states["x.x"] == pytest.approx(x, rel=1e-10)
    model = bs.linearize(d, "F", "x", at=point)
    assert model.poles() == pytest.approx(np.sort_complex(np.roots([1, 0.8, 4 + 750 * x**2])), rel=1e-8)


def test_at_a_time_is_at_the_states_the_run_has_then():
    d = joint(0.4, q=2.5, qd=-1.0)
    record = bs.simulate(d, stop=1.5, rtol=1e-10)
    q = record["joint.angle"][-1]
    model = bs.linearize(d, "u", "joint.angle", at=1.5, rtol=1e-10)
    assert model.operating_point.states["joint.q"] == pytest.approx(q, abs=1e-8)
    assert model.A[1, 0] == pytest.approx(-3.0 * np.cos(q) / 0.5, rel=1e-8)
    by_hand = bs.linearize(d, "u", "joint.angle", at={"joint.q": q})
    assert by_hand.A == pytest.approx(model.A, abs=1e-7)


def test_parameters_change_the_model():
    assert bs.linearize(joint(), "u", "joint.angle", params={"joint.J": 2.0}).B[1, 0] == pytest.approx(0.5)
    with pytest.raises(DiagramError, match="no parameter 'K'"):
        bs.linearize(joint(), "u", "joint.angle", params={"joint.K": 2.0})


# ---- signals -------------------------------------------------------------------------------------------------------


def test_elements_of_vectors_driven_read_and_cut():
    d = bs.Diagram("vectors")
    d.add("a", "Constant", value=[1.0, 2.0])
    d.add("sum", "Sum", signs="+-", inputs=["a", "lag"])
    d.add("lag", "FirstOrderLag", k=[2.0, 3.0], T=[1.0, 0.5], inputs="sum")
    model = bs.linearize(d, "sum[1]", ["lag[1]", "lag[0]"])
    assert model.inputs == ["sum.y[1]"] and model.outputs == ["lag.y[1]", "lag.y[0]"]
    assert model.frequency_response(0.0)[:, 0, 0] == pytest.approx([3.0 / 4.0, 0.0], abs=1e-12)
    whole = bs.linearize(d, "a", "lag")
    assert whole.inputs == ["a[0]", "a[1]"]
    assert whole.frequency_response(0)[:, :, 0] == pytest.approx(np.diag([2 / 3, 3 / 4]), abs=1e-12)
    partly = bs.linearize(d, "sum[1]", "lag", cut=True)  # element 0 stays in its loop
    assert np.sort(partly.poles().real) == pytest.approx([-3.0, -2.0])
    assert partly.frequency_response(0)[:, 0, 0] == pytest.approx([0.0, 3.0], abs=1e-12)


def test_signals_inside_a_subsystem():
    """basics/parts/motor.yaml: J w' = tau - Fv w - Fc tanh(100 w), q' = w; at rest the dry friction has slope 100 Fc."""
    d = bs.Diagram("drive")
    d.add("tau", "Constant", value=0.0)
    d.add("motor", str(MOTOR), inputs="tau", J=0.02, Fv=0.1, Fc=0.1)
    model = bs.linearize(d, ["tau", "motor.dry"], ["motor.q", "motor.w", "motor.slide"])
    assert model.states == ["motor.speed.x", "motor.angle.x"]
    assert model.A[0, 0] == pytest.approx(-(0.1 + 100 * 0.1) / 0.02, rel=1e-8)
    assert model.B[0] == pytest.approx([1 / 0.02, -1 / 0.02], rel=1e-10)
    assert model.C[:, 0] == pytest.approx([0, 1, 100], rel=1e-8)
    cut = bs.linearize(d, "motor.dry", "motor.w", cut=True)
    assert cut.A[0, 0] == pytest.approx(-0.1 / 0.02, rel=1e-10)


def test_an_algebraic_loop_that_is_solved():
    d = bs.Diagram("loop")
    d.add("u", "Constant", value=1.0)
    d.add("e", "Sum", signs="+-", inputs=["u", "half"])
    d.add("half", "Gain", k=0.5, inputs="e")
    d.add("x", "FirstOrderLag", T=1.0, inputs="e")
    with pytest.raises(DiagramError, match="algebraic loop: e"):
        bs.linearize(d, "u", "x")
    model = bs.linearize(d, "u", ["x", "e"], algebraic_loops="solve")
    assert model.B[0, 0] == pytest.approx(2 / 3, rel=1e-9)
    assert model.D[:, 0] == pytest.approx([0, 2 / 3], rel=1e-9)


def test_a_diagram_so_large_that_its_program_has_loops():
    d = bs.Diagram("chain")
    d.add("u", "Constant", value=0.0)
    for n in range(80):
        d.add(f"lag{n}", "FirstOrderLag", T=1.0 + n / 80, k=1.01, inputs=f"lag{n - 1}" if n else "u")
    model = bs.linearize(d, "u", "lag79")
    assert len(model.states) == 80
    expected = np.prod([1.01 / (1j * 0.1 * (1 + n / 80) + 1) for n in range(80)])
    assert model.frequency_response(0.1)[0, 0, 0] == pytest.approx(expected, rel=1e-9)


# ---- differences ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("f", "at", "slope", "rel"),
    [
        (lambda x: np.tanh(1e3 * x), 0.0, 1e3, 1e-8),
        (lambda x: np.exp(-3 * x), 2.0, -3 * np.exp(-6), 1e-10),
        (lambda x: np.sin(x), 400.0, np.cos(400.0), 1e-9),
        (lambda x: np.clip(x, -0.02, 0.02), 0.0, 1.0, 1e-12),
        (lambda x: 1e6 + 1e-3 * x, 0.0, 1e-3, 1e-5),
        (lambda x: 2.0 * x, 1e9, 2.0, 1e-14),
        (lambda x: np.sqrt(x), 0.01, 5.0, 1e-9),
    ],
)
def test_slopes_of_hard_functions(f, at, slope, rel):
    with np.errstate(invalid="ignore"):
        J, error = jacobian(lambda z: np.array([f(z[0])]), np.array([at]))
    assert J[0, 0] == pytest.approx(slope, rel=rel)
    assert abs(J[0, 0] - slope) <= 10 * error[0, 0] + 1e-15 * abs(slope)


def test_a_corner_is_named():
    d = bs.Diagram("corner")
    d.add("u", "Constant", value=0.0)
    d.add("size", "Abs", inputs="x")
    d.add("x", "FirstOrderLag", T=1.0, inputs="u")
    d.add("root", "Function", expression="sqrt(u)", inputs="size")
    model = bs.linearize(d, "u", ["root", "x"])
    assert model.C[0, 0] == pytest.approx(0.0)  # even about 0: the two sides cancel
    d.add("jump", "Function", expression="1 if u > 0 else -1", inputs="x")
    assert "not smooth here, so of little meaning: jump over x.x" in bs.linearize(d, "u", "jump").note


# ---- what is shown, what is refused --------------------------------------------------------------------------------


def test_it_prints_as_a_table():
    text = repr(bs.linearize(PI, "ref", "plant"))
    assert "2 states, 1 inputs, 1 outputs" in text and "d plant.x  0.75       -3" in text and "poles: -0.27526, -2.7247" in text
    assert "joint.q = 0.7" in repr(bs.operating_point(joint(), {"u": 3 * np.sin(0.7)}))


def test_bode_draws_and_infinite_gain_is_infinite(tmp_path):
    model = bs.linearize(PI, "pi", ["pi", "plant"], cut=True)
    assert np.isinf(model.frequency_response([0.0])[0, 0, 0])
    figure = bode(model, tmp_path / "bode.png", w=W)
    assert (tmp_path / "bode.png").stat().st_size > 10_000
    upper, lower = figure.axes
    assert [text.get_text() for text in upper.get_legend().get_texts()] == ["pi / pi", "plant / pi"]
    assert upper.lines[1].get_ydata() == pytest.approx(20 * np.log10(np.abs(0.5 / (2j * W + 1))))
    assert lower.lines[1].get_ydata() == pytest.approx(np.degrees(np.angle(0.5 / (2j * W + 1))))


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (
            {"inputs": "rfe", "outputs": "plant"},
            "inputs: there is no signal 'rfe'.*Blocks are: ref, error, pi, plant.*Did you mean 'ref'",
        ),
        ({"inputs": "ref", "outputs": "plant.z"}, "outputs: there is no signal 'plant.z'.*Did you mean 'plant.y'"),
        ({"inputs": "ref", "outputs": "plant[2]"}, "outputs: 'plant\\[2\\]' asks for element 2 of 1"),
        ({"inputs": ["ref", "ref.y"], "outputs": "plant"}, "inputs: 'ref.y?' is named twice"),
        ({"inputs": "ref", "outputs": "plant", "at": {"plant.q": 1}}, "there is no state 'plant.q'. States are: pi.x, plant.x"),
        ({"inputs": "ref", "outputs": "plant", "at": {"plant.x": [1, 2]}}, "'plant.x' has 1 elements, found 2 numbers"),
        (
            {"inputs": "ref", "outputs": "plant", "at": "soon"},
            "at: found 'soon'. None, a time, a dict of states or an operating point",
        ),
        ({"inputs": "ref", "outputs": "plant", "at": -1.0}, "at: -1.0 s is before the start"),
        ({"inputs": "ref", "outputs": "plant", "dt": True}, "dt: no block of this diagram is sampled"),
        ({"inputs": "ref", "outputs": "plant", "dt": -1}, "dt: a time above 0 is wanted, found -1"),
        ({"inputs": "ref", "outputs": "plant", "color": 1}, "there is no option 'color'"),
    ],
)
def test_mistakes_are_named(arguments, message):
    with pytest.raises(DiagramError, match=message):
        bs.linearize(PI, **arguments)


def test_no_states_and_no_rest_are_named():
    d = bs.Diagram("static")
    d.add("u", "Constant", value=1.0)
    d.add("twice", "Gain", k=2.0, inputs="u")
    with pytest.raises(DiagramError, match="has no states: nothing to linearise"):
        bs.linearize(d, "u", "twice")
    with pytest.raises(DiagramError, match="no continuous states: there is nothing to bring to rest"):
        bs.operating_point(d)
    d.add("x", "Integrator", inputs="twice")
    with pytest.raises(DiagramError, match=r"no operating point found: the slope of x.x is still 2 at the best point"):
        bs.operating_point(d)
    with pytest.raises(DiagramError, match=r"the slope of joint.qd is still"):
        bs.operating_point(joint(), {"u": 4.0})
    with pytest.raises(DiagramError, match="zeros need as many outputs as inputs, found 2 and 1"):
        bs.linearize(d, "u", ["x", "twice"]).zeros()
    point = bs.operating_point(joint())
    with pytest.raises(DiagramError, match=r"operating point is of another diagram; it has no state 'pi.x'"):
        bs.linearize(PI, "ref", "plant", at=point)
