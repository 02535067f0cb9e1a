"""Named, seeded random streams: a block's draws depend on the seed and its path, and on nothing else in the diagram."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from typing import TYPE_CHECKING

from ..errors import DiagramError

if TYPE_CHECKING:
    import numpy as np

    from ..compiler.slots import Slot, Slots
    from .experiment import Experiment


@dataclass(frozen=True)
class Draws:
    """Every random number of one run, stream after stream."""

    seed: int
    values: np.ndarray
    starts: list[int]  # for each stream, where it begins

    def address(self, experiment: Experiment, o: np.ndarray) -> None:
        """Tell the program, through its whole numbers, where each stream begins."""
        for (_, _, address), start in zip(experiment.slots.streams, self.starts, strict=True):
            o[address] = start


def draw_noise(experiment: Experiment, seed: int | None = None, limit: int | None = None) -> Draws:
    """Program and seed -> noise: every random number of the run, one stream per declared draw of each block.

    A run that cannot end or whose log cannot fit is refused here, before memory is taken for it.
    """
    import numpy as np

    experiment.check_length(limit)
    seed = experiment.options.seed if seed is None else seed
    if isinstance(seed, bool) or not isinstance(seed, (int, np.integer)) or seed < 0:
        raise DiagramError(f"seed: found {seed!r}. A whole number, 0 or more, is wanted.")
    starts, values = [], np.empty(sum(experiment.draws))
    position = 0
    for (owner, kind, _), count in zip(experiment.slots.streams, experiment.draws, strict=True):
        room, source = values[position : position + count], stream(seed, owner)
        if kind == "normal":
            source.standard_normal(out=room)
        else:
            source.random(out=room)
        starts.append(position)
        position += count
    return Draws(seed, values, starts)


def stream(seed: int, owner: Slot) -> np.random.Generator:
    """The stream of one declared draw of one block; its first n numbers are the same whatever comes after."""
    import numpy as np

    digest = hashlib.sha256(f"{seed}\0{owner.path}\0{owner.name}\0{owner.element}".encode()).digest()
    return np.random.Generator(np.random.Philox(key=int.from_bytes(digest[:16], "little")))


def silence(slots: Slots, o: list[int]) -> tuple[list[int], np.ndarray]:
    """Every noise at its mean: two draws a stream, of the instant and of what would follow it."""
    import numpy as np

    values = np.zeros(2 * len(slots.streams))
    for number, (_, kind, address) in enumerate(slots.streams):
        o[address] = 2 * number
        values[2 * number : 2 * number + 2] = 0.5 if kind == "uniform" else 0.0
    return o, values
