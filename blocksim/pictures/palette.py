"""Colours and marks: one pair for each thing that is told apart, the same wherever it is drawn, fit for colour-blind eyes."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

COLOURS = ("#1f6fb4", "#d9601a", "#2a8f43", "#8452a8", "#c2a01c", "#3aa6a6", "#b0413e", "#5b6770")
MARKS = ("o", "s", "^", "D", "v", "P", "X", "*")


@dataclass(frozen=True)
class Look:
    """How one of several things is drawn."""

    colour: str
    mark: str


def look(number: int) -> Look:
    """The look of the n-th thing; beyond eight, colours come again with other marks."""
    turn, place = divmod(number, len(COLOURS))
    return Look(COLOURS[place], MARKS[(place + 3 * turn) % len(MARKS)])


def looks_of(methods: Iterable[str]) -> dict[str, Look]:
    """The look of each identifier of a record, in their order: the same in its estimates, traces and residuals."""
    return {name: look(n) for n, name in enumerate(methods)}
