"""ExperimentRequest: the experiment that a student asks for, read from a file nobody has checked, and the loop it makes."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from ..diagram.checks import brief_value
from ..diagram.files import find_diagram, read_file
from ..diagram.yaml_lines import Lined, read_yaml
from ..errors import DiagramError, Place, Problem, did_you_mean, listing
from .assignment import Assignment, assignment_of, one_of
from .secret import checked_student

REQUEST_KEYS = ("format", "experiment", "student", "seconds", "sources", "settings")


@dataclass(frozen=True)
class ExperimentRequest:
    """So many seconds with these sources and settings, on the robot of this student."""

    assignment: Assignment
    student: str
    seconds: float
    sources: dict[str, dict[str, Any]]
    settings: dict[str, float]
    places: dict[str, Place] = field(default_factory=dict, repr=False)  # of the sources, for words on mistakes in them


def read_request(path: str | Path) -> ExperimentRequest:
    """The request of a file; every part of it is checked against the assignment, and a refusal names file and line."""
    name = str(path)
    root, problems = read_yaml(read_file(name, name), name)
    if problems:
        raise DiagramError(problems)
    top = mapping_of(root, name, REQUEST_KEYS, "an experiment file")
    absent = [key for key in ("experiment", "student", "seconds") if key not in top]
    if absent:
        raise DiagramError(
            [Problem(f"there is no '{absent[0]}:'. An experiment file has: {listing(REQUEST_KEYS)}.", Place(name, root.line))]
        )
    assignment = checked_value(name, top["experiment"], assignment_of)
    student = checked_value(name, top["student"], checked_student)
    seconds = checked_value(
        name, top["seconds"], lambda value: number_between(value, (0.1, assignment.budget.seconds), "seconds")
    )
    sources = {}
    for block, entry in mapping_of(top.get("sources", Lined({}, 1)), name, assignment.sources, "sources").items():
        sources[block] = checked_value(name, entry, lambda value, block=block: plain_source(value, block, assignment))
    settings = {}
    for setting, entry in mapping_of(top.get("settings", Lined({}, 1)), name, assignment.settings, "settings").items():
        limits = assignment.settings[setting]
        settings[setting] = checked_value(name, entry, lambda value, s=setting, limits=limits: number_between(value, limits, s))
    lines = top["sources"].value if "sources" in top and sources else {}
    places = {block: Place(name, entry.line) for block, entry in lines.items()}
    return ExperimentRequest(assignment, student, seconds, sources, settings, places)


def mapping_of(at: Lined, file: str, allowed: Any, where: str) -> dict[str, Lined]:
    """The entries of a mapping whose keys are allowed."""
    place = Place(file, at.line)
    if at.value is None:
        return {}
    if not isinstance(at.value, dict):
        raise DiagramError([Problem(f"{where}: found {brief_value(at.plain())}. A mapping is wanted: key: value.", place)])
    for key, entry in at.value.items():
        if key not in allowed:
            hint = did_you_mean(key, allowed)
            words = f"{where} has no '{key}'. Allowed here: {listing(allowed)}.{hint}"
            raise DiagramError([Problem(words, Place(file, entry.line))])
    return at.value


def checked_value(file: str, at: Lined, check: Any) -> Any:
    """What the check makes of a value; its refusal gets the line."""
    try:
        return check(at.plain())
    except DiagramError as error:
        raise DiagramError([Problem(problem.what, Place(file, at.line)) for problem in error.problems]) from None


def number_between(value: object, limits: tuple[float, float], what: str) -> float:
    low, high = limits
    if isinstance(value, bool) or not isinstance(value, (int, float)) or not math.isfinite(value) or not low <= value <= high:
        raise DiagramError(f"{what}: found {brief_value(value)}. A number from {low:g} to {high:g} is allowed.")
    return float(value)


def plain_source(value: object, block: str, assignment: Assignment) -> dict[str, Any]:
    """The settings of a source, of a type the assignment allows, with plain values only: no wires, no files, no formulas."""
    if not isinstance(value, dict):
        raise DiagramError(f"{block}: found {brief_value(value)}. Write {block}: {{type: ..., ...}}.")
    one_of(value.get("type"), assignment.sources[block], f"{block}: type")
    for key, item in value.items():
        if key in ("in", "flip"):
            raise DiagramError(f"{block}: '{key}' is not allowed: a source has no inputs.")
        if key != "type" and not is_plain(item):
            raise DiagramError(
                f"{block}: {key}: found {brief_value(item)}. Numbers, lists of numbers and plain words are allowed."
            )
    return value


def is_plain(item: object) -> bool:
    """Numbers, words and lists of them: nothing that is computed or read from somewhere."""
    if isinstance(item, list):
        return all(is_plain(part) for part in item)
    return isinstance(item, (bool, int, float)) or (isinstance(item, str) and item.isidentifier())


def own_loop(assignment: Assignment) -> dict[str, Any]:
    """The assignment's loop as its file has it."""
    path = find_diagram(assignment.diagram)
    root, _ = read_yaml(read_file(path, path), path)
    return dict(root.plain())


def steps_of(assignment: Assignment) -> float:
    """The step of the loop's solver [s]."""
    return float(own_loop(assignment)["simulate"]["step"])


def loop_of(assignment: Assignment, sources: Mapping[str, dict[str, Any]]) -> str:
    """The YAML of the assignment's loop with these sources in place of its own; it logs what is measured and what is limited."""
    import yaml

    loop = own_loop(assignment)
    for block, source in sources.items():
        loop["blocks"][block] = source
    loop["log"] = list(dict.fromkeys([*assignment.measured.values(), *assignment.budget.limits]))
    return str(yaml.safe_dump(loop, sort_keys=False, allow_unicode=True, default_flow_style=None, width=120))
