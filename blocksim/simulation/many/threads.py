"""Work shared out among threads, in order: compiled programs run without the interpreter's lock."""

from __future__ import annotations

import contextlib
import os
import threading
from collections import deque
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from concurrent.futures import ThreadPoolExecutor

#: Of each thread, whether the other cores have work of their own.
_others = threading.local()
#: The threads that wait for work, and how many they may become; a process that parts from this one has none of them.
_waiting: list[tuple[int, ThreadPoolExecutor]] = []
_lock = threading.Lock()


def forget_helpers() -> None:
    """In a process that has parted from another: its threads stayed there."""
    _waiting.clear()
    _lock.release()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(before=_lock.acquire, after_in_parent=_lock.release, after_in_child=forget_helpers)


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


def helpers(count: int) -> ThreadPoolExecutor:
    """At least so many threads, which wait for the next call: starting one takes as long as a short run."""
    from concurrent.futures import ThreadPoolExecutor

    with _lock:
        if not _waiting or _waiting[-1][0] < count:
            _waiting[:] = [(count, ThreadPoolExecutor(count, "blocksim"))]
        return _waiting[-1][1]


def share_out(work: int, run: Callable[[int], Any], jobs: int) -> list[Any]:
    """The results of run(0) ... run(work - 1); each thread takes the next that nobody has, and one that raises ends all.

    The caller works as well: it is a thread that need not be started. What a run shares out in turn stays in its thread.
    """
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
        pool = helpers(threads - 1)
        others = [pool.submit(take_turns_beside) for _ in range(threads - 1)]
        try:
            take_turns_beside()
        finally:
            todo.clear()  # an interrupt of the caller ends the threads too
            for turns in others:
                if not turns.cancel():  # one that no thread has taken up finds nothing left to do
                    turns.result()
    if raised:
        raise raised[min(raised)]  # runs start in order: whatever the number of threads, the first that fails is among these
    return results
