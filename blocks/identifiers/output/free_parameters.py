"""What an output error looks for: numbers of a diagram, each with its start and its bounds."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from blocksim.contract.declarations import Param, State
from blocksim.contract.limits import Interval
from blocksim.errors import DiagramError, RecordError, listing
from blocksim.estimation.process import Run
from blocksim.simulation.elements import element_names, number_at, split_element, whole_settings
from blocksim.simulation.overrides import Overrides
from blocksim.simulation.settings import find_setting

KEYS = ("start", "min", "max")


@dataclass(frozen=True)
class FreeParameter:
    """A parameter that is looked for, between bounds."""

    path: str
    start: float
    low: float
    high: float
    unit: str = ""
    whole: Any = None  # the list or matrix it is an element of
    trial: int | None = None  # the record it belongs to, where each has its own

    @property
    def name(self) -> str:
        """What its estimate is called: of a record's own, 'joint.q@2' says of which."""
        return self.path if self.trial is None else f"{self.path}@{self.trial + 1}"

    @property
    def scale(self) -> float:
        """Its size, in which steps are measured."""
        return abs(self.start) or (self.high - self.low if math.isfinite(self.high - self.low) else 1.0)

    def at_bound(self, value: float) -> str:
        """Which bound a value has reached: 'min', 'max' or ''."""
        reached = {"min": abs(value - self.low), "max": abs(value - self.high)}
        return next((name for name, distance in reached.items() if distance <= 1e-6 * self.scale), "")


def free_parameters(block: Any, path: str, schedule: Any, run: Run | None) -> list[FreeParameter]:
    """The parameters with their starts and bounds, checked against the diagram."""
    scope = path.rpartition(".")[0]
    entry = block.settings["parameters"]
    entries = entry if isinstance(entry, Mapping) else dict.fromkeys(entry)
    if len(entries) < len(entry):
        raise DiagramError(f"parameters: '{next(name for name in entries if list(entry).count(name) > 1)}' is named twice.")
    overrides = Overrides(run.changes if run is not None else {})
    parameters = []
    for name, more in entries.items():
        whole = f"{scope}.{name}" if scope else str(name)
        if run is not None and split_element(whole)[0].rpartition(".")[0] not in schedule.by_path:
            raise RecordError(f"parameters: {whole} has no influence on what is compared.")
        parameters.append(free_parameter(whole, more, schedule, overrides, first_of(whole, block.settings["start"])))
    if run is not None and run.simulated:
        refuse_truth(parameters, block.settings["start"], schedule, overrides)
    return parameters


def shared_and_own(free: Sequence[FreeParameter], own: Sequence[str], trials: int) -> list[FreeParameter]:
    """The parameters of a fit of several records: those that are `own` once for each."""
    if trials == 1:
        return list(free)
    shared = [one for one in free if one.path not in own]
    return shared + [replace(one, trial=k) for k in range(trials) for one in free if one.path in own]


def first_state_parameters(starts: Sequence[Mapping[str, Any]], schedule: Any) -> list[FreeParameter]:
    """First states as parameters, of each record its own, from where the record seems to begin."""
    parameters = []
    for k, start in enumerate(starts):
        for path, value in start.items():
            unit, key = find_setting(schedule, path)
            declared, trial = unit.kind.of(State)[key], k if len(starts) > 1 else None
            low, high = declared.limits.closed() if hasattr(declared, "limits") else (-math.inf, math.inf)
            for name in element_names(path, value):
                whole = None if name == path else value
                number = float(number_at(value, split_element(name)[1]) or 0.0)
                parameters.append(FreeParameter(name, number, low, high, declared.unit, whole, trial))
    return parameters


def assigned(values: Sequence[tuple[FreeParameter, float]]) -> dict[str, Any]:
    """Parameters as settings of a run; elements are put into the lists they are of."""
    if all(one.whole is None for one, _ in values):
        return {one.path: value for one, value in values}
    wholes = {split_element(one.path)[0]: one.whole for one, _ in values}
    return whole_settings({one.path: value for one, value in values}, wholes.__getitem__)


def first_of(name: str, start: Any) -> Any:
    """What a block's `start` says of one parameter: a share of its value in the diagram, or what another block found."""
    if not isinstance(start, Mapping):
        return start
    values = [start[n] for n in (name, name.rpartition(".")[2]) if n in start]
    if not values:
        raise RecordError(f"start: nothing was found for {name}. There are: {listing(start)}.")
    return {"start": values[0]}


def refuse_truth(free: list[FreeParameter], start: Any, schedule: Any, overrides: Overrides) -> None:
    """A share of 1 begins at the truth of a simulation, and says so by another word."""
    if start == 1 and any(one.start == value_in(schedule, overrides, one.path) for one in free):
        raise RecordError(
            "start: 1 times the plant's own values, and a start there, which in a simulation is the truth, proves nothing. Give "
            "another share, values under `parameters`, the name of a block that found them; or say truth where that is meant."
        )


def value_in(schedule: Any, overrides: Overrides, path: str) -> float | None:
    """The number that a parameter is in the diagram."""
    setting, place = split_element(path)
    return number_at(overrides.value(schedule, setting), place)


def free_parameter(name: str, more: Any, schedule: Any, overrides: Overrides, first: Any) -> FreeParameter:
    setting, place = split_element(name)
    try:
        unit, key = find_setting(schedule, setting)
    except DiagramError as error:
        raise DiagramError(f"parameters: {error}") from None
    declared, whole = unit.kind.declared[key], overrides.value(schedule, setting)
    value = number_at(whole, place)
    if unit.after or not isinstance(declared, Param) or value is None:
        settings = {n: unit.settings.get(n) for n, d in unit.kind.declared.items() if isinstance(d, Param)}
        numbers = [text for n, own in settings.items() for text in element_names(n, own)]
        raise DiagramError(f"parameters: {name} is no single number of a running block. {unit.path} has: {listing(numbers)}.")
    more = {"start": more} if isinstance(more, (int, float, str)) else more or {}
    more = {**first, **more} if isinstance(first, Mapping) and isinstance(more, Mapping) else more
    if not isinstance(more, Mapping) or set(more) - set(KEYS) or not all(fits_key(k, v) for k, v in more.items()):
        raise DiagramError(f"parameters: {name}: found {more!r}; numbers for {listing(KEYS)} are wanted, or a block for start.")
    low, high = declared.limits.closed()
    if key == "delay" and unit.settings.get("longest") is not None:
        high = min(high, float(unit.settings["longest"]))  # there is room for no more
    low, high = max(low, more.get("min", -math.inf)), min(high, more.get("max", math.inf))
    if not low < high:
        raise DiagramError(f"parameters: {name}: min {more.get('min')} and max {more.get('max')} leave nothing between them.")
    share = first if isinstance(first, (int, float)) else 1.0
    word = more.get("start", "truth" if first == "truth" else None)
    own = Interval(low, high).clip(float((1.0 if word == "truth" else share) * value))
    start = float(word) if isinstance(word, (int, float)) else own  # also before a block has found it
    if not low <= start <= high:
        raise DiagramError(f"parameters: {name}: the start, {start:g}, is not between {low:g} and {high:g}.")
    return FreeParameter(name, start, low, high, declared.unit, whole if place else None)


def fits_key(key: str, value: Any) -> bool:
    return isinstance(value, (int, float)) or (key == "start" and isinstance(value, str))


def drawn(one: FreeParameter, random: np.random.Generator, factor: float = 3.0) -> float:
    """A start at random: between finite bounds, evenly or, over decades, evenly in the logarithm; else within a factor."""
    if math.isfinite(one.low) and math.isfinite(one.high):
        if one.low > 0 and one.high > 10 * one.low:
            return float(math.exp(random.uniform(math.log(one.low), math.log(one.high))))
        return float(random.uniform(one.low, one.high))
    value = one.start * factor ** random.uniform(-1, 1) if one.start else random.uniform(-1, 1)
    return float(Interval(one.low, one.high).clip(value))
