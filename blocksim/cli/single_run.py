"""One run of a study once more, as `blocksim run` would make it: what `blocksim study FILE --only RUN` does."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..diagram.build import open_diagram
from ..errors import DiagramError
from ..studies.file import load_study
from ..studies.plan import Plan, make_plan
from . import console, results

if TYPE_CHECKING:
    from .results import Outcome


def repeat_run(file: str, only: int, allow_outside: bool, visible: bool) -> tuple[Outcome, str]:
    """The run with this number, or the first with this seed; and which one it is, in words."""
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
