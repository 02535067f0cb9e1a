"""Steps that are too coarse for a plant, and sampled loops that are unstable, from a linearisation near the start."""

from __future__ import annotations

import cmath
import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import TYPE_CHECKING, Any

from ..contract.declarations import Inport, State
from ..errors import Finding
from ..linear.local_map import LocalMap
from ..linear.operating import starting
from ..linear.signal_taps import bypassed
from ..schedule.clock import key_place
from ..schedule.schedule import Schedule
from ..simulation.experiment import Experiment
from ..simulation.modes import largest_step, longest_step, magnitude, modes_at_start, stretched
from ..solvers.tableau import Tableau
from .feedback import loops_of
from .halving import LONGEST_PROGRAM, STRETCH, change_by_halving
from .upstream import signals_into, upstream

if TYPE_CHECKING:
    from ..contract.arrays import FloatArray

#: A mode is drawn wrongly where after one radian of it the error has this share of it.
COARSE = 0.05
#: A change by halving is not believed beyond this.
MOST_CHANGE = 1e3
#: Modes that turn by less than this in a step are as good as none.
SLOW = 1e-6
#: |z| from which on a sampled loop grows: rounding of differences stays below.
GROWING = 1.0 + 1e-4
#: Sample periods after which a loop is looked at, when it moves; sooner where there is no derivative then, because the loop has
#: flown apart; later where it sticks.
LATER = (50, 10, 3, 500)
#: States and memories up to which a loop is looked at, and up to which more than once.
MOST_NUMBERS, MOST_TRIED = 40, 20
#: Steps up to which it is simulated until then (else it is looked at where it starts), and evaluations in all.
MOST_STEPS, MOST_EVALUATIONS = 2000, 20000
#: Steps of that simulation, those that end at events among them.
MOST_TRIES = 10_000
#: Relative change of a number for a difference, and what it is at least.
NUDGE = 1e-5
#: Relative difference between two such differences from which on there is a corner or a jump, and no linearisation.
SMOOTH = 1e-3
#: Flat between their steps, these would open the loop; they are taken as y = u.
STEPPED = ("resolution", "counts_per_turn", "interval", "levels")


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


@dataclass(frozen=True)
class LoopPoles:
    """The poles of a sampled loop, as the map over one sample period."""

    period: float
    poles: Any  # complex numbers

    @property
    def largest(self) -> complex:
        return complex(max(self.poles, key=abs))

    def __str__(self) -> str:
        return f"closed-loop poles every {self.period:g} s: largest |z| = {abs(self.largest):.4f} of {len(self.poles)}"


def loop_poles(experiment: Experiment) -> LoopPoles | None:
    """The poles of a loop with one sample rate and continuous states, near the start of the run; None where there are none."""
    loops = loops_alone(experiment.schedule)
    rates = {u.group for u in loops.units if u.group is not None and u.kind.of(Inport)}
    if len(rates) != 1 or not any(u.kind.of(State) for u in loops.units):
        return None
    period = loops.groups[rates.pop()].period
    stepped = [u.path for u in loops.units if u.kind.of(Inport) and any(u.settings.get(name) for name in STEPPED)]
    paths, slots = {u.path for u in loops.units}, experiment.slots
    numbers = sum(slot.path in paths for slot in (*slots.x, *slots.m))
    for samples in () if numbers > MOST_NUMBERS else LATER if numbers <= MOST_TRIED else LATER[:1]:
        try:
            poles = poles_later(experiment, bypassed(loops, stepped), period, samples)
        except Exception:  # of anybody's block, pushed aside a little: the run will say what is wrong, a look ahead must not fail
            continue
        if poles is not None:
            return poles
    return None


def poles_later(experiment: Experiment, loops: Schedule, period: Fraction, samples: int) -> LoopPoles | None:
    """The poles after so many samples, or at the start where the way there is long; None where there is no derivative."""
    import numpy as np

    clock, span = experiment.clock, samples * period
    cheap = clock.step > 0 and span <= MOST_STEPS * clock.base * clock.step and span <= clock.base * (clock.end - clock.start)
    at = clock.base * clock.start + span if cheap else None
    diagram = replace(experiment.diagram, simulate=experiment.options)
    local = LocalMap(loops, [], [], (), period, starting(diagram, experiment.schedule, at, 0.0, hit=False, limit=MOST_TRIES))
    if len(local.names) > MOST_NUMBERS:
        return None
    local.most_evaluations = MOST_EVALUATIONS
    if at is not None:
        local.carry_to_hit()
    z, step = local.at(), local.function(0)
    near, nearer = (step_differences(step, z, share) for share in (NUDGE, NUDGE / 10))
    smooth = np.isfinite(near).all() and np.allclose(near, nearer, rtol=SMOOTH, atol=SMOOTH * np.abs(near).max(initial=0.0))
    return LoopPoles(float(period), np.linalg.eigvals(near)) if len(z) and smooth else None


def step_differences(step: Callable[[FloatArray], FloatArray], z: FloatArray, share: float) -> FloatArray:
    """d step / dz by central differences of this share of each number."""
    import numpy as np

    A = np.zeros((len(z), len(z)))
    for j, value in enumerate(z):
        change = share * max(abs(float(value)), 1e-3)
        up, down = z.copy(), z.copy()
        up[j], down[j] = value + change, value - change
        A[:, j] = (step(up) - step(down))[: len(z)] / (up[j] - down[j])
    return A


def loops_alone(schedule: Schedule) -> Schedule:
    """The blocks of the loops and what drives them: who only looks on (an observer beside, a filter of a reading) has no say."""
    around = [ref for loop in loops_of(schedule) for unit in loop for ref in signals_into(unit)]
    needed = upstream(around, schedule.by_path)
    return replace(schedule, units=[unit for unit in schedule.units if unit.path in needed])


def loop_findings(experiment: Experiment, poles: LoopPoles | None) -> Iterator[Finding]:
    """A sampled loop that grows from sample to sample."""
    if poles is not None and abs(poles.largest) > GROWING:
        seconds = poles.period * math.log(10) / math.log(abs(poles.largest))
        yield Finding(
            "unstable-loop",
            f"the loop, linearised near the start, is unstable: its largest pole is |z| = {abs(poles.largest):.4f} every "
            f"{poles.period:g} s, so that it grows tenfold in {seconds:.2g} s.",
            "Look at signs and gains, and at delays that count more the slower it is sampled.",
            key_place(experiment.diagram, "blocks"),
        )
