"""Units of signals: declared where a block knows them, else inferred along the wires.

A Sum adds like with like, a sensor or a hold passes on what it reads (`Block.same_unit`), a speed is in the unit of its position
per second (`outport(rate_of=)`), and what drives an input measured in N m is in N m. A unit that would be contradicted by
another is left out.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping

from ..contract.declarations import Inport, Outport
from .schedule import Schedule, Unit

PortKey = tuple[int, str]
#: A unit as what is differentiated and how often: ('rad', 2) is rad/s^2.
Measure = tuple[str, int]
RATE = re.compile(r"(?P<base>.+)/s(\^(?P<times>\d+))?")


def infer_units(schedule: Schedule) -> dict[PortKey, str]:
    """The unit of every output (unit index, port), '' where nothing tells."""
    ties: dict[PortKey, list[tuple[PortKey, int]]] = {(u.index, p): [] for u in schedule.units for p in u.kind.of(Outport)}
    declared_units: dict[PortKey, str] = {}
    expected_units: dict[PortKey, set[str]] = {}
    for unit in schedule.units:
        arriving = {p: [es[0][:2] for es in ess if es] for p, ess in unit.elements.items()}
        for port, declared in unit.kind.of(Outport).items():
            signal = (unit.index, port)
            for source, times in () if joins_unlike(schedule, unit, arriving) else relatives(unit, declared, arriving):
                ties[signal].append((source, times))
                ties[source].append((signal, -times))
            if certain(own := port_unit(unit, port)) and not unit.kind.same_unit:
                declared_units[signal] = own
        for port in unit.kind.of(Inport):
            expected = port_unit(unit, port)
            for source in arriving.get(port, []) if certain(expected) and not unit.kind.same_unit else []:
                expected_units.setdefault(source, set()).add(expected)
    units = {}
    for family in unit_families(ties):
        makers = {derived(declared_units[s], -times) for s, times in family.items() if s in declared_units}
        readers = {derived(name, -times) for s, times in family.items() for name in expected_units.get(s, ())}
        candidates = list(
            makers or readers
        )  # what is declared by the makers of a signal weighs more than what its readers expect
        for signal, times in family.items():
            units[signal] = declared_units.get(signal) or (
                unit_text(derived(candidates[0], times)) if len(candidates) == 1 else ""
            )
    return units


def joins_unlike(schedule: Schedule, unit: Unit, arriving: Mapping[str, list[PortKey]]) -> bool:
    """Whether a block makes one vector of signals whose makers declare different units, such as an angle and its speed."""
    wide = any(port.many and port.size == "any" for port in unit.kind.of(Inport).values())
    if not (wide and unit.kind.same_unit):
        return False
    makers = [(schedule.units[index], port) for sources in arriving.values() for index, port in sources]
    units = {maker.kind.of(Outport)[port].unit for maker, port in makers}
    return sum(map(certain, units)) > 1


def relatives(unit: Unit, declared: Outport, arriving: Mapping[str, list[PortKey]]) -> Iterator[tuple[PortKey, int]]:
    """Signals that tell the unit of an output, and how often they are differentiated in it."""
    if unit.kind.same_unit:
        yield from ((source, 0) for sources in arriving.values() for source in sources)
    name, times = declared.relative()
    if name in unit.kind.of(Outport):
        yield (unit.index, name), times
    elif times >= 0:  # an integrated force may be meant as the speed of a mass of 1
        yield from ((source, times) for port in ports_like(unit, name) for source in arriving.get(port, []))


def ports_like(unit: Unit, name: str) -> list[str]:
    """An input, and those that are for the same unit as it."""
    return [port for port, declared in unit.kind.of(Inport).items() if name and name in (port, declared.like)]


def port_unit(unit: Unit, port: str) -> str:
    """The unit of a port: as its settings and plants decide, or as declared."""
    declared: str = unit.kind.of(Inport, Outport)[port].unit
    try:
        return unit.block.port_units(unit.plants).get(port) or declared
    except Exception:  # of anybody's block, or of one with mistakes, which are told elsewhere
        return declared


def element_units(unit: Unit) -> Mapping[str, tuple[str, ...]]:
    """Of ports whose elements differ in unit: the units, as its settings decide."""
    try:
        return unit.block.element_units()
    except Exception:  # of anybody's block, or of one with mistakes, which are told elsewhere
        return {}


def unit_families(ties: Mapping[PortKey, Iterable[tuple[PortKey, int]]]) -> Iterator[dict[PortKey, int]]:
    """Signals whose units follow from each other, each with the times it is differentiated against the first."""
    earlier: set[PortKey] = set()
    for first in ties:
        if first in earlier:
            continue
        family, waiting = {first: 0}, [first]
        while waiting:
            signal = waiting.pop()
            for other, times in ties[signal]:
                if other not in family:
                    family[other] = family[signal] - times
                    waiting.append(other)
        earlier.update(family)
        yield family


def certain(unit: str) -> bool:
    """'rad or m' tells nothing."""
    return bool(unit) and " or " not in unit


def derived(unit: str | Measure, times: int) -> Measure:
    """The unit of a derivative; of an integral for negative `times`."""
    if isinstance(unit, str):
        match = RATE.fullmatch(unit)
        unit = (match["base"], int(match["times"] or 1)) if match else (unit, 0)
    return unit[0], unit[1] + times


def unit_text(measure: Measure) -> str:
    """'rad/s^2' for ('rad', 2), 'N m s' for ('N m', -1)."""
    base, times = measure
    power = f"s^{abs(times)}" if abs(times) > 1 else "s"
    return base if not times else f"{base}/{power}" if times > 0 else f"{base} {power}"
