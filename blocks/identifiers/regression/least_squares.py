"""Identification by linear regression: the inverse dynamic model is linear in its parameters."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from blocksim.contract.block import RecordBlock, inport, model, outport, param, static
from blocksim.contract.declarations import Inport, Outport
from blocksim.errors import RecordError, did_you_mean, listing

from ..arm_channel import NUISANCES, ArmChannel, balanced, channel_rows, has_arm, late_shifted, projected_out, sought_channel
from ..physical import PHYSICAL, physical_found, with_physical
from .bias import drawn_bias, with_bias, with_draws
from .ends import ends_of, skip_problem
from .least_squares_report import estimates
from .parts import Parts, fitted_parts, with_parts
from .regression import Fit, all_present, fit, huber, on_rows, total, undetermined
from .spectrum import ERROR_KINDS, Spread, spectral_spread

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

    `drop_slow` leaves out the rows of a joint while its speed is below that share of its largest: at rest the sign of the speed
    is noise. `decimate` filters and decimates the effort and every column of W alike, by MATLAB's rule, after the regressor was
    made (Gautier 2001, 5.1): no distortion. Filters see the whole record; `skip` and `edges` leave out its ends afterwards.

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
    bias beyond the interval is warned of; `corrected` takes it away, `widened` adds it to the standard deviations. A delay biases
    as well: what a controller puts out and holds for Ts acts on average Ts / 2 later, and the mean of two samples of it
    (MovingAverage, window 2) fits motion without phase.

    On a flexible axis the encoder of the arm is compared with the motor's along the way: a lag or a zero between them, which
    would turn stiffness and damping into something else, is warned of by name (`channels: told`) or taken out (`channels:
    estimated`).
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
    skip: float = param(0.0, "time left out at either end, or [at the start, at the end]", "s", min=0, shape=(None,))
    edges: int | None = static(None, "rows left out at either end of the record; 5 of a decimation, unless said", kind=int)
    decimate: int = static(1, "one row in how many is kept, after filtering the columns", kind=int)
    smoothing: float = param(0.0, "lines of the spectrum, next to zero, that are smoothed together; 0: 32", min=0)
    bias: str = static("untold", "what is made of the bias that noise and filters of the motion cause",
                       choices=("untold", "told", "corrected", "widened"))  # fmt: skip
    draws: int = static(16, "draws of the noise, for bias and errors: drawn", kind=int)
    channels: str = static("told", "what is made of lag and zero of the encoder at the arm of a flexible axis",
                           choices=("off", "told", "estimated"))  # fmt: skip
    essential: float = param(0.0, "largest relative standard deviation of a parameter that is kept; 0: all are", min=0)
    physical: str = static("told", "whether estimates of a robot are those of a physical one", choices=PHYSICAL)
    column_errors: list[float] | None = static(None, "total: size of the error of each column, in its unit", kind=list)
    effort_error: float = param(0.0, "total: size of the error of the effort; 0: its root mean square", min=0)
    tau_model = outport("effort by the model with the estimates", size="rows")
    residual = outport("effort less that of the model", size="rows")

    def decided(self, plants: Mapping[str, Plant]) -> Mapping[str, Any]:
        if "model" not in plants:  # a block with mistakes, which are told elsewhere
            return {}
        plant = plants["model"]
        size = rows_at_once(plant) or plant.drive  # that of what is connected there
        unit = plant.effort_unit
        efforts = {name: replace(type(self).of(Outport)[name], unit=unit, size=size) for name in ("tau_model", "residual")}
        return {**motion_ports(plant), **efforts}

    def process(self, t, model, run: Run, **signals):
        names = chosen_names(model, self.settings["parameters"], self.settings["known"])
        channel = self.channel_of(t, model, names, signals)
        sought = channel if self.channels == "estimated" else None
        if sought is not None:
            signals = late_shifted(model, signals, sought.lag / sought.step)
            signals["phi_a"] = signals["phi_a"] - sought.zero
        rows = rows_of(model, signals)
        task = task_of(self, t, rows, signals, names, model)
        if sought is not None:
            ends = ends_of(t, self.skip, self.decimate, self.settings["edges"])
            task = projected_out(
                task, joint_after_joint(balanced(ends.rows(channel_rows(model, signals, 0.0, sought.step)), model))
            )
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
            result = replace(result.warned(*texts), details={**result.details, "arm_encoder": numbers})
        if more:
            result = replace(result, details={**result.details, **more})
        elif self.physical == "told":
            result = with_physical(result, model)
        if solution.parts is not None:
            result = with_parts(result, solution.parts)
        if self.errors == "drawn":
            paths = {n: f"{self.settings['model']}.{n}" for n in solution.names}
            result = with_draws(result, run, paths, self.draws, {})
        if self.bias != "untold":
            bias = drawn_bias(run, self.settings["model"], solution.names, solution.fit.values, self.draws)
            result = with_bias(result, bias, self.bias)
        return *(o[:, 0] if o.shape[1] == 1 else o for o in outputs), result

    def channel_of(self, t: np.ndarray, plant: Plant, names: tuple[str, ...], signals: Any) -> ArmChannel | None:
        """Lag and zero of an arm's encoder; None where the plant has none, or where nothing can be told."""
        if self.channels == "off" or not has_arm(plant) or "k1" not in names or self.method not in ("ols", "wls"):
            return None
        ends = ends_of(t, self.skip, self.decimate, self.settings["edges"])

        def task_at(moved: Mapping[str, np.ndarray]) -> LinearTask:
            return task_of(self, t, rows_of(plant, moved), moved, names, plant)

        def solve_with(task: LinearTask, columns: np.ndarray) -> tuple[np.ndarray, np.ndarray, float, float]:
            more = joint_after_joint(balanced(ends.rows(columns), plant))
            wide = replace(task, W=np.c_[task.W, more], names=(*task.names, *NUISANCES))
            result = solve(self, wide, wide.names)
            values = dict(zip(result.names, result.fit.values, strict=True))
            std = np.sqrt(np.diag(result.covariance))[-2:]
            inertia = float(values.get("Ja", task.held.get("Ja", 0.0)))
            return result.fit.values[-2:], std, float(values["k1"]), inertia

        try:
            return sought_channel(solve_with, task_at, plant, t, {n: np.asarray(v, dtype=float) for n, v in signals.items()})
        except RecordError:
            return None

    @staticmethod
    def check(decimate, column_errors, method, skip, edges, draws, parts):
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


def rows_at_once(plant: Plant) -> int:
    """How many equations a plant has, by the effort of a drive of its size; 0 where the size is not known yet."""
    size = plant.kind.of(Inport)[plant.drive].size
    if not isinstance(size, int):
        return 0
    return plant.effort(np.zeros(2) if size == 1 else np.zeros((2, size))).shape[1]


def motion_ports(plant: Plant) -> dict[str, Any]:
    """Inputs for what a plant's regressor asks for and for what drives it."""
    ports: dict[str, Any] = {}
    for name in (*plant.motion, plant.drive):
        declaration = plant.kind.declared.get(name)  # an acceleration may be no output of the plant
        if declaration is None:
            ports[name] = inport(f"{name} of the plant's regressor", size="any")
        else:
            size = getattr(declaration, "size", "any")
            ports[name] = inport(declaration.doc, declaration.unit, size=size if isinstance(size, int) else "any")
    return ports


@dataclass(frozen=True)
class RowChoice:
    """The regressor (samples, joints, parameters) and the effort (samples, joints)."""

    W: np.ndarray
    y: np.ndarray


@dataclass(frozen=True)
class LinearTask:
    """The stacked system: the rows of joint 1 in the order of time, then those of joint 2."""

    W: np.ndarray
    y: np.ndarray
    groups: np.ndarray
    used: np.ndarray
    names: tuple[str, ...]
    held: dict[str, float]
    effort: np.ndarray  # y with the part of the known parameters
    told: tuple[str, ...] = ()  # warnings so far


@dataclass(frozen=True)
class Found:
    names: tuple[str, ...]
    fit: Fit
    white: np.ndarray  # covariances
    coloured: Spread | None
    covariance: np.ndarray  # the one that was asked for
    parts: Parts | None = None

    @property
    def relative_std(self) -> np.ndarray:
        with np.errstate(divide="ignore", invalid="ignore"):
            return np.where(self.fit.values != 0, np.sqrt(np.diag(self.covariance)) / np.abs(self.fit.values), np.inf)


def rows_of(plant: Plant, signals: Mapping[str, np.ndarray]) -> RowChoice:
    all_present(signals)
    W, y = plant.regressor(signals), plant.effort(signals[plant.drive])
    if W.shape[:2] != y.shape:
        raise RecordError(f"the regressor of {plant.name} has {W.shape[1]} joints, and '{plant.drive}' has {y.shape[1]}.")
    return RowChoice(W, y)


def chosen_names(plant: Plant, parameters: list[str] | None, constants: Mapping[str, float] | None) -> tuple[str, ...]:
    """The parameters to estimate, in the plant's order."""
    for name in (*(parameters or ()), *(constants or ())):
        if name not in plant.parameters:
            raise RecordError(
                f"'{name}' is no parameter of the inverse model of {plant.name}. It has: {listing(plant.parameters)}."
                + did_you_mean(str(name), plant.parameters)
            )
    both = [n for n in parameters or () if n in (constants or {})]
    if both:
        raise RecordError(f"{listing(both)}: either estimated or known, not both.")
    names = tuple(n for n in plant.parameters if (parameters is None or n in parameters) and n not in (constants or {}))
    if not names:
        raise RecordError("no parameter is left to estimate.")
    return names


def task_of(
    block: Any, t: np.ndarray, rows: RowChoice, signals: Mapping[str, np.ndarray], names: tuple[str, ...], plant: Plant
) -> LinearTask:
    """The system to solve: known parameters to the other side, columns decimated, slow and outer rows marked."""
    values = block.settings["known"] or {}
    rest = [n for n in plant.parameters if n not in names]
    constants = {n: float(values.get(n, plant.values[n])) for n in rest}
    ends = ends_of(t, block.skip, block.decimate, block.settings["edges"])
    used = fast_rows(block.drop_slow, signals, rows.y.shape)[ends.picked]
    if not used.any():
        raise RecordError(no_rows(block, len(used), bool(np.any(signals.get("qd", 1.0)))))
    W, effort = balanced(ends.rows(rows.W), plant), balanced(ends.rows(rows.y), plant)
    y = effort - W[:, :, [plant.parameters.index(n) for n in rest]] @ np.array([constants[n] for n in rest])
    W = joint_after_joint(W[:, :, [plant.parameters.index(n) for n in names]])
    groups = np.repeat(np.arange(y.shape[1]), len(y))
    leaked = [n for n in rest if plant.truth and n not in values]
    warnings = (
        (f"leak of truth: {listing(leaked)} held at the plant's own value; give it under `known` instead.",) if leaked else ()
    )
    return LinearTask(W, y.T.ravel(), groups, used.T.ravel(), names, constants, effort.T.ravel(), warnings)


def joint_after_joint(W: np.ndarray) -> np.ndarray:
    """Rows (samples, joints, columns) one joint after another."""
    return W.transpose(1, 0, 2).reshape(-1, W.shape[2])


def fast_rows(share: float, signals: Mapping[str, np.ndarray], shape: tuple[int, ...]) -> np.ndarray:
    """Which rows are of a joint that moves."""
    if not share:
        return np.ones(shape, dtype=bool)
    if "qd" not in signals:
        raise RecordError("drop_slow: this plant has no signal 'qd' to tell a slow joint by.")
    speed = np.abs(signals["qd"]).reshape(len(signals["qd"]), -1)
    top = speed.max(axis=0, initial=0.0)
    return np.broadcast_to((speed >= share * top) & (top > 0), shape)


def no_rows(block: Any, left: int, moves: bool) -> str:
    if moves:
        return f"no row is left: drop_slow: {block.drop_slow:g} drops all of the {left} rows that skip and edges leave."
    return f"no row is left: no joint moves, so that drop_slow: {block.drop_slow:g} drops every row."


def solve(block: Any, task: LinearTask, names: tuple[str, ...]) -> Found:
    """One regression for these parameters by the block's method."""
    columns = [task.names.index(n) for n in names]
    W, used, method = task.W[:, columns], task.used, block.method
    if method in ("ols", "wls"):
        result = fit(W, task.y, task.groups if method == "wls" else None, used.astype(float))
    elif method == "irls":
        result = on_rows(used, W, task.y, huber(W[used], task.y[used], task.groups[used]))
    else:
        sizes = block.settings["column_errors"]
        if sizes is not None and len(sizes) != len(task.names):
            raise RecordError(f"column_errors: {len(task.names)} are wanted, one for each of {listing(task.names)}.")
        picked = None if sizes is None else [sizes[c] for c in columns]
        result = on_rows(used, W, task.y, total(W[used], task.y[used], picked, block.effort_error or None))
    if method == "total":  # the motion is not exact there, and the colour of the residuals not that of one error
        return Found(names, result, result.covariance, None, result.covariance)
    G = W * result.weights[:, None]
    rows = G @ result.bread, G, result.scores, used, task.groups
    spread = spectral_spread(*rows, block.smoothing)
    spread = replace(spread, covariance=undetermined(spread.covariance.copy(), result.null))
    parts = fitted_parts(*rows, block.parts, block.smoothing) if block.errors == "blocks" else None
    covariance = result.covariance if block.errors == "white" else spread.covariance
    return Found(names, result, result.covariance, spread, covariance, parts)


def essential(block: Any, task: LinearTask) -> tuple[Found, dict[str, str]]:
    """The regression once parameters that are known too badly were set to 0, one at a time, and why each was."""
    names, dropped = task.names, {}
    result = solve(block, task, names)
    while block.essential and len(names) > 1:
        share = result.relative_std
        worst = int(np.argmax(share))
        if share[worst] <= block.essential:
            break
        why = "not determined" if np.isinf(share[worst]) else f"relative std {100 * share[worst]:.3g} %"
        dropped[names[worst]] = f"{why}, more than {100 * block.essential:g} %"
        names = names[:worst] + names[worst + 1 :]
        result = solve(block, task, names)
    return result, dropped
