"""Awkward values in lanes: nan and inf in one signal, other first states, limits, tables, memories, noise, lanes that fail."""

from __future__ import annotations

import numpy as np
import pytest

import blocksim as bs
from blocksim.simulation.many import lanes
from blocksim.simulation.many.lanes import why_single

AWKWARD = """format: 1
name: awkward
simulate: {stop: 0.3, solver: rk4, step: 1e-3, math: %s}
blocks:
  wave:    {type: Sine, amplitude: 2.0, frequency: 3.0}
  root:    {type: Function, expression: sqrt(u), in: wave}
  inverse: {type: Function, expression: 1 / u - log(abs(u)), in: ramp}
  ramp:    {type: Ramp, slope: 1.0}
  rough:   {type: WhiteNoise, Ts: 2e-3, std: 0.4}
  bumped:  {type: Sum, in: [wave, rough]}
  limited: {type: PID, kp: 20, ki: 10, kd: 0.3, Ts: 1e-3, limit: 0.7, in: bumped}
  table:   {type: LookupTable, points: [-1, 0, 0.3, 2], values: [0, 1, -1, 4], in: bumped}
  late:    {type: UnitDelay, Ts: 4e-3, in: table}
  counted: {type: Encoder, Ts: 1e-3, resolution: 0.01, in: state}
  slope:   {type: Function, expression: "tanh(u1) - 0.3 * u2 * max(u2, -2) + min(u1, 0.2) * sin(7 * u2)", in: [limited, state]}
  state:   {type: Integrator, x: 0.0, in: slope}
  growing: {type: Function, expression: u**3, in: ball}
  ball:    {type: Integrator, x: 0.0, in: growing}
"""
#: Runs of all kinds next to each other; in the fifth a state grows without bound.
TABLE = [
    {},
    {"state.x": -3.0, "late.x": 2.5},
    {"wave.amplitude": 0.0, "ramp.slope": 0.0},
    {"state.x": 1e300, "wave.amplitude": 1e9},
    {"ball.x": 3.0},
    {"limited.limit": 1e-9, "rough.std": 0.0},
    {"wave.amplitude": -1e-320, "wave.phase": 1.0},
    {"ball.x": -0.9, "counted.resolution": 0.7},
    {"state.x": -0.0, "rough.std": 30.0},
    {"wave.frequency": 450.0, "ball.x": 0.99},
]


@pytest.fixture
def always(monkeypatch):
    """Lockstep from the first run on, with two lanes as with eight."""
    monkeypatch.setattr(lanes, "WORTH", 1)
    monkeypatch.setattr(lanes, "FEWEST_WITH_LIBM", 2)


def bits(record: bs.Record) -> dict[str, bytes]:
    """What is logged, every nan being the same."""
    return {name: np.where(np.isnan(record[name]), np.nan, record[name]).tobytes() for name in record}


def end_of(params, seed, ready, engine="compiled"):
    """How a run ends by itself: what it logged, and in which words it failed."""
    try:
        return bits(bs.simulate(ready, params=params, seed=seed, engine=engine)), ""
    except bs.SimulationError as error:
        return bits(error.record), str(error)


@pytest.mark.parametrize("math", ["portable", "libm"])
def test_every_run_ends_as_it_does_alone(always, math):
    ready = bs.experiment(AWKWARD % math)
    assert why_single(ready) == ""
    seeds = [5, 6]
    results = iter(bs.simulate_many(ready, params=TABLE, seeds=seeds, jobs=1, on_error="keep"))
    failed = 0
    for params in TABLE:
        for seed in seeds:
            one = next(results)
            found = (bits(one.record), str(one)) if isinstance(one, bs.SimulationError) else (bits(one), "")
            assert found == end_of(params, seed, ready), params
            failed += isinstance(one, bs.SimulationError)
    assert failed == 4  # two seeds of the state that grows and of that which begins at 1e300
    assert end_of(TABLE[1], 6, ready) == end_of(TABLE[1], 6, ready, "python")


@pytest.mark.parametrize("count", [2, 7, 8, 9, 16, 17])
def test_the_last_lanes_may_be_empty(always, count):
    ready = bs.experiment(AWKWARD % "portable")
    runs = bs.simulate_many(ready, seeds=range(count), jobs=2, collect=lambda record: record["state"])
    assert len({run.tobytes() for run in runs}) == count  # each has noise of its own
    assert np.array_equal(runs[-1], bs.simulate(ready, seed=count - 1, engine="compiled")["state"])


def test_nan_and_inf_of_one_lane_stay_in_it(always):
    ready = bs.experiment(AWKWARD % "portable")
    table = [{"wave.amplitude": a, "ramp.slope": s} for a, s in ((1.0, 0.0), (0.0, 1.0), (-1.0, -1.0), (0.5, 2.0))]
    for row, run in zip(table, bs.simulate_many(ready, params=table, seeds=[1], jobs=1), strict=True):
        t = run.t
        wave = row["wave.amplitude"] * np.sin(2 * np.pi * 3.0 * t)
        with np.errstate(all="ignore"):
            ramp = row["ramp.slope"] * t
            np.testing.assert_allclose(run["root"][1:49], np.sqrt(wave)[1:49], rtol=1e-9)
            np.testing.assert_allclose(run["inverse"], 1 / ramp - np.log(np.abs(ramp)), rtol=1e-12)
        assert np.isfinite(run["state"]).all()


def test_a_run_that_fails_is_raised_as_the_first_of_the_table(always):
    with pytest.raises(bs.SimulationError, match="ball"):
        bs.simulate_many(AWKWARD % "portable", params=TABLE[4:], seeds=[5], jobs=1)
