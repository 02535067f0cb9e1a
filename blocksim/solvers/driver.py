"""The loop every compiled solver shares: from stop to stop, steps between, log rows and events inside steps.

These functions are text for the generated program (see `driver_text`): they use lists or arrays by index and folded numbers.
"""

from __future__ import annotations

from typing import Any

from .events import crossing, settle
from .kernel import (
    ADAPTIVE,
    BUDGET,
    CHATTERING,
    COUNTED,
    DENOMINATOR,
    DIVERGED,
    ERROR,
    EVENT,
    EVENTS,
    FIXED,
    FRESH,
    GRID,
    GROUPS,
    GUARDS,
    H_MAX,
    HANDLED,
    LOGS,
    LOOP,
    LOOP_FLAG,
    LOOPS,
    MEMORY,
    NOW,
    NUMERATOR,
    NX,
    PAUSED,
    REJECTED,
    START,
    STEP,
    STEPS,
    TICK,
    TOLERANCE,
    H,
    attempt,
    first_step,
    hit,
    interpolate,
    maximum,
    minimum,
    power,
)


def seconds(tick: int, clock: Any) -> float:
    """The time of a tick: one rounding, no drift."""
    return (clock[START] + tick * clock[NUMERATOR]) / clock[DENOMINATOR]


def all_finite(values: Any, count: int) -> bool:
    """v - v is 0 for every finite number and nan otherwise."""
    total = 0.0
    for i in range(count):
        total = total + (values[i] - values[i])
    return total == 0.0


def advance(
    end: int,
    clock: Any,
    hits: Any,
    logs: Any,
    record: Any,
    g: Any,
    armed: Any,
    f: Any,
    k: Any,
    y: Any,
    x: Any,
    p: Any,
    m: Any,
    a: Any,
    noise: Any,
    o: Any,
) -> int:
    """Run up to and including the tick `end`; 0, or why it ended early. A paused run carries on where it was, bit for bit."""
    tick = clock[TICK]
    t = seconds(tick, clock)
    if clock[HANDLED] != 0 and f[NOW] > t:  # paused between steps
        t = f[NOW]
    while True:
        if clock[HANDLED] == 0:
            f[NOW] = t
            if GUARDS:
                if settle(t, g, armed, f, x, p, m, a, noise, o) < 0:
                    return CHATTERING
            status = hit(tick, t, hits, logs, record, g, armed, f, x, p, m, a, noise, o)
            if status != 0:
                return status
            if LOOPS:
                if m[LOOP_FLAG] > 0.0:
                    return LOOP
            if MEMORY:
                if not all_finite(m, MEMORY):
                    return DIVERGED
            clock[HANDLED] = 1
            f[FRESH] = 0.0
        if tick >= end:
            return 0
        stop = end
        for i in range(GROUPS):
            if hits[2 * i] < stop:
                stop = hits[2 * i]
        if FIXED:
            if clock[STEP] > 0:
                while clock[GRID] <= tick:
                    clock[GRID] += clock[STEP]
                if clock[GRID] < stop:
                    stop = clock[GRID]
        t1 = seconds(stop, clock)
        status = integrate(t, t1, stop, clock, hits, logs, record, g, armed, f, k, y, x, p, m, a, noise, o)
        if status != 0:
            return status
        tick = stop
        t = t1
        clock[TICK] = tick
        clock[HANDLED] = 0
        if f[STEPS] >= f[BUDGET]:
            return PAUSED


def integrate(
    t: float,
    t1: float,
    stop: int,
    clock: Any,
    hits: Any,
    logs: Any,
    record: Any,
    g: Any,
    armed: Any,
    f: Any,
    k: Any,
    y: Any,
    x: Any,
    p: Any,
    m: Any,
    a: Any,
    noise: Any,
    o: Any,
) -> int:
    """Carry the states from t to t1 with located events and log rows; 0, or why it failed."""
    now = t
    while now < t1:
        rest = t1 - now
        h = rest
        if ADAPTIVE:
            if f[H] <= 0.0:
                f[H] = first_step(now, f, k, y, x, p, m, a, noise, o)
            h = fitting(minimum(f[H], f[H_MAX]), rest)
        error = attempt(now, h, f, k, y, x, p, m, a, noise, o)
        f[STEPS] += 1.0
        if LOOPS:
            if m[LOOP_FLAG] > 0.0:
                f[NOW] = now
                return LOOP
        if ADAPTIVE:
            if not error <= 1.0:
                if not shrink(now, h, error, f):
                    return TOLERANCE
                continue
        then = t1 if h == rest else now + h
        event = False
        if GUARDS:
            theta = crossing(now, h, f, k, y, g, armed, x, p, m, a, noise, o)
            if theta < 0.0:
                f[NOW] = now
                return CHATTERING
            if theta <= 1.0:
                then = now + theta * h
                event = True
        if LOGS:
            rows(now, h, then, event, stop, clock, hits, logs, record, g, armed, f, k, y, x, p, m, a, noise, o)
        if GUARDS:
            if theta < 1.0:
                interpolate(theta, now, h, f, k, y, k[SPARE], x, p, m, a, noise, o)
                for i in range(NX):
                    y[i] = k[SPARE][i]
        if not all_finite(y, NX):
            f[NOW] = then
            return DIVERGED
        for i in range(NX):
            x[i] = y[i]
        now = then
        f[NOW] = now
        if ADAPTIVE:
            f[H] = next_size(h, error, rest, f)
            f[FRESH] = 1.0
        if GUARDS:
            if theta <= 1.0:
                if settle(now, g, armed, f, x, p, m, a, noise, o) < 0 or not count_event(now, f):
                    return CHATTERING
        if f[STEPS] >= f[BUDGET] and now < t1:
            return PAUSED
    return 0


def fitting(size: float, rest: float) -> float:
    """The next step: all that is left if it nearly reaches, half of it rather than a long and a tiny one."""
    if size >= 0.999 * rest:
        return rest
    return 0.5 * rest if 2.0 * size > rest else size


def shrink(now: float, h: float, error: float, f: Any) -> bool:
    """A smaller step after one that missed the tolerance; false when none is left."""
    f[REJECTED] += 1.0
    f[H] = h * (maximum(0.2, 0.9 * power(error, -ORDER)) if error < 1e300 else 0.1)
    f[ERROR] = 1.0
    f[NOW] = now
    return f[H] > 1e-15 * abs(now) and f[H] >= 1e-300


def count_event(now: float, f: Any) -> bool:
    """Note an event; false when a hundred came with next to no time between them."""
    f[FRESH] = 0.0
    f[COUNTED] = f[COUNTED] + 1.0 if now - f[EVENT] < 1e-9 * maximum(1.0, abs(now)) else 0.0
    f[EVENT] = now
    f[EVENTS] += 1.0
    return f[COUNTED] < 100.0


def next_size(h: float, error: float, rest: float, f: Any) -> float:
    """PI controller (Gustafsson); a step that was cut short by a stop does not shrink the next one."""
    scale = 5.0
    if error > 0.0:
        scale = minimum(5.0, maximum(0.2, 0.9 * power(error, -0.85 * ORDER) * power(f[ERROR], 0.2 * ORDER)))
    f[ERROR] = maximum(error, 1e-4)
    grown = h * scale
    return maximum(grown, f[H]) if h == rest or 2.0 * h == rest else grown


def rows(
    now: float,
    h: float,
    then: float,
    event: bool,
    stop: int,
    clock: Any,
    hits: Any,
    logs: Any,
    record: Any,
    g: Any,
    armed: Any,
    f: Any,
    k: Any,
    y: Any,
    x: Any,
    p: Any,
    m: Any,
    a: Any,
    noise: Any,
    o: Any,
) -> None:
    """Log rows up to `then` and before the stop, from inside the step; a row at an event's very instant comes after it."""
    z = k[SPARE]
    for j in range(LOGS):
        while logs[LOG * j] < stop:
            tick = logs[LOG * j]
            at = seconds(tick, clock)
            if at > then or (event and at >= then):
                break
            interpolate((at - now) / h, now, h, f, k, y, z, x, p, m, a, noise, o)
            hit(tick, at, hits, logs, record, g, armed, f, z, p, m, a, noise, o)


LOG = 5  # numbers per log grid
ORDER = 0.2  # 1 / (order of the error estimate + 1), folded per solver
SPARE = 0  # a row of k that the solver's interpolation does not use
