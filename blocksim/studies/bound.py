"""The Cramer-Rao bound of a run: what no unbiased method can be better than, from the outputs' dependence on the parameters.

M = sum psi psi' / s^2 over all readings, psi = dy/dtheta at the truth by central differences of the run without its
noise; the bound of parameter i is sqrt((M^-1)_ii). Inputs that are recorded stay what they were: a torque in a loop is known,
whatever noise went around to make it.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from ..diagram.diagram import signals
from ..errors import BlocksimError, SimulationError
from ..estimation.process import Run
from ..estimation.twin import Played, twin_of
from ..simulation.overrides import Overrides

if TYPE_CHECKING:
    import numpy as np

    from ..records.record import Record
    from ..simulation.experiment import Experiment
    from .spec import BoundSpec

#: Step of the differences, as a share of a parameter; of a parameter that is 0, itself.
STEP, STEP_AT_ZERO = 1e-4, 1e-6
#: Information whose scaled eigenvalues spread more than this says nothing of some combination of the parameters.
SINGULAR = 1e-13


def bound_of(asked: BoundSpec, ready: Experiment, changes: Mapping[str, Any], record: Record) -> tuple[dict[str, float], str]:
    """The standard deviation each parameter cannot fall below; nothing where a noise is 0, or why the model cannot be run."""
    stds = {signal: value_of(ready, changes, std) for signal, std in asked.outputs.items()}
    if not all(std > 0 for std in stds.values()):
        return {}, ""
    try:
        psi = sensitivities(asked, stds, ready, changes, record)
    except BlocksimError as error:
        return {}, f"no Cramer-Rao bound, since the run without noise cannot be made with other parameters: {error}"
    return dict(zip(asked.parameters, smallest_stds(psi.T @ psi), strict=True)), ""


def value_of(ready: Experiment, changes: Mapping[str, Any], given: float | str) -> float:
    """A number, or that of a setting: 'y.std'."""
    if not isinstance(given, str):
        return float(given)
    return float(Overrides(changes).value(ready.schedule, given))


def sensitivities(
    asked: BoundSpec, stds: Mapping[str, float], ready: Experiment, changes: Mapping[str, Any], record: Record
) -> np.ndarray:
    """dy/dtheta in standard deviations of y: a row for each reading of each output, a column for each parameter."""
    import numpy as np

    diagram = ready.schedule.diagram
    unheard: list[str] = []  # the plan has checked the names
    inputs = [f"{ref.block}.{ref.port}" for name in asked.inputs for ref in signals(diagram, name, unheard.append)]
    t = record.time(inputs[0]) if inputs else record.t
    played = [Played(name, record[name], hold="zero") for name in inputs]
    twin = twin_of(Run(diagram, changes, record, "bound"), t, tuple(stds), played)
    rows = slice(None, None, rows_apart(asked.every, t))
    columns = []
    for name in asked.parameters:
        truth = value_of(ready, changes, name)
        step = STEP * abs(truth) or STEP_AT_ZERO
        below = truth - step if truth else truth  # a friction or a gap of 0 has nothing below
        ends = twin.run_many([{name: truth + step}, {name: below}])
        for end in ends:
            if isinstance(end, SimulationError):
                raise end
        up, down = ([end[s][rows].ravel() / std for s, std in stds.items()] for end in ends if isinstance(end, dict))
        columns.append((np.concatenate(up) - np.concatenate(down)) / (truth + step - below))
    return np.stack(columns, axis=1)


def rows_apart(every: float, t: np.ndarray) -> int:
    """How many rows of the record are between two readings."""
    return max(1, round(every / (float(t[-1] - t[0]) / (len(t) - 1)))) if every else 1


def smallest_stds(information: np.ndarray) -> list[float]:
    """sqrt(diag(M^-1)); infinite where the readings do not tell the parameters apart."""
    import numpy as np

    scale = np.sqrt(np.diag(information))
    if not (scale > 0).all():
        return [float("inf")] * len(scale)
    values, vectors = np.linalg.eigh(information / np.outer(scale, scale))
    if values[0] < SINGULAR * values[-1]:
        return [float("inf")] * len(scale)
    return [float(v) for v in np.sqrt((vectors**2 / values).sum(axis=1)) / scale]
