"""Timing: ratios of things timed in turn, best of several, so that a busy machine disturbs all of them alike."""

from __future__ import annotations

import gc
import os
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass

from blocksim.simulation.experiment import Experiment
from blocksim.simulation.simulation import Simulation

Timer = Callable[[], float]
#: BLOCKSIM_CLOCK=processor: seconds of the processor, of all threads and of processes that have ended, not those on the wall.
#: BLOCKSIM_BRIEF=1: a sixth of the repetitions.
BRIEF = bool(os.environ.get("BLOCKSIM_BRIEF"))
PROCESSOR = os.environ.get("BLOCKSIM_CLOCK") == "processor"


def now() -> float:
    """The clock by which everything is timed."""
    if not PROCESSOR:
        return time.perf_counter()
    spent = os.times()
    return time.process_time() + spent.children_user + spent.children_system


@dataclass
class Row:
    """One line of the table: seconds of the unit (hand-written C, an import, a filter) and of what is measured."""

    case: str
    what: str
    unit: float | None = None
    taken: float | None = None
    note: str = ""
    bar: float | None = None  # on the ratio
    met: bool | None = None  # where the bar is on something else
    bar_text: str = ""
    why: str = ""  # it is missed, where it is

    @property
    def ratio(self) -> float | None:
        return None if self.unit is None or self.taken is None else self.taken / self.unit

    @property
    def verdict(self) -> str:
        met = self.met if self.bar is None or self.ratio is None else self.ratio <= self.bar
        return "" if met is None else "met" if met else "missed"

    def plain(self) -> dict[str, object]:
        return {**asdict(self), "ratio": self.ratio, "verdict": self.verdict}


def interleaved(timers: Sequence[Timer], repeats: int) -> list[float]:
    """The best time of each, all of them in turn.

    Whatever is alive before is no garbage: collecting between two calls then looks at
    what those made only, and leaves the caches warm.
    """
    best = [float("inf")] * len(timers)
    repeats = max(min(repeats, 3), repeats // 6) if BRIEF else repeats
    gc.collect()
    gc.freeze()
    for _ in range(repeats):
        for i, timer in enumerate(timers):
            best[i] = min(best[i], timer())
    gc.unfreeze()
    return best


def timed(work: Callable[[], object]) -> Timer:
    """Seconds of a call; the garbage of the one before is collected first, its own is kept until the clock has stopped."""

    def timer() -> float:
        gc.collect()
        begun = now()
        kept = work()
        taken = now() - begun
        del kept
        return taken

    return timer


def program_alone(experiment: Experiment) -> Timer:
    """Seconds of the compiled program of a run that is ready to start."""

    def timer() -> float:
        simulation = Simulation(experiment, engine="compiled")
        begun = now()
        status = simulation.run_to(simulation.end)
        taken = now() - begun
        assert status == 0, f"the run ended with status {status}"
        return taken

    return timer


def compiled(experiment: Experiment) -> float:
    """Seconds that compiling takes."""
    begun = now()
    experiment.program.fast()
    return now() - begun


def as_installed(**more: str) -> dict[str, str]:
    """The environment of a process that finds modules as pip leaves them: compiled to bytecode, once and for all."""
    return {**{name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}, **more}


def process(*arguments: str, cache: str) -> Timer:
    """Seconds of a Python process from its start to its end."""

    def timer() -> float:
        begun = now()
        environment = as_installed(BLOCKSIM_CACHE=cache)
        subprocess.run([sys.executable, *arguments], check=True, stdout=subprocess.DEVNULL, env=environment)
        return now() - begun

    return timer


def cores() -> int:
    """How many cores this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
