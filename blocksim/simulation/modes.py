"""Modes of a diagram's continuous states, and the step a fixed-step method can take for them.

With x' = f(x), sampled signals held, the modes are the eigenvalues s of df/dx. A step h multiplies a mode by R(hs), the method's
stability function, where e^(hs) would be right: where |R| > 1 a mode that should die out grows; where R is far from e^(hs) it is
drawn wrongly.
"""

from __future__ import annotations

import cmath
import math
from typing import TYPE_CHECKING

from ..solvers.stores import handed
from ..solvers.tableau import Tableau
from .experiment import Experiment
from .noise import silence

if TYPE_CHECKING:
    from ..contract.arrays import FloatArray

#: Relative change of a state for a difference, and what it is at least.
CHANGE, LEAST_CHANGE = 1e-6, 1e-8
#: More states than this are not looked at: df/dx takes an evaluation each.
MOST_STATES = 200
#: A mode counts as decaying where it falls by this share of its speed.
DECAYING = 1e-6
STEP_HALVINGS = 60
#: Radians a step from which on an oscillation is drawn so badly that a step is to blame before a loop is.
LEAST_TURN = 1.0
#: What is larger is beyond all numbers when it is squared.
LARGEST_PART = 1e150


def slopes_at_start(experiment: Experiment) -> FloatArray:
    """df/dx at the start of a run, in the order of its states; empty where it cannot be had."""
    import numpy as np

    numbers = experiment.numbers
    x = numbers.x.tolist()
    none = np.zeros((0, 0))
    if not 0 < len(x) <= MOST_STATES:
        return none
    derivative = experiment.program.careful()["derivative"]
    o, noise = silence(experiment.slots, numbers.o.tolist())
    t = experiment.clock.seconds(experiment.clock.start)

    def slope(x: list[float]) -> FloatArray:
        dx = [0.0] * len(x)
        stores = {"p": numbers.p.tolist(), "m": numbers.m.tolist(), "a": numbers.a.copy(), "noise": noise, "o": list(o)}
        derivative(*handed("derivative", t, dx, x=list(x), **stores))
        return np.array(dx)

    jacobian = np.zeros((len(x), len(x)))
    try:
        with np.errstate(all="ignore"):
            for j, value in enumerate(x):
                change = max(CHANGE * abs(value), LEAST_CHANGE)
                up, down = [*x[:j], value + change, *x[j + 1 :]], [*x[:j], value - change, *x[j + 1 :]]
                jacobian[:, j] = (slope(up) - slope(down)) / (up[j] - down[j])
    except Exception:  # of anybody's block, pushed aside a little: what is only advice must not fail
        return none
    return jacobian if np.isfinite(jacobian).all() else none


def modes_at_start(experiment: Experiment) -> FloatArray:
    """The eigenvalues of df/dx at the start of a run; none where they cannot be had."""
    import numpy as np

    return np.linalg.eigvals(slopes_at_start(experiment)).astype(complex)


def stretched(method: Tableau, z: complex) -> complex:
    """R(z) = 1 + z b' (1 - z A)^-1 1: what a step makes of x' = z x."""
    stages: list[complex] = []
    for row in method.a:
        stages.append(1 + z * sum((float(a) * k for a, k in zip(row, stages, strict=True)), 0j))
    return 1 + z * sum((float(b) * k for b, k in zip(method.b, stages, strict=True)), 0j)


def magnitude(z: complex) -> float:
    """|z|, also where it, or what it was computed from, is beyond all numbers."""
    return abs(z) if cmath.isfinite(z) and max(abs(z.real), abs(z.imag)) < LARGEST_PART else math.inf


def longest_step(experiment: Experiment) -> float:
    """The longest step a fixed-step method takes: its own, or from sample hit to sample hit where that is shorter."""
    clock = experiment.clock
    ticks = [clock.step] if clock.step else []
    return float(clock.base * min([*ticks, *(period for _, period in clock.hits)], default=0))


def grows(method: Tableau, mode: complex, step: float) -> bool:
    """Whether a mode that should die out grows from step to step."""
    return mode.real < -DECAYING * abs(mode) and magnitude(stretched(method, step * mode)) > 1.0


def largest_step(method: Tableau, modes: FloatArray, step: float) -> float:
    """A step, in one digit, at which every mode that should die out does."""
    for _ in range(STEP_HALVINGS):
        if not any(grows(method, complex(mode), step) for mode in modes):
            break
        step /= 2
    digit = 10.0 ** math.floor(math.log10(step))
    return float(f"{math.floor(step / digit) * digit:.1g}")


def step_advice(experiment: Experiment) -> str:
    """What may help a run that left any scale: a shorter step, a stiff solver, or another loop."""
    method = experiment.method
    if isinstance(method, Tableau) and not method.adaptive and (step := longest_step(experiment)) > 0:
        wild = [complex(mode) for mode in modes_at_start(experiment) if grows(method, complex(mode), step)]
        if wild:
            fastest = max(wild, key=abs)
            return (
                f"A step of {step:g} s is too coarse for {method.name}: the fastest mode dies out with {-fastest.real:.3g} 1/s. "
                f"A step of {largest_step(method, modes_at_start(experiment), step):g} s would do, or solver: rodas4, which is "
                "for stiff systems."
            )
        modes = [complex(mode) for mode in modes_at_start(experiment) if abs(mode.imag) * step > LEAST_TURN]
        if modes:
            speed = max(abs(mode) for mode in modes)
            return (
                f"A step of {step:g} s draws the fastest mode, {speed:.3g} rad/s, in {2 * math.pi / speed / step:.2g} points"
                " a turn: try a tenth of it, or solver: dopri5, which chooses its steps."
            )
    return "The loop is unstable, or grows by what drives it: look at signs and gains; blocksim check tells its poles."
