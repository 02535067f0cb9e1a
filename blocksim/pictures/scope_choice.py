"""Which signals of a run a person would look at: what the file's `scopes:` says, or what the loop and its identifiers say.

Without `scopes:` these are reference and output on one axis, the error, what drives the plant, and each identifier's residual.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import TYPE_CHECKING, Any

from ..contract.library import library as all_blocks
from ..diagram.loader import parse_spec
from ..diagram.spec import BlockSpec, ScopeAxes, Spec
from ..errors import BlocksimError, RecordError
from ..records.record import Record

if TYPE_CHECKING:
    from ..contract.arrays import FloatArray
    from ..contract.block import Block

#: How names of signals begin that say how sure another one is.
UNCERTAINTY = ("std", "P", "factor", "loss", "rows_used", "nis")
#: Elements of a vector that still share an axis with those of another.
SHARED_ELEMENTS = 2
#: Signals whose largest values differ by more than this factor do not share an axis.
COMPARABLE = 8.0
AXIS_LINES = 4
#: Blocks that are gone back from a signal that was not recorded.
UPSTREAM = 3


def scopes_of(record: Record) -> ScopeAxes:
    """The axes to draw of a record, each with its signals by their names in it."""
    spec = spec_of(record)
    if spec is None:
        return telling(record)
    if spec.scopes is not None:
        return present(record, spec.scopes)
    return Loop(spec, record).axes() or telling(record)


def spec_of(record: Record) -> Spec | None:
    """The file a record came from, as far as the record says; nothing beside that text is read."""
    try:
        return parse_spec(record.provenance["diagram"], "") if record.provenance.get("diagram") else None
    except (BlocksimError, TypeError):
        return None


def telling(record: Record) -> ScopeAxes:
    """Every signal but those that only say how sure others are; a residual, which is small, has an axis of its own."""
    names = [name for name in record if not name.rpartition(".")[2].startswith(UNCERTAINTY)]
    return [axis for name in names or record for axis in (axes_apart(record, name) if is_residual(name) else [name])]


def present(record: Record, axes: Iterable[str | list[str]]) -> ScopeAxes:
    """The axes with the signals that the record holds; a block with several outputs stands for all of them."""
    result: ScopeAxes = []
    for axis in axes:
        names = [name for entry in ([axis] if isinstance(axis, str) else axis) for name in in_record(record, entry)]
        result += [names] if not isinstance(axis, str) and names else names
    return result


def in_record(record: Record, name: str) -> list[str]:
    """The signals a name stands for in this record; of a difference, both must be there."""
    if " - " in name:
        ends = [in_record(record, end) for end in name.split(" - ")]
        return [" - ".join(end[0] for end in ends)] if all(len(end) == 1 for end in ends) else []
    try:
        full, element = record.resolve(name)
    except RecordError:
        return [n for n in record if n.startswith(f"{name}.")]
    return [full if element is None else f"{full}[{element}]"]


class Loop:
    """A file as a loop: who drives the plant, what is compared with what, who identifies."""

    def __init__(self, spec: Spec, record: Record):
        self.spec, self.record, self.library = spec, record, all_blocks()

    def axes(self) -> ScopeAxes:
        plants = [block for block in self.spec.blocks.values() if self.is_plant(block)]
        drives = without_repeats(name for block in plants for name in self.inputs(block) if self.kind_of(name) != "plant")
        if not plants:  # a loop of general systems: what acts on its error drives it
            errors = {block.name for block in self.errors()}
            drives = [b.name for b in self.spec.blocks.values() if errors & set(self.inputs(b))]
        axes: ScopeAxes = []
        for tracked in self.comparisons():
            axes += self.side_by_side([*tracked, *self.measured_of(plants, tracked)])
        if not axes:
            axes += [name for block in plants for name in in_record(self.record, block.name)[:1]]
        differences = [name for block in self.errors() for name in in_record(self.record, block.name)]
        axes += differences or [" - ".join(axis[:2]) for axis in axes if not isinstance(axis, str) and len(axis) > 1]
        axes += present(self.record, without_repeats(name for drive in drives for name in self.nearest(drive)))
        drawn = {name for axis in axes for name in ([axis] if isinstance(axis, str) else axis)}
        residuals = [name for name in self.record if is_residual(name) and name not in drawn]
        return [*axes, *(axis for name in residuals for axis in axes_apart(self.record, name))]

    def errors(self) -> list[BlockSpec]:
        """Sums that take something from a reference."""
        return [
            b for b in self.spec.blocks.values()
            if b.type == "Sum" and "-" in str(b.settings.get("signs", "")) and self.reference(b) is not None
        ]  # fmt: skip

    def comparisons(self) -> Iterator[list[str]]:
        """Each reference with what it is compared with, in a sum or in a controller."""
        compared = without_repeated_rows(
            [name for name in self.inputs(block) if self.record_has(name)]
            for block in self.spec.blocks.values()
            if self.reference(block) is not None and (block in self.errors() or self.family(block.type) == "control")
        )
        for names in compared:
            unit = next((unit for name in names if (unit := self.record.unit(name))), "")  # a trajectory may have none of its own
            yield [name for name in names if self.record.unit(name) == unit or self.kind_of(name) == "source"]

    def reference(self, block: BlockSpec) -> str | None:
        return next((name for name in self.inputs(block) if self.kind_of(name) == "source"), None)

    def measured_of(self, plants: list[BlockSpec], tracked: list[str]) -> list[str]:
        """Outputs of the plants in the unit of what is tracked: the true motion beside the measured one."""
        full = [name for entry in tracked for name in in_record(self.record, entry)]
        units = {self.record.unit(name) for name in full}
        outputs = [name for block in plants for name in in_record(self.record, block.name)]
        return [name for name in outputs if self.record.unit(name) in units and name not in full][:1]

    def side_by_side(self, names: list[str]) -> ScopeAxes:
        """One axis for all; vectors of several elements get an axis for each."""
        full = without_repeats(name for entry in names for name in in_record(self.record, entry))
        sizes = {1 if (values := self.record[name]).ndim == 1 else values.shape[1] for name in full}
        if len(sizes) == 1 and max(sizes) > 1 and len(full) > 1:
            return [[f"{name}[{n}]" for name in full] for n in range(max(sizes))]
        return [full] if full else []

    def inputs(self, block: BlockSpec) -> list[str]:
        """The signals it reads, as written."""
        entries: Any = block.inputs if block.inputs is not None else []
        if isinstance(entries, str):
            return [entries]
        rows = list(entries.values()) if isinstance(entries, Mapping) else list(entries)
        return [name for row in rows for name in ([row] if isinstance(row, str) else row or [])]

    def nearest(self, name: str, steps: int = UPSTREAM) -> list[str]:
        """The signal, or where the record does not hold it what it is made of: a torque before a disturbance is added to it."""
        block = self.spec.blocks.get(name.partition(".")[0].partition("[")[0])
        if self.record_has(name) or block is None or not steps:
            return [name]
        return [near for entry in self.inputs(block) for near in self.nearest(entry, steps - 1)]

    def record_has(self, name: str) -> bool:
        return bool(in_record(self.record, name))

    def is_plant(self, block: BlockSpec) -> bool:
        kind = self.library.get(block.type)
        return block.type.endswith((".yaml", ".yml")) if kind is None else kind.colour == "plant"

    def kind_of(self, name: str) -> str:
        """The colour of the block that makes a signal."""
        block = self.spec.blocks.get(name.partition(".")[0].partition("[")[0])
        kind: type[Block] | None = self.library.get(block.type) if block is not None else None
        return "" if kind is None else kind.colour

    def family(self, type_: str) -> str:
        kind = self.library.get(type_)
        return "" if kind is None else kind.family


def is_residual(name: str) -> bool:
    return name.rpartition(".")[2] == "residual"


def axes_apart(record: Record, name: str) -> ScopeAxes:
    """Axes of its own for a signal; elements of a vector share one where none would look flat beside the others."""
    values = record[name]
    if values.ndim == 1:
        return [[name]]
    groups: list[list[tuple[int, float]]] = []
    for k, size in enumerate(largest(values)):
        near = (g for g in groups if len(g) < AXIS_LINES and of_one_size([size, *(other for _, other in g)]))
        group = next(near, None)
        if group is None:
            groups.append(group := [])
        group.append((k, size))
    return [[f"{name}[{k}]" for k, _ in group] for group in groups]


def largest(values: FloatArray) -> list[float]:
    """The largest magnitude of each element, of what is a number."""
    import numpy as np

    return [float(x) for x in np.abs(np.where(np.isfinite(values), values, 0.0)).max(axis=0, initial=0.0)]


def of_one_size(sizes: Iterable[float]) -> bool:
    """Whether none would look flat beside the others; what is 0 throughout may stand anywhere."""
    some = [size for size in sizes if size]
    return not some or max(some) <= COMPARABLE * min(some)


def without_repeats(names: Iterable[str]) -> list[str]:
    return list(dict.fromkeys(names))


def without_repeated_rows(rows: Iterable[list[str]]) -> list[list[str]]:
    return [list(row) for row in dict.fromkeys(tuple(row) for row in rows if row)]
