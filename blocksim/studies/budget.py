"""The error budget: which defect of an experiment causes which part of the bias, seed by seed on the same noise.

The effect of a defect is the bias with everything minus the bias without that defect. What is left with every defect off is the
residual, and what the effects and the residual do not add up to is the interaction: 0 where defects act independently of each
other. `alone` is the effect of a defect added to the ideal experiment; it differs from the other where defects interact.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from ..estimation.estimates import NAN
from .scores import NEGLIGIBLE_SHARE, interval_columns, mean_interval

if TYPE_CHECKING:
    from ..contract.arrays import FloatArray

FULL, IDEAL = "full", "ideal"
WITHOUT, ONLY = "without ", "only "
#: The columns of the table after method, point, swept settings, parameter and unit.
BUDGET_COLUMNS = ("defect", "n", "effect", "effect_low", "effect_high", "percent_of_bias", "percent_of_truth", "significant",
                  "alone", "alone_low", "alone_high")  # fmt: skip


def arms(sets: Mapping[str, dict[str, Any]], alone: bool) -> list[tuple[str, dict[str, Any]]]:
    """What is run for a budget, by name: everything on, each defect off, all off, and where asked each one alone."""
    result: list[tuple[str, dict[str, Any]]] = [(FULL, {})]
    if not sets:
        return result
    result += [(WITHOUT + name, changes) for name, changes in sets.items()]
    result.append((IDEAL, {k: v for changes in sets.values() for k, v in changes.items()}))
    if alone:
        for name, own in sets.items():
            others = {k: v for other, changes in sets.items() if other != name for k, v in changes.items() if k not in own}
            result.append((ONLY + name, others))
    return result


def distinct(arms: list[tuple[str, dict[str, Any]]]) -> tuple[list[tuple[str, dict[str, Any]]], dict[str, str]]:
    """The arms that have to be run, and for every arm the one that stands for it: with one defect, all off is it off."""
    result: list[tuple[str, dict[str, Any]]] = []
    stands: dict[str, str] = {}
    for name, changes in arms:
        same = next((other for other, earlier in result if earlier == changes), None)
        if same is None:
            result.append((name, changes))
        stands[name] = same or name
    return result, stands


def budget(errors: Mapping[str, FloatArray], truth: float = NAN) -> Iterator[dict[str, Any]]:
    """The lines of the budget of one parameter, from the errors of each arm by seed (nan where a run failed)."""
    defects = [name.removeprefix(WITHOUT) for name in errors if name.startswith(WITHOUT)]
    full, ideal = errors[FULL], errors[IDEAL]
    bias = mean_interval(finite_values(full))[0]
    effects = {name: full - errors[WITHOUT + name] for name in defects}
    rest = full - ideal - sum(effects.values())
    lines = {"(bias)": full, **effects, "(residual)": ideal, "(interaction)": rest}
    for name, differences in lines.items():
        paired = finite_values(differences)
        value, low, high = mean_interval(paired)
        line = {"defect": name, "n": len(paired), **interval_columns("effect", (value, low, high))}
        line["percent_of_bias"] = 100 * value / bias if bias else NAN
        line["percent_of_truth"] = 100 * value / abs(truth) if truth else NAN
        line["significant"] = bool((low > 0 or high < 0) and abs(value) > NEGLIGIBLE_SHARE * max(abs(truth), abs(bias)))
        alone = finite_values(errors[ONLY + name] - ideal) if ONLY + name in errors else np.zeros(0)
        yield line | interval_columns("alone", mean_interval(alone))


def finite_values(values: FloatArray) -> FloatArray:
    return values[np.isfinite(values)]
