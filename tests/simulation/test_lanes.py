"""Runs in lockstep: each lane has the bits of its run alone, under CPython, compiled, by LLVM and by numba, in threads."""

from __future__ import annotations

import numpy as np
import pytest

import blocksim as bs
from blocksim.simulation.many import lanes
from blocksim.simulation.many.lanes import batches, why_single

LOOP = """format: 1
name: loop
simulate: {stop: 0.4, solver: rk4, step: 1e-3, math: portable}
blocks:
  ref:     {type: Sine, amplitude: 1.0, frequency: 1.3}
  error:   {type: Sum, signs: "+-", in: [ref, encoder]}
  pid:     {type: PID, kp: 20, ki: 10, kd: 0.3, Ts: 1e-3, in: error}
  joint:   {type: GravityJoint, J: 0.02, Fv: 0.05, Fc: 0.1, Ms: 0.03, in: pid}
  encoder: {type: Encoder, resolution: 0.0031416, noise_std: 0.3, Ts: 1e-3, in: joint.q}
"""
SMOOTH = """format: 1
simulate: {stop: 0.5, solver: %s, step: 1e-2, every: %s, math: portable}
blocks:
  wave:  {type: Sine, frequency: 1.0}
  slope: {type: Function, expression: tanh(u1) - 0.1 * u2, in: [wave, x]}
  x:     {type: Integrator, in: slope}
%s"""
TABLE = [{"joint.J": 0.02 + 0.001 * k, "joint.Fc": 0.05 * k} for k in range(11)]


@pytest.fixture
def always(monkeypatch):
    """Lockstep from the first run on."""
    monkeypatch.setattr(lanes, "WORTH", 1)


def same(one: bs.Record, other: bs.Record) -> bool:
    return all(np.array_equal(one[name], other[name]) for name in one)


def test_every_lane_has_the_bits_of_its_run_alone(always):
    ready = bs.experiment(LOOP)
    assert why_single(ready) == "" and [len(part) for part in batches([ready] * 11)] == [8, 3]
    together = bs.simulate_many(ready, params=TABLE, seeds=[3], jobs=1)
    threads = bs.simulate_many(ready, params=TABLE, seeds=[3], jobs=2)
    for params, lane, thread in zip(TABLE, together, threads, strict=True):
        alone = bs.simulate(ready, params=params, seed=3, engine="compiled")
        assert same(lane, alone) and same(thread, alone)
        assert lane.provenance == alone.provenance
    assert same(together[4], bs.simulate(ready, params=TABLE[4], seed=3, engine="python"))


@pytest.mark.parametrize("solver", ["euler", "rk4"])
@pytest.mark.parametrize("every", ["1e-2", "3e-3", "5e-2"])
@pytest.mark.parametrize("sampled", ["", "  held: {type: ZeroOrderHold, Ts: 0.02, in: x}\n"])
def test_rows_of_the_log_may_lie_between_steps_and_nothing_need_be_sampled(always, solver, every, sampled):
    ready = bs.experiment(SMOOTH % (solver, every, sampled))
    table = [{"wave.amplitude": 1.0 + k} for k in range(9)]
    assert why_single(ready) == ""
    for params, lane in zip(table, bs.simulate_many(ready, params=table, jobs=1), strict=True):
        assert same(lane, bs.simulate(ready, params=params, engine="compiled"))
    assert same(lane, bs.simulate(ready, params=params, engine="python"))


def test_with_libm_each_lane_has_the_bits_of_its_run_alone(always):
    ready = bs.experiment(LOOP, math="libm")
    assert why_single(ready) == "" and [len(part) for part in batches([ready] * 11)] == [8, 1, 1, 1]
    assert [len(part) for part in batches([ready] * 14, jobs=2)] == [8, 6]
    assert [len(part) for part in batches([ready] * 11, jobs=2)] == [1] * 11  # two cores have them sooner one by one
    together = bs.simulate_many(ready, params=TABLE, seeds=[3], jobs=1)
    for params, lane in zip(TABLE, together, strict=True):
        assert same(lane, bs.simulate(ready, params=params, seed=3, engine="compiled"))
    assert same(together[4], bs.simulate(ready, params=TABLE[4], seed=3, engine="python"))


def test_show_says_how_many_runs_go_and_why(tmp_path):
    from typer.testing import CliRunner

    from blocksim.cli.commands import app

    def shown(text: str) -> str:
        (tmp_path / "loop.yaml").write_text(text)
        return CliRunner().invoke(app, ["show", str(tmp_path / "loop.yaml"), "--schedule"]).output

    assert shown(LOOP).rstrip().endswith("Many runs go eight at a time.")
    assert "elementary functions one by one; math: portable" in shown(LOOP.replace("portable", "libm"))
    assert "one by one: dopri5 chooses its steps" in shown(LOOP.replace("rk4, step: 1e-3", "dopri5"))
    assert "one by one: it has events" in shown(LOOP.replace("Ms: 0.03", "Ms: 0.03, friction: sign"))


def test_processes_have_the_bits_of_threads_and_of_one_run(always):
    from concurrent.futures import ProcessPoolExecutor
    from multiprocessing import get_context

    with ProcessPoolExecutor(1, get_context("spawn")) as pool:
        there = pool.submit(bs.simulate_many, LOOP, params=TABLE[:3], seeds=[3], jobs=1).result()
    for params, record in zip(TABLE, there, strict=False):
        assert same(record, bs.simulate(LOOP, params=params, seed=3, engine="compiled"))


def test_a_lane_that_fails_ends_as_it_would_alone_and_takes_no_other_with_it(always):
    table = [*TABLE[:5], {"joint.J": 1e-60}, *TABLE[5:8]]
    results = bs.simulate_many(LOOP, params=table, on_error="keep")
    assert isinstance(results[5], bs.SimulationError) and results[5].record is not None
    for params, result in zip(table, results, strict=True):
        if params != {"joint.J": 1e-60}:
            assert same(result, bs.simulate(LOOP, params=params))


@pytest.mark.parametrize(
    "options, word", [({"solver": "dopri5"}, "chooses its steps"), ({"solver": "scipy:RK45"}, "not compiled")]
)
def test_why_runs_go_one_by_one(options, word):
    assert word in why_single(bs.experiment(LOOP, **options))


def test_events_make_runs_go_one_by_one():
    assert "events" in why_single(bs.experiment("basics/servo", math="portable"))


@pytest.mark.parametrize("math", ["libm", "portable"])
def test_both_compilers_give_the_same_bits(math, monkeypatch):
    from blocksim.compiler.program import compile_at
    from blocksim.simulation.noise import draw_noise
    from blocksim.simulation.simulation import Simulation

    ready = bs.experiment(LOOP, math=math)
    records = []
    for compiler in ("", "numba"):
        monkeypatch.setenv("BLOCKSIM_COMPILER", compiler)
        simulation = Simulation(ready, {}, draw_noise(ready, 1))
        assert compile_at(ready.program.code, None)(simulation.end, *simulation.machine.stores()) == 0
        records.append(simulation.record())
    assert same(*records)


def test_a_choice_that_does_not_exist_is_refused():
    with pytest.raises(bs.DiagramError, match=r"math: found .* libm or portable is wanted"):
        bs.simulate(LOOP.replace("portable", "fast"))


def test_logs_that_are_kept_share_memory_and_do_not_overlap(always, monkeypatch):
    monkeypatch.setattr(lanes, "MEMORY_PIECE", 8 * 5000)
    memory = lanes.LogMemory(7)
    pieces = [memory.take(size) for size in (2000, 2000, 2000, 9000, 1, 4000)]
    for number, piece in enumerate(pieces):
        piece[:] = number
    assert [len(piece) for piece in pieces] == [2000, 2000, 2000, 9000, 1, 4000]
    assert all((piece == number).all() for number, piece in enumerate(pieces))
    ready, seeds = bs.experiment(LOOP), range(20)
    for seed, record in zip(seeds, bs.simulate_many(ready, seeds=seeds, jobs=2), strict=True):
        assert same(record, bs.simulate(ready, seed=seed, engine="compiled"))
