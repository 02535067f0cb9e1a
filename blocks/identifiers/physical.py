"""Physical estimates: what is said of estimates no physical robot has, and least squares among those that one has.

A plant whose class has `feasibility` and `nearest_physical` knows which parameters belong to bodies and motors that can be.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from blocksim.errors import RecordError, listing
from blocksim.estimation.estimates import Estimates

if TYPE_CHECKING:
    from blocksim.contract.plant import Plant

    from .regression.least_squares import Found, LinearTask

PHYSICAL = ("untold", "told", "required")


def with_physical(estimates: Estimates, plant: Plant) -> Estimates:
    """The estimates with a word on whether a physical plant has them, where the plant knows; details say why it does not."""
    kind: Any = plant.kind
    if not hasattr(kind, "feasibility"):
        return estimates
    try:
        answer = kind.feasibility(estimates)
    except RecordError as error:  # the solver is an extra: without it nothing is lost but this word
        return replace(estimates, details={**estimates.details, "physical": None, "physical_reasons": [str(error)]})
    details = {**estimates.details, "physical": answer.physical, "physical_distance": answer.distance,
               "physical_reasons": list(answer.reasons), "nearest_physical": dict(zip(answer.names, answer.nearest, strict=True)),
               }  # fmt: skip
    result = replace(estimates, details=details)
    return result if answer.physical else result.warned(f"{answer}.")


def physical_found(free: Found, task: LinearTask, plant: Plant) -> tuple[Found, dict[str, Any]]:
    """The least squares estimates among those of physical plants; intervals stay those of the free ones."""
    kind: Any = plant.kind
    if not hasattr(kind, "nearest_physical"):
        raise RecordError(
            f"physical: required: {plant.name} does not say which of its parameters are physical; SerialRobot does."
        )
    if missing := [n for n in plant.parameters if n not in free.names]:
        raise RecordError(f"physical: required estimates all parameters; {listing(missing)} is not among them.")
    one = free.fit
    information = np.linalg.pinv(one.bread, rcond=1e-14, hermitian=True) / max(one.sigma, 1e-300) ** 2
    answer = kind.nearest_physical(dict(zip(free.names, one.values, strict=True)), information)
    values = np.array(answer.nearest)
    residuals = one.residuals - task.W[:, [task.names.index(n) for n in free.names]] @ (values - one.values)
    fit = replace(one, values=values, residuals=residuals, scores=residuals * one.weights)
    details = {
        "free": dict(zip(free.names, one.values, strict=True)),
        "moved": dict(zip(free.names, answer.moves, strict=True)),
        "standard": answer.standard,
        "physical": True,
        "physical_distance": answer.distance,
    }
    return replace(free, fit=fit), details
