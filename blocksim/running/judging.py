"""judge_structures() and cross_validate(): several models on the same held-back record; every record held back once."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
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
from .validate import chosen_estimates, cut_in_two, cut_record, validate


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
    diagram: str | os.PathLike[str] | Diagram, records: Any = None, *, block: str = "", parts: int | None = None, **options: Any
) -> dict[str, Validation]:
    """Each of several records, a list or by name, held back once: the values are found on all others together, and judged by it.

    `parts=5` cuts each record, the only one, or the one that the diagram names, into so many pieces of time, which are then the
    records. By the name of what was held back. Options are those of `validate`; `block` says whose estimates.
    """
    keys = ("columns", "time", "every", "resample", "missing", "assume", "params")
    reading = {k: options[k] for k in keys if options.get(k) is not None}
    folds = dict(records) if isinstance(records, Mapping) else named_records(records)
    if parts is not None:
        folds = {name: part for one, record in folds.items() for name, part in record_parts(diagram, one, record, parts, reading)}
    if len(folds) < 2:
        raise RecordError(
            f"at least two records are wanted, found {len(folds)}: one is held back. parts=5 (--parts 5) cuts one into five, "
            "split=0.7 (--split 0.7) into what finds and what judges."
        )
    results: dict[str, Validation] = {}
    for name, record in folds.items():
        estimates = told_by(diagram, [other for one, other in folds.items() if one != name], block, reading)
        if not estimates.converged:
            raise RecordError(f"without {name} nothing was found: {estimates.reason}")
        results[name] = validate(diagram, record, estimates, **options)
    return results


def told_by(diagram: str | os.PathLike[str] | Diagram, records: list[Any], block: str, reading: Mapping[str, Any]) -> Estimates:
    """What one identifier finds in all records together; one beside it that fails is not asked."""
    try:
        together = len(records) > 1
        record = identify_together(diagram, records, **reading)[0] if together else identify(diagram, records[0], **reading)
    except DiagramError as error:
        if error.record is None or block not in error.record.estimates:
            raise
        record = error.record
    return chosen_estimates(record, block)


def named_records(records: Any) -> dict[str, Any]:
    """Records by what they are called in words: the name of their file, or their number."""
    result: dict[str, Any] = {}
    listed = [records] if records is None or isinstance(records, (str, os.PathLike, Record)) else records
    for number, record in enumerate(listed, 1):
        name = os.path.basename(os.fspath(record)) if isinstance(record, (str, os.PathLike)) else f"record {number}"
        result[name if name not in result else f"{name} ({number})"] = record
    return result


def record_parts(
    diagram: str | os.PathLike[str] | Diagram, name: str, record: Any, parts: int, options: Mapping[str, Any]
) -> Iterator[tuple[str, Record]]:
    """A record in so many pieces of equal time, each called by its time."""
    if parts < 2:
        raise RecordError(f"parts: found {parts}. At least 2 are wanted, since one is held back.")
    own = {key: value for key, value in options.items() if key != "params"}
    shares = [k / parts for k in range(1, parts)]
    for piece in cut_record(diagram, record, shares, options.get("params"), Reading(**{"columns": {}, **own})):
        yield f"{name}, {piece.t[0]:.4g} to {piece.t[-1]:.4g} s", piece


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
