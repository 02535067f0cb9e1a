"""Elements of lists and matrices as parameters, as numbers that vary, and as what is believed in a campaign."""

from __future__ import annotations

import numpy as np
import pytest

import blocksim as bs

PAIR = """
format: 1
simulate: {stop: 4.99, solver: euler, step: 0.01}
blocks:
  u: {type: Sine, amplitude: 1.0, frequency: 1.0}
  w: {type: Sine, amplitude: 2.0, frequency: 0.4}
  v: {type: Mux, in: [u, w]}
  y: {type: Gain, k: [3.0, 5.0], in: v}
log: [u, w, y]
"""
t = np.arange(500) * 0.01
U, W = np.sin(2 * np.pi * t), 2 * np.sin(2 * np.pi * 0.4 * t)


def test_bounds_of_elements():
    """y = (k0 u, k1 w) in noise of 0.1 and 0.1: sigma over the length of u, and of w."""
    info = bs.information(PAIR, ["y.k[0]", "y.k[1]"], "y", noise_std=0.1)
    expected = [0.1 / np.linalg.norm(U), 0.1 / np.linalg.norm(W)]
    assert list(info.std.values()) == pytest.approx(expected, rel=1e-6) and info.values == {"y.k[0]": 3.0, "y.k[1]": 5.0}
    other = bs.information(PAIR, ["y.k[1]"], "y", noise_std=0.1, params={"y.k": [3.0, 10.0]})
    assert other.relative_std["y.k[1]"] == pytest.approx(expected[1] / 10.0, rel=1e-6)
    for name in ("y.k[2]", "y.k"):
        with pytest.raises(bs.DiagramError, match="is no single number of a running block"):
            bs.information(PAIR, [name], "y", noise_std=0.1)


def test_an_element_of_a_matrix():
    """x' = A x + B u with A = [[0, 1], [-9, -0.6]]: the bounds of a spring made of gains."""
    spring = """
format: 1
simulate: {stop: 4.0, solver: rk4, step: 1e-3, every: 1e-2}
blocks:
  u: {type: Sine, amplitude: 1.0, frequency: 0.5}
  s: {type: StateSpace, A: [[0, 1], [-9, -0.6]], B: [[0], [1]], C: [[1, 0]], D: [[0]], in: u}
"""
    gains = """
format: 1
simulate: {stop: 4.0, solver: rk4, step: 1e-3, every: 1e-2}
blocks:
  u: {type: Sine, amplitude: 1.0, frequency: 0.5}
  x: {type: Integrator, in: v}
  v: {type: Integrator, in: a}
  k: {type: Gain, k: -9.0, in: x}
  d: {type: Gain, k: -0.6, in: v}
  a: {type: Sum, in: [k, d, u]}
"""
    one = bs.information(spring, ["s.A[1,0]", "s.A[1,1]"], "s", noise_std=0.01)
    two = bs.information(gains, ["k.k", "d.k"], "x", noise_std=0.01)
    assert list(one.std.values()) == pytest.approx(list(two.std.values()), rel=1e-4)


def test_elements_in_designs_and_campaigns(tmp_path):
    keys = {"design": "x", "diagram": PAIR, "parameters": ["y.k[0]"], "outputs": {"y": 0.1},
            "vary": {"u": {"family": "levels", "clock": 0.5, "peak": 1.0}, "y.k[1]": {"min": 1.0, "max": 4.0}},
            "search": {"simulations": 40, "candidates": 8}}  # fmt: skip
    result = bs.design(keys, out=tmp_path)
    found = bs.open_diagram(str(tmp_path / "diagram.yaml")).nodes["y"].block.settings["k"]
    assert found == pytest.approx([3.0, result.params["y.k[1]"]])
    campaign = bs.Campaign(keys, guess={"y.k[0]": 2.0})
    result = campaign.design()
    campaign.learn(result, bs.simulate(result.diagram))
    assert campaign.values["y.k[0]"] == pytest.approx(3.0, rel=1e-6)
