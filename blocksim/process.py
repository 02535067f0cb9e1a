"""Run record blocks (filters, smoothers, identifiers) over a whole Record, simulated or measured, in dependency order."""

from __future__ import annotations

import inspect
from typing import TYPE_CHECKING, Any

from .declarations import Inport, Outport
from .diagram import Diagram, Ref
from .errors import DiagramError, Problem, RecordError
from .flatten import flatten
from .record import Grid, Record, Signal
from .schedule import Schedule, Unit

if TYPE_CHECKING:
    import numpy as np


def process(diagram: Diagram | Schedule, record: Record) -> Record:
    """The record with the outputs of the diagram's record blocks added."""
    schedule = flatten(diagram) if isinstance(diagram, Diagram) else diagram
    for unit in schedule.after_run:
        record = apply(unit, record)
    return record


def apply(unit: Unit, record: Record) -> Record:
    """One record block: its inputs on one grid, its outputs as new signals on that grid."""
    given: dict[str, Any] = {}
    t = None
    for port, refs in unit.inputs.items():
        arrays = [read(unit, ref, record) for ref in refs]
        for ref in refs:
            grid = record.time(f"{ref.block}.{ref.port}")
            if t is None:
                t = grid
            elif len(grid) != len(t) or (grid != t).any():
                raise DiagramError(
                    [
                        Problem(
                            f"block '{unit.path}': its inputs have different time grids; log '{ref}' on the same grid, or "
                            "resample the record.",
                            unit.node.at("in"),
                        )
                    ]
                )
        if arrays:
            given[port] = arrays if unit.kind.of(Inport)[port].many else arrays[0]
    if t is None:
        t = record.t
    asked = inspect.signature(unit.block.process).parameters  # type: ignore[attr-defined]
    values = {"t": t, **given}
    missing = [n for n, a in asked.items() if n not in values and a.default is a.empty]
    if missing:
        raise DiagramError(
            [Problem(f"block '{unit.path}': process asks for {', '.join(missing)}, which is not connected.", unit.node.at("in"))]
        )
    try:
        result = unit.block.process(**{n: values[n] for n in asked if n in values})  # type: ignore[attr-defined]
        t = unit.block.times(t)  # type: ignore[attr-defined]
    except RecordError as error:
        raise DiagramError([Problem(f"block '{unit.path}': {error}", unit.node.place)]) from None
    ports = list(unit.kind.of(Outport))
    if len(ports) == 1 and not isinstance(result, tuple):
        result = (result,)
    measured = all(record.signal(f"{r.block}.{r.port}").measured for refs in unit.inputs.values() for r in refs)
    return with_signals(record, t, unit, dict(zip(ports, result or (), strict=True)), measured)


def read(unit: Unit, ref: Ref, record: Record) -> np.ndarray:
    try:
        values = record[f"{ref.block}.{ref.port}"]
    except RecordError as error:
        raise DiagramError([Problem(f"block '{unit.path}': {error}", unit.node.at("in"))]) from None
    return values if ref.element is None else values[:, ref.element]


def with_signals(record: Record, t: np.ndarray, unit: Unit, outputs: dict[str, np.ndarray], measured: bool) -> Record:
    """A record that holds these outputs too, on the grid their times belong to."""
    sources = [ref for refs in unit.inputs.values() for ref in refs] if unit.kind.same_unit else []
    same = next((record.unit(f"{ref.block}.{ref.port}") for ref in sources), "")
    signals = {
        f"{unit.path}.{port}": Signal(values, same or unit.kind.declared[port].unit, unit.kind.declared[port].doc, measured)
        for port, values in outputs.items()
    }
    grids = [Grid(g.t, dict(g.signals)) for g in record.grids]
    home = next((g for g in grids if len(g.t) == len(t) and (g.t == t).all()), None)
    if home is None:
        grids.append(Grid(t, signals))
    else:
        home.signals.update(signals)
    made = Record(grids, record.provenance, record.aliases)
    made.estimates = record.estimates
    return made
