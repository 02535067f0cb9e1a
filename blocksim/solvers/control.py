"""Step size control: how long the first step is, the next one, and the one after a step that missed. Text for the program."""

from __future__ import annotations

from math import sqrt
from typing import Any

from .kernel import FIRST, NX, ORDER, derivative, maximum, minimum, power
from .stores import ATOL, ERROR, EVALUATIONS, FRESH, H_MAX, NOW, REJECTED, RTOL, H


def first_step(now: float, f: Any, k: Any, y: Any, x: Any, *rest: Any) -> float:
    """Hairer, Norsett & Wanner II.4: a first step from the sizes of x, f and the change of f."""
    if NX == 0:
        return f[H_MAX]
    derivative(now, k[0], x, *rest)
    size = 0.0
    slope = 0.0
    for i in range(NX):
        scale = f[ATOL] + f[RTOL] * abs(x[i])
        size = size + (x[i] / scale) * (x[i] / scale)
        slope = slope + (k[0][i] / scale) * (k[0][i] / scale)
    size = sqrt(size / NX)
    slope = sqrt(slope / NX)
    h = 1e-6 if size < 1e-5 or slope < 1e-5 else 0.01 * size / slope
    h = minimum(h, f[H_MAX])
    for i in range(NX):
        y[i] = x[i] + h * k[0][i]
    derivative(now + h, k[1], y, *rest)
    bend = 0.0
    for i in range(NX):
        scale = f[ATOL] + f[RTOL] * abs(x[i])
        bend = bend + ((k[1][i] - k[0][i]) / scale) * ((k[1][i] - k[0][i]) / scale)
    bend = sqrt(bend / NX) / h
    f[EVALUATIONS] += 2.0
    steep = maximum(slope, bend)
    reach = maximum(1e-6, h * 1e-3) if steep <= 1e-15 else power(0.01 / steep, FIRST)
    return minimum(minimum(100.0 * h, reach), f[H_MAX])


def step_length(now: float, span: float, f: Any, k: Any, y: Any, x: Any, *rest: Any) -> float:
    """The step to try: as long as the control has it, up to the stop."""
    if f[H] <= 0.0:
        f[H] = first_step(now, f, k, y, x, *rest)
    return fitting(minimum(f[H], f[H_MAX]), span)


def fitting(size: float, span: float) -> float:
    """The next step: all that is left if it nearly reaches, half of it rather than a long and a tiny one."""
    if size >= 0.999 * span:
        return span
    return 0.5 * span if 2.0 * size > span else size


def shrink(now: float, h: float, error: float, f: Any) -> bool:
    """A smaller step after one that missed the tolerance; false when none is left."""
    f[REJECTED] += 1.0
    f[H] = h * (maximum(0.2, 0.9 * power(error, -ORDER)) if error < 1e300 else 0.1)
    f[ERROR] = 1.0
    f[NOW] = now
    return f[H] > 1e-15 * abs(now) and f[H] >= 1e-300


def plan_next(h: float, error: float, span: float, f: Any) -> None:
    """The next step, by a PI controller (Gustafsson); a step that was cut short by a stop does not shrink it."""
    scale = 5.0
    if error > 0.0:
        scale = minimum(5.0, maximum(0.2, 0.9 * power(error, -0.85 * ORDER) * power(f[ERROR], 0.2 * ORDER)))
    f[ERROR] = maximum(error, 1e-4)
    grown = h * scale
    f[H] = maximum(grown, f[H]) if h == span or 2.0 * h == span else grown
    f[FRESH] = 1.0
