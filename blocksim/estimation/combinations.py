"""Combinations of parameters that are known far better than the parameters themselves."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from ..errors import listing
from .estimates import Estimates

if TYPE_CHECKING:
    import numpy as np

#: Variance of a combination, its parameters in units of their standard deviations, up to which little else of them is known:
#: of two, 1 less their correlation.
KNOWN_TOGETHER = 0.02
#: A part of such a combination that is smaller, against its largest, is none.
TAKING_PART = 0.15


def combination(row: np.ndarray, names: Sequence[str]) -> str:
    """'Fv + 0.8 Fc - 2 Ms'."""
    text = ""
    for place, factor in enumerate(row.tolist()):
        if factor:
            size = f"{abs(factor):.3g}"
            term = names[place] if size == "1" else f"{size} {names[place]}"
            text += (" - " if factor < 0 else " + " if text else "") + term
    return text.strip()


def together_words(estimates: Estimates, names: set[str]) -> Iterator[str]:
    """In words: of these parameters, and those that come with them, the combinations that are known."""
    import numpy as np

    if estimates.covariance is None:
        return
    std = np.sqrt(np.diag(estimates.covariance))
    places = np.flatnonzero(np.isfinite(std) & (std > 0))
    order = [list(estimates)[k] for k in places]
    correlation = estimates.covariance[np.ix_(places, places)] / np.outer(std[places], std[places])
    if not np.isfinite(correlation).all():
        return
    for row in known_combinations(correlation):
        parties = [order[k] for k in np.flatnonzero(row)]
        if len(parties) > 1 and names & set(parties):
            factors = np.divide(row, std[places])
            first = factors[np.flatnonzero(factors)[0]]
            yield f"of {listing(parties)} little more than {combination(factors / first, order)} is known"


def known_combinations(correlation: np.ndarray) -> np.ndarray:
    """The eigenvectors of small variance, as rows of which each leads with a parameter that the others do not have."""
    import numpy as np

    values, vectors = np.linalg.eigh(correlation)
    rows = vectors[:, values < KNOWN_TOGETHER].T.copy()
    leads: list[int] = []
    for at in range(len(rows)):
        free = np.abs(rows[at:])
        free[:, leads] = 0.0
        place, lead = np.unravel_index(int(np.argmax(free)), free.shape)
        rows[[at, at + int(place)]] = rows[[at + int(place), at]]
        rows[at] /= rows[at, lead]
        others = np.arange(len(rows)) != at
        rows[others] -= np.outer(rows[others, lead], rows[at])
        leads.append(int(lead))
    rows[np.abs(rows) < TAKING_PART * np.abs(rows).max(axis=1, keepdims=True, initial=0.0)] = 0.0
    return rows
