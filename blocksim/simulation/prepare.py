"""From whatever names a diagram to an experiment that is ready to run, with those changes left that only change numbers."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from ..diagram.build import open_diagram
from ..diagram.diagram import Diagram
from ..schedule.flatten import flatten
from .experiment import Experiment, make_experiment, merge
from .overrides import Overrides
from .settings import subsystem_parameters

Diagrammatic = str | os.PathLike | Diagram | Experiment


def experiment(diagram: Diagrammatic, params: Mapping[str, Any] | None = None, **options: Any) -> Experiment:
    """Make a diagram ready to run once and for many runs; changes that shape the code are applied here."""
    return prepared(diagram, params or {}, options)[0]


def prepared(diagram: Diagrammatic, params: Mapping[str, Any], options: dict[str, Any]) -> tuple[Experiment, dict[str, Any]]:
    """The experiment, and those changes that are left for the run because they only change numbers.

    Which ones shape the code the schedule tells, so that one program is generated.
    """
    overrides = Overrides(params)
    if isinstance(diagram, Experiment):
        if not options and not overrides.shaping(diagram.schedule, diagram):
            return diagram, overrides.changes
        options = {**vars(diagram.options), **options}
        diagram = diagram.diagram
    built = open_diagram(diagram, overrides.of_file)
    left = overrides.without(overrides.of_file)
    built, left = applied(built, left, subsystem_parameters(built, left.changes))
    schedule = flatten(replace(built, simulate=merge(built, options)))
    shaping = left.shaping(schedule)
    if shaping:
        built, left = applied(built, left, shaping)
        schedule = flatten(replace(built, simulate=merge(built, options)))
    return make_experiment(built, schedule, **options), left.changes


def applied(diagram: Diagram, overrides: Overrides, names: Any) -> tuple[Diagram, Overrides]:
    """The diagram with some of the changes in it, and the others."""
    return (overrides.only(names).put_into(diagram), overrides.without(names)) if names else (diagram, overrides)
