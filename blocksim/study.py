"""run_study(): Monte Carlo and sweeps with known truth, on all cores or a cluster; scores of every method in one folder.

result = bs.run_study("bias.yaml", jobs=2, out="bias")
result.scores, result.estimates, result.budget      tables (pandas where installed)
print(result)                                       bias, spread and coverage of each method

The folder has report.html with figures/, results.jsonl (every run, appended as it comes), estimates.csv, scores.csv, study.yaml
with the diagrams beside it, study.json (provenance, seeds, failures), and where asked for budget.csv, signals.csv and
signal_scores.csv.
"""

from __future__ import annotations

import functools
import json
import os
import tempfile
import threading
import time
from collections.abc import Callable, Mapping
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from . import __version__
from .ablation import FULL
from .errors import DiagramError, StudyError
from .results import finite, versions, write_json, writing
from .study_batch import Lines, pickled_classes, unsendable
from .study_file import StudySpec, load_study
from .study_plan import Plan, copies, identity_of, job_of, make_plan, study_text
from .study_run import Pending, run_cluster, run_local
from .study_store import FILE, Store
from .study_tables import read_table, swept_columns, write_tables

#: Columns of the printed table, and how many lines it has at most.
SHOWN = ("parameter", "truth", "bias", "bias %", "std", "rmse", "coverage", "failures")
MOST_LINES = 60


@dataclass
class Tally:
    """How far a study is: for a bar with the time left, and what can be said of its results so far."""

    total: int
    done: int = 0
    failures: int = 0
    before: int = 0  # done when this session began
    watch: bool = False  # whether anybody looks at `worst`
    sums: dict[tuple[int, str, str], list[float]] = field(default_factory=dict)  # runs, errors, squares, truth

    def add(self, plan: Plan, lines: Lines) -> None:
        self.done += len(lines)
        for run, line in lines:
            if '"failure":' in line[:80]:
                self.failures += 1
            elif self.watch:
                self.look(run // plan.repeat, json.loads(line))

    def look(self, row: int, result: dict[str, Any]) -> None:
        for block, told in result.get("estimates", {}).items():
            for name, value, truth in zip(told["names"], told["values"], told["truths"], strict=True):
                error = value - truth
                if error == error:  # known, and a number
                    sums = self.sums.setdefault((row, block, name), [0.0, 0.0, 0.0, truth])
                    sums[0], sums[1], sums[2] = sums[0] + 1, sums[1] + error, sums[2] + error * error

    def summary(self) -> str:
        """'1200/4000 runs, 3 failed, largest bias ls.J +2.1 %'."""
        parts = [f"{self.done}/{self.total} runs"]
        if self.failures:
            parts.append(f"{self.failures} failed")
        biases = [(s[1] / s[0] / abs(s[3]), key) for key, s in list(self.sums.items()) if s[0] > 1 and s[3]]
        if biases:
            bias, (_, block, name) = max(biases, key=lambda item: abs(item[0]))
            parts.append(f"largest bias {block}.{name} {100 * bias:+.3g} %")
        return ", ".join(parts)


class StudyResult:
    """A finished study: its tables, read from its folder when they are first asked for."""

    def __init__(self, folder: Path, plan: Plan | None = None, keep: Any = None):
        self.folder = folder
        self.plan = plan
        self.keep = keep  # a temporary folder lives as long as its result
        self.about: dict[str, Any] = json.loads((folder / "study.json").read_text(encoding="utf-8"))

    title = property(lambda self: self.about["title"])
    failures = property(lambda self: self.about["failures"], doc="every failed run of a method, with its seed and reason")
    swept = property(lambda self: self.about["swept"], doc="columns of the settings that vary")

    @property
    def hopeless(self) -> bool:
        """Whether no run of any method succeeded."""
        return bool(self.failures) and not (self.folder / "estimates.csv").exists() and not (self.folder / "signals.csv").exists()

    @functools.cached_property
    def estimates(self) -> Any:
        """One line per run, method and parameter."""
        return read_table(self.folder / "estimates.csv")

    @functools.cached_property
    def scores(self) -> Any:
        """One line per method, ablation, point of the sweep and parameter."""
        return read_table(self.folder / "scores.csv")

    @functools.cached_property
    def budget(self) -> Any:
        """One line per method, point, parameter and defect; empty without `ablate:`."""
        return read_table(self.folder / "budget.csv")

    @functools.cached_property
    def signals(self) -> Any:
        return read_table(self.folder / "signals.csv")

    @functools.cached_property
    def signal_scores(self) -> Any:
        return read_table(self.folder / "signal_scores.csv")

    def __str__(self) -> str:
        return printed(self)

    __repr__ = __str__


def run_study(
    study: str | os.PathLike[str] | Mapping[str, Any] | StudySpec,
    *,
    jobs: int | None = None,
    scheduler: str | None = None,
    out: str | os.PathLike[str] | None = None,
    resume: bool = False,
    progress: bool | Callable[[Tally], None] | None = None,
    report: bool = True,
    allow_outside: bool = False,
) -> StudyResult:
    """Run a study: a path, YAML text, or its keys as a dict.

    `jobs` processes share the runs (all cores by default), or the workers of the Dask `scheduler` do; the numbers are the same.
    Results go to the folder `out` as they come (a temporary one when left out); with `resume` a study that was interrupted goes
    on where it stopped. `progress` is a function called with a Tally, or False for no bar. `report` writes report.html and
    figures/ into the folder.
    """
    if jobs is not None and (type(jobs) is not int or jobs < 1):
        raise DiagramError(f"jobs: found {jobs!r}. A whole number, 1 or more, is wanted.")
    plan = make_plan(study if isinstance(study, StudySpec) else load_study(study), allow_outside)
    keep = tempfile.TemporaryDirectory(prefix="blocksim-study-") if out is None else None
    folder = Path(keep.name if keep is not None else str(out))
    with writing(folder):
        texts = copies(plan, folder)
        folder.mkdir(parents=True, exist_ok=True)
    identity = identity_of(plan, texts)
    store = Store(folder, identity, plan.runs, resume or keep is not None)
    try:
        write_beginning(plan, folder, texts)
        begun = time.time()
        run_pending(plan, store, folder, identity, texts, jobs, scheduler, progress)
        remarks = write_tables(plan, store, folder)
        about = {**description(plan, identity), **vars(remarks), "jobs": 1 if unsendable() else jobs or cores()}
        with writing(folder):
            write_json(
                folder / "study.json",
                {**about, "scheduler": scheduler, "started": begun, "seconds": time.time() - begun, "complete": True},
            )
    finally:
        store.close()
    result = StudyResult(folder, plan, keep)
    if report and keep is None:
        from .report import write_report

        write_report(result)
    return result


def run_pending(
    plan: Plan,
    store: Store,
    folder: Path,
    identity: str,
    texts: Mapping[str, str],
    jobs: int | None,
    scheduler: str | None,
    progress: bool | Callable[[Tally], None] | None,
) -> None:
    """Make the runs that are missing; when interrupted, say how to go on."""
    left = store.missing()
    if not left:
        return
    turn = threading.Lock()
    tally = Tally(plan.runs, store.done, before=store.done)
    pending = Pending(left, plan.batch)
    job = job_of(plan, identity, texts, folder, b"" if unsendable() else pickled_classes())
    with ExitStack() as stack:
        show = stack.enter_context(display(tally, progress))

        def deliver(lines: Lines) -> None:
            with turn:
                fresh = set(store.add(lines))
                tally.add(plan, [line for line in lines if line[0] in fresh])
                show(tally)

        try:
            if scheduler is None:
                run_local(job, pending, deliver, min(jobs or cores(), max(1, len(left) // 2)))
            else:
                run_cluster(job, pending, deliver, scheduler)
        except KeyboardInterrupt:
            kept = f"interrupted after {store.done} of {plan.runs} runs, which are kept in '{folder}'."
            raise KeyboardInterrupt(f"{kept} Go on with --resume (in Python: resume=True).") from None


def display(tally: Tally, progress: bool | Callable[[Tally], None] | None) -> Any:
    """What shows the progress: a function of the caller's, a bar on a terminal, or nothing."""
    from contextlib import nullcontext

    if callable(progress):
        tally.watch = True
        return nullcontext(progress)
    from .study_progress import bar

    return bar(tally, shown=progress is not False)


def cores() -> int:
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def write_beginning(plan: Plan, folder: Path, texts: Mapping[str, str]) -> None:
    """The study and its diagrams, before the first run, so that an interrupted one explains itself."""
    with writing(folder):
        for name, text in {**texts, "study.yaml": study_text(plan)}.items():
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            (folder / name).write_text(text, encoding="utf-8")


def description(plan: Plan, identity: str) -> dict[str, Any]:
    spec = plan.spec
    return {
        "title": spec.title,
        "description": spec.description,
        "file": spec.file,
        "version": __version__,
        "versions": versions(),
        "identity": identity,
        "data": plan.data,
        "seed": spec.seed,
        "seeds": plan.seeds,
        "runs": plan.runs,
        "repeat": plan.repeat,
        "methods": [variant.name for variant in plan.variants if variant.name],
        "swept": list(swept_columns(plan).values()),
        "points": plan.points,
        "ablations": [{"name": name, "changes": changes} for name, changes in plan.arms],
    }


# ---- again ----------------------------------------------------------------------------------------------------------------


def rerun_study(folder: str | os.PathLike[str], *, out: str | os.PathLike[str] | None = None, **options: Any) -> StudyResult:
    """Run the study of a folder again from what is in it, and compare; StudyError where any number differs."""
    old = Path(folder)
    if not (old / "study.yaml").is_file():
        raise StudyError(f"'{folder}' has no study.yaml; name the folder of a study.")
    result = run_study(old / "study.yaml", out=out, allow_outside=True, **options)
    names = [name for name in ("estimates.csv", "scores.csv", "budget.csv", "signals.csv") if (old / name).is_file()]
    if not names:
        raise StudyError(f"'{folder}' has no tables to compare with: its study was not finished. Go on with it: --resume.")
    for name in names:
        if difference := first_difference(old / name, result.folder / name):
            raise StudyError(f"{name} of '{result.folder}' differs from that of '{folder}', first in {difference}.")
    return result


def first_difference(old: Path, new: Path) -> str:
    """Where two tables differ first; '' where they are the same."""
    before, after = (p.read_text(encoding="utf-8").splitlines() if p.exists() else [] for p in (old, new))
    if before == after:
        return ""
    number = next((i for i, (a, b) in enumerate(zip(before, after, strict=False)) if a != b), min(len(before), len(after)))
    return f"line {number + 1}"


# ---- in words -------------------------------------------------------------------------------------------------------------


def printed(result: StudyResult) -> str:
    """The scores as a table, the budget where there is one, and what failed."""
    rows, columns = summary_rows(result)
    text = f"{result.title}\n\n{as_text(columns, rows[:MOST_LINES])}"
    if len(rows) > MOST_LINES:
        text += f"\n... and {len(rows) - MOST_LINES} more lines in scores.csv"
    budget = budget_rows(result)
    if budget[0]:
        text += f"\n\nError budget: what each defect adds to the bias\n\n{as_text(budget[1], budget[0][:MOST_LINES])}"
    for method, warned in result.about["warnings"].items():
        text += f"\n\n{method} warned in {warned['runs']} runs, first: {warned['first']}"
    if result.failures:
        first = result.failures[0]
        text += f"\n\n{len(result.failures)} failed, the first with seed {first['seed']}: {first['reason']}"
    return text


def summary_rows(result: StudyResult) -> tuple[list[list[str]], list[str]]:
    """The scores with every defect on; what happens without each is the budget's to tell."""
    head = ["method", *result.swept]
    rows = []
    for line in (one for one in records(result.scores) if one["ablation"] == FULL):
        cover = f"{100 * line['coverage']:.0f} % [{100 * line['coverage_low']:.0f}, {100 * line['coverage_high']:.0f}]"
        rows.append([
            *(short(line[name]) for name in head),
            f"{line['parameter']}{' [' + line['unit'] + ']' if line['unit'] else ''}",
            short(line["truth"]),
            around(line, "bias", line["bias_significant"] is True),
            short(line["bias_percent"], 3),
            short(line["std"]),
            short(line["rmse"]),
            cover if line["coverage"] == line["coverage"] else "",
            f"{line['failures']}/{line['runs']}",
        ])  # fmt: skip
    return rows, [*head, *SHOWN]


def budget_rows(result: StudyResult) -> tuple[list[list[str]], list[str]]:
    head = ["method", *result.swept, "parameter", "defect"]
    rows, lines = [], records(result.budget)
    alone = any(line["alone"] == line["alone"] for line in lines)
    for line in lines:
        effect = around(line, "effect", line["significant"])
        by_itself = [short(line["alone"])] if alone else []
        rows.append([*(short(line[name]) for name in head), effect, short(line["percent_of_truth"], 3), *by_itself])
    return rows, [*head, "effect on bias", "% of truth", *(["alone"] if alone else [])]


def records(table: Any) -> list[dict[str, Any]]:
    """A table as a list of dicts, whichever it is."""
    return table.to_dict("records") if hasattr(table, "to_dict") else table


def short(value: Any, digits: int = 4) -> str:
    if isinstance(value, float):
        return "" if value != value else f"{value:.{digits}g}"
    return str(value)


def around(line: dict[str, Any], name: str, marked: bool) -> str:
    """'0.012 ± 0.003 *': a score, half its interval, and a mark where it is more than luck."""
    value, half = short(line[name]), short((line[f"{name}_high"] - line[f"{name}_low"]) / 2, 2)
    return value + (f" ± {half}" if half else "") + (" *" if marked else "")


def as_text(columns: list[str], rows: list[list[str]]) -> str:
    """A plain table; columns of numbers flush right."""
    words = {"method", "ablation", "parameter", "defect"}
    widths = [max(len(line[i]) for line in [columns, *rows]) for i in range(len(columns))]
    lines = []
    for line in [columns, *rows]:
        cells = [c.ljust(w) if n in words else c.rjust(w) for c, w, n in zip(line, widths, columns, strict=True)]
        lines.append("  ".join(cells).rstrip())
    return "\n".join(lines)


__all__ = ["FILE", "StudyResult", "Tally", "finite", "rerun_study", "run_study"]
