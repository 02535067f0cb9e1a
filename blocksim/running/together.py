"""identify_together(): several measured records of one system, parameters fitted to all of them.

    records = bs.identify_together("axis.yaml", ["monday.csv", "tuesday.csv"])
    records[0].estimates["whole"]          # the same in every record

An output error (OutputError, CLOE) simulates each record and looks for one set of parameters; first states, noise and what its
`own` names are each record's. Other identifiers work on each record by itself, and what they found is pooled.
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from ..diagram.build import open_diagram
from ..diagram.diagram import Diagram
from ..errors import RecordError, listing
from ..estimation.several.processing import process_together
from ..records.record import Record
from .identify import Reading, read_measured
from .planner import controller_notes, planned


def identify_together(
    diagram: str | os.PathLike[str] | Diagram,
    records: Sequence[str | os.PathLike[str] | Record] | None = None,
    *,
    columns: Mapping[str, Any] | None = None,
    time: Any = None,
    every: Any = None,
    resample: Any = None,
    missing: str | None = None,
    assume: Any = None,
    params: Mapping[str, Any] | None = None,
) -> list[Record]:
    """Run the record blocks of a diagram on several measured records; a Record for each, all with the same estimates.

    `records` are files or Records, those of the diagram's `record: {file: [...]}` where none are given. The rest is as for
    `identify`, and holds for all of them.
    """
    reading = Reading(columns or {}, time, every, resample, missing, assume)
    if records is None:
        sets = [read_measured(diagram, None, params, replace(reading, file=file)) for file in record_files(diagram)]
    else:
        sets = [read_measured(diagram, record, params, reading) for record in records]
    if not sets:
        raise RecordError("no records are named. Give a list of them, or write record: {file: [a.csv, b.csv]}.")
    for number, data in enumerate(sets):
        if set(data.signals) != set(sets[0].signals):
            other = set(data.signals) ^ set(sets[0].signals)
            raise RecordError(
                f"record {number + 1} of {len(sets)} and the first do not hold the same signals: {listing(sorted(other))} is in "
                "one of them only. Records that are fitted together measure the same."
            )
    first = sets[0]
    plan = planned(first.schedule, first.signals, first.source, first.notes)
    names = [str(data.record.provenance["source"]) for data in sets]
    for data in sets:
        data.record.provenance["records"] = names
        data.notes.extend(controller_notes(data, plan))
    return process_together(first.schedule, plan, [data.record for data in sets], first.signals)


def record_files(diagram: str | os.PathLike[str] | Diagram) -> list[str]:
    """The files that a diagram's `record:` names; none where it names none."""
    spec = open_diagram(diagram).record
    files = spec.file if spec is not None else None
    return [files] if isinstance(files, str) else list(files or ())
