"""What a run was warned of and then failed of is told once, as the error, with what to do."""

from __future__ import annotations

import re
from collections.abc import Iterable

from ..errors import BlocksimError, DiagramError, Finding, Problem

BLOCK = re.compile(r"block '([^']+)'")
#: Findings on what a block reads after the run, of which the block itself fails.
ENDINGS = ("different-grids", "skip-too-long", "nothing-left", "above-nyquist", "one-row")
#: Words of an error that say the same as a finding.
SAME = {"coarse-step": " is too coarse for ", "growing": "grows from part to part"}


def told_once(findings: Iterable[Finding], error: BaseException | None) -> tuple[list[Finding], BaseException | None]:
    """The findings that the error does not say, and the error, joined with those that it does."""
    words = str(error) if isinstance(error, BlocksimError) else ""
    left = [f for f in findings if f.name not in SAME or SAME[f.name] not in words]
    if not isinstance(error, DiagramError):
        return left, error
    problems = []
    for problem in error.problems:
        mine = [f for f in left if f.name in ENDINGS and block_of(f.what) and block_of(f.what) == block_of(problem.what)]
        left = [f for f in left if f not in mine]
        problems.append(joined(problem, mine))
    return left, DiagramError(problems, error.record)


def block_of(text: str) -> str:
    """The first block that a text names."""
    match = BLOCK.search(text)
    return match[1] if match else ""


def joined(problem: Problem, findings: list[Finding]) -> Problem:
    """A problem with what to do about it, by the findings that foresaw it, and their names."""
    text = problem.what
    for finding in findings:
        remedy = "" if finding.remedy in text else f" {finding.remedy}"
        text = f"{text}{remedy} [{finding.name}]"
    return Problem(text, problem.where)
