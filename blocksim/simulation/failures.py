"""Why a run ended early, in words that name the block, the state and the time."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ..contract.declarations import Param, State, StatePort
from ..errors import SimulationError, lines_of, listing
from ..schedule.enabling import EnableSwitch
from ..solvers import kernel, stores
from .experiment import Experiment
from .machine import DEFAULT_RTOL, Machine
from .modes import step_advice

if TYPE_CHECKING:
    from ..records.record import Record
#: Said of an observer or a recursive estimator.
ESTIMATE_ADVICE = (
    "It is the estimate that flew apart, and not what it looks at: look at its first values and at how far they may be off, at "
    "the noises it believes in (Q, R), and at whether its steps follow the plant (substeps, discretisation)."
)
LOOP_REMEDY = "Break it with a lag or a UnitDelay."
#: Relative tolerances below this ask for more digits than numbers have.
FINEST_RTOL = 1e-13


class InterruptedRun(KeyboardInterrupt):
    """Ctrl-C during a run; `record` holds everything up to there."""

    def __init__(self, time: float, record: Record):
        super().__init__(f"interrupted at t = {time:.9g} s; the record up to there is kept.")
        self.time, self.record = time, record


def failure(experiment: Experiment, machine: Machine, status: int) -> SimulationError:
    """Why the run ended, in words that name the block, and its line."""
    error = end_of_run(experiment, machine, status)
    unit = experiment.schedule.by_path.get(error.block)
    error.where = unit.node.place if unit is not None else None
    return error


def end_of_run(experiment: Experiment, machine: Machine, status: int) -> SimulationError:
    slots, t = experiment.slots, float(machine.f[stores.NOW])
    source = machine.program.source
    if status == kernel.CHATTERING:
        unit, name, _ = source.guards[int(machine.f[stores.FIRED])]
        switches = [u.path.rpartition(".")[0] for u in experiment.schedule.units if isinstance(u.block, EnableSwitch)]
        more = f" Where enable: of {listing(switches)} depends on what it puts out at the same instant, a UnitDelay between does."
        return SimulationError(
            f"chattering at t = {t:.9g} s: guard '{name}' of block '{unit.path}' ({type(unit.block).__name__}) fires again "
            "and again without time passing. A hysteresis, a smooth law, or a sampled block ends it."
            + (more if switches else ""),
            time=t,
            block=unit.path,
            state=name,
        )
    if status == kernel.LOOP:
        number = int(machine.m[-1]) - 1
        units = [experiment.schedule.units[u] for u, _ in source.loops[number]]
        names = " -> ".join(unit.path for unit in (*units, units[0])) + lines_of(unit.node.place for unit in units)
        return SimulationError(
            f"at t = {t:.9g} s the algebraic loop {names} has no solution that Newton's method finds, or any number is "
            f"one, where its gain is 1. {LOOP_REMEDY}",
            time=t,
            block=units[0].path,
        )
    if status == kernel.STANDSTILL:
        return stuck(experiment, machine)
    if status == kernel.TOLERANCE:
        index = hardest(experiment, machine)
        slot = slots.x[index]
        return SimulationError(
            f"at t = {t:.9g} s the solver {experiment.options.solver} cannot meet its tolerance: state '{slot.name}' of block "
            f"'{slot.path}' (now {machine.x[index]:.3g}) changes too fast. "
            + (explanation(experiment, machine, slot.path) or f"It may diverge; {tolerance_advice(experiment)}"),
            time=t,
            block=slot.path,
            state=slot.name,
        )
    return divergence(experiment, machine, t)


def divergence(experiment: Experiment, machine: Machine, t: float) -> SimulationError:
    """Which number left any credible scale, and what may help."""
    import numpy as np

    wild = ~(np.abs(machine.y) <= kernel.MOST_STATE)
    values, owners, most = machine.y, experiment.slots.x, kernel.MOST_STATE
    if not wild.any():
        values, owners, most = machine.m, experiment.slots.m, kernel.MOST_MEMORY
        wild = ~(np.abs(values) <= most)
    index = int(np.argmax(wild))
    slot, value = owners[index], float(values[index])
    scale = f", beyond any credible scale ({most:g})" if np.isfinite(value) else ""
    beside = experiment.schedule.by_path[slot.path].kind.family == "observers"
    advice = ESTIMATE_ADVICE if beside else step_advice(experiment)
    return SimulationError(
        f"diverged: at t = {t:.9g} s '{slot.name}' of block '{slot.path}' became {value:.3g}{scale}. The run ends there; its "
        f"record up to then is kept. {explanation(experiment, machine, slot.path) or advice}",
        time=t,
        block=slot.path,
        state=slot.name,
    )


def tolerance_advice(experiment: Experiment) -> str:
    """What a solver that chooses its steps may be given, beside what it has."""
    stiff = "" if experiment.options.solver == "rodas4" else "rodas4 suits stiff systems; "
    return f"{stiff}rtol and atol loosen the tolerance."


def hardest(experiment: Experiment, machine: Machine) -> int:
    """The state whose error is largest against its tolerance."""
    import numpy as np

    method = experiment.method
    errors = machine.k[method.numbers()["ERRORS"]] if method.compiled and method.adaptive else machine.x
    scale = machine.f[stores.ATOL] + machine.f[stores.RTOL] * np.abs(machine.x)
    return int(np.argmax(np.nan_to_num(np.abs(errors) / scale, nan=np.inf)))


def stuck(experiment: Experiment, machine: Machine) -> SimulationError:
    """A run that does not get on: where it is, at what pace, and what holds it up."""
    f, clock = machine.f, experiment.clock
    t, steps, events = float(f[stores.NOW]), int(f[stores.STEPS]), int(f[stores.EVENTS])
    start, end = clock.seconds(clock.start), clock.seconds(clock.end)
    block = state = ""
    if events > steps // 4:
        unit, state, _ = machine.program.source.guards[int(f[stores.FIRED])]
        block = unit.path
        why = f"{events} of them ended at an event, the last of guard '{state}' of block '{block}' ({type(unit.block).__name__})"
        way = "A wider hysteresis, a smooth law, or a sampled block ends that."
    elif len(machine.x):
        index = hardest(experiment, machine)
        block, state = experiment.slots.x[index].path, experiment.slots.x[index].name
        why = f"state '{state}' of block '{block}' (now {machine.x[index]:.3g}) asks for the shortest"
        way = f"What drives it may change too fast to be followed; {tolerance_advice(experiment)}"
        if experiment.method.adaptive and (experiment.options.rtol or DEFAULT_RTOL) < FINEST_RTOL:
            way = f"rtol {experiment.options.rtol:g} asks for more digits than numbers have; {FINEST_RTOL:g} is about the least."
    else:
        why, way = "no state asked for any: sample hits or events follow each other too closely", "Shorten the run."
    return SimulationError(
        f"at t = {t:.9g} s the run is stuck: {steps} steps took it from {start:.9g} s to there, and the end is at {end:.9g} s. "
        f"Of these steps, {why}. {way} In Python limit= allows more steps.",
        time=t,
        block=block,
        state=state,
    )


def explanation(experiment: Experiment, machine: Machine, path: str) -> str:
    """What a block says of its own states and settings, where its class can tell why no number comes of them: `why`."""
    unit = next(u for u in experiment.schedule.units if u.path == path)
    why: Any = getattr(unit.kind, "why", None)
    if why is None:
        return ""
    places = {name: experiment.slots.where.get((unit.index, name)) for name in unit.kind.of(Param)}
    states = {name: machine.x[at] for name, at in places.items() if at is not None and name in unit.kind.of(StatePort)}
    numbers = {name: float(machine.p[at][0]) for name, at in places.items() if at is not None and name not in unit.kind.of(State)}
    return str(why({**unit.settings, **numbers}, states))
