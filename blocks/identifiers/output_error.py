"""Output error: parameters for which a plant alone, driven as it was, repeats what was measured."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from blocksim.contract.block import inport, model, static
from blocksim.contract.declarations import Inport
from blocksim.contract.plant import Plant
from blocksim.errors import DiagramError, RecordError
from blocksim.estimation.process import Run
from blocksim.estimation.twin_diagram import Played

from .cloe import CLOE
from .output.trial import played_drive
from .regression.regression import all_present

__all__ = ["OutputError"]


class OutputError(CLOE):
    """min sum |y - y_s(theta)|^2: the plant is simulated alone, driven by its recorded input u (output error, open loop).

    As CLOE, but the drive of `model` is what was recorded, held between samples as a digital controller does (`hold: zero`),
    joined by straight lines (`hold: linear`) or by a cubic spline (`hold: cubic`, for what moves, such as a motor's
    angle, whose speed that gives too). Only what `output` depends on is simulated. An unstable or integrating plant drifts
    away over a long record, and noise of a controller that reacted to y is in u too: with feedback and much noise prefer CLOE.
    Unknown initial states are parameters like others: `joint.q`.
    """

    icon = (
        "0,0.5 0.0833,0.7 0.167,0.846 0.25,0.9 0.333,0.846 0.417,0.7 0.5,0.5 0.583,0.3 0.667,0.154 0.75,0.1 0.833,0.154 "
        "0.917,0.3 1,0.5; 0,0.218 0.0833,0.462 0.167,0.716 0.25,0.913 0.333,0.999 0.417,0.951 0.5,0.782 0.583,0.538 "
        "0.667,0.284 0.75,0.0873 0.833,0.00146 0.917,0.0492 1,0.218"
    )
    example = """
format: 1
simulate: {stop: 2.0, solver: rk4, step: 1e-3, every: 1e-2, seed: 1}
blocks:
  push:  {type: PRBS, amplitude: 0.5, bits: 6, clock: 0.1}
  joint: {type: GravityJoint, J: 0.02, Fv: 0.05, Fc: 0.1, Ms: 0.03, N: 1, in: push}
  q_hat: {type: TorqueSensor, Ts: 1e-2, std: 1e-3, in: joint.q}
  found: {type: OutputError, model: joint, parameters: [joint.J, joint.Fv], output: joint.q, in: {u: push, y: q_hat}}
"""
    method = "output error"
    repeats_loop = False  # its drive is what was recorded

    model: str = model("the plant that the recorded input drives, a block of the diagram")
    hold: str = static("zero", "the input between its samples", choices=("zero", "linear", "cubic"))
    u = inport("recorded input of the plant", size="any")

    def port_units(self, plants: Mapping[str, Plant]) -> Mapping[str, str]:
        return {"u": plants["model"].unit_of(plants["model"].drive)}

    def process(self, t, run: Run, model: Plant, u, y):
        return self.process_together([{"t": t, "run": run, "model": model, "u": u, "y": y}])[0]

    def process_together(self, records: Sequence[Mapping[str, Any]]) -> list[tuple[Any, ...]]:
        return self.identify([self.driven(**record) for record in records])

    def driven(
        self, t: np.ndarray, run: Run, model: Plant, u: Any, y: Sequence[np.ndarray]
    ) -> tuple[np.ndarray, Run, Sequence[np.ndarray], list[Played]]:
        """A record with its drive made ready to be played."""
        scope = run.path.rpartition(".")[0]
        path = f"{scope}.{self.settings['model']}" if scope else self.settings["model"]
        values = np.asarray(u, dtype=float)
        all_present({"u": values})
        angle = model.kind.of(Inport)[model.drive].size == 2 and values.reshape(len(values), -1).shape[1] == 1
        if angle and self.hold != "cubic":
            raise RecordError(
                f"u is one signal, and {model.name} takes an angle and its speed: hold: cubic makes the speed of it."
            )
        return t, run, y, [played_drive(f"{path}.{model.drive}", t, values, self.hold, angle)]

    def fits(self, path: str, schedule: Any) -> None:
        plant = schedule.unit(path).plants["model"]
        if not plant.path:
            raise DiagramError(f"model: {self.settings['model']} is a type; name the block of the diagram that u drives.")
        if not plant.kind.of(Inport):
            raise DiagramError(f"model: {plant.name} has no input that u could drive.")
        super().fits(path, schedule)
