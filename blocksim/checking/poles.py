"""The closed-loop poles of sampled loops, of one sample rate or several, from a linearisation near the start of the run."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any

from ..contract.declarations import Inport, State
from ..errors import Finding, listing
from ..linear.local_map import LocalMap
from ..linear.monodromy import Stretch, common_period, monodromy, stretches
from ..linear.probe import Situation, situation
from ..linear.signal_taps import bypassed
from ..schedule.clock import key_place
from ..schedule.schedule import Schedule
from ..simulation.experiment import Experiment
from ..simulation.noise import draw_noise
from ..simulation.simulation import Simulation
from ..solvers import stores
from .feedback import loops_of
from .upstream import signals_into, upstream

#: |z| from which on a sampled loop grows: rounding of differences stays below.
GROWING = 1.0 + 1e-4
#: Of 1 a pole may be so far off and still be that of an integrator, which neither grows nor dies out.
INTEGRATOR = 1e-6
#: Sample periods, of the slowest, after which a loop is looked at, when it moves; sooner where there is no derivative then, as
#: the loop has flown apart; later where it sticks.
LATER = (50, 10, 3, 500)
#: States and memories up to which a loop is looked at, and up to which more than once.
MOST_NUMBERS, MOST_TRIED = 60, 30
#: Hits in the common period of its sample rates, and hits times numbers, up to which a loop is looked at.
MOST_INSTANTS, MOST_WORK = 200, 2000
#: Characters of a program up to which it is looked at: longer ones take long to be made again around the loop, too.
LONGEST_TEXT = 60_000
#: Steps up to which it is simulated until then (else it is looked at where it starts), and evaluations in all.
MOST_STEPS, MOST_EVALUATIONS = 2000, 20000
#: Steps of that simulation, those that end at events among them.
MOST_TRIES = 10_000
#: Flat between their steps, these would open the loop; they are taken as y = u.
STEPPED = ("resolution", "counts_per_turn", "interval", "levels")


@dataclass(frozen=True)
class LoopPoles:
    """The poles of a sampled loop, as the map over one sample period, or over the common one of its sample rates."""

    period: float
    poles: Any  # complex numbers
    rates: tuple[float, ...]  # the sample times

    @property
    def largest(self) -> complex:
        return complex(max(self.poles, key=abs))

    def __str__(self) -> str:
        size = abs(self.largest)
        words = f"closed-loop poles {self.pace}: largest |z| = {size:.4f} of {len(self.poles)}"
        return f"{words}, a time constant of {-self.period / math.log(size):.2g} s" if 0 < size < 1 - INTEGRATOR else words

    @property
    def pace(self) -> str:
        """'every 0.001 s', and whose common period that is."""
        several = f", the common period of {listing(f'{rate:g} s' for rate in self.rates)}" if len(self.rates) > 1 else ""
        return f"every {self.period:g} s{several}"


def loop_poles(experiment: Experiment) -> LoopPoles | None:
    """The poles of the sampled loops with continuous states, near the start of the run; None where there are none."""
    loops = loops_alone(experiment.schedule)
    rates = {u.group for u in loops.units if u.group is not None and u.kind.of(Inport)}
    if not rates or not any(u.kind.of(State) for u in loops.units):
        return None
    periods = [loops.groups[rate].period for rate in rates]
    if sum(common_period(periods) / period for period in periods) > MOST_INSTANTS:
        return None
    if len(experiment.program.source.text) > LONGEST_TEXT:
        return None
    stepped = [u.path for u in loops.units if u.kind.of(Inport) and any(u.settings.get(name) for name in STEPPED)]
    paths, slots = {u.path for u in loops.units}, experiment.slots
    numbers = sum(slot.path in paths for slot in (*slots.x, *slots.m))
    for samples in () if numbers > MOST_NUMBERS else LATER if numbers <= MOST_TRIED else LATER[:1]:
        try:
            poles = poles_later(experiment, bypassed(loops, stepped), samples * max(periods))
        except Exception:  # of anybody's block, pushed aside a little: the run will say what is wrong, a look ahead must not fail
            continue
        if poles is not None:
            return poles
    return None


def poles_later(experiment: Experiment, loops: Schedule, span: Fraction) -> LoopPoles | None:
    """The poles after so many seconds, or at the start where the way there is long; None where there is no derivative."""
    import numpy as np

    clock = experiment.clock
    cheap = clock.step > 0 and span <= MOST_STEPS * clock.base * clock.step and span <= clock.base * (clock.end - clock.start)
    here = situation_after(experiment, int(span / clock.base) if cheap else 0)
    if here is None:
        return None
    local = LocalMap(loops, [], [], (), Fraction(1), here, with_holds=True)
    first, way = way_round(local, at_once=not cheap)
    if not way or len(local.names) > MOST_NUMBERS or len(local.names) * len(way) > MOST_WORK:
        return None
    local.most_evaluations = MOST_EVALUATIONS
    whole = monodromy(local, first, way)
    if whole is None:
        return None
    poles = sorted(np.linalg.eigvals(whole), key=abs)[local.holds :]  # what holds from hit to hit is no state
    periods = sorted({local.prober.experiment.schedule.groups[k].period for due, _ in way for k in due})
    return LoopPoles(float(common_period(periods)), np.array(poles), tuple(map(float, periods))) if poles else None


def situation_after(experiment: Experiment, ticks: int) -> Situation | None:
    """What a run has come to after so many ticks; before its first instant for none, and None where it does not get there."""
    clock = experiment.clock
    short = replace(experiment, clock=replace(clock, end=clock.start + ticks)) if ticks else experiment
    run = Simulation(short, {}, draw_noise(short, 0), "python")
    run.machine.f[stores.BUDGET] = MOST_TRIES
    if ticks and run.machine.run_plain(short.clock.end):
        return None
    return situation(short, run.machine, clock.seconds(clock.start + ticks))


def way_round(local: LocalMap, at_once: bool) -> tuple[Fraction, Sequence[Stretch]]:
    """The time to the next hit, and who acts when in the common period from there; sources hold."""
    schedule = local.prober.experiment.schedule
    acting = sorted({u.group for u in schedule.units if u.group is not None and u.kind.of(Inport)})
    groups = [schedule.groups[k] for k in acting]
    ahead = [(g.offset - local.instant) % g.period for g in groups]
    first = min(time if at_once else time or g.period for time, g in zip(ahead, groups, strict=True))
    way = stretches([g.period for g in groups], [time - first for time in ahead], MOST_INSTANTS)
    return first, [([acting[k] for k in due], seconds) for due, seconds in way]


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
            f"the loop, linearised near the start, is unstable: its largest pole is |z| = {abs(poles.largest):.4f} {poles.pace}, "
            f"so that it grows tenfold in {seconds:.2g} s.",
            "Look at signs and gains, and at delays that count more the slower it is sampled.",
            key_place(experiment.diagram, "blocks"),
        )
