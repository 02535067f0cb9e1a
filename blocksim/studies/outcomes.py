"""What a method found in all runs of one row of a study, as arrays: from lines of JSON to what is scored."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from ..estimation.estimates import NAN
from . import scores

if TYPE_CHECKING:
    from ..contract.arrays import FloatArray, MaskArray
    from .plan import Plan
    from .store import Store


@dataclass
class MethodResults:
    """What one method found in all runs of one row; a row of the arrays per repetition, nan where the run failed."""

    names: list[str]
    units: list[str]
    values: FloatArray
    stds: FloatArray
    truths: FloatArray
    quantiles: FloatArray
    bounds: FloatArray
    nees: FloatArray
    dimension: int  # of the NEES
    reasons: dict[int, str] = field(default_factory=dict)  # what the method says of its end, by repetition
    failures: dict[int, str] = field(default_factory=dict)  # by repetition
    warnings: dict[int, list[str]] = field(default_factory=dict)  # by repetition
    runs: int = 0

    @property
    def good(self) -> MaskArray:
        fine = np.ones(len(self.values), dtype=bool)
        fine[list(self.failures)] = False
        return fine


def seen_blocks(plan: Plan, store: Store) -> list[dict[str, tuple[list[str], list[str]]]]:
    """For each variant its identifiers with their parameters and units, as the first run that succeeded told them."""
    per_variant = len(plan.points) * len(plan.arms)
    known: list[dict[str, tuple[list[str], list[str]]]] = []
    for number, variant in enumerate(plan.variants):
        blocks: dict[str, tuple[list[str], list[str]]] = {name: ([], []) for name in variant.blocks or []}
        wanted = set(blocks)
        first = number * per_variant * plan.repeat
        for run in range(first, first + per_variant * plan.repeat):
            for result in store.read(run, 1):
                for name, told in result.get("estimates", {}).items():
                    if told["names"] and not blocks.get(name, ([], []))[0]:
                        blocks[name] = told["names"], told["units"]
                        wanted.discard(name)
            if not wanted and blocks:
                break
        known.append(blocks)
    return known


def gathered(runs: dict[int, dict[str, Any]], block: str, names: list[str], units: list[str], repeat: int) -> MethodResults:
    """The arrays of one identifier; parameters it did not name at first come after the others."""
    names, units = list(names), list(units)
    for result in runs.values():
        told = result.get("estimates", {}).get(block)
        for name, unit in zip(told["names"], told["units"], strict=True) if told else ():
            if name not in names:
                names.append(name)
                units.append(unit)
    shape = (repeat, len(names))
    arrays = {key: np.full(shape, NAN) for key in ("values", "stds", "truths", "quantiles", "crb")}
    values, stds, truths, quantiles, bounds = arrays.values()
    found = MethodResults(names, units, values, stds, truths, quantiles, bounds, np.full(repeat, NAN), 0)
    place = {name: column for column, name in enumerate(names)}
    for k, result in runs.items():
        found.runs += 1
        told = result.get("estimates", {}).get(block)
        reason = failure_of(result, told, block)
        if told is not None:
            columns = [place[name] for name in told["names"]]
            for key, array in arrays.items():
                if key in told:
                    array[k, columns] = told[key]
            if told.get("reason"):
                found.reasons[k] = told["reason"]
            if told.get("warnings"):
                found.warnings[k] = told["warnings"]
        if reason:
            found.failures[k] = reason
        elif told and "covariance" in told:
            found.nees[k], found.dimension = nees_of(told)
    return found


def failure_of(result: dict[str, Any], told: dict[str, Any] | None, block: str) -> str:
    """Why a method has no estimate in a run; '' where it has one."""
    if not told or not told["names"]:
        return str(result.get("failure") or f"block '{block}' gave no estimates")
    reason = told.get("reason", "")
    bad = [name for name, value in zip(told["names"], told["values"], strict=True) if not math.isfinite(value)]
    if bad:
        return reason or f"{', '.join(bad)} not finite"
    return (reason or "not converged") if told.get("converged") is False else ""


def nees_of(told: dict[str, Any]) -> tuple[float, int]:
    """The NEES of one run over the parameters whose truth is known, and how many those are."""
    size = len(told["names"])
    whole = np.zeros((size, size))
    whole[np.tril_indices(size)] = told["covariance"]
    whole += np.tril(whole, -1).T
    error = np.array(told["values"]) - np.array(told["truths"])
    known = np.isfinite(error)
    if not known.any():
        return NAN, 0
    part = whole[np.ix_(known, known)]
    return (scores.nees(error[known], part) if np.isfinite(part).all() else NAN), int(np.count_nonzero(known))
