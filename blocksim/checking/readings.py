"""What the blocks that work after the run will read, on which grid; and what about it cannot be meant."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from ..contract.block import RecordBlock
from ..contract.declarations import Outport
from ..errors import Finding, listing
from ..estimation.input_warnings import apart
from ..schedule.schedule import Unit
from ..simulation.experiment import Experiment

if TYPE_CHECKING:
    from ..contract.arrays import FloatArray

#: Rows of a log up to which grids are looked at.
MOST_GRID_ROWS = 2_000_000
#: Settings that bound a band, in Hz.
BANDS = ("cutoff", "bandwidth")
IDENTIFICATION = "identification"


@dataclass(frozen=True)
class RecordReading:
    """What one block reads: the signals by name, and the times they share; none where they share none."""

    unit: Unit
    signals: tuple[str, ...]
    t: FloatArray | None

    @property
    def interval(self) -> float:
        t = self.t
        return float(t[-1] - t[0]) / (len(t) - 1) if t is not None and len(t) > 1 else 0.0

    def __str__(self) -> str:
        names = listing(self.signals)
        if self.t is None:
            return f"{self.unit.path} reads {names} on different grids"
        return f"{self.unit.path} reads {names} every {self.interval:g} s, {len(self.t)} rows"


def record_readings(experiment: Experiment) -> list[RecordReading]:
    """What every block that works after the run reads, in the order in which they work."""
    if sum(experiment.rows) > MOST_GRID_ROWS:
        return []
    times: dict[str, Any] = {}
    for j, signals in enumerate(experiment.columns):
        t = experiment.instants(j, experiment.rows[j])
        times |= {signal[0]: t for signal in signals}
    result = []
    for unit in experiment.schedule.after_run:
        names = tuple(dict.fromkeys(f"{ref.block}.{ref.port}" for refs in unit.inputs.values() for ref in refs))
        grids = [times[name] for name in names if times.get(name) is not None]
        shared = grids[0] if grids and len(grids) == len(names) and all(same_times(g, grids[0]) for g in grids) else None
        result.append(RecordReading(unit, names, shared))
        after = times_after(unit, shared)
        times |= {f"{unit.path}.{port}": after for port in unit.kind.of(Outport)}
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
        if reading.t is None and len(reading.signals) > 1:
            yield from different_grids(experiment, reading, grids)
        if unit.settings.get("parameters") == []:
            yield Finding(
                "nothing-sought",
                f"block '{unit.path}' ({type(unit.block).__name__}) has parameters: [], so that it estimates nothing.",
                "Leave parameters out to estimate all, or name some.",
                unit.node.at("parameters"),
            )
        if reading.t is not None and len(reading.t) > 1:
            yield from ends_and_bands(reading)


def ends_and_bands(reading: RecordReading) -> Iterator[Finding]:
    unit, t = reading.unit, reading.t
    assert t is not None
    skip, span = unit.settings.get("skip"), float(t[-1] - t[0])
    length = sum(skip) if isinstance(skip, (list, tuple)) else skip
    if isinstance(length, (int, float)) and length >= span > 0:
        yield Finding(
            "skip-too-long",
            f"block '{unit.path}' skips {length:g} s of a record that lasts {span:g} s: nothing is left.",
            "Make skip shorter, or the run longer.",
            unit.node.at("skip"),
        )
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
