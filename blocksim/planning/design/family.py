"""Family: how a source may vary. Unknowns in, settings of its block out.

An unknown lies between 0 and 1 or, an angle or a coefficient, between -1 and 1; a family scales what it makes so that the peak or
the rms asked for is met exactly. It names the type of its block and never imports it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, ClassVar

from ...errors import DiagramError, listing

if TYPE_CHECKING:
    import numpy as np

    from ...contract.arrays import FloatArray, MaskArray


@dataclass
class Family:
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

    def settings(self, x: FloatArray, duration: float) -> dict[str, Any]:
        """The settings of the block for these unknowns, in a run that lasts so long."""
        raise NotImplementedError

    def unknowns_of(self, settings: Mapping[str, Any]) -> FloatArray | None:
        """The unknowns that give a block these settings, so that a search may begin with what is there; None where none do."""
        return None
