"""What a run was warned of and then failed of is told once, as the error, with what to do."""

from __future__ import annotations

import re
from collections.abc import Iterable

from ..errors import BlocksimError, DiagramError, Finding, Problem

BLOCK = re.compile(r"block '([^']+)'")
#: Findings on what a block reads after the run, of which the block itself fails.
FATAL = ("different-grids", "skip-too-long", "nothing-left", "above-nyquist", "one-row")
#: Words of an error that say the same as a finding.
SAME_WORDS = {"coarse-step": " is too coarse for ", "growing": "grows from part to part"}


def told_once(findings: Iterable[Finding], error: BaseException | None) -> tuple[list[Finding], BaseException | None]:
    """The findings that the error does not say, and the error, joined with those that it does."""
    left = list(findings)
    if not isinstance(error, DiagramError):
        words = str(error) if isinstance(error, BlocksimError) else ""
        return [f for f in left if not says_same(words, f)], error
    problems = []
    for problem in error.problems:
        mine = [f for f in left if says_same(problem.what, f) or foretells(f, problem)]
        left = [f for f in left if f not in mine]
        problems.append(with_remedies(problem, mine))
    return left, DiagramError(problems, error.record)


def says_same(text: str, finding: Finding) -> bool:
    return finding.name in SAME_WORDS and SAME_WORDS[finding.name] in text


def foretells(finding: Finding, problem: Problem) -> bool:
    """Whether a finding is on the block that failed, and on why."""
    return finding.name in FATAL and first_block(finding.what) == first_block(problem.what) != ""


def first_block(text: str) -> str:
    """The first block that a text names."""
    match = BLOCK.search(text)
    return match[1] if match else ""


def with_remedies(problem: Problem, findings: list[Finding]) -> Problem:
    """A problem with what to do about it, by the findings that foresaw it, and their names."""
    text = problem.what
    for finding in findings:
        remedy = "" if finding.remedy in text else f" {finding.remedy}"
        text = f"{text}{remedy} [{finding.name}]"
    return Problem(text, problem.where)
