"""Steps that are too coarse for a plant: from its modes at the start, and from a stretch in steps half as long."""

from __future__ import annotations

import cmath
import math
from collections.abc import Iterator

from ..errors import Finding
from ..schedule.clock import key_place
from ..simulation.experiment import Experiment
from ..simulation.modes import largest_step, longest_step, magnitude, modes_at_start, stretched
from ..solvers.tableau import Tableau
from .halving import LONGEST_PROGRAM, STRETCH, change_by_halving

#: A mode is drawn wrongly where after one radian of it the error has this share of it.
COARSE = 0.05
#: A change by halving is not believed beyond this.
MOST_CHANGE = 1e3
#: Modes that turn by less than this in a step are as good as none.
SLOW = 1e-6


def step_findings(experiment: Experiment, quick: bool = False) -> Iterator[Finding]:
    """A run that ends before its first step, and a fixed step that draws the fastest mode wrongly; `quick` tries no step."""
    clock, diagram, method = experiment.clock, experiment.diagram, experiment.method
    span = clock.end - clock.start
    if clock.step > span:
        yield Finding(
            "stop-before-step",
            f"the run ends after {float(clock.base * span):g} s, before its first step of {float(clock.base * clock.step):g} s.",
            "Make step smaller than stop.",
            key_place(diagram, "simulate.step") or key_place(diagram, "simulate"),
        )
        return
    if not isinstance(method, Tableau) or method.adaptive or not (step := longest_step(experiment)):
        return
    if not quick:
        yield from mode_findings(experiment, method, step) or halving_findings(experiment, method, step)
    elif len(experiment.program.source.text) <= LONGEST_PROGRAM:
        yield from mode_findings(experiment, method, step)


def mode_findings(experiment: Experiment, method: Tableau, step: float) -> list[Finding]:
    """A mode at the start that the step draws wrongly."""
    modes = [complex(mode) for mode in modes_at_start(experiment) if abs(mode) * step > SLOW]
    worst = max(modes, key=lambda mode: mode_error(method, mode, step), default=0j)
    error = mode_error(method, worst, step) if worst else 0.0
    if error <= COARSE:
        return []
    better = step
    while mode_error(method, worst, better) > COARSE / 5:
        better /= 2
    grown = magnitude(stretched(method, step * worst)) > 1 and worst.real <= 0
    fine = min(better, largest_step(method, modes_at_start(experiment), step))
    speed = f"a mode of {abs(worst):.3g} {'rad/s' if abs(worst.imag) > 1e-3 * abs(worst) else '1/s'}"
    words = "grows where it should die out." if grown else f"is {100 * error:.2g} % off after a radian."
    return [coarse_step(experiment, step, f"{speed} {words}", fine, "rodas4" if grown else "dopri5")]


def halving_findings(experiment: Experiment, method: Tableau, step: float) -> list[Finding]:
    """A step that gives another motion than half of it, at the start of the run."""
    change = change_by_halving(experiment)
    if change <= COARSE:
        return []
    fine = step * min(0.5, (COARSE / 5 / min(change, MOST_CHANGE)) ** (1 / method.order))
    words = f"with half of it a state moves otherwise by {100 * min(change, 9.99):.2g} % in the first {STRETCH} steps."
    return [coarse_step(experiment, step, words, fine, "dopri5")]


def coarse_step(experiment: Experiment, step: float, why: str, fine: float, solver: str) -> Finding:
    return Finding(
        "coarse-step",
        f"a step of {step:g} s is too coarse for {experiment.method.name}: {why}",
        f"Write step: {fine:.1g}, or solver: {solver}, which chooses its steps.",
        key_place(experiment.diagram, "simulate.step") or key_place(experiment.diagram, "simulate"),
    )


def mode_error(method: Tableau, mode: complex, step: float) -> float:
    """How far a mode is off after a radian of it, or after a step where that is longer; fast modes that die out may be."""
    z = step * mode
    once = stretched(method, z)
    if z.real < -abs(z.imag) and magnitude(once) <= 1.0:  # dies out without ringing, fast against the step: nobody sees how
        return 0.0
    steps = max(1.0, 1.0 / abs(z))
    try:
        return magnitude(once**steps - cmath.exp(z * steps))
    except OverflowError:  # of a mode that grows beyond all numbers within a step
        return math.inf
