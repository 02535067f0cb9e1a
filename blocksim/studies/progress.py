"""How far a running study is: share done, time left, and what its results look like so far."""

from __future__ import annotations

import contextlib
import json
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from .plan import Plan
    from .workers.batch import ResultLines


@dataclass
class Tally:
    """How far a study is: for a bar with the time left, and what can be said of its results so far."""

    total: int
    done: int = 0
    failures: int = 0
    before: int = 0  # done when this session began
    watch: bool = False  # whether anybody looks at the results so far
    sums: dict[tuple[int, str, str], list[float]] = field(default_factory=dict)  # runs, errors, truth; by row, method, parameter

    def add(self, plan: Plan, lines: ResultLines) -> None:
        self.done += len(lines)
        for run, line in lines:
            if '"failure":' in line[:80]:
                self.failures += 1
            elif self.watch:
                self.look(plan, run // plan.repeat, json.loads(line))

    def look(self, plan: Plan, row: int, result: dict[str, Any]) -> None:
        if plan.row(row).arm:
            return  # the bias without a defect is not that of the experiment
        for block, report in result.get("estimates", {}).items():
            if report.get("converged") is False:
                continue
            method = plan.label(plan.row(row).variant, block)
            for name, value, truth in zip(report["names"], report["values"], report["truths"], strict=True):
                error = value - truth
                if error == error:  # known, and a number
                    sums = self.sums.setdefault((row, method, name), [0.0, 0.0, truth])
                    sums[0], sums[1] = sums[0] + 1, sums[1] + error

    def summary(self) -> str:
        """'1200/4000 runs, 3 failed, largest bias ls.J +2.1 %'."""
        parts = [f"{self.done}/{self.total} runs"]
        if self.failures:
            parts.append(f"{self.failures} failed")
        biases = [(s[1] / s[0] / abs(s[2]), key) for key, s in list(self.sums.items()) if s[0] > 1 and s[2]]
        if biases:
            bias, (_, method, name) = max(biases, key=lambda item: abs(item[0]))
            parts.append(f"largest bias {method}.{name} {100 * bias:+.3g} %")
        return ", ".join(parts)


def display(tally: Tally, progress: bool | Callable[[Tally], None] | None) -> Any:
    """What shows the progress: a function of the caller's, a bar on a terminal, or nothing."""
    if callable(progress):
        tally.watch = True
        return contextlib.nullcontext(progress)
    return bar(tally, visible=progress is not False)


@contextlib.contextmanager
def bar(tally: Tally, visible: bool = True) -> Iterator[Callable[[Tally], None]]:
    """Gives the function to call when runs have been added."""
    if not (visible and sys.stderr.isatty()):
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
