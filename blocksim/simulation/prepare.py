"""From whatever names a diagram to an experiment that is ready to run, with those changes left that only change numbers."""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import Any, TypeAlias

from ..diagram.build import open_diagram
from ..diagram.diagram import Diagram
from .experiment import Experiment, make_experiment
from .overrides import applied, shaping, subsystem_parameters

#: Whatever names a diagram: a path, a bundled name, YAML text, a Diagram, or an Experiment that is ready to run.
Diagrammatic: TypeAlias = str | os.PathLike[str] | Diagram | Experiment


def experiment(diagram: Diagrammatic, params: Mapping[str, Any] | None = None, **options: Any) -> Experiment:
    """Make a diagram ready to run once and for many runs; changes that shape the code are applied here."""
    return prepared(diagram, params or {}, options)[0]


def prepared(diagram: Diagrammatic, params: Mapping[str, Any], options: Mapping[str, Any]) -> tuple[Experiment, dict[str, Any]]:
    """The experiment, and those changes that are left for the run because they only change numbers."""
    if isinstance(diagram, Experiment):
        if not options:
            shape = shaping(diagram, params)
            if not shape:
                return diagram, dict(params)
        options = {**vars(diagram.options), **options}
        diagram = diagram.diagram
    outer = {n: v for n, v in params.items() if "." not in n}
    inner = {n: v for n, v in params.items() if "." in n}
    built = open_diagram(diagram, outer)
    parts = subsystem_parameters(built, inner)
    if parts:
        built = applied(built, {n: inner.pop(n) for n in parts})
    made = make_experiment(built, **options)
    shape = shaping(made, inner)
    if shape:
        made = make_experiment(applied(built, {n: inner.pop(n) for n in shape}), **options)
    return made, inner
