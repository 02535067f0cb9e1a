"""Submission -> Mark: 60 points for being near the truth, 40 for standard deviations that can be believed.

Errors and claimed standard deviations are measured in bounds: the Cramer-Rao bound of a good experiment that uses the whole
budget, at this student's own truth. Each parameter earns its share:

- accuracy: all of it up to 3 bounds of error, none from 100, a straight line over the logarithm between;
- honesty: all of it up to an error of 2 claimed standard deviations, none from 4, a straight line between; times a share for
  saying something: all of it up to a claim of 5 bounds (or as wide as the error asks for), none from 100 times that; and times a
  share for saying more than the task: all of it up to 5 bounds or a tenth of what the task leaves open, none from half of it.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from ..diagram.checks import brief_value
from ..diagram.files import read_file
from ..diagram.yaml_lines import Lined, read_yaml
from ..errors import DiagramError, Place, Problem, listing
from ..planning.information import information
from .assignment import Assignment, assignment_of
from .ledger import ClassFolder, spent
from .request import checked_value, loop_of, mapping_of
from .secret import checked_student, student_truth

SUBMISSION_KEYS = ("format", "submission", "student", "estimates")
ACCURACY, HONESTY = 60.0, 40.0
NEAR_TRUTH, FAR = 3.0, 100.0  # bounds of error
HONEST, OVERCONFIDENT = 2.0, 4.0  # claimed standard deviations of error
TELLING_CLAIM, EMPTY = 5.0, 100.0  # bounds of claimed standard deviation, and times that
WIDE_CLAIM = 0.9  # the share of honesty below which a claim is called wide
NEWS, NO_NEWS = 0.1, 0.5  # claimed standard deviation, in that of the range which the task gives


@dataclass(frozen=True)
class Submission:
    """What a student hands in: a value and a standard deviation of each parameter."""

    assignment: Assignment
    student: str
    values: Mapping[str, float]
    stds: Mapping[str, float]


@dataclass(frozen=True)
class ParameterMark:
    """How one parameter did, in shares from 0 to 1, with the numbers behind them, which are for the teacher only."""

    name: str
    accuracy: float
    honesty: float
    words: str
    error_in_bounds: float
    z: float
    std_in_bounds: float


@dataclass(frozen=True)
class Mark:
    """Points of a submission, out of 100, and its parts."""

    lesson: int
    student: str
    parts: tuple[ParameterMark, ...]
    seconds: float
    runs: int

    @property
    def accuracy(self) -> float:
        return ACCURACY * sum(part.accuracy for part in self.parts) / len(self.parts)

    @property
    def honesty(self) -> float:
        return HONESTY * sum(part.honesty for part in self.parts) / len(self.parts)

    @property
    def points(self) -> int:
        return round(self.accuracy + self.honesty)

    def __str__(self) -> str:
        """For the student: points and words, and no number that leads back to the truth."""
        rows = [f"  {part.name:<12} {part.words}" for part in self.parts]
        head = f"lesson {self.lesson}, {self.student}: {self.points} of 100"
        shares = (
            f"  near the truth: {self.accuracy:.0f} of {ACCURACY:.0f}; standard deviations: {self.honesty:.0f} of {HONESTY:.0f}"
        )
        idle = [] if self.runs else [f"  no experiment of {self.student} was measured in this class: is the name right?"]
        return "\n".join([head, shares, *rows, *idle])


def read_submission(path: str | Path) -> Submission:
    """The submission of a file; a refusal names file and line."""
    name = str(path)
    root, problems = read_yaml(read_file(name, name), name)
    if problems:
        raise DiagramError(problems)
    top = mapping_of(root, name, SUBMISSION_KEYS, "a submission")
    missing = [key for key in SUBMISSION_KEYS if key not in top]
    if missing:
        raise DiagramError(
            [Problem(f"there is no '{missing[0]}:'. A submission has: {listing(SUBMISSION_KEYS)}.", Place(name, root.line))]
        )
    assignment = checked_value(name, top["submission"], assignment_of)
    student = checked_value(name, top["student"], checked_student)
    estimates = mapping_of(top["estimates"], name, assignment.parameters, "estimates")
    absent = [parameter for parameter in assignment.parameters if parameter not in estimates]
    if absent:
        words = f"estimates: {listing(absent)} are missing. Each has a value and a std."
        raise DiagramError([Problem(words, Place(name, top["estimates"].line))])
    pairs = {parameter: claim_of(name, parameter, entry) for parameter, entry in estimates.items()}
    return Submission(assignment, student, {p: v for p, (v, _) in pairs.items()}, {p: s for p, (_, s) in pairs.items()})


def claim_of(file: str, parameter: str, entry: Lined) -> tuple[float, float]:
    """{value: 0.03, std: 0.001}."""
    parts = mapping_of(entry, file, ("value", "std"), parameter)
    pair = []
    for key, kind in (("value", "A number"), ("std", "A number above 0")):
        if key not in parts:
            raise DiagramError(
                [Problem(f"{parameter}: there is no {key}. Write {{value: ..., std: ...}}.", Place(file, entry.line))]
            )
        value = parts[key].value
        number = isinstance(value, (int, float)) and not isinstance(value, bool) and math.isfinite(value)
        if not number or (key == "std" and not value > 0):
            words = f"{parameter}: {key}: found {brief_value(value)}. {kind} is wanted."
            raise DiagramError([Problem(words, Place(file, parts[key].line))])
        pair.append(float(value))
    return pair[0], pair[1]


def reference_bounds(assignment: Assignment, truth: Mapping[str, float]) -> dict[str, float]:
    """The standard deviations that no unbiased method beats, with the reference experiment on this robot."""
    return bounds_of(assignment.lesson, tuple(truth.items()))


@functools.lru_cache(64)
def bounds_of(lesson: int, truth: tuple[tuple[str, float], ...]) -> dict[str, float]:
    """Seconds of simulations, so kept for a student who is marked again."""
    assignment = assignment_of(lesson)
    result = information(
        loop_of(assignment, assignment.reference["sources"]),
        [name for name, _ in truth],
        list(assignment.outputs),
        params={**assignment.conditions, **dict(truth)},
        stop=assignment.reference["seconds"],
        seed=1,
    )
    return result.std


def fall(value: float, whole: float, none: float) -> float:
    """1 up to `whole`, 0 from `none`, a straight line between."""
    return min(1.0, max(0.0, (none - value) / (none - whole)))


def log_fall(value: float, whole: float, none: float) -> float:
    """The same over the logarithm."""
    return fall(math.log(max(value, whole)), math.log(whole), math.log(none))


def news(std: float, bound: float, span: float) -> float:
    """How far a claim says more than the task, which leaves a span open: a guess in its middle has learnt nothing."""
    left_open = span / math.sqrt(12)
    whole = max(NEWS * left_open, TELLING_CLAIM * bound)
    return log_fall(std, whole, max(NO_NEWS * left_open, 2 * whole))


def mark_parameter(name: str, error: float, std: float, bound: float, span: float = math.inf) -> ParameterMark:
    """The rules at the top of this file, for one parameter; the task leaves a span of its values open."""
    size, z = abs(error) / bound, abs(error) / std
    telling = TELLING_CLAIM * max(1.0, size / HONEST)  # who is far off is right to claim little
    more = news(std, bound, span) if math.isfinite(span) else 1.0
    accuracy = log_fall(size, NEAR_TRUTH, FAR)
    width = log_fall(std / bound, telling, EMPTY * telling) * more
    honesty = fall(z, HONEST, OVERCONFIDENT) * width
    if z > HONEST:
        words = "over-confident: the truth lies outside 2 of your standard deviations"
    elif more == 0.0:
        words = "your standard deviation says no more than the task did"
    elif width < WIDE_CLAIM:
        words = "your standard deviation holds the truth, and is much wider than it had to be"
    else:
        words = "your standard deviation can be believed"
    far = (
        "as near as the budget allows"
        if size <= NEAR_TRUTH
        else "the budget allows to come nearer"
        if size < FAR / 3
        else "far off"
    )
    return ParameterMark(name, accuracy, honesty, f"{far}; {words}", size, z, std / bound)


def mark_submission(submission: Submission, own: ClassFolder) -> Mark:
    """The mark of a submission; the same every time."""
    assignment = submission.assignment
    truth = student_truth(assignment, own.secret, submission.student)
    bounds = reference_bounds(assignment, truth)
    parts = tuple(
        mark_parameter(name, submission.values[name] - value, submission.stds[name], bounds[name], high - low)
        for name, value in truth.items()
        for low, high in [assignment.ranges[name]]
    )
    used = spent(own, assignment.lesson, submission.student)
    return Mark(assignment.lesson, submission.student, parts, used.seconds, used.runs)


def mark_once(submission: Submission, own: ClassFolder, again: bool = False) -> Mark:
    """Mark a submission and keep the mark. The first counts: marks of many guesses would lead to the truth."""
    with own.alone():
        lesson, student = submission.assignment.lesson, submission.student
        earlier = [row for row in own.entries("marks.jsonl") if row["lesson"] == lesson and row["student"] == student]
        if earlier and not again:
            raise DiagramError(
                f"{student} handed in lesson {lesson} before and got {earlier[-1]['points']} of 100. The first counts; the "
                "teacher may mark another with --again."
            )
        result = mark_submission(submission, own)
        entry = {"lesson": lesson, "student": student, "points": result.points, "accuracy": result.accuracy}
        entry |= {"honesty": result.honesty, "seconds": result.seconds, "runs": result.runs}
        own.append("marks.jsonl", entry)
    return result
