"""The robot in motion: for each block that is seen to move, its poses at some instants or at one, as the record has them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from ..contract.block import Block
from ..contract.declarations import StatePort
from ..diagram.spec import LogSpec
from ..errors import BlocksimError, SimulationError
from ..notation import unit_label
from ..simulation.noise import draw_noise
from ..simulation.overrides import Overrides
from ..simulation.prepare import experiment, prepared
from ..simulation.simulation import run_experiment
from .bench import curves, fitting_labels, logged_names, values_at
from .handlers import Request, handles
from .protocol import Answer
from .running.defects import defects_off, rewired

if TYPE_CHECKING:
    import numpy as np

    from ..records.record import Record
    from ..simulation.experiment import Experiment
    from .session import Session

MOST_POSES = 1500
#: What is known of a block that says nothing: a state of this unit turns, or slides.
FALLBACK = {"rad": "link", "m": "slide"}


@handles("robot.motion", lane="robot", latest=True)
def motion(session: Session, request: Request) -> Answer:
    """Every moving block with its poses over the whole run, at most so many of them."""
    import numpy as np

    record, figures = motion_record(session)
    t = np.linspace(record.t[0], record.t[-1], min(len(record.t), MOST_POSES))
    robots, arrays = poses(record, figures, t)
    return Answer({"robots": robots, "span": [float(t[0]), float(t[-1])], "count": len(t)}, {"t": t, **arrays})


@handles("robot.at", lane="robot", latest=True)
def pose_at(session: Session, request: Request) -> Answer:
    """The poses at one time: of each signal its last sample up to then, and its number."""
    import numpy as np

    record, figures = motion_record(session)
    t = min(max(float(request["t"]), float(record.t[0])), float(record.t[-1]))
    robots, arrays = poses(record, figures, np.array([t]))
    readings = [
        {"name": label, "value": value, "unit": unit_label(record.unit(name))}
        for path, figure in figures.items()
        for name in (f"{path}.{signal}" for signal in figure["signals"])
        for label, value in labelled(name, samples_at(record, name, np.array([t]))[0])
    ]
    values = values_at(record, request.get("show") or [], t)
    return Answer({"t": t, "robots": robots, "readings": readings, "values": values}, arrays)


@handles("robot.curves", lane="robot", latest=True)
def motion_curves(session: Session, request: Request) -> Answer:
    """The scopes beside the robot: what is drawn of it, then what the bench draws first, as long as colours last."""
    record, figures = motion_record(session)
    drawn = [f"{path}.{signal}" for path, figure in figures.items() for signal in figure["signals"]]
    names = [name for name in dict.fromkeys([*drawn, *logged_names(session, record)]) if name in record]
    data, arrays = curves(session, record, {**request, "show": fitting_labels(record, names)})
    return Answer(data, arrays)


def labelled(name: str, values: Any) -> list[tuple[str, float]]:
    return [(name, float(values))] if values.ndim == 0 else [(f"{name}[{k}]", float(v)) for k, v in enumerate(values)]


def find_figures(ready: Experiment, changes: Mapping[str, Any]) -> dict[str, dict[str, Any]]:
    """How each block is seen to move, by path, with its settings of this run."""
    overrides, figures = Overrides(changes), {}
    for unit in ready.schedule.units:
        block = overrides.block(unit)
        figure = dict(block.figure()) or fallback_figure(block)
        if figure:
            figures[unit.path] = figure
    return figures


def fallback_figure(block: Block) -> dict[str, Any]:
    """Of a plant that says nothing of how it moves: its first angle turns a link, its first length slides."""
    ports = block.of(StatePort) if block.colour == "plant" else {}
    for name, declared in ports.items():
        if declared.unit in FALLBACK and declared.size == 1:
            return {"kind": FALLBACK[declared.unit], "signals": (name,)}
    return {}


def motion_record(session: Session) -> tuple[Record, dict[str, dict[str, Any]]]:
    """The record of the last run with all that is drawn; where the file does not log it, the same run once more with it."""
    shelf = session.shelf.get("bench", {})
    live, diagram = shelf.get("run"), session.diagram
    if live is None or diagram is None:
        raise BlocksimError("nothing has run yet.")
    own = session.shelf.setdefault("robot", {})
    if own.get("number") == live.number:
        return own["record"], own["figures"]
    figures = find_figures(live.experiment, live.changes)
    names = [f"{path}.{signal}" for path, figure in figures.items() for signal in figure["signals"]]
    record = live.record
    if any(name not in record for name in names):
        off = tuple(sorted(shelf.get("off") or ()))
        key = session.version, off
        if own.get("key") != key:
            log = None if diagram.log is None else [*diagram.log, *(LogSpec(name) for name in names if name not in record)]
            own.update(key=key, ready=experiment(replace(rewired(diagram, off), log=log)))
        changes = defects_off(diagram, off, session.changes)
        ready, left = prepared(own["ready"], changes, {})
        record = moving_record(ready, left, live.record.provenance.get("seed"), changes)
    own.update(number=live.number, record=record, figures=figures)
    return record, figures


def moving_record(ready: Experiment, left: dict[str, Any], seed: int | None, changes: dict[str, Any]) -> Record:
    """The run once more; one that ends early is shown as far as it goes, as the bench does."""
    try:
        return run_experiment(ready, left, draw_noise(ready, seed), named=changes)
    except SimulationError as error:
        if error.record is None:
            raise
        record: Record = error.record
        return record


def samples_at(record: Record, name: str, t: np.ndarray) -> np.ndarray:
    """Of a signal its last sample up to each time."""
    import numpy as np

    places = np.searchsorted(record.time(name), t + 1e-9, "right") - 1
    values: np.ndarray = record[name][np.maximum(places, 0)]
    return values


def poses(
    record: Record, figures: dict[str, dict[str, Any]], t: np.ndarray
) -> tuple[list[dict[str, Any]], dict[str, np.ndarray]]:
    """Each moving block in data, and its numbers: points of a chain, or its signals one after the other."""
    import numpy as np

    robots, arrays = [], {}
    for path, figure in figures.items():
        signals = [f"{path}.{name}" for name in figure["signals"]]
        if any(name not in record for name in signals):
            continue
        data = {"path": path, **{key: value for key, value in figure.items() if key != "points"}}
        if figure["kind"] == "chain":
            q = samples_at(record, signals[0], t)
            points = figure["points"](q if q.ndim == 2 else q[:, None])
            data["joints"] = points.shape[1]
            arrays[path] = points.reshape(len(t), -1).ravel()
        else:
            arrays[path] = np.stack([samples_at(record, name, t) for name in signals]).ravel()
        robots.append(data)
    return robots, arrays
