"""Identification by linear regression: the inverse dynamic model is linear in its parameters."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from blocksim.contract.block import RecordBlock, model, outport, param, static
from blocksim.contract.declarations import Outport
from blocksim.errors import DiagramError, RecordError

from ..arm_channel import channel_rows, projected_out
from ..noise.left_noise import told_of_left_noise
from ..physical import PHYSICAL, physical_found, with_physical
from ..weight_angle import UnsaidTorques
from .bias import UnphysicalPlantError, drawn_bias, with_bias, with_draws, with_noise_told
from .ends import ends_of, skip_problem
from .parts import with_parts
from .spectrum import ERROR_KINDS
from .system.channels import arm_channel_of, stacked_columns
from .system.lag import effort_lag_of
from .system.report import estimates
from .system.solution import essential
from .system.task import absent_parameters, chosen_names, fast_rows, motion_ports, open_signals, rows_at_once, rows_of, task_of
from .system.unsaid import unsaid_torques

if TYPE_CHECKING:
    from blocksim.contract.plant import Plant
    from blocksim.estimation.process import Run

__all__ = ["LeastSquares"]


class LeastSquares(RecordBlock):
    """min |G (effort - W x)|^2: parameters of a plant from its motion and its effort (Gautier 2001, eqs. 4 to 10).

    `model` names the plant; the inputs are what its regressor asks for and what drives it, such as q, qd, qdd and tau. W is that
    regressor along the motion, and the estimates are found by orthogonal factorisation.

    `ols` takes all rows alike. `wls` divides the rows of each joint by the standard deviation of that joint's own regression
    (6)-(8). `irls` is Huber's estimate, in which a residual beyond 1.345 scales counts linearly: for outliers. `total` also
    corrects W: it takes errors of all columns and rows for independent, with standard deviations in proportion to
    `column_errors` and `effort_error` (a column of error 0 is exact), else to the columns' own root mean squares.

    `drop_slow` leaves out the rows of a joint while its speed is below that share of its largest, and while that of a motor is
    which it shares with others (`drop_slow_motors`, the same share unless said): at rest the sign of the speed is noise.
    `decimate` filters and decimates the effort and every column of W alike, by MATLAB's rule, after the regressor was made
    (Gautier 2001, 5.1): no distortion. `skip` cuts off the ends of the record first, where derivatives are wild; `edges` then
    leaves out the rows that the filters spoil at the new ends.

    `parameters` are the ones to estimate; the others are held at `known` or at the plant's own values. With `essential`, the
    parameter of largest relative standard deviation is set to 0 and the rest estimated again, until none exceeds that share.
    Of a SerialRobot the estimates say whether a physical robot has them, and if not, which link stands in the way; `physical:
    required` gives the least squares estimates among physical robots (pseudo-inertias positive definite). Both need the extra
    `feasible`; intervals are those of the free estimates.

    Standard deviations are those of residuals with the colour they have (`errors: coloured`: from the spectrum of W'e near zero,
    with the degrees of freedom that leaves) or of white ones, (10) (`errors: white`); the details of the estimates hold both. By
    `errors: blocks` the record is also fitted in `parts`, and what these disagree by beyond their intervals is added; by `errors:
    drawn` the experiment is simulated again at the estimate, with other `draws` of its noise. All but that take
    the motion for exact: noise in it biases the estimates, and no standard deviation shows that. `bias: told` says how much: the
    experiment is simulated again with the estimates for parameters and other `draws` of its noise, through the same filters; to a
    measured record as much noise as its third differences show is added once more, which moves the estimate by as much again. A
    bias beyond the interval is warned of; `corrected` takes it away, `widened` adds it to the standard deviations. Without being
    asked, and without a simulation, the bias is told that noise makes which an IRWSmoother leaves in the motion, to first order,
    where it is above a third of an interval; noise that goes around the loop is named without a number. Where a tenth of a
    measured effort is left, two draws are made, and estimates that they move by a tenth are warned of. `bias: off` is silent.
    A delay biases as well: what a controller puts out and holds for Ts acts on average Ts / 2 later, and the mean of two samples
    of it (MovingAverage, window 2) fits motion without phase.

    On a flexible axis the encoder of the arm is compared with the motor's along the way: a lag or a zero between them, which
    would turn stiffness and damping into something else, is warned of by name (`channels: told`) or taken out (`channels:
    estimated`). On a measured record the effort is compared with the motion as well, and a lag that explains much is warned of.
    """

    family = "identification"
    icon = "0,0 1,0.9; 0.1,0.25 0.16,0.25; 0.3,0.15 0.36,0.15; 0.5,0.6 0.56,0.6; 0.72,0.5 0.78,0.5; 0.86,0.95 0.92,0.95"
    formula = r"\min_{x} \left| G \, (\tau - W x) \right|^{2}"
    example = """
format: 1
simulate: {stop: 4.0, solver: rk4, step: 1e-3, seed: 1}
blocks:
  push:   {type: Multisine, f_min: 0.25, f_max: 5.0, lines: 8, amplitude: 0.3, phases: schroeder}
  joint:  {type: GravityJoint, in: push}
  sensor: {type: TorqueSensor, std: 0.002, Ts: 1e-3, in: push}
  ls:     {type: LeastSquares, model: joint, in: {q: joint.q, qd: joint.qd, qdd: joint.qdd, tau: sensor}}
"""

    model: str = model("the plant whose parameters are wanted: a block of the diagram, or a type")
    method: str = static("wls", "how rows are weighted", choices=("ols", "wls", "irls", "total"))
    errors: str = static("coloured", "what the standard deviations take the residuals for", choices=ERROR_KINDS)
    parts: int = static(6, "errors: blocks: parts of the record that are fitted by themselves", kind=int)
    parameters: list[str] | None = static(None, "the parameters to estimate; all where none are named", kind=list)
    known: dict[str, float] | None = static(None, "values of parameters that are not estimated; else the plant's", kind=dict)
    drop_slow: float = param(0.0, "share of a joint's largest speed below which its rows are left out", min=0, below=1)
    drop_slow_motors: float | None = static(None, "the same of a motor that several joints turn", kind=(int, float))
    skip: float = param(0.0, "time left out at either end, or [at the start, at the end]", "s", min=0, shape=(None,))
    edges: int | None = static(None, "rows left out at either end of the record; 5 of a decimation, unless said", kind=int)
    decimate: int = static(1, "one row in how many is kept, after filtering the columns", kind=int)
    smoothing: float = param(0.0, "lines of the spectrum, next to zero, that are smoothed together; 0: 32", min=0)
    bias: str = static("untold", "what is made of the bias that noise and filters of the motion cause",
                       choices=("untold", "told", "corrected", "widened", "off"))  # fmt: skip
    draws: int = static(16, "draws of the noise, for bias and errors: drawn", kind=int)
    channels: str = static("told", "what is made of lag and zero of the encoder at the arm of a flexible axis",
                           choices=("off", "told", "estimated"))  # fmt: skip
    essential: float = param(0.0, "largest relative standard deviation of a parameter that is kept; 0: all are", min=0)
    physical: str = static("told", "whether estimates of a robot are those of a physical one", choices=PHYSICAL)
    column_errors: list[float] | None = static(None, "total: size of the error of each column, in its unit", kind=list)
    effort_error: float = param(0.0, "total: size of the error of the effort; 0: its root mean square", min=0)
    tau_model = outport("effort by the model with the estimates", size="rows")
    residual = outport("effort less that of the model", size="rows")

    def used_times(self, t: np.ndarray) -> np.ndarray:
        return t[ends_of(t, self.skip, self.decimate, self.settings["edges"]).picked]

    def decided(self, plants: Mapping[str, Plant]) -> Mapping[str, Any]:
        if "model" not in plants:  # a block with mistakes, which are told elsewhere
            return {}
        plant = plants["model"]
        size = rows_at_once(plant) or plant.drive  # that of what is connected there
        unit = plant.effort_unit
        efforts = {name: replace(type(self).of(Outport)[name], unit=unit, size=size) for name in ("tau_model", "residual")}
        return {**motion_ports(plant, open_signals(plant)), **efforts}

    def fits(self, path: str, schedule: Any) -> None:
        if self.settings["parameters"] == []:
            return  # runs, as far as it can, and is told
        unit, constants = schedule.unit(path), self.settings["known"]
        connected = [port for port, refs in unit.inputs.items() if refs]
        try:
            absent = absent_parameters(unit.plants["model"], connected, constants)
            chosen_names(unit.plants["model"], self.settings["parameters"], constants, absent)
        except RecordError as error:
            raise DiagramError(f"{error} See parameters and known.") from None

    def process(self, t, model, run: Run, **signals):
        absent = absent_parameters(model, signals, self.settings["known"])
        names = chosen_names(model, self.settings["parameters"], self.settings["known"], absent)
        unsaid = UnsaidTorques() if run.simulated else unsaid_torques(self, t, model, names, signals)
        straight = unsaid.put_right(model)  # for what is told; the estimates are of what was said
        channel = arm_channel_of(self, t, straight, names, signals)
        sought = channel if self.channels == "estimated" else None
        if sought is not None:
            signals = sought.removed_from(model, signals)
        rows = rows_of(model, signals)
        task = task_of(self, t, rows, signals, names, model)
        if sought is not None:
            ends = ends_of(t, self.skip, self.decimate, self.settings["edges"])
            task = projected_out(task, stacked_columns(channel_rows(model, signals, 0.0, sought.step), ends, model))
        solution, dropped = essential(self, task)
        more: dict[str, Any] = {}
        if self.physical == "required":
            solution, more = physical_found(solution, task, model)
        x = np.array([task.held.get(n, 0.0) for n in model.parameters])
        x[[model.parameters.index(n) for n in solution.names]] = solution.fit.values
        effort = rows.W @ x
        outputs = (effort, rows.y - effort)
        result = estimates(self, task, solution, dropped, model)
        if channel is not None:
            texts = channel.remarks() if self.channels == "told" else []
            numbers = {"lag": channel.lag, "lag_std": channel.lag_std, "zero": channel.zero, "zero_std": channel.zero_std}
            numbers["removed"] = sought is not None
            result = replace(result.warned(*texts), details={**result.details, "arm_encoder": numbers})
        result = result.warned(*unsaid.remarks())
        late = None if run.simulated else effort_lag_of(self, t, straight, names, signals, channel if sought is None else None)
        if late is not None:
            numbers = {"lag": late.lag, "lag_std": late.std}
            result = replace(result.warned(*late.remarks()), details={**result.details, "effort_lag": numbers})
        if more:
            result = replace(result, details={**result.details, **more})
        elif self.physical == "told":
            result = with_physical(result, model)
        if solution.parts is not None:
            result = with_parts(result, solution.parts)
        if self.errors == "drawn":
            paths = {n: f"{self.settings['model']}.{n}" for n in solution.names}
            result = with_draws(result, run, paths, self.draws, {})
        if self.bias == "untold":
            if sought is None and self.method != "total":
                picked = ends_of(t, self.skip, self.decimate, self.settings["edges"]).picked
                result = told_of_left_noise(result, self, run, model, signals, (task, solution, picked))
            return *(o[:, 0] if o.shape[1] == 1 else o for o in outputs), with_noise_told(result, run)
        if self.bias != "off":
            try:
                bias = drawn_bias(run, self.settings["model"], solution.names, solution.fit.values, self.draws)
                result = with_bias(result, bias, self.bias)
            except UnphysicalPlantError as error:
                result = result.warned(f"{error} So their bias is not known, and they are no answer.")
        return *(o[:, 0] if o.shape[1] == 1 else o for o in outputs), result

    def judged_rows(self, plant: Plant, signals: Mapping[str, Any]) -> np.ndarray | None:
        if not self.drop_slow:
            return None
        shape = plant.effort(signals[plant.drive]).shape
        return fast_rows(self.drop_slow, signals, shape, plant, self.settings["drop_slow_motors"])

    @staticmethod
    def check(decimate, column_errors, method, skip, edges, draws, parts, drop_slow_motors):
        if drop_slow_motors is not None and not 0 <= drop_slow_motors < 1:
            return f"drop_slow_motors: a share of at least 0 and below 1 is wanted, found {drop_slow_motors}."
        if parts < 2:
            return f"parts: a whole number of at least 2 is wanted, found {parts}."
        if draws < 2:
            return f"draws: a whole number of at least 2 is wanted, found {draws}."
        if text := skip_problem(skip, edges, decimate):
            return text
        if column_errors is not None and method != "total":
            return "column_errors belong to method: total."
        if column_errors is not None and not all(isinstance(e, (int, float)) and e >= 0 for e in column_errors):
            return f"column_errors: numbers of at least 0 are wanted, found {column_errors}."
        return None
