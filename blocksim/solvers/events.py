"""Zero crossings: a guard is armed while its margin is not negative, fires when it falls below zero, and is armed again when
it has returned. Text for the generated program."""

from __future__ import annotations

from typing import Any

from .kernel import ADAPTIVE, EVENT, FIRED, GUARDS, guards, interpolate, reset


def settle(t: float, g: Any, armed: Any, f: Any, x: Any, p: Any, m: Any, a: Any, noise: Any, o: Any) -> int:
    """Fire armed guards that are negative, one at a time, until none is; how many fired, or -1 when it never ends."""
    total = 0
    while True:
        guards(t, g, x, p, m, a, noise, o)
        fired = -1
        for i in range(GUARDS):
            if armed[GUARDS + i] == 0.0:  # watches both directions: starts on the side it is on
                armed[GUARDS + i] = 1.0 if g[i] > 0.0 else (-1.0 if g[i] < 0.0 else 0.0)
            margin = armed[GUARDS + i] * g[i]
            if margin >= 0.0:
                armed[i] = 1.0
            elif margin < 0.0 and armed[i] > 0.5 and fired < 0:
                fired = i
        if fired < 0:
            return total
        f[FIRED] = fired
        if armed[2 * GUARDS + fired] == 0.0:
            armed[GUARDS + fired] = -armed[GUARDS + fired]
        else:
            armed[fired] = 0.0
        reset(fired, t, x, p, m, a, noise, o)
        total += 1
        if total > 100 + 10 * GUARDS:
            return -1


def fires(g: Any, armed: Any) -> bool:
    """Whether an armed guard is negative; guards that have returned are armed on the way."""
    found = False
    for i in range(GUARDS):
        margin = armed[GUARDS + i] * g[i]
        if margin >= 0.0:
            armed[i] = 1.0
        elif margin < 0.0 and armed[i] > 0.5:
            found = True
    return found


def crossing(
    now: float, h: float, f: Any, k: Any, y: Any, g: Any, armed: Any, x: Any, p: Any, m: Any, a: Any, noise: Any, o: Any
) -> float:
    """The first fraction of the step at which an armed guard is negative, found by bisection to the last bit; 2 when none is."""
    z = k[SPARE]
    low = 0.0
    high = 2.0
    if f[EVENT] == now:  # a guard that has just fired may rise and fall again within this very step
        theta = 1.0
        for _ in range(40):
            theta = 0.5 * theta
            interpolate(theta, now, h, f, k, y, z, x, p, m, a, noise, o)
            guards(now + theta * h, g, z, p, m, a, noise, o)
            if rearms(g, armed):
                low = theta
                break
    if ADAPTIVE:
        for i in range(1, 4):
            theta = 0.25 * i
            if theta > low and high > 1.0:
                interpolate(theta, now, h, f, k, y, z, x, p, m, a, noise, o)
                guards(now + theta * h, g, z, p, m, a, noise, o)
                if fires(g, armed):
                    high = theta
                else:
                    low = theta
    if high > 1.0:
        guards(now + h, g, y, p, m, a, noise, o)
        if not fires(g, armed):
            return 2.0
        high = 1.0
    for _ in range(200):
        theta = 0.5 * (low + high)
        if now + theta * h <= now + low * h or now + theta * h >= now + high * h:
            break
        interpolate(theta, now, h, f, k, y, z, x, p, m, a, noise, o)
        guards(now + theta * h, g, z, p, m, a, noise, o)
        if fires(g, armed):
            high = theta
        else:
            low = theta
    return high


def rearms(g: Any, armed: Any) -> bool:
    """Whether every guard is armed here: those that have returned are armed; false while one is still negative."""
    everything = True
    for i in range(GUARDS):
        if armed[GUARDS + i] * g[i] >= 0.0:
            armed[i] = 1.0
        elif armed[i] < 0.5:
            everything = False
    return everything


SPARE = 0  # folded per solver
