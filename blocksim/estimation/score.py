"""Record -> Estimates beside the truth: value, standard deviation, truth, error, z; with a warning where truth went in."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from ..contract.plant import Plant
from ..errors import RecordError
from ..simulation.elements import number_at, split_element
from ..simulation.overrides import Overrides
from .estimates import Estimates
from .input_warnings import begins_at_truth, held_readings, leaks, unsettled_starts
from .undetermined import held_truth, unexplained_words, verdict_words

if TYPE_CHECKING:
    from ..records.record import Record
    from ..schedule.schedule import Schedule


def score(
    record: Record, schedule: Schedule, changes: Mapping[str, Any] | None = None, simulated: bool = True
) -> dict[str, Estimates]:
    """What each identifier found, beside the values its plant had in this run; of a measured record nobody knows them.

    `changes` are the settings the run had beside the diagram.
    """
    overrides, scored = Overrides(changes), {}
    for path, estimates in record.estimates.items():
        scored[path] = beside_truth(estimates, schedule, overrides) if simulated else estimates
        if path in schedule.paths:
            unit = schedule.unit(path)
            stairs = held_readings(unit, record, schedule) if simulated and unit.after else []
            true = begins_at_truth(scored[path], unit, changes or {}) if simulated else []
            scored[path] = scored[path].warned(*leaks(unit, record), *stairs, *true, *unsettled_starts(unit, record))
            if simulated:
                scored[path] = scored[path].warned(*held_truth(scored[path], unit, schedule))
            scored[path] = scored[path].warned(*verdict_words(scored[path], schedule, record))
            scored[path] = scored[path].warned(*unexplained_words(scored[path], unit, record))
    return scored


def beside_truth(estimates: Estimates, schedule: Schedule, overrides: Overrides) -> Estimates:
    """Estimates with the truth an identifier did not know itself: of the block they are of, or of the one block of their type."""
    model = estimates.details.get("assumed")
    if not estimates.model and model is not None and len(estimates):
        same = [unit for unit in schedule.units if type(unit.block).__name__ == model["type"]]
        if len(same) != 1:
            return estimates
        block = overrides.block(same[0])
        return replace(compare(estimates, Plant(type(block), block.settings, same[0].path)), model=same[0].path)
    truth = {}
    for entry in estimates.entries:
        path, _, key = (f"{estimates.model}.{entry.name}" if estimates.model else entry.name).rpartition(".")
        setting, place = split_element(key)
        if math.isnan(entry.truth) and path in schedule.by_path and setting in schedule.by_path[path].settings:
            value = number_at(overrides.value(schedule, f"{path}.{setting}"), place)
            truth[entry.name] = math.nan if value is None else value
    if not truth:
        return estimates
    return replace(estimates, entries=tuple(replace(e, truth=truth.get(e.name, e.truth)) for e in estimates.entries))


def compare(estimates: Estimates, truth: Any) -> Estimates:
    """Estimates beside a truth: a Plant, a block, or values by name; a plant of another type is refused."""
    if isinstance(truth, Mapping):
        return estimates.beside({n: float(v) for n, v in truth.items()})
    kind, settings, path = plant_parts(truth)
    other = f"'{path}' ({kind.__name__})" if path else kind.__name__
    model = estimates.details.get("assumed")
    if model is None:
        return estimates.beside({n: float(settings[n]) for n in estimates if n in settings})
    if model["type"] != kind.__name__:
        raise RecordError(
            f"estimates of {model['type']} cannot be compared with the values of {other}: the models differ, and parameters "
            "of one name need not mean the same. Identify with the model of the plant, or compare simulated motion."
        )
    words = [f"{n} = {told(v)} (in truth {told(settings[n])})" for n, v in model["settings"].items() if settings.get(n) != v]
    scores = estimates.beside({n: float(settings[n]) for n in estimates if n in settings})
    if not words:
        return scores
    warning = f"another model than the truth: the identifier assumed {'; '.join(words)}, so errors and z include that."
    return replace(scores, warnings=(*estimates.warnings, warning))


def plant_parts(truth: Any) -> tuple[type, Mapping[str, Any], str]:
    """Type, settings and path of a Plant or of a block."""
    if hasattr(truth, "kind") and hasattr(truth, "settings"):
        return truth.kind, truth.settings, truth.path
    if hasattr(truth, "settings"):
        return type(truth), truth.settings, ""
    raise RecordError(f"found {truth!r}; estimates are scored against a Plant, a block, or values by name.")


def told(value: Any) -> str:
    return f"{value:g}" if isinstance(value, float) else str(value)
