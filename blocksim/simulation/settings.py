"""Settings of the blocks of a schedule: found by name, and what a change of one changes.

number   it has a place in the program's numbers, and nothing else depends on it
table    arrays are computed from it, or tables of another block: the numbers are computed anew, the program stays
code     it shapes the program or its clock (a size, a variant, a sample time): the experiment is made again
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Literal

from ..compiler.slots import array_value
from ..contract.declarations import Param, Period, Static, Table
from ..contract.definition import arguments
from ..contract.plant import bind
from ..diagram.diagram import Diagram
from ..errors import DiagramError, did_you_mean, listing
from ..schedule.flatten import kind_for
from ..schedule.schedule import Schedule, Unit

if TYPE_CHECKING:
    from .experiment import Experiment

Kind = Literal["number", "table", "code"]


def find_setting(schedule: Schedule, name: str) -> tuple[Unit, str]:
    """'plant.J' -> the unit and its setting; an error says what there is."""
    path, _, key = name.rpartition(".")
    if not path:
        parameters = schedule.diagram.spec.parameters if schedule.diagram.spec is not None else {}
        raise DiagramError(
            f"'{name}' is no parameter. Write block.parameter, or one of the diagram's parameters: {listing(parameters)}."
            + did_you_mean(name, parameters)
        )
    unit = schedule.unit(path)
    takes = [n for n, d in unit.kind.declared.items() if d.settable]
    if key not in takes:
        raise DiagramError(
            f"block '{path}' has no parameter '{key}'. {type(unit.block).__name__} takes: {listing(takes)}."
            + did_you_mean(key, takes)
        )
    return unit, key


def settings_of_unit(unit: Unit) -> dict[str, Any]:
    """Without those that only a variant of the block declares."""
    return {n: v for n, v in unit.settings.items() if n in type(unit.block).declared}


def parameter_home(diagram: Diagram, name: str) -> Diagram | None:
    """The file or the subsystem whose parameter a name means: 'motor.J' where motor is a part with a parameter J."""
    *path, key = name.split(".")
    part: Any = diagram
    for step in path:
        node = part.nodes.get(step) if isinstance(part, Diagram) else None
        part = node.block if node else None
    return part if isinstance(part, Diagram) and key in part.parameters else None


def parameter_in(diagram: Diagram, name: str) -> Any:
    """The value of a parameter of the file or of a subsystem; None where the name means none."""
    home = parameter_home(diagram, name)
    return None if home is None else home.parameters[name.rpartition(".")[2]]


def subsystem_parameters(diagram: Diagram, names: Iterable[str]) -> list[str]:
    """Those of the names that mean a parameter of a subsystem."""
    return [name for name in names if "." in name and parameter_home(diagram, name) is not None]


def kind_of_change(schedule: Schedule, unit: Unit, key: str) -> Kind:
    """What any number for this setting changes. What it shapes with one value it may leave with another: see `reshapes`."""
    declared = unit.kind.declared[key]
    if isinstance(declared, (Static, Period)) or sizes_something(unit, key):
        return "code"
    scalar = isinstance(unit.settings.get(key), (int, float)) and isinstance(declared, Param)
    shared = used_in_tables(unit, key) or any(p.path == unit.path for u in schedule.units for p in u.plants.values())
    return "number" if scalar and not shared else "table"


def reshapes(schedule: Schedule, experiment: Experiment | None, unit: Unit, settings: dict[str, Any]) -> bool:
    """Whether new settings of one block change its sizes, its variant, its rate, or a length the code relies on."""
    if unit.after:
        return False  # it is no part of the program: `process` gives it the settings of the run
    for key, value in settings.items():
        if kind_of_change(schedule, unit, key) == "code" or value_shape(value) != value_shape(unit.settings.get(key)):
            return True
        if key in weights(unit) and bool(value) != bool(unit.settings.get(key)):
            return (
                True  # its inverse model has this parameter where it is not 0: those that name it as their model are others then
            )
    block = type(unit.block)(**{**settings_of_unit(unit), **settings})
    if unit.plants:
        bind(block, unit.plants)
    if kind_for(block, unit.inputs) is not unit.kind:
        return True
    if not any(used_in_tables(unit, key) for key in settings):
        return False
    changed = replace(unit, settings={**unit.settings, **settings}, tables={})
    if experiment is None:
        return any(array_value(changed, name).size != array_value(unit, name).size for name in unit.kind.of(Table))
    slots = experiment.slots
    fixed = [r for r in slots.regions if r.unit == unit.index and r.index in slots.fixed and r.name in unit.kind.of(Table)]
    return any(array_value(changed, r.name).size != slots.fixed[r.index] for r in fixed)


def weights(unit: Unit) -> tuple[str, ...]:
    """Parameters that a plant's inverse model has only where they are not 0."""
    names: tuple[str, ...] = getattr(unit.kind, "weight_parameters", ())
    return names


def value_shape(value: Any) -> tuple[int, ...]:
    if hasattr(value, "shape"):
        return tuple(value.shape)
    if isinstance(value, (list, tuple)):
        return (len(value), *(value_shape(value[0]) if value else ()))
    return ()


def sizes_something(unit: Unit, key: str) -> bool:
    return any(key in arguments(f) for n, f in unit.kind.functions.items() if n.startswith("size_"))


def used_in_tables(unit: Unit, key: str) -> bool:
    return any(key in arguments(f) for n, f in unit.kind.functions.items() if n.startswith("table_"))
