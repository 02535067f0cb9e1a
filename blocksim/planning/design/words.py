"""The words of a design file, looked up in its diagram; a mistake that only the diagram shows is told with its line as well."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ...contract.block import Block
from ...diagram.build import open_diagram
from ...diagram.files import find_bundled
from ...errors import DiagramError, Place, Problem
from ...simulation.elements import parameter_number, settings_in_diagram
from ...simulation.overrides import Overrides
from ..measuring.measuring import refuse_other_code
from ..measuring.readings import whole_name
from .families import family_of
from .spec import DesignSpec

if TYPE_CHECKING:
    from ...diagram.diagram import Diagram
    from ...simulation.experiment import Experiment
    from .family import Family


def placed(spec: DesignSpec) -> DesignSpec:
    """With the diagram found beside the design file, or among those that are bundled."""
    folder, name = Path(spec.path).parent, spec.diagram
    if not spec.path or "\n" in name:
        return spec
    if (folder / name).is_file():
        return replace(spec, diagram=str(folder / name))
    if not os.path.isfile(name) and not find_bundled(name) and name.endswith((".yaml", ".yml")):
        with told_at(spec, "diagram"):
            raise DiagramError(f"there is no file '{name}' (looked in {folder.resolve()}, where the design is).")
    return spec


def diagram_of(spec: DesignSpec) -> tuple[Diagram, dict[str, Any]]:
    """The diagram of a design, with the settings that it says beside it."""
    overrides = Overrides(spec.params)  # parameters of the file make it another diagram, before sources are put into it
    with told_at(spec, "diagram"):
        diagram = open_diagram(spec.diagram, overrides.of_file)
    with told_at(spec, "params"):
        return diagram, settings_in_diagram(diagram, overrides.without(overrides.of_file).changes)


def families_of(spec: DesignSpec, diagram: Diagram, duration: float) -> list[Family]:
    """What each entry of `vary` asks for."""
    families = []
    for name, words in spec.vary.items():
        block = diagram.nodes[name].block if name in diagram.nodes else None
        with told_at(spec, "vary", name):
            families.append(family_of(name, words, duration, block.settings if isinstance(block, Block) else None))
    return families


def signals_of(spec: DesignSpec, diagram: Diagram, what: str, names: Iterable[str]) -> list[str]:
    """The whole names of signals that outputs, limits or inputs name."""
    whole = []
    for name in names:
        with told_at(spec, what, name):
            whole.append(whole_name(diagram, name, what))
    return whole


def sought_values(spec: DesignSpec, ready: Experiment, changes: Mapping[str, Any]) -> dict[str, float]:
    """The values of what is sought and of nuisance, each a number that can change while the program stays."""
    values = {}
    for what, names in (("parameters", spec.parameters), ("nuisance", spec.nuisance)):
        for name in names:
            with told_at(spec, what, name):
                refuse_other_code(ready, changes, [name])
                values[name] = float(parameter_number(ready.schedule, changes, name))
    return values


@contextmanager
def told_at(spec: DesignSpec, *keys: str) -> Iterator[None]:
    """Mistakes that are found inside belong to these words: ("vary", "u")."""
    try:
        yield
    except DiagramError as error:
        raise DiagramError([at_its_line(spec, keys, problem) for problem in error.problems], error.record) from None


def at_its_line(spec: DesignSpec, keys: tuple[str, ...], problem: Problem) -> Problem:
    """With the line of the words that it is about, which it then begins with; one of the diagram keeps its own."""
    if problem.where is not None:
        return problem
    what, start = problem.what, ": ".join(keys)
    if not what.startswith(keys[0]):
        what = f"{start}: {what}"
    key = what.removeprefix(f"{start}: ").partition(":")[0].strip("'")  # vary: u: f_max: ...
    return Problem(what, line_of_words(spec, (*keys, key)))


def line_of_words(spec: DesignSpec, keys: tuple[str, ...]) -> Place | None:
    """The line of the innermost of these keys that the file has; None where there is no text."""
    at = spec.root
    if at is None:
        return None
    for key in keys:
        if isinstance(at.value, dict) and key in at.value:
            at = at.value[key]
        elif isinstance(at.value, list):
            at = next((item for item in at.value if item.value == key), at)
        else:
            break
    return Place(spec.path or "<text>", at.line)
