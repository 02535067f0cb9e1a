"""What a generated program defines and the solver texts use: stand-ins, so that those texts are ordinary Python.

The functions below are replaced by the generated ones of the same name; the numbers are folded into the text. `*rest` stands
for the stores after the last one named (see `text`).
"""

from __future__ import annotations

from typing import Any

NX = 0  # continuous states
WRITTEN_OUT = 8  # up to so many are copied one by one: as a block they would wait until all have been stored
GROUPS = 0  # sample groups
GUARDS = 0  # guards
LOGS = 0  # log grids
MEMORY = 0  # memories and held signals
LOOPS = 0  # algebraic loops
GATES = 0  # subsystems that are switched
LOOP_FLAG = 0  # where in m a loop says that it failed
ADAPTIVE = False
SHARED_SLOPE = False  # a log row leaves the slope of the step that begins there in k[0]
FIXED = False
ORDER = 0.2  # 1 / (order of the error estimate + 1)
FIRST = 0.2  # 1 / (order of the method + 1)
STAGES = 1
SPARE = 0  # a row of k that the solver's interpolation does not use

#: Beyond these a run has diverged: continuous states are quantities of a plant, memories may be variances of things unknown.
#: A number is beyond one where it is no longer finite once stretched, which costs no branch.
MOST_STATE, MOST_MEMORY = 1e30, 1e150
STATE_STRETCH, MEMORY_STRETCH = 1.7e308 / MOST_STATE, 1.7e308 / MOST_MEMORY

#: How a run can end early; that it is stuck is seen from outside, where a paused run is looked at.
CHATTERING, DIVERGED, TOLERANCE, LOOP, PAUSED, STANDSTILL = 1, 2, 3, 4, 5, 6

#: Events closer than NEAR, relative to the time, count as one after the other; MANY of them in a row as chattering.
NEAR, MANY = 1e-9, 100

unrolled = range  #: a loop that is written out, turn by turn


def weighted(weights: Any, k: Any, i: int, start: float = 0.0) -> float:
    """start + w_0 k_0[i] + w_1 k_1[i] + ...; written out without the zeros."""
    for weight, row in zip(weights, k, strict=False):
        start = start + weight * row[i]
    return start


def derivative(t: float, dx: Any, x: Any, *rest: Any) -> None:
    """dx = f(t, x)."""


def guards(t: float, g: Any, x: Any, *rest: Any) -> None:
    """Margins of every guard."""


def retain(t: float, x: Any, *rest: Any) -> None:
    """Remember what switched subsystems put out, before anything happens at an instant."""


def reset(i: int, t: float, x: Any, *rest: Any) -> None:
    """Apply the reset of guard i."""


def hit(tick: int, t: float, hits: Any, logs: Any, record: Any, g: Any, armed: Any, f: Any, k: Any, x: Any, *rest: Any) -> int:
    """Everything that happens at an instant."""
    return 0


def attempt(now: float, h: float, f: Any, k: Any, y: Any, x: Any, *rest: Any) -> float:
    """One step of size h from x into y; the error in units of the tolerance (0 for fixed steps)."""
    return 0.0


def interpolate(theta: float, now: float, h: float, f: Any, k: Any, y: Any, z: Any, x: Any, *rest: Any) -> None:
    """The state at now + theta h into z, inside the step just made."""


def power(a: float, b: float) -> float:
    return a**b


def maximum(a: float, b: float) -> float:
    return b if b > a else a


def minimum(a: float, b: float) -> float:
    return b if b < a else a
