"""What a file says of its arrays: one JSON description (grids, names, units, flags, provenance) beside plain arrays.

A file without it is somebody's measurement: a time named t or time, and arrays of its length.
"""

from __future__ import annotations

import itertools
import json
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import numpy as np

from ..errors import RecordError, listing
from .conversion import name_and_unit
from .foreign.time_column import as_vector, time_column
from .grid import Grid, Signal, TimeAxis, floats, measured_signal
from .record import Record, time_keys

#: The name under which the description travels: a member, a variable, a metadata key.
MARK = "blocksim"

Arrays = dict[str, np.ndarray]


def within_limit(needed: int, max_bytes: int) -> None:
    if needed > max_bytes:
        raise RecordError(f"needs {needed} bytes, more than max_bytes={max_bytes}. If you trust it, raise max_bytes.")


def refuse_twice(what: str, names: Iterable[str]) -> None:
    earlier: set[str] = set()
    for name in names:
        if name in earlier:
            raise RecordError(f"holds the {what} '{name}' twice; names must differ.")
        earlier.add(name)


def describe(record: Record, key: Callable[[str], str]) -> tuple[str, Arrays]:
    """The description as JSON, and the arrays under keys a format can spell, told apart where two would collide."""
    arrays: Arrays = {MARK: np.empty(0)}
    grids = []

    def put(name: str, values: np.ndarray) -> str:
        spelled = next(k for k in itertools.chain([name], (f"{name}_{i}" for i in itertools.count(2))) if k not in arrays)
        arrays[spelled] = values
        return spelled

    times = [put(k, g.t) for k, g in zip(time_keys(record), record.grids, strict=True)]
    for time, grid in zip(times, record.grids, strict=True):
        signals = [
            {
                "name": n,
                "key": put(key(n), s.values),
                "unit": s.unit,
                "doc": s.doc,
                "measured": s.measured,
                "hold": s.hold,
                "width": s.values.shape[1] if s.values.ndim == 2 else None,
            }
            for n, s in grid.signals.items()
        ]
        grids.append({"key": time, "signals": signals})
    del arrays[MARK]
    whole = {"format": 1, "grids": grids, "aliases": record.aliases, "provenance": record.provenance}
    try:
        return json.dumps(whole, indent=1, default=json_plain), arrays
    except (TypeError, ValueError) as error:
        raise RecordError(f"provenance cannot be written as JSON: {error}.") from None


def json_plain(value: Any) -> Any:
    """What JSON has no word for: numpy's numbers and arrays, paths, fractions."""
    return value.tolist() if isinstance(value, (np.generic, np.ndarray)) else str(value)


def restore(description: str, arrays: Arrays) -> Record:
    """The record that `describe` described."""
    whole = json.loads(description)
    if whole["format"] != 1:
        raise RecordError(f"has record format {whole['format']!r}; this version reads format 1. Install a newer blocksim.")
    grids = []
    for grid in whole["grids"]:
        t = floats(arrays[grid["key"]]).reshape(-1)
        signals = {}
        for s in grid["signals"]:
            shape = (len(t),) if s["width"] is None else (len(t), s["width"])
            flags = bool(s["measured"]), bool(s["hold"])
            signals[s["name"]] = Signal(arrays[s["key"]].reshape(shape), s["unit"], s["doc"], *flags)
        grids.append(Grid(t, signals))
    return Record(grids, whole["provenance"], whole["aliases"])


def measurement(
    source: Path, arrays: Arrays, axis: TimeAxis, units: dict[str, str] | None = None, ignored: Iterable[str] = ()
) -> Record:
    """A record from somebody's arrays: single numbers become provenance['constants'], the rest must match the time.

    Names carry their units whatever the format, 'q [deg]' or 'q (deg)'; `units` are those the file tells apart from the names.
    """
    pairs = {head: name_and_unit(head) for head in arrays}
    refuse_twice("column", [name for name, _ in pairs.values()])
    units = {**{name: unit for name, unit in pairs.values() if unit}, **(units or {})}
    arrays = {pairs[head][0]: array for head, array in arrays.items()}
    key, t, date = time_column(arrays, axis, units)
    if not len(t):
        raise RecordError(f"its time '{key}' has no samples.")
    constants: dict[str, Any] = {}
    signals = {}
    strangers: dict[str, str] = {}  # arrays of another length: of another trial in the same file, say
    for name, array in arrays.items():
        values = as_vector(array)
        if name in (key, "t"):  # beside another time a column 't' is none, and no signal can be called so
            continue
        if values.dtype.kind in "SU" or (values.size == 1 and len(t) > 1):
            constants[name] = values.reshape(-1)[0].item() if values.size else ""
        elif values.ndim == 2 and len(values) != len(t) and values.shape[1] == len(t):
            signals[name] = measured_signal(name, values.T, units.get(name, ""))  # a row per signal
        elif values.ndim in (1, 2) and len(values) == len(t):
            signals[name] = measured_signal(name, values, units.get(name, ""))
        else:
            strangers[name] = " x ".join(map(str, array.shape))
    if strangers and not signals:
        name = next(iter(strangers))
        raise RecordError(
            f"'{name}' has shape {arrays[name].shape} but the time '{key}' has {len(t)} samples. Transpose or "
            "remove it, or load the arrays yourself and use Record.from_arrays."
        )
    remarks = [f"times are dates, {date:.12g} s at the first row, from which they are counted"] if date else []
    provenance = {"constants": constants, "ignored": [*ignored, *strangers], "other_lengths": strangers, "remarks": remarks}
    return Record([Grid(t, signals)], {"source": source.name, **{k: v for k, v in provenance.items() if v}})


def column_label(name: str, unit: str) -> str:
    return f"{name} [{unit}]" if unit else name


def gather(description: str, columns: Arrays, with_units: bool) -> Arrays:
    """A table's columns as the arrays its description speaks of: vectors put together again."""
    grid = json.loads(description)["grids"][0]
    left = dict(columns)
    try:
        arrays = {grid["key"]: left.pop(column_label("t", "s" * with_units))}
        for s in grid["signals"]:
            unit = s["unit"] * with_units
            if s["width"] is None:
                arrays[s["key"]] = left.pop(column_label(s["name"], unit))
            else:
                arrays[s["key"]] = np.column_stack([left.pop(column_label(f"{s['name']}[{i}]", unit)) for i in range(s["width"])])
    except KeyError as error:
        left = {str(error.args[0]): np.empty(0)}
    if left:
        raise RecordError(
            f"its table and its description disagree about {listing(left)}. If columns were changed by hand, "
            "delete the description (the lines starting with #) to read it as a plain table."
        )
    return arrays
