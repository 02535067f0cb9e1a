"""A study on a real Dask cluster of two worker processes: the same tables, also when a worker is killed on the way."""

from __future__ import annotations

import contextlib
import os
import signal
import socket
import subprocess
import sys
import threading
import time

import pytest
import study_toys as toys

import blocksim as bs

distributed = pytest.importorskip("distributed", reason="Dask is not installed: pip install 'blocksim[distributed]'")

STUDY = {"study": "A level", "diagram": toys.LEVEL, "repeat": 40, "seed": 3, "sweep": {"noise.std": [0.1, 0.5]},
         "collect": ["mean", {"signal": "level", "statistic": "final"}]}  # fmt: skip
TABLES = ("estimates.csv", "scores.csv", "signals.csv")


@pytest.fixture(scope="module")
def cluster():
    with distributed.LocalCluster(n_workers=2, threads_per_worker=1, processes=True, dashboard_address=":0") as made:
        yield made


@pytest.fixture(scope="module")
def expected(tmp_path_factory):
    folder = tmp_path_factory.mktemp("local")
    bs.run_study(STUDY, jobs=1, out=folder)
    return {name: (folder / name).read_bytes() for name in TABLES}


def test_a_cluster_gives_the_same_tables(cluster, expected, tmp_path):
    bs.run_study(STUDY, scheduler=cluster.scheduler_address, out=tmp_path)
    assert {name: (tmp_path / name).read_bytes() for name in TABLES} == expected


def test_real_identifiers_give_the_same_bytes_here_beside_and_on_a_cluster(cluster, tmp_path):
    """Smoother, least squares and DIDIM of a joint in its loop, and a Cramer-Rao bound: BLAS, twins and all."""
    bound = {"parameters": ["joint.J", "joint.Fv"], "outputs": {"joint.q": 1e-3}, "inputs": ["pid"]}
    study = {"study": "Joint", "diagram": "one_dof/identify", "simulate": {"stop": 2}, "params": {"encoder.noise_std": 0.3},
             "repeat": 6, "seed": 5, "bound": bound}  # fmt: skip
    places = {"one": {"jobs": 1}, "two": {"jobs": 2}, "dask": {"scheduler": cluster.scheduler_address}}
    for name, where in places.items():
        made = bs.run_study(study, out=tmp_path / name, report=False, **where)
        assert (made.scores["crb_ratio"] > 0).sum() == 4  # two parameters of two methods
    for table in ("estimates.csv", "scores.csv"):
        assert len({(tmp_path / name / table).read_bytes() for name in places}) == 1


@pytest.mark.skipif(os.name != "posix", reason="no such signals on this system")
def test_a_killed_worker_loses_nothing_and_counts_nothing_twice(cluster, expected, tmp_path):
    slow = {**STUDY, "params": {"mean.wait": 0.05}}
    with distributed.Client(cluster, set_as_default=False) as client:
        before = set(client.run(os.getpid).values())
    victim = min(before)

    def kill_one():
        file, until = tmp_path / "results.jsonl", time.monotonic() + 60
        while time.monotonic() < until and not (file.exists() and file.read_bytes().count(b"\n") > 3):
            time.sleep(0.02)
        os.kill(victim, signal.SIGKILL)

    killer = threading.Thread(target=kill_one)
    killer.start()
    bs.run_study(slow, scheduler=cluster.scheduler_address, out=tmp_path)
    killer.join()
    lines = (tmp_path / "results.jsonl").read_bytes().splitlines()
    assert len(lines) == 81 and len({line.split(b",")[0] for line in lines[1:]}) == 80
    assert {name: (tmp_path / name).read_bytes() for name in TABLES} == expected
    with pytest.raises(ProcessLookupError):
        os.kill(victim, 0)


@pytest.mark.skipif(os.name != "posix", reason="no such signals on this system")
def test_a_scheduler_that_dies_ends_the_study_in_words_and_resume_goes_on(expected, tmp_path, monkeypatch):
    from blocksim.studies.workers import cluster as study_cluster

    monkeypatch.setattr(study_cluster, "SCHEDULER_PATIENCE", 5)
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        address = f"tcp://127.0.0.1:{free.getsockname()[1]}"
    path = os.pathsep.join(sys.path)
    program = [sys.executable, "-m", "distributed.cli.dask_scheduler", "--host", address, "--no-dashboard"]
    scheduler = subprocess.Popen(program, env={**os.environ, "PYTHONPATH": path}, stderr=subprocess.DEVNULL)
    worker = [sys.executable, "-m", "distributed.cli.dask_worker", address, "--nthreads", "1", "--no-nanny", "--no-dashboard"]
    helper = subprocess.Popen(
        [*worker, "--death-timeout", "5"], env={**os.environ, "PYTHONPATH": path}, stderr=subprocess.DEVNULL
    )
    slow = {**STUDY, "params": {"mean.wait": 0.05}}
    until = time.monotonic() + 60
    while time.monotonic() < until:
        with contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", int(address.rpartition(":")[2])), 1):
            break
        time.sleep(0.1)

    def kill_it():
        file, until = tmp_path / "results.jsonl", time.monotonic() + 60
        while time.monotonic() < until and not (file.exists() and file.read_bytes().count(b"\n") > 3):
            time.sleep(0.02)
        scheduler.kill()

    killer = threading.Thread(target=kill_it)
    monkeypatch.setattr(study_cluster, "WORKER_PATIENCE", 60)
    try:
        killer.start()
        with pytest.raises(bs.StudyError) as caught:
            bs.run_study(slow, scheduler=address, out=tmp_path)
        killed = time.monotonic()
        killer.join()
    finally:
        for process in (scheduler, helper):
            process.kill()
            process.wait()
    assert time.monotonic() - killed < 60
    assert str(caught.value).startswith(f"the Dask scheduler '{address}' is gone (") and "--resume" in str(caught.value)
    kept = (tmp_path / "results.jsonl").read_bytes().count(b"\n") - 1
    assert 3 <= kept < 80
    bs.run_study(slow, jobs=1, out=tmp_path, resume=True)
    assert {name: (tmp_path / name).read_bytes() for name in TABLES} == expected


def test_a_scheduler_out_of_reach(tmp_path, monkeypatch):
    from blocksim.studies.workers import cluster as study_cluster

    monkeypatch.setattr(study_cluster, "SCHEDULER_PATIENCE", 1)
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        address = f"tcp://127.0.0.1:{free.getsockname()[1]}"
    with pytest.raises(bs.StudyError, match=f"the Dask scheduler '{address}' cannot be reached"):
        bs.run_study(STUDY, scheduler=address, out=tmp_path)
    assert bs.run_study(STUDY, jobs=1, out=tmp_path, resume=True).about["complete"]


@pytest.mark.parametrize("address", ["nonsense", "tcp://localhost:abc", "tcp://localhost", ""])
def test_an_address_that_is_none(address, tmp_path):
    with pytest.raises(bs.StudyError, match=f"--scheduler: found '{address}'. Host and port .* tcp://192.168.0.5:8786"):
        bs.run_study(STUDY, scheduler=address, out=tmp_path)


def test_a_scheduler_without_workers(tmp_path, monkeypatch):
    from blocksim.studies.workers import cluster as study_cluster

    monkeypatch.setattr(study_cluster, "WORKER_PATIENCE", 1)
    empty = distributed.LocalCluster(n_workers=0, dashboard_address=":0")
    with empty, pytest.raises(bs.StudyError, match="has no workers"):
        bs.run_study(STUDY, scheduler=empty.scheduler_address, out=tmp_path)
