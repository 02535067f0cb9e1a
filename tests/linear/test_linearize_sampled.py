"""Sampled linear models: the map over one period, against scipy's cont2discrete and closed forms."""

import numpy as np
import pytest
from scipy import signal
from scipy.linalg import expm
from test_linearize import Joint, W, joint

import blocksim as bs
from blocksim.errors import DiagramError

SAMPLED = """
format: 1
simulate: {stop: 1, solver: rk4, step: 1e-3}
parameters: {Ts: 0.05}
blocks:
  r:     {type: Constant, value: 0}
  e:     {type: Sum, signs: "+-", in: [r, plant]}
  hold:  {type: ZeroOrderHold, Ts: "${Ts}", in: e}
  k:     {type: Gain, k: 3, in: hold}
  plant: {type: TransferFunction, num: [2.0], den: [1.0, 0.4, 2.0], in: k}
"""


def test_a_loop_closed_through_a_hold():
    A, B, C, _ = signal.tf2ss([2.0], [1.0, 0.4, 2.0])
    Ad, Bd, Cd, _, _ = signal.cont2discrete((A, B, C, np.zeros((1, 1))), 0.05)
    for dt in (True, 0.05):
        model = bs.linearize(SAMPLED, "r", "plant", dt=dt)
        assert model.dt == 0.05
        assert pytest.approx(Ad - 3 * Bd @ Cd, rel=1e-9, abs=1e-11) == model.A
        assert pytest.approx(3 * Bd, rel=1e-9) == model.B
        assert pytest.approx(Cd, abs=1e-11) == model.C
    z = np.exp(1j * W[W < 60] * 0.05)
    P = np.array([(Cd @ np.linalg.solve(v * np.eye(2) - Ad, Bd))[0, 0] for v in z])
    assert model.frequency_response(W[W < 60])[0, 0] == pytest.approx(3 * P / (1 + 3 * P), rel=1e-7)
    assert model.to_scipy().dt == 0.05


def test_without_dt_sampled_outputs_hold():
    model = bs.linearize(SAMPLED, ["r", "k"], "plant")
    assert np.sort_complex(model.poles()) == pytest.approx(np.sort_complex(np.roots([1, 0.4, 2.0])))
    assert model.B[:, 0] == pytest.approx([0, 0])
    assert model.note == "sampled blocks hold their outputs (hold)" and "note: sampled" in repr(model)


def test_a_sampled_controller_with_memory_around_a_continuous_plant():
    text = SAMPLED.replace(
        "k:     {type: Gain, k: 3, in: hold}",
        'k: {type: DiscreteTransferFunction, num: [1.3, -1.2], den: [1, -1], Ts: "${Ts}", in: hold}',
    )
    found = bs.linearize(text, "k", "k", cut=True, dt=True)
    plant = signal.cont2discrete(([2.0], [1.0, 0.4, 2.0]), 0.05)
    w = W[W < 60]
    z = np.exp(1j * w * 0.05)
    loop = np.polyval(plant[0][0], z) / np.polyval(plant[1], z) * (1.3 * z - 1.2) / (z - 1)
    assert found.frequency_response(w)[0, 0] == pytest.approx(-loop, rel=1e-7)
    assert found.states == ["plant.x[0]", "plant.x[1]", "k.x"]


def test_a_diagram_that_is_all_sampled_is_a_sampled_model():
    text = """
format: 1
simulate: {stop: 1}
blocks:
  u: {type: Constant, value: 0}
  f: {type: DiscreteStateSpace, A: [[0.5, 0.1], [0, 0.9]], B: [[0], [1]], C: [[1, 0]], D: [[0.3]], Ts: 0.1, in: u}
  d: {type: UnitDelay, Ts: 0.1, in: f}
"""
    model = bs.linearize(text, "u", ["f", "d"])
    assert model.dt == 0.1 and model.states == ["f.x[0]", "f.x[1]", "d.x"]
    assert np.sort(model.poles().real) == pytest.approx([0, 0.5, 0.9], abs=1e-12)
    assert model.D[:, 0] == pytest.approx([0.3, 0])
    assert model.frequency_response(0)[:, 0, 0] == pytest.approx([0.3 + 0.1 / (0.5 * 0.1)] * 2, rel=1e-9)


def test_dt_of_a_continuous_diagram_holds_its_inputs():
    model = bs.linearize(joint(), "u", "joint.angle", dt=0.2)
    whole = expm(0.2 * np.array([[0, 1, 0], [-6, -0.4, 2], [0, 0, 0]]))
    assert model.A == pytest.approx(whole[:2, :2], rel=1e-8) and model.B[:, 0] == pytest.approx(whole[:2, 2], rel=1e-8)


def test_a_sampled_model_at_a_time_of_the_run():
    """Where the run has come to, at the next hit: an angle under a hold of 0.1 s, 0.25 s on and carried to 0.3 s."""
    d = bs.Diagram("held joint")
    d.add("u", "Constant", value=1.0)
    d.add("hold", "ZeroOrderHold", Ts=0.1, inputs="u")
    d.add("joint", Joint(q=1.0), inputs="hold")
    model = bs.linearize(d, "u", "joint.angle", at=0.25, dt=True, rtol=1e-11, atol=1e-13)
    assert model.operating_point.t == pytest.approx(0.3)
    record = bs.simulate(d, stop=0.3, rtol=1e-11, atol=1e-13)
    assert model.operating_point.states["joint.q"] == pytest.approx(record["joint.angle"][-1], abs=1e-9)


def test_a_quantizer_opens_the_loop_unless_it_is_passed_by():
    d = bs.Diagram("coarse")
    d.add("r", "Constant", value=0.0)
    d.add("e", "Sum", signs="+-", inputs=["r", "coarse"])
    d.add("plant", "FirstOrderLag", T=1.0, k=4.0, inputs="e")
    d.add("coarse", "Quantizer", step=0.01, inputs="plant")
    assert bs.linearize(d, "r", "plant").poles() == pytest.approx([-1.0])
    assert bs.linearize(d, "r", "plant", through="coarse").poles() == pytest.approx([-5.0])
    with pytest.raises(DiagramError, match="through: block 'e' has 2 inputs and 1 outputs"):
        bs.linearize(d, "r", "plant", through="e")


def test_mistakes_of_sampled_models_are_named():
    with pytest.raises(DiagramError, match=r"one sample time; this one acts every 0.05 s, every 0.01 s"):
        bs.linearize("basics/multirate.yaml", "ref", "plant", dt=True)
    with pytest.raises(DiagramError, match=r"dt: True, or the sample time of the diagram, 0.05 s, is wanted, found 0.1"):
        bs.linearize(SAMPLED, "r", "plant", dt=0.1)
    ring = SAMPLED.replace("k:     {type: Gain, k: 3, in: hold}", 'k: {type: MovingAverage, window: 3, Ts: "${Ts}", in: hold}')
    with pytest.raises(DiagramError, match="block 'k' \\(MovingAverage\\) keeps its past in a ring"):
        bs.linearize(ring, "r", "plant", dt=True)
