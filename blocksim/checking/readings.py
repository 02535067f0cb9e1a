"""What the blocks that work after the run will read, on which grid; and what about it cannot be meant."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from ..contract.block import RecordBlock
from ..contract.declarations import Outport
from ..errors import Finding, RecordError, listing
from ..estimation.input_warnings import apart, readings, staircase_words
from ..estimation.running_estimates import estimators
from ..schedule.clock import key_place
from ..schedule.schedule import Unit
from ..schedule.true_outputs import true_outputs
from ..simulation.experiment import Experiment

if TYPE_CHECKING:
    from ..contract.arrays import FloatArray

#: Rows of a log up to which grids are looked at.
MOST_GRID_ROWS = 2_000_000
#: Settings that bound a band, in Hz.
BANDS = ("cutoff", "bandwidth", "f_min", "f_max")
IDENTIFICATION = "identification"


@dataclass(frozen=True)
class RecordReading:
    """What one block reads: the signals by name, and the times they share; none where they share none."""

    unit: Unit
    signals: tuple[str, ...]
    t: FloatArray | None
    complete: bool = True  # whether the times of all signals are
    true: tuple[str, ...] = ()  # those of the signals that no sensor delivers

    @property
    def interval(self) -> float:
        t = self.t
        return float(t[-1] - t[0]) / (len(t) - 1) if t is not None and len(t) > 1 else 0.0

    def __str__(self) -> str:
        what = f"{self.unit.path} reads {listing(self.signals)}"
        truth = f"; truth that no sensor delivers: {listing(self.true)}" if self.true else ""
        if self.t is None:
            return what + (" on different grids" if self.complete else ", of which nothing is left") + truth
        return f"{what} every {self.interval:g} s, {len(self.t)} rows{truth}"


@dataclass(frozen=True)
class RunningReading:
    """What a block that estimates while it runs reads, and how often; continuously where it has no period."""

    unit: Unit
    signals: tuple[str, ...]
    period: float
    true: tuple[str, ...] = ()

    def __str__(self) -> str:
        truth = f"; truth that no sensor delivers: {listing(self.true)}" if self.true else ""
        pace = f"every {self.period:g} s" if self.period else "continuously"
        return f"{self.unit.path} reads {listing(self.signals)} {pace}, while it runs{truth}"


def running_readings(experiment: Experiment) -> list[RunningReading]:
    """What every block reads that estimates while it runs."""
    schedule = experiment.schedule
    true = {f"{schedule.units[index].path}.{port}" for index, port in true_outputs(schedule)}
    result = []
    for unit in estimators(schedule):
        names = tuple(dict.fromkeys(f"{ref.block}.{ref.port}" for refs in unit.inputs.values() for ref in refs))
        period = 0.0 if unit.group is None else float(schedule.groups[unit.group].period)
        result.append(RunningReading(unit, names, period, tuple(name for name in names if name in true)))
    return result


def record_readings(experiment: Experiment) -> list[RecordReading]:
    """What every block that works after the run reads, in the order in which they work."""
    if sum(experiment.rows) > MOST_GRID_ROWS:
        return []
    times: dict[str, Any] = {}
    true = {f"{experiment.schedule.units[index].path}.{port}" for index, port in true_outputs(experiment.schedule)}
    for j, signals in enumerate(experiment.columns):
        t = experiment.instants(j, experiment.rows[j])
        times |= {signal[0]: t for signal in signals}
    result = []
    for unit in experiment.schedule.after_run:
        names = tuple(dict.fromkeys(f"{ref.block}.{ref.port}" for refs in unit.inputs.values() for ref in refs))
        grids = [times[name] for name in names if times.get(name) is not None]
        shared = grids[0] if grids and len(grids) == len(names) and all(same_times(g, grids[0]) for g in grids) else None
        complete = all(times.get(name) is not None for name in names)
        result.append(RecordReading(unit, names, shared, complete, tuple(name for name in names if name in true)))
        after = times_after(unit, shared)
        times |= {f"{unit.path}.{port}": after for port in unit.kind.of(Outport)}
        true |= {f"{unit.path}.{port}" for port in unit.kind.of(Outport) if result[-1].true}
    return result


def times_after(unit: Unit, t: FloatArray | None) -> FloatArray | None:
    """The times of a block's outputs, given those of its inputs; none where they cannot be had."""
    if t is None or not isinstance(unit.block, RecordBlock):
        return t
    try:
        after: FloatArray = unit.block.times(t)
        return after
    except Exception:  # of anybody's block: the run will say what is wrong, a look ahead must not fail
        return None


def same_times(one: FloatArray, other: FloatArray) -> bool:
    return one is other or (len(one) == len(other) and bool((one == other).all()))


def reading_findings(experiment: Experiment) -> Iterator[Finding]:
    """Of every block that works after the run: grids that differ, ends that leave nothing, bands above Nyquist."""
    readings = record_readings(experiment)
    grids = {f"{r.unit.path}.{port}": r for r in readings for port in r.unit.kind.of(Outport)}
    for reading in readings:
        unit = reading.unit
        if reading.t is None and reading.complete and len(reading.signals) > 1:
            yield from different_grids(experiment, reading, grids)
        if unit.settings.get("parameters") == []:
            yield Finding(
                "nothing-sought",
                f"block '{unit.path}' ({type(unit.block).__name__}) has parameters: [], so that it estimates nothing.",
                "Leave parameters out to estimate all, or name some.",
                unit.node.at("parameters"),
            )
        if reading.t is not None and len(reading.t) > 1:
            yield from list(ends(reading)) or no_rows_left(reading)
            yield from bands(reading)


def row_findings(experiment: Experiment) -> Iterator[Finding]:
    """Rows that come so seldom that a run has one."""
    clock, diagram = experiment.clock, experiment.diagram
    span = clock.base * (clock.end - clock.start)
    if clock.base * clock.step > span and experiment.options.every is None:  # the step is to blame, and told
        return
    for group, rows in zip(experiment.logs, experiment.rows, strict=True):
        if rows == 1 and 0 < span < group.every:
            every = float(group.every)
            yield Finding(
                "one-row",
                f"'{group.signals[0][0]}' has a row every {every:g} s, and the run lasts {float(span):g} s: that is one.",
                "Times are in seconds: make every shorter or the run longer.",
                key_place(diagram, "simulate.every") or key_place(diagram, "log") or key_place(diagram, "simulate"),
            )


def ends(reading: RecordReading) -> Iterator[Finding]:
    """A `skip` that leaves nothing: one number counts at either end where two may be given, else at the start."""
    unit, t = reading.unit, reading.t
    assert t is not None
    skip, span = unit.settings.get("skip"), float(t[-1] - t[0])
    declared = unit.kind.declared.get("skip")
    both = getattr(declared, "shape", ()) == (None,)
    numbers = list(skip) if isinstance(skip, (list, tuple)) else [skip]
    lengths = [float(length) for length in numbers if isinstance(length, (int, float))]
    if not lengths:
        return
    length = sum(lengths) * (2 if both and len(lengths) == 1 else 1)
    if length >= span > 0:
        where = f"{lengths[0]:g} s at either end" if both and len(lengths) == 1 else f"{length:g} s"
        yield Finding(
            "skip-too-long",
            f"block '{unit.path}' skips {where} of a record that lasts {span:g} s: nothing is left.",
            "Make skip shorter, or the run longer.",
            unit.node.at("skip"),
        )


def no_rows_left(reading: RecordReading) -> Iterator[Finding]:
    """What the block itself says of so many rows: a decimation, periods or cut ends that leave none."""
    unit, block = reading.unit, reading.unit.block
    if not isinstance(block, RecordBlock) or reading.t is None:
        return
    try:
        block.used_times(reading.t)
        block.times(reading.t)
    except RecordError as error:
        what = f"block '{unit.path}' ({type(block).__name__}) cannot work on {len(reading.t)} rows: {error}"
        yield Finding("nothing-left", what, "Make the run longer, or leave out less.", unit.node.place)
    except Exception:  # of anybody's block: the run will say what is wrong, a look ahead must not fail
        return


def bands(reading: RecordReading) -> Iterator[Finding]:
    """Bands above half the sampling rate of what is filtered."""
    unit = reading.unit
    nyquist = 0.5 / reading.interval
    for name in BANDS:
        value, declared = unit.settings.get(name), unit.kind.declared.get(name)
        if isinstance(value, (int, float)) and declared is not None and declared.unit == "Hz" and value >= nyquist:
            yield Finding(
                "above-nyquist",
                f"block '{unit.path}' ({type(unit.block).__name__}) has {name}: {value:g} Hz and reads "
                f"{listing(reading.signals)} every {reading.interval:g} s, which hold nothing above {nyquist:g} Hz.",
                f"Make {name} smaller, by rule a fifth of that, or log faster (simulate: {{every: ...}}).",
                unit.node.at(name),
            )


def different_grids(experiment: Experiment, reading: RecordReading, makers: dict[str, RecordReading]) -> Iterator[Finding]:
    """Name the block that thins out, and what to write."""
    unit = reading.unit
    intervals = {}
    for name in reading.signals:
        maker = makers.get(name)
        if maker is None:
            period = next((g.every for g in experiment.logs if any(name == signal for signal, _ in g.signals)), 0)
            intervals[name] = float(period)
        elif (after := times_after(maker.unit, maker.t)) is not None and len(after):
            intervals[name] = float(after[-1] - after[0]) / max(1, len(after) - 1)
        else:
            return  # what it reads is said already
    thinning = {n: makers[n].unit for n in intervals if n in makers and intervals[n] > 1.001 * makers[n].interval}
    yield Finding("different-grids", *apart(unit, intervals, thinning), unit.node.at("in"))


def staircase_findings(experiment: Experiment) -> Iterator[Finding]:
    """Readings that an identifier gets on another grid than they are taken on; a run tells it below the estimates."""
    schedule = experiment.schedule
    grids = {name: group.every for group in experiment.logs for name, _ in group.signals}
    for unit in schedule.after_run:
        if unit.kind.family != IDENTIFICATION:
            continue
        for source, port in readings(unit, schedule):
            name = f"{source.path}.{port}"
            if source.group is None or name not in grids:
                continue
            words = staircase_words(name, float(schedule.groups[source.group].period), float(grids[name]))
            if words:
                what = f"block '{unit.path}' ({type(unit.block).__name__}) gets a staircase: {words}."
                remedy = f"Log it as often as it is read: log: [{{signal: {name}, every: ...}}], or simulate: {{every: ...}}."
                yield Finding("staircase", what, remedy, unit.node.at("in"))
