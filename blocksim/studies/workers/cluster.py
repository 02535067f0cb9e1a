"""The runs of a study on a Dask cluster: the same batches, the same numbers."""

from __future__ import annotations

import contextlib
import re
import time
from typing import Any

from ...errors import BlocksimError, StudyError
from ...simulation.many.lanes import whole_lanes
from .batch import Batch, Job, reason_of, run_batch
from .processes import MOST_DEATHS, MOST_RUNS, Deliver, PendingRuns

#: Seconds to wait for a Dask scheduler, whether to be found or after it fell silent, and for its first worker.
SCHEDULER_PATIENCE, WORKER_PATIENCE = 15, 15
#: Checked first: a Client that cannot read its address takes half a minute to go.
ADDRESS = re.compile(r"(\w+://)?(\[[0-9a-fA-F:]+\]|[^\s:/\[\]]+):\d{1,5}\Z|inproc://")


def run_cluster(job: Job, pending: PendingRuns, deliver: Deliver, address: str) -> None:
    """Work through what is pending on a Dask cluster; a batch lost with its worker is run again by another."""
    try:
        from distributed import Client
    except ImportError:
        raise StudyError("--scheduler needs Dask. Install it with: pip install 'blocksim[distributed]'.") from None
    if job.stuck:
        raise StudyError(
            f"the workers of a cluster cannot know the blocks {', '.join(job.stuck)}: they are defined in the script that is "
            "run. Put them in a module that can be imported there."
        )
    if not ADDRESS.match(address):
        raise StudyError(f"--scheduler: found '{address}'. Host and port of a Dask scheduler are wanted: tcp://192.168.0.5:8786.")
    try:
        client = Client(address, timeout=SCHEDULER_PATIENCE, set_as_default=False)
    except (OSError, ValueError, TimeoutError) as error:
        raise StudyError(f"the Dask scheduler '{address}' cannot be reached: {str(error) or type(error).__name__}.") from None
    try:
        Cluster(client, address, job, wait_for_workers(client, address)).run(pending, deliver)
    except (OSError, RuntimeError, TimeoutError) as error:  # what Dask raises when its scheduler is gone
        raise gone(address, str(error) or type(error).__name__) from None
    finally:
        with contextlib.suppress(Exception):  # there may be nobody left to say goodbye to
            client.close(timeout=5)


def gone(address: str, why: str) -> StudyError:
    return StudyError(
        f"the Dask scheduler '{address}' is gone ({why}). What was computed is kept; start it again, then --resume (in Python: "
        "resume=True) goes on."
    )


class Cluster:
    """The batches that are out on a cluster, and whether its scheduler still lives."""

    def __init__(self, client: Any, address: str, job: Job, cores: int):
        from distributed import as_completed

        self.client, self.address, self.job, self.cores = client, address, job, cores
        self.out: dict[str, tuple[Batch, int]] = {}  # batches by the key of their future, and how often each has failed
        self.arriving = as_completed(loop=client.loop)
        self.silent_since: float | None = None

    def run(self, pending: PendingRuns, deliver: Deliver) -> None:
        size = max(1, whole_lanes(min(MOST_RUNS // 10, len(pending.runs) // (8 * self.cores))))
        for _ in range(2 * self.cores + 2):
            if batch := pending.take(size):
                self.submit(batch)
        while self.out:
            for future in self.finished():
                batch, tries = self.out.pop(future.key)
                if not self.taken(future, batch, tries, deliver):
                    continue
                if fresh := pending.take(size):
                    self.submit(fresh)

    def submit(self, batch: Batch, tries: int = 0) -> None:
        first, count = batch[0].runs[0][0], sum(len(p.runs) for p in batch)
        key = f"blocksim-{self.job.key[:16]}-{first}-{count}-{tries}"
        self.out[key] = batch, tries
        self.arriving.add(self.client.submit(run_batch, self.job, batch, key=key, retries=1))

    def finished(self) -> list[Any]:
        """Batches that came back or were lost; StudyError where the scheduler has been silent for too long."""
        if self.client.status == "running":
            self.silent_since = None
            futures: list[Any] = self.arriving.next_batch(block=False)
            if not futures:
                time.sleep(0.01)
            return futures
        now = time.monotonic()
        self.silent_since = self.silent_since or now
        if now - self.silent_since > SCHEDULER_PATIENCE:
            raise gone(self.address, f"silent for {SCHEDULER_PATIENCE} s")
        time.sleep(0.2)
        return []

    def taken(self, future: Any, batch: Batch, tries: int, deliver: Deliver) -> bool:
        """Deliver what a batch brought; False where it has to be run again."""
        lost = future.status in ("cancelled", "lost")
        trouble = StudyError("its worker was lost") if lost else future.exception()
        if trouble is None:
            deliver(future.result())
            return True
        if isinstance(trouble, BlocksimError) and not lost:
            raise StudyError(str(trouble)) from None
        if tries >= MOST_DEATHS:
            raise StudyError(f"a batch failed {tries + 1} times on the cluster: {reason_of(trouble)}. --resume goes on.")
        self.submit(batch, tries + 1)
        return False


def wait_for_workers(client: Any, address: str) -> int:
    """The cores of the cluster, once it has a worker."""
    try:
        client.wait_for_workers(1, timeout=WORKER_PATIENCE)
    except TimeoutError:
        raise StudyError(f"the Dask scheduler '{address}' has no workers. Start one: dask worker {address}.") from None
    return max(1, sum(int(threads) for threads in client.nthreads().values()))
