"""What an output error looks for: numbers of a diagram, each with its start and its bounds."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from blocksim.contract.declarations import Param
from blocksim.contract.limits import Interval
from blocksim.errors import DiagramError, RecordError, listing
from blocksim.estimation.process import Run
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
    overrides = Overrides(run.changes if run is not None else {})
    parameters = []
    for name, more in entries.items():
        whole = f"{scope}.{name}" if scope else str(name)
        if run is not None and whole.rpartition(".")[0] not in schedule.by_path:
            raise RecordError(f"parameters: {whole} has no influence on what is compared.")
        parameters.append(free_parameter(whole, more, schedule, overrides, first_of(whole, block.settings["start"])))
    if run is not None and run.simulated:
        refuse_truth(parameters, block.settings["start"], schedule, overrides)
    return parameters


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
    if start == 1 and any(one.start == overrides.value(schedule, one.path) for one in free):
        raise RecordError(
            "start: 1 times the plant's own values, and a start there, which in a simulation is the truth, proves nothing. Give "
            "another share, values under `parameters`, the name of a block that found them; or say truth where that is meant."
        )


def free_parameter(name: str, more: Any, schedule: Any, overrides: Overrides, first: Any) -> FreeParameter:
    try:
        unit, key = find_setting(schedule, name)
    except DiagramError as error:
        raise DiagramError(f"parameters: {error}") from None
    declared, value = unit.kind.declared[key], overrides.value(schedule, name)
    if unit.after or not isinstance(declared, Param) or not isinstance(value, (int, float)) or isinstance(value, bool):
        numbers = [
            n for n, d in unit.kind.declared.items() if isinstance(d, Param) and isinstance(unit.settings.get(n), (int, float))
        ]
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
    return FreeParameter(name, start, low, high, declared.unit)


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
