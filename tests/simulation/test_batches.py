"""Many runs in several threads: each is bit for bit the one run alone, and what is kept of it stays as it was."""

from __future__ import annotations

import gc
import threading
import tracemalloc

import numpy as np
import pytest

import blocksim as bs
from blocksim.simulation.many.threads import free_cores, others_at_work, share_out
from blocksim.simulation.prepare import experiment

NOISY = """format: 1
simulate: {stop: 2, solver: rk4, step: 0.01}
blocks:
  noise: {type: WhiteNoise, Ts: 0.01}
  rough: {type: RandomBinary, clock: 0.05}
  sum:   {type: Sum, in: [noise, rough]}
  lag:   {type: FirstOrderLag, T: 0.3, in: sum}
  pair:  {type: Mux, in: [lag, noise]}
log:
  - lag
  - pair
  - {signal: rough, every: 0.05}
"""
GROWING = """format: 1
simulate: {stop: 1.6}
blocks:
  slope: {type: Function, expression: u**2 + 1, in: x}
  x:     {type: Integrator, in: slope}
"""
SETS, SEEDS = {"lag.T": [0.2, 0.5, 1.0]}, range(5)


@pytest.fixture(scope="module")
def ready():
    return experiment(NOISY)


@pytest.fixture(scope="module")
def alone(ready):
    return [bs.simulate(ready, params={"lag.T": T}, seed=s) for T in SETS["lag.T"] for s in SEEDS]


def same(one: bs.Record, other: bs.Record) -> bool:
    times = all(np.array_equal(one.time(n), other.time(n)) for n in one)
    return list(one) == list(other) and times and all(np.array_equal(one[n], other[n]) for n in one)


@pytest.mark.parametrize("jobs", [1, 2, 7, None])
def test_every_run_is_the_one_run_alone(ready, alone, jobs):
    records = bs.simulate_many(ready, params=SETS, seeds=SEEDS, jobs=jobs)
    assert all(same(many, one) for many, one in zip(records, alone, strict=True))
    assert all(many.provenance == one.provenance for many, one in zip(records, alone, strict=True))


@pytest.mark.parametrize("jobs", [1, 3])
@pytest.mark.parametrize(
    "collect",
    [
        lambda record: record,
        lambda record: record["lag"],
        lambda record: record["pair"][::7, 1],
        lambda record: {"parts": [record["lag"][5:9], record.t]},
        lambda record: memoryview(record["rough"]),
        lambda record: record.between(0.5, 1.0),
        lambda record: record.select("pair"),
        lambda record: lambda: record["lag"].sum(),
    ],
    ids=["record", "signal", "stride", "inside", "buffer", "between", "select", "closure"],
)
def test_whatever_collect_returns_stays_as_it_was(ready, alone, collect, jobs):
    kept = bs.simulate_many(ready, params=SETS, seeds=SEEDS, jobs=jobs, collect=collect)
    for many, one in zip(kept, map(collect, alone), strict=True):
        if isinstance(one, bs.Record):
            assert same(many, one)
        elif callable(one):
            assert many() == one()
        elif isinstance(one, dict):
            assert all(np.array_equal(a, b) for a, b in zip(many["parts"], one["parts"], strict=True))
        else:
            assert np.array_equal(np.asarray(many), np.asarray(one))


def test_what_collect_puts_elsewhere_stays_too(ready, alone):
    seen = {}

    def collect(record):
        seen[(record.provenance["parameters"]["lag.T"], record.provenance["seed"])] = record["lag"]

    assert bs.simulate_many(ready, params=SETS, seeds=SEEDS, jobs=2, collect=collect) == [None] * 15
    assert all(np.array_equal(seen[(r.provenance["parameters"]["lag.T"], r.provenance["seed"])], r["lag"]) for r in alone)


def test_records_share_no_times_and_no_values(ready):
    one, two = bs.simulate_many(ready, seeds=[1, 2], jobs=1)
    before = two.t.copy(), two["lag"].copy()
    one.t[:] = 0.0
    one["lag"][:] = 0.0
    assert np.array_equal(two.t, before[0]) and np.array_equal(two["lag"], before[1])
    assert bs.simulate(ready, seed=1).t[-1] == 2.0


def test_runs_of_several_lengths_take_turns():
    text = NOISY.replace("blocks:", "parameters: {Ts: 0.01}\nblocks:").replace("every: 0.05", 'every: "${Ts}"')
    grids = {"Ts": [0.01, 0.02, 0.05, 0.01, 0.05]}
    for collect in (None, lambda record: record):
        records = bs.simulate_many(text, params=grids, jobs=2, collect=collect)
        assert [len(r["rough"]) for r in records] == [201, 101, 41, 201, 41]
        assert all(same(many, bs.simulate(text, params={"Ts": Ts})) for many, Ts in zip(records, grids["Ts"], strict=True))


@pytest.mark.parametrize("jobs", [1, 2])
def test_failed_runs_keep_their_records_among_others(jobs):
    starts = [0.0, -10.0, 0.5, -8.0, 0.1, -9.0]
    kept = bs.simulate_many(GROWING, params={"x.x": starts}, jobs=jobs, on_error="keep", collect=lambda r: r["x"])
    for start, found in zip(starts, kept, strict=True):
        try:
            assert np.array_equal(found, bs.simulate(GROWING, params={"x.x": start})["x"])
        except bs.SimulationError as error:
            assert isinstance(found, bs.SimulationError) and str(found) == str(error)
            assert same(found.record, error.record)


@pytest.mark.parametrize("jobs", [1, 2, 4])
def test_the_first_failure_of_the_table_is_raised(jobs):
    def collect(record):
        if record.provenance["seed"] in (6, 7, 20):
            raise LookupError(record.provenance["seed"])

    with pytest.raises(LookupError, match="6"):
        bs.simulate_many(NOISY, seeds=range(40), jobs=jobs, collect=collect)


def test_memory_does_not_grow_with_the_number_of_runs(ready):
    def peak(runs: int) -> int:
        gc.collect()
        tracemalloc.start()
        try:
            bs.simulate_many(ready, seeds=range(runs), jobs=2, collect=lambda r: float(r["lag"][-1]))
            return tracemalloc.get_traced_memory()[1]
        finally:
            tracemalloc.stop()

    peak(10)
    log = 8 * len(bs.start(ready).machine.record)
    many = min(peak(300), peak(300))  # a table of the interpreter may grow once, by 2 MB
    assert many - peak(30) < 270 * log / 5  # numbers, places and free tuples of half a kB a run; a log has 5


def test_what_is_shared_out_within_a_run_stays_in_its_thread():
    def inner(_: int) -> tuple[int, int]:
        return free_cores(), threading.get_ident()

    def outer(_: int) -> tuple[int, list[tuple[int, int]]]:
        return threading.get_ident(), share_out(3, inner, free_cores())

    before = free_cores()
    for thread, parts in share_out(4, outer, 2):
        assert parts == [(1, thread)] * 3
    with others_at_work():
        assert share_out(2, inner, free_cores()) == [(1, threading.get_ident())] * 2
    assert free_cores() == before
