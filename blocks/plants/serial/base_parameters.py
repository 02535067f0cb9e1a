"""Base parameters: those combinations of standard ones that motion can tell apart, by QR (Gautier 1991).

Columns of the regressor of random motions are taken one after another; one that depends on those before it is dropped, and its
parameter regrouped with theirs: W_dropped = W_kept K. YY, MZ and M come last: what is kept is then the literature's ZZ1R, XX2R.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from .grouping import Grouping

REGROUPED_FIRST = ("YY", "MZ", "M")
DEPENDENT_SHARE = 1e-9  # share of a column's length that is left of it where it depends on others
COEFFICIENT = 1e-8  # smaller ones are rounding
RANDOM_SAMPLES = 60


def regrouped(names: Sequence[str], rows: Callable[[np.ndarray, np.ndarray, np.ndarray], np.ndarray], joints: int) -> Grouping:
    """The base parameters of a regressor, `rows`, of that many joints, with what each is made of."""
    random = np.random.default_rng(1)
    q = random.uniform(-np.pi, np.pi, (RANDOM_SAMPLES, joints))
    qd, qdd = random.normal(size=(2, RANDOM_SAMPLES, joints))
    W = rows(q, qd, qdd).reshape(-1, len(names))
    lengths = np.linalg.norm(W, axis=0)
    symbols = [name.rstrip("0123456789") for name in names]
    visible = [k for k in range(len(names)) if lengths[k] > DEPENDENT_SHARE * lengths.max()]
    order = [k for k in visible if symbols[k] not in REGROUPED_FIRST] + [k for k in visible if symbols[k] in REGROUPED_FIRST]
    unit = W[:, order] / lengths[order]
    base, dropped, basis = [], [], np.zeros((len(unit), 0))
    for place, column in zip(order, unit.T, strict=True):
        rest = column - basis @ (basis.T @ column)
        rest = rest - basis @ (basis.T @ rest)  # once more: twice is enough
        size = float(np.linalg.norm(rest))
        if size > DEPENDENT_SHARE:
            base.append(place)
            basis = np.column_stack([basis, rest / size])
        else:
            dropped.append(place)
    base.sort()
    K = np.linalg.lstsq(W[:, base], W[:, dropped], rcond=None)[0] if dropped else np.zeros((len(base), 0))
    K[np.abs(K) < COEFFICIENT] = 0.0
    K = np.round(K, 12)
    matrix = np.zeros((len(base), len(names)))
    matrix[range(len(base)), base] = 1.0
    matrix[:, dropped] = K
    labels = tuple(names[k] + ("R" if np.count_nonzero(matrix[row]) > 1 else "") for row, k in enumerate(base))
    return Grouping(labels, tuple(names), tuple(names[k] for k in base), tuple(map(tuple, matrix.tolist())))
