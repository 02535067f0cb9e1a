"""`blocksim study`: repetitions, sweeps and methods, or one of their runs again."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from ..errors import DiagramError, SimulationError
from .arguments import AllowOutside, with_errors_told

if TYPE_CHECKING:
    from ..studies.plan import Plan
    from .results import Outcome


@with_errors_told
def study_command(
    file: Annotated[str | None, typer.Argument(metavar="[FILE]", help="A study file.")] = None,
    jobs: Annotated[int | None, typer.Option("--jobs", "-j", metavar="N", help="Processes to use; all cores by default.")] = None,
    scheduler: Annotated[str | None, typer.Option(metavar="ADDRESS", help="A Dask scheduler to use instead, tcp://...")] = None,
    resume: Annotated[bool, typer.Option("--resume", help="Go on with a study that was interrupted.")] = False,
    rerun: Annotated[Path | None, typer.Option(metavar="FOLDER", help="Run the study of a folder again and compare.")] = None,
    out: Annotated[Path | None, typer.Option(metavar="DIR", help="Folder of the results; the file's name when left out.")] = None,
    only: Annotated[
        int | None, typer.Option("--only", metavar="RUN", help="Repeat one run, by its number from 0 or its seed, and show it.")
    ] = None,
    allow_outside: AllowOutside = False,
    quiet: Annotated[bool, typer.Option("--quiet", "-q", help="Print errors only.")] = False,
) -> None:
    """Run a study: repetitions and sweeps of methods, with scores.

    Bias, spread, coverage and failures of every identifier against the known truth, each with its confidence interval.
    """
    from ..studies.file import load_study
    from ..studies.plan import make_plan
    from ..studies.report.text import printed
    from ..studies.study import rerun_study, run_study
    from ..studies.study_findings import study_findings
    from . import console

    if only is not None and file is not None:
        outcome, words = repeat_run(file, only, allow_outside, not quiet)
        if not quiet:
            console.say(words)
        console.deliver(outcome, file, out, out is not None, False, quiet)
        return
    if (file is None) == (rerun is None):
        raise typer.BadParameter("give a study file, or --rerun FOLDER.")
    options: dict[str, Any] = {"jobs": jobs, "scheduler": scheduler, "resume": resume, "progress": False if quiet else None}
    if rerun is not None:
        again = out or rerun.with_name(f"{rerun.name}-rerun")
        result = rerun_study(rerun, out=again, allow_outside=allow_outside, **options)
    else:
        folder = out or Path(f"{Path(str(file)).stem}-results")
        spec = load_study(str(file))
        if not quiet:
            console.warn(study_findings(make_plan(spec, allow_outside), quick=True))
        result = run_study(spec, out=folder, allow_outside=allow_outside, **options)
    if not quiet:
        console.say(printed(result, console.line_width()))
        console.say(f"\n{'the same numbers as in ' + str(rerun) + '; ' if rerun is not None else ''}wrote {result.folder}")
    if result.hopeless:
        raise SimulationError("every run failed; the reasons are in study.json.", time=0.0)


def repeat_run(file: str, only: int, allow_outside: bool, visible: bool) -> tuple[Outcome, str]:
    """The run with this number, or the first with this seed, as `blocksim run` would make it; and which one it is, in words."""
    from ..diagram.build import open_diagram
    from ..studies.file import load_study
    from ..studies.plan import make_plan
    from . import console, results

    plan = make_plan(load_study(file), allow_outside)
    number = run_number(plan, only)
    row, seed = plan.row(number // plan.repeat), plan.seeds[number % plan.repeat]
    changes, variant = plan.changes(row), plan.variants[row.variant]
    outer = {name: value for name, value in changes.items() if "." not in name}
    inner = {name: value for name, value in changes.items() if "." in name}
    with console.progress_bar(visible) as progress:
        outcome = results.run_diagram(
            open_diagram(variant.diagram, outer), inner, {**plan.spec.simulate, "seed": seed}, "auto", progress
        )
    words = ", ".join(f"{name} = {value}" for name, value in changes.items()) or "nothing changed"
    method = f" of method {variant.name}" if variant.name else ""
    return outcome, f"run {number}{method}, seed {seed}: {words}\n"


def run_number(plan: Plan, only: int) -> int:
    number = plan.seeds.index(only) if only in plan.seeds else only
    if not 0 <= number < plan.runs:
        raise DiagramError(f"--only {only}: the study has the runs 0 to {plan.runs - 1}, and no such seed.")
    return number
