"""Blocks with modes and memory in a running diagram, against closed forms: their instants must be found, not stepped over."""

import math

import numpy as np
import pytest

import blocksim as bs

ADAPTIVE = {"solver": "dopri5", "rtol": 1e-10, "atol": 1e-12, "every": "1/100", "engine": "python"}


def run(blocks, stop, **options):
    return bs.simulate(f"format: 1\nsimulate: {{stop: {stop}}}\nblocks:\n" + blocks, **{**ADAPTIVE, **options})


def test_a_limited_integrator_rests_at_its_limit_until_the_input_turns():
    record = run("  u: {type: Sine, frequency: 1.0}\n  x: {type: Integrator, upper: 0.2, in: u}\n", 1.0)
    t, w = record.t, math.tau
    free = (1 - np.cos(w * t)) / w
    leaves = 0.5  # the input turns negative here; from then on the integral falls from the limit
    expected = np.where(t < leaves, np.minimum(free, 0.2), 0.2 + (-1 - np.cos(w * t)) / w)
    assert record["x"] == pytest.approx(expected, abs=1e-8)


def test_a_relay_makes_the_limit_cycle_of_its_hysteresis():
    record = run(
        "  e: {type: Gain, k: -1.0, in: x}\n  r: {type: Relay, on_point: 0.5, off_point: -0.5, on_value: 1.0, "
        "off_value: -1.0, in: e}\n  x: {type: Integrator, in: r}\n",
        8.0,
    )
    t = record.t
    triangle = np.abs((t + 0.5) % 2.0 - 1.0) - 0.5  # slope -1 from 0 to -0.5, then up to 0.5, and so on with period 2
    assert record["x"] == pytest.approx(triangle, abs=1e-8)


def test_pulses_integrate_to_their_area():
    record = run("  u: {type: Pulse, period: 0.7, duty: 0.3, delay: 0.1, amplitude: 2.0}\n  x: {type: Integrator, in: u}\n", 3.0)
    whole, rest = np.divmod(np.maximum(record.t - 0.1, 0.0), 0.7)
    assert record["x"] == pytest.approx(2.0 * (0.21 * whole + np.minimum(rest, 0.21)), abs=1e-9)


def test_a_quantised_ramp_integrates_to_its_stairs():
    record = run("  u: {type: Ramp}\n  q: {type: Quantizer, step: 0.25, in: u}\n  x: {type: Integrator, in: q}\n", 2.0)
    level = np.floor(record.t / 0.25 + 0.5)  # from level k to k + 1 at t = 0.25 (k + 1/2)
    area = 0.25 * (level * record.t - 0.25 * (level * (level + 1) / 2 - 0.5 * level))
    assert record["x"] == pytest.approx(area, abs=1e-8)


def test_sign_and_switch_change_at_the_crossing():
    record = run(
        "  u: {type: Sine, frequency: 0.5, phase: 0.4}\n  s: {type: Sign, in: u}\n  x: {type: Integrator, in: s}\n"
        "  a: {type: Constant}\n  b: {type: Constant, value: 0.0}\n"
        "  w: {type: Switch, threshold: 0.0, in: [a, u, b]}\n  z: {type: Integrator, in: w}\n",
        1.5,
    )
    crossing = (math.pi - 0.4) / math.pi
    assert record["x"] == pytest.approx(crossing - np.abs(record.t - crossing), abs=1e-8)
    assert record["z"] == pytest.approx(np.minimum(record.t, crossing), abs=1e-8)


def test_a_delayed_sine_is_a_sine():
    record = run("  u: {type: Sine, frequency: 0.5}\n  y: {type: TransportDelay, delay: 0.33, Ts: 0.001, in: u}\n", 2.0)
    late = record.t > 0.34
    assert record["y"][late] == pytest.approx(np.sin(math.pi * (record.t[late] - 0.33)), abs=2e-6)


@pytest.mark.parametrize(("hold", "area"), [("zero", 1.0 * 0.5 + 3.0 * 1.0 - 1.0 * 0.5), ("linear", 1.0 + 1.0 - 0.25)])
def test_a_record_is_played_back(tmp_path, hold, area):
    path = tmp_path / "signal.npz"
    bs.Record.from_arrays([0.0, 0.5, 1.5, 2.0], y=[1.0, 3.0, -1.0, 0.0]).save(path)
    diagram = bs.Diagram("playback")
    diagram.add("u", "FromRecord", file=str(path), signal="y", hold=hold)
    diagram.add("x", "Integrator", inputs="u")
    record = bs.simulate(diagram, stop=2.0, **ADAPTIVE)
    assert record["x"][-1] == pytest.approx(area, abs=1e-7)  # the kinks of a linear record are left to the solver


def test_a_vector_runs_element_by_element():
    record = run("  u: {type: Constant, value: [1.0, -2.0]}\n  x: {type: Integrator, upper: [0.5, 9.0], in: u}\n", 1.0)
    assert record["x"][-1] == pytest.approx([0.5, -2.0])
