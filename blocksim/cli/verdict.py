"""What `blocksim check` tells of a file: a diagram, a subsystem or a study; every mistake at once, and what cannot be meant."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

from ..diagram.build import build, open_diagram
from ..diagram.checks import raise_all
from ..diagram.diagram import Diagram
from ..diagram.files import bundled_root, find_diagram, find_named, read_file
from ..diagram.loader import readable_part
from ..diagram.spec import SimulateSpec, Spec
from ..errors import DiagramError, Finding, Problem
from .results import changed_diagram, readied

BLOCK_NAME = re.compile(r"block '([^']+)'")
STUDY_KEY = re.compile(r"^study\s*:", re.MULTILINE)


@dataclass(frozen=True)
class Verdict:
    """A file without a mistake, in words: what it is, more lines on it, and what about it cannot be meant."""

    summary: str
    lines: tuple[str, ...] = ()
    findings: tuple[Finding, ...] = ()


def open_file(file: str, parameters: dict[str, Any], allow_outside: bool) -> Diagram:
    """The diagram of a file; where it has mistakes, all that can be told of the rest is told beside them."""
    try:
        return open_diagram(file, parameters, allow_outside=allow_outside)
    except DiagramError as error:
        path = find_diagram(file)
        spec, unreadable = readable_part(read_file(path, path), path, allow_outside)
        more = problems_of_blocks(spec, parameters, error.problems) if unreadable else []
        raise_all([*error.problems, *more, *solver_problems(spec)])
        raise


def problems_of_blocks(spec: Spec, parameters: dict[str, Any], problems: Sequence[Problem]) -> list[Problem]:
    """What is wrong with the blocks of a file whose other parts have mistakes: nothing that only follows from those."""
    words = " ".join(problem.what for problem in problems)
    if not spec.blocks or "parameter" in words or "ports:" in words:
        return []
    lost = [mark for name in BLOCK_NAME.findall(words) if name not in spec.blocks for mark in (f"'{name}'", f"'{name}.")]
    try:
        build(replace(spec, simulate=SimulateSpec(), log=None), parameters=parameters or None)
    except DiagramError as error:
        return [p for p in error.problems if p.where is not None and not any(mark in p.what for mark in lost)]
    return []


def solver_problems(spec: Spec) -> list[Problem]:
    """A wrong solver in a file that has mistakes elsewhere."""
    from ..solvers import DEFAULT, find_solver

    solver = spec.simulate.solver
    try:
        find_solver(solver if isinstance(solver, str) and "${" not in solver else DEFAULT)
    except DiagramError as error:
        return [Problem(p.what, spec.places.get("simulate.solver", spec.places.get("simulate"))) for p in error.problems]
    return []


def check_file(file: str, outer: dict[str, Any], inner: dict[str, Any], allow_outside: bool) -> Verdict:
    """Look at a file without running it."""
    if is_study(file):
        if outer or inner:
            raise DiagramError("--set is for diagrams; a study changes settings with params:.")
        return check_study(file, allow_outside)
    diagram = open_file(file, outer, allow_outside)
    if diagram.ports is not None and diagram.ports.inputs:
        return Verdict(f"ok, a subsystem of {counted_noun(len(diagram.nodes), 'block')}")
    return check_diagram(diagram, inner)


def check_diagram(diagram: Diagram, params: dict[str, Any]) -> Verdict:
    from ..checking.findings import examine

    ready = readied(changed_diagram(diagram, params) if params else diagram, {})
    ready.check_length()
    looked = examine(ready)
    schedule = ready.schedule
    blocks, states, rates = len(schedule.units) + len(schedule.after_run), len(ready.numbers.x), len(schedule.groups)
    parts = [counted_noun(blocks, "block"), counted_noun(states, "continuous state"), counted_noun(rates, "sample rate")]
    if diagram.simulate.stop is None:
        parts.append("no stop time (give --stop)")
    lines = [*map(str, looked.readings), *map(str, looked.poles)]
    return Verdict("ok, " + ", ".join(parts), tuple(lines), looked.findings)


def check_study(file: str, allow_outside: bool) -> Verdict:
    from ..studies.file import readable_study
    from ..studies.plan import make_plan
    from ..studies.study_findings import study_findings

    path = find_named(file, "study", "tout2022/studies/fig5")
    spec, problems = readable_study(read_file(path, path), path)
    if problems and spec.diagram:  # what can be told of the rest is told beside that
        try:
            make_plan(replace(spec, simulate={}), allow_outside)
        except DiagramError as error:
            problems += error.problems
    raise_all(problems)
    plan = make_plan(spec, allow_outside)
    sizes = {"repetition": plan.repeat, "point": len(plan.points), "method": len(plan.variants), "ablation": len(plan.arms)}
    factors = " x ".join(counted_noun(n, noun) for noun, n in sizes.items() if n > 1 or noun == "repetition")
    return Verdict(f"ok, a study of {counted_noun(plan.runs, 'run')}: {factors}", (), study_findings(plan))


def is_study(file: str) -> bool:
    """Whether a file, or a bundled one, has a study's title."""
    root = bundled_root()
    for path in (file, root / file, root / f"{file}.yaml"):
        try:
            with open(path, encoding="utf-8") as stream:
                return STUDY_KEY.search(stream.read(1 << 20)) is not None
        except (OSError, ValueError):
            continue
    return False


def counted_noun(number: int, noun: str) -> str:
    return f"{number} {noun}" + ("" if number == 1 else "s")
