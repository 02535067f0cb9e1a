"""Recursive least squares: the estimates of a regression, improved with every sample; and a plant's regressor as a signal."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from blocksim.contract.block import RecordBlock, SampledBlock, fixed, inport, memory, model, outport, param, static, table
from blocksim.contract.plant import Plant
from blocksim.contract.vocabulary import array, chained, identity, multiply, rows, scale, sqrt, zeros
from blocksim.errors import DiagramError, RecordError, did_you_mean, listing

from ..identifiers.regression.system.task import fast_rows, motion_ports, rows_at_once
from .correction import sigmas_of
from .observed import estimate_port, spread_over

__all__ = ["RecursiveLeastSquares", "Regressor"]

#: An element on the diagonal of the factor below this share of its column means: the rows so far do not tell this parameter.
DEPENDENT = 1e-11
#: Standard deviation of a parameter of which nothing is known yet.
UNKNOWN = 1e30


def rotated(F, row, d):
    """Givens' rotations turn a new row into the triangular factor, right sides included; what is left of the row's right side."""
    F, row = array(F), array(row)
    for k in range(d):
        old, new = F[k, k], row[k]
        if new != 0.0:
            length = sqrt(old * old + new * new)
            c, s = old / length, new / length
            for j in range(k, d + 1):
                above, below = F[k, j], row[j]
                F[k, j] = c * above + s * below
                row[j] = c * below - s * above
    return F, row[d]


def determined(F, d):
    """1 where the rows so far determine all parameters, else 0."""
    result = 1.0
    for k in range(d):
        column = 0.0
        for i in range(k + 1):
            column = column + F[i][k] ** 2
        if F[k][k] ** 2 <= DEPENDENT * DEPENDENT * column:
            result = 0.0
    return result


def back_substituted(F, d):
    """theta of F theta = g, whose g is the last column, by back substitution; P = F^-1 F^-T."""
    theta, inverse, P = zeros(d), zeros(d, d), zeros(d, d)
    for r in range(d):
        i = d - 1 - r
        total = F[i][d]
        for j in range(i + 1, d):
            total = total - F[i][j] * theta[j]
        theta[i] = total / F[i][i]
    for j in range(d):
        inverse[j, j] = 1.0 / F[j][j]
        for r in range(j):
            i = j - 1 - r
            total = 0.0
            for k in range(i + 1, j + 1):
                total = total + F[i][k] * inverse[k, j]
            inverse[i, j] = -total / F[i][i]
    for i in range(d):
        for j in range(i, d):
            total = 0.0
            for k in range(j, d):
                total = total + inverse[i, k] * inverse[j, k]
            P[i, j] = total
            P[j, i] = total
    return theta, P


class RecursiveLeastSquares(SampledBlock):
    """theta += K (y - w theta), K = P w^T / (R + w P w^T): least squares of all samples so far (Gautier 2001, section 5.1).

    Each sample brings `rows` equations y = w theta; w holds their coefficients, row by row. With `model`, the parameters and the
    rows are those of that plant's inverse model, and Regressor makes w and y; else `names` are the parameters.

    What is carried is the triangular factor F of the rows so far, P = (F^T F)^-1, turned by Givens' rotations: the same estimates
    as with K, without the loss of digits that a large first P costs. With `forgetting` 1 they are those of least squares over
    all samples so far. A factor below 1 weighs a sample k steps back by its k-th power.

    Nothing need be known at the start: until the rows determine all parameters, for `count` samples at least, theta stays at
    `start` and std says 1e30. With P0, variances for all or one each, `start` is knowledge and counts.

    R is the variance of the equations' errors, for all or one for each row: with several joints these are the weights of (6).
    Where it is not given, all rows weigh alike and std uses the variance of the residuals so far.

    Outputs: theta, and each parameter by name, such as J_hat; std; P; residual, y - w theta before this sample; loss, the
    weighted sum of squares, and rows_used, both with forgetting. Noise in w biases the estimates, as in all least squares.
    """

    family = "observers"
    icon = "0,0.7 1,0.7; 0,0 0.08,0.45 0.16,0.2 0.28,0.9 0.42,0.55 0.6,0.78 0.8,0.68 1,0.7"
    example = """
format: 1
simulate: {stop: 4.0, solver: rk4, step: 1e-3, seed: 1}
blocks:
  push:   {type: Multisine, f_min: 0.25, f_max: 5.0, lines: 8, amplitude: 0.3, phases: schroeder}
  joint:  {type: GravityJoint, in: push}
  sensor: {type: TorqueSensor, std: 0.002, Ts: 1e-3, in: push}
  rows:   {type: Regressor, model: joint, in: {q: joint.q, qd: joint.qd, qdd: joint.qdd, tau: sensor}}
  rls:    {type: RecursiveLeastSquares, Ts: 1e-3, model: joint, R: 4e-6, in: {w: rows.w, y: rows.y}}
"""

    model: str = model("the plant whose parameters are estimated", required=False)
    names: list[str] | None = static(None, "names of the parameters, where no plant has them", kind=list)
    rows: int | None = static(None, "equations in each sample; those of the plant, or 1", kind=int)
    starts_from = ("start",)
    start: Any = static(None, "first values of the parameters, {J: 2e-4}, or the block that found them; 0 for the others; "
                        "'truth': the plant's", kind=(dict, str))  # fmt: skip
    P0: Any = param(None, "variances of the first values, for all or one each; nothing is known of them unless given",
                    above=0, shape=(None,))  # fmt: skip
    R: Any = param(None, "variance of an equation's error, for all or one for each row", above=0, shape=(None,))
    forgetting: float = param(1.0, "forgetting factor lambda", above=0, max=1)
    count: int | None = static(None, "samples before the first estimate; as many as parameters unless given", kind=int)

    # What the plant or the names decide; these stand for one parameter in one equation.
    d = fixed(1, "parameters")
    dd = fixed(1, "elements of P")
    m = fixed(1, "equations in each sample")
    dm = fixed(1, "coefficients in each sample")
    df = fixed(2, "elements of the factor and its right side")
    wait = fixed(1, "samples before the first estimate")

    w = inport("coefficients of the equations, row by row", size="dm")
    y = inport("right sides of the equations", size="m")
    theta = outport("estimated parameters", size="d")
    std = outport("their standard deviations", size="d")
    P = outport("their covariance, row by row", size="dd")
    residual = outport("y less w times the estimates before this sample", size="m")
    factor = outport("triangular factor of all rows so far, a right side at the end of each row", size="df")
    loss = outport("weighted sum of squares of what is left")
    rows_used = outport("equations so far, with forgetting")

    variances = table("variance of each equation's error")
    sure = table("1 where that variance was given, 1 where the start counts")
    factor_next: Any = memory(0.0, "factor of all rows before", size="df", array=True, internal=True)
    theta_next: Any = memory(0.0, "estimates before", size="d", array=True, internal=True)
    past: Any = memory(0.0, "loss, equations, samples so far", size=3, array=True)

    @staticmethod
    def output(w, y, factor_next, theta_next, past, variances, sure, forgetting, d, m, wait):
        W, F = rows(w, m, d), scale(rows(factor_next, d, d + 1), sqrt(forgetting))
        residual = multiply(W, scale(theta_next, -1.0), plus=y)
        loss, used = forgetting * past[0], forgetting * past[1]
        for j in range(m):
            weight = 1.0 / sqrt(variances[j])
            F, rest = rotated(F, scale(chained(W[j], (y[j],)), weight), d)
            loss = loss + rest * rest
            counts = 0.0
            for i in range(d):
                counts = 1.0 if W[j][i] != 0.0 else counts
            used = used + counts
        freedom = used - d if sure[1] == 0.0 else used
        variance = 1.0 if sure[0] > 0.0 else (loss / freedom if freedom > 0.0 else UNKNOWN)
        theta, P = theta_next, scale(identity(d), UNKNOWN * UNKNOWN)
        if (past[2] + 1.0 >= wait or sure[1] > 0.0) and determined(F, d) > 0.0:
            theta, P = back_substituted(F, d)
            P = scale(P, variance)
        return theta, sigmas_of(P, d), P, residual, F, loss, used, theta

    @staticmethod
    def update(theta, factor, loss, rows_used, factor_next, theta_next, past):
        return {"factor_next": factor, "theta_next": theta, "past": (loss, rows_used, past[2] + 1.0)}

    @staticmethod
    def table_variances(R, m):
        return np.ones(m) if R is None or np.size(R) == 0 else spread_over(R, [f"row {k}" for k in range(1, m + 1)], "R")

    @staticmethod
    def table_sure(R, P0):
        return np.array([float(v is not None and np.size(v) > 0) for v in (R, P0)])

    @staticmethod
    def table_theta_next(model, names, start):
        return first_values(model, names, start)

    @staticmethod
    def table_factor_next(model, names, start, P0):
        first = first_values(model, names, start)
        prior = np.zeros((len(first), len(first) + 1))
        if P0 is not None and np.size(P0) > 0:
            weight = 1.0 / np.sqrt(spread_over(P0, parameter_names(model, names), "P0"))
            prior[:, :-1], prior[:, -1] = np.diag(weight), weight * first
        return prior

    @staticmethod
    def check(names, rows, count):
        for name, value in (("rows", rows), ("count", count)):
            if value is not None and value < 1:
                return f"{name}: a whole number of at least 1 is wanted, found {value}."
        if names is not None and (not names or not all(isinstance(n, str) and n.isidentifier() for n in names)):
            return f"names: a list of names is wanted, such as [J, Fv, Fc], found {names}."
        if names is not None and len(set(names)) < len(names):
            return f"names: {listing(n for n in dict.fromkeys(names) if names.count(n) > 1)} twice."
        return None

    def decided(self, plants: Mapping[str, Plant]) -> Mapping[str, Any]:
        settings, plant = self.settings, plants.get("model")
        names = tuple(parameter_names(plant, settings["names"]))
        rows = settings["rows"] or (rows_at_once(plant) if plant is not None else 1) or 1
        first_values(plant, settings["names"], settings["start"])
        wait = settings["count"] or len(names)
        d = len(names)
        parts: dict[str, Any] = {"d": d, "dd": d * d, "m": rows, "dm": d * rows, "df": d * (d + 1), "wait": wait}
        for name in names:
            parts[f"{name}_hat"] = estimate_port(plant, name) if plant is not None else outport(f"estimate of {name}")
        return {**parts, "estimated": names}

    def prior(self, plants: Mapping[str, Plant]) -> Mapping[str, tuple[float, float]]:
        settings, plant = self.settings, plants.get("model")
        if settings["P0"] is None:
            return {}
        names = parameter_names(plant, settings["names"])
        spreads, first = (
            np.sqrt(spread_over(settings["P0"], names, "P0")),
            first_values(plant, settings["names"], settings["start"]),
        )
        return {n: (float(v), float(s)) for n, v, s in zip(names, first, spreads, strict=True)}


def parameter_names(plant: Plant | None, names: list[str] | None) -> list[str]:
    """The parameters' names."""
    if plant is None and not names:
        raise DiagramError("names: name the parameters, or a plant under `model` that has them.")
    if plant is not None:
        plant.row_function()  # which says what is missing
        if names is not None and tuple(names) != plant.parameters:
            raise DiagramError(f"names: those of {plant.name} are {listing(plant.parameters)}; leave out either names or model.")
    return list(plant.parameters) if plant is not None else list(names or ())


def first_values(plant: Plant | None, names: list[str] | None, start: Mapping[str, Any] | str | None) -> np.ndarray:
    """Where the estimates start; 0 in place of what another block is yet to find."""
    names_of = parameter_names(plant, names)
    firsts = dict.fromkeys(names_of, start) if isinstance(start, str) else dict(start or {})
    for name in firsts:
        if name not in names_of:
            raise DiagramError(
                f"start: '{name}' is not estimated. These are: {listing(names_of)}." + did_you_mean(name, names_of)
            )
    truth = plant.settings if plant is not None else {}
    values = {n: truth.get(n, 0.0) if v == "truth" else v for n, v in firsts.items()}
    return np.array([0.0 if isinstance(values.get(n), str) else float(values.get(n, 0.0)) for n in names_of])


class Regressor(RecordBlock):
    """w(q, qd, qdd) and y of y = w x: the rows of a plant's inverse dynamic model along a motion (Gautier 2001, eq. 3).

    The inputs are what the plant's regressor asks for and what drives it, such as q, qd, qdd and tau. w has one column for each
    coefficient, joint by joint; y is the effort, a column for each joint. Both can be filtered and decimated alike (Decimate)
    before RecursiveLeastSquares reads them: a linear relation stays what it is. With `drop_slow` the row of a joint is all zeros
    while its speed is below that share of its largest, where the sign of the speed is noise: such a row says nothing.
    """

    family = "identification"
    icon = "0.1,0 0,0 0,1 0.1,1; 0.9,0 1,0 1,1 0.9,1; 0.2,0.75 0.8,0.75; 0.2,0.5 0.8,0.5; 0.2,0.25 0.8,0.25"
    formula = r"y = w(q, \dot{q}, \ddot{q}) \, x"
    example = """
format: 1
simulate: {stop: 4.0, solver: rk4, step: 1e-3}
blocks:
  push:  {type: Multisine, f_min: 0.25, f_max: 5.0, lines: 8, amplitude: 0.3, phases: schroeder}
  joint: {type: GravityJoint, in: push}
  rows:  {type: Regressor, model: joint, in: {q: joint.q, qd: joint.qd, qdd: joint.qdd, tau: push}}
  slow:  {type: Decimate, factor: 20, in: rows.w}
"""

    model: str = model("the plant whose inverse model it is: a block of the diagram, or a type")
    drop_slow: float = param(0.0, "share of a joint's largest speed below which its row is zero", min=0, below=1)
    # What the plant decides: these stand for one parameter of one joint.
    w = outport("coefficients of the inverse model, joint by joint")
    y = outport("effort of each joint")

    def decided(self, plants: Mapping[str, Plant]) -> Mapping[str, Any]:
        if "model" not in plants:  # a block with mistakes, which are told elsewhere
            return {}
        plant = plants["model"]
        rows = rows_at_once(plant)
        if not rows:
            raise DiagramError(
                f"model: how many joints {plant.kind.__name__} has is not known before it runs; Regressor needs to know."
            )
        parts: dict[str, Any] = motion_ports(plant)
        parts["w"] = outport("coefficients of the inverse model, joint by joint", size=rows * len(plant.parameters))
        effort = plant.effort_unit
        return {**parts, "y": outport("effort of each joint", effort, size=rows)}

    def process(self, t, model, **signals):
        for name, values in signals.items():
            if not np.isfinite(values).all():
                raise RecordError(f"input '{name}': {np.sum(~np.isfinite(values))} samples are missing or infinite.")
        W, y = model.regressor(signals), model.effort(signals[model.drive])
        fast = fast_rows(self.drop_slow, signals, y.shape, model)
        W, y = np.where(fast[..., None], W, 0.0), np.where(fast, y, 0.0)
        return W.reshape(len(t), -1), y[:, 0] if y.shape[1] == 1 else y
