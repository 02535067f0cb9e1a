"""Which rows of a record count: its ends are cut off, what is left is filtered, and the rows that this spoiled are left out.

Near an end a filter sees one side only. Derivatives of the motion are wild there, ten times what they are inside, and are cut off
first (`skip`), before another filter spreads them; a decimated row at the new end carries noise that others do not, and goes
afterwards (`edges`). One such row can spoil an estimate. Where a joint rests, or a motor that it shares with others, the sign of
dry friction is not known: such rows are left out, too (`drop_slow`).
"""

from __future__ import annotations

import functools
import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from blocksim.errors import RecordError

from ...smoothing.filters import decimate, kept_samples, low_pass

if TYPE_CHECKING:
    from blocksim.contract.plant import Plant

EDGES = 5  # rows of a decimation that are left out at either end, unless said


@dataclass(frozen=True)
class Ends:
    """What is left of a record: of its samples `whole`, one in `factor`, of these rows `inner`."""

    t: np.ndarray
    whole: slice
    factor: int
    inner: slice

    @functools.cached_property
    def picked(self) -> np.ndarray:
        """The samples of the record at which the rows are."""
        return self.taken(np.arange(len(self.t)))

    def taken(self, values: np.ndarray) -> np.ndarray:
        """The samples at which the rows are."""
        return values[self.whole][decimated(len(range(len(self.t))[self.whole]), self.factor)][self.inner]

    def rows(self, values: np.ndarray, cutoff: float = 0.0) -> np.ndarray:
        """What the filters leave of one side of an equation, (samples, ...); all sides must pass them alike."""
        flat = values.reshape(len(self.t), -1)[self.whole]
        if cutoff:
            flat = low_pass(self.t[self.whole], flat, 4, cutoff, 12)
        return decimate(flat, self.factor, "matlab")[self.inner].reshape(-1, *values.shape[1:])


def ends_of(t: np.ndarray, skip: Any, factor: int, edges: int | None, cutoff: float = 0.0) -> Ends:
    """The rows at least `skip` seconds (at either end, or [at the start, at the end]) from the ends, but for `edges` of these."""
    first, last = (float(np.atleast_1d(skip)[k]) for k in (0, -1))
    slack = 1e-9 * span(t)
    start, stop = (int(np.searchsorted(t, at, side)) for at, side in cuts(t, first, last, slack))
    left = len(range(len(t))[start:stop][decimated(max(stop - start, 0), factor)])
    out = transient(t, factor, cutoff) if edges is None else edges
    if left <= 2 * out:
        raise RecordError(
            f"no row is left: skip: {skip_text(skip)} s at the ends of {span(t):g} s leaves {left} rows; edges: {out} of them "
            "go at either end."
        )
    return Ends(t, slice(start, stop), factor, slice(out, left - out))


def cuts(t: np.ndarray, first: float, last: float, slack: float) -> tuple[tuple[float, Any], tuple[float, Any]]:
    """Where a record is cut, and on which side of a sample there."""
    return ((t[0] + first - slack, "left"), (t[-1] - last + slack, "right")) if len(t) else ((0.0, "left"), (0.0, "right"))


def transient(t: np.ndarray, factor: int, cutoff: float) -> int:
    """Rows at either end that filters spoil: 5 of a decimation, one period of a low-pass's corner."""
    period = 1 / (cutoff * factor * float(t[1] - t[0])) if cutoff and len(t) > 1 else 0.0
    return max(EDGES if factor > 1 else 0, math.ceil(period))


def decimated(samples: int, factor: int) -> slice:
    return kept_samples(samples, factor, "matlab") if factor > 1 else slice(None)


def skip_text(skip: Any) -> str:
    numbers = np.atleast_1d(skip)
    return f"{numbers[0]:g}" if len(numbers) == 1 else f"[{', '.join(f'{n:g}' for n in numbers)}]"


def span(t: np.ndarray) -> float:
    return float(np.ptp(t)) if len(t) else 0.0


def skip_problem(skip: Any, edges: Any, factor: int) -> str | None:
    """What is wrong with these settings, in words."""
    if isinstance(skip, (list, tuple)) and len(skip) > 2:
        return f"skip: one number is wanted, or one for each end, found {len(skip)}."
    if factor < 1:
        return f"decimate: a whole number of at least 1 is wanted, found {factor}."
    if edges is not None and edges < 0:
        return f"edges: a whole number of at least 0 is wanted, found {edges}."
    return None


def slow_rows(share: float, motor_share: float | None, speeds: np.ndarray, plant: Plant) -> np.ndarray:
    """Which samples of which joints are slower than a share of the top speed, (samples, joints); of motors: the same unless said.

    A motor that several joints turn has dry friction of its own, by the sign of its own speed: while it rests, its joints may
    move against each other, and their rows are no more valid than those of a joint at rest.
    """
    qd = np.asarray(speeds, dtype=float).reshape(len(speeds), -1)
    slow = slower(share, qd)
    for row in plant.shared_motors:
        turns = np.array(row)
        slow |= slower(share if motor_share is None else motor_share, qd @ turns[:, None]) & (turns != 0)
    return slow


def slower(share: float, speeds: np.ndarray) -> np.ndarray:
    sizes = np.abs(speeds)
    top = sizes.max(axis=0, initial=0.0)
    return (sizes < share * top) | ((top == 0) & (share > 0))
