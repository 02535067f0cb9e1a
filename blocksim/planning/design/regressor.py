"""What a motion teaches of a robot's inverse model: the regressor W along it, its condition number, and M = W' S^-1 W.

The inverse model tau = W(q, qd, qdd) beta is linear in the base parameters, so that nothing but the motion is needed: a candidate
takes one run, however many parameters there are.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from ...contract.plant import Plant
from ...errors import DiagramError, listing
from .criteria import SEES_NOTHING, condition_number, judged, relative_covariance, vector_of

if TYPE_CHECKING:
    from ...contract.arrays import FloatArray
    from ...simulation.experiment import Experiment
    from .spec import DesignSpec

#: A base parameter below this share of the largest is 0, and W diag(beta) leaves its column out.
NO_PARAMETER = 1e-9


@dataclass(frozen=True)
class RegressorCriterion:
    """The criterion of a design that names a `plant:` and no outputs: of its efforts, in noise of `effort_std` each."""

    plant: Plant
    criterion: str
    names: tuple[str, ...]  # the parameters that are sought
    beta: FloatArray
    weights: FloatArray
    effort_stds: FloatArray

    @property
    def motion(self) -> list[str]:
        """The signals that the regressor asks for, by their whole names."""
        return [f"{self.plant.path}.{name}" for name in self.plant.motion]

    def judge(self, signals: Mapping[str, FloatArray], rows: slice) -> tuple[float, FloatArray]:
        """The criterion of a motion, and the standard deviations of the parameters, relative but for D."""
        import numpy as np

        W = self.plant.regressor({name: signals[f"{self.plant.path}.{name}"][rows] for name in self.plant.motion})
        W = W[:, :, [self.plant.parameters.index(name) for name in self.names]]
        nothing = np.full(len(self.names), np.nan)
        if self.criterion.startswith("condition"):
            scale = self.beta if self.criterion == "condition_scaled" else None
            return condition_number(W.reshape(-1, W.shape[-1]), scale), nothing
        psi = (W / np.broadcast_to(self.effort_stds, W.shape[1])[:, None]).reshape(-1, W.shape[-1])
        scale = np.ones(len(self.names)) if self.criterion == "D" else np.abs(self.beta)
        psi = psi * scale
        covariance = relative_covariance(np.einsum("ni,nj->ij", psi, psi), len(self.names))
        if covariance is None:
            return SEES_NOTHING, nothing + np.inf
        stds = np.sqrt(np.diag(covariance))
        return judged(self.criterion, covariance, self.weights, np.ones(len(stds))), stds


def regressor_criterion(ready: Experiment, spec: DesignSpec) -> RegressorCriterion:
    """What a design asks of a plant's regressor, checked."""
    import numpy as np

    unit = ready.schedule.unit(spec.plant)
    plant = Plant(type(unit.block), unit.settings, unit.path)
    plant.row_function()
    by_name: dict[str, Any] = plant.truth
    short = {name.rpartition(".")[2]: weight for name, weight in spec.parameters.items()}
    scaled = spec.criterion in ("condition_scaled", "A", "E", "worst")
    names = sought_names(plant, short, by_name, scaled)
    stds = np.atleast_1d(np.asarray(spec.effort_std, float))
    if not (stds > 0).all() or not np.isfinite(stds).all():
        raise DiagramError(f"effort_std: numbers above 0 are wanted, one or one for each joint, found {spec.effort_std!r}.")
    beta = np.array([by_name[name] for name in names])
    return RegressorCriterion(plant, spec.criterion, tuple(names), beta, vector_of(names, short, 1.0), stds)


def sought_names(plant: Plant, short: Mapping[str, float], beta: Mapping[str, float], scaled: bool) -> Sequence[str]:
    """The parameters that are sought; all where none are named, and without those that are 0 where shares of them count."""
    strange = [name for name in short if name not in plant.parameters]
    if strange:
        raise DiagramError(
            f"parameters: '{strange[0]}' is none of the inverse model of {plant.name}: {listing(plant.parameters)}."
        )
    top = max(abs(value) for value in beta.values())
    zero = [name for name in short if scaled and not abs(beta[name]) > NO_PARAMETER * top]
    if zero:
        raise DiagramError(f"parameters: {zero[0]} is 0, and shares of it count here: leave it out, or choose condition or D.")
    return list(short) or [name for name in plant.parameters if not scaled or abs(beta[name]) > NO_PARAMETER * top]
