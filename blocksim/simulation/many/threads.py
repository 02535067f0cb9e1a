"""Work shared out among threads, in order: compiled programs run without the interpreter's lock."""

from __future__ import annotations

import contextlib
import os
import threading
from collections import deque
from collections.abc import Callable, Iterator
from typing import Any

#: Of each thread, whether the other cores have work of their own.
_others = threading.local()


@contextlib.contextmanager
def others_at_work() -> Iterator[None]:
    """Meanwhile what this thread does starts no threads: one of many runs that are made at once has a core, and no more."""
    before = getattr(_others, "busy", False)
    _others.busy = True
    try:
        yield
    finally:
        _others.busy = before


def cores() -> int:
    """How many cores this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def free_cores() -> int:
    """How many cores what is done now may use."""
    return 1 if getattr(_others, "busy", False) else cores()


def share_out(work: int, run: Callable[[int], Any], jobs: int) -> list[Any]:
    """The results of run(0) ... run(work - 1); each thread takes the next that nobody has, and one that raises ends all.

    The caller works as well: it is a thread that need not be started. What a run shares out in turn stays in its thread.
    """
    from concurrent.futures import ThreadPoolExecutor

    todo, results, raised = deque(range(work)), [None] * work, {}

    def take_turns() -> None:
        while todo:
            try:
                index = todo.popleft()
            except IndexError:  # another thread took the last one
                return
            try:
                results[index] = run(index)
            except BaseException as error:
                raised[index] = error
                todo.clear()

    def take_turns_beside() -> None:
        with others_at_work():
            take_turns()

    threads = min(jobs, work)
    if threads <= 1:
        take_turns()
    else:
        with ThreadPoolExecutor(threads - 1) as pool:
            try:
                others = [pool.submit(take_turns_beside) for _ in range(threads - 1)]
                take_turns_beside()
                for turns in others:
                    turns.result()
            finally:
                todo.clear()  # an interrupt of the caller ends the threads too
    if raised:
        raise raised[min(raised)]  # runs start in order: whatever the number of threads, the first that fails is among these
    return results
