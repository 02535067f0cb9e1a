"""A batch fit of output errors over several experiments of a bench: maximum likelihood where the noise is as it is said."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from ..errors import RecordError, SimulationError

if TYPE_CHECKING:
    from ..contract.arrays import FloatArray
    from .design.bench import Bench

#: A share of itself that no parameter falls below on the way, and the relative change at which a fit ends.
LEAST_SHARE, FIT_END = 0.05, 1e-8
#: Residuals in place of a run that fails, in standard deviations.
FAR_AWAY = 1e3


@dataclass(frozen=True)
class Measured:
    """One experiment: the unknowns of its sources, what was read, [time, reading], and the inputs that are known as they were."""

    x: FloatArray
    y: FloatArray
    known: Mapping[str, FloatArray] = field(default_factory=dict)


@dataclass(frozen=True)
class BatchFit:
    """Estimates by parameter with the information about relative changes at them; `misfit` is 1 where only noise is left."""

    values: dict[str, float]
    information: FloatArray
    misfit: float
    converged: bool

    @property
    def relative_stds(self) -> dict[str, float]:
        """Of every parameter, nuisance included."""
        import numpy as np

        from .fisher import Fisher

        return dict(zip(self.values, np.asarray(Fisher(self.information).stds, float).tolist(), strict=True))


def batch_fit(bench: Bench, measured: Sequence[Measured], start: Mapping[str, float]) -> BatchFit:
    """min sum |y - y(theta)|^2 in units of the noise, over all experiments, from `start`."""
    import numpy as np
    from scipy.optimize import least_squares

    names = bench.names
    sizes = np.array([abs(start[name]) or 1.0 for name in names])
    benches = [(*bench.readable(one.x, one.known), one.y) for one in measured]

    def changes_at(share: FloatArray, numbers: Mapping[str, float]) -> dict[str, float]:
        return {**numbers, **dict(zip(names, (share * sizes).tolist(), strict=True))}

    def residuals(share: FloatArray) -> FloatArray:
        parts = []
        for ready, numbers, y in benches:
            try:
                rest = bench.whitened(bench.read(ready, changes_at(share, numbers)) - y)
            except SimulationError:
                rest = np.full(y.shape, FAR_AWAY)
            parts.append(rest.reshape(-1))
        return np.concatenate(parts)

    def slopes(share: FloatArray) -> FloatArray:
        parts = []
        for ready, numbers, _ in benches:
            changes = changes_at(share, numbers)
            psi = bench.relative_slopes(ready, changes, bench.read(ready, changes))
            parts.append(psi / np.where(share == 0, 1.0, np.abs(share)))
        return np.concatenate(parts)

    first = np.array([start[name] for name in names]) / sizes
    low = np.where(first > 0, LEAST_SHARE * first, -np.inf)
    try:
        ending = least_squares(
            residuals, first, slopes, bounds=(low, np.inf), x_scale="jac", xtol=FIT_END, ftol=FIT_END, gtol=None
        )
    except SimulationError as error:
        raise RecordError(f"the fit cannot be made, since the experiment cannot be simulated at its start: {error}") from None
    psi = ending.jac * np.where(ending.x == 0, 1.0, np.abs(ending.x))
    values = dict(zip(names, (ending.x * sizes).tolist(), strict=True))
    misfit = float(np.sqrt(2.0 * ending.cost / (len(ending.fun) - len(names))))
    return BatchFit(values, np.einsum("ni,nj->ij", psi, psi), misfit, ending.status > 0)
