"""What a least squares identification reports of its solution."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from blocksim.contract.plant import Plant
from blocksim.estimation.estimates import Estimates

from .colour import LAGS, ROUNDING, UNLIKELY, ljung_box
from .regression import Fit
from .words import null_words, weak_words

if TYPE_CHECKING:
    from .least_squares import Found, LinearTask

NEARLY_DEPENDENT = 100.0  # condition from which on columns are called so


def estimates(block: Any, task: LinearTask, solution: Found, dropped: dict[str, str], plant: Plant) -> Estimates:
    """What is reported of a regression."""
    from scipy.special import stdtrit

    one, used = solution.fit, task.used
    joints = int(task.groups.max()) + 1
    tests, correlations, colours = [], [], []
    for joint in range(joints):
        rows = task.groups == joint
        lags = min(LAGS, max(1, int(used[rows].sum()) // 5))
        tests.append(ljung_box(one.residuals[rows], lags, used[rows]))
        correlations.append(correlation(one.residuals[rows], used[rows]))
    for joint, (_, p) in enumerate(tests):
        rows = (task.groups == joint) & used
        if p < UNLIKELY and root_mean_square(one.residuals[rows]) > ROUNDING * root_mean_square(task.effort[rows]):
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
        "sigma_by_joint": [root_mean_square(one.residuals[(task.groups == j) & used]) for j in range(joints)],
        "std_white": np.sqrt(np.diag(solution.white)),
        "std_coloured": None if solution.coloured is None else np.sqrt(np.diag(solution.coloured.covariance)),
        "freedom": None if solution.coloured is None else solution.coloured.freedom,
        "smoothing_lines": None if solution.coloured is None else solution.coloured.lines,
        "covariance_white": solution.white,
        "residual_correlation": correlations,
        "ljung_box": [{"Q": Q, "p": p} for Q, p in tests],
        "null": one.null,
        "dropped": dropped,
        "held": task.held,
    }
    if plant.grouping:
        details["formulas"] = plant.grouping.formulas()
    warnings = [
        *task.told,
        *rank_warnings(solution),
        *colour_warnings(block, solution, colours),
        *physical_warnings(plant, solution),
    ]
    quantile: Any = float(stdtrit(max(1, int(used.sum()) - one.rank), 0.975))
    if solution.coloured is not None and block.errors != "white":
        quantile = solution.coloured.quantile
    return Estimates.of(
        block.method,
        solution.names,
        one.values,
        solution.covariance,
        plant,
        quantile=quantile,
        warnings=tuple(warnings),
        reason=summary(details),
        details=details,
    )


def correlation(residuals: np.ndarray, used: np.ndarray) -> float:
    """Of neighbouring residuals."""
    e = np.where(used, residuals, 0.0)
    power = float(e @ e)
    return float(e[1:] @ e[:-1]) / power if power > 0 else 0.0


def root_mean_square(residuals: np.ndarray) -> float:
    return float(np.sqrt(np.mean(residuals**2))) if len(residuals) else 0.0


def share_of_error(fit: Fit, task: LinearTask, rows: np.ndarray) -> float:
    """|residual| / |effort| in percent, over rows that count."""
    rows = rows & task.used
    size = float(np.linalg.norm(task.effort[rows]))
    return 100 * float(np.linalg.norm(fit.residuals[rows])) / size if size > 0 else 0.0


def summary(details: Mapping[str, Any]) -> str:
    text = (
        f"{details['rows']} rows, condition {details['condition']:.3g} of W and "
        f"{details['relative_condition']:.3g} of W diag(x), error of the effort {details['relative_error']:.3g} %"
    )
    return text + "".join(f"; {name} set to 0 ({why})" for name, why in details["dropped"].items())


def rank_warnings(solution: Found) -> list[str]:
    one, names = solution.fit, solution.names
    if one.rank < len(names):
        words = "; ".join(null_words(one, names))
        return [f"rank deficient: {one.rank} of {len(names)} parameters are determined. {words[0].upper()}{words[1:]}."]
    if one.scaled_condition > NEARLY_DEPENDENT:
        words = ", ".join(weak_words(one, names)) or "no single pair stands out"
        return [f"ill-conditioned: columns of W are nearly dependent (condition {one.scaled_condition:.3g}, scaled); {words}."]
    return []


def colour_warnings(block: Any, solution: Found, colours: list[str]) -> list[str]:
    """Said where residuals are not white: by how much that matters."""
    if not colours:
        return []
    text = f"residuals are coloured (correlation {'; '.join(colours)})"
    if solution.coloured is None:
        return [f"{text}: the standard deviations take them for white."]
    finite = np.isfinite(np.diag(solution.white)) & (np.diag(solution.white) > 0)
    honest = np.diag(solution.coloured.covariance)
    factor = float(np.median(np.sqrt(honest[finite] / np.diag(solution.white)[finite]))) if finite.any() else 1.0
    if block.errors != "white":
        return [f"{text}: taken for white, they would give {1 / factor:.2g} times these standard deviations."]
    return [f"{text}: honest standard deviations are about {factor:.2g} times these (errors: coloured)."]


def physical_warnings(plant: Plant, solution: Found) -> list[str]:
    """Values the plant itself would refuse."""
    warnings = []
    for name, value in zip(solution.names, solution.fit.values, strict=True):
        declared = plant.declared(name)
        if declared.problems(float(value)):
            warnings.append(f"unphysical: {name} = {value:.4g}, but {declared.doc} is {str(declared.limits) or 'finite'}.")
    return warnings
