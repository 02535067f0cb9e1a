"""identify(): the record blocks of a diagram, and what they need, run over a measured record.

    record = bs.identify("emps/least_squares", "DATA_EMPS.mat", columns={"encoder": "qm", "loop": "vir"})
    record.estimates["ls"]["M"].value

What the record has is taken from it. What it has not is computed where a block without continuous states makes it from signals
that can be had (a gain, a sum, an observer). The plants of the diagram only lend their equations and fixed settings: nobody
knows the truth of a measured record.
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, cast

import numpy as np

from .. import __version__
from ..contract.declarations import Outport
from ..diagram.build import open_diagram
from ..diagram.checks import raise_all, record_problems
from ..diagram.diagram import Diagram
from ..diagram.files import Folders, folders_of, is_file
from ..diagram.spec import RecordSpec
from ..errors import DiagramError, Problem, RecordError, listing
from ..estimation.process import process_units
from ..estimation.running_estimates import estimators
from ..records.grid import Grid, TimeAxis
from ..records.record import MAX_RECORD_BYTES, Record, brief_listing
from ..records.storage import read_record
from ..records.timebase import even, resampled
from ..schedule.flatten import flatten
from ..schedule.schedule import Schedule
from ..simulation.overrides import Overrides
from .channels import corrected
from .columns import grids_of, mapped, unmapped
from .looking import measured_oddities
from .planner import controller_notes, planned

#: The folder in which records are looked for beside that of the diagram.
DATA = "BLOCKSIM_DATA"


def identify(
    diagram: str | os.PathLike[str] | Diagram,
    record: str | os.PathLike[str] | Record | Sequence[Any] | None = None,
    *,
    columns: Mapping[str, Any] | None = None,
    time: Any = None,
    every: Any = None,
    resample: Any = None,
    missing: str | None = None,
    assume: Any = None,
    params: Mapping[str, Any] | None = None,
) -> Record:
    """Run the record blocks of a diagram on a measured record; all else the diagram's `record:` says, unless it is given here.

    `columns` is {signal: column}, a list of columns for a vector, or {"column": "qm", "unit": "mm", "scale": 1, "offset": 0,
    "delay": 0}; offset and delay may be "estimated", from the other encoder of a flexible axis.
    `time` names the column of time, or `every` is the interval of rows that have none. `resample` (an interval, or
    {"every": 1e-3, "method": "cubic"}; with "rows": "even" where only the clock jitters) makes an uneven record even;
    `missing="bridge"` passes nan on to blocks that allow it.
    `assume` names sources that the record does not hold and that acted as in the diagram. `params` changes settings as in
    `simulate`. Of a list of records, which are fitted together, the first comes back: see `identify_together`.
    """
    if isinstance(record, (list, tuple)) or (record is None and names_several(diagram)):
        from .together import identify_together

        options: dict[str, Any] = {"columns": columns, "time": time, "every": every, "resample": resample, "missing": missing}
        return identify_together(diagram, record, assume=assume, params=params, **options)[0]
    one = cast("str | os.PathLike[str] | Record | None", record)
    data = read_measured(diagram, one, params, Reading(columns or {}, time, every, resample, missing, assume))
    plan = planned(data.schedule, data.signals, data.source, data.notes)
    data.notes.extend(controller_notes(data, plan))
    estimating = [unit for unit in estimators(data.schedule) if unit in plan]
    return process_units(data.schedule, plan, estimating, data.record, {}, simulated=False, measured=data.signals)


@dataclass(frozen=True)
class Reading:
    """How a measured record is to be read, as far as it is said beside the diagram."""

    columns: Mapping[str, Any]
    time: Any = None
    every: Any = None
    resample: Any = None
    missing: str | None = None
    assume: Any = None
    file: str | None = None  # one of the several that the diagram names

    def options(self) -> dict[str, Any]:
        """The same as options of `identify`."""
        return {name: value for name, value in vars(self).items() if name != "file"}


@dataclass(frozen=True)
class MeasuredData:
    """A measured record as signals of a diagram, on even grids."""

    schedule: Schedule
    record: Record
    source: Record
    signals: Mapping[str, Any]
    notes: list[str]


def read_measured(
    diagram: str | os.PathLike[str] | Diagram,
    record: str | os.PathLike[str] | Record | None,
    params: Mapping[str, Any] | None,
    reading: Reading,
) -> MeasuredData:
    """A diagram with its settings changed, and the signals of it that a record holds."""
    changed = Overrides(params).diagram(diagram)
    spec = section(changed, reading)
    schedule = flatten(replace(changed, record=spec))
    source, name = source_of(schedule.diagram, spec, record)
    signals, origin, notes = mapped(schedule, source, spec.signals, others_of(schedule.diagram, spec, record))
    if not signals:
        raise DiagramError(
            f"{name}: no column is a signal of the diagram. Map some: record: {{signals: {{block.port: column}}}}, or "
            f"--map block.port=column. The columns are: {brief_listing(source)}."
        )
    grids = evened(grids_of(signals), spec, name, notes)
    notes += [f"{name}: {text}" for text in source.provenance.get("remarks", ())]
    if repeats := source.provenance.get("repeated_rows"):
        notes.append(f"{name}: {repeats} rows said again what the row before said, and were left out")
    notes += [f"{name}: {text}" for text in measured_oddities(Record(grids, {}))]
    grids, pairs = corrected(schedule, grids, spec.signals, notes)
    about = {
        "source": name,
        "pipeline": schedule.diagram.name,
        "columns": origin,
        "notes": notes,
        **({"encoders": [str(pair) for pair in pairs]} if pairs else {}),
        "version": __version__,
        **{k: v for k, v in source.provenance.items() if k == "constants"},
    }
    return MeasuredData(schedule, Record(grids, about, aliases(schedule)), source, signals, notes)


def names_several(diagram: str | os.PathLike[str] | Diagram) -> bool:
    """Whether the diagram's `record:` names a list of files."""
    spec = open_diagram(diagram).record
    return spec is not None and isinstance(spec.file, list)


def section(diagram: Diagram, reading: Reading) -> RecordSpec:
    """The diagram's `record:` with what was said beside it."""
    spec = replace(diagram.record or RecordSpec(), signals=unmapped(diagram, reading.columns))
    if reading.time is not None or reading.every is not None:
        spec = replace(spec, time=reading.time, every=reading.every)
    rest = {"resample": reading.resample, "missing": reading.missing, "assume": reading.assume, "file": reading.file}
    spec = replace(spec, **{key: value for key, value in rest.items() if value is not None})
    raise_all(record_problems(spec))
    return spec


def source_of(diagram: Diagram, spec: RecordSpec, record: Any) -> tuple[Record, str]:
    """The record and its name, read where a file is named."""
    if isinstance(record, Record):
        return record, str(record.provenance.get("source") or "the record")
    path = located(diagram, spec, record)
    return read_record(path, MAX_RECORD_BYTES, axis_of(spec)), path.name


def axis_of(spec: RecordSpec) -> TimeAxis:
    time = spec.time if isinstance(spec.time, dict) else {"column": "" if spec.time is None else spec.time}
    return TimeAxis(str(time["column"]), time.get("unit", ""), spec.every)


def others_of(diagram: Diagram, spec: RecordSpec, main: Any) -> dict[str, Record]:
    """The records of files that columns name themselves, found as the record's own is, or beside the one that was given."""
    beside = [] if main is None or isinstance(main, Record) else [os.path.dirname(os.fspath(main)) or "."]
    records = {}
    for column in spec.signals.values():
        if column.file and column.file not in records:
            path = located(diagram, replace(spec, file=column.file), None, beside)
            records[column.file] = read_record(path, MAX_RECORD_BYTES, axis_of(spec))
    return records


def located(diagram: Diagram, spec: RecordSpec, path: str | os.PathLike[str] | None, near: Sequence[str] = ()) -> Path:
    """The file: as given, beside the diagram, or in the folder BLOCKSIM_DATA. One the diagram names stays in these folders."""
    text = os.fspath(path) if path is not None else spec.file
    if isinstance(text, list):
        raise DiagramError(
            [Problem(f"record: file: {listing(text)} are several records; one is wanted here. Name it with --record.",
                     spec.places.get("file"))]
        )  # fmt: skip
    if not text:
        raise DiagramError(
            "no record is named. Give one (--record FILE, in Python identify(diagram, record)), or write record: {file: ...}."
        )
    beside = [os.path.dirname(diagram.path) or "."] if diagram.path else []
    homes = [*near, *beside, *([os.environ[DATA]] if os.environ.get(DATA) else [])]
    trusted = path is not None or (diagram.spec is not None and diagram.spec.allow_outside)
    may = Folders(None) if trusted else folders_of(*homes)
    places = [Path(home, text) for home in ([*homes] if path is None else ["", *homes])]
    readable = [place for place in places if may.holds(place)]
    for place in readable:
        if is_file(place):
            return place
    if not readable:
        raise DiagramError(
            [Problem(f"record: file: '{text}' lies outside the folder of the diagram and {DATA}; name it with "
                     "--record to read it.", spec.places.get("file"))]
        )  # fmt: skip
    hint = "" if os.environ.get(DATA) else f" The folder {DATA} names would be searched too; it is not set."
    looked = listing(dict.fromkeys(str(place.parent) for place in readable))
    raise DiagramError(
        [Problem(f"record: the file '{text}' does not exist (looked in {looked}).{hint}", spec.places.get("file"))]
    )


def evened(grids: list[Grid], spec: RecordSpec, name: str, notes: list[str]) -> list[Grid]:
    """Every grid even and without holes, or as the section asks."""
    bridge = spec.missing == "bridge"
    if spec.resample is not None:
        how = spec.resample if isinstance(spec.resample, dict) else {"every": spec.resample}
        return [resampled(grids, how["every"], how.get("method", "linear"), notes, how.get("rows", ""))]
    results = [even(grid, bridge, name, notes) for grid in grids]
    for grid in [] if bridge else results:
        for signal, values in ((n, s.values.reshape(len(grid.t), -1)) for n, s in grid.signals.items()):
            rows = np.flatnonzero(np.isnan(values).any(axis=1))
            if len(rows):
                raise RecordError(
                    f"{name}: '{signal}' is nan at row {rows[0]}, t = {grid.t[rows[0]]:.9g} s; {len(rows)} samples are missing. "
                    "Say missing: bridge (--missing bridge) to pass them on to blocks that bridge them, such as IRWSmoother; or "
                    f"resample: {{every: {step_of(grid):.6g}}} (--resample {step_of(grid):.6g}) to fill them."
                )
    return results


def step_of(grid: Grid) -> float:
    return float(np.median(np.diff(grid.t)))


def aliases(schedule: Schedule) -> dict[str, str]:
    single = {u.path: list(u.kind.of(Outport)) for u in [*schedule.units, *schedule.after_run]}
    return {path: f"{path}.{ports[0]}" for path, ports in single.items() if len(ports) == 1}
