"""Family: how a source may vary. Unknowns in, settings of its block out.

An unknown lies between 0 and 1 or, an angle or a coefficient, between -1 and 1; a family scales what it makes so that the peak or
the rms asked for is met exactly. It names the type of its block and never imports it.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, ClassVar

from ...contract.block import Block
from ...contract.declarations import Outport
from ...contract.library import find
from ...diagram.checks import brief_value, is_finite_number
from ...diagram.diagram import Diagram
from ...errors import DiagramError, did_you_mean, listing

if TYPE_CHECKING:
    import numpy as np

    from ...contract.arrays import FloatArray, MaskArray

#: Keys of families that are above 0, and those of them that count something.
SIZES = ("peak", "rms", "f_min", "f_max", "base_frequency", "clock", "least", "speed", "acceleration")
COUNTS = {"lines": 1000, "harmonics": 500, "points": 1000, "joints": 100, "switches": 10_000, "bits": 24}  # and how many may be
JOINT_KEYS = ("min", "max", "start", "peak", "speed", "acceleration", "pause")  # of joints


@dataclass
class Family(ABC):
    """A source of a diagram that a search may change: `unknowns` numbers between `low` and `high`."""

    block: str  # its path in the diagram
    words: Mapping[str, Any]
    duration: float  # of the run, the longest where that varies too
    keys: ClassVar[tuple[str, ...]] = ()
    type: ClassVar[str] = ""
    binary: ClassVar[bool] = False
    low: ClassVar[float] = -1.0
    unknowns: int = field(init=False, default=0)

    def __post_init__(self) -> None:
        strange = [key for key in self.words if key not in ("family", *self.keys)]
        if strange:
            close = did_you_mean(strange[0], self.keys)
            raise DiagramError(f"vary: {self.block}: no key '{strange[0]}'. This family takes: {listing(self.keys)}.{close}")
        for key in (key for key in (*SIZES, *COUNTS) if key in self.words):
            self.check_size(key)
        for key in (key for key in JOINT_KEYS if key in self.words and "joints" in self.keys):
            self.check_joints(key)
        self.prepare()

    @abstractmethod
    def prepare(self) -> None:
        """Count the unknowns, and whatever is the same for all candidates."""

    def check_size(self, key: str) -> None:
        """A size is above 0, and what is counted is whole; a list has one for each joint."""
        words = self.words[key]
        for value in words if isinstance(words, list) and key not in COUNTS else [words]:
            if not is_finite_number(value) or not value > 0 or (key in COUNTS and value != int(value)):
                what = "a whole number" if key in COUNTS else "a number"
                raise DiagramError(f"vary: {self.block}: {key}: {what} above 0 is wanted, found {brief_value(words)}.")
            if value > COUNTS.get(key, math.inf):
                raise DiagramError(f"vary: {self.block}: {key}: at most {COUNTS[key]}, found {brief_value(words)}.")

    def check_joints(self, key: str) -> None:
        """Any numbers, one for all joints or one for each."""
        words, joints = self.words[key], self.words.get("joints", 1)
        numbers = words if isinstance(words, list) else [words]
        if not all(map(is_finite_number, numbers)) or (isinstance(words, list) and len(words) != joints):
            what = "a number, or one for each joint," if joints != 1 else "a number"
            raise DiagramError(f"vary: {self.block}: {key}: {what} is wanted, found {brief_value(words)}.")

    def number(self, key: str, default: float | None = None) -> float:
        value = self.words.get(key, default)
        if value is None:
            raise DiagramError(f"vary: {self.block}: '{key}' is missing. This family takes: {listing(self.keys)}.")
        if not is_finite_number(value):
            raise DiagramError(f"vary: {self.block}: {key}: a number is wanted, found {brief_value(value)}.")
        return float(value)

    def draw(self, random: np.random.Generator) -> FloatArray:
        """A candidate out of the blue."""
        return random.uniform(self.low, 1.0, self.unknowns)

    def bits(self) -> MaskArray:
        """Which unknowns are plus or minus one, and exchanged; the others go down the gradient."""
        import numpy as np

        return np.full(self.unknowns, self.binary)

    @abstractmethod
    def settings(self, x: FloatArray, duration: float) -> dict[str, Any]:
        """The settings of the block for these unknowns, in a run that lasts so long."""

    def unknowns_of(self, settings: Mapping[str, Any]) -> FloatArray | None:
        """The unknowns that give a block these settings, so that a search may begin with what is there; None where none do."""
        return None


def unknowns_by_family(families: Sequence[Family], x: FloatArray) -> list[FloatArray]:
    """The unknowns of each family."""
    import numpy as np

    ends = np.cumsum([family.unknowns for family in families])
    return np.split(x, ends[:-1]) if families else []


def with_sources(
    diagram: Diagram, families: Sequence[Family], x: FloatArray, duration: float
) -> tuple[Diagram, FloatArray | None]:
    """The diagram with the block of every family in the place of the source it names; and the unknowns that the diagram had, None
    where it is none of the candidates."""
    import numpy as np

    nodes = dict(diagram.nodes)
    before: list[FloatArray | None] = []
    for family, part in zip(families, unknowns_by_family(families, x), strict=True):
        if not family.type:  # a number, no source
            before.append(None)
            continue
        if family.block not in nodes:
            raise DiagramError(f"vary: there is no block '{family.block}'. Blocks are: {listing(nodes)}.")
        block = nodes[family.block].block
        if isinstance(block, Block):
            refuse_other_ports(family, block, bool(nodes[family.block].inputs))
        alike = isinstance(block, Block) and type(block).__name__ == family.type
        before.append(family.unknowns_of(block.settings) if alike and isinstance(block, Block) else None)
        try:
            new = find(family.type)(**family.settings(part, duration))
        except DiagramError as error:
            raise DiagramError(f"vary: {family.block}: {error}") from None
        nodes[family.block] = replace(nodes[family.block], block=new)
    parts = [part for part in before if part is not None]
    return replace(diagram, nodes=nodes), np.concatenate(parts) if parts and len(parts) == len(before) else None


def refuse_other_ports(family: Family, block: Block, driven: bool) -> None:
    """A family takes the place of a source that gives what it gives."""
    name = type(block).__name__
    if driven:
        raise DiagramError(f"vary: {family.block}: this {name} has inputs, and a family takes the place of a source.")
    before, after = (list(kind.of(Outport)) for kind in (type(block), find(family.type)))
    if not set(before) <= set(after):
        raise DiagramError(
            f"vary: {family.block}: {family.words['family']} makes a {family.type}, which gives {listing(after)}; what is wired "
            f"to this {name} takes {listing(before)}."
        )
