"""What a method found in all runs of one row of a study, as arrays: from lines of JSON to what is scored."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from ..estimation.estimates import NAN
from . import scores

if TYPE_CHECKING:
    from ..contract.arrays import FloatArray, MaskArray
    from .plan import Plan
    from .store import Store

#: Repetitions of a row whose results are held while its tables are written; more are read once for every pass over them.
HELD_RUNS = 2000


@dataclass
class MethodResults:
    """What one method found in all runs of one row; a row of the arrays per repetition, nan where the run failed.

    A run that found numbers without an end of its search is unconverged: counted by itself, and in no score.
    """

    names: list[str]
    units: list[str]
    values: FloatArray
    stds: FloatArray
    truths: FloatArray
    quantiles: FloatArray
    bounds: FloatArray
    nees: FloatArray
    dimension: int  # of the NEES
    still: FloatArray  # 1 where a parameter was not learnt, nan elsewhere
    failures: dict[int, str] = field(default_factory=dict)  # why there are no numbers, by repetition
    unconverged: dict[int, str] = field(default_factory=dict)  # why the numbers are no answer, by repetition
    warning: str = ""  # the first of the first run that warned
    warning_runs: int = 0
    runs: int = 0

    @property
    def good(self) -> MaskArray:
        fine = np.ones(len(self.values), dtype=bool)
        fine[[*self.failures, *self.unconverged]] = False
        return fine


def seen_blocks(plan: Plan, store: Store) -> list[dict[str, tuple[list[str], list[str]]]]:
    """For each variant its identifiers with their parameters and units, as the first run that succeeded told them."""
    per_variant = len(plan.points) * len(plan.arms)
    tables: list[dict[str, tuple[list[str], list[str]]]] = []
    for number, variant in enumerate(plan.variants):
        blocks: dict[str, tuple[list[str], list[str]]] = {name: ([], []) for name in variant.blocks or []}
        names = set(blocks)
        first = number * per_variant * plan.repeat
        for run in range(first, first + per_variant * plan.repeat):
            for result in store.read(run, 1):
                for name, report in result.get("estimates", {}).items():
                    if report["names"] and not blocks.get(name, ([], []))[0]:
                        blocks[name] = report["names"], report["units"]
                        names.discard(name)
            if not names and blocks:
                break
        tables.append(blocks)
    return tables


class RunsOfRow:
    """The results of the repetitions of one row, by number; of many, each pass reads them anew and memory holds one."""

    def __init__(self, store: Store, row: int, repeat: int):
        self.store, self.first, self.repeat = store, row * repeat, repeat
        self.few = list(self.passed()) if repeat <= HELD_RUNS else None

    def passed(self) -> Iterator[tuple[int, dict[str, Any]]]:
        return ((result["run"] - self.first, result) for result in self.store.each(self.first, self.repeat))

    def items(self) -> Iterable[tuple[int, dict[str, Any]]]:
        return self.passed() if self.few is None else self.few


def gathered(runs: RunsOfRow, block: str, names: list[str], units: list[str], repeat: int) -> MethodResults:
    """The arrays of one identifier; parameters it did not name at first come after the others."""
    names, units = list(names), list(units)
    for _, result in runs.items():
        report = result.get("estimates", {}).get(block)
        for name, unit in zip(report["names"], report["units"], strict=True) if report else ():
            if name not in names:
                names.append(name)
                units.append(unit)
    shape = (repeat, len(names))
    nothing = np.broadcast_to(NAN, shape)  # takes no memory; many methods tell no bound
    arrays = dict.fromkeys(("values", "stds", "truths", "quantiles", "crb", "still"), nothing)
    results = MethodResults(names, units, nothing, nothing, nothing, nothing, nothing, np.full(repeat, NAN), 0, nothing)
    place = {name: column for column, name in enumerate(names)}
    for k, result in runs.items():
        results.runs += 1
        report = result.get("estimates", {}).get(block)
        reason = failure_of(result, report, block)
        if report is not None:
            columns = [place[name] for name in report["names"]]
            for key in arrays.keys() & report.keys():
                if arrays[key] is nothing:
                    arrays[key] = np.full(shape, NAN)
                arrays[key][k, columns] = report[key]
            if report.get("warnings"):
                results.warning, results.warning_runs = results.warning or report["warnings"][0], results.warning_runs + 1
        if reason:
            results.failures[k] = reason
        elif report and report.get("converged") is False:
            results.unconverged[k] = report.get("reason") or "not converged"
        elif report and "covariance" in report:
            results.nees[k], results.dimension = nees_of(report)
    results.values, results.stds, results.truths, results.quantiles, results.bounds, results.still = arrays.values()
    return results


def failure_of(result: dict[str, Any], report: dict[str, Any] | None, block: str) -> str:
    """Why a method has no estimate in a run; '' where it has one."""
    if not report or not report["names"]:
        return str(result.get("failure") or f"block '{block}' gave no estimates")
    reason = report.get("reason", "")
    bad = [name for name, value in zip(report["names"], report["values"], strict=True) if not math.isfinite(value)]
    return (reason or f"{', '.join(bad)} not finite") if bad else ""


def nees_of(report: dict[str, Any]) -> tuple[float, int]:
    """The NEES of one run over the parameters whose truth is known, and how many those are."""
    size = len(report["names"])
    whole = np.zeros((size, size))
    whole[np.tril_indices(size)] = report["covariance"]
    whole += np.tril(whole, -1).T
    error = np.array(report["values"]) - np.array(report["truths"])
    finite = np.isfinite(error)
    if not finite.any():
        return NAN, 0
    part = whole[np.ix_(finite, finite)]
    return (scores.nees(error[finite], part) if np.isfinite(part).all() else NAN), int(np.count_nonzero(finite))
