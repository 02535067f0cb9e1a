"""Estimates: what an identifier found, with its uncertainty, and the truth where the diagram knows it.

record.estimates["ls"]["J"].value       also .std .truth .error .relative_error .relative_std .interval .z
print(record.estimates["ls"])           a table
record.estimates["ls"].plot("ls.png")   every parameter with its 95 % interval, beside the truth
record.estimates["ls"].save("ls.json")  or .csv; Estimates.load reads the JSON again
simulate(diagram, params=record.estimates["ls"].as_params())
"""

from __future__ import annotations

import json
import math
import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from html import escape
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from ..errors import RecordError, listing
from ..extensions import extension

if TYPE_CHECKING:
    from ..contract.plant import Plant

COLUMNS = ("name", "value", "std", "%std", "truth", "error %", "z", "unit")
NAN = float("nan")
NORMAL = 1.959963984540054  # 97.5 % of a standard normal distribution lie below


@dataclass(frozen=True)
class Estimate:
    """One number with its standard deviation (nan where a method gives none) and the truth (nan where nobody knows it)."""

    name: str
    value: float
    std: float = NAN
    truth: float = NAN
    unit: str = ""
    quantile: float = NORMAL  # of the 95 % interval: that of a normal distribution, or of Student's

    @property
    def relative_std(self) -> float:
        return abs(self.std / self.value) if self.value else float("inf")

    @property
    def error(self) -> float:
        return self.value - self.truth

    @property
    def relative_error(self) -> float:
        return self.error / abs(self.truth) if self.truth else float("inf")

    @property
    def z(self) -> float:
        """The error in standard deviations: within 2 for about 95 % of honest estimates."""
        return self.error / self.std if self.std > 0 else NAN

    @property
    def interval(self) -> tuple[float, float]:
        """The 95 % confidence interval."""
        return self.value - self.quantile * self.std, self.value + self.quantile * self.std

    def row(self) -> list[str]:
        """Its line of the table; what is not known is left empty."""
        percent = 100 * self.relative_std
        error = NAN if self.truth == 0 else 100 * self.relative_error
        numbers = (
            (self.value, ".6g"),
            (self.std, ".2g"),
            (percent, ".3g"),
            (self.truth, ".6g"),
            (error, "+.2f"),
            (self.z, "+.1f"),
        )
        return [self.name, *("" if math.isnan(v) else format(v, style) for v, style in numbers), self.unit]


@dataclass(frozen=True, eq=False)  # arrays have no one equality
class Estimates(Mapping[str, Estimate]):
    """All that one identifier found in one run."""

    method: str
    entries: tuple[Estimate, ...]
    covariance: np.ndarray | None = None
    model: str = ""  # path of the plant whose parameters these are; '' where they are paths themselves
    warnings: tuple[str, ...] = ()
    reason: str = ""  # why an iteration stopped, in words
    details: dict[str, Any] = field(default_factory=dict)  # numbers and arrays by name: cond, rank, residual autocorrelation ...

    @classmethod
    def of(
        cls, method: str, names: Sequence[str], values: Any, covariance: Any = None, plant: Plant | None = None, **more: Any
    ) -> Estimates:
        """Estimates of parameters of a plant, which knows their units and, where it was simulated, their truth.

        `covariance` may also be standard deviations, one per name. `more` are warnings, reason, details and
        the quantile of the intervals, one for all or one each.
        """
        values = np.asarray(values, dtype=float)
        given = np.full(len(names), NAN) if covariance is None else np.asarray(covariance, dtype=float)
        std = np.sqrt(np.diag(given)) if given.ndim == 2 else given
        truth = plant.truth if plant is not None else {}
        declared = plant.kind.declared if plant is not None else {}
        quantiles = np.broadcast_to(more.pop("quantile", NORMAL), len(names))
        items = tuple(
            Estimate(n, float(v), float(s), truth.get(n, NAN), declared[n].unit if n in declared else "", float(q))
            for n, v, s, q in zip(names, values, std, quantiles, strict=True)
        )
        details = dict(more.pop("details", {}))
        if plant is not None:
            details.setdefault("assumed", assumed(plant))
        return cls(method, items, given if given.ndim == 2 else None, plant.path if plant else "", details=details, **more)

    def __getitem__(self, name: str) -> Estimate:
        """By its name, 'J', or by its path in the diagram, 'joint.J'."""
        for item in self.entries:
            if name in (item.name, f"{self.model}.{item.name}"):
                return item
        raise KeyError(name)

    def __iter__(self) -> Iterator[str]:
        return iter(item.name for item in self.entries)

    def __len__(self) -> int:
        return len(self.entries)

    def vector(self, names: Sequence[str] | None = None) -> np.ndarray:
        """The values in this order."""
        return np.array([self[n].value for n in (self if names is None else names)])

    def std_vector(self, names: Sequence[str] | None = None) -> np.ndarray:
        return np.array([self[n].std for n in (self if names is None else names)])

    def truth_vector(self, names: Sequence[str] | None = None) -> np.ndarray:
        """The truth in this order, nan where nobody knows it."""
        return np.array([self[n].truth for n in (self if names is None else names)])

    @property
    def nees(self) -> float:
        """(x - truth)' P^-1 (x - truth) over all parameters that are determined and whose truth is known.

        Of honest estimates it is on average the number of those parameters; nan without covariance or truth.
        """
        error = self.vector() - self.truth_vector()
        if self.covariance is None:
            return NAN
        known = np.isfinite(error) & np.isfinite(np.diag(self.covariance))
        if not known.any():
            return NAN
        part = self.covariance[np.ix_(known, known)]
        if (np.diag(part) == 0).any():
            return NAN
        scale = np.sqrt(np.diag(part))  # parameters differ by decades: a correlation matrix is safe to invert
        e = error[known] / scale
        return float(e @ np.linalg.solve(part / np.outer(scale, scale), e))

    def score(self, truth: Any) -> Estimates:
        """These estimates beside another truth: a Plant, a block, or values by name.

        Numbers of another model are not comparable, and a plant of another type is refused. Where the type is the same and the
        identifier took other settings for known (another law of friction, another ratio), the estimates say so in a warning.
        """
        if isinstance(truth, Mapping):
            return self.beside({n: float(v) for n, v in truth.items()})
        kind, settings, path = plant_parts(truth)
        other = f"'{path}' ({kind.__name__})" if path else kind.__name__
        taken = self.details.get("assumed")
        if taken is None:
            return self.beside({n: float(settings[n]) for n in self if n in settings})
        if taken["type"] != kind.__name__:
            raise RecordError(
                f"estimates of {taken['type']} cannot be compared with the values of {other}: the models differ, and parameters "
                "of one name need not mean the same. Identify with the model of the plant, or compare simulated motion."
            )
        words = [f"{n} = {told(v)} (in truth {told(settings[n])})" for n, v in taken["settings"].items() if settings.get(n) != v]
        made = self.beside({n: float(settings[n]) for n in self if n in settings})
        if not words:
            return made
        warning = f"another model than the truth: the identifier assumed {'; '.join(words)}, so errors and z include that."
        return replace(made, warnings=(*self.warnings, warning))

    def beside(self, truth: Mapping[str, float]) -> Estimates:
        """The same estimates with this truth."""
        unknown = [n for n in self if n not in truth]
        if len(unknown) == len(self):
            raise RecordError(f"the truth names none of {listing(self)}; it has: {listing(truth)}.")
        return replace(self, entries=tuple(replace(e, truth=truth.get(e.name, NAN)) for e in self.entries))

    def warned(self, *warnings: str) -> Estimates:
        """The same estimates with more warnings."""
        return replace(self, warnings=(*self.warnings, *(w for w in warnings if w not in self.warnings)))

    def as_params(self, block: str = "") -> dict[str, float]:
        """Settings for a run: {"joint.J": 0.0002}. `block` is whose parameters these are where the estimates do not know."""
        where = block or self.model
        if not where and any("." not in name for name in self):
            raise RecordError(f"whose parameters {listing(self)} are is not known; name the block: as_params('joint').")
        bad = [n for n, e in self.items() if not math.isfinite(e.value)]
        if bad:
            raise RecordError(f"{listing(bad)}: no number was found, so there is nothing to set.")
        return {f"{where}.{n}" if where else n: e.value for n, e in self.items()}

    def rows(self) -> tuple[list[str], list[list[str]]]:
        """The table as text: the columns that say something, and a row per parameter."""
        rows = [item.row() for item in self.entries]
        kept = [i for i, name in enumerate(COLUMNS) if name in ("name", "value") or any(row[i] for row in rows)]
        return [COLUMNS[i] for i in kept], [[row[i] for i in kept] for row in rows]

    def title(self) -> str:
        return self.method + (f" of {self.model}" if self.model else "")

    def notes(self) -> list[str]:
        """What is said below the table."""
        return [*([self.reason] if self.reason else []), *(f"warning: {text}" for text in self.warnings)]

    def __str__(self) -> str:
        head, rows = self.rows()
        widths = [max(map(len, column)) for column in zip(head, *rows, strict=True)]
        lines = []
        for row in [head, *rows]:
            cells = zip(head, row, widths, strict=True)
            lines.append("  ".join(c.ljust(w) if name in ("name", "unit") else c.rjust(w) for name, c, w in cells))
        return "\n".join([self.title(), *(line.rstrip() for line in lines), *self.notes()])

    def _repr_html_(self) -> str:
        head, rows = self.rows()
        cells = "".join("<tr>" + "".join(f"<td>{escape(c)}</td>" for c in row) + "</tr>" for row in rows)
        notes = "".join(f"<p>{escape(text)}</p>" for text in self.notes())
        return f"<p>{escape(self.title())}</p><table><tr>{''.join(f'<th>{h}</th>' for h in head)}</tr>{cells}</table>{notes}"

    def to_dict(self) -> dict[str, Any]:
        """Plain values that JSON can carry: null for nan, 'inf' for infinity."""
        whole: dict[str, Any] = {
            "method": self.method,
            "model": self.model,
            "parameters": {
                e.name: {
                    "value": e.value, "std": e.std, "truth": e.truth, "unit": e.unit, "quantile": e.quantile,
                    "error": e.error, "relative_std": e.relative_std, "z": e.z,
                }
                for e in self.entries
            },
            "covariance": self.covariance,
            "warnings": self.warnings,
            "reason": self.reason,
            "details": self.details,
        }  # fmt: skip
        return {name: jsonable(value) for name, value in whole.items()}

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> Estimates:
        """The estimates `to_dict` told of; arrays among the details come back as lists."""
        try:
            items = tuple(read_estimate(name, one) for name, one in data["parameters"].items())
            matrix = data.get("covariance")
            covariance = None if matrix is None else np.array([[number(v) for v in row] for row in matrix])
            rest = {k: data.get(k) or "" for k in ("model", "reason")}
            return cls(
                data["method"],
                items,
                covariance,
                warnings=tuple(data.get("warnings", ())),
                details=data.get("details", {}),
                **rest,
            )
        except (KeyError, TypeError, ValueError, AttributeError) as error:
            raise RecordError(f"these are not estimates as blocksim writes them ({type(error).__name__}: {error}).") from None

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write everything to .json, or the table to .csv."""
        kind = Path(path).suffix.lower()
        if kind == ".json":
            Path(path).write_text(json.dumps(self.to_dict(), indent=1, allow_nan=False) + "\n", encoding="utf-8")
        elif kind == ".csv":
            Path(path).write_text("".join(",".join(line) + "\n" for line in csv_rows(self)), encoding="utf-8")
        else:
            raise RecordError(f"cannot save estimates to '{path}'. The name ends in .json or .csv.")

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> Estimates:
        """Estimates saved as .json."""
        return cls.from_dict(read_json(path))

    def plot(self, path: str | os.PathLike[str] | None = None) -> Any:
        """Draw every parameter with its 95 % interval beside the truth; with a path also write it. Returns the Figure."""
        return extension("plots", "estimates")({"": self}, path)


def assumed(plant: Plant) -> dict[str, Any]:
    """What an identifier took for known: the model, and the settings its regressor and its effort depend on."""
    from ..contract.definition import arguments

    names: list[str] = []
    for function in (plant.kind.functions.get("regressor"), plant.kind.functions.get("effort")):
        names += [] if function is None else arguments(function)
    kept = {n: plant.settings[n] for n in names if n in plant.settings and n not in plant.parameters and n not in plant.motion}
    return {"type": plant.kind.__name__, "settings": kept}


def plant_parts(truth: Any) -> tuple[type, Mapping[str, Any], str]:
    """Type, settings and path of a Plant or of a block."""
    if hasattr(truth, "kind") and hasattr(truth, "settings"):
        return truth.kind, truth.settings, truth.path
    if hasattr(truth, "settings"):
        return type(truth), truth.settings, ""
    raise RecordError(f"found {truth!r}; estimates are scored against a Plant, a block, or values by name.")


def told(value: Any) -> str:
    return f"{value:g}" if isinstance(value, float) else str(value)


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


def number(value: Any) -> float:
    return NAN if value is None else float(value)


def read_estimate(name: str, data: Mapping[str, Any]) -> Estimate:
    value, std, truth = (number(data.get(key)) for key in ("value", "std", "truth"))
    return Estimate(name, value, std, truth, data.get("unit", ""), float(data.get("quantile", NORMAL)))


def csv_rows(estimates: Estimates) -> list[list[str]]:
    """The table for a spreadsheet, in full precision; what is not known is left empty."""
    names = ("value", "std", "truth", "error", "z")
    rows = [["name", *names, "unit"]]
    for e in estimates.entries:
        numbers = (getattr(e, n) for n in names)
        rows.append([e.name, *("" if math.isnan(v) else repr(float(v)) for v in numbers), e.unit])
    return rows


def read_json(path: str | os.PathLike[str]) -> Any:
    try:
        return json.loads(Path(path).read_text(encoding="utf-8"))
    except OSError as error:
        raise RecordError(f"'{path}' cannot be read: {error.strerror or error}.") from None
    except ValueError as error:
        raise RecordError(f"'{path}' is not JSON: {error}.") from None


def read_estimates(path: str | os.PathLike[str], block: str = "") -> Estimates:
    """The estimates of one identifier from its own file, or from the estimates.json of a run, which has them by block."""
    data = read_json(path)
    if isinstance(data, Mapping) and "parameters" in data and "method" in data:
        return Estimates.from_dict(data)
    if not isinstance(data, Mapping) or not data or not all(isinstance(d, Mapping) and "parameters" in d for d in data.values()):
        raise RecordError(f"'{path}' holds no estimates as blocksim writes them.")
    if not block and len(data) > 1:
        raise RecordError(f"'{path}' holds the estimates of {listing(data)}; say which, e.g. --estimates-of {next(iter(data))}.")
    if block and block not in data:
        raise RecordError(f"'{path}' has no estimates of '{block}'. It has those of: {listing(data)}.")
    return Estimates.from_dict(data[block or next(iter(data))])
