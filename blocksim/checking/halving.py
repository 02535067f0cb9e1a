"""A fixed step against half of it, over the first steps of a run: what modes, which are linear, cannot tell."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from ..errors import SimulationError
from ..schedule.clock import RunClock
from ..simulation.experiment import Experiment
from ..simulation.noise import draw_noise
from ..simulation.simulation import Simulation
from ..solvers import kernel, stores

if TYPE_CHECKING:
    from ..contract.arrays import FloatArray

#: Looks at the states, and steps between two of them: few, so that nothing swings unseen between looks.
LOOKS_AHEAD, STEPS_BETWEEN = 100, 2
STRETCH = LOOKS_AHEAD * STEPS_BETWEEN
#: A longer program is not run under CPython for that: its steps take long.
LONGEST_PROGRAM = 40_000
#: Sample hits in the stretch, beyond which it takes too long; a step between two hits is short anyway.
MOST_HITS = 8 * STRETCH
#: Ticks up to which twice as many are counted exactly.
EXACT_TICKS = 2**52
#: A state that moves by less, against its size, only shows rounding.
LEAST_MOTION = 1e-6


def halved(clock: RunClock, ticks: int) -> RunClock:
    """So many ticks from the start, in steps half as long: every time has twice as many ticks but the step."""
    double = replace(clock, base=clock.base / 2, start=2 * clock.start, end=2 * (clock.start + ticks))
    return replace(
        double,
        hits=tuple((2 * first, 2 * period) for first, period in clock.hits),
        logs=tuple((2 * first, 2 * period) for first, period in clock.logs),
    )


def change_by_halving(experiment: Experiment) -> float:
    """The largest change of a state, as a share of its motion, when the step is halved; 0 where that cannot be told."""
    import numpy as np

    clock = experiment.clock
    ticks = STRETCH * clock.step
    ends = clock.end < clock.start + ticks or 2 * clock.end > EXACT_TICKS
    busy = regular_steps(replace(clock, end=clock.start + ticks)) > MOST_HITS
    if ends or busy or not len(experiment.numbers.x) or len(experiment.program.source.text) > LONGEST_PROGRAM:
        return 0.0
    try:
        coarse = states_of(replace(experiment, clock=replace(clock, end=clock.start + ticks)))
        fine = states_of(replace(experiment, clock=halved(clock, ticks)))
    except Exception:  # of anybody's block: the run will say what is wrong, a look ahead must not fail
        return 0.0
    there, reached = (np.asarray(np.isfinite(rows).all(axis=1)) for rows in (fine, coarse))  # a run that fails has no more states
    if there.all() and not reached.all():
        return np.inf
    both = there & reached  # what fails at any step, such as an estimate that flies apart, is no matter of the step
    if not both[0]:
        return 0.0
    coarse, fine = coarse[both], fine[both]
    with np.errstate(all="ignore"):
        motion = np.sqrt(np.mean((fine - fine[0]) ** 2, axis=0))
        change = np.sqrt(np.mean((coarse - fine) ** 2, axis=0))
    moving = np.isfinite(motion) & (motion > LEAST_MOTION * np.abs(fine).max(axis=0))
    return float(np.max(np.nan_to_num(change[moving] / motion[moving], nan=np.inf), initial=0.0))


def regular_steps(clock: RunClock) -> int:
    """Steps from the start to the end without events; a law that switches again and again takes many more, and too long."""
    return sum((clock.end - clock.start) // period for period in (clock.step, *(period for _, period in clock.hits)) if period)


def states_of(experiment: Experiment) -> FloatArray:
    """The continuous states at the looks, from a run under CPython; nan from where it fails."""
    import numpy as np

    clock = experiment.clock
    run = Simulation(experiment, {}, draw_noise(experiment, 0), "python")
    run.machine.f[stores.BUDGET] = 2 * regular_steps(clock) + STRETCH
    rows = np.full((LOOKS_AHEAD + 1, len(run.machine.x)), np.nan)
    for look in range(LOOKS_AHEAD + 1):
        status = run.machine.run_plain(clock.start + look * (clock.end - clock.start) // LOOKS_AHEAD)
        if status == kernel.PAUSED:
            raise SimulationError("events follow each other too closely to be looked at.", time=run.t)
        if status:
            break
        rows[look] = run.machine.x
    return rows
