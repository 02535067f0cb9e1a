"""run_study(): Monte Carlo and sweeps with known truth, on all cores or a cluster; scores of every method in one folder.

result = bs.run_study("bias.yaml", jobs=2, out="bias")
result.scores, result.estimates, result.budget      tables (pandas where installed)
print(result)                                       bias, spread and coverage of each method

The folder has report.html with figures/, results.jsonl (every run, appended as it comes), estimates.csv, scores.csv, study.yaml
with the diagrams beside it, study.json (provenance, seeds, failures), and where asked for budget.csv, signals.csv and
signal_scores.csv; the tables also as .parquet where pyarrow is installed.
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
from pathlib import Path
from typing import Any

from .. import __version__
from ..diagram.files import write_whole
from ..errors import DiagramError, StudyError, listing
from ..records.writing import versions, write_json, writing
from ..simulation.many.threads import cores
from .file import load_study
from .plan import Plan, copies, identity_of, job_of, make_plan, study_text
from .progress import Tally, display
from .report.text import printed
from .spec import StudySpec
from .store import FILE, Store
from .tables import Remarks, read_table, shown_columns, swept_columns, units_of, write_parquet_tables, write_tables
from .workers.batch import Job, ResultLines
from .workers.cluster import run_cluster
from .workers.processes import PendingRuns, run_local


class StudyResult:
    """A finished study: its tables, read from its folder when they are first asked for."""

    def __init__(self, folder: Path, plan: Plan | None = None, keep: tempfile.TemporaryDirectory[str] | None = None):
        self.folder = folder
        self.plan = plan
        self.keep = keep  # a temporary folder lives as long as its result
        self.about: dict[str, Any] = json.loads((folder / "study.json").read_text(encoding="utf-8"))

        self.title: str = self.about["title"]
        self.failures: list[dict[str, Any]] = self.about["failures"]  # every failed run of a method, with its seed and reason
        self.unconverged: list[dict[str, Any]] = self.about.get("unconverged", [])  # those whose numbers are no answer
        self.swept: list[str] = self.about["swept"]  # columns of the settings that vary
        self.shown: list[str] = self.about["shown"]  # those of them that tell points apart in words and figures

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

    @property
    def figures(self) -> dict[str, Any]:
        """Every figure that has something to show, by name: estimates, clouds, bias, spread, coverage, budget."""
        from .report.figures import study_figures

        return study_figures(self)

    def plot(self, name: str = "estimates", path: str | os.PathLike[str] | None = None) -> Any:
        """One of `figures`; with a path also written as .svg, .png or .pdf. Returns the Figure."""
        from ..pictures.plots import suffix, write_figure

        kind = suffix(path) if path is not None else ""
        figures = self.figures
        if name not in figures:
            raise StudyError(f"there is no figure '{name}'. This study has: {listing(figures)}.")
        if path is not None:
            write_figure(figures[name], str(path), kind)
        return figures[name]

    def _repr_html_(self) -> str:
        """The verdict, the scores and the first figure."""
        from .report.report import notebook_html

        return notebook_html(self)


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
        start = time.time()
        job = job_of(plan, identity, texts, folder)
        run_pending(plan, store, job, jobs, scheduler, progress)
        remarks = tables_of(plan, store, folder)
        about = {
            **description(plan, identity),
            **vars(remarks),
            "altered_lines": store.altered,
            "jobs": 1 if job.stuck else jobs or cores(),
        }
        with writing(folder):
            write_json(
                folder / "study.json",
                {**about, "scheduler": scheduler, "started": start, "seconds": time.time() - start, "complete": True},
            )
    finally:
        store.close()
    result = StudyResult(folder, plan, keep)
    if report and keep is None:
        from .report.report import write_report

        write_report(result)
        with writing(folder):
            write_parquet_tables(folder)
    return result


def run_pending(
    plan: Plan, store: Store, job: Job, jobs: int | None, scheduler: str | None, progress: bool | Callable[[Tally], None] | None
) -> None:
    """Make the runs that are missing; when interrupted, say how to go on."""
    missing = store.missing()
    if not missing:
        return
    turn = threading.Lock()
    tally = Tally(plan.runs, store.done, before=store.done)
    pending = PendingRuns(missing, plan.batch)
    with ExitStack() as stack:
        show = stack.enter_context(display(tally, progress))

        def deliver(lines: ResultLines) -> None:
            with turn:
                fresh = set(store.add(lines))
                tally.add(plan, [line for line in lines if line[0] in fresh])
                show(tally)

        try:
            if scheduler is None:
                run_local(job, pending, deliver, min(jobs or cores(), max(1, len(missing) // 2)))
            else:
                run_cluster(job, pending, deliver, scheduler)
        except KeyboardInterrupt:
            notice = f"interrupted after {store.done} of {plan.runs} runs, which are kept in '{store.path.parent}'."
            raise KeyboardInterrupt(f"{notice} Go on with --resume (in Python: resume=True).") from None


def tables_of(plan: Plan, store: Store, folder: Path) -> Remarks:
    """Write the tables; a stored line that no run of this study wrote is said."""
    try:
        return write_tables(plan, store, folder)
    except (TypeError, ValueError, KeyError, IndexError, AttributeError) as error:
        raise StudyError(
            f"'{store.path}' holds a line that is none of this study ({type(error).__name__}: {error}). Start anew in another "
            "folder: --out (in Python: out=)."
        ) from error


def write_beginning(plan: Plan, folder: Path, texts: Mapping[str, str]) -> None:
    """The study and its diagrams, before the first run, so that an interrupted one explains itself."""
    with writing(folder):
        for name, text in {**texts, "study.yaml": study_text(plan)}.items():
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            write_whole(folder / name, text)


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
        "seeds": plan.seeds.tolist(),
        "runs": plan.runs,
        "repeat": plan.repeat,
        "methods": [variant.name for variant in plan.variants if variant.name],
        "swept": list(swept_columns(plan).values()),
        "shown": shown_columns(plan),
        "units": units_of(plan),
        "points": plan.points,
        "ablations": [{"name": name, "changes": changes} for name, changes in plan.arms],
    }


# ---- again ----------------------------------------------------------------------------------------------------------------


def rerun_study(folder: str | os.PathLike[str], *, out: str | os.PathLike[str] | None = None, **options: Any) -> StudyResult:
    """Run the study of a folder again from what is in it, and compare; StudyError where any number differs.

    Options are those of `run_study`: with `allow_outside` the data its diagrams name may lie outside the folder.
    """
    old = Path(folder)
    if not (old / "study.yaml").is_file():
        raise StudyError(f"'{folder}' has no study.yaml; name the folder of a study.")
    result = run_study(old / "study.yaml", out=out, **options)
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


__all__ = ["FILE", "StudyResult", "Tally", "rerun_study", "run_study"]
