"""Sources that cannot be meant: swings that nothing can draw, records that do not last as long as the run, none that moves."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from os.path import basename
from typing import Any

from ..contract.declarations import Memory, Noise, Param, State
from ..contract.times import exact
from ..errors import Finding, listing
from ..schedule.schedule import Schedule, Unit
from ..schedule.true_outputs import is_plant
from ..simulation.experiment import Experiment
from ..simulation.modes import longest_step
from .rates import brief_time, period_of
from .upstream import signals_into, upstream

SOURCES = "sources"
#: Settings in seconds that say when a block begins.
BEGINNINGS = ("time", "start", "delay", "offset")
#: Turns of a source in a run from which on nobody can mean it: a solver takes some steps for each.
TURNS_OF_A_RUN = 1e6
#: A record may end, or begin, within the run by this share of it.
SHORT_SHARE = 0.01
#: Samples of a record that a run should see at least.
FEWEST_SAMPLES = 4


def source_findings(experiment: Experiment) -> Iterator[Finding]:
    """Sources that swing faster than the steps of the run, or who reads them, can draw, or more often than any run needs."""
    clock, schedule = experiment.clock, experiment.schedule
    span, step = float(clock.base * (clock.end - clock.start)), longest_step(experiment) if clock.step else 0.0
    step = step if step <= span else 0.0  # a run that ends before its first step is told by itself
    readers = sampled_readers(schedule.by_path)
    for unit in schedule.units:
        period = float(period_of(unit, schedule)) if unit.group is not None else step
        for name, frequency in frequencies(unit):
            reader = next((r for r in readers.get(unit.path, ()) if 2 * frequency * float(period_of(r, schedule)) > 1), None)
            if 2 * frequency * period > 1:
                what = f"steps of {period:g} s hold nothing above {0.5 / period:.3g} Hz: it is drawn as a slower one."
                remedy = f"Make {name} smaller, the steps finer or the run shorter."
            elif frequency * span > TURNS_OF_A_RUN:
                what = f"that is {frequency * span:.3g} turns in {span:g} s, and a solver takes steps for each."
                remedy = f"Make {name} smaller, the steps finer or the run shorter."
            elif reader is not None:
                every = period_of(reader, schedule)
                what = (
                    f"'{reader.path}' reads it every {brief_time(every)} s, which holds nothing above {0.5 / float(every):.3g} "
                    "Hz, and takes it for a slower one."
                )
                remedy = f"Make {name} or the sample time of '{reader.path}' smaller."
            else:
                continue
            yield Finding("fast-source", f"block '{unit.path}' has {name}: {frequency:g} Hz; {what}", remedy, unit.node.at(name))


def frequencies(unit: Unit) -> Iterator[tuple[str, float]]:
    """The settings of a source in Hz, by name."""
    if unit.kind.family == SOURCES:
        for name, declared in unit.kind.of(Param).items():
            frequency = unit.settings.get(name)
            if declared.unit == "Hz" and isinstance(frequency, (int, float)):
                yield name, float(frequency)


def sampled_readers(units: Mapping[str, Unit]) -> dict[str, list[Unit]]:
    """Of every source that is no sampled one, the sampled blocks it reaches straight, or through blocks without states."""
    readers: dict[str, list[Unit]] = {}
    for unit in units.values():
        for path, source in upstream(signals_into(unit), units, passes_at_once).items() if unit.group is not None else ():
            if source.group is None and source.kind.family == SOURCES:
                readers.setdefault(path, []).append(unit)
    return readers


def passes_at_once(unit: Unit) -> bool:
    return unit.group is None and all(isinstance(declared, Memory) for declared in unit.kind.of(State).values())


def late_findings(experiment: Experiment) -> Iterator[Finding]:
    """Blocks that begin when the run is over: a step after the end, a delay as long as the run, a first sample after it.

    A part, which has ports and no times of its own, runs only in something else.
    """
    if experiment.diagram.ports is not None:
        return
    clock = experiment.clock
    start, end = clock.seconds(clock.start), clock.seconds(clock.end)
    for unit in experiment.schedule.units:
        for name, declared in unit.kind.declared.items():
            value = unit.settings.get(name)
            if name not in BEGINNINGS or getattr(declared, "unit", "") != "s" or not isinstance(value, (int, float, str)):
                continue
            try:
                begins = float(exact(value)) + (start if name == "delay" else 0.0)
            except ValueError:
                continue
            if begins >= end > start:
                what = f"block '{unit.path}' ({type(unit.block).__name__}) has {name}: {value} s, and the run ends at {end:g} s"
                remedy = f"Times are in seconds: make {name} shorter or the run longer."
                yield Finding("never-begins", f"{what}: nothing of it is seen.", remedy, unit.node.at(name))


def record_source_findings(experiment: Experiment) -> Iterator[Finding]:
    """Records that are played and do not last as long as the run."""
    clock = experiment.clock
    start, end = clock.seconds(clock.start), clock.seconds(clock.end)
    for unit in experiment.schedule.units:
        times = unit.tables.get("times")
        if unit.kind.family != SOURCES or "file" not in unit.settings or times is None or not len(times):
            continue
        first, last = float(times[0]), float(times[-1])
        inside = int(((times >= start) & (times <= end)).sum())
        lasts = (
            f"block '{unit.path}' ({type(unit.block).__name__}) plays {basename(str(unit.settings['file']))}, which lasts from "
            f"{first:g} to {last:g} s, and the run from {start:g} to {end:g} s"
        )
        if max(first - start, end - last) > SHORT_SHARE * (end - start):
            words = f"{lasts}: before and after, its end values hold."
        elif inside < FEWEST_SAMPLES < len(times):
            words = f"{lasts}: {inside} of its {len(times)} samples lie in that."
        else:
            continue
        remedy = f"Write simulate: {{start: {first:g}, stop: {last:g}}}, or look whether the times of the file are in seconds."
        yield Finding("short-record", words, remedy, unit.node.at("file"))


def rest_findings(schedule: Schedule) -> Iterator[Finding]:
    """Identification where every source is 0 throughout and every plant starts at rest: what moves is noise."""
    seekers = [u for u in (*schedule.units, *schedule.after_run) if u.kind.family == "identification" or u.kind.estimated]
    sources = [u for u in schedule.units if u.kind.family == "sources" and not u.inputs]
    starts = [u for u in schedule.units if is_plant(u.kind) and not starts_at_rest(u)]
    if seekers and sources and not starts and all(map(is_silent, sources)):
        yield Finding(
            "no-excitation",
            f"{listing(u.path for u in sources)} {'is' if len(sources) == 1 else 'are'} 0 throughout, and all starts at rest: "
            f"{listing(u.path for u in seekers)} would identify from noise, and from what weights do at the start.",
            "Give the loop a reference or a torque that moves it.",
            sources[0].node.place,
        )


def is_silent(source: Unit) -> bool:
    """Whether a source is 0 whatever the time."""
    sizes = [source.settings[name] for name in ("value", "amplitude", "bias", "std") if name in source.settings]
    sized = "value" in source.settings or "amplitude" in source.settings
    return sized and not source.kind.of(Noise) and all(map(is_zero, sizes))


def is_zero(value: Any) -> bool:
    return all(map(is_zero, value)) if isinstance(value, (list, tuple)) else isinstance(value, (int, float)) and value == 0


def starts_at_rest(plant: Unit) -> bool:
    """Whether its states begin where its type has them begin, by itself at 0."""
    states = {n: d for n, d in plant.kind.of(State).items() if not isinstance(d, Memory)}
    return all(is_zero(plant.settings.get(name, declared.default)) for name, declared in states.items())
