"""The regression of a stacked system by the method of its block, and without the parameters that it does not determine."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from blocksim.errors import RecordError, listing

from ..parts import Parts, fitted_parts
from ..regression import Fit, fit, on_rows, undetermined
from ..spectrum import Spread, spectral_spread
from .huber import huber
from .task import LinearTask
from .total import total


@dataclass(frozen=True)
class LinearSolution:
    """One regression: values, and covariances by what the residuals are taken for."""

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


def solve(block: Any, task: LinearTask, names: tuple[str, ...]) -> LinearSolution:
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
        return LinearSolution(names, result, result.covariance, None, result.covariance)
    G = W * result.weights[:, None]
    rows = G @ result.bread, G, result.scores, used, task.groups
    spread = spectral_spread(*rows, block.smoothing)
    spread = replace(spread, covariance=undetermined(spread.covariance.copy(), result.null))
    parts = fitted_parts(*rows, block.parts, block.smoothing) if block.errors == "blocks" else None
    covariance = result.covariance if block.errors == "white" else spread.claim
    return LinearSolution(names, result, result.covariance, spread, covariance, parts)


def essential(block: Any, task: LinearTask) -> tuple[LinearSolution, dict[str, str]]:
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
