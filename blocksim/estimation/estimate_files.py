"""Estimates as files: everything as JSON, the table as CSV, and back."""

from __future__ import annotations

import csv
import io
import json
import math
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from ..diagram.files import write_whole
from ..errors import RecordError, listing
from ..records.writing import text_cell, writing
from .estimates import NAN, NORMAL, Estimate, Estimates


def as_dict(estimates: Estimates) -> dict[str, Any]:
    """Plain values that JSON can carry: null for nan, 'inf' for infinity."""
    whole = {
        "method": estimates.method,
        "model": estimates.model,
        "parameters": {
            e.name: {
                "value": e.value, "std": e.std, "truth": e.truth, "unit": e.unit, "quantile": e.quantile,
                "error": e.error, "relative_std": e.relative_std, "z": e.z,
                "start": e.start, "prior": e.prior, "learnt": e.learnt,
            }
            for e in estimates.entries
        },
        "covariance": estimates.covariance,
        "warnings": estimates.warnings,
        "remarks": estimates.remarks,
        "reason": estimates.reason,
        "details": estimates.details,
    }  # fmt: skip
    plain: dict[str, Any] = jsonable(whole)
    return plain


def from_dict(data: Mapping[str, Any]) -> Estimates:
    """The estimates `as_dict` told of; arrays among the details come back as lists."""
    try:
        items = tuple(read_estimate(name, one) for name, one in data["parameters"].items())
        matrix = data.get("covariance")
        covariance = None if matrix is None else np.array([[number_or_nan(v) for v in row] for row in matrix])
        rest: dict[str, Any] = {k: data.get(k) or "" for k in ("model", "reason")}
        details = data.get("details") or {}
        if not isinstance(details, Mapping) or not isinstance(details.get("assumed", {}), Mapping):
            raise ValueError("details: names and values are wanted")
        if not all(isinstance(text, str) for text in (data["method"], *rest.values())):
            raise ValueError("method, model and reason are texts")
        rest |= {k: tuple(data.get(k, ())) for k in ("warnings", "remarks")}
        return Estimates(data["method"], items, covariance, details=dict(details), **rest)
    except KeyError as error:
        raise RecordError(f"these are not estimates as blocksim writes them: {error} is missing.") from None
    except ValueError as error:
        raise RecordError(f"these are not estimates as blocksim writes them: {error}.") from None
    except (TypeError, AttributeError, OverflowError):  # something else where a mapping, a list, a text or a number belongs
        raise RecordError("these are not estimates as blocksim writes them: values of other kinds stand in them.") from None


def from_file(path: str | os.PathLike[str], data: Mapping[str, Any]) -> Estimates:
    """The same of a file, which is named where it holds something else."""
    try:
        return from_dict(data)
    except RecordError as error:
        raise RecordError(f"'{path}': {error}") from None


def save_estimates(estimates: Estimates, path: str | os.PathLike[str]) -> None:
    """Write everything to .json, or the table to .csv."""
    kind = Path(path).suffix.lower()
    if kind not in (".json", ".csv"):
        raise RecordError(f"cannot save estimates to '{path}'. The name ends in .json or .csv.")
    sheet = io.StringIO()
    if kind == ".json":
        sheet.write(json.dumps(as_dict(estimates), indent=1, allow_nan=False) + "\n")
    else:
        csv.writer(sheet, lineterminator="\n").writerows(csv_rows(estimates))
    with writing(path):
        write_whole(path, sheet.getvalue())


def jsonable(value: Any) -> Any:
    """The value in what JSON has: None for nan, text for infinity and for what has no other form."""
    if isinstance(value, Mapping):
        return {str(k): jsonable(v) for k, v in value.items()}
    if isinstance(value, (list, tuple, set, frozenset)):
        return [jsonable(v) for v in value]
    if hasattr(value, "tolist"):
        return jsonable(value.tolist())
    if isinstance(value, float) and not math.isfinite(value):
        return None if math.isnan(value) else "inf" if value > 0 else "-inf"
    return value if value is None or isinstance(value, (bool, int, float, str)) else str(value)


def number_or_nan(value: Any) -> float:
    return NAN if value is None else float(value)


def read_estimate(name: str, data: Mapping[str, Any]) -> Estimate:
    value, std, truth, start, prior = (number_or_nan(data.get(key)) for key in ("value", "std", "truth", "start", "prior"))
    return Estimate(name, value, std, truth, data.get("unit", ""), float(data.get("quantile", NORMAL)), start, prior)


def csv_rows(estimates: Estimates) -> list[list[str]]:
    """The table for a spreadsheet, in full precision; what is not known is left empty."""
    names = ("value", "std", "truth", "error", "z")
    rows = [["name", *names, "unit"]]
    for e in estimates.entries:
        numbers = (getattr(e, n) for n in names)
        rows.append([text_cell(e.name), *("" if math.isnan(v) else repr(float(v)) for v in numbers), text_cell(e.unit)])
    return rows


def read_json(path: str | os.PathLike[str]) -> Any:
    try:
        return json.loads(Path(path).read_text(encoding="utf-8"))
    except OSError as error:
        raise RecordError(f"'{path}' cannot be read: {error.strerror or error}.") from None
    except RecursionError:
        raise RecordError(f"'{path}' is nested deeper than JSON of estimates is.") from None
    except ValueError as error:
        raise RecordError(f"'{path}' is not JSON: {error}.") from None


def read_all_estimates(path: str | os.PathLike[str]) -> dict[str, Estimates]:
    """The estimates of every identifier in the estimates.json of a run; of one identifier's own file by the name of the file."""
    data = read_json(path)
    if isinstance(data, Mapping) and "parameters" in data and "method" in data:
        return {Path(path).stem: from_file(path, data)}
    if not isinstance(data, Mapping) or not data:
        raise RecordError(f"'{path}' holds no estimates as blocksim writes them.")
    return {name: from_file(path, one) for name, one in data.items()}


def read_estimates(path: str | os.PathLike[str], block: str = "") -> Estimates:
    """The estimates of one identifier from its own file, or from the estimates.json of a run, which has them by block."""
    data = read_json(path)
    if isinstance(data, Mapping) and "parameters" in data and "method" in data:
        return from_file(path, data)
    if not isinstance(data, Mapping) or not data or not all(isinstance(d, Mapping) and "parameters" in d for d in data.values()):
        raise RecordError(f"'{path}' holds no estimates as blocksim writes them.")
    if not block and len(data) > 1:
        raise RecordError(f"'{path}' holds the estimates of {listing(data)}; say which, e.g. --estimates-of {next(iter(data))}.")
    if block and block not in data:
        raise RecordError(f"'{path}' has no estimates of '{block}'. It has those of: {listing(data)}.")
    return from_file(path, data[block or next(iter(data))])
