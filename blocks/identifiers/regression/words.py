"""What a regression found and did not find, in words."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from blocksim.errors import listing
from blocksim.estimation.undetermined import combination

from .regression import Fit


def null_words(result: Fit, names: Sequence[str]) -> list[str]:
    """What a rank deficiency means: which parameters do not show, and which are known only together."""
    if result.rank == len(names):
        return []
    words = []
    silent = [n for n, column in zip(names, result.combinations.T, strict=True) if not column.any()]
    if silent:
        words.append(f"{listing(silent)} {'does' if len(silent) == 1 else 'do'} not show in these data")
    for row in result.combinations:
        places = np.flatnonzero(row).tolist()
        if len(places) > 1:
            words.append(f"{listing(names[i] for i in places)} move together: only {combination(row, names)} is determined")
    return words


def weak_words(result: Fit, names: Sequence[str], limit: float = 0.95) -> list[str]:
    """Pairs of parameters whose estimates are so correlated that little more than a combination is known."""
    std = result.std
    words = []
    for i in range(len(names)):
        for j in range(i + 1, len(names)):
            if 0 < std[i] < np.inf and 0 < std[j] < np.inf:
                share = result.covariance[i, j] / (std[i] * std[j])
                if abs(share) > limit:
                    words.append(f"{names[i]} and {names[j]} are estimated with correlation {share:.3f}")
    return words
