"""Several fits of one thing, of parts of a record or of records: what they agree on, and by how much they do not.

theta_k = theta + b_k + e_k: e_k is what each fit says of its own error, b_k what the model misses, differently in each. The
variance of b_k is DerSimonian and Laird's: what the fits scatter beyond what they claim.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from ..errors import RecordError, listing
from .estimates import Estimates

UNLIKELY_SCATTER = 0.01  # probability of a scatter as large where the fits agree, below which it is said


@dataclass(frozen=True)
class Scatter:
    """Of each parameter: the mean of the fits, its standard deviation, that of b_k, and how likely so much scatter is."""

    mean: np.ndarray
    std: np.ndarray
    between: np.ndarray
    chance: np.ndarray

    def remarks(self, names: Sequence[str], what: str, values: np.ndarray) -> list[str]:
        """A warning where fits (rows of `values`) disagree."""
        ranges = [
            f"{n} ({low:.4g} to {high:.4g})"
            for n, p, low, high in zip(names, self.chance, values.min(axis=0), values.max(axis=0), strict=True)
            if p < UNLIKELY_SCATTER
        ]
        if not ranges:
            return []
        return [f"{what} disagree on {', '.join(ranges)} by more than their intervals: the model misses something"]


def scatter(values: np.ndarray, stds: np.ndarray, freedom: np.ndarray) -> Scatter:
    """Of fits (rows) of parameters (columns) with their standard deviations, known with so many degrees of freedom."""
    from scipy.special import fdtrc

    count = len(values)
    weights = 1 / np.maximum(stds, 1e-300) ** 2
    total = weights.sum(axis=0)
    centre = (weights * values).sum(axis=0) / total
    Q = (weights * (values - centre) ** 2).sum(axis=0)
    chance = fdtrc(count - 1, np.maximum(np.median(freedom, axis=0), 1.0), Q / (count - 1))
    spare = total - (weights**2).sum(axis=0) / total
    between = np.sqrt(np.maximum(Q - (count - 1), 0.0) / spare)
    weights = 1 / (np.maximum(stds, 1e-300) ** 2 + between**2)
    mean = (weights * values).sum(axis=0) / weights.sum(axis=0)
    return Scatter(mean, 1 / np.sqrt(weights.sum(axis=0)), between, np.asarray(chance))


def pool(estimates: Sequence[Estimates]) -> Estimates:
    """Estimates of the same parameters from several records as one: weighted means, their spread counted in.

    The standard deviations have both: what each fit claims, and how far they scatter beyond that (`details["between"]`). Where
    they disagree by more than their intervals, a warning says so; a single value for all is then a compromise.
    """
    from scipy.special import stdtrit

    if len(estimates) < 2:
        raise RecordError(f"pool: at least two estimates are wanted, found {len(estimates)}.")
    names = list(estimates[0])
    for other in estimates[1:]:
        if list(other) != names:
            raise RecordError(f"pool: estimates of {listing(names)} and of {listing(other)} are not of the same parameters.")
    values, stds = (np.array([getattr(e, which)() for e in estimates]) for which in ("vector", "std_vector"))
    if not (np.isfinite(values).all() and np.isfinite(stds).all() and (stds > 0).all()):
        raise RecordError("pool: every value and standard deviation must be a number above 0; leave out what was not found.")
    freedom = np.array([[freedom_of(entry.quantile) for entry in e.entries] for e in estimates])
    one = scatter(values, stds, freedom)
    quantile = np.where(one.between > 0, stdtrit(len(estimates) - 1, 0.975), np.array([e.quantile for e in estimates[0].entries]))
    entries = tuple(
        type(e)(e.name, float(m), float(s), e.truth, e.unit, float(q))
        for e, m, s, q in zip(estimates[0].entries, one.mean, one.std, quantile, strict=True)
    )
    remarks = one.remarks(names, "records", values)
    details = {"between": one.between, "values": values, "stds": stds, "chance": one.chance}
    method = f"{len(estimates)} x {estimates[0].method}"
    return Estimates(method, entries, np.diag(one.std**2), estimates[0].model, tuple(remarks), "pooled", details)


def freedom_of(quantile: float) -> float:
    """Degrees of freedom of a Student's quantile of 95 %."""
    from scipy.special import stdtrit

    table = np.array([1, 2, 3, 4, 5, 6, 8, 10, 15, 20, 30, 60, 1000.0])
    return float(np.interp(-quantile, -stdtrit(table, 0.975), table))
