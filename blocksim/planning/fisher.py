"""Fisher information M = sum psi' psi of whitened sensitivities: the Cramer-Rao bound, and what it cannot see."""

from __future__ import annotations

import functools
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from ..contract.arrays import FloatArray, MaskArray

#: Eigenvalues of the scaled information below this share of the largest are directions that the readings do not see.
SINGULAR_INFORMATION = 1e-13
#: A parameter with more of itself than this in a direction that is not seen has no bound.
UNSEEN_PART = 1e-3


@dataclass(frozen=True)
class Fisher:
    """An information matrix, taken apart by the eigenvectors of its scaled form; `floor` is what counts as nothing there."""

    matrix: FloatArray
    floor: float = SINGULAR_INFORMATION

    @functools.cached_property
    def scale(self) -> FloatArray:
        """sqrt of the diagonal: 1 over the standard deviation of each parameter where all others are known."""
        import numpy as np

        scale: FloatArray = np.sqrt(np.maximum(np.diag(self.matrix), 0.0))
        return scale

    @functools.cached_property
    def dead(self) -> MaskArray:
        """Which parameters no reading depends on."""
        return ~(self.scale > 0)

    @functools.cached_property
    def eigen(self) -> tuple[FloatArray, FloatArray]:
        """Eigenvalues, rising, and eigenvectors of the information with unit diagonal; a dead parameter has a row of zeros."""
        import numpy as np

        unit = np.where(self.dead, 1.0, self.scale)
        values, vectors = np.linalg.eigh(self.matrix / np.outer(unit, unit))
        return values, vectors

    @functools.cached_property
    def seen(self) -> MaskArray:
        """Which eigenvectors the readings see."""
        values = self.eigen[0]
        return values > self.floor * max(float(values[-1]), 0.0) if len(values) else values > 0

    @functools.cached_property
    def bounded(self) -> MaskArray:
        """Which parameters have a bound: those with nothing of themselves in a direction that is not seen."""
        import numpy as np

        unseen = self.eigen[1][:, ~self.seen]
        small: MaskArray = np.sqrt((unseen**2).sum(axis=1)) < UNSEEN_PART
        return small

    @functools.cached_property
    def covariance(self) -> FloatArray:
        """M^-1 over the directions that are seen; infinite variances for the parameters that have no bound."""
        import numpy as np

        values, vectors = self.eigen
        half = vectors[:, self.seen] / np.sqrt(values[self.seen])
        unit = np.where(self.dead, 1.0, self.scale)
        inverse: FloatArray = half @ half.T / np.outer(unit, unit)
        inverse[~self.bounded, :] = inverse[:, ~self.bounded] = np.nan
        inverse[np.diag_indices(len(unit))] = np.where(self.bounded, np.diag(inverse), np.inf)
        return inverse

    @functools.cached_property
    def stds(self) -> FloatArray:
        """sqrt(diag(M^-1)): what no unbiased method can be better than."""
        import numpy as np

        return np.sqrt(np.diag(self.covariance))

    @property
    def alone(self) -> FloatArray:
        """The same where all other parameters are known."""
        import numpy as np

        with np.errstate(divide="ignore"):
            return 1.0 / self.scale

    @property
    def correlation(self) -> FloatArray:
        import numpy as np

        with np.errstate(invalid="ignore"):
            return self.covariance / np.outer(self.stds, self.stds)

    @property
    def condition(self) -> float:
        """Largest over smallest singular value of the sensitivities, columns of unit length; infinite with a null direction."""
        values = self.eigen[0]
        return float((values[-1] / values[0]) ** 0.5) if len(values) and self.seen.all() else float("inf")

    @functools.cached_property
    def null_directions(self) -> FloatArray:
        """Changes of the parameters, one per row with largest component 1, that no reading shows; dead parameters aside."""
        import numpy as np

        alive = ~self.dead
        rows = []
        for k in np.flatnonzero(~self.seen):
            vector = self.eigen[1][:, k] * alive
            if np.abs(vector).max(initial=0.0) > UNSEEN_PART:
                vector = vector / np.where(alive, self.scale, 1.0)
                rows.append(vector / vector[np.abs(vector).argmax()])
        return np.array(rows).reshape(-1, len(self.scale))


def fisher(psi: FloatArray, error: float = 0.0) -> Fisher:
    """The information of whitened sensitivities, a column per parameter; `error` is how exact these are, relative to a column."""
    import numpy as np

    return Fisher(np.einsum("ni,nj->ij", psi, psi), max(SINGULAR_INFORMATION, error**2))
