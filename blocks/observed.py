"""What observers have in common: the plant they know, what they measure of it, and classes whose ports follow it."""

from __future__ import annotations

import functools
import inspect
import textwrap
import types
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from blocksim.block import Block
from blocksim.declarations import Outport, Param, State, Static
from blocksim.equations import Equations, equations
from blocksim.errors import DiagramError, did_you_mean, listing
from blocksim.plant import Plant

__all__: list[str] = []


def known_plant(plant: Plant, changes: Mapping[str, Any] | None) -> Plant:
    """The plant as an observer believes it to be: with settings of its own in place of the true ones."""
    takes = [n for n, d in plant.kind.declared.items() if isinstance(d, (Param, Static)) and not isinstance(d, State)]
    for name in changes or {}:
        if name not in takes:
            raise DiagramError(
                f"parameters: {plant.name} has no parameter '{name}'. It takes: {listing(takes)}." + did_you_mean(name, takes)
            )
    changed = plant.changed(changes or {})
    problems = plant.kind.problems(changed.settings)
    if problems:
        raise DiagramError(f"parameters: {problems[0][1]}")
    return changed


def equations_of(plant: Plant) -> Equations:
    """The plant's equations; one object for all plants that differ in numbers only, so that their observers share a program."""
    statics = tuple(sorted((n, repr(plant.settings[n])) for n in plant.kind.of(Static)))
    key = plant.kind, plant.kind(**plant.settings).variant(), statics
    if key not in EQUATIONS:
        EQUATIONS[key] = equations(plant.kind, plant.settings)
    return EQUATIONS[key]


EQUATIONS: dict[Any, Equations] = {}


def values_of(plant: Plant, names: Sequence[str]) -> np.ndarray:
    """The plant's parameters in the order its equations ask for them."""
    return np.array([float(plant.settings[n]) for n in names])


def initial_state(plant: Plant) -> np.ndarray:
    """The state the plant starts from, scalar by scalar."""
    eq = equations_of(plant)
    sizes = {s: sum(1 for n in eq.states if n.partition("[")[0] == s) for s in state_names(eq)}
    return np.concatenate([np.broadcast_to(np.asarray(plant.settings[s], dtype=float), (size,)) for s, size in sizes.items()])


def state_names(eq: Equations) -> list[str]:
    """States by name, vectors once."""
    return list(dict.fromkeys(s.partition("[")[0] for s in eq.states))


def measured_ports(plant: Plant, measures: str | Sequence[str] | None) -> tuple[str, ...]:
    """The outputs of the plant that are measured; its angle q where nothing is said."""
    eq = equations_of(plant)
    names = (measures,) if isinstance(measures, str) else tuple(measures or ())
    if not names and "q" in eq.ports:
        names = ("q",)
    if not names:
        raise DiagramError(f"measures: say which outputs of {plant.name} y measures, one or a list of: {listing(eq.ports)}.")
    eq.check((), (), names)
    return names


def places(eq: Equations, ports: Sequence[str]) -> tuple[int, ...] | None:
    """Where in the state the measured outputs stand, under whatever name; None where one is no state."""
    nodes = [node for port in ports for node in eq.signals[port]]
    return tuple(eq.states.index(n.value) for n in nodes) if all(n.op == "state" for n in nodes) else None


def port_like(plant: Plant, name: str, what: str) -> Outport:
    """An output with the size and unit of a state or port of the plant."""
    declared = plant.kind.declared[name]
    return Outport(doc=f"{what} {declared.doc}", unit=declared.unit, size=getattr(declared, "size", 1))


def with_helpers(function: Callable, **helpers: Callable) -> Callable:
    """The function with other helpers in the place of those of its module that have their names."""
    made = types.FunctionType(function.__code__, {**function.__globals__, **helpers}, function.__name__)
    made.__qualname__ = function.__qualname__
    made.__module__ = function.__module__
    made.__dict__["__source__"] = source_of(function)
    return made


@functools.cache
def source_of(function: Callable) -> str:
    return textwrap.dedent(inspect.getsource(function))


def spread(value: Any, names: Sequence[str], what: str) -> np.ndarray:
    """One number for all, or one for each of the names."""
    numbers = np.atleast_1d(np.asarray(value, dtype=float))
    if numbers.size not in (1, len(names)):
        raise DiagramError(f"{what}: found {numbers.size} numbers; one for all is wanted, or one for each of: {listing(names)}.")
    return np.broadcast_to(numbers, (len(names),)).copy()


def reading_variance(R: Any, sensor: Plant | None, count: int, what: str = "R") -> np.ndarray:
    """The variance of each reading: as given, or that of the sensor that makes it."""
    if R is None or np.size(R) == 0:
        function = sensor.kind.functions.get("variance") if sensor is not None else None
        if function is None:
            source = f"y comes from {sensor.name}, which has none" if sensor is not None else "nothing drives y"
            raise DiagramError(
                f"{what}: the variance of the readings is taken from the sensor where it is not given, and {source}. Give {what}."
            )
        R = function(**sensor.given(function))  # type: ignore[union-attr]
    numbers = np.atleast_1d(np.asarray(R, dtype=float))
    if numbers.size not in (1, count) or not (numbers > 0).all():
        raise DiagramError(f"{what}: one variance above 0 for each of {count} readings is wanted, found {numbers.tolist()}.")
    return np.broadcast_to(numbers, (count,)).copy()


def make_block(base: type[Block], parts: Mapping[str, Any]) -> type[Block]:
    """A block class made for one plant."""
    return type(base.__name__, (base,), {"__doc__": base.__doc__, "__module__": base.__module__, **parts})


def chosen_parameters(plant: Plant, names: str | Sequence[str] | None) -> list[str]:
    """The parameters to estimate: those named, or all of the inverse model that the equations read."""
    eq = equations_of(plant)
    asked = [names] if isinstance(names, str) else list(names or [n for n in plant.parameters if n in eq.parameters])
    for name in asked:
        if name not in eq.parameters:
            raise DiagramError(
                f"estimate: the equations of {plant.name} do not depend on '{name}'. With its settings they depend on: "
                f"{listing(eq.parameters)}." + did_you_mean(name, eq.parameters)
            )
    twice = [n for n in asked if asked.count(n) > 1]
    if twice or not asked:
        raise DiagramError(f"estimate: '{twice[0]}' is named twice." if twice else "estimate: name at least one parameter.")
    return asked


def starting_plant(
    plant: Plant, parameters: Mapping[str, Any] | None, estimate: Any, start: Mapping[str, Any] | None, factor: float
) -> Plant:
    """The plant with the values an estimation starts from, which must be possible ones; what is not estimated stays as it is."""
    seen = known_plant(plant, parameters)
    names = chosen_parameters(seen, estimate)
    for name in start or {}:
        if name not in names:
            raise DiagramError(f"start: '{name}' is not estimated. These are: {listing(names)}." + did_you_mean(name, names))
    first = {n: factor * seen.settings[n] for n in names if n not in (start or {})}
    problems = plant.kind.problems({**seen.settings, **first, **(start or {})})
    if problems:
        raise DiagramError(
            f"start: {problems[0][1]} The plant's equations are solved for its accelerations, which is impossible there."
        )
    return seen.changed({**first, **(start or {})})


def estimate_port(plant: Plant, name: str) -> Outport:
    """A parameter's estimate as a signal."""
    declared = plant.kind.declared[name]
    return Outport(doc=f"estimate of the {declared.doc}", unit=declared.unit)
