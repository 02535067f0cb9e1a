"""judge_structures() and cross_validate(): several models on the same held-back record; every record held back once."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from ..diagram.diagram import Diagram
from ..errors import DiagramError, RecordError, listing
from ..estimation.estimate_files import read_all_estimates
from ..estimation.estimates import Estimates
from ..estimation.validation import Validation
from ..records.record import Record
from .identify import Reading, identify
from .structures import StructureChoice, compare_structures
from .together import identify_together
from .validate import chosen_estimates, cut_in_two, validate


@dataclass(frozen=True)
class StructureJudgement:
    """Several models, each on the held-back record, and what the information criteria say of the record they were found on."""

    validations: dict[str, Validation]
    choice: StructureChoice | None = None

    @property
    def best(self) -> str:
        """The model with the smallest error of the held-back record, relative to the best in each signal, on average."""
        signals = set.intersection(*({*v} for v in self.validations.values()))
        worth = {
            name: np.mean([np.log(max(v[s].rms, 1e-300)) for s in signals]) if signals else np.inf
            for name, v in self.validations.items()
        }
        return min(worth, key=lambda name: float(worth[name]))

    def __str__(self) -> str:
        texts = [f"{name}: {one}" for name, one in self.validations.items()]
        texts.append(f"smallest error on the held-back record: {self.best}")
        if self.choice is not None:
            texts.append(f"on the record they were found on:\n{self.choice}")
        return "\n\n".join(texts)


def judge_structures(
    diagram: str | os.PathLike[str] | Diagram,
    record: str | os.PathLike[str] | Record | None = None,
    estimates: str | os.PathLike[str] | Mapping[str, Estimates] | None = None,
    *,
    split: float | None = None,
    **options: Any,
) -> StructureJudgement:
    """Every identifier of a diagram as a model of its own: values by name or the estimates.json of a run, or found by `split`.

    Each is judged on the held-back record as `validate` does, whose other options hold; AIC and BIC compare what they leave of
    the record that they were found on.
    """
    first: Any = None
    if split is not None:
        if estimates is not None:
            raise DiagramError("split finds the estimates itself; give either split or estimates.")
        keys = ("columns", "time", "every", "resample", "missing", "assume")
        values: dict[str, Any] = {k: options.get(k) or ({} if k == "columns" else None) for k in keys}
        reading = Reading(**values)
        first, record = cut_in_two(diagram, record, split, options.get("params"), reading)
        estimates = identify(diagram, first, params=options.get("params"), **reading.options()).estimates
    if isinstance(estimates, (str, os.PathLike)):
        estimates = read_all_estimates(estimates)
    if not estimates:
        raise DiagramError("no estimates to judge: give them, or split.")
    options.setdefault("first", first)
    validations = {name: validate(diagram, record, one, **options) for name, one in estimates.items()}
    try:
        choice = compare_structures(estimates) if len(estimates) > 1 else None
    except RecordError:  # of other rows, or of an identifier that does not say what it leaves
        choice = None
    return StructureJudgement(validations, choice)


def cross_validate(
    diagram: str | os.PathLike[str] | Diagram, records: Sequence[Any], *, block: str = "", **options: Any
) -> dict[str, Validation]:
    """Each of several records held back once: the values are found on all others together, and judged by it.

    By the name of the record that was held back. Options are those of `validate`; `block` says whose estimates.
    """
    if len(records) < 2:
        raise RecordError(f"at least two records are wanted, found {len(records)}: one is held back. One record: split=0.7.")
    keys = ("columns", "time", "every", "resample", "missing", "assume", "params")
    reading = {k: options[k] for k in keys if options.get(k) is not None}
    results: dict[str, Validation] = {}
    for number, record in enumerate(records):
        others = [other for k, other in enumerate(records) if k != number]
        if len(others) == 1:
            estimates = chosen_estimates(identify(diagram, others[0], **reading), block)
        else:
            estimates = chosen_estimates(identify_together(diagram, others, **reading)[0], block)
        if not estimates.converged:
            raise RecordError(f"without record {number + 1} nothing was found: {estimates.reason}")
        validation = validate(diagram, record, estimates, **options)
        name = os.path.basename(os.fspath(record)) if isinstance(record, (str, os.PathLike)) else f"record {number + 1}"
        results[name if name not in results else f"{name} ({number + 1})"] = validation
    return results


def folds_table(results: Mapping[str, Validation]) -> str:
    """Fit of every signal in every fold, and the mean."""
    signals = list(dict.fromkeys(signal for v in results.values() for signal in v))
    if not signals:
        raise RecordError(f"nothing was compared in {listing(results)}.")
    lines = ["fit % of what was held back"]
    for signal in signals:
        fits = {name: 100 * v[signal].fit for name, v in results.items() if signal in v}
        own = ", ".join(f"{name} {fit:.2f}" for name, fit in fits.items())
        lines.append(f"  {signal}: {own}; mean {np.mean(list(fits.values())):.2f}")
    return "\n".join(lines)
