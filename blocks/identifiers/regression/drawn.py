"""Standard deviations from the experiment itself: simulated again at the estimate with other draws of its noise.

Residuals tell of noise only as far as it goes on as it was. A rounding that nothing dithers does not: it is a function of the
position, and its part that a fit takes is not like its neighbours. Nor does a drift of which most is fitted away. What the
diagram says of its sensors is then the better witness: the same loop, the same motion, the same identifier, other draws.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from blocksim.estimation.estimates import Estimates
from blocksim.estimation.process import Run

from .bias import bias_of, drawn_values


def with_draws(estimates: Estimates, run: Run, paths: Mapping[str, str], draws: int, settings: Mapping[str, Any]) -> Estimates:
    """The estimates with the spread of as many draws for standard deviations, and Student's quantile for that many.

    `paths` says where each estimated name stands in the diagram. A bias that shows in the draws is told, and is in the standard
    deviations as far as it is more than their scatter: an interval that holds has to reach over it.
    """
    from scipy.special import stdtrit

    names, values = list(estimates), estimates.vector()
    if not np.isfinite(values).all():
        return estimates
    table = drawn_values(run, {paths[n]: float(v) for n, v in zip(names, values, strict=True)}, names, draws, settings, "errors")
    bias, spread = bias_of(table, values), np.atleast_2d(np.cov(table, rowvar=False))
    beyond = np.maximum(bias.values**2 - bias.std**2, 0.0)
    std = np.sqrt(np.diag(spread) + beyond)
    quantile = float(stdtrit(len(table) - 1, 0.975))
    entries = tuple(replace(e, std=float(d), quantile=quantile) for e, d in zip(estimates.entries, std, strict=True))
    details = {
        **estimates.details,
        "std_residuals": estimates.std_vector(),
        "freedom": np.full(len(names), len(table) - 1.0),
        "bias": bias.values,
        "bias_std": bias.std,
        "bias_draws": bias.draws,
    }
    reason = f"{estimates.reason}; standard deviations from other draws of the noise; {bias.text(names, values)}"
    return replace(estimates, entries=entries, covariance=spread + np.diag(beyond), reason=reason, details=details)
