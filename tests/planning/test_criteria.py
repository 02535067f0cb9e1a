"""Criteria, limits, families and priors one by one: each against what pencil and paper give."""

from __future__ import annotations

import math

import numpy as np
import pytest

import blocksim as bs
from blocksim.planning.design.bench import Bench
from blocksim.planning.design.criteria import condition_number, judged, together
from blocksim.planning.design.file import load_design
from blocksim.planning.design.limits import margins_of

LOOP = """
format: 1
simulate: {stop: 10.0, solver: rk4, step: 0.01, every: 0.02}
blocks:
  ref:   {type: Sine, amplitude: 1.0, frequency: 0.3}
  error: {type: Sum, signs: "+-", in: [ref, x]}
  p:     {type: Gain, k: 2.0, in: error}
  act:   {type: Gain, k: 0.7, in: p}
  x:     {type: Integrator, in: act}
"""


def test_criteria_of_a_covariance():
    """Axes 0.03 and 0.01 along the two parameters: D is their geometric mean, A the root mean square, E and worst the longest."""
    C, one = np.diag([9e-4, 1e-4]), np.ones(2)
    assert judged("D", C, one, one) == pytest.approx(math.sqrt(0.03 * 0.01))
    assert judged("A", C, one, one) == pytest.approx(math.sqrt((9e-4 + 1e-4) / 2))
    assert judged("E", C, one, one) == judged("worst", C, one, one) == pytest.approx(0.03)
    turned = np.array([[5e-4, 4e-4], [4e-4, 5e-4]])  # the same axes at 45 degrees
    assert judged("E", turned, one, one) == pytest.approx(0.03) and judged("worst", turned, one, one) == pytest.approx(5e-4**0.5)
    assert judged("worst", C, np.array([1.0, 6.0]), one) == pytest.approx(0.06)  # weights
    assert judged("time", C, one, np.array([0.01, 0.01]), 20.0) == pytest.approx(20 * 9)  # nine runs of 20 s
    assert judged("power", C, one, np.array([0.03, 0.005]), 2.0) == pytest.approx(2 * 4)
    assert judged("D", None, one, one) > 1e6


def test_condition_numbers_and_priors():
    W = np.array([[1.0, 0.0], [0.0, 10.0], [0.0, 0.0]])
    assert condition_number(W, None) == pytest.approx(10) and condition_number(W, np.array([10.0, 1.0])) == pytest.approx(1)
    assert condition_number(np.ones((4, 2)), None) > 1e6
    values = [1.0, 4.0, 16.0]
    assert together(values, "worst", 0.9) == 16 and together(values, "mean", 0.9) == pytest.approx(4)
    assert together(values, "quantile", 0.5) == 4


def test_every_limit_of_a_sine():
    """sin(2 pi t) over five whole periods: rate 2 pi, mean square 1/2, energy 5/2, travel 2, crest factor sqrt 2."""
    t = np.arange(5001) * 1e-3
    kinds = {"peak": 1.0, "min": -1.0, "max": 1.0, "rate": 2 * math.pi, "rms": 0.5**0.5, "power": 0.5, "energy": 2.5,
             "travel": 2.0, "crest": 2**0.5}  # fmt: skip
    margins = list(margins_of({"u": {**kinds, "end": [0.5, 0.1]}}, {"u": np.sin(2 * math.pi * t)}, 1e-3))
    for margin in margins[:-1]:
        assert margin.value == pytest.approx(kinds[margin.kind], rel=1e-3)
    assert margins[-1].kind == "end" and margins[-1].value == pytest.approx(0.5) and margins[-1].broken


def test_the_gain_of_a_controller_is_part_of_the_experiment():
    """The best gain is that of a scan of bs.information, one gain after the other."""
    gains = np.geomspace(0.2, 20.0, 13)
    scan = [bs.information(LOOP, ["act.k"], "x", noise_std=0.01, params={"p.k": float(g)}).relative_std["act.k"] for g in gains]
    result = bs.design({"design": "x", "diagram": LOOP, "parameters": ["act.k"], "outputs": {"x": 0.01},
                        "vary": {"p.k": {"min": 0.2, "max": 20.0}}, "search": {"simulations": 150}})  # fmt: skip
    assert result.criterion <= min(scan) * 1.001
    assert abs(math.log(result.params["p.k"] / gains[int(np.argmin(scan))])) <= math.log(gains[1] / gains[0])


def test_an_end_that_is_asked_for():
    """A force of 1 N at most brings x'' = u back to rest: three stretches would do, and the search finds bits that end there."""
    mass = """
format: 1
simulate: {stop: 8.0, solver: rk4, step: 0.05, every: 0.05}
blocks:
  u: {type: Constant, value: 1}
  m: {type: Gain, k: 0.5, in: u}
  v: {type: Integrator, in: m}
  x: {type: Integrator, in: v}
"""
    result = bs.design({"design": "x", "diagram": mass, "parameters": ["m.k"], "outputs": {"x": 0.01},
                        "vary": {"u": {"family": "levels", "clock": 1.0, "peak": 1.0}},
                        "limits": {"x": {"end": [0.0, 0.1]}, "v": {"end": [0.0, 0.1], "peak": 1.2}},
                        "search": {"simulations": 3000, "candidates": 100}})  # fmt: skip
    record = bs.simulate(result.diagram)
    assert abs(record["x"][-1]) <= 0.101 and abs(record["v"][-1]) <= 0.101 and np.abs(record["v"]).max() <= 1.2 + 1e-6
    assert {margin.kind for margin in result.margins} == {"end", "peak"}


@pytest.mark.parametrize("words", [
    {"family": "fourier", "joints": 2, "harmonics": 3, "peak": [0.5, 0.3], "start": [0.1, -0.2]},
    {"family": "polynomial", "joints": 2, "points": 4, "min": [-0.4, -0.5], "max": [0.6, 0.1], "start": [0.1, -0.2]},
    {"family": "trapezoid", "joints": 2, "points": 4, "min": [-0.4, -0.5], "max": [0.6, 0.1], "start": [0.1, -0.2],
     "speed": [1.0, 1.0], "acceleration": [4.0, 4.0]},
])  # fmt: skip
def test_trajectories_start_at_rest_and_stay_in_their_range(words):
    diagram = """
format: 1
simulate: {stop: 8.0, solver: rk4, step: 0.01, every: 0.01}
blocks:
  ref: {type: TrapezoidTrajectory, points: [[0, 1], [0, 1]], speed: 1, acceleration: 4}
  y:   {type: Gain, k: 2.0, in: ref.q}
"""
    keys = {"design": "x", "diagram": diagram, "parameters": ["y.k"], "outputs": {"y": 0.01}, "vary": {"ref": words}}
    bench = Bench(load_design({**keys, "limits": {"ref.q": {"travel": 2.0}, "ref.qd": {"peak": 9.0}}}))
    for seed in range(5):
        ready, numbers = bench.experiment_of(bench.draw(np.random.default_rng(seed)))
        signals = bench.run(ready, numbers)
        q, qd = signals["ref.q"], signals["ref.qd"]
        assert q[0] == pytest.approx([0.1, -0.2], abs=1e-6) and qd[0] == pytest.approx([0, 0], abs=1e-6)
        reach = np.abs(q - q[0]).max(axis=0) if words["family"] == "fourier" else None
        assert (reach <= np.array([0.5, 0.3]) * 1.001).all() if reach is not None else (q <= np.array([0.6, 0.1]) + 1e-6).all()


def test_the_noise_of_the_diagram_itself_judges_a_design():
    noisy = LOOP + "  seen:  {type: TorqueSensor, Ts: 0.02, std: 0.05, in: x}\n"
    keys = {"design": "x", "diagram": noisy, "parameters": ["act.k"], "vary": {"p.k": {"min": 1.0, "max": 3.0}}}
    own, white = (Bench(load_design({**keys, "outputs": {"seen": noise}})) for noise in ("own", 0.05))
    assert own.try_out(np.array([0.5])).criterion == pytest.approx(white.try_out(np.array([0.5])).criterion, rel=0.1)


def test_the_power_that_an_accuracy_needs():
    """y = k u: the power needed for 1 % does not depend on the amplitude, and is sigma^2 / (N k^2 0.01^2)."""
    line = """
format: 1
simulate: {stop: 9.99, solver: euler, step: 0.01}
blocks:
  u: {type: Sine, amplitude: 1.0, frequency: 1.0}
  y: {type: Gain, k: 2.0, in: u}
"""
    keys = {"design": "x", "diagram": line, "parameters": ["y.k"], "outputs": {"y": 0.1}, "criterion": "power",
            "accuracy": {"y.k": 0.01}, "vary": {"u": {"family": "multisine", "frequencies": [1.0], "rms": 1.0}}}  # fmt: skip
    bench = Bench(load_design(keys))
    assert bench.try_out(np.array([0.5, 0.2])).criterion == pytest.approx(0.1**2 / (1000 * 4 * 0.01**2), rel=0.01)


def test_a_limit_that_only_the_fine_grid_breaks_costs_the_last_candidates_only():
    """Bits on an oscillator, searched with coarse steps and judged with fine ones: an earlier best is written, or none."""
    swing = """
format: 1
simulate: {stop: 6.0, solver: rk4, step: 0.005, every: 0.2}
blocks:
  u: {type: Constant, value: 1}
  s: {type: Gain, k: -40.0, in: x}
  a: {type: Sum, in: [u, s]}
  v: {type: Integrator, in: a}
  x: {type: Integrator, in: v}
"""
    result = bs.design({"design": "x", "diagram": swing, "parameters": ["s.k"], "outputs": {"x": 0.01},
                        "vary": {"u": {"family": "binary", "clock": 0.2, "peak": 1.0}}, "limits": {"x": {"peak": 0.3}},
                        "search": {"simulations": 400, "candidates": 16, "step": 0.05}})  # fmt: skip
    assert np.abs(bs.simulate(result.diagram, every=0.005)["x"]).max() <= 0.3 + 1e-9


@pytest.mark.parametrize("source", [
    "{type: TrapezoidTrajectory, points: [[0.3, 1], [-0.4, 1]], speed: 1, acceleration: 4}",
    "{type: FourierTrajectory, base_frequency: 0.2, a: [[1.0], [1.0]], b: [[0.1], [-0.5]], offset: [0.2, 0.1]}",
])  # fmt: skip
def test_a_trajectory_starts_where_the_one_before_it_did(source):
    diagram = f"""
format: 1
simulate: {{stop: 4.0, solver: rk4, step: 0.01, every: 0.01}}
blocks:
  ref: {source}
  y:   {{type: Gain, k: 2.0, in: ref.q}}
"""
    start = bs.simulate(diagram)["ref.q"][0]
    assert start == pytest.approx([0.3, -0.4])
    keys = {
        "design": "x",
        "diagram": diagram,
        "parameters": ["y.k"],
        "outputs": {"y": 0.01},
        "limits": {"ref.q": {"travel": 9.0}},
    }
    for words in ({"family": "fourier", "harmonics": 2, "peak": 0.5}, {"family": "polynomial", "points": 3, "min": -1, "max": 1}):
        bench = Bench(load_design({**keys, "vary": {"ref": {**words, "joints": 2}}}))
        ready, numbers = bench.experiment_of(bench.draw(np.random.default_rng(2)))
        assert bench.run(ready, numbers)["ref.q"][0] == pytest.approx(start, abs=1e-6)
