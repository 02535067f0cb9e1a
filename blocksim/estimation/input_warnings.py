"""What should not go into an identifier: truth that no sensor delivers, and readings logged more often than they were taken.

Between its samples a sensor or an observer holds its last value. On a finer grid that is a staircase: delayed by half a sample
time on average, with steps that a filter takes for motion. An identifier fed with one is biased, and its estimates say so.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from typing import TYPE_CHECKING, Any

from ..contract.declarations import Memory, State
from ..contract.plant import Plant
from ..errors import RecordError, listing
from ..schedule.named_starts import awaited, start_keys
from ..simulation.overrides import Overrides

if TYPE_CHECKING:
    from ..records.record import Record
    from ..schedule.schedule import Schedule, Unit
    from .estimates import Estimates

EQUAL = 1e-9  # relative: a start so near to the truth is the truth

#: What controllers and sources hold acts on the plant as it stands; what these hold only stands for something that moves on.
READINGS = ("sensors", "observers")


def apart(unit: Unit, intervals: Mapping[str, float], thinning: Mapping[str, Unit]) -> tuple[str, str]:
    """Inputs of a block that do not share their times, and what to write: who thins its signal out, and how to do so alike.

    `thinning` are the blocks, by signal, that keep fewer rows than they read.
    """
    rates = listing(f"{name} every {interval:g} s" for name, interval in intervals.items())
    what = (
        f"block '{unit.path}' ({type(unit.block).__name__}) reads {rates}: these have different times, and rows cannot be formed."
    )
    if not thinning:
        slow = max(intervals, key=lambda name: intervals[name])
        return what, f"Log all of them on one grid (log: every, simulate: every), that of {slow} or a finer one."
    name, maker = next(iter(thinning.items()))
    others = [other for other in intervals if intervals[other] < intervals[name] * 0.999]
    factor = round(intervals[name] / intervals[others[0]]) if others else 1
    alone = " with factor: 1" if "factor" in maker.settings else ""
    whole = f"Use '{maker.path}'{alone}" + (f" and decimate: {factor} in '{unit.path}'" if "decimate" in unit.settings else "")
    alike = f"{{type: Decimate, factor: {factor}, in: {others[0]}}}" if others else "the same decimation"
    return (
        f"{what} '{maker.path}' ({type(maker.block).__name__}) keeps one row in {factor}.",
        f"{whole}, or read {alike} instead.",
    )


def leaks(unit: Unit, record: Record) -> list[str]:
    """In words: the inputs of a block that nobody could measure."""
    words = []
    for port, refs in unit.inputs.items():
        names = [f"{ref.block}.{ref.port}" for ref in refs]
        words += [
            f"input '{port}' of '{unit.path}' is {name}" for name in names if name in record and not record.signal(name).measured
        ]
    if not words:
        return []
    return [f"leak of truth: {'; '.join(words)}: no sensor delivers that. Fit for a check, not for a claim."]


def true_states(plant: Plant, but: Collection[str] = ()) -> list[str]:
    """States of a plant that begin where somebody set them instead of at its type's rest, 'joint.q = 0.3'; but for some."""
    states = {n: d for n, d in plant.kind.of(State).items() if not isinstance(d, Memory) and n not in but}
    set_ones = [n for n, d in states.items() if plant.settings.get(n, d.default) != d.default]
    return [f"{plant.path}.{n} = {plant.settings[n]}" for n in set_ones]


def first_state_words(states: Collection[str], remedy: str) -> str:
    """Said where a simulation of the identifier's own begins where the plant truly did."""
    return f"leak of truth: the simulation begins in the plant's true first state ({listing(states)}): {remedy}."


def begins_at_truth(estimates: Estimates, unit: Unit, changes: Mapping[str, Any]) -> list[str]:
    """In words: the parameters whose start was the truth, where no word says so and no other block found it."""
    settings = {**unit.settings, **Overrides(changes).by_path.get(unit.path, {})}
    named = start_keys(unit, settings)
    if "" in named:
        return []
    same = [n for n, e in estimates.items() if e.truth and abs(e.start - e.truth) <= EQUAL * abs(e.truth) and n not in named]
    if not same:
        return []
    return [
        f"starts at the truth: {listing(same)} began at the value the plant has, so that a small error is no merit. Start "
        "elsewhere, or say truth where that is meant."
    ]


def unsettled_starts(unit: Unit, record: Record) -> list[str]:
    """In words: the blocks that this one starts from and that did not come to an end."""
    paths = [path for path in awaited(unit) if path in record.estimates and not record.estimates[path].converged]
    words = f"starts from {listing(map(repr, paths))}, which gave no answer: look there first, and whether this search got away"
    return [words] if paths else []


def held_readings(unit: Unit, record: Record, schedule: Schedule) -> list[str]:
    """In words: the readings that reach a block, through filters too, on a finer grid than they were taken on."""
    words: dict[str, str] = {}
    for source, port in readings(unit, schedule):
        try:
            t = record.time(f"{source.path}.{port}")
        except RecordError:
            continue
        assert source.group is not None
        Ts, every = float(schedule.groups[source.group].period), float(t[-1] - t[0]) / (len(t) - 1) if len(t) > 1 else 0.0
        if text := staircase_words(f"{source.path}.{port}", Ts, every):
            words[f"{source.path}.{port}"] = text
    if not words:
        return []
    return [f"staircase: {'; '.join(words.values())}. Log it as often as it is read."]


def staircase_words(name: str, Ts: float, every: float) -> str:
    """In words: a reading on a finer grid than it was taken on, or on one that its own does not divide; else ''."""
    rates = f"{name} is read every {Ts:g} s and logged every {every:g} s"
    if 0 < every < 0.999 * Ts:
        return f"{rates}: held values delay it and bias the estimates"
    if every > 0 and abs(every / Ts - round(every / Ts)) > 1e-3:
        return f"{rates}, which is no whole multiple: it is late by another time in every row"
    return ""


def readings(unit: Unit, schedule: Schedule) -> Iterator[tuple[Unit, str]]:
    """Sampled sensors and observers whose outputs reach a block, straight or through record blocks."""
    waiting, visits = [unit], {unit.path}
    while waiting:
        for refs in waiting.pop().inputs.values():
            for ref in refs:
                source = schedule.unit(ref.block)
                if source.after and source.path not in visits:
                    visits.add(source.path)
                    waiting.append(source)
                elif not source.after and source.group is not None and source.kind.family in READINGS:
                    yield source, ref.port
