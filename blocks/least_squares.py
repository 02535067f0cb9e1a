"""Identification by linear regression: the inverse dynamic model is linear in its parameters."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING, Any, cast

import numpy as np

from blocksim.block import Block, RecordBlock, inport, model, outport, param, static
from blocksim.declarations import Inport, Param
from blocksim.errors import RecordError, did_you_mean, listing
from blocksim.estimates import Estimates

from .filters import decimate, kept
from .regression import Fit, all_present, coloured, fit, huber, ljung_box, null_words, on_rows, total, weak_words

if TYPE_CHECKING:
    from blocksim.plant import Plant

__all__ = ["LeastSquares"]

LAGS = 20  # of the test for whiteness
#: From here on the words 'coloured' and 'ill-conditioned' are used.
UNLIKELY, NEARLY_DEPENDENT = 0.01, 100.0
ROUNDING = 1e-9  # residuals below this share of the effort are no noise, and have no colour


class LeastSquares(RecordBlock):
    """min |G (effort - W x)|^2: parameters of a plant from its motion and its effort (Gautier 2001, eqs. 4 to 10).

    `model` names the plant; the inputs are what its regressor asks for and what drives it, such as q, qd, qdd and tau. W is that
    regressor along the motion, and the estimates are found by orthogonal factorisation.

    `ols` takes all rows alike. `wls` divides the rows of each joint by the standard deviation of that joint's own regression
    (6)-(8). `irls` is Huber's estimate, in which a residual beyond 1.345 scales counts linearly: for outliers. `total` also
    corrects W: it takes errors of all columns and rows for independent, with standard deviations in proportion to
    `column_errors` and `effort_error` (a column of error 0 is exact), else to the columns' own root mean squares.

    `drop_slow` leaves out the rows of a joint while its speed is below that share of its largest: at rest the sign of the speed
    is noise. `skip` leaves out the ends, where filters have transients. `decimate` filters and decimates the effort and every
    column of W alike, by MATLAB's rule, after the regressor was made (Gautier 2001, 5.1): no distortion.

    `parameters` are the ones to estimate; the others are held at `known` or at the plant's own values. With `essential`, the
    parameter of largest relative standard deviation is set to 0 and the rest estimated again, until none exceeds that share.

    Standard deviations are those of residuals with the colour they have (`errors: coloured`: an autoregression is fitted to them)
    or of white ones, (10) (`errors: white`); the details of the estimates hold both. All take the motion for exact: noise in it
    biases the estimates, and no standard deviation shows that. So does a delay: what a controller puts out and holds for Ts acts
    on average Ts / 2 later, and the mean of two samples of it (MovingAverage, window 2) fits motion without phase.
    """

    family = "identification"
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
    errors: str = static("coloured", "what the standard deviations take the residuals for", choices=("coloured", "white"))
    parameters: list | None = static(None, "the parameters to estimate; all where none are named", kind=list)
    known: dict | None = static(None, "values of parameters that are not estimated; else the plant's", kind=dict)
    drop_slow: float = param(0.0, "share of a joint's largest speed below which its rows are left out", min=0, below=1)
    skip: float = param(0.0, "time left out at either end, or [at the start, at the end]", "s", min=0, shape=(None,))
    decimate: int = static(1, "one row in how many is kept, after filtering the columns", kind=int)
    essential: float = param(0.0, "largest relative standard deviation of a parameter that is kept; 0: all are", min=0)
    column_errors: list | None = static(None, "total: size of the error of each column, in its unit", kind=list)
    effort_error: float = param(0.0, "total: size of the error of the effort; 0: its root mean square", min=0)
    tau_model = outport("effort by the model with the estimates", size="rows")
    residual = outport("effort less that of the model", size="rows")

    def modelled(self, plants: Mapping[str, Plant]) -> type[Block]:
        if "model" not in plants:  # a block with mistakes, which are told elsewhere
            return type(self)
        plant = plants["model"]
        base, kind = cast(Any, type(self)), cast(Any, plant.kind)
        return bound_class(base, kind, plant.motion, plant.drive, rows_at_once(plant))

    def process(self, t, model, **signals):
        rows = rows_of(model, signals)
        names = chosen(model, self.settings["parameters"], self.settings["known"])
        task = task_of(self, t, rows, signals, names, model)
        found, dropped = essential(self, task)
        x = np.array([task.held.get(n, 0.0) for n in model.parameters])
        x[[model.parameters.index(n) for n in found.names]] = found.fit.values
        effort = rows.W @ x
        outputs = (effort, rows.y - effort)
        return *(o[:, 0] if o.shape[1] == 1 else o for o in outputs), estimates(self, task, found, dropped, model)

    @staticmethod
    def check(decimate, column_errors, method, skip):
        if isinstance(skip, (list, tuple)) and len(skip) > 2:
            return f"skip: one number is wanted, or one for each end, found {len(skip)}."
        if decimate < 1:
            return f"decimate: a whole number of at least 1 is wanted, found {decimate}."
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


@cache
def bound_class(base: type[Block], kind: type[Block], motion: tuple[str, ...], drive: str, rows: int) -> type[Block]:
    """A record block with the ports of a plant: its motion and its drive in, its effort out."""
    declared: dict[str, Any] = dict(kind.declared)
    members: dict[str, Any] = {"__doc__": base.__doc__, "__module__": base.__module__}
    for name in (*motion, drive):
        known = declared.get(name)  # an acceleration may be no output of the plant
        if known is None:
            members[name] = inport(f"{name} of the plant's regressor", size="any")
        else:
            members[name] = inport(known.doc, known.unit, size=known.size if isinstance(known.size, int) else "any")
    size: int | str = rows
    unit = "" if "effort" in kind.functions else declared[drive].unit
    if not rows:
        made: dict[str, Any] = {}
        exec(f"def size_joints({drive}):\n    return {drive}\n", made)
        members["size_joints"], size = staticmethod(made["size_joints"]), "joints"
    members["tau_model"] = outport("effort by the model with the estimates", unit, size=size)
    members["residual"] = outport("effort less that of the model", unit, size=size)
    return type(base.__name__, (base,), members)


@dataclass(frozen=True)
class Rows:
    """The regressor (samples, joints, parameters) and the effort (samples, joints)."""

    W: np.ndarray
    y: np.ndarray


@dataclass(frozen=True)
class Task:
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
    coloured: np.ndarray | None
    covariance: np.ndarray  # the one that was asked for
    orders: tuple[int, ...] = ()

    @property
    def relative_std(self) -> np.ndarray:
        with np.errstate(divide="ignore", invalid="ignore"):
            return np.where(self.fit.values != 0, np.sqrt(np.diag(self.covariance)) / np.abs(self.fit.values), np.inf)


def rows_of(plant: Plant, signals: Mapping[str, np.ndarray]) -> Rows:
    all_present(signals)
    W, y = plant.regressor(signals), plant.effort(signals[plant.drive])
    if W.shape[:2] != y.shape:
        raise RecordError(f"the regressor of {plant.name} has {W.shape[1]} joints, and '{plant.drive}' has {y.shape[1]}.")
    return Rows(W, y)


def chosen(plant: Plant, asked: list | None, known: Mapping | None) -> tuple[str, ...]:
    """The parameters to estimate, in the plant's order."""
    for name in (*(asked or ()), *(known or ())):
        if name not in plant.parameters:
            raise RecordError(
                f"'{name}' is no parameter of the inverse model of {plant.name}. It has: {listing(plant.parameters)}."
                + did_you_mean(str(name), plant.parameters)
            )
    both = [n for n in asked or () if n in (known or {})]
    if both:
        raise RecordError(f"{listing(both)}: either estimated or known, not both.")
    names = tuple(n for n in plant.parameters if (asked is None or n in asked) and n not in (known or {}))
    if not names:
        raise RecordError("no parameter is left to estimate.")
    return names


def task_of(
    block: Any, t: np.ndarray, rows: Rows, signals: Mapping[str, np.ndarray], names: tuple[str, ...], plant: Plant
) -> Task:
    """The system to solve: known parameters to the other side, columns decimated, slow and outer rows marked."""
    known = block.settings["known"] or {}
    rest = [n for n in plant.parameters if n not in names]
    held = {n: float(known.get(n, plant.settings[n])) for n in rest}
    inner = inner_rows(block.skip, t)
    W, effort, used = rows.W[inner], rows.y[inner], fast_rows(block.drop_slow, signals, rows.y.shape)[inner]
    if not used.any():
        raise RecordError(no_rows(block, t, int(inner.sum()), bool(np.any(signals.get("qd", 1.0)))))
    if block.decimate > 1:
        used = used[kept(len(effort), block.decimate, "matlab")]
        W, effort = (decimate(signal, block.decimate, "matlab") for signal in (W, effort))
    y = effort - W[:, :, [plant.parameters.index(n) for n in rest]] @ np.array([held[n] for n in rest])
    W = W[:, :, [plant.parameters.index(n) for n in names]].transpose(1, 0, 2).reshape(-1, len(names))
    groups = np.repeat(np.arange(y.shape[1]), len(y))
    leaked = [n for n in rest if plant.truth and n not in known]
    told = (f"leak of truth: {listing(leaked)} held at the plant's own value; give it under `known` instead.",) if leaked else ()
    return Task(W, y.T.ravel(), groups, used.T.ravel(), names, held, effort.T.ravel(), told)


def fast_rows(share: float, signals: Mapping[str, np.ndarray], shape: tuple[int, ...]) -> np.ndarray:
    """Which rows are of a joint that moves."""
    if not share:
        return np.ones(shape, dtype=bool)
    if "qd" not in signals:
        raise RecordError("drop_slow: this plant has no signal 'qd' to tell a slow joint by.")
    speed = np.abs(signals["qd"]).reshape(len(signals["qd"]), -1)
    top = speed.max(axis=0, initial=0.0)
    return np.broadcast_to((speed >= share * top) & (top > 0), shape)


def inner_rows(skip: Any, t: np.ndarray) -> np.ndarray:
    """Which rows are away from the ends."""
    ends = np.atleast_1d(skip)
    if not len(t):
        return np.zeros(0, dtype=bool)
    slack = 1e-9 * (t[-1] - t[0])
    return (t >= t[0] + ends[0] - slack) & (t <= t[-1] - ends[-1] + slack)


def no_rows(block: Any, t: np.ndarray, inner: int, moves: bool) -> str:
    if inner and moves:
        return f"no row is left: drop_slow: {block.drop_slow:g} drops all of the {inner} samples that skip leaves."
    if inner:
        return f"no row is left: no joint moves, so that drop_slow: {block.drop_slow:g} drops every sample."
    return f"no row is left: skip: {block.settings['skip']} s at the ends, of {np.ptp(t) if len(t) else 0:g} s of signals."


def solve(block: Any, task: Task, names: tuple[str, ...]) -> Found:
    """One regression for these parameters by the block's method."""
    columns = [task.names.index(n) for n in names]
    W, used, method = task.W[:, columns], task.used, block.method
    if method in ("ols", "wls"):
        found = fit(W, task.y, task.groups if method == "wls" else None, used.astype(float))
    elif method == "irls":
        found = on_rows(used, W, task.y, huber(W[used], task.y[used], task.groups[used]))
    else:
        sizes = block.settings["column_errors"]
        if sizes is not None and len(sizes) != len(task.names):
            raise RecordError(f"column_errors: {len(task.names)} are wanted, one for each of {listing(task.names)}.")
        picked = None if sizes is None else [sizes[c] for c in columns]
        found = on_rows(used, W, task.y, total(W[used], task.y[used], picked, block.effort_error or None))
    if method == "total":  # the motion is not exact there, and the colour of the residuals not that of one error
        return Found(names, found, found.covariance, None, found.covariance)
    covariance, orders = coloured(W, found, task.groups)
    return Found(
        names, found, found.covariance, covariance, covariance if block.errors == "coloured" else found.covariance, tuple(orders)
    )


def essential(block: Any, task: Task) -> tuple[Found, dict[str, str]]:
    """The regression once parameters that are known too badly were set to 0, one at a time, and why each was."""
    names, dropped = task.names, {}
    found = solve(block, task, names)
    while block.essential and len(names) > 1:
        share = found.relative_std
        worst = int(np.argmax(share))
        if share[worst] <= block.essential:
            break
        why = "not determined" if np.isinf(share[worst]) else f"relative std {100 * share[worst]:.3g} %"
        dropped[names[worst]] = f"{why}, more than {100 * block.essential:g} %"
        names = names[:worst] + names[worst + 1 :]
        found = solve(block, task, names)
    return found, dropped


def estimates(block: Any, task: Task, found: Found, dropped: dict[str, str], plant: Plant) -> Estimates:
    """What is reported of a regression."""
    from scipy.special import stdtrit

    one, used = found.fit, task.used
    joints = int(task.groups.max()) + 1
    tests, correlations, colours = [], [], []
    for joint in range(joints):
        rows = task.groups == joint
        lags = min(LAGS, max(1, int(used[rows].sum()) // 5))
        tests.append(ljung_box(one.residuals[rows], lags, used[rows]))
        correlations.append(correlation(one.residuals[rows], used[rows]))
    for joint, (_, p) in enumerate(tests):
        rows = (task.groups == joint) & used
        if p < UNLIKELY and spread(one.residuals[rows]) > ROUNDING * spread(task.effort[rows]):
            colours.append(f"{f'joint {joint + 1}, ' if joints > 1 else ''}{correlations[joint]:.2f} from sample to sample")
    shares = [share_of_error(one, task, task.groups == j) for j in range(joints)]
    whole = share_of_error(one, task, np.ones(len(used), dtype=bool))
    details = {
        "rows": int(used.sum()),
        "rank": one.rank,
        "condition": one.condition,
        "relative_condition": one.relative_condition,
        "scaled_condition": one.scaled_condition,
        "relative_error": whole,  # %
        "relative_error_by_joint": shares,
        "sigma_by_joint": [spread(one.residuals[(task.groups == j) & used]) for j in range(joints)],
        "std_white": np.sqrt(np.diag(found.white)),
        "std_coloured": None if found.coloured is None else np.sqrt(np.diag(found.coloured)),
        "covariance_white": found.white,
        "residual_correlation": correlations,
        "ljung_box": [{"Q": Q, "p": p} for Q, p in tests],
        "autoregression_orders": list(found.orders),
        "null": one.null,
        "dropped": dropped,
        "held": task.held,
    }
    told = [*task.told, *rank_warnings(found), *colour_warnings(block, found, colours), *physical_warnings(plant, found)]
    quantile = float(stdtrit(max(1, int(used.sum()) - one.rank), 0.975))
    return Estimates.of(
        block.method,
        found.names,
        one.values,
        found.covariance,
        plant,
        quantile=quantile,
        warnings=tuple(told),
        reason=summary(details),
        details=details,
    )


def correlation(residuals: np.ndarray, used: np.ndarray) -> float:
    """Of neighbouring residuals."""
    e = np.where(used, residuals, 0.0)
    power = float(e @ e)
    return float(e[1:] @ e[:-1]) / power if power > 0 else 0.0


def spread(residuals: np.ndarray) -> float:
    return float(np.sqrt(np.mean(residuals**2))) if len(residuals) else 0.0


def share_of_error(found: Fit, task: Task, rows: np.ndarray) -> float:
    """|residual| / |effort| in percent, over rows that count."""
    rows = rows & task.used
    size = float(np.linalg.norm(task.effort[rows]))
    return 100 * float(np.linalg.norm(found.residuals[rows])) / size if size > 0 else 0.0


def summary(details: Mapping[str, Any]) -> str:
    text = (
        f"{details['rows']} rows, condition {details['condition']:.3g} of W and "
        f"{details['relative_condition']:.3g} of W diag(x), error of the effort {details['relative_error']:.3g} %"
    )
    return text + "".join(f"; {name} set to 0 ({why})" for name, why in details["dropped"].items())


def rank_warnings(found: Found) -> list[str]:
    one, names = found.fit, found.names
    if one.rank < len(names):
        words = "; ".join(null_words(one, names))
        return [f"rank deficient: {one.rank} of {len(names)} parameters are determined. {words[0].upper()}{words[1:]}."]
    if one.scaled_condition > NEARLY_DEPENDENT:
        words = ", ".join(weak_words(one, names)) or "no single pair stands out"
        return [f"ill-conditioned: columns of W are nearly dependent (condition {one.scaled_condition:.3g}, scaled); {words}."]
    return []


def colour_warnings(block: Any, found: Found, colours: list[str]) -> list[str]:
    """Said where residuals are not white: by how much that matters."""
    if not colours:
        return []
    text = f"residuals are coloured (correlation {'; '.join(colours)})"
    if found.coloured is None:
        return [f"{text}: the standard deviations take them for white."]
    known = np.isfinite(np.diag(found.white)) & (np.diag(found.white) > 0)
    factor = float(np.median(np.sqrt(np.diag(found.coloured)[known] / np.diag(found.white)[known]))) if known.any() else 1.0
    if block.errors == "coloured":
        return [f"{text}: taken for white, they would give {1 / factor:.2g} times these standard deviations."]
    return [f"{text}: honest standard deviations are about {factor:.2g} times these (errors: coloured)."]


def physical_warnings(plant: Plant, found: Found) -> list[str]:
    """Values the plant itself would refuse."""
    told = []
    for name, value in zip(found.names, found.fit.values, strict=True):
        declared = plant.kind.of(Param)[name]
        if declared.problems(float(value)):
            told.append(f"unphysical: {name} = {value:.4g}, but {declared.doc} is {declared.limits() or 'finite'}.")
    return told
