"""Parameters of a file as settings of its blocks: `${gain}` changed to 3 is `pid.kp` changed to 60.

A diagram that is ready to run need not be built again for a new value of a parameter that only moves settings of blocks: the
expressions are evaluated anew and what comes out is put where any changed setting goes.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields
from typing import Any

from ..contract.block import Block
from ..contract.declarations import Period
from ..diagram.checks import is_number
from ..diagram.diagram import Diagram, Node
from ..diagram.parameters import Meter, ParameterScope, scope_of, substituted
from ..diagram.spec import BlockSpec, Spec


class MoreThanSettingsError(ValueError):
    """New values of parameters reach beyond the settings of blocks: times of the run, sizes of ports, what is logged."""


def settings_of_parameters(diagram: Diagram, changes: Mapping[str, Any]) -> dict[str, Any]:
    """The changes with those of parameters, of the file or of a subsystem, replaced by the settings they move, by path.

    MoreThanSettingsError where they move anything else, or are wrong in themselves: then the diagram is to be built with them,
    and says what is wrong with its line.
    """
    try:
        return moved_settings(diagram, "", diagram.given, grouped(changes))
    except ValueError as error:
        raise MoreThanSettingsError(str(error)) from None


def grouped(changes: Mapping[str, Any]) -> dict[tuple[str, ...], Any]:
    """Changes by the parts of their names."""
    return {tuple(name.split(".")): value for name, value in changes.items()}


def moved_settings(
    part: Diagram, prefix: str, values: Mapping[str, Any], changes: Mapping[tuple[str, ...], Any]
) -> dict[str, Any]:
    """What changes inside one diagram: its parameters' `values` were given from outside, `changes` are named from here."""
    own = {name[0]: value for name, value in changes.items() if len(name) == 1}
    rest = {name: value for name, value in changes.items() if len(name) > 1}
    new = scope_with(part, {**values, **own})
    settings: dict[str, Any] = {}
    if part.spec is not None and new.values != part.parameters:
        check_surroundings(part.spec, part, new)
    for node in part.nodes.values():
        inner = {name[1:]: value for name, value in rest.items() if name[0] == node.name}
        settings |= moved_in(node, part, f"{prefix}{node.name}", new, inner)
    unheard = {name[0] for name in rest} - part.nodes.keys()
    if unheard:
        raise MoreThanSettingsError(f"no block {unheard}")
    return settings


def moved_in(node: Node, part: Diagram, path: str, new: ParameterScope, inner: Mapping[tuple[str, ...], Any]) -> dict[str, Any]:
    """What changes inside one block or subsystem."""
    entry = part.spec.blocks.get(node.name) if part.spec is not None else None
    if isinstance(node.block, Diagram):
        if entry is None:  # put there in Python: nothing of it follows the file's parameters
            return moved_settings(node.block, f"{path}.", node.block.given, inner)
        return moved_settings(node.block, f"{path}.", subsystem_settings(entry, new, node.block), inner)
    settings = {} if entry is None or new.values == part.parameters else followed(entry, node.block, part, new)
    named = {".".join(name): value for name, value in inner.items()}
    return {f"{path}.{key}": value for key, value in {**settings, **named}.items()}


def scope_with(part: Diagram, values: Mapping[str, Any]) -> ParameterScope:
    """The parameters of a diagram with some of them given."""
    if part.spec is None:
        if values:
            raise MoreThanSettingsError("a diagram made in Python has no parameters")
        return ParameterScope()
    if values.keys() - part.spec.parameters.keys():
        raise MoreThanSettingsError("an unknown parameter")
    plain = {name: value.tolist() if hasattr(value, "tolist") else value for name, value in values.items()}
    scope, problems = scope_of(part.spec.parameters, plain, Meter())
    if problems:
        raise MoreThanSettingsError(problems[0][1])
    return scope


def subsystem_settings(entry: BlockSpec, scope: ParameterScope, part: Diagram) -> dict[str, Any]:
    """The settings of a subsystem as its user's file writes them."""
    return {key: substituted(text, scope) for key, text in entry.settings.items() if key in part.parameters}


def followed(entry: BlockSpec, block: Block, part: Diagram, new: ParameterScope) -> dict[str, Any]:
    """The settings of a block whose expressions have another value now."""
    old, settings = ParameterScope(part.parameters), {}
    for key, text in entry.settings.items():
        time = isinstance(type(block).declared.get(key), Period)
        value = substituted(text, new, time)
        if value is not text and value != substituted(text, old, time):
            if not numeric(value):  # names of files and of variants: build() knows what they may be
                raise MoreThanSettingsError(f"'{key}' is no number")
            settings[key] = value
    return settings


def numeric(value: Any) -> bool:
    return all(map(numeric, value)) if isinstance(value, list) else is_number(value)


def check_surroundings(spec: Spec, part: Diagram, new: ParameterScope) -> None:
    """That nothing but settings of blocks follows the parameters that change."""
    old = ParameterScope(part.parameters)
    texts: list[Any] = [getattr(spec.simulate, item.name) for item in fields(spec.simulate)]
    texts += [entry.every for entry in spec.log or ()]
    texts += list(spec.ports.inputs.values()) if spec.ports is not None else []
    if spec.record is not None:
        record = spec.record
        texts += [record.file, record.time, record.missing, record.every, record.resample]
        texts += [value for column in record.signals.values() for value in (column.scale, column.offset)]
    for text in texts:
        if substituted(text, new, True) != substituted(text, old, True):
            raise MoreThanSettingsError(f"'{text}' is no setting of a block")
