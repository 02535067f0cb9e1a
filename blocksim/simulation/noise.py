"""Named, seeded random streams: a block's draws depend on the seed and its path, and on nothing else in the diagram."""

from __future__ import annotations

import hashlib
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import numpy as np

    from ..compiler.slots import Slot


def generator(seed: int, owner: Slot) -> np.random.Generator:
    """The stream of one declared draw of one block."""
    import numpy as np

    digest = hashlib.sha256(f"{seed}\0{owner.path}\0{owner.name}\0{owner.element}".encode()).digest()
    return np.random.Generator(np.random.Philox(key=int.from_bytes(digest[:16], "little")))


def draw(source: np.random.Generator, kind: str, room: np.ndarray) -> None:
    """Fill the room with the next draws of a stream; the first n are the same whatever comes after."""
    if kind == "normal":
        source.standard_normal(out=room)
    else:
        source.random(out=room)
