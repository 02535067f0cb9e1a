"""A logged acceleration is the first slope of the step that begins at its row: evaluated once, with the bits it has by itself."""

from math import cos, tanh

import numpy as np
import pytest

import blocksim as bs
from blocksim.compiler.at_instants.first_slope import with_shared_slope
from blocksim.simulation.prepare import experiment

LOOP = """
format: 1
simulate: {stop: 0.5, solver: rk4, step: 1e-3}
blocks:
  ref:     {type: Sine, amplitude: 1.0, frequency: 0.8}
  error:   {type: Sum, signs: "+-", in: [ref, encoder]}
  pid:     {type: PID, Ts: 1e-3, kp: 20, ki: 10, kd: 0.3, Tf: 1e-3, in: error}
  joint:   {type: GravityJoint, J: 0.02, Fv: 0.05, Fc: 0.1, Ms: 0.03, g: 10, N: 15, beta: 100, in: pid}
  encoder: {type: Encoder, Ts: 1e-3, resolution: 1e-4, in: joint.q}
log: [pid, joint.q, joint.qd, joint.qdd]
"""
WITHOUT = LOOP.replace(", joint.qdd]", "]")
SHARED = "derivative(t, k[0], x,"


def text_of(diagram: str, **options: object) -> str:
    return experiment(diagram, **options).program.source.text


@pytest.mark.parametrize("engine", ["python", "compiled"])
def test_the_logged_acceleration_is_the_equation_and_the_motion_is_as_without_it(engine):
    record, without = bs.simulate(LOOP, engine=engine), bs.simulate(WITHOUT, engine=engine)
    for name in ("pid", "joint.q", "joint.qd"):
        assert np.array_equal(record[name], without[name])
    expected = [
        (tau - 0.0 - 0.03 * 10.0 * cos(q / 15.0 + 0.0) - 0.05 * qd - 0.1 * tanh(100.0 * qd)) / 0.02
        for tau, q, qd in zip(record["pid"], record["joint.q"], record["joint.qd"], strict=True)
    ]
    assert record["joint.qdd"].tolist() == expected
    assert record.provenance["work"]["evaluations"] == 4 * 500


def test_one_evaluation_serves_both():
    assert SHARED in text_of(LOOP)
    assert "tanh" not in text_of(LOOP).split("def hit(")[1]
    assert SHARED not in text_of(WITHOUT)


def test_a_run_that_is_paused_and_changed_between_steps_forgets_the_slope():
    plain, moved = bs.start(WITHOUT), bs.start(LOOP)
    for simulation in (plain, moved):
        simulation.step(0.1)
        simulation.set("joint.J", 0.04)
        simulation.step(0.1)
    assert np.array_equal(plain.record()["joint.qd"], moved.record()["joint.qd"])


@pytest.mark.parametrize(
    ("change", "options"),
    [
        (("step: 1e-3}", "step: 5e-4, every: 5e-4}"), {}),  # rows inside a period: not at a hit
        (("solver: rk4, step: 1e-3", "solver: dopri5"), {}),
        (("beta: 100", "friction: sign"), {}),  # events
    ],
)
def test_other_programs_evaluate_the_log_by_itself(change, options):
    assert SHARED not in text_of(LOOP.replace(*change), **options)


def test_what_the_derivative_reads_must_not_change_after_the_row():
    slope = "def derivative(t, dx, x, p, m, a, noise, o):\n    dx[0] = p[0] * m[0] - x[0]\n"
    hit = "def hit(tick, k):\n    log_0 = True\n    if log_0:\n        y = p[0] * m[0] - x[0]\n        record[0] = y\n"
    assert "y = k[0][0]" in with_shared_slope(slope, hit)
    assert "y = k[0][0]" in with_shared_slope(slope, hit + "    m[1] = 2.0\n")
    assert with_shared_slope(slope, hit + "    m[0] = 2.0\n") is None
    assert with_shared_slope(slope, hit + "    m[i] = 2.0\n") is None
    assert with_shared_slope(slope, hit.replace("p[0] * m[0]", "m[0] * p[1]")) is None
    noisy = slope.replace("p[0]", "noise[o[0]]")
    assert with_shared_slope(noisy, hit.replace("p[0]", "noise[o[0]]")) is None
    loops = slope.replace("    dx", "    for i in range(2):\n        dx")
    assert with_shared_slope(loops, hit) is None


def test_steps_on_the_way_to_a_slope_are_followed():
    slope = "def derivative(t, dx):\n    a_1 = sin(x[0])\n    dx[0] = x[1]\n    dx[1] = a_1 / p[0]\n"
    hit = "def hit(tick, k):\n    if log_0:\n        b_1 = sin(x[0])\n        qdd = b_1 / p[0]\n        record[0] = qdd\n"
    assert with_shared_slope(slope, hit).splitlines()[1:] == [
        "    if log_0:",
        "        derivative(t, k[0], x, p, m, a, noise, ahead, o)",
        "        f[1] = 2.0",
        "        qdd = k[0][1]",
        "        record[0] = qdd",
    ]
