"""The bar of a running study: share done, time left, and what its results look like so far. On a terminal only."""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from .study import Tally


@contextlib.contextmanager
def bar(tally: Tally, shown: bool = True) -> Iterator[Callable[[Tally], None]]:
    """Gives the function to call when runs have been added."""
    if not (shown and sys.stderr.isatty()):
        yield lambda tally: None
        return
    from rich.console import Console
    from rich.progress import BarColumn, Progress, TaskProgressColumn, TextColumn, TimeRemainingColumn

    tally.watch = True
    progress = Progress(BarColumn(), TaskProgressColumn(), TimeRemainingColumn(), TextColumn("{task.description}"),
                        console=Console(stderr=True), transient=True)  # fmt: skip
    task = progress.add_task("starting", total=tally.total - tally.before)

    def show(tally: Tally) -> None:
        progress.update(task, completed=tally.done - tally.before, description=tally.summary())

    with progress:
        yield show
