"""The runs of a study: in this process, in worker processes beside it, or on a Dask cluster; the same numbers everywhere.

A worker is given a Job once (the diagrams as text, what to collect) and then batches; it sends back one line of JSON per run.
Identification is mostly Python and numpy, which threads of one process do not speed up, hence processes. Linear algebra keeps to
one thread everywhere: sums split over threads round differently, and as many processes as cores leave no core idle anyway.
"""

from __future__ import annotations

import contextlib
import functools
import os
import pickle
import subprocess
import sys
import threading
import time
import warnings
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

from ...errors import BlocksimError, StudyError
from ...simulation.many.lanes import whole_lanes
from .batch import Batch, Job, ResultLines, run_batch

#: Runs of the first batches; later ones take about this long [s], so that little is lost by an interruption.
FIRST_BATCH, BATCH_SECONDS, MOST_RUNS = 4, 1.0, 500
#: How often a worker that dies is replaced, and how often one batch may end a worker.
MOST_DEATHS = 3
SINGLE = {"OPENBLAS_NUM_THREADS": "1", "OMP_NUM_THREADS": "1", "MKL_NUM_THREADS": "1", "VECLIB_MAXIMUM_THREADS": "1"}
Deliver = Callable[[ResultLines], None]


# ---- what is to be done -----------------------------------------------------------------------------------------------


class PendingRuns:
    """The runs still to be made, given out in batches of about BATCH_SECONDS; safe between threads."""

    def __init__(self, runs: Sequence[int], piece: Callable[[Sequence[int]], Batch]):
        self.runs = runs
        self.piece = piece
        self.next = 0
        self.returned: list[Batch] = []
        self.seconds_per_run = 0.0
        self.lock = threading.Lock()

    def take(self, most: int | None = None) -> Batch | None:
        with self.lock:
            if self.returned:
                return self.returned.pop()
            size = most or self.size()
            runs = self.runs[self.next : self.next + size]
            self.next += len(runs)
        return self.piece(runs) if runs else None

    def size(self) -> int:
        if not self.seconds_per_run:
            return FIRST_BATCH
        size = min(MOST_RUNS, int(BATCH_SECONDS / self.seconds_per_run), (len(self.runs) - self.next) // 4)
        return max(1, whole_lanes(size))

    def give_back(self, batch: Batch) -> None:
        with self.lock:
            self.returned.append(batch)

    def learn(self, runs: int, seconds: float) -> None:
        """How long a run takes, as last seen; a first batch that compiled is soon forgotten."""
        self.seconds_per_run = seconds / max(runs, 1)


# ---- in this process and beside it ------------------------------------------------------------------------------------


def run_local(job: Job, pending: PendingRuns, deliver: Deliver, jobs: int) -> None:
    """Work through what is pending in this process and in jobs - 1 workers beside it."""
    with single_threaded() as steady:
        alone = bool(job.stuck)
        beside = 0 if alone else jobs - 1 if steady else jobs
        team = Team(job, pending, deliver, beside)
        try:
            if steady or alone:
                work_here(job, pending, deliver, team)
            team.join()
        finally:
            team.stop()


def work_here(job: Job, pending: PendingRuns, deliver: Deliver, team: Team) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # what a method has to say of a run stands in its estimates
        while not team.failed and (batch := pending.take()):
            start = time.perf_counter()
            lines = run_batch(job, batch)
            pending.learn(len(lines), time.perf_counter() - start)
            deliver(lines)


class Team:
    """Worker processes, each looked after by a thread that hands it batches."""

    def __init__(self, job: Job, pending: PendingRuns, deliver: Deliver, size: int):
        self.job, self.pending, self.deliver = job, pending, deliver
        self.stopped = threading.Event()
        self.failed: list[BaseException] = []
        self.workers: list[Worker] = []
        self.threads = [threading.Thread(target=self.look_after, daemon=True) for _ in range(size)]
        for thread in self.threads:
            thread.start()

    def look_after(self) -> None:
        """Start a worker, feed it, replace it when it dies; what it had not finished goes back."""
        deaths = 0
        worker: Worker | None = None
        try:
            while not self.stopped.is_set() and not self.failed and (batch := self.pending.take()):
                start = time.perf_counter()
                try:
                    if worker is None:
                        worker = Worker()
                        self.workers.append(worker)
                        send(worker.process.stdin, self.job)
                    lines = worker.run(batch)
                except (EOFError, OSError, pickle.UnpicklingError):
                    self.pending.give_back(batch)
                    if worker is not None:
                        worker.stop()
                    worker, deaths = None, deaths + 1
                    if deaths > MOST_DEATHS and not self.stopped.is_set():
                        raise StudyError(
                            f"a worker process ended {deaths} times without a word, perhaps killed for want of memory. Try "
                            "fewer: --jobs 1. What was computed is kept; --resume goes on."
                        ) from None
                    continue
                self.pending.learn(len(lines), time.perf_counter() - start)
                self.deliver(lines)
        except BaseException as error:
            if not self.stopped.is_set():
                self.failed.append(error)
        finally:
            if worker is not None:
                worker.stop()

    def join(self) -> None:
        """Wait for all, in small steps so that Ctrl-C is heard; what was given back meanwhile is theirs to take."""
        for thread in self.threads:
            while thread.is_alive():
                thread.join(0.1)
        if self.failed:
            raise self.failed[0]

    def stop(self) -> None:
        self.stopped.set()
        for worker in self.workers:
            worker.kill()
        for thread in self.threads:
            thread.join(10)


class Worker:
    """A process that runs batches: pickled to its stdin, results pickled from its stdout."""

    def __init__(self) -> None:
        path = os.pathsep.join(p or os.getcwd() for p in sys.path)
        self.process = subprocess.Popen(
            [sys.executable, "-c", "from blocksim.studies.workers.processes import serve; serve()"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            env={**os.environ, **SINGLE, "PYTHONPATH": path},
        )

    def run(self, batch: Batch) -> ResultLines:
        send(self.process.stdin, batch)
        answer: ResultLines | BaseException = pickle.load(self.process.stdout)  # type: ignore[arg-type]
        if isinstance(answer, BaseException):
            raise answer
        return answer

    def kill(self) -> None:
        self.process.kill()

    def stop(self) -> None:
        """Let it go; it ends when its input does."""
        for stream in (self.process.stdin, self.process.stdout):
            with contextlib.suppress(OSError):
                assert stream is not None
                stream.close()
        try:
            self.process.wait(2)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()


def send(stream: Any, value: Any) -> None:
    pickle.dump(value, stream)
    stream.flush()


def serve() -> None:
    """The life of a worker process: a job, then batches until the input ends. What blocks print goes to stderr."""
    import signal

    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C reaches the whole group; the parent decides
    answers = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)
    warnings.simplefilter("ignore")
    source = sys.stdin.buffer
    with contextlib.suppress(EOFError, BrokenPipeError):
        job = pickle.load(source)
        while True:
            batch = pickle.load(source)
            try:
                answer: Any = run_batch(job, batch)
            except BlocksimError as error:
                answer = StudyError(str(error))
            send(answers, answer)


@contextlib.contextmanager
def single_threaded() -> Iterator[bool]:
    """Keep the linear algebra of this process to one thread meanwhile; False where its library is not known."""
    functions = blas_threads()
    before = [get() for get, _ in functions]
    for _, put in functions:
        put(1)
    try:
        yield bool(functions) or os.environ.get("OPENBLAS_NUM_THREADS") == "1"
    finally:
        for (_, put), count in zip(functions, before, strict=True):
            put(count)


@functools.cache
def blas_threads() -> list[tuple[Callable[[], int], Callable[[int], None]]]:
    """How to ask and set the number of threads of the OpenBLAS libraries that come with numpy and scipy."""
    import ctypes
    from importlib import import_module

    functions = []
    for package in ("numpy", "scipy"):
        home = Path(str(import_module(package).__file__)).parent
        for path in [*home.parent.glob(f"{package}.libs/*openblas*"), *home.glob(".dylibs/*openblas*")]:
            with contextlib.suppress(OSError):
                library = ctypes.CDLL(str(path))
                for name in ("scipy_openblas_{}_num_threads64_", "scipy_openblas_{}_num_threads", "openblas_{}_num_threads"):
                    get, put = (getattr(library, name.format(verb), None) for verb in ("get", "set"))
                    if get is not None and put is not None:
                        functions.append((get, put))
                        break
    return functions
