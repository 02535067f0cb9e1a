"""A patch replaces a stretch of a text; patches of one text are applied together and can be taken back."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass


@dataclass(frozen=True, order=True)
class Patch:
    """`text[start:stop]` becomes `new`."""

    start: int
    stop: int
    new: str


def apply_patches(text: str, patches: Iterable[Patch]) -> str:
    """The text with all patches in place; they do not overlap, and their places are those of the text as it came."""
    pieces, at = [], 0
    for patch in sorted(patches):
        if patch.start < at:
            raise ValueError("patches overlap")
        pieces += [text[at : patch.start], patch.new]
        at = patch.stop
    return "".join([*pieces, text[at:]])


def inverse_patches(text: str, patches: Iterable[Patch]) -> list[Patch]:
    """The patches that bring the patched text back to `text`."""
    back, shift = [], 0
    for patch in sorted(patches):
        start = patch.start + shift
        back.append(Patch(start, start + len(patch.new), text[patch.start : patch.stop]))
        shift += len(patch.new) - (patch.stop - patch.start)
    return back


def between(old: str, new: str) -> list[Patch]:
    """The one patch that makes `new` of `old`: all between what they share at the begin and at the end."""
    if old == new:
        return []
    shortest = min(len(old), len(new))
    head = next((i for i in range(shortest) if old[i] != new[i]), shortest)
    tail = next((i for i in range(shortest - head) if old[-1 - i] != new[-1 - i]), shortest - head)
    return [Patch(head, len(old) - tail, new[head : len(new) - tail])]
