"""What an output error reports of its search."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from blocksim.estimates import Estimate, Estimates

from .colour import colour_of
from .output_search import Search, Task, seen
from .regression import fit
from .regression_words import null_words


def report(method: str, task: Task, found: Search) -> Estimates:
    """Values with the covariance s^2 (J'J)^-1; a search that failed found no numbers."""
    names = [s.path for s in task.sought]
    told = [] if found.reason.startswith("converged") else [found.reason]
    details: dict[str, Any] = {"iterations": found.iterations, "costs": found.costs}
    if not found.ok:
        items = tuple(Estimate(s.path, math.nan, math.nan, s.truth, s.unit) for s in task.sought)
        details |= {"simulations": task.simulations, "failures": task.failures, "converged": False}
        return Estimates(method, items, None, warnings=tuple(told), reason=found.reason, details=details)
    rest = -task.residuals(found.theta)
    linear = fit(seen(found.J), rest)
    told += [f"not identifiable: {words}" for words in null_words(linear, names)]
    told += bound_remarks(task, found.theta) + colour_remarks(task, rest) + valley_remarks(found)
    if task.failures:
        told.append(f"{task.failures} simulations failed on the way")
    details |= {
        "simulations": task.simulations,
        "failures": task.failures,
        "converged": found.reason.startswith("converged"),
        "rank": linear.rank,
        "condition": linear.condition,
        "weights": list(task.weights),
        "rows": len(rest),
        "sigma": [float(np.sqrt(np.mean(part**2))) / w for part, w in zip(parts_of(task, rest), task.weights, strict=True)],
    }
    std = linear.std
    items = tuple(
        Estimate(s.path, float(v), float(d), s.truth, s.unit) for s, v, d in zip(task.sought, found.theta, std, strict=True)
    )
    reason = f"{found.reason} ({task.simulations} simulations)"
    return Estimates(method, items, linear.covariance, warnings=tuple(told), reason=reason, details=details)


def parts_of(task: Task, rest: np.ndarray) -> list[np.ndarray]:
    """Residuals of each output."""
    ends = np.cumsum([m[task.first :].size for m in task.measured])[:-1]
    return np.split(rest, ends)


def bound_remarks(task: Task, theta: np.ndarray) -> list[str]:
    told = []
    for one, value in zip(task.sought, theta, strict=True):
        word = one.at_bound(value)
        if word:
            bound = one.low if word == "min" else one.high
            told.append(f"{one.path} ended at its {word}, {bound:g}: its standard deviation does not hold there")
    return told


def colour_remarks(task: Task, rest: np.ndarray) -> list[str]:
    told = []
    for name, part, whole in zip(task.outputs, parts_of(task, rest), parts_of(task, task.weighted(task.measured)), strict=True):
        found = colour_of(part, whole, np.ones(len(part), dtype=bool))
        if found is not None:
            told.append(
                f"residuals of {name} are coloured (correlation {found:.2f} from sample to sample): the standard deviations take "
                "them for white"
            )
    return told


def valley_remarks(found: Search) -> list[str]:
    """Said where starts ended in different places."""
    ended = [c for c in found.costs if math.isfinite(c)]
    worse = [c for c in ended if c > 1.01 * min(ended) + 1e-300]
    lost = len(found.costs) - len(ended)
    told = [f"{len(worse)} of {len(found.costs)} starts ended in a worse minimum"] if worse else []
    return told + ([f"{lost} of {len(found.costs)} starts could not be simulated"] if lost else [])
