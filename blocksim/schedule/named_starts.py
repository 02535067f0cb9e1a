"""Starting values that another block finds: `start: {k1: response}` makes one block wait for another, as a wire does."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from ..contract.declarations import Static
from ..errors import DiagramError, Problem, did_you_mean, listing
from .schedule import Unit

TRUTH = "truth"  # the plant's own value, by name


def start_names(unit: Unit, settings: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    """The settings of a block that name another one, each with that name."""
    for setting in unit.kind.starts_from:
        value = settings.get(setting)
        if isinstance(value, str) and value not in unit.kind.start_words:
            yield setting, value
        for key, one in value.items() if isinstance(value, Mapping) else ():
            first = one.get("start") if isinstance(one, Mapping) else one
            if isinstance(first, str) and first != TRUTH and not describes(unit, key):
                yield setting, first


def start_keys(unit: Unit, settings: Mapping[str, Any]) -> set[str]:
    """The parameters whose start is a word or a name, '' for all."""
    keys = set()
    for value in (settings.get(setting) for setting in unit.kind.starts_from):
        keys |= {""} if isinstance(value, str) else set()
        for key, one in value.items() if isinstance(value, Mapping) else ():
            if isinstance(one.get("start") if isinstance(one, Mapping) else one, str):
                keys |= {key, key.rpartition(".")[2]}
    return keys


def describes(unit: Unit, key: str) -> bool:
    """Whether a word for this setting of the plant is one of its own: `friction: tanh`."""
    plant = unit.plants.get("model")
    return plant is not None and isinstance(plant.kind.declared.get(key), Static)


def neighbour(unit: Unit, name: str) -> str:
    """The path of a block of that name in the same part of the diagram."""
    scope = unit.path.rpartition(".")[0]
    return f"{scope}.{name}" if scope else name


def awaited(unit: Unit) -> list[str]:
    """The paths of the blocks whose estimates a block starts from."""
    return list(dict.fromkeys(neighbour(unit, name) for _, name in start_names(unit, unit.settings)))


def check_names(units: list[Unit]) -> None:
    """Refuse names of blocks that find nothing."""
    finding = [u.path for u in units if u.kind.estimated or u.kind.after_run]
    problems = []
    for unit in units:
        for setting, name in start_names(unit, unit.settings):
            if neighbour(unit, name) in finding and neighbour(unit, name) != unit.path:
                continue
            words = listing(f"'{word}'" for word in unit.kind.start_words)
            others = [path for path in finding if path != unit.path]
            problems.append(
                Problem(
                    f"block '{unit.path}': {setting}: '{name}' is neither a number nor {words} nor a block that estimates "
                    f"something. Such blocks are: {listing(others)}." + did_you_mean(name, others),
                    unit.node.at(setting),
                )
            )
    if problems:
        raise DiagramError(problems)
