"""Whether the recorded effort is the very signal that drives the plant: then all noise in the loop is that of its sensors.

A controller turns readings into effort one to one. So given the readings so far such an effort is known, the next reading is the
plant's answer to it and noise, and the bound of any method is that of the plant under the effort as it was. An identifier that
compares the effort with that of a simulated loop stays far above it, for it takes what the loop has made of the noise, weakest
where the motion is. CLOE with `readings` of the sensor, begun where that one ended, reaches it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from blocksim.estimation.estimates import Estimates
    from blocksim.estimation.process import Run

NOISY = 0.1  # % of the effort that noise has made, at the least


def told_of_known_effort(estimates: Estimates, run: Run, port: str, where: str, left: float) -> Estimates:
    """The estimates with a note that a sharper method is known, where the diagram says so.

    The effort comes in by that port of the identifier, the plant stands at `where`, and `left` is the % of the effort that the
    twin leaves.
    """
    if not run.simulated or not left > NOISY or not drives(run, port, where):
        return estimates
    text = (
        "the effort is what drives the plant, so all noise is that of its sensors: CLOE with readings: [sensor] and output: the "
        "position, started here, is several times sharper, often ten times and more"
    )
    return replace(estimates, remarks=(*estimates.remarks, text))


def drives(run: Run, port: str, where: str) -> bool:
    """Whether the plant's only input is what the identifier reads there."""
    nodes = run.diagram.nodes
    if run.path not in nodes or where not in nodes:
        return False
    acting, read = sole_signal(nodes[where].inputs), nodes[run.path].inputs
    read = read.get(port) if isinstance(read, Mapping) else read
    return acting is not None and str(acting) == str(sole_signal(read))


def sole_signal(inputs: Any) -> Any:
    """The one signal that inputs name; None where there are several."""
    if isinstance(inputs, Mapping):
        inputs = list(inputs.values())
    if isinstance(inputs, (list, tuple)):
        return sole_signal(inputs[0]) if len(inputs) == 1 else None
    return inputs
