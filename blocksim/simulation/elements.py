"""Elements of settings that are lists or matrices, by name: 'filter.den[1]', 'plant.A[0,1]'."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from ..diagram.diagram import Diagram
from ..errors import DiagramError
from ..schedule.flatten import flatten
from ..schedule.schedule import Schedule
from .settings import find_setting, parameter_in, value_shape

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


def value_at(value: Any, place: Sequence[int]) -> Any:
    """What stands at a place of a list or matrix; None where there is no such place."""
    for index in place:
        rows = value.tolist() if hasattr(value, "tolist") else value
        if not isinstance(rows, (list, tuple)) or not 0 <= index < len(rows):
            return None
        value = rows[index]
    return value


def number_at(value: Any, place: Sequence[int]) -> float | None:
    """The number at a place of a list or matrix; None where there is none."""
    number = value_at(value, place)
    return float(number) if isinstance(number, (int, float)) and not isinstance(number, bool) else None


def flat_place(value: Any, place: Sequence[int]) -> int:
    """How many numbers of a list or matrix come before a place, row by row."""
    flat = 0
    for size, index in zip(value_shape(value), place, strict=True):
        flat = flat * size + index
    return flat


def with_element(value: Any, place: Sequence[int], number: float) -> Any:
    """A copy of a list or matrix with another number at a place."""
    if not place:
        return number
    rows = list(value.tolist() if hasattr(value, "tolist") else value)
    rows[place[0]] = with_element(rows[place[0]], place[1:], number)
    return rows


def element_numbers(value: Any, setting: str) -> dict[str, float]:
    """The numbers in a list or matrix by name; {} where it has none, or something else among them."""
    numbers = {name: number_at(value, split_element(name)[1]) for name in element_names(setting, value) if name != setting}
    return {name: n for name, n in numbers.items() if n is not None} if None not in numbers.values() else {}


def whole_settings(changes: Mapping[str, Any], value_of: Callable[[str], Any]) -> dict[str, Any]:
    """Changes in which elements are put into the lists they are of; `value_of` gives a setting as it is without them.

    Elements of what it knows nothing of stay as they are.
    """
    result: dict[str, Any] = {}
    for name, number in changes.items():
        setting, place = split_element(name)
        home = next((of for of in (result, changes) if place and setting in of), None)
        value = home[setting] if home else value_of(setting) if place else None
        if value is None:
            result[name] = number
            continue
        if number_at(value, place) is None:
            raise DiagramError(f"'{name}': {setting} = {value} has no such element.")
        result[setting] = with_element(value, place, number)
    return result


def parameter_number(schedule: Schedule, changes: Mapping[str, Any], name: str) -> Any:
    """What a parameter is with these changes: the setting, or its element; None where it has no such element."""
    setting, place = split_element(name)
    whole = run_settings(schedule, changes)
    value = whole[setting] if setting in whole else setting_as_is(schedule, setting)
    return number_at(value, place) if place else value


def setting_as_is(schedule: Schedule, name: str) -> Any:
    unit, key = find_setting(schedule, name)
    return unit.settings.get(key)


def run_settings(schedule: Schedule, changes: Mapping[str, Any]) -> dict[str, Any]:
    """Changes in which elements stand in the lists they are of, which are otherwise those of the schedule."""
    return whole_settings(changes, lambda name: setting_as_is(schedule, name)) if any_element(changes) else dict(changes)


def whole_parameters(diagram: Diagram, changes: Mapping[str, Any]) -> dict[str, Any]:
    """Changes in which elements of parameters, of the file or of subsystems, stand in their lists; those of blocks stay."""
    return whole_settings(changes, lambda name: parameter_in(diagram, name)) if any_element(changes) else dict(changes)


def settings_in_diagram(diagram: Diagram, changes: Mapping[str, Any]) -> dict[str, Any]:
    """Changes in which elements of settings stand in the lists they are of, which are otherwise those of a diagram."""
    return run_settings(flatten(diagram), changes) if any_element(changes) else dict(changes)


def any_element(names: Iterable[str]) -> bool:
    return any("[" in name for name in names)
