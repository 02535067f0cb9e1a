"""What the Data pane asks for: a file dropped and looked at, lags, columns mapped, identification, validation on another file."""

from __future__ import annotations

import base64
import binascii
import os
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ...diagram.editing.edit import edit
from ...diagram.editing.operations import Change, Meaning, with_section
from ...diagram.spec import RecordSpec
from ...errors import BlocksimError, listing
from ...notation import unit_label
from ...records.record import Record, scalar_columns
from ...records.storage import suffixes
from ...running.columns import targets
from ...running.identify import axis_of, identify
from ...running.judging import cross_validate
from ...running.looking import view_of_file
from ...running.signals import sources
from ...running.validate import validate
from ...schedule.flatten import flatten
from ..edit.requests import document_of
from ..handlers import Request, handles
from ..protocol import Answer
from ..running.envelopes import envelope
from ..running.methods import estimates_data
from .inspection import follows, inspected, of_the_pane

if TYPE_CHECKING:
    from ..session import Session

PREVIEW_COLUMNS = 500


def data_shelf(session: Session) -> dict[str, Any]:
    """What the pane keeps: a folder of its own for dropped files, which goes with the tab."""
    shelf = session.shelf.setdefault("data", {})
    if "folder" not in shelf:
        shelf["folder"] = tempfile.TemporaryDirectory(prefix="blocksim-data-")
        shelf["files"] = {}
    return shelf


def dropped_path(session: Session, name: str) -> Path:
    """Where a dropped file lies; only those that were dropped here are read."""
    files: dict[str, Path] = data_shelf(session)["files"]
    if name not in files:
        raise BlocksimError(f"'{name}' is not here. Dropped files are: {listing(files)}.")
    return files[name]


@contextmanager
def told_by_name(session: Session) -> Iterator[None]:
    """What goes wrong with a dropped file is told with its name, not with the folder where it lies meanwhile."""
    try:
        yield
    except BlocksimError as error:
        text = str(error).replace(f"{data_shelf(session)['folder'].name}{os.sep}", "")
        raise BlocksimError(of_the_pane(text)) from error


def loaded(session: Session, request: Request) -> Record:
    """The record of a dropped file, its time as the request says."""
    time, every = str(request.get("time") or ""), request.get("every") or None
    with told_by_name(session):
        return Record.load(dropped_path(session, str(request.get("file"))), time="" if every else time, every=every)


@handles("data.drop")
def take_file(session: Session, request: Request) -> Answer:
    """Take a file's content; its name says how it is read."""
    name = os.path.basename(str(request.get("name") or "record.csv"))
    if not name.lower().endswith(tuple(suffixes())):
        raise BlocksimError(f"'{name}' is no record. Files are read that end in: {listing(suffixes())}.")
    try:
        content = base64.b64decode(str(request.get("content") or ""), validate=True)
    except (binascii.Error, ValueError):
        raise BlocksimError(f"'{name}' did not arrive whole; drop it again.") from None
    shelf = data_shelf(session)
    path = Path(shelf["folder"].name) / name
    path.write_bytes(content)
    shelf["files"][name] = path
    return Answer({"file": name, "files": list(shelf["files"])})


@handles("data.look", lane="data", latest=True)
def look_at_file(session: Session, request: Request) -> Answer:
    """Time base, gaps and columns of a dropped file, each column drawn small; rows are counted where their time is not known."""
    time, every = request.get("time") or None, request.get("every") or None
    with told_by_name(session):
        path = dropped_path(session, str(request.get("file")))
        record, view = view_of_file(path, axis_of(RecordSpec(time=None if every else time, every=every)))
    low, high = float(record.t[0]), float(record.t[-1])
    series: list[dict[str, Any]] = []
    arrays: dict[str, Any] = {}
    for name in record:
        for label, values in scalar_columns(name, record[name]):
            kind, parts = envelope(record.time(name), values, low, high, PREVIEW_COLUMNS)
            arrays[f"{len(series)}.0"], arrays[f"{len(series)}.1"] = parts
            series.append({"name": label, "unit": unit_label(record.unit(name)), "kind": kind})
    facts = {"span": [low, high], "timed": view.timed, "signals": signals_data_of(session), "times": possible_times(record)}
    facts["sources"] = [] if session.diagram is None else [name for name in sources(session.diagram) if "." not in name]
    return Answer({**inspected(record, view), "series": series, **facts}, arrays)


def possible_times(record: Record) -> list[str]:
    """Columns that may be said to be the time, those of other lengths too."""
    return [
        *(label for name in record for label, _ in scalar_columns(name, record[name])),
        *record.provenance.get("other_lengths", {}),
    ]


def signals_data_of(session: Session) -> list[dict[str, Any]]:
    """Signals of the diagram that a column may stand for, those that its identifiers read first; and what `record:` says."""
    diagram = session.diagram
    if diagram is None:
        return []
    schedule = flatten(diagram)
    present = diagram.record.signals if diagram.record is not None else {}
    reading = {str(ref) for unit in schedule.after_run for refs in unit.inputs.values() for ref in refs}
    rows = []
    for name, one in targets(schedule).items():
        column = present.get(name) or present.get(name.rpartition(".")[0])
        rows.append({"name": name, "unit": one.measure, "read": name in reading, "column": column.column if column else ""})
    return sorted(rows, key=lambda row: (not row["column"], not row["read"]))


@handles("data.lag")
def lag(session: Session, request: Request) -> Answer:
    """Which of two columns comes first, and by how much."""
    record = loaded(session, request)
    one, other = str(request["one"]), str(request["other"])
    result = follows(record.time(one), record[one], record[other])
    return Answer(
        {
            "seconds": result.seconds,
            "samples": result.samples,
            "correlation": result.correlation,
            "words": result.words(one, other),
        }
    )


def reading_options(request: Request) -> dict[str, Any]:
    """The request's mapping as `identify` takes it."""
    columns = {signal: column_words(words) for signal, words in (request.get("columns") or {}).items()}
    options: dict[str, Any] = {"columns": columns}
    for key in ("time", "every", "resample", "missing"):
        if request.get(key):
            options[key] = request[key]
    if options.get("every"):
        options.pop("time", None)
    if assumed := str(request.get("assume") or "").replace(",", " ").split():
        options["assume"] = assumed
    return options


def column_words(words: Mapping[str, Any]) -> dict[str, Any]:
    """One column with what differs from plain: unit, scale, offset, delay."""
    result: dict[str, Any] = {"column": words["column"]}
    for key in ("unit", "scale", "offset", "delay"):
        value = words.get(key)
        if value not in (None, ""):
            result[key] = value if key == "unit" or value == "estimated" else float(value)
    return result


@handles("data.identify", lane="data")
def identify_in_pane(session: Session, request: Request) -> Answer:
    """The diagram's identifiers on the dropped file."""
    if session.diagram is None:
        raise BlocksimError(f"'{session.name}' has mistakes; mend it in the Edit pane.")
    with told_by_name(session):
        record = identify(session.diagram, dropped_path(session, str(request.get("file"))), **reading_options(request))
    data_shelf(session)["estimates"] = dict(record.estimates)
    order = {name: place for place, name in enumerate(session.diagram.nodes)}  # of the file, as on the bench
    paths = sorted(record.estimates, key=lambda path: order.get(path.split(".")[0], len(order)))
    return Answer(
        {
            "estimates": {path: estimates_data(record.estimates[path]) for path in paths},
            "notes": [str(note) for note in record.provenance.get("notes", [])],
        }
    )


@handles("data.validate", lane="data")
def validate_in_pane(session: Session, request: Request) -> Answer:
    """What was identified, held fixed, on another file."""
    estimates = data_shelf(session).get("estimates") or {}
    method = str(request.get("method") or next(iter(estimates), ""))
    if session.diagram is None or method not in estimates:
        raise BlocksimError(f"identify first, then validate. Methods are: {listing(estimates)}.")
    mode = str(request.get("mode") or "loop")
    path = dropped_path(session, str(request.get("file")))
    with told_by_name(session):
        result = validate(session.diagram, path, estimates[method], block=method, mode=mode, **reading_options(request))
    series: list[dict[str, Any]] = []
    arrays: dict[str, Any] = {}
    for name in result:
        fit = result[name]
        span = [float(fit.t[0]), float(fit.t[-1])]
        pairs = zip(scalar_columns(fit.name, fit.measured), scalar_columns(fit.name, fit.model), strict=True)
        for (label, measured), (_, model) in pairs:
            kinds = []
            for curve in (measured, model):
                kind, parts = envelope(fit.t, curve, span[0], span[1], PREVIEW_COLUMNS)
                number = len(arrays) // 2
                arrays[f"{number}.0"], arrays[f"{number}.1"] = parts
                kinds.append(kind)
            numbers = {"fit": fit.fit, "relative": fit.relative_error, "rms": fit.rms}
            series.append({"name": label, "unit": fit.unit, "kind": kinds[0], "span": span, **numbers})
    return Answer({"series": series, "words": str(result), "method": method}, arrays)


@handles("data.folds", lane="data")
def hold_back_in_turn(session: Session, request: Request) -> Answer:
    """Every dropped file, or every piece of one, held back once: what the others tell, and how well that meets it."""
    if session.diagram is None:
        raise BlocksimError(f"'{session.name}' has mistakes; mend it in the Edit pane.")
    files = [dict(file) for file in request.get("files") or []]
    parts = None if request.get("parts") is None else int(request["parts"])
    records = {str(file["file"]): loaded(session, file) for file in files}
    options = {key: value for key, value in reading_options(request).items() if key not in ("time", "every")}
    method, mode = str(request.get("method") or ""), str(request.get("mode") or "loop")
    with told_by_name(session):
        folds = cross_validate(session.diagram, records, block=method, parts=parts, mode=mode, **options)
    signals = list(dict.fromkeys(name for one in folds.values() for name in one))
    values = list(dict.fromkeys(name for one in folds.values() for name in one.settings))
    rows = [
        {
            "name": name,
            "fits": [one[signal].fit if signal in one else None for signal in signals],
            "values": [one.settings.get(value) for value in values],
        }
        for name, one in folds.items()
    ]
    return Answer({"signals": signals, "values": values, "folds": rows, "method": method})


def with_record(meaning: Meaning, words: Mapping[str, Any]) -> Change:
    """The file with a `record:` section."""
    return Change(with_section(meaning, "record", dict(words)), "record: from Data")


@handles("data.keep", lane="edit")
def keep_mapping(session: Session, request: Request) -> Answer:
    """Write the mapping into the file's text as its `record:` section."""
    document = document_of(session)
    options = reading_options(request)
    columns = {s: c["column"] if set(c) == {"column"} else c for s, c in options.pop("columns").items()}
    words = {"file": str(request.get("file")), **options, "signals": columns}
    document.history.take(edit(document.text, with_record, words))
    document.keep_draft()
    return Answer({"words": "record: is in the text; Save in the Edit pane writes it. Put the file beside the diagram."})
