"""The map of a loop over the common period of its sample rates, linearised along its way: a product over hits and stretches.

At a hit z+ = h(z), of which dh/dz is taken by differences. Between two hits x' = f(x, m, t), the sampled signals m held, so that
dz' = A(t) dz. With A_1 and A_2 at the Gauss points of a stretch of s seconds,

    dz(s) = exp(s/2 (A_1 + A_2) + sqrt(3)/12 s^2 (A_2 A_1 - A_1 A_2)) dz(0),

the Magnus expansion of fourth order, which is exact where the plant is linear. The eigenvalues of the product are the poles.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterable, Sequence
from fractions import Fraction
from typing import TYPE_CHECKING

from .local_map import LocalMap

if TYPE_CHECKING:
    from ..contract.arrays import FloatArray

#: The groups of blocks that act at an instant, and the seconds from then to the next one.
Stretch = tuple[Sequence[int], Fraction]
GAUSS = (0.5 - math.sqrt(3) / 6, 0.5 + math.sqrt(3) / 6)
#: Relative change of a number for a difference; of one near zero, of this.
NUDGE, LEAST_SIZE = 1e-5, 1e-3
#: Relative change of the states on their way from which on steps are halved no more.
CARRIED = 1e-8
#: Size of a matrix up to which this many terms give its exponential to rounding.
SMALL, TERMS = 0.25, 14
#: Relative difference between two such differences from which on there is a corner or a jump, and no linearisation.
SMOOTH = 1e-3


def common_period(periods: Sequence[Fraction]) -> Fraction:
    """The shortest time that is a whole multiple of all."""
    return Fraction(math.lcm(*(p.numerator for p in periods)), math.gcd(*(p.denominator for p in periods)))


def stretches(periods: Sequence[Fraction], first: Sequence[Fraction], most: int) -> list[Stretch]:
    """The instants of a common period from 0 on, each with who acts; group i acts at first[i] and every periods[i] after it.

    The first instant is 0, whether anybody acts there or not. Empty where there are more than `most`.
    """
    whole = common_period(periods)
    if sum(whole / period for period in periods) > most:
        return []
    due: dict[Fraction, list[int]] = {Fraction(0): []}
    for group, (period, begin) in enumerate(zip(periods, first, strict=True)):
        for k in range(int(whole / period)):
            due.setdefault(begin % period + k * period, []).append(group)
    instants = [*sorted(due), whole]
    return [(due[at], after - at) for at, after in itertools.pairwise(instants)]


def monodromy(local: LocalMap, first: Fraction, way: Sequence[Stretch]) -> FloatArray | None:
    """d z(end) / d z(start) along the way, which begins so many seconds from where the map stands; None at a corner or a jump."""
    import numpy as np

    z, v, t = local.at(), local.prober.now()[1], local.instant + first
    states, whole = len(local.prober.kept), np.eye(len(z))
    z[:states] = march_ahead(local, z, v, float(local.instant), [float(first)])[-1]
    for due, seconds in way:
        at, length = float(t), float(seconds)
        if due:

            def act(z: FloatArray, at: float = at, due: Sequence[int] = due) -> FloatArray:
                x, m, a = local.acted(z, v, at, due)
                return np.concatenate([local.together(x, m, a), m])

            jump = local_slopes(act, z, range(len(z)))
            if jump is None or jump[len(z) + np.array(local.modes, int)].any():  # a contact that would stick or slip instead
                return None
            whole, (x, m, a) = jump[: len(z)] @ whole, local.acted(z, v, at, due)
            z, local.prober.m, local.prober.a = local.together(x, m, a), m, a
        ahead = march_ahead(local, z, v, at, [*(c * length for c in GAUSS), length])
        rates = []
        for row, c in zip(ahead, GAUSS, strict=False):

            def slope(z: FloatArray, at: float = at + c * length) -> FloatArray:
                x, m, a = local.stores(z)
                return np.concatenate([local.prober.slopes(at, x, v, m, a)[0], np.zeros(len(z) - states)])

            rate = local_slopes(slope, np.concatenate([row, z[states:]]), range(states + local.read_between))
            if rate is None:
                return None
            rates.append(rate)
        one, two = rates
        whole = exponential(length / 2 * (one + two) + math.sqrt(3) / 12 * length**2 * (two @ one - one @ two)) @ whole
        z, t = np.concatenate([ahead[-1], z[states:]]), t + seconds
    return whole


def march_ahead(local: LocalMap, z: FloatArray, v: FloatArray, t: float, times: Sequence[float]) -> list[FloatArray]:
    """The continuous states so many seconds after t, sampled signals held: RK4, its steps halved until the end stays."""
    import numpy as np

    x, m, a = local.stores(z)
    if not x:
        return [np.zeros(0) for _ in times]

    def slope(t: float, x: FloatArray) -> FloatArray:
        local.count_evaluation()
        return local.prober.slopes(t, x, v, m, a)[0]

    def march(steps: int) -> list[FloatArray]:
        here, now, places = np.array(x), 0.0, []
        for time in times:
            h = (time - now) / steps
            for k in range(steps):
                at = t + now + k * h
                k1 = slope(at, here)
                k2 = slope(at + h / 2, here + h / 2 * k1)
                k3 = slope(at + h / 2, here + h / 2 * k2)
                here = here + h / 6 * (k1 + 2 * k2 + 2 * k3 + slope(at + h, here + h * k3))
            places.append(here)
            now = time
        return places

    steps, places = 1, march(1)
    while True:
        finer, steps = march(2 * steps), 2 * steps
        scale = np.maximum(np.abs(finer[-1]), LEAST_SIZE)
        if not np.isfinite(finer[-1]).all() or (np.abs(finer[-1] - places[-1]) <= CARRIED * scale).all():
            return finer
        places = finer


def exponential(A: FloatArray) -> FloatArray:
    """exp(A), by its series for A / 2^s and s squarings; scipy's takes longer to load than all that is computed here."""
    import numpy as np

    size = float(np.abs(A).sum(axis=0).max(initial=0.0))
    squarings = max(0, math.ceil(math.log2(size / SMALL))) if 0 < size < math.inf else 0
    small, term = A / 2**squarings, np.eye(len(A))
    result = term.copy()
    for k in range(1, TERMS):
        term = term @ small / k
        result += term
    for _ in range(squarings):
        result = result @ result
    return result


def local_slopes(function: Callable[[FloatArray], FloatArray], z: FloatArray, columns: Iterable[int]) -> FloatArray | None:
    """d function / dz by central differences, over these numbers; None where two sizes of them do not agree."""
    import numpy as np

    rows = len(function(z))
    near, nearer = np.zeros((rows, len(z))), np.zeros((rows, len(z)))
    for j in columns:
        for A, share in ((near, NUDGE), (nearer, NUDGE / 10)):
            change = share * max(abs(float(z[j])), LEAST_SIZE)
            up, down = z.copy(), z.copy()
            up[j], down[j] = z[j] + change, z[j] - change
            A[:, j] = (function(up) - function(down)) / (up[j] - down[j])
    smooth = np.isfinite(near).all() and np.allclose(near, nearer, rtol=SMOOTH, atol=SMOOTH * np.abs(near).max(initial=0.0))
    return near if smooth else None
