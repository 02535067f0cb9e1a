"""What `blocksim validate` prints and draws."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..diagram.build import open_diagram
from ..errors import DiagramError
from ..records.writing import finite_or_none, writing

if TYPE_CHECKING:
    from ..diagram.diagram import Diagram
    from ..estimation.validation import Validation


@dataclass(frozen=True)
class JudgeRequest:
    """What is to be judged by what."""

    records: list[Path]
    estimates: list[Path]
    split: float | None = None
    folds: bool = False
    parts: int | None = None
    first: Path | None = None


def validated(
    file: str,
    parameters: Mapping[str, Any],
    allow_outside: bool,
    request: JudgeRequest,
    options: Mapping[str, Any],
    output: Path | None,
    as_json: bool,
) -> str:
    """One table for each set of values, and below several of them which is worth its parameters."""
    diagram = open_diagram(file, parameters, allow_outside=allow_outside)
    results, below = validations_of(diagram, file, request, dict(options))
    if as_json:
        return json.dumps(finite_or_none({name: one.to_dict() for name, one in results.items()}), allow_nan=False)
    texts = [f"{name}: {one}" if len(results) > 1 else str(one) for name, one in results.items()]
    texts += [below] if below else []
    for n, (name, one) in enumerate(results.items() if output is not None else ()):
        path = output if n == 0 else output.with_name(f"{output.stem}_{n + 1}{output.suffix}")  # type: ignore[union-attr]
        with writing(path):  # type: ignore[arg-type]
            one.plot(path, name if len(results) > 1 else "")
        texts.append(f"wrote {path}")
    return "\n\n".join(texts)


def validations_of(
    diagram: Diagram, file: str, request: JudgeRequest, options: dict[str, Any]
) -> tuple[dict[str, Validation], str]:
    """The validations by name, and what is said of all together."""
    from ..running.judging import cross_validate, folds_table

    if request.folds or request.parts is not None:
        results = cross_validate(diagram, request.records or None, parts=request.parts, **options)
        return results, folds_table(results)
    if len(request.records) > 1:
        raise DiagramError("several records: --folds holds each of them back once; else give one.")
    record = request.records[0] if request.records else None
    if request.split is not None:
        return split_models(diagram, file, record, request, options)
    return given_models(diagram, file, record, request, options)


def split_models(
    diagram: Diagram, file: str, record: Path | None, request: JudgeRequest, options: dict[str, Any]
) -> tuple[dict[str, Validation], str]:
    """Values found on the first part of a record: of the identifier that is named, or of all there are."""
    from ..running.judging import judge_structures
    from ..running.validate import validate

    if request.estimates:
        raise DiagramError("split finds the estimates itself; give either split or estimates.")
    if options["block"]:
        return {file: validate(diagram, record, None, split=request.split, **options)}, ""
    rest = {name: value for name, value in options.items() if name != "block"}
    judgement = judge_structures(diagram, record, split=request.split, **rest)
    return judgement.validations, comparison_of(judgement)


def given_models(
    diagram: Diagram, file: str, record: Path | None, request: JudgeRequest, options: dict[str, Any]
) -> tuple[dict[str, Validation], str]:
    """Values from files: of one identifier each, or of every one in a file that holds several."""
    from ..estimation.estimate_files import read_all_estimates
    from ..estimation.validation import compared
    from ..running.judging import judge_structures
    from ..running.validate import validate

    def first_of(path: Path) -> Path | None:
        beside = path.parent / "record.npz"
        return request.first or (beside if path.name == "estimates.json" and beside.exists() else None)

    if len(request.estimates) == 1 and not options["block"]:
        path = request.estimates[0]
        models = read_all_estimates(path)
        if len(models) > 1:
            rest = {name: value for name, value in options.items() if name != "block"}
            judgement = judge_structures(diagram, record, models, first=first_of(path), **rest)
            return judgement.validations, comparison_of(judgement)
    results = {str(path): validate(diagram, record, path, first=first_of(path), **options) for path in request.estimates}
    if not results:
        results[file] = validate(diagram, record, None, first=request.first, **options)
    return results, "on the same held-back record:\n" + compared(results) if len(results) > 1 else ""


def comparison_of(judgement: Any) -> str:
    """Which model is worth its parameters, in words."""
    if len(judgement.validations) < 2:
        return ""
    texts = [f"smallest error on the held-back record: {judgement.best}"]
    if judgement.choice is not None:
        texts.append(f"on the record they were found on:\n{judgement.choice}")
    return "\n\n".join(texts)
