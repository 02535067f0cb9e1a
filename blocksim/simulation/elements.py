"""Elements of settings that are lists or matrices, by name: 'filter.den[1]', 'plant.A[0,1]'."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from ..diagram.diagram import Diagram
from ..errors import DiagramError
from ..schedule.flatten import flatten
from ..schedule.schedule import Schedule
from .overrides import Overrides

ELEMENT_NAME = re.compile(r"^(?P<name>.*[^\]\s])\s*\[\s*(?P<row>\d+)\s*(?:,\s*(?P<column>\d+)\s*)?\]$")


def split_element(name: str) -> tuple[str, tuple[int, ...]]:
    """'plant.A[0,1]' -> 'plant.A', (0, 1); a name without brackets has no place."""
    match = ELEMENT_NAME.match(name)
    if match is None:
        return name, ()
    return match["name"], tuple(int(match[part]) for part in ("row", "column") if match[part] is not None)


def element_names(name: str, value: Any) -> list[str]:
    """The elements of a list or matrix by name; the name itself of a number, nothing of what has none."""
    if isinstance(value, (int, float)) and not isinstance(value, bool):
        return [name]
    rows = value.tolist() if hasattr(value, "tolist") else value
    if not isinstance(rows, (list, tuple)):
        return []
    if rows and isinstance(rows[0], (list, tuple)):
        return [f"{name}[{i},{j}]" for i, row in enumerate(rows) for j in range(len(row))]
    return [f"{name}[{i}]" for i in range(len(rows))]


def number_at(value: Any, place: Sequence[int]) -> float | None:
    """The number at a place of a list or matrix; None where there is none."""
    for index in place:
        rows = value.tolist() if hasattr(value, "tolist") else value
        if not isinstance(rows, (list, tuple)) or not 0 <= index < len(rows):
            return None
        value = rows[index]
    return float(value) if isinstance(value, (int, float)) and not isinstance(value, bool) else None


def with_element(value: Any, place: Sequence[int], number: float) -> Any:
    """A copy of a list or matrix with another number at a place."""
    if not place:
        return number
    rows = list(value.tolist() if hasattr(value, "tolist") else value)
    rows[place[0]] = with_element(rows[place[0]], place[1:], number)
    return rows


def whole_settings(changes: Mapping[str, Any], value_of: Callable[[str], Any]) -> dict[str, Any]:
    """Changes in which elements are put into the lists they are of; `value_of` gives a setting as it is without them."""
    result: dict[str, Any] = {}
    for name, number in changes.items():
        setting, place = split_element(name)
        if not place:
            result[name] = number
            continue
        value = result.get(setting, changes.get(setting)) if setting in result or setting in changes else value_of(setting)
        if number_at(value, place) is None:
            raise DiagramError(f"'{name}': {setting} = {value} has no such element.")
        result[setting] = with_element(value, place, number)
    return result


def parameter_number(schedule: Schedule, changes: Mapping[str, Any], name: str) -> Any:
    """What a parameter is with these changes: the setting, or its element; None where it has no such element."""
    setting, place = split_element(name)
    whole = run_settings(schedule, changes)
    value = Overrides(whole).value(schedule, setting)
    return number_at(value, place) if place else value


def run_settings(schedule: Schedule, changes: Mapping[str, Any]) -> dict[str, Any]:
    """Changes in which elements stand in the lists they are of, which are otherwise those of the schedule."""
    if not any("[" in name for name in changes):
        return dict(changes)
    return whole_settings(changes, lambda name: Overrides().value(schedule, name))


def settings_in_diagram(diagram: Diagram, changes: Mapping[str, Any]) -> dict[str, Any]:
    """The same for a diagram."""
    return run_settings(flatten(diagram), changes) if any("[" in name for name in changes) else dict(changes)
