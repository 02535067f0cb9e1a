"""The bench: run with the sliders' values, curves as envelopes, estimates as rows; fields of a block."""

from __future__ import annotations

import time
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from ..errors import BlocksimError, listing
from ..notation import unit_label
from ..records.record import scalar_columns
from ..simulation.many.threads import cores
from ..simulation.prepare import experiment
from .handlers import Request, handles
from .protocol import Answer, failure_data
from .running.clouds import cloud, cloud_data
from .running.defects import defects_off, rewired
from .running.envelopes import envelope
from .running.fields import all_fields, block_fields, file_fields
from .running.methods import estimates_data
from .running.runs import LiveRun, live_run, run_units

if TYPE_CHECKING:
    import numpy as np

    from ..records.record import Record
    from ..simulation.experiment import Experiment
    from .session import Session

PLOT_COLUMNS, WIDEST = 400, 4000
#: What is drawn before anybody chose: as many signals of a unit as there are colours, and so many units.
SIGNALS_OF_UNIT, FIRST_UNITS = 8, 4
#: Seconds between two rounds of slow identifiers: under a moving hand most steps have the processor to themselves.
BREATH, GLANCE = 0.25, 0.005


@handles("bench.run", lane="run", latest=True)
def run_bench(session: Session, request: Request) -> Answer:
    """One run with these changes: its curves, and the estimates that are quick to have."""
    shelf = session.shelf.setdefault("bench", {"spent": {}})
    if shelf.get("version") != session.version:
        shelf.update(version=session.version, spent={})
    base, changes = variant_of(session, request)
    live = live_run(base, changes, request.get("seed"), shelf["spent"], request.get("options") or {})
    shelf["run"] = live
    shelf["off"] = tuple(request.get("off") or ())
    session.changes = dict(request.get("changes") or {})
    data, arrays = curves(session, live.record, request)
    return Answer({**run_data(live), **data, "signals": signals_data(live)}, arrays)


def variant_of(session: Session, request: Request) -> tuple[Experiment, dict[str, Any]]:
    """The experiment and its changes, with the defects of a request switched off; another wiring is made ready once."""
    ready, diagram = session.ready(), session.diagram
    changes, off = dict(request.get("changes") or {}), tuple(sorted(request.get("off") or ()))
    if diagram is None or not off:
        return ready, changes
    other = rewired(diagram, off)
    if other is not diagram:
        variants = session.shelf["bench"].setdefault("variants", {})
        key = session.version, *(name for name in off if name.endswith(".loop"))
        if key not in variants:
            variants[key] = experiment(other)
        ready = variants[key]
    return ready, defects_off(diagram, off, changes)


@handles("bench.warm", lane="warm")
def warm(session: Session, request: Request) -> Answer:
    """Compile the program, so that the next run is fast; asked for behind the first answer."""
    ready = session.ready()
    if ready.method.compiled:
        ready.program.fast()
    return Answer({"compiled": ready.method.compiled})


@handles("bench.cloud", lane="cloud", latest=True)
def cloud_of_seeds(session: Session, request: Request) -> Iterator[Answer]:
    """The estimates of other seeds, chunk by chunk; a request for none ends one that goes on."""
    live, count = session.shelf.get("bench", {}).get("run"), int(request.get("count") or 0)
    if live is None or not count:
        return
    base, changes = variant_of(session, request)
    first = int(live.record.provenance.get("seed") or 0)
    jobs = max(1, cores() - 1)
    seeds = [first + 1 + int(request.get("skip") or 0) + k for k in range(count)]
    for names, points in cloud(base, changes, request.get("options") or {}, seeds, jobs):
        yield Answer({"methods": cloud_data(points, names)}, {path: p.ravel() for path, p in points.items()})


@handles("bench.rest", lane="rest", latest=True)
def rest(session: Session, request: Request) -> Answer:
    """What was too slow to wait for, on the newest run."""
    shelf = session.shelf.get("bench", {})
    live = shelf.get("run")
    if live is None:
        raise BlocksimError("nothing has run yet.")
    while shelf["run"] is live and time.monotonic() < shelf.get("rested", 0.0) + BREATH:
        time.sleep(GLANCE)
    if shelf["run"] is not live:
        return Answer({"stale": True})
    slow = live.late | {unit.path for unit in live.rest}
    later = LiveRun(live.experiment, live.changes, live.record, live.number, failures=list(live.failures), late=slow)
    run_units(later, live.rest, shelf["spent"])
    shelf["rested"] = time.monotonic()
    if shelf.get("run") is live:
        shelf["run"] = later
    data = run_data(later)  # of this run only what was slow: a newer one may have said the rest already
    return Answer({**data, "estimates": {path: entry for path, entry in data["estimates"].items() if path in slow}})


@handles("bench.curves", lane="curves", latest=True)
def zoomed(session: Session, request: Request) -> Answer:
    """Curves of the last run in another window or of other signals."""
    live = session.shelf.get("bench", {}).get("run")
    if live is None:
        raise BlocksimError("nothing has run yet.")
    data, arrays = curves(session, live.record, request)
    return Answer({"number": live.number, **data, "signals": signals_data(live)}, arrays)


@handles("bench.block")
def block_settings(session: Session, request: Request) -> Answer:
    """The settings of a block, or without a name the parameters of the file."""
    diagram, name = session.diagram, str(request.get("block") or "")
    if diagram is None:
        raise BlocksimError(f"'{session.name}' has mistakes; mend them first.")
    if not name:
        return Answer({"block": "", "type": "", "doc": diagram.description, "fields": file_fields(diagram)})
    if name not in diagram.nodes:
        raise BlocksimError(f"there is no block '{name}'. Blocks are: {listing(diagram.nodes)}.")
    node = diagram.nodes[name]
    words = (type(node.block).__doc__ or "").strip()
    kind = type(node.block).__name__ if hasattr(node.block, "settings") else "subsystem"
    return Answer({"block": name, "type": kind, "doc": words, "fields": block_fields(node)})


@handles("bench.fields")
def present_fields(session: Session, request: Request) -> Answer:
    """Fields by their paths as the diagram has them now; those that it has no longer are left out."""
    paths = set(request.get("paths") or [])
    fields = [] if session.diagram is None else all_fields(session.diagram)
    return Answer({"fields": [field for field in fields if field["path"] in paths]})


def run_data(live: LiveRun) -> dict[str, Any]:
    """A run in data: its estimates, what is still to come, what failed, its time on the server."""
    return {
        "number": live.number,
        "estimates": {path: estimates_data(estimates) for path, estimates in live.record.estimates.items()},
        "rest": [unit.path for unit in live.rest],
        "failures": [failure_data(error) for error in live.failures],
        "seconds": live.seconds,
        "span": [float(live.record.t[0]), float(live.record.t[-1])],
        "samples": len(live.record.t),
        "seed": live.record.provenance.get("seed"),
    }


def signals_data(live: LiveRun) -> list[dict[str, Any]]:
    """Every scalar signal of a record, with its unit and whether a sensor delivers it; those of the file's log come first."""
    record = live.record
    return [
        {
            "name": label,
            "unit": unit_label(record.unit(name)),
            "doc": record.signal(name).doc,
            "measured": record.signal(name).measured,
        }
        for name in record
        for label, _ in scalar_columns(name, record[name])
    ]


def logged_names(session: Session, record: Record) -> list[str]:
    """The signals that the file logs, else all of the record."""
    log = session.diagram.log if session.diagram is not None else None
    names = list(record)
    heads = [entry.signal for entry in log or []]
    return [n for n in names if any(n == h or n.startswith((f"{h}.", f"{h}[")) for h in heads)] or names


def fitting_labels(record: Record, names: list[str]) -> list[str]:
    """The first of these signals, each whole, as long as their plots have colours for them; one too wide is begun."""
    by_unit: dict[str, list[str]] = {}
    for name in names:
        labels = [label for label, _ in scalar_columns(name, record[name])]
        unit = record.unit(name)
        if unit not in by_unit and len(by_unit) == FIRST_UNITS:
            continue
        signals = by_unit.setdefault(unit, [])
        signals += labels if len(signals) + len(labels) <= SIGNALS_OF_UNIT else [] if signals else labels[:SIGNALS_OF_UNIT]
    return [label for labels in by_unit.values() for label in labels]


def curves(session: Session, record: Record, request: Request) -> tuple[dict[str, Any], dict[str, np.ndarray]]:
    """The curves of a request's signals in its window: their description, and their numbers."""
    names = request.get("show")
    labels = [n for n in names if n in record] if names is not None else fitting_labels(record, logged_names(session, record))
    columns = min(max(int(request.get("columns") or PLOT_COLUMNS), 10), WIDEST)
    low, high = request.get("window") or (float(record.t[0]), float(record.t[-1]))
    series, arrays = [], {}
    for number, (label, kind, parts) in enumerate(curve_parts(record, labels, low, high, columns)):
        series.append({"name": label, "unit": unit_label(record.unit(label)), "kind": kind})
        arrays[f"{number}.0"], arrays[f"{number}.1"] = parts
    return {"series": series, "window": [low, high], "columns": columns}, arrays


def curve_parts(
    record: Record, labels: list[str], low: float, high: float, columns: int
) -> Iterator[tuple[str, str, list[np.ndarray]]]:
    for label in labels:
        kind, parts = envelope(record.time(label), record[label], low, high, columns)
        yield label, kind, parts


@handles("bench.values", lane="curves", latest=True)
def values(session: Session, request: Request) -> Answer:
    """The record at a time: of each signal its last sample up to then."""
    live = session.shelf.get("bench", {}).get("run")
    if live is None:
        raise BlocksimError("nothing has run yet.")
    t = float(request["t"])
    return Answer({"t": t, "values": values_at(live.record, request.get("show") or [], t)})


def values_at(record: Record, names: list[str], t: float) -> dict[str, float]:
    """Of each of these signals its last sample up to a time."""
    import numpy as np

    places = {name: int(np.searchsorted(record.time(name), t + 1e-9, "right")) - 1 for name in names if name in record}
    return {name: float(record[name][max(place, 0)]) for name, place in places.items()}


@handles("bench.pins")
def pins(session: Session, request: Request) -> Answer:
    """Fields worth a slider before anybody chose one."""
    from .running.fields import first_pins

    diagram = session.diagram
    return Answer({"pins": [] if diagram is None else first_pins(diagram, int(request.get("most") or 4))})
