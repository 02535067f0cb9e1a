"""Grouping: base parameters as combinations of a plant's standard ones, which motion cannot tell apart one by one (Gautier 1991).

Columns of the regressor of random motions are taken one after another; one that depends on those before it is dropped, and its
parameter regrouped with theirs: W_dropped = W_kept K. YY, MZ and M come last: what is kept is then the literature's ZZ1R, XX2R.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

REGROUPED_FIRST = ("YY", "MZ", "M")
DEPENDENT_SHARE = 1e-9  # share of a column's length that is left of it where it depends on others
COEFFICIENT = 1e-8  # smaller ones are rounding
RANDOM_SAMPLES = 60


@dataclass(frozen=True)
class Grouping:
    """base = matrix @ standard. Each base parameter is a kept standard one and its share of others."""

    names: tuple[str, ...]
    standard: tuple[str, ...]
    kept: tuple[str, ...]
    matrix: tuple[tuple[float, ...], ...]

    def values(self, settings: Mapping[str, float]) -> tuple[float, ...]:
        """The base parameters of a plant with these standard ones."""
        own = [float(settings[name]) for name in self.standard]
        return tuple(sum(k * v for k, v in zip(row, own, strict=True) if k) for row in self.matrix)

    def settings(self, base: Sequence[float]) -> dict[str, float]:
        """Standard parameters that move as these base ones say: the kept ones have their values, the others are 0."""
        return {**dict.fromkeys(self.standard, 0.0), **dict(zip(self.kept, map(float, base), strict=True))}

    def formulas(self) -> dict[str, str]:
        """What each base parameter is made of: {'ZZ1R': 'ZZ1 + Ia1 + YY2 + 0.05185 M3'}."""
        return {name: self.formula(row, own) for name, row, own in zip(self.names, self.matrix, self.kept, strict=True)}

    def formula(self, row: Sequence[float], own: str) -> str:
        text = own
        for name, share in zip(self.standard, row, strict=True):
            if share and name != own:
                size = f"{abs(share):.9g}"
                text += (" - " if share < 0 else " + ") + (name if size == "1" else f"{size} {name}")
        return text

    def __str__(self) -> str:
        width = max(map(len, self.names), default=0)
        head = f"{len(self.names)} base parameters of {len(self.standard)} standard ones"
        hidden = [n for k, n in enumerate(self.standard) if not any(row[k] for row in self.matrix)]
        lines = [f"  {name.ljust(width)} = {formula}" for name, formula in self.formulas().items() if name != formula]
        alone = [name for name, formula in self.formulas().items() if name == formula]
        tail = [f"  alone: {', '.join(alone)}"] if alone else []
        tail += [f"  without effect: {', '.join(hidden)}"] if hidden else []
        return "\n".join([head, *lines, *tail])


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
