"""Criteria: one number, the lower the better, from the information about relative changes of the parameters."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from ...contract.arrays import FloatArray

#: What stands for a design that does not see its parameters.
SEES_NOTHING = 1e12


def relative_covariance(matrix: FloatArray, count: int) -> FloatArray | None:
    """The covariance of the first `count` parameters from the information about relative changes; None where singular."""
    import numpy as np

    scale = np.sqrt(np.maximum(np.diag(matrix), 0.0))
    if not (scale > 0).all() or not np.isfinite(scale).all():
        return None
    try:
        inverse = np.linalg.inv(matrix / np.outer(scale, scale))
    except np.linalg.LinAlgError:
        return None
    covariance: FloatArray = (inverse / np.outer(scale, scale))[:count, :count]
    return covariance if (np.diag(covariance) > 0).all() else None


def judged(
    criterion: str,
    covariance: FloatArray | None,
    weights: FloatArray,
    accuracy: FloatArray,
    cost: float = 1.0,
    once: bool = False,
) -> float:
    """The criterion of a covariance of relative errors, each times its weight.

    D is the geometric mean of the axes of the ellipsoid, A the root mean square of the errors, E its longest axis, worst the
    largest error; time and power are what of them is needed for the asked accuracies, since variances fall with either. A run
    that is made `once` at least, since its own duration is sought, cannot cost less than itself.
    """
    import numpy as np

    if covariance is None:
        return SEES_NOTHING
    weighted = covariance * np.outer(weights, weights)
    stds = np.sqrt(np.diag(weighted))
    if criterion == "D":
        sign, logarithm = np.linalg.slogdet(weighted)
        return math.exp(logarithm / (2 * len(stds))) if sign > 0 else SEES_NOTHING
    if criterion == "A":
        return float(np.sqrt(np.mean(np.square(stds))))
    if criterion == "E":
        return float(np.sqrt(np.linalg.eigvalsh(weighted)[-1]))
    if criterion == "worst":
        return float(stds.max())
    times = float(np.square(np.sqrt(np.diag(covariance)) / accuracy).max())
    return cost * (max(times, 1.0) if once and criterion == "time" else times)


def condition_number(rows: FloatArray, scale: FloatArray | None) -> float:
    """cond(W), or cond(W diag(beta)) as Gautier's (9) has it; of W'W's eigenvalues, whose root it is."""
    import numpy as np

    W = rows if scale is None else rows * scale
    values = np.linalg.eigvalsh(np.einsum("ni,nj->ij", W, W))
    return float(math.sqrt(values[-1] / values[0])) if values[0] > 1e-14 * values[-1] > 0 else SEES_NOTHING


def together(values: Sequence[float], take: str, quantile: float) -> float:
    """The criterion over the samples of a prior."""
    import numpy as np

    if take == "mean":
        return float(np.exp(np.mean(np.log(values))))
    return float(np.max(values)) if take == "worst" else float(np.quantile(values, quantile))


def vector_of(names: Sequence[str], numbers: Mapping[str, float], default: float) -> FloatArray:
    import numpy as np

    return np.array([float(numbers.get(name, default)) for name in names])
