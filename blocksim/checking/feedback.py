"""Feedback: the loops of a diagram, and those that run on continuously and grow."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from ..contract.declarations import State
from ..errors import Finding
from ..schedule.clock import key_place
from ..schedule.schedule import Schedule, Unit
from ..schedule.true_outputs import is_plant
from ..simulation.experiment import Experiment
from ..simulation.failures import LOOP_REMEDY, failure
from ..simulation.modes import slopes_at_start
from ..simulation.noise import draw_noise
from ..simulation.simulation import Simulation
from ..solvers import kernel
from .rates import CONTROLLERS
from .upstream import signals_into

#: A mode grows where its speed of growth is this share of it: rounding of differences stays below.
GROWTH_SHARE = 1e-3
#: Factor by which a mode must grow in a run to be worth a word.
GROWTH = 1e3


def loops_of(schedule: Schedule) -> list[list[Unit]]:
    """Blocks that depend on each other all around, loop by loop."""
    import networkx as nx

    wires = nx.DiGraph((ref.block, unit.path) for unit in schedule.units for ref in signals_into(unit))
    around = [
        part
        for part in nx.strongly_connected_components(wires)
        if len(part) > 1 or any(wires.has_edge(path, path) for path in part)
    ]
    return [[unit for unit in schedule.units if unit.path in part] for part in around]


@dataclass(frozen=True)
class FeedbackPoles:
    """The poles of a loop in which nothing is sampled, at the start of the run."""

    controller: str
    poles: Any  # complex numbers

    @property
    def rightmost(self) -> complex:
        return complex(max(self.poles, key=lambda s: (s.real, s.imag)))

    def __str__(self) -> str:
        return f"closed-loop poles of '{self.controller}': rightmost {pole_text(self.rightmost)} rad/s of {len(self.poles)}"


def feedback_poles(experiment: Experiment) -> list[FeedbackPoles]:
    """The poles of every loop that a controller without a clock closes around a plant; none where they cannot be had."""
    loops = [loop for loop in loops_of(experiment.schedule) if is_continuous(loop) and has_feedback(loop)]
    if not loops or not len(slopes := slopes_at_start(experiment)):
        return []
    import numpy as np

    result = []
    for loop in loops:
        paths = {unit.path for unit in loop}
        own = [k for k, slot in enumerate(experiment.slots.x) if slot.path in paths]
        around = [unit for unit in loop if not is_plant(unit.kind)]
        controller = next((unit for unit in around if unit.kind.family == CONTROLLERS), around[0])
        result.append(FeedbackPoles(controller.path, np.linalg.eigvals(slopes[np.ix_(own, own)])))
    return result


def feedback_findings(experiment: Experiment, loops: list[FeedbackPoles]) -> Iterator[Finding]:
    """Loops without a clock that grow at the start of the run."""
    clock = experiment.clock
    span = float(clock.base * (clock.end - clock.start))
    for loop in loops:
        fastest = loop.rightmost
        if fastest.real > GROWTH_SHARE * abs(fastest) and fastest.real * span > math.log(GROWTH):
            yield Finding(
                "unstable-loop",
                f"the loop of '{loop.controller}', linearised at the start, is unstable: it has a pole at {pole_text(fastest)} "
                f"rad/s, so that it grows tenfold in {math.log(10) / fastest.real:.2g} s.",
                "Look at signs and gains.",
                key_place(experiment.diagram, "blocks"),
            )


def start_findings(experiment: Experiment) -> Iterator[Finding]:
    """Algebraic loops without a solution at the first instant."""
    if not experiment.program.source.loops:
        return
    run = Simulation(experiment, {}, draw_noise(experiment, 0), "python")
    try:
        status = run.machine.run_plain(experiment.clock.start)
    except Exception:  # of anybody's block: the run will say what is wrong, a look ahead must not fail
        return
    if status == kernel.LOOP:
        error = failure(experiment, run.machine, status)
        what = str(error).removesuffix(LOOP_REMEDY).rstrip()
        yield Finding("no-solution", what, LOOP_REMEDY, experiment.schedule.by_path[error.block].node.place)


def is_continuous(loop: list[Unit]) -> bool:
    return all(unit.group is None for unit in loop) and any(unit.kind.of(State) for unit in loop)


def has_feedback(loop: list[Unit]) -> bool:
    """Whether a whole plant is in the loop and something around it: parts of one that act on each other are none."""
    return any(unit.kind.family == CONTROLLERS for unit in loop) or (
        any(unit.kind.family == "robots" for unit in loop) and any(not is_plant(unit.kind) for unit in loop)
    )


def pole_text(pole: complex) -> str:
    return f"{pole.real:.3g}" + (f" +- {abs(pole.imag):.3g}j" if abs(pole.imag) > GROWTH_SHARE * abs(pole) else "")
