"""The file format as dataclasses: read this page to know the YAML.

    format: 1
    name: Servo loop
    simulate: {stop: 10, solver: rk4, step: 1e-3, seed: 7}
    parameters: {Ts: 1e-3}               # used below as ${Ts}
    blocks:
      error: {type: Sum, signs: "+-", in: [ref, plant]}
    log: [plant, {signal: error, every: 0.01}]
    scopes: [[ref, plant], error]        # what `run --plot` shows: a list inside the list shares an axis

A subsystem is a file of the same format with `ports:`; its inputs are named inside like blocks.

    ports: {in: [tau], out: {q: joint.q}}

Where it is used, a signal may switch it on and off: `enable: moving`, or `enable: {signal: moving, states: reset, outputs: 0}`.

A pipeline that also works on measured data says which column of a file each signal is.

    record: {file: lab.csv, time: t, signals: {encoder: qm, loop: {column: volts, scale: 0.1}}}
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, TypedDict

from ..contract.times import Seconds
from ..errors import Place

#: The axes of a plot: a signal, or several on one axis.
ScopeAxes = list[str | list[str]]
#: The newest format this version reads and the one it writes.
FORMAT = 1


@dataclass(frozen=True)
class EnableSpec:
    """`enable:` of a subsystem: on while the signal is above 0.5; off, nothing in it moves.

    Its outputs then keep their value, or have a stated one.
    """

    signal: str
    states: Any = "hold"  # or 'reset': begin anew when it is switched on
    outputs: Any = "hold"  # or a number

    def plain(self) -> Any:
        """As a file has it, what is not said left out."""
        more = {key: value for key in ("states", "outputs") if (value := getattr(self, key)) != "hold"}
        return {"signal": self.signal, **more} if more else self.signal


@dataclass
class BlockSpec:
    """One entry of `blocks:`: its type, where its inputs come from, and its settings as written."""

    name: str
    type: str
    inputs: Any = None  # None, 'a.y', ['a', 'b'] or {'port': 'a.y'}
    settings: dict[str, Any] = field(default_factory=dict)
    flip: bool | None = None  # a hint for the picture: drawn right to left
    enable: EnableSpec | None = None  # of a subsystem
    place: Place | None = field(default=None, compare=False)
    places: dict[str, Place] = field(default_factory=dict, compare=False)  # of each key, 'in' and 'type' included


@dataclass
class SimulateSpec:
    """`simulate:`, how to run. None means: the engine's default."""

    stop: Seconds | None = None
    start: Seconds = 0
    solver: str | None = None
    step: Seconds | None = None
    rtol: float | None = None
    atol: float | None = None
    max_step: float | None = None
    seed: int = 0
    every: Seconds | None = None
    algebraic_loops: str = "refuse"  # or 'solve'
    math: str = "libm"  # or 'portable'


class RunOptions(TypedDict, total=False):
    """Keys of `simulate:` as arguments of what runs a diagram, but the seed; those left out, and None, stay as they are."""

    stop: Seconds | None
    start: Seconds | None
    solver: str | None
    step: Seconds | None
    rtol: float | None
    atol: float | None
    max_step: float | None
    every: Seconds | None
    algebraic_loops: str | None
    math: str | None


class SeededOptions(RunOptions, total=False):
    """All keys of `simulate:`."""

    seed: int | None


@dataclass
class LogSpec:
    """One entry of `log:`, a signal and, where it asks for one, a grid of its own."""

    signal: str
    every: Seconds | None = None
    place: Place | None = field(default=None, compare=False)


@dataclass
class PortSpec:
    """`ports:` of a subsystem: inputs by name (with size), outputs by the signal they carry."""

    inputs: dict[str, int] = field(default_factory=dict)
    outputs: dict[str, str] = field(default_factory=dict)
    places: dict[str, Place] = field(default_factory=dict, compare=False)  # of outputs by name, of inputs as 'in.<name>'


@dataclass
class ColumnSpec:
    """One entry of `record: signals:`, the column or columns of a signal: column(t + delay) * scale + offset, in `unit`."""

    column: Any  # a name, or a list of names for a vector
    unit: Any = ""  # '' for what the head of the column says; a list for a vector whose columns differ
    scale: Any = None
    offset: Any = None
    place: Place | None = field(default=None, compare=False)
    file: str = ""  # where it is not in the record's own
    delay: Any = None  # seconds that the column is late; like the offset, a number or 'estimated'


@dataclass
class RecordSpec:
    """`record:`, how a measured record is read as signals of the diagram."""

    file: Any = None  # the path of a record, or a list of records that are fitted together
    time: Any = None  # the column of time, or {column: clock, unit: ms}
    every: Any = None  # interval of the rows, where no column of time is to be read
    resample: Any = None  # an interval, or {every: 1e-3, method: linear}
    missing: str = "refuse"  # or 'bridge'
    assume: Any = None  # sources that acted as in the diagram though the record does not hold them, or 'all'
    signals: dict[str, ColumnSpec] = field(default_factory=dict)
    places: dict[str, Place] = field(default_factory=dict, compare=False)


@dataclass
class Spec:
    """A whole file, checked against the format but not yet against the library."""

    name: str = ""
    description: str = ""
    simulate: SimulateSpec = field(default_factory=SimulateSpec)
    parameters: dict[str, Any] = field(default_factory=dict)
    blocks: dict[str, BlockSpec] = field(default_factory=dict)
    log: list[LogSpec] | None = None  # None: every output of every block
    ports: PortSpec | None = None
    record: RecordSpec | None = None
    scopes: ScopeAxes | None = None  # None: what a person would look at
    format: int = FORMAT
    path: str = field(default="", compare=False)  # of the file, '' when it came as text or from Python
    places: dict[str, Place] = field(default_factory=dict, compare=False)  # of top-level keys and simulate's ('simulate.stop')
    text: str = field(default="", compare=False)  # as read, for provenance
    allow_outside: bool = field(default=False, compare=False)  # whether files outside its folder may be read
