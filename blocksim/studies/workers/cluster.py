"""The runs of a study on a Dask cluster: the same batches, the same numbers."""

from __future__ import annotations

import re
from typing import Any

from ...errors import BlocksimError, StudyError
from .batch import Batch, Job, reason_of, run_batch
from .processes import MOST_DEATHS, MOST_RUNS, Deliver, PendingRuns

#: Seconds to wait for a Dask scheduler, and for its first worker.
SCHEDULER_PATIENCE = 15
#: Checked first: a Client that cannot read its address takes half a minute to go.
ADDRESS = re.compile(r"(\w+://)?(\[[0-9a-fA-F:]+\]|[^\s:/\[\]]+):\d{1,5}\Z|inproc://")


def run_cluster(job: Job, pending: PendingRuns, deliver: Deliver, address: str) -> None:
    """Work through what is pending on a Dask cluster; a batch lost with its worker is run again by another."""
    try:
        from distributed import Client, as_completed
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
        cores = wait_for_workers(client, address)
        size = max(1, min(MOST_RUNS // 10, len(pending.runs) // (8 * cores)))
        open_batches: dict[str, tuple[Batch, int]] = {}
        arriving = as_completed(loop=client.loop)

        def submit(batch: Batch, tries: int = 0) -> None:
            first, count = batch[0].runs[0][0], sum(len(p.runs) for p in batch)
            key = f"blocksim-{job.key[:16]}-{first}-{count}-{tries}"
            open_batches[key] = batch, tries
            arriving.add(client.submit(run_batch, job, batch, key=key, retries=1))

        for _ in range(2 * cores + 2):
            if batch := pending.take(size):
                submit(batch)
        for future in arriving:
            batch, tries = open_batches.pop(future.key)
            lost = future.status == "cancelled"
            trouble = StudyError("its worker was lost") if lost else future.exception()
            if trouble is None:
                deliver(future.result())
            elif isinstance(trouble, BlocksimError) and not lost:
                raise StudyError(str(trouble)) from None
            elif tries >= MOST_DEATHS:
                raise StudyError(f"a batch failed {tries + 1} times on the cluster: {reason_of(trouble)}. --resume goes on.")
            else:
                submit(batch, tries + 1)
                continue
            if batch := pending.take(size):
                submit(batch)
    finally:
        client.close(timeout=5)


def wait_for_workers(client: Any, address: str) -> int:
    """The cores of the cluster, once it has a worker."""
    try:
        client.wait_for_workers(1, timeout=SCHEDULER_PATIENCE)
    except TimeoutError:
        raise StudyError(f"the Dask scheduler '{address}' has no workers. Start one: dask worker {address}.") from None
    return max(1, sum(int(threads) for threads in client.nthreads().values()))
