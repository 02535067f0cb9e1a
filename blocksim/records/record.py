"""Record: time plus named signals with units, on one grid or several. The result of a simulation, or measured data.

Asked by name; cut, resampled and saved in a chain:

    record.t, record["joint.q"], record["robot.q[1]"], record.unit("joint.q")
    record.between(2, 8).select("joint.q", "encoder").resample(every=0.01).save("run.csv")
"""

from __future__ import annotations

import importlib
import math
import os
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from html import escape
from typing import TYPE_CHECKING, Any, overload

import numpy as np

from ..errors import RecordError, did_you_mean, listing
from ..extensions import extension
from ..notation import unit_label
from .estimate_set import EstimateSet
from .grid import Grid, Signal, TimeAxis, floats, interpolate_samples, measured_signal, regular_times, slack

if TYPE_CHECKING:
    from ..contract.arrays import FloatArray
    from ..contract.times import Seconds

METHODS = ("linear", "hold", "cubic")
ELEMENT = re.compile(r"(.+)\[(-?\d+)\]")
MAX_RECORD_BYTES = 4 << 30


class Record:
    """Time plus named signals. `estimates` is filled by identifiers; `provenance` says where the data came from.

    `file` is the file it was read from, '' where it was made here: what a file says of itself is not believed in everything.
    """

    file: str = ""

    def __init__(self, grids: Sequence[Grid], provenance: Mapping[str, Any] | None = None, aliases: dict[str, str] | None = None):
        self.grids = tuple(grids)
        self.provenance: dict[str, Any] = dict(provenance or {})
        self.estimates = EstimateSet()
        self._grid: dict[str, Grid] = {}
        if not self.grids:
            raise RecordError("a record needs at least one grid: Record([Grid(t, {name: Signal(values)})]).")
        for grid in self.grids:
            for name in grid.signals:
                if name in self._grid:
                    raise RecordError(f"two signals are called '{name}'; rename one.")
                self._grid[name] = grid
        for name in self:
            match = ELEMENT.fullmatch(name)
            if match and match[1] in self._grid and self.signal(match[1]).values.ndim == 2:
                raise RecordError(f"signal '{name}' would hide an element of the vector signal '{match[1]}'; rename one.")
        self.aliases = {alias: name for alias, name in (aliases or {}).items() if name in self._grid}

    @classmethod
    def from_arrays(
        cls, t: Any, signals: Mapping[str, Any] | None = None, /, *, units: Mapping[str, str] | None = None, **more: Any
    ) -> Record:
        """Measured data: Record.from_arrays(t, q=q, tau=tau, units={"q": "rad"}), or names that are no identifiers in a dict."""
        arrays, units = {**(signals or {}), **more}, units or {}
        for name in units:
            if name not in arrays:
                raise RecordError(f"units: no signal '{name}'. The signals are: {listing(arrays)}." + did_you_mean(name, arrays))
        return cls([Grid(t, {n: measured_signal(n, values, units.get(n, "")) for n, values in arrays.items()})])

    @property
    def t(self) -> FloatArray:
        """Sample times of the first, main grid, in seconds."""
        return self.grids[0].t

    def __iter__(self) -> Iterator[str]:
        return iter(self._grid)

    def __len__(self) -> int:
        return len(self._grid)

    def __contains__(self, name: object) -> bool:
        if not isinstance(name, str):
            return False
        if name in self._grid or name in self.aliases:
            return True
        if not ELEMENT.fullmatch(name) and not any(n.startswith(f"{name}.") for n in self):
            return False
        try:
            return bool(self.resolve(name))
        except RecordError:
            return False

    @overload
    def __getitem__(self, key: str) -> FloatArray: ...
    @overload
    def __getitem__(self, key: slice) -> Record: ...
    def __getitem__(self, key: str | slice) -> FloatArray | Record:
        """An array by name, or a shorter record by a slice of the main grid's samples."""
        if isinstance(key, slice):
            return self._slice(key)
        return self.t if key == "t" else self.signal(key).values

    def signal(self, name: str) -> Signal:
        """The signal of that name with its unit and flags; 'robot.q[1]' gives one element of a vector."""
        full, element = self.resolve(name)
        signal = self._grid[full].signals[full]
        return signal if element is None else replace(signal, values=signal.values[:, element])

    def time(self, name: str) -> FloatArray:
        """Sample times of that signal, in seconds."""
        return self._grid[self.resolve(name)[0]].t

    def unit(self, name: str) -> str:
        return self.signal(name).unit

    def resolve(self, name: str) -> tuple[str, int | None]:
        """What a user wrote (signal, block with one signal, alias, element) as (signal name, element or None)."""
        if not isinstance(name, str):
            raise RecordError(f"found {name!r}; a record is asked by name, record['q'], or by samples, record[100:200].")
        if name in self._grid:
            return name, None
        if name in self.aliases:
            return self.aliases[name], None
        ports = [n for n in self if n.startswith(f"{name}.")]
        if len(ports) == 1 and "." not in ports[0][len(name) + 1 :]:
            return ports[0], None
        if ports:
            raise RecordError(f"'{name}' is not one signal. Ask for one of: {brief_listing(ports)}.")
        match = ELEMENT.fullmatch(name)
        if not match:
            names = [*self, *self.aliases, *(n.rsplit(".", 1)[0] for n in self)]
            raise RecordError(f"no signal '{name}'. The record holds: {brief_listing(self)}." + did_you_mean(name, names))
        full, element = self.resolve(match[1])[0], int(match[2])
        shape = self._grid[full].signals[full].values.shape
        if len(shape) == 1:
            raise RecordError(f"'{name}': '{full}' is a scalar signal and has no elements.")
        if not 0 <= element < shape[1]:
            raise RecordError(f"'{name}': '{full}' has the elements 0 to {shape[1] - 1}.")
        return full, element

    def select(self, *names: str) -> Record:
        """Only these signals, in this order; a block's name takes its one signal."""
        full = []
        for name, element in map(self.resolve, names):
            if element is not None:
                raise RecordError(f"select takes whole signals and '{name}[{element}]' is an element; select '{name}'.")
            full.append(name)
        parts = [(g, {n: g.signals[n] for n in full if n in g.signals}) for g in self.grids]
        record = self._derived([Grid(g.t, signals) for g, signals in parts if signals] or [Grid(self.t, {})])
        record.estimates = self.estimates
        return record

    def between(self, t0: float = -math.inf, t1: float = math.inf) -> Record:
        """Samples from t0 to t1, both included, on every grid."""
        if not t0 <= t1:
            raise RecordError(f"between({t0:g}, {t1:g}): the first time must not be after the second.")
        grids = [g.cut(g.within(t0, t1)) for g in self.grids]
        if not len(grids[0].t):
            raise RecordError(f"no samples between {t0:g} and {t1:g} s; the record has {span_text(self.t)}.")
        return self._derived(grids)

    def _slice(self, samples: slice) -> Record:
        if samples.step is not None and (len(self.grids) > 1 or samples.step < 1):
            raise RecordError(f"cannot take every {samples.step}th sample of {len(self.grids)} grids; use resample(every=...).")
        main = self.grids[0].cut(samples)
        first, last = (main.t[0], main.t[-1]) if len(main.t) else (math.inf, -math.inf)
        return self._derived([main, *(g.cut(g.within(first, last)) for g in self.grids[1:])])

    def resample(self, times: Any = None, *, every: Seconds | None = None, method: str | None = None) -> Record:
        """All signals on one grid. Held signals keep their previous value; the others follow `method`: linear, hold or cubic."""
        method = method or "linear"
        if method not in METHODS:
            raise RecordError(f"no method '{method}'. Methods are: {listing(METHODS)}." + did_you_mean(method, METHODS))
        if (times is None) == (every is None):
            raise RecordError("resample takes either times or every=, one of them.")
        low, high = self._range(method)
        target = floats(times, "times") if every is None else regular_times(low, high, every)
        grid = Grid(target, {})
        margin = slack(np.array([low, high]))
        if len(target) and (target[0] < low - margin or target[-1] > high + margin):
            raise RecordError(
                f"times {target[0]:g} to {target[-1]:g} s reach outside what every signal covers, "
                f"{low:g} to {high:g} s. Ask for times inside, or select fewer signals."
            )
        for name, source in self._grid.items():
            signal = source.signals[name]
            how = "hold" if signal.hold else method
            grid.signals[name] = replace(signal, values=interpolate_samples(source.t, signal.values, target, how))
        return self._derived([grid])

    def _range(self, method: str) -> tuple[float, float]:
        """Times every signal covers. A held value lasts to the record's end, an interpolated one to its last sample."""
        if not all(len(g.t) for g in self.grids):
            raise RecordError("a grid without samples cannot be resampled; select the other signals first.")
        end = max(g.t[-1] for g in self.grids)
        lasting = [method == "hold" or all(s.hold for s in g.signals.values()) for g in self.grids]
        low, high = max(g.t[0] for g in self.grids), min(end if h else g.t[-1] for g, h in zip(self.grids, lasting, strict=True))
        if low > high:
            raise RecordError(f"the grids share no time: one starts at {low:g} s, one ends at {high:g} s. Select signals first.")
        return low, high

    def _derived(self, grids: Sequence[Grid]) -> Record:
        record = Record(grids, self.provenance, self.aliases)
        record.file = self.file
        return record

    def columns(self) -> dict[str, FloatArray]:
        """One array per scalar signal and per element ('robot.q[1]'), for tables; refused when there are several grids."""
        if len(self.grids) > 1:
            raise RecordError(f"a table holds one grid, the record has {len(self.grids)}. Pass every=, or resample or select.")
        return {label: values for name in self for label, values in scalar_columns(name, self[name])}

    def save(self, path: str | os.PathLike[str], *, every: Seconds | None = None) -> None:
        """Write .npz, .csv, .mat, .parquet or an installed format, whole or not at all. `every` resamples first."""
        from .storage import write_record

        write_record(self if every is None else self.resample(every=every), path)

    @classmethod
    def load(
        cls, path: str | os.PathLike[str], *, time: str = "", every: Seconds | None = None, max_bytes: int = MAX_RECORD_BYTES
    ) -> Record:
        """Read .npz, .csv, .mat, .parquet or an installed format, written by `save` or by others.

        In others' files the time is called t or time, and arrays have its length; `time` names another column of time, or
        `every` the interval of rows that have none.
        """
        from .storage import read_record

        return read_record(path, max_bytes, TimeAxis(time, every=every))

    def rerun(self, **options: Any) -> Record:
        """The run that made this record, once more from its provenance."""
        import blocksim

        return blocksim.rerun(self, **options)

    def to_pandas(self, *, every: Seconds | None = None) -> Any:
        """A DataFrame indexed by t; units in its attrs. `every` resamples first."""
        record = self if every is None else self.resample(every=every)
        columns, pandas = record.columns(), extra("pandas", "pandas")
        table = pandas.DataFrame(columns, index=pandas.Index(record.t, name="t"))
        table.attrs["units"] = {name: record.unit(name) for name in columns}
        return table

    def to_xarray(self) -> Any:
        """A Dataset; each grid has its own time dimension (t, t_1, ...), each vector its element dimension."""
        xarray = extra("xarray", "xarray")
        variables, times = {}, {}
        for key, grid in zip(time_keys(self), self.grids, strict=True):
            times[key] = (key, grid.t, {"units": "s"})
            for name, signal in grid.signals.items():
                dims = (key, f"{name}[i]")[: signal.values.ndim]
                variables[name] = (dims, signal.values, {"units": signal.unit, "long_name": signal.doc})
        return xarray.Dataset(variables, times)

    def __repr__(self) -> str:
        lines = []
        for grid in self.grids:
            names = (
                name + (f"[0:{s.values.shape[1]}]" if s.values.ndim == 2 else "") + (f" [{s.unit}]" if s.unit else "")
                for name, s in grid.signals.items()
            )
            lines.append(f"{len(grid.t)} samples, {span_text(grid.t)}: {brief_listing(names)}")
        return "Record: " + "\n        ".join(lines)

    def _repr_html_(self) -> str:
        rows = []
        for name in self:
            for label, x in scalar_columns(name, self[name]):
                numbers = (f"<td>{v:.5g}</td>" for v in (x.min(), x.max(), x[-1])) if len(x) else ["<td></td>"] * 3
                rows.append(f"<tr><td>{escape(label)}</td><td>{escape(unit_label(self.unit(name)))}</td>{''.join(numbers)}</tr>")
        head = "<tr><th>signal</th><th>unit</th><th>min</th><th>max</th><th>final</th></tr>"
        words = f"<p>{len(self.t)} samples, {escape(span_text(self.t))}</p>"
        table = f"<details><summary>{len(rows)} signals</summary><table>{head}{''.join(rows)}</table></details>"
        picture = str(extension("views", "Record")(self))
        return f"{words}{picture[max(picture.find('<svg'), 0) :]}{table}"


def scalar_columns(name: str, values: FloatArray) -> list[tuple[str, FloatArray]]:
    """A signal as scalar columns with their labels: 'q', or 'q[0]', 'q[1]', ..."""
    return [(name, values)] if values.ndim == 1 else [(f"{name}[{i}]", x) for i, x in enumerate(values.T)]


def time_keys(record: Record) -> list[str]:
    """A name for each grid's time that no signal bears: t, t_1, t_2 ..."""
    keys = [f"t_{i}" if i else "t" for i in range(len(record.grids))]
    while any(key in record._grid for key in keys):
        keys = [keys[0], *(key + "_" for key in keys[1:])]
    return keys


def span_text(t: FloatArray) -> str:
    """'0 to 10 s every 0.001 s', in words."""
    if len(t) < 2:
        return f"at {t[0]:g} s" if len(t) else "no time"
    steps = np.diff(t)
    even = np.ptp(steps) <= 1e-6 * steps.mean()
    return f"{t[0]:g} to {t[-1]:g} s " + (f"every {steps.mean():.6g} s" if even else "at uneven steps")


def brief_listing(names: Iterable[str], most: int = 24) -> str:
    """A listing that stays readable when there are hundreds."""
    names = list(names)
    return listing(names) if len(names) <= most else f"{listing(names[:most])} ... and {len(names) - most} more"


def extra(module: str, name: str) -> Any:
    """An optional package, or an error that says how to install it."""
    try:
        return importlib.import_module(module)
    except ImportError:
        raise RecordError(f"this needs {module.split('.')[0]}, which is not installed: pip install blocksim[{name}]") from None
