"""The loop every compiled solver shares: from stop to stop, steps between, log rows and events inside steps.

These functions are text for the generated program (see `driver_text`): they use lists or arrays by index and folded numbers.
"""

from __future__ import annotations

from typing import Any

from .control import plan_next, shrink, step_length
from .events import crossing, react
from .kernel import (
    ADAPTIVE,
    CHATTERING,
    DIVERGED,
    FIXED,
    GROUPS,
    GUARDS,
    LOGS,
    LOOP,
    LOOP_FLAG,
    LOOPS,
    MANY,
    MEMORY,
    MEMORY_STRETCH,
    NEAR,
    NX,
    PAUSED,
    SPARE,
    STATE_STRETCH,
    TOLERANCE,
    WRITTEN_OUT,
    attempt,
    hit,
    interpolate,
    maximum,
    unrolled,
)
from .stores import (
    BUDGET,
    COUNTED,
    DENOMINATOR,
    EVENT,
    EVENTS,
    FRESH,
    GRID,
    HANDLED,
    LOG,
    NOW,
    NUMERATOR,
    START,
    STEP,
    STEPS,
    TICK,
)


def seconds(tick: int, clock: Any) -> float:
    """The time of a tick: one rounding, no drift."""
    return (clock[START] + tick * clock[NUMERATOR]) / clock[DENOMINATOR]


def credible(values: Any, count: int, stretch: float) -> bool:
    """Whether numbers are finite, and would be when stretched: v - v is 0 for every finite number and nan otherwise."""
    total = 0.0
    for i in range(count):
        v = values[i] * stretch
        total = total + (v - v)
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
    *rest: Any,
) -> int:
    """Run up to and including the tick `end`; 0, or why it ended early. A paused run carries on where it was, bit for bit."""
    tick = clock[TICK]
    t = seconds(tick, clock)
    if clock[HANDLED] != 0 and f[NOW] > t:  # paused between steps
        t = f[NOW]
    while True:
        if clock[HANDLED] == 0:
            f[NOW] = t
            f[FRESH] = 0.0
            if GUARDS:
                if react(t, g, armed, f, x, p, m, *rest) < 0:
                    return CHATTERING
            status = hit(tick, t, hits, logs, record, g, armed, f, k, x, p, m, *rest)
            if status != 0:
                return status
            if LOOPS:
                if m[LOOP_FLAG] > 0.0:
                    return LOOP
            if MEMORY:
                if not credible(m, MEMORY, MEMORY_STRETCH):
                    return DIVERGED
            clock[HANDLED] = 1
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
        status = integrate(t, t1, stop, clock, hits, logs, record, g, armed, f, k, y, x, p, m, *rest)
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
    *rest: Any,
) -> int:
    """Carry the states from t to t1 with located events and log rows; 0, or why it failed."""
    now = t
    while now < t1:
        h = span = t1 - now
        if ADAPTIVE:
            h = step_length(now, span, f, k, y, x, p, m, *rest)
        error = attempt(now, h, f, k, y, x, p, m, *rest)
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
        then = t1 if h == span else now + h
        theta = 2.0
        if GUARDS:
            theta = crossing(now, h, f, k, y, g, armed, x, p, m, *rest)
            if theta < 0.0:
                f[NOW] = now
                return CHATTERING
            then = now + theta * h if theta <= 1.0 else then
        if LOGS and rows(now, h, then, theta <= 1.0, stop, clock, hits, logs, record, g, armed, f, k, y, x, p, m, *rest) != 0:
            return DIVERGED
        if GUARDS:
            if theta < 1.0:
                end_at_event(theta, now, h, f, k, y, x, p, m, *rest)
        if not take(then, f, y, x):
            return DIVERGED
        now = then
        if ADAPTIVE:
            plan_next(h, error, span, f)
        if GUARDS:
            if theta <= 1.0:
                if react(now, g, armed, f, x, p, m, *rest) < 0 or not count_event(now, f):
                    return CHATTERING
        if f[STEPS] >= f[BUDGET] and now < t1:
            return PAUSED
    return 0


def end_at_event(theta: float, now: float, h: float, f: Any, k: Any, y: Any, x: Any, *rest: Any) -> None:
    """End a step at the event inside it."""
    interpolate(theta, now, h, f, k, y, k[SPARE], x, *rest)
    for i in range(NX):
        y[i] = k[SPARE][i]


def take(then: float, f: Any, y: Any, x: Any) -> bool:
    """Take a step that led to y; false where that is no credible place."""
    f[NOW] = then
    if not credible(y, NX, STATE_STRETCH):
        return False
    if NX <= WRITTEN_OUT:
        for i in unrolled(NX):
            x[i] = y[i]
    else:
        for i in range(NX):
            x[i] = y[i]
    return True


def count_event(now: float, f: Any) -> bool:
    """Note an event; false when a hundred more came with next to no time between them."""
    f[FRESH] = 0.0
    f[COUNTED] = f[COUNTED] + 1.0 if now - f[EVENT] < NEAR * maximum(1.0, abs(now)) else 0.0
    f[EVENT] = now
    f[EVENTS] += 1.0
    return f[COUNTED] < MANY


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
    *rest: Any,
) -> int:
    """Log rows up to `then` and before the stop, from inside the step; a row at an event's very instant comes after it.

    0, or that a row is no credible place: the run ends in this step, and what came before is kept.
    """
    z = k[SPARE]
    for j in range(LOGS):
        while logs[LOG * j] < stop:
            tick = logs[LOG * j]
            at = seconds(tick, clock)
            if at > then or (event and at >= then):
                break
            interpolate((at - now) / h, now, h, f, k, y, z, x, *rest)
            if FIXED:
                if not credible(z, NX, STATE_STRETCH):
                    f[NOW] = then
                    return DIVERGED
            hit(tick, at, hits, logs, record, g, armed, f, k, z, *rest)
    return 0
