"""Work shared out among threads, in order: compiled programs run without the interpreter's lock."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from typing import Any


def share_out(work: int, run: Callable[[int], Any], jobs: int) -> list[Any]:
    """The results of run(0) ... run(work - 1); each thread takes the next that nobody has, and one that raises ends all.

    The caller works as well: it is a thread that need not be started.
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

    threads = min(jobs, work)
    if threads <= 1:
        take_turns()
    else:
        with ThreadPoolExecutor(threads - 1) as pool:
            try:
                others = [pool.submit(take_turns) for _ in range(threads - 1)]
                take_turns()
                for turns in others:
                    turns.result()
            finally:
                todo.clear()  # an interrupt of the caller ends the threads too
    if raised:
        raise raised[min(raised)]  # runs start in order: whatever the number of threads, the first that fails is among these
    return results
