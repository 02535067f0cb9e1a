"""Changes: settings given beside the diagram, {"plant.J": 0.02}; which only change numbers, and which shape the code."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Any

from ..compiler.slots import Numbers, array_value, fill
from ..contract.block import Block
from ..contract.declarations import Memory, Param, Period, State, Static, Table
from ..contract.definition import arguments
from ..contract.plant import bind
from ..diagram.diagram import Diagram
from ..errors import DiagramError, Problem, did_you_mean, listing
from ..schedule.flatten import kind_for
from ..schedule.schedule import Schedule, Unit
from .experiment import Experiment

Changes = Mapping[str, Any]


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


def by_unit(schedule: Schedule, changes: Changes) -> list[tuple[Unit, dict[str, Any]]]:
    """Changes gathered per block and checked together, since limits may move in pairs."""
    gathered: dict[int, tuple[Unit, dict[str, Any]]] = {}
    for name, value in changes.items():
        unit, key = find_setting(schedule, name)
        gathered.setdefault(unit.index, (unit, {}))[1][key] = value
    problems = [
        Problem(f"block '{unit.path}': {text}")
        for unit, settings in gathered.values()
        for _, text in type(unit.block).problems({**own_settings(unit), **settings})
    ]
    if problems:
        raise DiagramError(problems)
    return list(gathered.values())


def own_settings(unit: Unit) -> dict[str, Any]:
    """Without those that only a variant of the block declares."""
    return {n: v for n, v in unit.settings.items() if n in type(unit.block).declared}


def subsystem_parameters(diagram: Diagram, names: Iterable[str]) -> list[str]:
    """Those of the names that mean a parameter of a subsystem: 'motor.J' where motor is a part with a parameter J."""
    found = []
    for name in names:
        *path, key = name.split(".")
        part: Any = diagram
        for step in path:
            node = part.nodes.get(step) if isinstance(part, Diagram) else None
            part = node.block if node else None
        if path and isinstance(part, Diagram) and key in part.parameters:
            found.append(name)
    return found


def shaping(experiment: Experiment, changes: Changes) -> set[str]:
    """The changes that shape the code or the clock, so that the experiment must be made again."""
    inside = subsystem_parameters(experiment.diagram, changes)
    found = {n for n in changes if "." not in n or n in inside}
    for unit, settings in by_unit(experiment.schedule, {n: v for n, v in changes.items() if n not in found}):
        if reshapes(experiment, unit, settings):
            found |= {f"{unit.path}.{key}" for key in settings}
    return found


def reshapes(experiment: Experiment, unit: Unit, settings: dict[str, Any]) -> bool:
    """Whether new settings of one block change its sizes, its variant, its rate, or a length the code relies on."""
    if unit.after:
        return False  # it is no part of the program: `process` gives it the settings of the run
    sizing = {a for n, f in unit.kind.functions.items() if n.startswith("size_") for a in arguments(f)}
    for key, value in settings.items():
        if isinstance(unit.kind.declared[key], (Static, Period)) or key in sizing:
            return True
        if shape_of(value) != shape_of(unit.settings.get(key)):
            return True
    block = type(unit.block)(**{**own_settings(unit), **settings})
    if unit.plants:
        bind(block, unit.plants)
    if kind_for(block, unit.inputs) is not unit.kind:
        return True
    if not any(used_in_tables(unit, key) for key in settings):
        return False
    slots, changed = experiment.slots, replace(unit, settings={**unit.settings, **settings}, tables={})
    fixed = [r for r in slots.regions if r.unit == unit.index and r.index in slots.fixed and r.name in unit.kind.of(Table)]
    return any(array_value(changed, r.name).size != slots.fixed[r.index] for r in fixed)


def only_a_number(experiment: Experiment, name: str) -> bool:
    """Whether any number for this setting leaves the code as it is: a plain scalar parameter or initial value."""
    if "." not in name or name in subsystem_parameters(experiment.diagram, [name]):
        return False
    unit, key = find_setting(experiment.schedule, name)
    declared = unit.kind.declared[key]
    fixed = isinstance(declared, (Static, Period)) or shape_of(unit.settings.get(key)) or used_in_tables(unit, key)
    return not fixed and type(unit.block).variant is Block.variant and not observed(experiment.schedule, unit.path)


def shape_of(value: Any) -> tuple[int, ...]:
    if hasattr(value, "shape"):
        return tuple(value.shape)
    if isinstance(value, (list, tuple)):
        return (len(value), *(shape_of(value[0]) if value else ()))
    return ()


def used_in_tables(unit: Unit, key: str) -> bool:
    return any(key in arguments(f) for n, f in unit.kind.functions.items() if n.startswith(("table_", "size_")))


def changed_numbers(experiment: Experiment, changes: Changes) -> Numbers:
    """A copy of the experiment's numbers with the changes in place; structure must stay."""
    numbers = experiment.numbers.copy()
    late = {u.path for u in experiment.schedule.after_run}
    changes = {n: v for n, v in changes.items() if n.rpartition(".")[0] not in late} if late else changes
    if not changes or all(put(experiment, numbers, name, value) for name, value in changes.items()):
        return numbers
    gathered = by_unit(experiment.schedule, changes)
    if any(observed(experiment.schedule, unit.path) for unit, _ in gathered):
        return refilled(experiment, gathered)
    for unit, settings in gathered:
        for key, value in settings.items():
            addresses = experiment.slots.where.get((unit.index, key))
            declaration = unit.kind.declared[key]
            if addresses is None or not isinstance(value, (int, float)) or used_in_tables(unit, key):
                return refilled(experiment, gathered)
            if isinstance(declaration, State):
                (numbers.m if isinstance(declaration, Memory) else numbers.x)[addresses] = value
            elif isinstance(declaration, Param):
                numbers.p[addresses] = value
    return numbers


def put(experiment: Experiment, numbers: Numbers, name: str, value: Any) -> bool:
    """Store a number whose place is known and which no other setting limits; whether that was possible."""
    if name not in experiment.direct:
        experiment.direct[name] = None
        if only_a_number(experiment, name):
            unit, key = find_setting(experiment.schedule, name)
            declared = unit.kind.declared[key]
            store = ("m" if isinstance(declared, Memory) else "x") if isinstance(declared, State) else "p"
            places = experiment.slots.where.get((unit.index, key))
            if places is not None and "check" not in unit.kind.functions:
                experiment.direct[name] = (declared, store, places)
    found = experiment.direct[name]
    if found is None or not isinstance(value, (int, float)) or found[0].problems(value):
        return False
    getattr(numbers, found[1])[found[2]] = value
    return True


def observed(schedule: Schedule, path: str) -> bool:
    """Whether tables of another block are computed from this one's settings."""
    return any(plant.path == path for unit in schedule.units for plant in unit.plants.values())


def refilled(experiment: Experiment, gathered: list[tuple[Unit, dict[str, Any]]]) -> Numbers:
    """All numbers computed anew, for changes that reach tables or arrays."""
    new = {unit.path: settings for unit, settings in gathered}
    units = [
        replace(
            u,
            settings={**u.settings, **new.get(u.path, {})},
            plants={n: plant.updated(new) for n, plant in u.plants.items()},
            tables=u.tables if u.path not in new and not any(p.path in new for p in u.plants.values()) else {},
        )
        for u in experiment.schedule.units
    ]
    return fill(replace(experiment.schedule, units=units), experiment.slots)


def applied(diagram: Diagram, changes: Changes) -> Diagram:
    """A copy of a diagram with settings of its blocks, and parameters of its subsystems, changed."""
    from ..diagram.build import build

    nodes = dict(diagram.nodes)
    inner: dict[str, dict[str, Any]] = {}
    for name, value in changes.items():
        head, _, rest = name.partition(".")
        inner.setdefault(head, {})[rest] = value
    for head, settings in inner.items():
        node = nodes[head]
        block = node.block
        if not isinstance(block, Diagram):
            block = type(block)(**{**block.settings, **settings})
        else:
            own = {n: v for n, v in settings.items() if n in block.parameters}
            if own and block.spec is not None:
                block = build(block.spec, parameters={**block.parameters, **own})
            deeper = {n: v for n, v in settings.items() if n not in own}
            block = applied(block, deeper) if deeper else block
        nodes[head] = replace(node, block=block)
    return replace(diagram, nodes=nodes)
