"""Units along the wires, from the blocks that know theirs: an encoder on a speed, rad into N m, a sum of rad and rad/s."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from ..contract.declarations import Inport
from ..diagram.diagram import Ref
from ..errors import Finding, listing
from ..records.conversion import unit_factor
from ..schedule.schedule import Schedule, Unit
from ..schedule.units import derived
from .measures import Choices, Demand, Measures, demands, measure_of, same_measure, signal_units, unit_words


def wire_findings(schedule: Schedule) -> Iterator[Finding]:
    """Every input whose signal is in another unit than it is for, every sum of unlike things, every signal that is two things."""
    units = [*schedule.units, *schedule.after_run]
    measures = signal_units(units)
    by_block = {unit.path: list(demands(unit, measures)) for unit in units}
    for unit in units:
        yield from mismatches(by_block[unit.path], measures)
        yield from unlike_terms(unit, measures)
    yield from two_meanings(units, [demand for own in by_block.values() for demand in own], measures)


def mismatches(own: Sequence[Demand], measures: Measures) -> Iterator[Finding]:
    """Inputs of a block whose signals are in another unit than they are for."""
    signals = [(demand, measure_of(demand.ref, measures)) for demand in own]
    odd = [(demand, measure) for demand, measure in signals if measure and not same_measure(measure, demand.aim)]
    for demand, measure in odd:
        exchanged = (d.port for d, m in odd if same_measure(measure, d.aim) and same_measure(m, demand.aim))
        other = next((port for port in exchanged if port != demand.port), "")
        remedy = f"'{demand.port}' and '{other}' look exchanged: exchange them." if other else remedy_for(measure, demand.aim)
        yield Finding(
            "unit-mismatch",
            f"{demand} is for {unit_words(demand.aim)}, and '{demand.ref}' is in {unit_words(measure)}.",
            remedy,
            demand.unit.node.at("in"),
        )


def remedy_for(measure: Choices, aim: Choices) -> str:
    factors = [f for a in measure for b in aim if (f := unit_factor(a, b)) is not None]
    if factors:
        return f"Put a Gain with k: {factors[0]:.6g} between them."
    rates = [1 for a in measure for b in aim if derived(a, 0)[0] == derived(b, 0)[0]]
    return (
        "Connect the signal of that unit, or one that was integrated or differentiated." if rates else "Connect another signal."
    )


def unlike_terms(unit: Unit, measures: Measures) -> Iterator[Finding]:
    """A block that adds like with like has many inputs of one element; one that joins them takes any size."""
    for port, declared in unit.kind.of(Inport).items():
        if not (unit.kind.same_unit and declared.many and declared.size == 1):
            continue
        terms = [(ref, m) for ref in unit.inputs.get(port, []) if (m := measure_of(ref, measures))]
        if terms and not all(same_measure(terms[0][1], m) for _, m in terms):
            sum_of = listing(f"'{ref}' in {unit_words(m)}" for ref, m in terms)
            yield Finding(
                "unlike-terms",
                f"block '{unit.path}' ({type(unit.block).__name__}) adds {sum_of}.",
                "Connect signals of one kind, or give each term a Gain that makes them of one.",
                unit.node.at("in"),
            )


def two_meanings(units: Sequence[Unit], everywhere: Sequence[Demand], measures: Measures) -> Iterator[Finding]:
    """Signals of which nothing tells the unit, and which go into inputs for different ones."""
    uses: dict[tuple[str, str], list[Demand]] = {}
    for demand in everywhere:
        uses.setdefault((demand.ref.block, demand.ref.port), []).append(demand)
    by_path = {unit.path: unit for unit in units}
    for signal, own in uses.items():
        maker = by_path.get(signal[0])
        if maker is None or measures.get(signal) or not any(maker.inputs.values()):
            continue  # its unit is told, or it is a constant or a wave, which may serve for anything
        first = own[0]
        for other in own[1:]:
            if not same_measure(first.aim, other.aim):
                yield Finding(
                    "unit-mismatch",
                    f"'{Ref(*signal)}' goes into {first}, which is for {unit_words(first.aim)}, and into {other}, which is for "
                    f"{unit_words(other.aim)}: it cannot be both.",
                    "Connect another signal to one of them.",
                    other.unit.node.at("in"),
                )
