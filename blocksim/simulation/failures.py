"""Why a run ended early, in words that name the block, the state and the time."""

from __future__ import annotations

from ..errors import SimulationError
from ..solvers import kernel, stores
from .experiment import Experiment
from .machine import Machine
from .modes import step_advice


def failure(experiment: Experiment, machine: Machine, status: int) -> SimulationError:
    """Why the run ended, in words that name the block."""
    import numpy as np

    slots, t = experiment.slots, float(machine.f[stores.NOW])
    source = machine.program.source
    if status == kernel.CHATTERING:
        unit, name, _ = source.guards[int(machine.f[stores.FIRED])]
        return SimulationError(
            f"chattering at t = {t:.9g} s: guard '{name}' of block '{unit.path}' ({type(unit.block).__name__}) fires again "
            "and again without time passing. A hysteresis, a smooth law, or a sampled block ends it.",
            time=t,
            block=unit.path,
            state=name,
        )
    if status == kernel.LOOP:
        number = int(machine.m[-1]) - 1
        paths = [experiment.schedule.units[u].path for u, _ in source.loops[number]]
        names = " -> ".join([*paths, paths[0]])
        return SimulationError(
            f"at t = {t:.9g} s the algebraic loop {names} has no solution that Newton's method finds. Break it with a "
            "lag or a UnitDelay.",
            time=t,
            block=experiment.schedule.units[source.loops[number][0][0]].path,
        )
    if status == kernel.TOLERANCE:
        named, method = experiment.options.solver, experiment.method
        errors = machine.k[method.numbers()["ERRORS"]] if method.compiled else machine.x
        scale = machine.f[stores.ATOL] + machine.f[stores.RTOL] * np.abs(machine.x)
        ratio = np.nan_to_num(np.abs(errors) / scale, nan=np.inf)
        slot = slots.x[int(np.argmax(ratio))]
        return SimulationError(
            f"at t = {t:.9g} s the solver {named} cannot meet its tolerance: state '{slot.name}' of block "
            f"'{slot.path}' (now {machine.x[int(np.argmax(ratio))]:.3g}) changes too fast. It may diverge; rodas4 suits "
            "stiff systems; rtol and atol loosen the tolerance.",
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
    return SimulationError(
        f"diverged: at t = {t:.9g} s '{slot.name}' of block '{slot.path}' became {value:.3g}{scale}. The run ends there; its "
        f"record up to then is kept. {step_advice(experiment)}",
        time=t,
        block=slot.path,
        state=slot.name,
    )
