"""A study at work: `blocksim study` in a process of its own, whose results are read from its folder as they come."""

from __future__ import annotations

import contextlib
import json
import os
import signal
import subprocess
import sys
import time
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from ...studies.file import load_study
from ...studies.plan import Plan, make_plan
from ...studies.progress import Tally
from ...studies.store import FILE, complete_line

#: s that an interrupted study has to end by itself; then its processes are ended. What it wrote is whole either way.
GRACE = 0.4
#: Standard deviations of a 95 % interval where a method says no other number.
NORMAL_QUANTILE = 1.96


@dataclass
class StudyAtWork:
    """A study's plan, its process, and what was read of its results so far."""

    file: Path
    folder: Path
    plan: Plan
    process: subprocess.Popen[str] | None = None
    place: int = 0  # in the file of results
    results: dict[int, dict[str, Any]] = field(default_factory=dict)
    cancelled: bool = False

    def start(self, jobs: int, allow_outside: bool) -> None:
        """Run it; what is in the folder already is kept."""
        command = [
            sys.executable,
            "-m",
            "blocksim",
            "study",
            str(self.file),
            "--out",
            str(self.folder),
            "--resume",
            "--jobs",
            str(jobs),
        ]
        self.process = subprocess.Popen(
            [*command, *(["--allow-outside"] if allow_outside else [])],
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            start_new_session=True,  # its workers end with it
        )

    def cancel(self) -> None:
        """End it within a second; its folder can be resumed."""
        self.cancelled = True
        if self.process is None or self.process.poll() is not None:
            return
        self.end(signal.SIGINT)
        with contextlib.suppress(subprocess.TimeoutExpired):
            self.process.wait(GRACE)
            return
        self.end(getattr(signal, "SIGKILL", signal.SIGTERM))
        self.process.wait(5)

    def end(self, number: int) -> None:
        assert self.process is not None
        with contextlib.suppress(OSError):
            if hasattr(os, "killpg"):
                os.killpg(self.process.pid, number)
            else:
                self.process.terminate()

    def running(self) -> bool:
        return self.process is not None and self.process.poll() is None

    def read(self) -> list[dict[str, Any]]:
        """The runs that were added since it was read last."""
        path = self.folder / FILE
        if not path.is_file():
            return []
        fresh = []
        with open(path, "rb") as stream:
            stream.seek(self.place)
            for line in stream:
                if not line.endswith(b"\n"):
                    break
                self.place += len(line)
                value = complete_line(line)
                if value is not None and "run" in value:
                    self.results[value["run"]] = value
                    fresh.append(value)
        return fresh

    def dots(self, results: list[dict[str, Any]]) -> list[list[Any]]:
        """Each estimate as [run, row, method, parameter, value, std, truth, deviations of its 95 % interval].

        A statistic of a signal has a value and nothing behind it.
        """
        rows = []
        for result in results:
            number = result["run"] // self.plan.repeat
            row = self.plan.row(number)
            for block, report in (result.get("estimates") or {}).items():
                method = self.plan.label(row.variant, block)
                columns = [report[key] for key in ("names", "values", "stds", "truths")]
                quantiles = report.get("quantiles") or [NORMAL_QUANTILE] * len(report["names"])
                rows += [[result["run"], number, method, *cells] for cells in zip(*columns, quantiles, strict=True)]
            for name, value in (result.get("signals") or {}).items():
                rows.append([result["run"], number, self.plan.label(row.variant, "signal"), name, value, None, None, None])
        return rows

    def tally(self) -> Tally:
        tally = Tally(self.plan.runs, watch=True)
        tally.add(self.plan, [(run, json.dumps(result)) for run, result in self.results.items()])
        return tally


def study_at_work(file: Path, folder: Path, allow_outside: bool) -> StudyAtWork:
    return StudyAtWork(file, folder, make_plan(load_study(file), allow_outside))


def ending_words(work: StudyAtWork, seconds: float) -> str:
    """How it ended, in words."""
    done, total = len(work.results), work.plan.runs
    if work.cancelled:
        return f"cancelled after {done} of {total} runs in {seconds:.2g} s; they are kept in '{work.folder}'. Resume goes on."
    assert work.process is not None
    if work.process.returncode:
        output = (work.process.stdout.read() if work.process.stdout else "").strip()
        return f"the study ended with an error: {output[-2000:]}"
    return f"{done} of {total} runs; tables and report are in '{work.folder}'"


def wait_for_news(work: StudyAtWork, pause: float) -> None:
    """Sleep for a while, and no longer than the study runs."""
    begin = time.monotonic()
    while work.running() and time.monotonic() - begin < pause:
        time.sleep(0.02)
