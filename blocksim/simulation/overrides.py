"""Overrides: settings given beside the diagram, {"plant.J": 0.02}.

A name is a parameter of the file ('Ts'), of a subsystem ('motor.J' where motor is a part with a parameter J), a setting of a
block ('plant.J', 'motor.rotor.J'), or an element of one of these ('pid.kp[0]', 'plant.A[1,0]'), which `elements` puts into its
list. What a change of a setting changes (a number, a table, the code) `settings` says.
"""

from __future__ import annotations

import functools
from collections.abc import Collection, Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from ..compiler.slots import Numbers, fill
from ..contract.block import Block
from ..contract.declarations import Declared, Memory, Model, State
from ..contract.plant import Plant
from ..diagram.build import build, open_diagram
from ..diagram.diagram import Diagram
from ..errors import DiagramError, Problem
from ..schedule.flatten import flatten
from ..schedule.schedule import Schedule, Unit
from .elements import flat_place, run_settings, settings_in_diagram, split_element, whole_parameters
from .settings import find_setting, kind_of_change, reshapes, settings_of_unit, subsystem_parameters, used_in_tables, weights

if TYPE_CHECKING:
    import numpy as np

    from .experiment import Experiment


@dataclass(frozen=True)
class NumberPlace:
    """Where a number of an experiment stands, and which values it may have."""

    declared: Declared
    store: str  # p, x or m; '' for a block that works after the run, which is no part of the program
    addresses: Any


class Overrides:
    """Changes by name, and all that can be done with them: asked for their kind, checked, applied."""

    def __init__(self, changes: Mapping[str, Any] | None = None):
        self.changes = dict(changes or {})

    @property
    def of_file(self) -> dict[str, Any]:
        """Those of the file's own parameters."""
        return {n: v for n, v in self.changes.items() if "." not in n}

    def of_parameters(self, diagram: Diagram) -> list[str]:
        """The names of those that mean a parameter, of the file or of a subsystem, and no setting of a block."""
        return [*self.of_file, *subsystem_parameters(diagram, self.without(self.of_file).changes)]

    def plain_numbers(self, experiment: Experiment) -> bool:
        """Whether each is a number in the place of one, so that nothing about the code is to be asked."""
        return all(type(value) in (int, float) and only_a_number(experiment, name) for name, value in self.changes.items())

    @functools.cached_property
    def by_path(self) -> dict[str, dict[str, Any]]:
        """Settings by the path of their block."""
        gathered: dict[str, dict[str, Any]] = {}
        for name, value in self.changes.items():
            path, _, key = name.rpartition(".")
            gathered.setdefault(path, {})[key] = value
        return gathered

    def value(self, schedule: Schedule, name: str) -> Any:
        """What a setting of a block is with these changes."""
        unit, key = find_setting(schedule, name)
        return self.changes.get(name, unit.settings.get(key))

    # ---- of which kind, and whether they are right -----------------------------------------------------------------

    def by_unit(self, schedule: Schedule) -> list[tuple[Unit, dict[str, Any]]]:
        """The blocks whose settings change, each with its new ones, checked together since limits may move in pairs."""
        gathered: dict[int, tuple[Unit, dict[str, Any]]] = {}
        for name, value in self.changes.items():
            unit, key = find_setting(schedule, name)
            gathered.setdefault(unit.index, (unit, {}))[1][key] = value
        problems = [
            Problem(f"block '{unit.path}': {text}")
            for unit, settings in gathered.values()
            for _, text in type(unit.block).problems({**settings_of_unit(unit), **settings})
        ]
        if problems:
            raise DiagramError(problems)
        return list(gathered.values())

    def shaping(self, schedule: Schedule, experiment: Experiment | None = None) -> set[str]:
        """The names of those that change the code.

        The schedule alone tells, before a program is generated. An experiment whose program is there already allows more: tables
        whose length it does not rely on.
        """
        parts = subsystem_parameters(schedule.diagram, self.changes)
        names = {n for n in self.changes if "." not in n or n in parts}
        for unit, settings in self.without(names).by_unit(schedule):
            if reshapes(schedule, experiment, unit, settings):
                names |= {f"{unit.path}.{key}" for key in settings}
        return names

    def only(self, names: Collection[str]) -> Overrides:
        return Overrides({n: v for n, v in self.changes.items() if n in names})

    def without(self, names: Collection[str]) -> Overrides:
        return Overrides({n: v for n, v in self.changes.items() if n not in names})

    # ---- applied ---------------------------------------------------------------------------------------------------

    def numbers(self, experiment: Experiment) -> Numbers:
        """A copy of the experiment's numbers with the changes in place; the code must stay."""
        numbers = experiment.numbers.copy()
        for name, value in self.changes.items():
            place = place_of(experiment, name)
            if place is None or not isinstance(value, (int, float)) or place.declared.problems(value):
                return self.numbers_together(experiment)
            if place.store:
                getattr(numbers, place.store)[place.addresses] = value
        return numbers

    def numbers_together(self, experiment: Experiment) -> Numbers:
        """The same where settings of a block limit each other or tables depend on them, which are then computed anew."""
        numbers, gathered = experiment.numbers.copy(), self.by_unit(experiment.schedule)
        for unit, settings in gathered:
            for key, value in settings.items():
                place = number_place(experiment, unit, key)
                if place is None or (place.store and not isinstance(value, (int, float))):
                    return fill(
                        changed_schedule(experiment.schedule, {unit.path: new for unit, new in gathered}), experiment.slots
                    )
                if place.store:
                    getattr(numbers, place.store)[place.addresses] = value
        return numbers

    def into_running(self, experiment: Experiment, p: np.ndarray) -> None:
        """Put parameters into the numbers of a run in progress; its states and its tables are what they are."""
        schedule = experiment.schedule
        shaping = Overrides(run_settings(schedule, self.changes)).shaping(schedule, experiment)
        for name, value in self.changes.items():
            setting, place = split_element(name)
            unit, key = find_setting(schedule, setting)
            addresses = experiment.slots.where.get((unit.index, key))
            fixed = setting in shaping or used_in_tables(unit, key) or isinstance(unit.kind.declared[key], State)
            if unit.after or fixed or addresses is None:
                raise DiagramError(f"'{name}' cannot change while the simulation runs.")
            p[addresses[flat_place(unit.settings[key], place)] if place else addresses] = value

    def diagram(self, source: Any) -> Diagram:
        """Whatever names a diagram, opened, with everything changed and every value checked."""
        elements = [name for name in self.changes if "[" in name]
        result = open_diagram(source, self.without(elements).of_file)
        overrides = Overrides(whole_parameters(result, self.changes))
        if elements:
            result = open_diagram(source, overrides.of_file)
        inner = Overrides(settings_in_diagram(result, overrides.without(overrides.of_file).changes))
        if not inner.changes:
            return result
        inner.without(subsystem_parameters(result, inner.changes)).by_unit(flatten(result))
        return inner.put_into(result)

    def put_into(self, diagram: Diagram) -> Diagram:
        """A copy of a diagram with settings of its blocks, and parameters of its subsystems, changed."""
        nodes = dict(diagram.nodes)
        inner: dict[str, dict[str, Any]] = {}
        for name, value in self.changes.items():
            head, _, rest = name.partition(".")
            inner.setdefault(head, {})[rest] = value
        for head, settings in inner.items():
            block = nodes[head].block
            if not isinstance(block, Diagram):
                block = type(block)(**{**block.settings, **settings})
            else:
                own = {n: v for n, v in settings.items() if n in block.parameters}
                if own and block.spec is not None:  # parameters come from a file
                    block = build(block.spec, parameters={**block.parameters, **own})
                deeper = Overrides(settings).without(own)
                block = deeper.put_into(block) if deeper.changes else block
            nodes[head] = replace(nodes[head], block=block)
        return replace(diagram, nodes=nodes)

    def block(self, unit: Unit) -> Block:
        """A block of a schedule with its changes."""
        settings = self.by_path.get(unit.path)
        if not settings:
            return unit.block
        block = type(unit.block)(**{**unit.block.settings, **settings})
        block.bound = unit.block.bound
        return block

    def plants(self, unit: Unit) -> dict[str, Plant | None]:
        """The plants a block names, by setting, with their changes; None where it names none."""
        named: dict[str, Plant | None] = dict.fromkeys(unit.kind.of(Model))
        return named | {setting: plant.updated(self.by_path) for setting, plant in unit.plants.items()}


def only_a_number(experiment: Experiment, name: str) -> bool:
    """Whether any number for this setting leaves the code as it is, without asking which. Looked up once."""
    if name not in experiment.free:
        if "." not in name or "[" in name or subsystem_parameters(experiment.diagram, [name]):
            return False
        unit, key = find_setting(experiment.schedule, name)
        number = kind_of_change(experiment.schedule, unit, key) == "number"
        experiment.free[name] = number and type(unit.block).variant is Block.variant and key not in weights(unit)
    return experiment.free[name]


def place_of(experiment: Experiment, name: str) -> NumberPlace | None:
    """The place of a plain number that no other setting of its block limits; None where there is more to it. Looked up once."""
    if name not in experiment.places:
        unit, key = find_setting(experiment.schedule, name)
        experiment.places[name] = None if "check" in unit.kind.functions else number_place(experiment, unit, key)
    place: NumberPlace | None = experiment.places[name]
    return place


def number_place(experiment: Experiment, unit: Unit, key: str) -> NumberPlace | None:
    """Where a setting stands that is a number and nothing more; None for others."""
    declared, addresses = unit.kind.declared[key], experiment.slots.where.get((unit.index, key))
    if unit.after:
        return NumberPlace(declared, "", None)
    if addresses is None or kind_of_change(experiment.schedule, unit, key) != "number":
        return None
    return NumberPlace(
        declared, ("m" if isinstance(declared, Memory) else "x") if isinstance(declared, State) else "p", addresses
    )


def changed_schedule(schedule: Schedule, new: Mapping[str, Mapping[str, Any]]) -> Schedule:
    """The schedule with new settings by path; tables that depend on them are to be computed again."""
    units = [
        replace(
            u,
            settings={**u.settings, **new.get(u.path, {})},
            plants={n: plant.updated(new) for n, plant in u.plants.items()},
            tables=u.tables if u.path not in new and not any(p.path in new for p in u.plants.values()) else {},
        )
        for u in schedule.units
    ]
    return replace(schedule, units=units)
