"""Designs with inputs that are recorded: in a loop the plant alone is fitted, given what drove it; and slopes that are none."""

from __future__ import annotations

import math
from pathlib import Path

import numpy as np
import pytest

import blocksim as bs
from blocksim.planning.design.bench import Bench
from blocksim.planning.design.file import load_design
from blocksim.planning.replication import replicate

#: x' = -x / T + u / T under u = k (r - y), y = x + e: an Euler step of 0.01 s, so that pencil and paper follow it exactly.
LOOP = """
format: 1
simulate: {stop: 5.0, solver: euler, step: 0.01, every: 0.01, seed: 1}
blocks:
  r:      {type: Sine, amplitude: 1.0, frequency: 0.5}
  seen:   {type: TorqueSensor, Ts: 0.01, std: 0.05, in: lag}
  error:  {type: Sum, signs: "+-", in: [r, seen]}
  p:      {type: Gain, k: 8.0, in: error}
  u:      {type: ZeroOrderHold, Ts: 0.01, in: p}
  lag:    {type: FirstOrderLag, k: 2.0, T: 0.5, in: u}
log: [r, u, seen, lag]
"""
KEYS = {"design": "x", "diagram": LOOP, "parameters": ["lag.k", "lag.T"], "outputs": {"seen": 0.05},
        "vary": {"r": {"family": "levels", "clock": 0.25, "peak": 1.0}},
        "search": {"simulations": 120, "candidates": 8}}  # fmt: skip


def lag_slopes(u, k=2.0, T=0.5, dt=0.01):
    """x[n+1] = x[n] + dt (k u[n] - x[n]) / T and its derivatives by log k and log T, u known."""
    x, by_k, by_T = (np.zeros(len(u)) for _ in range(3))
    for n in range(len(u) - 1):
        rate = (k * u[n] - x[n]) / T
        x[n + 1] = x[n] + dt * rate
        by_k[n + 1] = by_k[n] + dt * (k * u[n] - by_k[n]) / T
        by_T[n + 1] = by_T[n] + dt * (-by_T[n] / T - rate)
    return np.stack([by_k, by_T], axis=1)


def test_a_known_drive_is_learnt_from_without_the_loop():
    bench = Bench(load_design({**KEYS, "inputs": ["u"]}))
    x = bench.draw(np.random.default_rng(1))
    ready, numbers = bench.experiment_of(x)
    psi = lag_slopes(bench.run(ready, numbers)["u.y"]) / 0.05
    expected = np.sqrt(np.diag(np.linalg.inv(psi.T @ psi)))
    assert bench.try_out(x).stds == pytest.approx(expected, rel=1e-3)
    assert Bench(load_design(KEYS)).try_out(x).stds[0] > 3 * expected[0]  # the loop holds its output, whatever the gain


def test_what_is_predicted_in_the_loop_is_found():
    """150 experiments with noise that goes around the loop: three standard errors of a standard deviation, a mean, a coverage."""
    result = bs.design({**KEYS, "inputs": ["u"]})
    psi = lag_slopes(bs.simulate(result.diagram)["u"]) / 0.05
    assert list(result.predicted.relative_std.values()) == pytest.approx(np.sqrt(np.diag(np.linalg.inv(psi.T @ psi))), rel=1e-3)
    found = replicate(result, range(150))
    assert found.ratio == pytest.approx(1.0, abs=0.18) and np.abs(found.bias).max() < 0.25
    assert found.coverage == pytest.approx(0.95, abs=0.055)


def test_a_campaign_keeps_what_drove_the_plant():
    campaign = bs.Campaign({**KEYS, "inputs": ["u"]}, guess={"lag.k": 1.7})
    result = campaign.design()
    record = bs.simulate(result.diagram, seed=5)
    campaign.learn(result, record)
    for name, truth in (("lag.k", 2.0), ("lag.T", 0.5)):
        assert campaign.values[name] == pytest.approx(truth, rel=4 * campaign.relative_std[name])
    with pytest.raises(bs.RecordError, match=r"the record has no 'u\.y', which the design takes as known"):
        campaign.learn(result, {"seen.tau_hat": record["seen"]})


def test_a_source_that_cannot_be_played_is_not_judged_but_replaced():
    """The loop was shaken by a smooth multisine, which its record every 2 ms does not hold; the bits that take its place do."""
    example = Path(__file__).parents[2] / "examples" / "loop_design.yaml"
    result = bs.design(example)
    assert result.before is None and result.predicted is not None
    assert all(math.isfinite(share) for share in result.predicted.relative_std.values())
    words = str(result).splitlines()
    assert "worst not judged before" in words[0]
    assert words[1].startswith("what was there before is not judged: inputs: driven by u.y as recorded every 0.002 s")


def test_mistakes_with_known_inputs_are_told():
    beside = LOOP.replace("in: lag}", "in: sum}").replace("log:", "  sum:    {type: Sum, in: [lag, r]}\nlog:")
    with pytest.raises(bs.DiagramError, match=r"'r' varies, and drives what is read beside u\.y"):
        Bench(load_design({**KEYS, "inputs": ["u"], "diagram": beside}))
    with pytest.raises(bs.DiagramError, match="inputs: "):
        Bench(load_design({**KEYS, "inputs": ["w"]}))
    with pytest.raises(bs.DiagramError, match=r"p\.k is dead here"):
        bs.design({**KEYS, "inputs": ["u"], "parameters": ["lag.k", "p.k"]})


def test_an_input_that_changes_between_two_rows_is_refused():
    """The hold of 0.01 s in a log of 0.05 s, in a loop with a loud sensor: what is read every 0.05 s is not what acted."""
    loud = LOOP.replace("std: 0.05", "std: 0.5").replace("every: 0.01", "every: 0.05").replace("in: lag}", "in: double}", 1)
    loud = loud.replace("log:", "  double: {type: Gain, k: 40.0, in: lag}\nlog:").replace("k: 8.0", "k: 0.2")
    keys = {**KEYS, "diagram": loud, "inputs": ["u"], "outputs": {"double": 0.5}}
    with pytest.raises(
        bs.DiagramError, match=r"inputs: driven by u\.y as recorded every 0\.05 s, 'double\.y' is .* away from what it"
    ):
        Bench(load_design(keys))
    Bench(load_design({**keys, "simulate": {"every": 0.01}, "every": 0.05}))


def test_a_search_does_not_believe_slopes_that_are_none():
    """The logistic map settles below 3, and is chaos above, where differences are large and mean nothing: it stays below."""
    chaos = """
format: 1
simulate: {stop: 3.0, solver: euler, step: 0.01}
blocks:
  x:    {type: UnitDelay, Ts: 0.01, x: 0.3, in: map}
  gain: {type: Gain, k: 2.0, in: x}
  add:  {type: Constant, value: 0.0}
  sum:  {type: Sum, in: [gain, also]}
  also: {type: Function, expression: "u1 * u2", in: [add, x]}
  map:  {type: Function, expression: "u1 * (1 - u2)", in: [sum, x]}
  y:    {type: Gain, k: 1.0, in: x}
"""
    keys = {"design": "x", "diagram": chaos, "parameters": ["gain.k"], "outputs": {"y": 0.01},
            "vary": {"add.value": {"min": 0.0, "max": 1.99}}, "search": {"simulations": 150, "candidates": 24}}  # fmt: skip
    bench = Bench(load_design(keys))
    assert bench.try_out(np.array([1.0])).criterion < 1e-6  # what it would believe
    assert not bench.try_out(np.array([1.0]), math.inf).sees
    result = bs.design(keys)
    assert math.isfinite(result.predicted.relative_std["gain.k"]) and result.criterion == pytest.approx(
        result.predicted.relative_std["gain.k"], rel=0.05
    )
