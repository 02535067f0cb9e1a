"""Units along the wires, from the blocks that know theirs: an encoder on a speed, rad into N m, a sum of rad and rad/s."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from ..contract.declarations import Inport, Outport
from ..diagram.diagram import Ref
from ..errors import Finding, listing
from ..records.conversion import unit_factor
from ..schedule.schedule import Schedule, Unit
from ..schedule.units import derived, unit_text

#: The units a signal may be in; none where nothing tells.
Choices = frozenset[str]
UNTOLD: Choices = frozenset()


def wire_findings(schedule: Schedule) -> Iterator[Finding]:
    """Every input whose signal is in another unit than it is for, and every sum of unlike things."""
    units = [*schedule.units, *schedule.after_run]
    measures = signal_units(units)
    for unit in units:
        yield from mismatches(unit, measures)
        yield from unlike_terms(unit, measures)


def signal_units(units: Iterable[Unit]) -> dict[tuple[str, str], Choices]:
    """The units of all signals, from those declared by the blocks that make them, and on through what passes units along."""
    measures: dict[tuple[str, str], Choices] = {}
    passing: list[tuple[Unit, str]] = []
    for unit in units:
        for port, declared in unit.kind.of(Outport).items():
            measures[unit.path, port] = UNTOLD if unit.kind.same_unit else unit_choices(declared.unit)
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


def unit_along(unit: Unit, port: str, measures: dict[tuple[str, str], Choices]) -> Choices:
    """The unit of an output that follows from those of inputs, or of another output."""
    declared = unit.kind.of(Outport)[port]
    if unit.kind.same_unit:
        arriving = [m for refs in unit.inputs.values() for ref in refs if (m := measures.get((ref.block, ref.port), UNTOLD))]
        if arriving and " or " in declared.unit and not same_measure(arriving[0], unit_choices(declared.unit)):
            return unit_choices(declared.unit)  # said once, where it is wrong, and not by all that follows
        return arriving[0] if arriving and all(same_measure(arriving[0], other) for other in arriving) else UNTOLD
    name, times = (declared.like, 0) if declared.like else (declared.rate_of, 1)
    if name in unit.kind.of(Outport):
        base = measures[unit.path, name]
    else:
        base = next((measures.get((ref.block, ref.port), UNTOLD) for ref in unit.inputs.get(name, [])), UNTOLD)
    return frozenset(unit_text(derived(choice, times)) for choice in base)


def unit_choices(unit: str) -> Choices:
    """'rad or m' is one of the two."""
    return frozenset(unit.split(" or ")) if unit else UNTOLD


def same_measure(one: Choices, other: Choices) -> bool:
    """Whether two signals may be in the same unit."""
    return any(unit_factor(a, b) == 1 for a in one for b in other)


def unit_words(measure: Choices) -> str:
    return " or ".join(sorted(measure))


def wanted_units(unit: Unit, port: str) -> Choices:
    """What an input is for. A sensor that takes anything names one unit as the usual one, which is no demand."""
    declared = unit.kind.of(Inport)[port].unit
    return UNTOLD if unit.kind.same_unit and " or " not in declared else unit_choices(declared)


def mismatches(unit: Unit, measures: dict[tuple[str, str], Choices]) -> Iterator[Finding]:
    odd: list[tuple[str, Ref, Choices, Choices]] = []
    for port, refs in unit.inputs.items():
        if port not in unit.kind.of(Inport) or not (aim := wanted_units(unit, port)):
            continue
        signals = [(ref, measures.get((ref.block, ref.port), UNTOLD)) for ref in refs]
        odd += [(port, ref, measure, aim) for ref, measure in signals if measure and not same_measure(measure, aim)]
    for port, ref, measure, aim in odd:
        other = next((p for p, _, m, a in odd if p != port and same_measure(measure, a) and same_measure(m, aim)), "")
        remedy = f"'{port}' and '{other}' look exchanged: exchange them." if other else remedy_for(measure, aim)
        yield Finding(
            "unit-mismatch",
            f"input '{port}' of block '{unit.path}' ({type(unit.block).__name__}) is for {unit_words(aim)}, and '{ref}' is in "
            f"{unit_words(measure)}.",
            remedy,
            unit.node.at("in"),
        )


def remedy_for(measure: Choices, aim: Choices) -> str:
    factors = [f for a in measure for b in aim if (f := unit_factor(a, b)) is not None]
    if factors:
        return f"Put a Gain with k: {factors[0]:.6g} between them."
    rates = [1 for a in measure for b in aim if derived(a, 0)[0] == derived(b, 0)[0]]
    return (
        "Connect the signal of that unit, or one that was integrated or differentiated." if rates else "Connect another signal."
    )


def unlike_terms(unit: Unit, measures: dict[tuple[str, str], Choices]) -> Iterator[Finding]:
    """A block that adds like with like has many inputs of one element; one that joins them takes any size."""
    for port, declared in unit.kind.of(Inport).items():
        if not (unit.kind.same_unit and declared.many and declared.size == 1):
            continue
        terms = [(ref, m) for ref in unit.inputs.get(port, []) if (m := measures.get((ref.block, ref.port), UNTOLD))]
        if terms and not all(same_measure(terms[0][1], m) for _, m in terms):
            sum_of = listing(f"'{ref}' in {unit_words(m)}" for ref, m in terms)
            yield Finding(
                "unlike-terms",
                f"block '{unit.path}' ({type(unit.block).__name__}) adds {sum_of}.",
                "Connect signals of one kind, or give each term a Gain that makes them of one.",
                unit.node.at("in"),
            )
