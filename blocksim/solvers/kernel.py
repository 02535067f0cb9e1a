"""What a generated program defines and the solver texts use: stand-ins, so that those texts are ordinary Python.

The functions below are replaced by the generated ones of the same name; the numbers are folded into the text.
"""

from __future__ import annotations

from typing import Any

NX = 0  # continuous states
GROUPS = 0  # sample groups
GUARDS = 0  # guards
LOGS = 0  # log grids
MEMORY = 0  # memories and held signals
LOOPS = 0  # algebraic loops
LOOP_FLAG = 0  # where in m a loop says that it failed
ADAPTIVE = False
FIXED = False

#: How a run can end early.
CHATTERING, DIVERGED, TOLERANCE, LOOP, PAUSED = 1, 2, 3, 4, 5

#: Meaning of the numbers in `clock` (whole) and `f` (real).
TICK, HANDLED, START, NUMERATOR, DENOMINATOR, STEP, GRID = 0, 1, 2, 3, 4, 5, 6
H, FRESH, ERROR, RTOL, ATOL, H_MAX, NOW, EVENT, EVENTS, FIRED, STEPS, REJECTED, EVALUATIONS, COUNTED, BUDGET = range(15)


def derivative(t: float, dx: Any, x: Any, p: Any, m: Any, a: Any, noise: Any, o: Any) -> None:
    """dx = f(t, x)."""


def guards(t: float, g: Any, x: Any, p: Any, m: Any, a: Any, noise: Any, o: Any) -> None:
    """Margins of every guard."""


def reset(i: int, t: float, x: Any, p: Any, m: Any, a: Any, noise: Any, o: Any) -> None:
    """Apply the reset of guard i."""


def hit(
    tick: int,
    t: float,
    hits: Any,
    logs: Any,
    record: Any,
    g: Any,
    armed: Any,
    f: Any,
    x: Any,
    p: Any,
    m: Any,
    a: Any,
    noise: Any,
    o: Any,
) -> int:
    """Everything that happens at an instant."""
    return 0


def attempt(now: float, h: float, f: Any, k: Any, y: Any, x: Any, p: Any, m: Any, a: Any, noise: Any, o: Any) -> float:
    """One step of size h from x into y; the error in units of the tolerance (0 for fixed steps)."""
    return 0.0


def interpolate(
    theta: float, now: float, h: float, f: Any, k: Any, y: Any, z: Any, x: Any, p: Any, m: Any, a: Any, noise: Any, o: Any
) -> None:
    """The state at now + theta h into z, inside the step just made."""


def first_step(now: float, f: Any, k: Any, y: Any, x: Any, p: Any, m: Any, a: Any, noise: Any, o: Any) -> float:
    """A first step size from the size of the first derivatives."""
    return 0.0


def power(a: float, b: float) -> float:
    return a**b


def maximum(a: float, b: float) -> float:
    return b if b > a else a


def minimum(a: float, b: float) -> float:
    return b if b < a else a
