"""What every signal is measured in, and what every input is for, as far as the blocks know and the wires tell."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass

from ..contract.declarations import Inport, Outport
from ..diagram.diagram import Ref
from ..records.conversion import unit_factor
from ..schedule.schedule import Unit
from ..schedule.units import derived, port_unit, ports_like, unit_text

#: The units a signal may be in; none where nothing tells.
Choices = frozenset[str]
UNTOLD: Choices = frozenset()
#: What is integrated for sure: a force that is integrated may be meant as the speed of a mass of 1.
MOTION = ("rad", "m")
#: The units of signals by block and port.
Measures = Mapping[tuple[str, str], Choices]


@dataclass(frozen=True)
class Demand:
    """What one input is for, and the signal that goes into it."""

    unit: Unit
    port: str
    ref: Ref
    aim: Choices

    def __str__(self) -> str:
        return f"input '{self.port}' of block '{self.unit.path}' ({type(self.unit.block).__name__})"


def signal_units(units: Iterable[Unit]) -> dict[tuple[str, str], Choices]:
    """The units of all signals, from those declared by the blocks that make them, and on through what passes units along."""
    measures: dict[tuple[str, str], Choices] = {}
    passing: list[tuple[Unit, str]] = []
    for unit in units:
        for port in unit.kind.of(Outport):
            measures[unit.path, port] = UNTOLD if unit.kind.same_unit else unit_choices(port_unit(unit, port))
            if not measures[unit.path, port]:
                passing.append((unit, port))
    news = True
    while news:
        news = False
        for unit, port in passing:
            if not measures[unit.path, port] and (measure := unit_along(unit, port, measures)):
                measures[unit.path, port], news = measure, True
    for unit, port in passing:
        if unit.kind.same_unit and not measures[unit.path, port] and not any(unit.inputs.values()):
            measures[unit.path, port] = unit_choices(unit.kind.of(Outport)[port].unit)
    return measures


def unit_along(unit: Unit, port: str, measures: Measures) -> Choices:
    """The unit of an output that follows from those of inputs, or of another output."""
    declared = unit.kind.of(Outport)[port]
    if unit.kind.same_unit:
        arriving = [m for refs in unit.inputs.values() for ref in refs if (m := measure_of(ref, measures))]
        if arriving and " or " in declared.unit and not same_measure(arriving[0], unit_choices(declared.unit)):
            return unit_choices(declared.unit)  # said once, where it is wrong, and not by all that follows
        return arriving[0] if arriving and all(same_measure(arriving[0], other) for other in arriving) else UNTOLD
    return differentiated(unit, *declared.relative(), measures)


def differentiated(unit: Unit, name: str, times: int, measures: Measures) -> Choices:
    """The unit of a port of a block, differentiated so often."""
    if name in unit.kind.of(Outport):
        base = measures.get((unit.path, name), UNTOLD)
    else:
        arriving = (measure_of(ref, measures) for port in ports_like(unit, name) for ref in unit.inputs.get(port, []))
        base = next((measure for measure in arriving if measure), UNTOLD)
    certain = [choice for choice in base if times >= 0 or derived(choice, 0)[0] in MOTION]
    return frozenset(unit_text(derived(choice, times)) for choice in certain)


def measure_of(ref: Ref, measures: Measures) -> Choices:
    return measures.get((ref.block, ref.port), UNTOLD)


def demands(unit: Unit, measures: Measures) -> Iterator[Demand]:
    """What each signal that goes into a block must be, where the block or its other signals tell."""
    for port, refs in unit.inputs.items():
        declared = unit.kind.of(Inport).get(port)
        for place, ref in enumerate(refs if declared is not None else ()):
            aim = wanted_units(unit, port) or wanted_by_relation(unit, port, place, measures)
            if aim:
                yield Demand(unit, port, ref, aim)


def wanted_units(unit: Unit, port: str) -> Choices:
    """What an input is for. A sensor that takes anything names one unit as the usual one, which is no demand."""
    aim = port_unit(unit, port)
    return UNTOLD if unit.kind.same_unit and " or " not in aim else unit_choices(aim)


def wanted_by_relation(unit: Unit, port: str, place: int, measures: Measures) -> Choices:
    """What an input is for by another port of its block, or by the signals that one of its settings names."""
    declared = unit.kind.of(Inport)[port]
    if declared.like and declared.like in unit.settings:
        names = unit.settings[declared.like]
        listed = [names] if isinstance(names, str) else list(names) if isinstance(names, (list, tuple)) else []
        return named_unit(listed[place], measures) if place < len(listed) else UNTOLD
    name, times = (declared.like, 0) if declared.like else (declared.rate_of, 1)
    return differentiated(unit, name, times, measures) if name else UNTOLD


def named_unit(name: object, measures: Measures) -> Choices:
    """The unit of a signal by its name, 'joint.q' or 'pid'."""
    path, _, port = str(name).partition("[")[0].rpartition(".")
    whole = str(name).partition("[")[0]
    outputs = [measure for (block, _), measure in measures.items() if block == whole]
    return outputs[0] if len(outputs) == 1 else measures.get((path, port), UNTOLD)


def unit_choices(unit: str) -> Choices:
    """'rad or m' is one of the two."""
    return frozenset(unit.split(" or ")) if unit else UNTOLD


def same_measure(one: Choices, other: Choices) -> bool:
    """Whether two signals may be in the same unit."""
    return any(unit_factor(a, b) == 1 for a in one for b in other)


def unit_words(measure: Choices) -> str:
    return " or ".join(sorted(measure))
