"""Where every number of a program lives: states in x, parameters in p, memories and held signals in m, arrays in a.

The layout depends on the diagram's structure only; `fill` computes the numbers from the settings, so that a changed
parameter, initial value or table never changes the code.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from ..contract.declarations import Memory, Model, Noise, Outport, Param, Period, State, Table
from ..contract.definition import arguments
from ..contract.times import exact
from ..schedule.sizes import shape_of

if TYPE_CHECKING:
    import numpy as np

    from ..schedule.schedule import Schedule, Unit


@dataclass(frozen=True)
class Slot:
    """The owner of one number, for messages: block path, name, element (-1 for a scalar)."""

    path: str
    name: str
    element: int = -1

    def __str__(self) -> str:
        return f"{self.path}.{self.name}" + (f"[{self.element}]" if self.element >= 0 else "")


@dataclass
class Region:
    """A stretch of the array store: its bounds stand in o[index] and o[index + 1], because lengths are known only at the run."""

    index: int
    unit: int
    name: str
    shape: tuple[int, ...] = ()  # of a matrix; () when one-dimensional


@dataclass(frozen=True)
class AheadRows:
    """What is computed ahead of the run at the hits of one group: how long a row is, and which numbers it is made of."""

    group: int
    place: int  # in o: the place of the next row in `ahead`, -1 without rows; behind it what is added after a hit
    width: int
    p: tuple[int, ...]
    regions: tuple[int, ...]  # in o: where arrays that are read begin and end


@dataclass
class Slots:
    """Addresses of everything a schedule stores."""

    p: list[Slot] = field(default_factory=list)
    x: list[Slot] = field(default_factory=list)
    m: list[Slot] = field(default_factory=list)
    declared_streams: list[tuple[Slot, str, int]] = field(default_factory=list)  # noise: owner, kind, index in o
    drawn: set[int] = field(default_factory=set)  # indices in o of the streams that the program reads
    regions: list[Region] = field(default_factory=list)
    scratch: dict[int, int] = field(default_factory=dict)  # region index -> length
    fixed: dict[int, int] = field(default_factory=dict)  # lengths the code relies on
    constants: list[tuple[int, list[int]]] = field(default_factory=list)  # whole numbers in o that loops read
    ahead: list[AheadRows] = field(default_factory=list)
    o: int = 0
    where: dict[tuple[int, str], list[int]] = field(default_factory=dict)  # (unit, name) -> addresses in its store
    arrays: dict[tuple[int, str] | tuple[int, str, int], Region] = field(default_factory=dict)

    @property
    def streams(self) -> list[tuple[Slot, str, int]]:
        """The streams of noise that the program reads: an ideal sensor declares one and does not."""
        return [stream for stream in self.declared_streams if stream[2] in self.drawn]

    def add(self, store: list[Slot], unit: Unit, name: str, count: int, single: bool) -> None:
        self.where[(unit.index, name)] = list(range(len(store), len(store) + count))
        store += [Slot(unit.path, name, -1 if single else k) for k in range(count)]

    def of(self, unit: Unit, name: str, copy: int) -> list[int]:
        """The addresses of one copy's own numbers; what is given once is shared by all copies."""
        where = self.where[(unit.index, name)]
        size = len(where) // unit.width
        return where[copy * size : (copy + 1) * size] if size else where

    def array(self, unit: Unit, name: str, copy: int) -> Region:
        return self.arrays.get((unit.index, name, copy)) or self.arrays[(unit.index, name)]

    def length(self, schedule: Schedule, region: Region) -> int:
        return int(region_value(schedule, self, region).size)

    def fix(self, schedule: Schedule, first: Region, region: Region) -> int:
        """The length of an array as part of the code; a `region` may be a copy of the `first`."""
        self.fixed[region.index] = self.length(schedule, first)
        return self.fixed[region.index]

    def region(
        self, unit: int, name: str, shape: tuple[int, ...] = (), length: int | None = None, copy: int | None = None
    ) -> Region:
        region = Region(self.o, unit, name, shape)
        self.o += 2
        self.regions.append(region)
        self.arrays[(unit, name) if copy is None else (unit, name, copy)] = region
        if length is not None:
            self.scratch[region.index] = length
        return region


def lay_out(schedule: Schedule) -> Slots:
    """Give every parameter, state, memory, held output, array and noise stream its address."""
    slots = Slots()
    for unit in schedule.units:
        for name, declaration in unit.kind.declared.items():
            place(slots, unit, name, declaration)
    return slots


def place(slots: Slots, unit: Unit, name: str, declaration: Any) -> None:
    """One declared name of one unit."""
    if isinstance(declaration, Memory) and declaration.array:
        shape = shape_of(unit, declaration.size) if isinstance(declaration.size, tuple) else ()
        for copy in range(unit.width):
            slots.region(unit.index, name, shape, copy=copy)
    elif isinstance(declaration, State):
        count = unit.width * unit.sizes.get(name, 1)
        slots.add(slots.m if isinstance(declaration, Memory) else slots.x, unit, name, count, count == 1)
    elif isinstance(declaration, Param) and not declaration.shape:
        value = unit.settings.get(name)
        many = isinstance(value, (list, tuple)) and len(value) > 1
        slots.add(slots.p, unit, name, unit.width if many else 1, not many)
    elif isinstance(declaration, (Param, Table)):
        shape = matrix_shape(unit, name) if len(declaration.shape) == 2 else ()
        slots.region(unit.index, name, shape)
    elif isinstance(declaration, Period):
        slots.add(slots.p, unit, name, 1, True)
    elif isinstance(declaration, Outport) and unit.kind.sampled:
        slots.add(slots.m, unit, name, unit.port(name), unit.port(name) == 1)
    elif isinstance(declaration, Noise):
        addresses = []
        for k in range(unit.width):
            addresses.append(slots.o)
            slots.declared_streams.append((Slot(unit.path, name, k if unit.wide else -1), declaration.kind, slots.o))
            slots.o += 1
        slots.where[(unit.index, name)] = addresses


def array_value(unit: Unit, name: str) -> np.ndarray:
    """An array parameter as given, or a table as its function computes it."""
    import numpy as np

    if isinstance(unit.kind.declared[name], Table):
        return table_values(unit, name)
    return np.ascontiguousarray(unit.settings[name], dtype=float)


def table_values(unit: Unit, name: str) -> np.ndarray:
    """What `table_<name>` gives: a table, or the initial value of an array memory."""
    import numpy as np

    from ..schedule.schedule import naming

    if name not in unit.tables:
        function = unit.kind.functions[f"table_{name}"]
        values = {**unit.settings, **unit.sizes, **dict.fromkeys(unit.kind.of(Model)), **unit.plants}
        with naming(unit.path, unit.node):
            unit.tables[name] = np.ascontiguousarray(function(**{a: values[a] for a in arguments(function)}), dtype=float)
    return unit.tables[name]


def matrix_shape(unit: Unit, name: str) -> tuple[int, ...]:
    return tuple(int(n) for n in array_value(unit, name).shape)


@dataclass
class Numbers:
    """The stores of one run, ready to be copied: parameters, initial states, memories, arrays and their bounds."""

    p: np.ndarray
    x: np.ndarray
    m: np.ndarray
    a: np.ndarray
    o: np.ndarray

    def copy(self) -> Numbers:
        return Numbers(self.p.copy(), self.x.copy(), self.m.copy(), self.a.copy(), self.o.copy())


def fill(schedule: Schedule, slots: Slots) -> Numbers:
    """Compute every number from the settings."""
    import numpy as np

    p, x, m = (np.zeros(len(store)) for store in (slots.p, slots.x, slots.m))
    for unit in schedule.units:
        for name, declaration in unit.kind.declared.items():
            addresses = slots.where.get((unit.index, name))
            if addresses is None or not isinstance(declaration, (Param, Period)):
                continue
            store = (m if isinstance(declaration, Memory) else x) if isinstance(declaration, State) else p
            store[addresses] = scalars(unit, name, declaration, len(addresses))
    o = np.zeros(slots.o, dtype=np.int64)
    pieces: list[np.ndarray] = []
    for start, values in slots.constants:
        o[start : start + len(values)] = values
    end = 0
    for region in slots.regions:
        piece = region_value(schedule, slots, region)
        o[region.index], o[region.index + 1] = end, end + piece.size
        end += piece.size
        pieces.append(piece)
    a = np.concatenate(pieces) if pieces else np.zeros(0)
    return Numbers(p, x, m, a, o)


def scalars(unit: Unit, name: str, declaration: Any, count: int) -> Any:
    """A setting as `count` numbers."""
    import numpy as np

    value = unit.settings.get(name)
    if isinstance(declaration, Memory) and f"table_{name}" in unit.kind.functions and value in (None, declaration.default):
        return np.broadcast_to(table_values(unit, name).reshape(-1), (count,))
    if isinstance(declaration, Period):
        return float(exact(value)) if value is not None else 0.0
    if value is None:
        return 0.0
    if isinstance(value, (list, tuple)) and isinstance(declaration, State) and len(value) != count:
        return [float(v) for v in value] * (count // len(value))
    return value


def region_value(schedule: Schedule, slots: Slots, region: Region) -> np.ndarray:
    import numpy as np

    if region.index in slots.scratch:
        return np.zeros(slots.scratch[region.index])
    unit = schedule.units[region.unit]
    declaration = unit.kind.declared[region.name]
    if isinstance(declaration, Memory):
        length = unit.sizes.get(region.name, 1)
        if f"table_{region.name}" in unit.kind.functions and unit.settings.get(region.name) in (None, declaration.default):
            return table_values(unit, region.name).reshape(-1).copy()
        return np.broadcast_to(np.asarray(unit.settings.get(region.name, declaration.default), dtype=float), (length,)).copy()
    return array_value(unit, region.name).reshape(-1)
