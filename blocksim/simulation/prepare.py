"""From whatever names a diagram to an experiment that is ready to run, with those changes left that only change numbers."""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import Any, TypeAlias

from ..diagram.build import open_diagram
from ..diagram.diagram import Diagram
from ..diagram.spec import Spec
from ..errors import DiagramError
from .elements import run_settings, whole_parameters
from .experiment import Experiment
from .file_parameters import MoreThanSettingsError, settings_of_parameters
from .overrides import Overrides
from .remembering.content import UnknownContentError, frozen
from .remembering.opened import OpenedDiagram
from .remembering.recollection import RECOLLECTION

#: Whatever names a diagram: a path, a bundled name, YAML text, a Spec, a Diagram, or an Experiment that is ready to run.
Diagrammatic: TypeAlias = str | os.PathLike[str] | Spec | Diagram | Experiment


def experiment(diagram: Diagrammatic, params: Mapping[str, Any] | None = None, **options: Any) -> Experiment:
    """Make a diagram ready to run once and for many runs; changes that shape the code are applied here.

    `bs.simulate(ready, params=..., seed=...)` then runs it. `simulate` itself remembers what it prepared; holding an experiment
    says that the file is not to be looked at again.
    """
    return prepared(diagram, params or {}, options)[0]


def prepared(diagram: Diagrammatic, params: Mapping[str, Any], options: Mapping[str, Any]) -> tuple[Experiment, dict[str, Any]]:
    """The experiment, and those changes that are left for the run because they only change numbers, as settings of blocks.

    What was prepared before is remembered by its content, and so are shapes it took through earlier changes. Which changes shape
    the code the schedule tells, so that one program is generated.
    """
    overrides = Overrides(params)
    try:
        base = opened(diagram, options)
    except DiagramError:
        if not overrides.of_file:
            raise
        base = opened(diagram, options, overrides.of_file)  # a parameter without a value of its own may be among them
        overrides = overrides.without(overrides.of_file)
    if base.experiment is not None and overrides.plain_numbers(base.experiment):
        return base.experiment, overrides.changes
    overrides = Overrides(whole_parameters(base.diagram, overrides.changes))
    parameters = overrides.of_parameters(base.diagram)
    if parameters:
        settings = as_settings(base, overrides)
        if settings is not None and not settings.shaping(base.schedule, base.experiment):
            return base.ready(), settings.changes
        base, overrides = variant(base, overrides.only(parameters)), overrides.without(parameters)
    overrides = Overrides(run_settings(base.schedule, overrides.changes))
    shaping = overrides.shaping(base.schedule, base.experiment)
    if shaping:
        base, overrides = variant(base, overrides.only(shaping)), overrides.without(shaping)
    return base.ready(), overrides.changes


def opened(diagram: Diagrammatic, options: Mapping[str, Any], parameters: Mapping[str, Any] | None = None) -> OpenedDiagram:
    """A diagram opened with these options, without changes but for parameters of its file; remembered, or opened now."""
    if isinstance(diagram, Experiment):
        if not options and not parameters:
            return diagram.opened
        options = {**vars(diagram.options), **options}
        diagram = diagram.diagram

    def make(source: Any) -> OpenedDiagram:
        return OpenedDiagram.of(open_diagram(source, parameters), options)

    return RECOLLECTION.recall(diagram, {**options, "parameters": dict(parameters or {})}, make)


def as_settings(base: OpenedDiagram, overrides: Overrides) -> Overrides | None:
    """The changes with those of parameters as settings of blocks; None where they are more, or wrong, which building tells."""
    try:
        settings = Overrides(run_settings(base.schedule, settings_of_parameters(base.diagram, overrides.changes)))
        settings.by_unit(base.schedule)
    except (MoreThanSettingsError, DiagramError):
        return None
    return settings


def variant(base: OpenedDiagram, overrides: Overrides) -> OpenedDiagram:
    """The same with changes in its diagram, for those that shape its code; the last few are remembered beside it."""

    def make() -> OpenedDiagram:
        diagram = open_diagram(base.diagram, overrides.of_file)
        inner = overrides.without(overrides.of_file)
        return OpenedDiagram.of(inner.put_into(diagram) if inner.changes else diagram, base.options)

    try:
        key = frozen(dict(sorted(overrides.changes.items())))
    except UnknownContentError:
        return make()
    return base.variants.recall(key, make)
