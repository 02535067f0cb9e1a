"""What an output error reports of its search."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from blocksim.estimation.estimates import NORMAL, Estimate, Estimates

from ..regression.colour import colour_of
from ..regression.iteration import assumed_sources
from ..regression.parts import fitted_parts, with_parts
from ..regression.regression import undetermined
from ..regression.words import null_words
from .search import Search, Task, linearised
from .trial import joint_spread

USELESS = 90.0  # %: a signal that is left unexplained


def report(method: str, task: Task, search: Search, errors: str, smoothing: float, parts: int) -> Estimates:
    """Values with the covariance s^2 (J'J)^-1, corrected for colour where asked; a search that failed found no numbers."""
    model, names = model_and_names(task)
    remarks = [] if search.reason.startswith("converged") else [search.reason]
    details: dict[str, Any] = {"iterations": search.iterations, "costs": search.costs}
    if not search.ok:
        items = tuple(Estimate(n, math.nan, unit=s.unit) for n, s in zip(names, task.free, strict=True))
        details |= {"simulations": task.simulations, "failures": task.failures, "converged": False}
        return Estimates(method, items, None, model, warnings=tuple(remarks), reason=search.reason, details=details)
    rest = -task.residuals(search.theta)
    J, linear = linearised(task, search)
    series = series_in(task, rest)
    counted = errors != "white"
    coloured = colour_remarks(colours_of(task, series), counted)
    influence = J @ linear.bread
    spread = joint_spread(task.trials, influence, J, rest, smoothing)
    covariance, quantile = linear.covariance, np.full(len(names), NORMAL)
    if counted:
        covariance, quantile = undetermined(spread.claim, linear.null), spread.quantile
    std = np.sqrt(np.diag(covariance))
    remarks += [f"not identifiable: {words}" for words in null_words(linear, names)]
    remarks += bound_remarks(task, search.theta) + valley_remarks(search) + assumed_sources(task.trials[0].twin)
    if task.failures:
        remarks.append(f"{task.failures} simulations failed on the way")
    lost = [name for name, share in errors_of(task, rest).items() if share > USELESS]
    if lost:
        remarks.append(
            f"the twin explains nothing of {', '.join(lost)}: a wrong minimum, or another model. Try other starts, "
            "or begin where another identifier ended (a block's name for a start)"
        )
    details |= {
        "simulations": task.simulations,
        "failures": task.failures,
        "converged": search.reason.startswith("converged"),
        "rank": linear.rank,
        "condition": linear.condition,
        "weights": np.concatenate(task.weights).tolist(),
        "rows": len(rest),
        "counts": [len(part) for _, part in series],
        "std_white": linear.std,
        "freedom": spread.freedom,
        "smoothing_lines": spread.lines,
        "relative_error": errors_of(task, rest),  # % of what each y varies
        "sigma": [rms(part) / w for (_, part), w in zip(series, np.concatenate(task.weights), strict=True)],
    }
    items = tuple(
        Estimate(n, float(v), float(d), unit=s.unit, quantile=float(q), start=s.start)
        for n, s, v, d, q in zip(names, task.free, search.theta, std, quantile, strict=True)
    )
    shares = ", ".join(f"{name} {share:.3g} %" for name, share in details["relative_error"].items())
    reason = f"{search.reason} ({task.simulations} simulations); error of {shares}"
    words = {"warnings": tuple(remarks), "remarks": coloured} if counted else {"warnings": (*remarks, *coloured)}
    result = Estimates(method, items, covariance, model, reason=reason, details=details, **words)
    if errors != "blocks":
        return result
    used = np.ones(len(rest), dtype=bool)
    return with_parts(result, fitted_parts(influence, J, rest, used, task.trials[0].series(), parts, smoothing))


def model_and_names(task: Task) -> tuple[str, list[str]]:
    """The block whose parameters these are and their names in it, as other identifiers say them; '' and paths of several."""
    blocks = {s.path.rpartition(".")[0] for s in task.free}
    if len(blocks) > 1:
        return "", [s.name for s in task.free]
    return blocks.pop(), [s.name.rpartition(".")[2] for s in task.free]


def rms(values: np.ndarray) -> float:
    return float(np.sqrt(np.mean(values**2)))


def residual_parts(task: Task, rest: np.ndarray) -> list[np.ndarray]:
    """Residuals of each output."""
    ends = np.cumsum([count * m.shape[1] for count, m in zip(task.counts, task.measured, strict=True)])[:-1]
    return np.split(rest, ends)


def errors_of(task: Task, rest: np.ndarray) -> dict[str, float]:
    """||y - y_s|| / ||y - its mean|| of each output, in %: near 100, the model explains nothing."""
    parts = zip(task.outputs, residual_parts(task, rest), residual_parts(task, task.weighted(task.measured)), strict=True)
    return {name: 100 * rms(r) / (rms(y - y.mean()) or math.nan) for name, r, y in parts}


def bound_remarks(task: Task, theta: np.ndarray) -> list[str]:
    remarks = []
    for one, value in zip(task.free, theta, strict=True):
        word = one.at_bound(value)
        if word:
            bound = one.low if word == "min" else one.high
            remarks.append(f"{one.name} ended at its {word}, {bound:g}: its standard deviation does not hold there")
    return remarks


def series_in(task: Task, values: np.ndarray) -> list[tuple[str, np.ndarray]]:
    """Every element of every output by itself, over time."""
    series = []
    for name, part, m in zip(task.outputs, residual_parts(task, values), task.measured, strict=True):
        columns = part.reshape(-1, m.shape[1]).T
        series += [(f"{name}[{k}]" if len(columns) > 1 else name, column) for k, column in enumerate(columns)]
    return series


def colours_of(task: Task, series: list[tuple[str, np.ndarray]]) -> dict[str, float]:
    """By series the correlation of neighbouring residuals, where they are not white."""
    whole = series_in(task, task.weighted(task.measured))
    correlations = {
        n: colour_of(rest, y, np.ones(len(rest), dtype=bool)) for (n, rest), (_, y) in zip(series, whole, strict=True)
    }
    return {name: correlation for name, correlation in correlations.items() if correlation is not None}


def colour_remarks(colours: dict[str, float], counted: bool) -> tuple[str, ...]:
    """Said of residuals that are not white: worth knowing where they are counted, a mistake where they are not."""
    words = "count that" if counted else "take them for white"
    return tuple(
        f"residuals of {name} are coloured (correlation {c:.2f} from sample to sample): the standard deviations {words}."
        for name, c in colours.items()
    )


def valley_remarks(search: Search) -> list[str]:
    """Said where starts ended in different places."""
    ended = [c for c in search.costs if math.isfinite(c)]
    worse = [c for c in ended if c > 1.01 * min(ended) + 1e-300]
    lost = len(search.costs) - len(ended)
    remarks = [f"{len(worse)} of {len(search.costs)} starts ended in a worse minimum"] if worse else []
    return remarks + ([f"{lost} of {len(search.costs)} starts led to no end"] if lost else [])
