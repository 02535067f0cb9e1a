"""What depends on time alone is computed once for many runs: with the bits of each by itself, whatever changes between them."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

import blocksim as bs
from blocksim.simulation.experiment import make_experiment
from blocksim.simulation.many import ahead, lanes
from blocksim.simulation.noise import draw_noise
from blocksim.simulation.simulation import Simulation

LOOP = """format: 1
simulate: {stop: 0.3, solver: rk4, step: 1e-3, math: portable}
blocks:
  slow:    {type: Sine, frequency: 1.3}
  fast:    {type: FourierTrajectory, base_frequency: 2.0, a: [0.2, 0.1], b: [0.0, 0.3]}
  ref:     {type: Sum, in: [slow, fast.q]}
  error:   {type: Sum, signs: "+-", in: [ref, encoder]}
  pid:     {type: PID, kp: 20, ki: 10, kd: 0.3, Ts: 2e-3, in: error}
  weight:  {type: Sine, amplitude: 0.01, frequency: 0.7}
  effort:  {type: Sum, in: [pid, weight]}
  joint:   {type: GravityJoint, J: 0.02, Fv: 0.05, Fc: 0.1, Ms: 0.03, in: effort}
  encoder: {type: Encoder, resolution: 0.0031416, noise_std: 0.3, Ts: 1e-3, in: joint.q}
  other:   {type: ZeroOrderHold, Ts: 5e-3, in: fast.qd}
log: [ref, fast.qdd, other, pid, joint.q, joint.qdd, weight]
"""
SWITCHED = """format: 1
simulate: {stop: 0.5, solver: rk4, step: 1e-3}
blocks:
  wave:  {type: Sine, frequency: 3.0}
  held:  {type: ZeroOrderHold, Ts: 1e-2, in: wave}
  error: {type: Sum, signs: "+-", in: [held, axis.phi_m]}
  drive: {type: Gain, k: 3.0, in: error}
  axis:  {type: TwoMassRobot, friction: sign, in: drive}
"""


def same(one: bs.Record, other: bs.Record) -> bool:
    return all(np.array_equal(one[name], other[name]) for name in one)


def reads(simulation: Simulation) -> bool:
    return len(simulation.machine.ahead) > 0


@pytest.mark.parametrize("text", [LOOP, LOOP.replace("portable", "libm"), SWITCHED])
def test_runs_that_read_it_have_the_bits_of_runs_that_do_not(text):
    ready = make_experiment(bs.open_diagram(text))
    ready.program.fast()
    first, second, third = (Simulation(ready, {}, draw_noise(ready, 3), "compiled") for _ in range(3))
    assert not reads(first) and reads(second) and third.machine.ahead is second.machine.ahead
    plain = Simulation(bs.experiment(text), {}, draw_noise(ready, 3), "python").run()
    for simulation in (first, second, third):
        assert same(simulation.run(), plain)


@pytest.mark.parametrize("change", [{"slow.amplitude": 0.5}, {"fast.a": [0.1, 0.3]}, {"joint.J": 0.03}, {"pid.kp": 15.0}])
def test_a_change_of_a_source_is_seen_and_one_of_something_else_asks_for_nothing(change):
    ready, kept = make_experiment(bs.open_diagram(LOOP)), []
    ready.program.fast()
    for changes in ({}, {}, change, change, {}, change):
        record = bs.simulate(ready, params=changes, engine="compiled")
        assert same(record, bs.simulate(ready, params=changes, engine="python"))
        kept.append(ready.shared.values)
    assert kept[0] is None and kept[1] is not None
    assert all(values is kept[1] for values in kept[2:]) is ("slow.amplitude" not in change)


def test_a_source_that_is_changed_on_the_way_is_computed_from_there_on():
    records = []
    for engine in ("compiled", "python"):
        ready = bs.experiment(LOOP)
        ready.program.fast()
        for _ in range(2):
            simulation = Simulation(ready, {}, draw_noise(ready, 3), engine)
        assert reads(simulation) is (engine == "compiled")
        simulation.step(0.1)
        simulation.set("slow.amplitude", 0.2)
        records.append(simulation.run())
    assert same(*records)


def test_lanes_and_threads_read_it_and_lanes_with_sources_of_their_own_do_not(monkeypatch):
    monkeypatch.setattr(lanes, "WORTH", 1)
    ready = bs.experiment(LOOP)
    for table in ([{"joint.J": 0.02 + 0.001 * k} for k in range(9)], [{"slow.amplitude": 0.1 * k} for k in range(9)]):
        plain = [bs.simulate(ready, params=row, seed=1, engine="python") for row in table]
        for jobs in (1, 2):
            together = bs.simulate_many(ready, params=table, seeds=[1], jobs=jobs)
            assert all(same(*pair) for pair in zip(together, plain, strict=True))
        with ThreadPoolExecutor(3) as pool:
            records = list(pool.map(lambda row: bs.simulate(ready, params=row, seed=1), table))
        assert all(same(*pair) for pair in zip(records, plain, strict=True))


def test_large_diagrams_read_it_too():
    lines = [f"  lag{k}: {{type: FirstOrderLag, T: 0.1, in: {f'lag{k - 1}' if k else 'held'}}}" for k in range(70)]
    waves = [f"  wave{k}: {{type: Sine, frequency: {k + 1}}}" for k in range(6)]
    total = (
        "  total: {type: Sum, in: [wave0, wave1, wave2, wave3, wave4, wave5]}\n  held: {type: ZeroOrderHold, Ts: 1e-3, in: total}"
    )
    text = "\n".join(
        ["format: 1\nsimulate: {stop: 0.05, solver: rk4, step: 1e-3}\nblocks:", *waves, total, *lines, "log: [lag69, total]"]
    )
    ready = bs.experiment(text)
    ready.program.fast()
    plain = bs.simulate(ready, engine="python")
    for k in range(3):
        simulation = Simulation(ready, {}, draw_noise(ready, 0), "compiled")
        assert reads(simulation) is (k > 0) and same(simulation.run(), plain)


def test_what_would_take_too_much_memory_is_not_kept(monkeypatch):
    monkeypatch.setattr(ahead, "MOST_SHARED", 100)
    ready = bs.experiment(LOOP)
    ready.program.fast()
    for _ in range(3):
        assert not reads(Simulation(ready, {}, draw_noise(ready, 3), "compiled"))


def test_noise_that_a_program_does_not_read_is_not_drawn():
    loud = bs.experiment(LOOP)
    assert len(draw_noise(loud, 1).values) == 301
    quiet = bs.open_diagram(LOOP)
    quiet.nodes["encoder"].block = quiet.nodes["encoder"].block.ideal()
    assert len(draw_noise(bs.experiment(quiet), 1).values) == 0
