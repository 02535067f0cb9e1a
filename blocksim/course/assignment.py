"""Assignment: a loop, the parameters that are drawn for each student, and what an experiment may be and cost."""

from __future__ import annotations

import functools
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from ..diagram.checks import brief_value
from ..diagram.files import read_file
from ..diagram.yaml_lines import read_yaml
from ..errors import DiagramError, did_you_mean, listing

FOLDER = Path(__file__).parent / "assignments"


@dataclass(frozen=True)
class Budget:
    """What all experiments of a student may take together, and the sizes that end one at once."""

    seconds: float
    runs: int
    limits: Mapping[str, float]  # signal -> largest absolute value


@dataclass(frozen=True)
class Assignment:
    """One lesson's robot. `ranges` are of the truth, `measured` the columns that a student gets."""

    lesson: int
    title: str
    task: str
    diagram: str  # a bundled loop, with round numbers in place of the truth
    ranges: Mapping[str, tuple[float, float]]
    units: Mapping[str, str]
    measured: Mapping[str, str]  # column -> signal
    outputs: tuple[str, ...]  # the measured signals that have noise, and so a bound; the others are what was asked for
    sources: Mapping[str, tuple[str, ...]]  # block of the loop -> types it may be replaced by
    settings: Mapping[str, tuple[float, float]]  # settings of the loop that an experiment may choose
    conditions: Mapping[str, Any]  # settings that make this lesson's loop of the shared one: coarser, noisier, another law
    budget: Budget
    reference: Mapping[str, Any] = field(repr=False)  # an experiment that uses the budget well: its bound is the scale of marks

    @property
    def parameters(self) -> tuple[str, ...]:
        return tuple(self.ranges)

    @property
    def plant(self) -> str:
        return self.parameters[0].split(".")[0]


def lessons() -> dict[int, str]:
    """Lesson -> title, of all assignments."""
    return {number: assignment_of(number).title for number in sorted(int(path.stem) for path in FOLDER.glob("*.yaml"))}


@functools.cache
def assignment_of(lesson: int | str) -> Assignment:
    """The assignment of a lesson, by its number."""
    path = FOLDER / f"{lesson}.yaml"
    if not str(lesson).isdigit() or not path.is_file():
        numbers = sorted(int(p.stem) for p in FOLDER.glob("*.yaml"))
        raise DiagramError(f"lesson '{lesson}' has no assignment. There is one for: {listing(numbers)}.")
    root, _ = read_yaml(read_file(path, path.name), path.name)
    text: dict[str, Any] = root.plain()
    budget = text["budget"]
    return Assignment(
        lesson=int(lesson),
        title=text["assignment"],
        task=text["task"].strip(),
        diagram=text["diagram"],
        ranges={name: (float(entry["range"][0]), float(entry["range"][1])) for name, entry in text["truth"].items()},
        units={name: entry["unit"] for name, entry in text["truth"].items()},
        measured=text["measured"],
        outputs=tuple(text.get("outputs", text["measured"].values())),
        sources={block: tuple(types) for block, types in text["sources"].items()},
        settings={name: (float(low), float(high)) for name, (low, high) in text.get("settings", {}).items()},
        conditions=text.get("conditions", {}),
        budget=Budget(float(budget["seconds"]), int(budget["runs"]), budget["limits"]),
        reference=text["reference"],
    )


def one_of(word: object, options: Mapping[str, Any] | tuple[str, ...], what: str) -> str:
    """The word, where it is one of the options; otherwise an error that lists them."""
    if not isinstance(word, str) or word not in options:
        raise DiagramError(f"{what}: found {brief_value(word)}. Allowed: {listing(options)}." + did_you_mean(word, options))
    return word
