"""Encoder, TorqueSensor, NoisySensor, SpeedFromEncoder: the statistics of what they read, and the settings they refuse."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy import signal, stats

import blocks
import blocksim as bs

MOTION = "  ref: {type: FourierTrajectory, base_frequency: 0.13, a: [1.0, 0.4, 0.25], b: [0.3, -0.2, 0.1]}\n"


def run(text, stop=20.0, **options):
    fixed = {"solver": "euler", "step": "1/100", "engine": "python", "seed": 4}
    return bs.simulate(f"format: 1\nsimulate: {{stop: {stop}}}\nblocks:\n" + text, **{**fixed, **options})


def errors(settings):
    record = run(MOTION + f"  encoder: {{type: Encoder, Ts: 0.01, {settings}, in: ref.q}}\n")
    return record["encoder"] - np.ravel(record["ref.q"])


def test_the_error_of_quantisation_is_uniform_with_variance_of_a_twelfth():
    d = 2 * math.pi / 2000
    error = errors("counts_per_turn: 2000")
    assert np.abs(error).max() <= d / 2 * (1 + 1e-9)
    assert error.var() == pytest.approx(d**2 / 12, rel=0.05)
    assert stats.kstest(error, stats.uniform(-d / 2, d).cdf).pvalue > 0.01
    counts = np.histogram(error, bins=10, range=(-d / 2, d / 2))[0]
    assert stats.chisquare(counts).pvalue > 0.01


def test_floor_reads_low_by_half_a_count_and_an_offset_of_half_a_count_mends_it():
    d = 1e-3
    standard = d / math.sqrt(12 * 2001)
    assert abs(errors(f"resolution: {d}").mean()) < 4 * standard
    assert abs(errors(f"resolution: {d}, rounding: floor").mean() + d / 2) < 4 * standard
    assert abs(errors(f"resolution: {d}, rounding: floor, offset: {d / 2}").mean()) < 4 * standard


def test_readings_are_whole_counts_shifted_by_the_offset():
    encoder = blocks.LIBRARY["Encoder"].output
    given = {"w": 0.0, "resolution": 0.25, "counts_per_turn": 0.0, "noise_std": 0.0}
    assert [encoder(q=q, offset=0.0, rounding="nearest", **given) for q in (0.1, 0.13, -0.3, 0.374)] == [0.0, 0.25, -0.25, 0.25]
    assert [encoder(q=q, offset=0.5, rounding="floor", **given) for q in (0.1, 0.26, -0.3)] == [0.5, 0.75, 0.0]


def test_noise_is_in_counts_and_adds_to_the_error_of_rounding():
    error = errors("resolution: 1e-3, noise_std: 3.0") / 1e-3
    assert error.var() == pytest.approx(3.0**2 + 1 / 12, rel=0.1)
    again = errors("resolution: 1e-3, noise_std: 3.0") / 1e-3
    assert np.array_equal(error, again)


def test_a_torque_sensor_scales_shifts_and_adds_noise():
    record = run("  tau: {type: Sine, amplitude: 2.0, frequency: 1.0}\n"
                 "  sensor: {type: TorqueSensor, Ts: 0.01, std: 0.1, gain: 1.5, offset: 0.3, in: tau}\n")  # fmt: skip
    noise = record["sensor"] - 1.5 * record["tau"] - 0.3
    assert abs(noise.mean()) < 4 * 0.1 / math.sqrt(len(noise)) and noise.std() == pytest.approx(0.1, rel=0.06)
    assert stats.kstest(noise / 0.1, "norm").pvalue > 0.01


def test_their_outputs_are_measured_and_sampled():
    for name, port in (("Encoder", "q_hat"), ("TorqueSensor", "tau_hat")):
        kind = blocks.LIBRARY[name]
        assert kind.sampled and kind.declared[port].measured


def test_one_encoder_reads_several_joints():
    record = run("  q: {type: Sine, amplitude: [1.0, 2.0], frequency: 0.3}\n"
                 "  encoder: {type: Encoder, Ts: 0.05, resolution: [0.1, 0.25], in: q}\n", 3.0)  # fmt: skip
    hits = record["q"][::5]
    assert record["encoder"][::5] == pytest.approx(np.round(hits / [0.1, 0.25]) * [0.1, 0.25])
    assert np.all(record["encoder"][1:5] == record["encoder"][0])


@pytest.mark.parametrize(("settings", "words"), [
    ({}, "found neither"),
    ({"resolution": 1e-3, "counts_per_turn": 2000}, "found both"),
    ({"resolution": [1e-3, 0.0]}, "every element must be above 0"),
    ({"resolution": -1.0}, "must be at least 0, found -1"),
    ({"resolution": 1.0, "rounding": "up"}, "'up' is not one of nearest, floor"),
])  # fmt: skip
def test_settings_that_make_no_encoder_are_refused(settings, words):
    with pytest.raises(bs.DiagramError, match=words):
        blocks.LIBRARY["Encoder"](Ts=0.01, **settings)


def test_compiled_and_interpreted_runs_are_equal_bit_for_bit():
    text = MOTION + ("  encoder: {type: Encoder, Ts: 0.01, counts_per_turn: 500, noise_std: 0.4, in: ref.q}\n"
                     "  counter: {type: Encoder, Ts: 0.02, resolution: 0.01, rounding: floor, in: ref.qd}\n"
                     "  sensor: {type: TorqueSensor, Ts: 0.01, std: 0.1, in: ref.qdd}\n")  # fmt: skip
    slow, fast = (run(text, 5.0, engine=engine) for engine in ("python", "compiled"))
    assert all(np.array_equal(slow[name], fast[name]) for name in slow)


def test_a_noisy_sensor_filters_delays_shifts_adds_noise_and_rounds():
    text = "  y: {type: Sine, amplitude: 2.0, frequency: 0.7, bias: 1.0}\n"
    text += "  plain: {type: NoisySensor, Ts: 0.01, in: y}\n"
    late = "type: NoisySensor, filter: 5.0, delay: 0.03, initial: 1.0, Ts: 0.01, in: y"
    text += f"  clean: {{{late}}}\n  s: {{std: 0.3, offset: 0.5, resolution: 0.25, {late}}}\n"
    record = run(text, stop=40.0)
    a = math.exp(-2 * math.pi * 5.0 * 0.01)
    low = signal.lfilter([1 - a], [1, -a], record["y"], zi=[a * record["y"][0]])[0]  # starts at the first reading
    late = np.concatenate([np.full(3, 1.0), low[:-3]])
    assert record["clean"] == pytest.approx(late, abs=1e-12)
    assert np.array_equal(record["plain"], record["y"])
    assert np.array_equal(record["s"] / 0.25, np.round(record["s"] / 0.25))
    error = record["s"] - late
    variance = 0.3**2 + 0.25**2 / 12  # as its `variance` says
    assert blocks.LIBRARY["NoisySensor"].variance(0.3, 0.25) == pytest.approx(variance)
    assert error.mean() == pytest.approx(0.5, abs=4 * math.sqrt(variance / len(error)))
    assert error.var() == pytest.approx(variance, rel=4 * math.sqrt(2 / len(error)))


def test_a_delayed_sensor_lets_nothing_pass_at_once_and_its_delay_is_whole_samples():
    loop = "  u: {type: Sum, signs: '+-', in: [r, s]}\n  r: {type: Step}\n"
    record = run(loop + "  s: {type: NoisySensor, delay: 0.02, Ts: 0.01, in: u}\n", stop=0.05)
    assert list(record["u"]) == [1, 1, 0, 0, 1, 1]  # 1 less itself two samples ago
    with pytest.raises(bs.DiagramError, match="algebraic loop"):
        run(loop + "  s: {type: NoisySensor, Ts: 0.01, in: u}\n", stop=0.05)
    with pytest.raises(bs.DiagramError, match=r"delay: must be a whole multiple of Ts = 0.01 s, .* found 0.015"):
        run("  y: {type: Clock}\n  s: {type: NoisySensor, delay: 0.015, Ts: 0.01, in: y}\n")


@pytest.mark.parametrize("method", ["difference", "filtered", "observer"])
def test_a_speed_from_counts_is_the_filter_it_says(method):
    text = f"{MOTION}  e: {{type: Encoder, resolution: 1e-3, Ts: 0.01, in: ref.q}}\n"
    record = run(text + f"  v: {{type: SpeedFromEncoder, method: {method}, bandwidth: 8.0, Ts: 0.01, in: e}}\n", stop=5.0)
    a, Ts = math.exp(-2 * math.pi * 8.0 * 0.01), 0.01
    if method == "observer":  # two poles a: V/Q = (1 - a)^2 z (z - 1) / Ts / (z - a)^2
        num, den = np.array([1, -1, 0]) * (1 - a) ** 2 / Ts, [1, -2 * a, a * a]
    else:
        num, den = np.array([1, -1]) / Ts, [1]
        if method == "filtered":
            num, den = (1 - a) * num, [1, -a]
    from_first = record["e"] - record["e"][0]  # before the start it stood still
    assert record["v"] == pytest.approx(signal.lfilter(num, den, from_first), abs=1e-8)
    settled = record.t > 0.5
    assert record["v"][settled] == pytest.approx(np.ravel(record["ref.qd"])[settled], abs=0.25)
