"""Many runs from one program: their order, their noise, what is kept of them, and runs that fail."""

from __future__ import annotations

import numpy as np
import pytest

import blocksim as bs

NOISY = """format: 1
simulate: {stop: 1, solver: rk4, step: 0.1}
blocks:
  noise: {type: WhiteNoise, Ts: 0.1}
  gain:  {type: Gain, k: 1, in: noise}
"""
GROWING = """format: 1
simulate: {stop: 3}
blocks:
  slope: {type: Function, expression: u**2 + 1, in: x}
  x:     {type: Integrator, in: slope}
"""


def test_sets_outside_seeds_inside():
    records = bs.simulate_many(NOISY, params={"gain.k": [1, 2]}, seeds=[3, 4, 5])
    alone = [bs.simulate(NOISY, params={"gain.k": k}, seed=s) for k in (1, 2) for s in (3, 4, 5)]
    assert all(np.array_equal(many["gain"], one["gain"]) for many, one in zip(records, alone, strict=True))


def test_seeds_may_be_any_iterable():
    assert len(bs.simulate_many(NOISY, params={"gain.k": [1, 2]}, seeds=iter(range(3)))) == 6


def test_a_seed_has_the_same_noise_in_every_set():
    one, two = bs.simulate_many(NOISY, params={"gain.k": [1, 2]}, seeds=[7])
    assert np.array_equal(2 * one["gain"], two["gain"])


def test_a_list_of_sets_is_taken_as_it_is():
    peaks = bs.simulate_many(NOISY, params=[{"gain.k": 0}, {"gain.k": 1, "noise.std": 0}], collect=lambda r: abs(r["gain"]).max())
    assert peaks == [0.0, 0.0]


def test_one_parameter_of_the_diagram_at_a_time():
    text = NOISY.replace("blocks:", "parameters: {Ts: 0.1}\nblocks:").replace("Ts: 0.1}\n  gain", 'Ts: "${Ts}"}\n  gain')
    lengths = bs.simulate_many(text, params={"Ts": [0.1, 0.2]}, collect=lambda r: len(set(r["noise"])))
    assert lengths == [11, 6]


def test_a_failed_run_ends_everything_or_is_kept():
    starts = {"x.x": [0.0, -10.0]}
    with pytest.raises(bs.SimulationError, match="'x'"):
        bs.simulate_many(GROWING, params=starts, stop=2)
    failed, fine = bs.simulate_many(GROWING, params=starts, stop=1.6, on_error="keep")
    assert isinstance(failed, bs.SimulationError) and failed.record.t[-1] < np.pi / 2
    assert fine["x"][-1] == pytest.approx(np.tan(1.6 + np.arctan(-10)), rel=1e-6)


def test_progress_ends_at_one():
    shares: list[float] = []
    bs.simulate_many(NOISY, seeds=range(5), progress=shares.append)
    assert sorted(shares) == pytest.approx([0.2, 0.4, 0.6, 0.8, 1.0])
