"""Runs that leave any credible scale: they end as diverged, keep their record, and say what would help."""

import re
import subprocess
import sys

import numpy as np
import pytest

import blocksim as bs

LOOP = """
format: 1
simulate: {stop: 10, solver: rk4, step: 1e-3}
blocks:
  ref:     {type: Sine, amplitude: 0.1, frequency: 1.0}
  error:   {type: Sum, signs: "+-", in: [ref, encoder]}
  pid:     {type: PID, Ts: 1e-3, kp: 20, ki: 10, kd: 90, Tf: 5e-3, in: error}
  joint:   {type: GravityJoint, J: 0.02, Fv: 0.05, Fc: 0.1, Ms: 0.03, N: 1, in: pid}
  encoder: {type: Encoder, Ts: 1e-3, resolution: 1e-5, in: joint.q}
  didim:   {type: DIDIM, model: joint, in: pid}
"""
LAG = """
format: 1
simulate: {stop: 1, solver: rk4, step: 1e-3}
blocks:
  u: {type: Constant, value: 1}
  y: {type: TransferFunction, num: [1], den: [2e-4, 1], in: u}
"""


def test_an_unstable_loop_ends_as_diverged_on_the_command_line_with_its_record_kept(tmp_path):
    (tmp_path / "loop.yaml").write_text(LOOP, encoding="utf-8")
    command = [sys.executable, "-m", "blocksim", "run", "loop.yaml", "--out", "out"]
    done = subprocess.run(command, capture_output=True, text=True, cwd=tmp_path)
    assert done.returncode == 1 and "Warning" not in done.stderr
    assert "diverged: at t = 0." in done.stderr and "of block 'joint' became" in done.stderr
    assert "beyond any credible scale (1e+30). The run ends there; its record up to then is kept." in done.stderr
    record = bs.Record.load(tmp_path / "out" / "record.npz")
    assert 100 < len(record.t) < 2000 and np.isfinite(record["joint.q"]).all()
    assert not record.estimates and "didim:" not in done.stdout


@pytest.mark.parametrize("solver, most", [("euler", 2.0), ("heun", 2.0), ("rk4", 2.785)])
def test_an_exploding_fixed_step_names_the_step_that_would_do(solver, most):
    # A step multiplies the mode of 5000 1/s by R(-5000 h); |R| <= 1 up to h = 2 / 5000 (Euler, Heun), 2.785 / 5000 (RK4).
    with pytest.raises(bs.SimulationError, match=f"A step of 0.001 s is too coarse for {solver}") as caught:
        bs.simulate(LAG, solver=solver)
    words = str(caught.value)
    assert "the fastest mode dies out with 5e+03 1/s" in words and "or solver: rodas4" in words
    named = float(words.split("A step of ")[2].split(" s ")[0])
    assert most / 5000 / 2 <= named <= most / 5000
    assert bs.simulate(LAG, solver=solver, step=named)["y"][-1] == pytest.approx(1.0)
    assert bs.simulate(LAG, solver="rodas4")["y"][-1] == pytest.approx(1.0)


def test_a_step_that_draws_a_mode_in_two_points_a_turn_is_named_before_the_loop_is():
    # k1, Jm and Ja of the robot's defaults swing with about 54 rad/s: 2.3 steps of 0.05 s a turn, just inside RK4's region.
    text = """
format: 1
simulate: {stop: 5, step: 0.05, solver: rk4}
blocks:
  tau:   {type: Sine, amplitude: 1, frequency: 1}
  robot: {type: TwoMassRobot, in: tau}
"""
    with pytest.raises(bs.SimulationError, match=r"fastest mode, 54\.\d rad/s, in 2\.3 points a turn: try a tenth of it"):
        bs.simulate(text)
    assert abs(bs.simulate(text, step=0.005)["robot.w_m"]).max() < 10


def test_numbers_that_are_large_but_credible_run_on():
    grown = bs.simulate("""
format: 1
simulate: {stop: 60, solver: dopri5, every: 1}
blocks: {x: {type: Integrator, x: 1.0, in: x}}
""")
    assert grown["x"][-1] == pytest.approx(np.exp(60), rel=1e-5)  # 1.1e26


def test_an_identifier_refuses_a_record_that_diverged():
    text = LOOP.replace("didim:   {type: DIDIM, model: joint, in: pid}",
                        "cloe:    {type: CLOE, parameters: [joint.J], output: joint.q, in: encoder}")  # fmt: skip
    with pytest.raises(bs.SimulationError) as caught:
        bs.simulate(text)
    t = np.arange(500) * 1e-3
    wild = bs.Record.from_arrays(t, {"encoder.q_hat": np.exp(200 * t)})  # up to 2e43
    with pytest.raises(
        bs.DiagramError, match=r"block 'cloe': 'encoder.q_hat' goes up to 2.\d+e\+43: the loop diverged"
    ) as refused:
        bs.identify(text, wild)
    assert "Mend the loop, or end the record before." in str(refused.value)
    assert caught.value.record.estimates == {}


def test_a_loop_that_has_not_left_all_scales_when_the_run_ends_is_no_success(tmp_path):
    """Feedback of the wrong sign: x'' = 1000 x grows by exp(31.6) in a second, to some 1e13."""
    text = LOOP.replace("kp: 20, ki: 10, kd: 90", "kp: -20, ki: 0, kd: 0").replace("stop: 10", "stop: 1.2")
    (tmp_path / "loop.yaml").write_text(text, encoding="utf-8")
    command = [sys.executable, "-m", "blocksim", "run", "loop.yaml", "--out", "out"]
    done = subprocess.run(command, capture_output=True, text=True, cwd=tmp_path)
    assert done.returncode == 2 and "Traceback" not in done.stderr
    assert "block 'didim': 'pid.u' grows from part to part of the record, up to" in done.stderr and "[growing]" in done.stderr
    record = bs.Record.load(tmp_path / "out" / "record.npz")
    assert 1e4 < abs(record["joint.q"]).max() < 1e20 and not record.estimates
    alone = re.sub(r"  didim: .*\n", "", text)  # with nothing that refuses it, the run warns by itself
    (tmp_path / "loop.yaml").write_text(alone, encoding="utf-8")
    done = subprocess.run(command, capture_output=True, text=True, cwd=tmp_path)
    assert done.returncode == 0 and "grows from part to part of the run, up to " in done.stderr and "[growing]" in done.stderr


@pytest.mark.parametrize(
    "shape",
    [lambda t: 1e6 * t, lambda t: 1e7 * t**3, lambda t: 1e9 * (t > 0.7), lambda t: 1e9 * np.sin(40 * t),
     lambda t: 1e9 * np.exp(-9 * t), lambda t: 1e-3 * np.exp(12 * t), lambda t: 1e5 * np.sin(200 * t**2)],
)  # fmt: skip
def test_large_signals_that_do_not_grow_without_end_are_let_be(shape):
    from blocksim.records.grid import grows_apart

    t = np.linspace(0, 1, 1000)
    assert not grows_apart(shape(t))
    assert grows_apart(np.exp(30 * t)) and grows_apart(np.exp(30 * t) * np.sin(100 * t))
