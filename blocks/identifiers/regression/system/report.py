"""What a least squares identification reports of its solution."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from blocksim.contract.plant import Plant
from blocksim.estimation.estimates import Estimates

from ...physical import model_hints, sign_hints
from ..colour import LAGS, ROUNDING, UNLIKELY, ljung_box
from ..regression import Fit
from ..words import null_words, weak_words
from .solution import LinearSolution
from .task import LinearTask

NEARLY_DEPENDENT = 100.0  # condition from which on columns are called so


def estimates(block: Any, task: LinearTask, solution: LinearSolution, dropped: dict[str, str], plant: Plant) -> Estimates:
    """What is reported of a regression."""
    from scipy.special import stdtrit

    one, used = solution.fit, task.used
    details = {**fit_details(task, solution), "dropped": dropped, "held": task.held}
    if plant.grouping:
        details["formulas"] = plant.grouping.formulas()
    stds = np.sqrt(np.diag(solution.covariance))
    warnings = [
        *task.told,
        *rank_warnings(solution),
        *physical_warnings(plant, solution),
        *sign_hints(plant, dict(zip(solution.names, one.values, strict=True)), dict(zip(solution.names, stds, strict=True))),
        *model_hints(plant, details["relative_error_by_joint"], details["residual_correlation"]),
    ]
    coloured, counted = colour_words(block, solution, coloured_joints(task, one, details))
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
        warnings=(*warnings, *(() if counted else coloured)),
        remarks=tuple(coloured) if counted else (),
        reason=summary(details, len(solution.names)),
        details=details,
    )


def fit_details(task: LinearTask, solution: LinearSolution) -> dict[str, Any]:
    """The numbers of a regression: its condition, its errors, whether they are white."""
    one, used, coloured = solution.fit, task.used, solution.coloured
    joints = [task.groups == joint for joint in range(int(task.groups.max()) + 1)]
    tests = [ljung_box(one.residuals[rows], min(LAGS, max(1, int(used[rows].sum()) // 5)), used[rows]) for rows in joints]
    return {
        "rows": int(used.sum()),
        "rank": one.rank,
        "condition": one.condition,
        "relative_condition": one.relative_condition,
        "scaled_condition": one.scaled_condition,
        "relative_error": share_of_error(one, task, np.ones(len(used), dtype=bool)),  # %
        "relative_error_by_joint": [share_of_error(one, task, rows) for rows in joints],
        "sigma_by_joint": [root_mean_square(one.residuals[rows & used]) for rows in joints],
        "std_white": np.sqrt(np.diag(solution.white)),
        "std_coloured": None if coloured is None else np.sqrt(np.diag(coloured.claim)),
        "freedom": None if coloured is None else coloured.freedom,
        "smoothing_lines": None if coloured is None else coloured.lines,
        "covariance_white": solution.white,
        "residual_correlation": [correlation(one.residuals[rows], used[rows]) for rows in joints],
        "ljung_box": [{"Q": Q, "p": p} for Q, p in tests],
        "null": one.null,
    }


def coloured_joints(task: LinearTask, fit: Fit, details: Mapping[str, Any]) -> list[str]:
    """The joints whose residuals are hardly white, and more than rounding."""
    words, joints = [], len(details["ljung_box"])
    for joint, test in enumerate(details["ljung_box"]):
        rows = (task.groups == joint) & task.used
        if test["p"] < UNLIKELY and root_mean_square(fit.residuals[rows]) > ROUNDING * root_mean_square(task.effort[rows]):
            place = f"joint {joint + 1}, " if joints > 1 else ""
            words.append(f"{place}{details['residual_correlation'][joint]:.2f} from sample to sample")
    return words


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


def summary(details: Mapping[str, Any], columns: int) -> str:
    shares = details["relative_error_by_joint"]
    by_joint = f" (by joint {', '.join(f'{share:.3g}' for share in shares)})" if len(shares) > 1 else ""
    text = (
        f"{details['rows']} rows, rank {details['rank']} of {columns}, condition {details['condition']:.3g} of W and "
        f"{details['relative_condition']:.3g} of W diag(x), error of the effort {details['relative_error']:.3g} %{by_joint}"
    )
    return text + "".join(f"; {name} set to 0 ({why})" for name, why in details["dropped"].items())


def rank_warnings(solution: LinearSolution) -> list[str]:
    one, names = solution.fit, solution.names
    if one.rank < len(names):
        words = "; ".join(null_words(one, names))
        return [f"rank deficient: {one.rank} of {len(names)} parameters are determined. {words[0].upper()}{words[1:]}."]
    if one.scaled_condition > NEARLY_DEPENDENT:
        words = ", ".join(weak_words(one, names)) or "no single pair stands out"
        return [f"ill-conditioned: columns of W are nearly dependent (condition {one.scaled_condition:.3g}, scaled); {words}."]
    return []


def colour_words(block: Any, solution: LinearSolution, colours: list[str]) -> tuple[list[str], bool]:
    """Said where residuals are not white: by how much that matters, and whether the standard deviations count it."""
    if not colours:
        return [], True
    text = f"residuals are coloured (correlation {'; '.join(colours)})"
    if solution.coloured is None:
        return [f"{text}: the standard deviations take them for white."], False
    finite = np.isfinite(np.diag(solution.white)) & (np.diag(solution.white) > 0)
    honest = np.diag(solution.coloured.claim)
    factor = float(np.median(np.sqrt(honest[finite] / np.diag(solution.white)[finite]))) if finite.any() else 1.0
    if block.errors != "white":
        return [f"{text}: taken for white, they would give {1 / factor:.2g} times these standard deviations."], True
    return [f"{text}: honest standard deviations are about {factor:.2g} times these (errors: coloured)."], False


def physical_warnings(plant: Plant, solution: LinearSolution) -> list[str]:
    """Values the plant itself would refuse."""
    warnings = []
    for name, value in zip(solution.names, solution.fit.values, strict=True):
        declared = plant.declared(name)
        if declared.problems(float(value)):
            warnings.append(f"unphysical: {name} = {value:.4g}, but {declared.doc} is {str(declared.limits) or 'finite'}.")
    return warnings
