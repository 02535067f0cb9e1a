"""The Cramer-Rao bound of a run of a study: what no unbiased method can be better than, by the information of its readings.

Inputs that are recorded stay what they were: a torque in a loop is known, whatever noise went around to make it.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from ..errors import BlocksimError
from ..estimation.process import Run
from ..estimation.twin import twin_of
from ..estimation.twin_diagram import Played
from ..planning.fisher import Fisher, fisher
from ..planning.measuring.measuring import reading_rows
from ..planning.measuring.readings import setting_value, whole_name
from ..planning.sensitivities import Differences

if TYPE_CHECKING:
    from ..records.record import Record
    from ..simulation.experiment import Experiment
    from .spec import BoundSpec


def bound_of(spec: BoundSpec, ready: Experiment, changes: Mapping[str, Any], record: Record) -> tuple[dict[str, float], str]:
    """The standard deviation each parameter cannot fall below; nothing where a noise is 0, or why the model cannot be run."""
    stds = {signal: setting_value(ready, changes, std) for signal, std in spec.outputs.items()}
    if not all(std > 0 for std in stds.values()):
        return {}, ""
    try:
        result = fisher_of(spec, stds, ready, changes, record)
    except BlocksimError as error:
        return {}, f"no Cramer-Rao bound, since the run without noise cannot be made with other parameters: {error}"
    dead = [name for name, lost in zip(spec.parameters, result.dead, strict=True) if lost]
    words = (
        f"no Cramer-Rao bound for {', '.join(dead)}: no output depends on it. Those of the others are without it." if dead else ""
    )
    return {name: float(std) for name, std in zip(spec.parameters, result.stds, strict=True)}, words


def fisher_of(
    spec: BoundSpec, stds: Mapping[str, float], ready: Experiment, changes: Mapping[str, Any], record: Record
) -> Fisher:
    """The information of the readings of a run."""
    import numpy as np

    diagram = ready.schedule.diagram
    inputs = [whole_name(diagram, name, "inputs") for name in spec.inputs]
    t = record.time(inputs[0]) if inputs else record.t
    signals = [whole_name(diagram, name) for name in stds]
    twin = twin_of(Run(diagram, changes, record, "bound"), t, signals, [Played(n, record[n], hold="zero") for n in inputs])
    sizes = [1 if values.ndim == 1 else values.shape[1] for values in twin.run({}).values()]
    scale = np.repeat(list(stds.values()), sizes)
    values = {name: setting_value(ready, changes, name) for name in spec.parameters}
    differences = Differences(twin, signals, scale, reading_rows(t, spec.every or None))
    return fisher(differences.sensitivities(values, checked=False).slopes.reshape(-1, len(values)))
