"""Renumbering: an experiment with other settings as other numbers of the same program, tables computed from them included."""

from __future__ import annotations

import copy
from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from ...compiler.slots import array_value
from ...contract.declarations import Param, Period, State, Static, Table
from ...contract.definition import arguments
from ...errors import DiagramError
from ...schedule.flatten import kind_for
from ...simulation.overrides import Overrides
from ...simulation.settings import settings_of_unit

if TYPE_CHECKING:
    from ...compiler.slots import Numbers
    from ...schedule.schedule import Unit
    from ...simulation.experiment import Experiment


def renumbered_experiment(base: Experiment, settings: Mapping[str, Any]) -> Experiment | None:
    """An experiment with other settings of its blocks, as other numbers of the same program; None where that cannot be."""
    other = copy.copy(base)  # with all that was computed of it
    other.numbers = base.numbers.copy()
    for path, own in Overrides(settings).by_path.items():
        unit = base.schedule.unit(path)
        if not only_numbers(unit, own):
            return None
        put_settings(base, other.numbers, unit, own)
    return other


def only_numbers(unit: Unit, settings: Mapping[str, Any]) -> bool:
    """Whether new settings of a block are seen by its code through numbers and tables alone."""
    for key in (name for name, value in settings.items() if value != unit.settings.get(name)):
        shaped = isinstance(unit.kind.declared.get(key), Static)
        coded = (f for name, f in unit.kind.functions.items() if not name.startswith(("table_", "size_", "check")))
        if shaped and any(key in arguments(function) for function in coded):
            return False
    block = type(unit.block)(**{**settings_of_unit(unit), **settings})
    return kind_for(block, unit.inputs) is unit.kind


def put_settings(experiment: Experiment, numbers: Numbers, unit: Any, settings: Mapping[str, Any]) -> None:
    """Write a block's new settings into the numbers of its program: scalars, and tables computed from them."""
    changed = replace(unit, settings={**unit.settings, **settings}, tables={})
    for name, declared in unit.kind.declared.items():
        region = experiment.slots.arrays.get((unit.index, name))
        if region is not None and isinstance(declared, (Param, Table)) and not isinstance(declared, State):
            value = array_value(changed, name).reshape(-1)
            begin, end = int(numbers.o[region.index]), int(numbers.o[region.index + 1])
            if end - begin != value.size:
                raise DiagramError(f"block '{unit.path}': {name} has {value.size} numbers where the program has {end - begin}.")
            numbers.a[begin:end] = value
            continue
        places = experiment.slots.where.get((unit.index, name))
        if places and isinstance(declared, Param) and not isinstance(declared, Period) and name in settings:
            store = numbers.m if name in unit.kind.of(State) else numbers.p
            store[places] = settings[name]
