"""The bias that noise left in smoothed motion makes: against closed forms, and against what many runs err by."""

from __future__ import annotations

import math

import numpy as np
import pytest

import blocksim as bs

OPEN = """
format: 1
simulate: {stop: 20, solver: rk4, step: 1e-3, every: 1e-3, seed: 1}
parameters: {noise: 3e-4}
blocks:
  push:   {type: Multisine, f_min: 0.25, f_max: 3.0, lines: 12, amplitude: 0.5, phases: schroeder}
  joint:  {type: GravityJoint, J: 0.02, Fv: 0.05, Fc: 0, Ms: 0, N: 1, in: push}
  seen:   {type: NoisySensor, std: "${noise}", Ts: 1e-3, in: joint.q}
  smooth: {type: IRWSmoother, order: 3, bandwidth: 20, in: seen}
  ls:     {type: LeastSquares, model: joint, skip: 0.5, parameters: [J], known: {Fv: 0.05, Fc: 0, Ms: 0},
           in: {q: smooth.x, qd: smooth.dx, qdd: smooth.ddx, tau: push}}
log: [joint.qdd]
"""
THIRD = 1 / 3


def told(estimates):
    return [text for text in (*estimates.warnings, *estimates.remarks) if "left in the motion" in text]


def test_an_inertia_shrinks_by_the_share_of_noise_in_the_acceleration():
    """-var(noise of qdd) / mean(qdd^2): white noise through 1 / (1 + (w / w0)^6), differentiated twice."""
    record = bs.simulate(OPEN)
    w0, Ts, order = 2 * math.pi * 20, 1e-3, 6
    passed = math.pi / order / math.sin(5 * math.pi / order) * (1 - 5 / order)  # of x^4 / (1 + x^6)^2 over all x
    noise = (3e-4) ** 2 * Ts / math.pi * w0**5 * passed
    share = noise / np.mean(record["joint.qdd"][500:-500] ** 2)
    found = record.estimates["ls"]
    said = found.details["left_noise_bias"][0] / found["J"].value
    assert said == pytest.approx(-share, rel=0.08)  # the level of the noise is known within 2 %
    assert found["J"].value / 0.02 - 1 == pytest.approx(-share, rel=THIRD)  # and that is what it is off by
    (text,) = told(found)
    assert text in found.warnings and "J -" in text and "more than the 95 % interval of J" in text


def test_a_robot_with_two_encoders_errs_by_what_is_told():
    runs = [bs.simulate("intervals/two_encoders", seed=seed).estimates["ls"] for seed in (1, 2, 3)]
    for name in ("Jm", "Ja", "k1", "d"):
        place = list(runs[0]).index(name)
        error = np.mean([run[name].value - run[name].truth for run in runs])
        said = np.mean([run.details["left_noise_bias"][place] for run in runs])
        assert abs(said - error) < THIRD * abs(error), name


def test_noise_around_a_loop_is_told_without_a_number():
    found = bs.simulate("intervals/joint").estimates
    (text,) = told(found["ls"])
    assert text in found["ls"].remarks and "bias: told" in text and "%" not in text.replace("95 %", "")
    assert "left_noise_bias" not in found["ls"].details
    assert not told(bs.simulate("intervals/joint", params={"shake": 2e-5}).estimates["ls"])


def test_an_encoder_that_is_only_differentiated_is_named():
    """Its inertia is 99 % off. True motion may be as rough, and is exact."""
    found = bs.simulate("one_dof/methods").estimates
    assert abs(found["raw"]["J"].error) > 0.9 * 0.02
    assert any("J" in text for text in told(found["raw"]))
    exact = OPEN.replace(
        "{q: smooth.x, qd: smooth.dx, qdd: smooth.ddx, tau: push}", "{q: joint.q, qd: joint.qd, qdd: joint.qdd, tau: push}"
    )
    shaken = exact.replace(
        "in: push}\n  seen",
        "in: drive}\n  shake:  {type: WhiteNoise, std: 0.2, Ts: 1e-3}\n  drive:  {type: Sum, in: [push, shake]}\n  seen",
    )
    assert shaken.count("drive") == 2 and not told(bs.simulate(shaken.replace("tau: push", "tau: drive")).estimates["ls"])


def test_little_noise_or_a_narrow_smoother_is_not_worth_a_word():
    assert not told(bs.simulate(OPEN, params={"noise": 1e-6}).estimates["ls"])
    assert not told(bs.simulate(OPEN, params={"ls.bias": "off"}).estimates["ls"])


def test_a_decimation_takes_noise_away():
    """From 1 kHz to 25 Hz: what is left above 10 Hz is gone, and most of the noise of an acceleration was there."""
    whole, slow = (bs.simulate(OPEN, params={"ls.decimate": n}).estimates["ls"] for n in (1, 40))
    w = np.linspace(0, 10, 10_000)  # Hz
    kept, all_of_it = (np.trapezoid(x**4 / (1 + (x / 20) ** 6) ** 2, x) for x in (w, np.linspace(0, 500, 100_000)))
    biases = [one.details["left_noise_bias"][0] for one in (whole, slow)]
    assert biases[1] / biases[0] == pytest.approx(kept / all_of_it, rel=0.15)
