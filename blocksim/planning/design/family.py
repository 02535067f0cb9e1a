"""Family: how a source may vary. Unknowns in, settings of its block out.

An unknown lies between 0 and 1 or, an angle or a coefficient, between -1 and 1; a family scales what it makes so that the peak or
the rms asked for is met exactly. It names the type of its block and never imports it.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, ClassVar

from ...contract.block import Block
from ...contract.library import find
from ...diagram.diagram import Diagram
from ...errors import DiagramError, listing

if TYPE_CHECKING:
    import numpy as np

    from ...contract.arrays import FloatArray, MaskArray


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
            raise DiagramError(f"vary: {self.block}: no key '{strange[0]}'. This family takes: {listing(self.keys)}.")
        self.prepare()

    @abstractmethod
    def prepare(self) -> None:
        """Count the unknowns, and whatever is the same for all candidates."""

    def number(self, key: str, default: float | None = None) -> float:
        value = self.words.get(key, default)
        if isinstance(value, bool) or not isinstance(value, (int, float)):
            raise DiagramError(f"vary: {self.block}: {key}: a number is wanted, found {value!r}.")
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
        alike = isinstance(block, Block) and type(block).__name__ == family.type
        before.append(family.unknowns_of(block.settings) if alike and isinstance(block, Block) else None)
        new = find(family.type)(**family.settings(part, duration))
        nodes[family.block] = replace(nodes[family.block], block=new)
    parts = [part for part in before if part is not None]
    return replace(diagram, nodes=nodes), np.concatenate(parts) if parts and len(parts) == len(before) else None
