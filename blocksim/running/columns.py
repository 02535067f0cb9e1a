"""Columns of somebody's record as signals of a diagram: named, put together, scaled, converted."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from ..contract.declarations import Outport
from ..diagram.diagram import REFERENCE, Diagram
from ..diagram.spec import ColumnSpec
from ..errors import DiagramError, Problem, RecordError, did_you_mean, listing
from ..records.conversion import name_and_unit, to_base, unit_factor
from ..records.grid import Grid, Signal
from ..records.record import Record, brief_listing
from ..schedule.logs import subsystem_output
from ..schedule.schedule import Schedule, Unit
from ..schedule.units import element_units, infer_units

#: What stands for a delay or an offset that is found by comparing two encoders.
ESTIMATED = "estimated"


@dataclass(frozen=True)
class Target:
    """A signal of the diagram: the block that makes it, the port, its size and unit ('' where nothing tells), or its units."""

    unit: Unit
    port: str
    size: int
    measure: str
    elements: tuple[str, ...] = ()  # the units of its elements, where these differ

    @property
    def name(self) -> str:
        return f"{self.unit.path}.{self.port}"


def targets(schedule: Schedule) -> dict[str, Target]:
    """Every signal of the diagram by its full name."""
    units = infer_units(schedule)
    goals = {}
    for unit in [*schedule.units, *schedule.after_run]:
        for port, declared in unit.kind.of(Outport).items():
            measure = declared.unit if unit.after else units[(unit.index, port)]
            elements = element_units(unit).get(port, ())
            goals[f"{unit.path}.{port}"] = Target(unit, port, unit.port(port), measure, elements)
    return goals


def target(schedule: Schedule, goals: Mapping[str, Target], reference: str) -> Target:
    """The signal a user wrote: block.port, a block with one output, an output of a subsystem."""
    match = REFERENCE.match(reference)
    if match and match["element"]:
        raise DiagramError(
            f"record: '{reference}' is an element. Map the whole signal with a column for each: {match['path']}: [a, b, ...]."
        )
    if reference in goals:
        return goals[reference]
    ports = [name for name in goals if name.rpartition(".")[0] == reference]
    if len(ports) == 1:
        return goals[ports[0]]
    inner = subsystem_output(schedule, reference)
    if inner:
        index, port, _ = inner[0]
        return goals[f"{schedule.units[index].path}.{port}"]
    if ports:
        raise DiagramError(f"record: '{reference}' has several outputs; say which: {listing(ports)}.")
    blocks = dict.fromkeys(name.rpartition(".")[0] for name in goals)
    raise DiagramError(
        f"record: the diagram has no signal '{reference}'. Blocks are: {listing(blocks)}."
        + did_you_mean(reference, [*blocks, *goals])
    )


def mapped(
    schedule: Schedule, record: Record, columns: Mapping[str, ColumnSpec], others: Mapping[str, Record]
) -> tuple[dict[str, tuple[np.ndarray, Signal]], dict[str, Any], list[str]]:
    """Signals of the diagram by full name, with their times; the column each came from; and notes.

    A column that is named like a signal of the diagram is that signal, so that a record of the diagram's own needs no mapping.
    Outputs of blocks that work on records are taken only where a mapping says so: they are made anew. `others` are the records
    of the files that columns name themselves.
    """
    goals = targets(schedule)
    signals: dict[str, tuple[np.ndarray, Signal]] = {}
    sources: dict[str, Any] = {}
    notes: list[str] = []
    problems: list[Problem] = []
    for reference, column in columns.items():
        try:
            goal = target(schedule, goals, reference)
            # A record the diagram made itself has its names, whatever its file calls the columns of the lab. What is asked for
            # beside the file must be there.
            source = others.get(column.file, record)
            column = with_unit_of_name(column, source)
            own = column.place is not None and goal.name in record and not has_column(source, column.column)
            spec = ColumnSpec(goal.name) if own else column
            signals[goal.name] = read_column(goal, spec, record if own else source, notes)
            sources[goal.name] = spec.column
        except DiagramError as error:
            problems += [Problem(p.what, p.where or column.place) for p in error.problems]
        except RecordError as error:
            problems.append(Problem(f"record: '{reference}': {error}", column.place))
    for name, goal in goals.items():
        if name not in signals and not goal.unit.after and any(n == name or n.startswith(f"{name}[") for n in record):
            try:
                signals[name] = read_column(goal, ColumnSpec(name), record, notes)
                sources[name] = name
            except RecordError as error:
                problems.append(Problem(f"record: {error}"))
    if problems:
        raise DiagramError(problems)
    return signals, sources, notes


def has_column(record: Record, column: Any) -> bool:
    names = column if isinstance(column, list) else [column]
    return all(name in record or f"{name}[0]" in record for name in names)


def with_unit_of_name(spec: ColumnSpec, record: Record) -> ColumnSpec:
    """'q [deg]' as the column q in degrees, where the record has no column of that whole name."""
    if not isinstance(spec.column, str) or has_column(record, spec.column):
        return spec
    name, unit = name_and_unit(spec.column)
    return replace(spec, column=name, unit=spec.unit or unit) if unit and has_column(record, name) else spec


def converted_elements(
    goal: Target, spec: ColumnSpec, headers: list[str], names: list[str], notes: list[str]
) -> tuple[float | np.ndarray, str]:
    """The factor from the columns' units to the signal's, element by element where these differ, and the unit of all."""
    units = spec.unit if isinstance(spec.unit, list) else [spec.unit] * goal.size
    if len(units) != goal.size:
        raise RecordError(f"'{goal.name}' has {goal.size} elements, and unit: names {len(units)}. Name one, or as many.")
    aims = goal.elements or (goal.measure,) * goal.size
    kinds = list(zip(units, headers, aims, strict=True))
    if len({(unit or header, aim) for unit, header, aim in kinds}) == 1:
        whole = listing(spec.column if isinstance(spec.column, list) else [spec.column])
        return converted(replace(goal, measure=aims[0]), replace(spec, unit=units[0]), headers[0], whole, notes)
    factors, results = np.ones(goal.size), [""] * goal.size
    for kind in dict.fromkeys(kinds):
        own = [i for i, one in enumerate(kinds) if one == kind]
        unit, header, aim = kind
        some = listing(list(dict.fromkeys(names[i] for i in own)))
        factor, measure = converted(replace(goal, measure=aim), replace(spec, unit=unit), header, some, notes)
        for i in own:
            factors[i], results[i] = factor, measure
    return factors, results[0] if len(set(results)) == 1 else ""


def read_column(goal: Target, spec: ColumnSpec, record: Record, notes: list[str]) -> tuple[np.ndarray, Signal]:
    """The values of a signal in its own unit, with their times."""
    names = spec.column if isinstance(spec.column, list) else [spec.column]
    parts = [part for name in names for part in column_parts(record, name)]
    t = record.time(parts[0])
    for part in parts[1:]:
        if len(record.time(part)) != len(t) or (record.time(part) != t).any():
            raise RecordError(f"the columns {parts[0]} and {part} have different times; resample the record first.")
    signals = [record.signal(part) for part in parts]
    values = np.column_stack([s.values for s in signals]) if len(signals) > 1 or goal.size > 1 else signals[0].values
    size = 1 if values.ndim == 1 else values.shape[1]
    if size != goal.size:
        raise RecordError(
            f"'{goal.name}' has {goal.size} element{'s' if goal.size > 1 else ''}, but {listing(names)} "
            f"{'has' if len(names) == 1 else 'have'} {size}. "
            + (f"Name as many columns: {goal.name}: [a, b, ...]" if goal.size > 1 else f"Name one: {goal.name}: {parts[0]}")
            + "; one element of a vector is a column too: 'q[1]'."
        )
    values = values.reshape(len(values)) if goal.size == 1 else values
    widths = [1 if s.values.ndim == 1 else s.values.shape[1] for s in signals]
    headers = [s.unit for s, width in zip(signals, widths, strict=True) for _ in range(width)]
    labels = [part for part, width in zip(parts, widths, strict=True) for _ in range(width)]
    scale, measure = converted_elements(goal, spec, headers, labels, notes)
    offset = 0.0 if spec.offset in (None, ESTIMATED) else spec.offset
    if spec.scale is not None or offset or np.any(scale != 1):
        values = (values * (1.0 if spec.scale is None else spec.scale) + offset) * scale
    bad = np.flatnonzero(np.isinf(values.reshape(len(values), -1)).any(axis=1))
    if len(bad):
        where = f"row {bad[0]}, t = {t[bad[0]]:.9g} s"
        raise RecordError(f"column {listing(names)} is infinite at {where}. Mark what is missing as nan.")
    return t, replace(signals[0], values=values, unit=measure)


def column_parts(record: Record, name: str) -> list[str]:
    """The columns a name stands for: one, or q[0], q[1], ... of a table that has a vector's elements side by side."""
    if name in record:
        return [name]
    parts: list[str] = []
    while f"{name}[{len(parts)}]" in record:
        parts.append(f"{name}[{len(parts)}]")
    if not parts:
        others = record.provenance.get("other_lengths", {})
        hint = " The time is no signal." if name == "t" else did_you_mean(name, list(record))
        if name in others:
            hint = f" '{name}' ({others[name]}) is in the file, but does not go with this time: choose another (time:, --time)."
        raise RecordError(f"the record has no column '{name}'. It has: {brief_listing(record)}.{hint}")
    return parts


def converted(goal: Target, spec: ColumnSpec, header: str, names: str, notes: list[str]) -> tuple[float, str]:
    """The factor from a column's unit to the signal's, and that unit; what cannot be converted is refused.

    A column that was scaled still is in its unit, be that told by the mapping or by its head: scale turns signs and counts. Where
    the head's unit cannot be made that of the signal, the scale is taken to do it; where it does the same a second time, refused.
    """
    measure = spec.unit or header
    if measure and not goal.measure and (spec.unit or spec.scale is None) and to_base(measure) != 1:
        notes.append(f"'{goal.name}': {names} converted from {measure} to SI units; the signal itself has none")
        return to_base(measure), ""  # whoever says deg does not mean rad
    if not measure or not goal.measure:
        return 1.0, goal.measure if " or " not in goal.measure else measure
    choices = {unit: unit_factor(measure, unit) for unit in goal.measure.split(" or ")}
    unit, factor = next(((unit, value) for unit, value in choices.items() if value is not None), ("", None))
    if factor is None and spec.scale is not None and not spec.unit:
        notes.append(f"'{goal.name}': {names} is in {measure}; scale: {spec.scale:g} is taken to make it {goal.measure}")
        return 1.0, goal.measure if " or " not in goal.measure else ""
    if factor is None:
        remedy = f"Is it the right column? Else give the factor: {{column: {names}, scale: ...}}."
        if goal.elements and spec.unit:
            remedy = (
                f"Elements of '{goal.name}' are in {listing(goal.elements)}: give a unit of each column, unit: [{measure}, ...]."
            )
        raise RecordError(
            f"column {names} is in {measure}, the signal in {goal.measure}, and neither can be made of the other. {remedy}"
        )
    if factor != 1 and spec.scale is not None and math.isclose(abs(spec.scale), factor, rel_tol=0.01):
        raise RecordError(
            f"column {names} is in {measure} and becomes {unit} by itself, times {factor:.6g}; scale: {spec.scale:g} would do "
            f"that twice. Leave scale out, or write scale: {'-' if spec.scale < 0 else ''}1."
        )
    if factor != 1:
        notes.append(f"'{goal.name}': {names} converted from {measure} to {unit}")
    return factor, unit


def unmapped(diagram: Diagram, mapping: Mapping[str, Any]) -> dict[str, ColumnSpec]:
    """A mapping given in Python, {signal: column, [columns] or {column:, unit:, scale:, offset:}}, over that of the diagram."""
    columns = dict(diagram.record.signals) if diagram.record else {}
    for signal, entry_text in mapping.items():
        entry = entry_text if isinstance(entry_text, Mapping) else {"column": entry_text}
        odd = [key for key in entry if key not in ("column", "unit", "scale", "offset", "file", "delay")]
        names = entry.get("column")
        names = list(names) if isinstance(names, (list, tuple)) else names
        if odd or not names or not all(isinstance(n, str) for n in (names if isinstance(names, list) else [names])):
            raise RecordError(
                f"columns: '{signal}': found {entry_text!r}; the name of a column is wanted, a list of them for a vector, or "
                "{'column': name, 'unit': 'mm', 'scale': 1, 'offset': 0}."
            )
        columns[signal] = ColumnSpec(
            names, entry.get("unit", ""), entry.get("scale"), entry.get("offset"), None, entry.get("file", ""), entry.get("delay")
        )
    return columns


def grids_of(signals: Mapping[str, tuple[np.ndarray, Signal]]) -> list[Grid]:
    """Signals gathered by the times they share, the longest grid first."""
    grids: list[Grid] = []
    for name, (t, signal) in signals.items():
        home = next((g for g in grids if len(g.t) == len(t) and (g.t == t).all()), None)
        if home is None:
            grids.append(Grid(t, {name: signal}))
        else:
            home.signals[name] = replace(signal)
    return sorted(grids, key=lambda g: -len(g.t))
