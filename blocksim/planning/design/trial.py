"""Trial: a candidate that was tried, and how it was judged."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from .criteria import SEES_NOTHING
from .limits import Margin

if TYPE_CHECKING:
    from ...contract.arrays import FloatArray

#: A limit that is broken costs so many times its excess, in the logarithm of the criterion.
PENALTY = 20.0


@dataclass(frozen=True)
class Trial:
    """A candidate that was tried: its merit, the lower the better, and what it is made of."""

    x: FloatArray
    merit: float  # logarithm of the criterion, limits included
    criterion: float
    stds: FloatArray  # relative, of the worst sample of the prior
    margins: tuple[Margin, ...]
    hardest: tuple[int, ...] = ()  # the samples of the prior it was tried at, the worst first

    @property
    def sees(self) -> bool:
        """Whether it ran, and something of every parameter shows."""
        return self.criterion < SEES_NOTHING

    @property
    def excess(self) -> float:
        """How far it breaks its limits, all together."""
        return excess_of(self.margins)

    @property
    def allowed(self) -> bool:
        return self.sees and not any(margin.broken for margin in self.margins)


def merit_of(criterion: float, margins: Sequence[Margin]) -> float:
    """log(criterion), and more for each limit that is broken."""
    return math.log(criterion) + PENALTY * excess_of(margins)


def excess_of(margins: Sequence[Margin]) -> float:
    return sum(max(margin.excess, 0.0) for margin in margins)
