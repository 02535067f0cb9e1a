"""The duration of a run as an unknown, against closed forms; free switching times; a clock that is drawn."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest
import yaml
from scipy.optimize import minimize

import blocksim as bs
from blocksim.planning.design.bench import Bench
from blocksim.planning.design.file import load_design

STEP = """
format: 1
simulate: {stop: 6.0, solver: rk4, step: 0.01, every: 0.01}
blocks:
  u:   {type: Constant, value: 1.0}
  lag: {type: FirstOrderLag, k: 2.0, T: 0.5, in: u}
log: [u, lag]
"""
t = np.arange(601) * 0.01
#: Of y = k (1 - exp(-t / T)) per relative change of k and of T, in noise of 0.1.
BY_GAIN = 20.0 * (1 - np.exp(-t / 0.5))
BY_LAG = -20.0 * t / 0.5 * np.exp(-t / 0.5)


def keys(parameter, accuracy, **more):
    return {"design": "x", "diagram": STEP, "parameters": [parameter], "outputs": {"lag": 0.1}, "criterion": "time",
            "accuracy": {parameter: accuracy}, "vary": {"duration": {"min": 0.2, "max": 6.0}},
            "search": {"simulations": 150, "candidates": 8}, **more}  # fmt: skip


def test_the_shortest_run_for_an_accuracy_that_one_run_reaches(tmp_path):
    result = bs.design(keys("lag.k", 0.01), out=tmp_path)
    needed = t[np.flatnonzero(np.cumsum(BY_GAIN**2) >= 1 / 0.01**2)[0]]
    assert result.duration == pytest.approx(needed, abs=0.021) and result.criterion == pytest.approx(needed, rel=0.02)
    assert result.criterion_before == pytest.approx(6.0)  # the run as it was teaches more than asked for, and lasts 6 s
    assert "duration" in str(result) and result.params == {} and result.predicted.relative_std["lag.k"] < 0.0102
    written = yaml.safe_load((tmp_path / "diagram.yaml").read_text(encoding="utf-8"))
    assert written["simulate"]["stop"] == pytest.approx(result.duration)
    assert bs.simulate(str(tmp_path / "diagram.yaml")).t[-1] == pytest.approx(result.duration)


def test_the_best_length_of_a_run_that_is_repeated():
    """The lag shows only while the step response rises: T / I(T) is least where I(T) = T I'(T)."""
    result = bs.design(keys("lag.T", 0.001))
    needed = t[1:] / np.cumsum(BY_LAG**2)[1:] / 0.001**2
    assert result.criterion == pytest.approx(needed.min(), rel=0.01)
    assert result.duration == pytest.approx(t[1 + needed.argmin()], rel=0.05)


def test_way_points_and_sweeps_are_stretched_to_the_duration():
    points = {"u": {"family": "polynomial", "points": 2, "min": -1.0, "max": 1.0}, "duration": {"min": 1.0, "max": 6.0}}
    limited = keys("lag.k", 0.02, vary=points, limits={"u.qd": {"peak": 1.5}})
    limited["diagram"] = STEP.replace("in: u}", "in: u.q}").replace("{type: Constant, value: 1.0}",
        "{type: PolynomialTrajectory, times: [0, 6], points: [[0, 1]]}").replace("log: [u,", "log: [u.q,")  # fmt: skip
    result = bs.design(limited)
    assert result.settings["u"]["times"][-1] == pytest.approx(result.duration) and result.duration < 5.9
    assert not any(margin.broken for margin in result.margins)
    bench = Bench(load_design(keys("lag.k", 0.02, vary={"u": {"family": "chirp", "f_min": 0.1, "f_max": 1.0, "peak": 1.0},
                                                       "duration": {"min": 1.0, "max": 6.0}})))  # fmt: skip
    assert bench.settings_of(np.array([0.0, 1.0, 0.0, 0.5]))["u"]["duration"] == pytest.approx(3.5)


def test_a_campaign_counts_the_seconds_of_each_experiment():
    campaign = bs.Campaign(keys("lag.k", 0.01), guess={"lag.k": 1.8})
    result = campaign.design()
    record = bs.simulate(result.diagram)
    campaign.learn(result, record)
    assert campaign.seconds == pytest.approx(result.duration) and campaign.values["lag.k"] == pytest.approx(2.0, rel=1e-4)
    with pytest.raises(bs.RecordError, match="the experiment of the design has"):
        campaign.learn(result, bs.simulate(result.diagram, stop=6.0))


def test_switching_times_that_are_free():
    """dx/dT of T x' + x = u with u = +1, -1, +1: the two best instants by an independent search over times."""

    def power(times):
        grid = np.arange(0, 6.0005, 0.01)
        psi = np.zeros(len(grid))
        for at, size in ((0.0, 1.0), (times[0], -2.0), (times[1], 2.0)):
            since = np.maximum(grid - at, 0.0)
            psi += size * -since * np.exp(-since)
        return float(psi @ psi)

    pairs = itertools.combinations(np.arange(0.25, 6.0, 0.25), 2)
    start = max(pairs, key=power)
    best = minimize(lambda x: -power(np.sort(x)), start, method="Nelder-Mead", options={"xatol": 1e-4})
    result = bs.design({
        "design": "x", "diagram": STEP.replace("k: 2.0, T: 0.5", "k: 1.0, T: 1.0"), "parameters": ["lag.T"],
        "outputs": {"lag": 0.01}, "vary": {"u": {"family": "switching", "switches": 2, "peak": 1.0, "least": 0.05}},
        "limits": {"u": {"peak": 1.0}}, "search": {"simulations": 1200, "candidates": 24}})  # fmt: skip
    assert result.settings["u"]["times"][1:3] == pytest.approx(np.sort(best.x), rel=0.01)
    assert result.predicted.std["lag.T"] == pytest.approx(0.01 / math.sqrt(-best.fun), rel=1e-3)
    with pytest.raises(bs.DiagramError, match="do not fit"):
        Bench(load_design(keys("lag.k", 0.1, vary={"u": {"family": "switching", "switches": 9, "least": 1.0, "peak": 1.0}})))


def test_a_clock_that_is_drawn():
    """A slow lag wants long stretches: the drawn clock beats the shortest one after a few candidates."""
    slow = STEP.replace("T: 0.5", "T: 3.0")
    vary = {"u": {"family": "binary", "clock": [0.05, 1.0], "peak": 1.0}}
    bench = Bench(load_design(keys("lag.T", 0.1, diagram=slow, vary=vary)))
    x = np.concatenate([np.resize([1.0, -1.0], 120), [1.0]])
    signs = bench.settings_of(x)["u"]["signs"]
    assert len(signs) == 120 and {len(part) for part in signs.replace("+-", "+ -").replace("-+", "- +").split()} == {20}
    assert bench.try_out(x).criterion < 0.5 * bench.try_out(np.append(x[:-1], -1.0)).criterion
    with pytest.raises(bs.DiagramError, match=r"a time, or \[shortest, longest\]"):
        Bench(load_design(keys("lag.T", 0.1, vary={"u": {"family": "binary", "clock": [1.0, 0.1], "peak": 1.0}})))
