"""What a regression found and did not find, in words."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from blocksim.errors import listing

from .regression import Fit


def null_words(found: Fit, names: Sequence[str]) -> list[str]:
    """What a rank deficiency means: which parameters do not show, and which are known only together."""
    if found.rank == len(names):
        return []
    told = []
    silent = [n for n, column in zip(names, found.combinations.T, strict=True) if not column.any()]
    if silent:
        told.append(f"{listing(silent)} {'does' if len(silent) == 1 else 'do'} not show in these data")
    for row in found.combinations:
        places = np.flatnonzero(row).tolist()
        if len(places) > 1:
            told.append(f"{listing(names[i] for i in places)} move together: only {combination(row, names)} is determined")
    return told


def combination(row: np.ndarray, names: Sequence[str]) -> str:
    """'Fv + 0.8 Fc - 2 Ms'."""
    text = ""
    for i in np.flatnonzero(row).tolist():
        size = f"{abs(row[i]):.3g}"
        term = names[i] if size == "1" else f"{size} {names[i]}"
        text += (" - " if row[i] < 0 else " + " if text else "") + term
    return text.strip()


def weak_words(found: Fit, names: Sequence[str], limit: float = 0.95) -> list[str]:
    """Pairs of parameters whose estimates are so correlated that little more than a combination is known."""
    std = found.std
    told = []
    for i in range(len(names)):
        for j in range(i + 1, len(names)):
            if 0 < std[i] < np.inf and 0 < std[j] < np.inf:
                share = found.covariance[i, j] / (std[i] * std[j])
                if abs(share) > limit:
                    told.append(f"{names[i]} and {names[j]} are estimated with correlation {share:.3f}")
    return told
