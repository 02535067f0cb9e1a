"""Zero crossings: a guard is armed while its margin is not negative, fires when it falls below zero, and is armed again when
it has returned. Text for the generated program.

`armed` has five numbers per guard, in five rows: whether it is armed (1), waits to return (0), has just fired (-1) or has just
fired again at once (-2); the side it watches from (1: falls, -1: rises); 0 where it watches both; since when it is armed; when it
fired last.
"""

from __future__ import annotations

from typing import Any

from .kernel import ADAPTIVE, GATES, GUARDS, MANY, NEAR, SPARE, guards, interpolate, maximum, reset, retain
from .stores import FIRED


def react(t: float, g: Any, armed: Any, f: Any, x: Any, *rest: Any) -> int:
    """What an instant brings: parts that are switched on keep what they give, then guards settle."""
    if GATES:
        retain(t, x, *rest)
    return settle(t, g, armed, f, x, *rest)


def settle(t: float, g: Any, armed: Any, f: Any, x: Any, *rest: Any) -> int:
    """Fire armed guards that are negative, one at a time, until none is; how many fired, or -1 when it never ends."""
    total = 0
    while True:
        guards(t, g, x, *rest)
        fired = -1
        for i in range(GUARDS):
            if armed[GUARDS + i] == 0.0:  # watches both directions: starts on the side it is on
                armed[GUARDS + i] = 1.0 if g[i] > 0.0 else (-1.0 if g[i] < 0.0 else 0.0)
            margin = armed[GUARDS + i] * g[i]
            if margin >= 0.0:
                armed[i] = 1.0
                armed[3 * GUARDS + i] = t
            elif margin < 0.0 and armed[i] > 0.5 and fired < 0:
                fired = i
        if fired < 0:
            return total
        if total == 0:  # the one that set off the others, for the message
            f[FIRED] = fired
        if armed[2 * GUARDS + fired] == 0.0:
            armed[GUARDS + fired] = -armed[GUARDS + fired]
        else:
            gap = t - armed[4 * GUARDS + fired]
            armed[fired] = -2.0 if gap > 0.0 and gap < NEAR * maximum(1.0, abs(t)) else -1.0
        armed[4 * GUARDS + fired] = t
        reset(fired, t, x, *rest)
        total += 1
        if total > MANY + 10 * GUARDS:
            return -1


def fires(t: float, g: Any, armed: Any) -> bool:
    """Whether an armed guard is negative; guards that have returned are armed on the way."""
    first = False
    for i in range(GUARDS):
        if armed[GUARDS + i] == 0.0:
            armed[GUARDS + i] = 1.0 if g[i] > 0.0 else (-1.0 if g[i] < 0.0 else 0.0)
        margin = armed[GUARDS + i] * g[i]
        if margin >= 0.0:
            if armed[i] < 0.5:
                armed[i] = 1.0
                armed[3 * GUARDS + i] = t
        elif margin < 0.0 and armed[i] > 0.5 and t > armed[3 * GUARDS + i]:
            first = True
    return first


def rearms(t: float, g: Any, armed: Any) -> bool:
    """Arm the guards that have just fired and are back at this time; whether all of them are."""
    everything = True
    for i in range(GUARDS):
        if armed[i] < -0.5:
            if armed[GUARDS + i] * g[i] >= 0.0:
                armed[i] = 1.0
                armed[3 * GUARDS + i] = t
            else:
                everything = False
    return everything


def crossing(now: float, h: float, f: Any, k: Any, y: Any, g: Any, armed: Any, x: Any, *rest: Any) -> float:
    """The first fraction of the step at which an armed guard is negative, found by bisection to the last bit; 2 when none is.

    -1 when a guard fires again and again, at last without rising between: a ball that has come to rest.
    """
    z = k[SPARE]
    low = 0.0
    high = 2.0
    fresh = False
    for i in range(GUARDS):
        if armed[i] < -0.5:
            fresh = True
    if fresh:  # a guard that has just fired may rise and fall again within this very step
        theta = 1.0
        guards(now + h, g, y, *rest)
        while not rearms(now + theta * h, g, armed):
            theta = 0.5 * theta
            if theta < 1e-18 or now + theta * h <= now:
                break
            interpolate(theta, now, h, f, k, y, z, x, *rest)
            guards(now + theta * h, g, z, *rest)
        for i in range(GUARDS):
            if armed[i] < -1.5:
                return -1.0
            if armed[i] < -0.5:
                armed[i] = 0.0
    if ADAPTIVE:
        for i in range(1, 4):
            theta = 0.25 * i
            if high > 1.0:
                interpolate(theta, now, h, f, k, y, z, x, *rest)
                guards(now + theta * h, g, z, *rest)
                if fires(now + theta * h, g, armed):
                    high = theta
                else:
                    low = theta
    if high > 1.0:
        guards(now + h, g, y, *rest)
        if not fires(now + h, g, armed):
            return 2.0
        high = 1.0
    for _ in range(200):
        theta = 0.5 * (low + high)
        if now + theta * h <= now + low * h or now + theta * h >= now + high * h:
            break
        interpolate(theta, now, h, f, k, y, z, x, *rest)
        guards(now + theta * h, g, z, *rest)
        if fires(now + theta * h, g, armed):
            high = theta
        else:
            low = theta
    for i in range(GUARDS):  # a return that lies beyond the event has not happened
        if armed[i] > 0.5 and armed[3 * GUARDS + i] > now + high * h:
            armed[i] = -1.0
    return high
