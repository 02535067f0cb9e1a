"""Estimates: what an identifier found, with its uncertainty, and the truth where the diagram knows it.

record.estimates["ls"]["J"].value       also .std .truth .error .relative_error .relative_std .interval .z
print(record.estimates["ls"])           a table
record.estimates["ls"].plot("ls.png")   every parameter with its 95 % interval, beside the truth
record.estimates["ls"].save("ls.json")  or .csv; Estimates.load reads the JSON again
simulate(diagram, params=record.estimates["ls"].as_params())
"""

from __future__ import annotations

import math
import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from html import escape
from typing import TYPE_CHECKING, Any

import numpy as np

from ..errors import RecordError, listing
from ..extensions import extension
from ..notation import method_label, unit_label

if TYPE_CHECKING:
    from ..contract.plant import Plant

COLUMNS = ("name", "value", "std", "%std", "truth", "error %", "z", "unit", "note")
NAN = float("nan")
NORMAL = 1.959963984540054  # 97.5 % of a standard normal distribution lie below
LEARNT = 0.1  # of its prior spread: a parameter that moved less says what it was told,
RECORD_MARK = "@"  # before the number of the record, in the name of what is one record's own: q@2
NARROWED = 0.5  # unless data have made it surer: its standard deviation below this share of that spread


@dataclass(frozen=True)
class Estimate:
    """One number with its standard deviation (nan where a method gives none) and the truth (nan where nobody knows it)."""

    name: str
    value: float
    std: float = NAN
    truth: float = NAN
    unit: str = ""
    quantile: float = NORMAL  # of the 95 % interval: that of a normal distribution, or of Student's
    start: float = NAN  # where the search or the recursion began
    prior: float = NAN  # how far that start was allowed to be off, as a standard deviation

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
    def learnt(self) -> bool:
        """Whether data had a say: it moved by a tenth of its prior spread or became much surer; or moved at all, without one.

        A wide prior (P0 = 1e5 for "nothing known") is hardly left by anything, and yet its parameter is found.
        """
        if not math.isfinite(self.prior):
            return self.value != self.start
        return not abs(self.value - self.start) <= LEARNT * self.prior or self.std < NARROWED * self.prior

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
        note = "" if self.learnt else "not learnt"
        return [self.name, *("" if math.isnan(v) else format(v, style) for v, style in numbers), unit_label(self.unit), note]


@dataclass(frozen=True, eq=False)  # arrays have no one equality
class Estimates(Mapping[str, Estimate]):
    """All that one identifier found in one run."""

    method: str
    entries: tuple[Estimate, ...]
    covariance: np.ndarray | None = None
    model: str = ""  # path of the plant whose parameters these are; '' where they are paths themselves
    warnings: tuple[str, ...] = ()  # what is wrong, or may be
    reason: str = ""  # why an iteration stopped, in words
    details: dict[str, Any] = field(default_factory=dict)  # numbers and arrays by name: cond, rank, residual autocorrelation ...
    remarks: tuple[str, ...] = ()  # what is worth knowing, and counted already

    @classmethod
    def of(
        cls, method: str, names: Sequence[str], values: Any, covariance: Any = None, plant: Plant | None = None, **more: Any
    ) -> Estimates:
        """Estimates of parameters of a plant, which knows their units and, where it was simulated, their truth.

        `covariance` may also be standard deviations, one per name. `more` are warnings, remarks, reason, details,
        the quantile of the intervals, one for all or one each, and `priors`, {name: (first value, its spread)}.
        """
        values = np.asarray(values, dtype=float)
        spread = np.full(len(names), NAN) if covariance is None else np.asarray(covariance, dtype=float)
        std = np.sqrt(np.diag(spread)) if spread.ndim == 2 else spread
        settings = {**plant.settings, **(plant.truth if plant.grouping else {})} if plant is not None and plant.path else {}
        truth = {n: float(settings[n]) for n in names if isinstance(settings.get(n), (int, float))}
        declared = {n: d for n in names if plant is not None and (d := plant.declared(n)) is not None}
        quantiles = np.broadcast_to(more.pop("quantile", NORMAL), len(names))
        priors = more.pop("priors", {})
        items = tuple(
            Estimate(
                n, float(v), float(s), truth.get(n, NAN), declared[n].unit if n in declared else "", float(q), *priors.get(n, ())
            )
            for n, v, s, q in zip(names, values, std, quantiles, strict=True)
        )
        details = dict(more.pop("details", {}))
        if plant is not None:
            details.setdefault("assumed", assumed(plant))
        return cls(method, items, spread if spread.ndim == 2 else None, plant.path if plant else "", details=details, **more)

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
    def converged(self) -> bool:
        """Whether these numbers are an answer: not those of a search that stopped at a limit or moved nothing."""
        return self.details.get("converged") is not False

    @property
    def nees(self) -> float:
        """(x - truth)' P^-1 (x - truth) over all parameters that are determined and whose truth is known.

        Of honest estimates it is on average the number of those parameters; nan without covariance or truth.
        """
        error = self.vector() - self.truth_vector()
        if self.covariance is None:
            return NAN
        scored = np.isfinite(error) & np.isfinite(np.diag(self.covariance))
        if not scored.any():
            return NAN
        part = self.covariance[np.ix_(scored, scored)]
        if (np.diag(part) == 0).any():
            return NAN
        scale = np.sqrt(np.diag(part))  # parameters differ by decades: a correlation matrix is safe to invert
        e = error[scored] / scale
        return float(e @ np.linalg.solve(part / np.outer(scale, scale), e))

    def score(self, truth: Any) -> Estimates:
        """These estimates beside another truth: a Plant, a block, or values by name.

        Numbers of another model are not comparable, and a plant of another type is refused. Where the type is the same and the
        identifier took other settings for known (another law of friction, another ratio), the estimates say so in a warning.
        """
        from .score import compare

        return compare(self, truth)

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
        shared = {n: e.value for n, e in self.items() if RECORD_MARK not in n}  # what was one record's own holds for no other
        return {f"{where}.{n}" if where else n: value for n, value in shared.items()}

    def rows(self) -> tuple[list[str], list[list[str]]]:
        """The table as text: the columns that say something, and a row per parameter."""
        rows = [item.row() for item in self.entries]
        columns = [i for i, name in enumerate(COLUMNS) if name in ("name", "value") or any(row[i] for row in rows)]
        return [COLUMNS[i] for i in columns], [[row[i] for i in columns] for row in rows]

    def title(self) -> str:
        return method_label(self.method) + (f" of {self.model}" if self.model else "")

    def notes(self) -> list[str]:
        """What is remark below the table."""
        still = [n for n, e in self.items() if not e.learnt]
        remark = f"not learnt: {listing(still)} moved less than a tenth of the prior spread, which did not shrink by half either."
        twice = [text for text in self.warnings if self.reason.startswith(text)]  # by the reason itself, which says more
        return [
            *([f"warning: {self.reason}" if twice else self.reason] if self.reason else []), *([remark] if still else []),
            *(f"note: {text}" for text in self.remarks), *(f"warning: {text}" for text in self.warnings if text not in twice),
        ]  # fmt: skip

    def __str__(self) -> str:
        head, rows = self.rows()
        widths = [max(map(len, column)) for column in zip(head, *rows, strict=True)]
        lines = []
        for row in [head, *rows]:
            cells = zip(head, row, widths, strict=True)
            lines.append("  ".join(c.ljust(w) if name in ("name", "unit", "note") else c.rjust(w) for name, c, w in cells))
        return "\n".join([self.title(), *(line.rstrip() for line in lines), *self.notes()])

    def _repr_html_(self) -> str:
        head, rows = self.rows()
        cells = "".join("<tr>" + "".join(f"<td>{escape(c)}</td>" for c in row) + "</tr>" for row in rows)
        notes = "".join(f"<p>{escape(text)}</p>" for text in self.notes())
        return f"<p>{escape(self.title())}</p><table><tr>{''.join(f'<th>{h}</th>' for h in head)}</tr>{cells}</table>{notes}"

    def to_dict(self) -> dict[str, Any]:
        """Plain values that JSON can carry: null for nan, 'inf' for infinity."""
        from .estimate_files import as_dict

        return as_dict(self)

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> Estimates:
        """The estimates `to_dict` told of; arrays among the details come back as lists."""
        from .estimate_files import from_dict

        return from_dict(data)

    def to_pandas(self) -> Any:
        """A DataFrame with a row for each number, by name: value, std, truth, error, z, the ends of the interval, unit."""
        from ..records.record import extra

        columns = ("value", "std", "truth", "error", "relative_error", "z", "unit")
        rows = [{**{c: getattr(e, c) for c in columns}, "low": e.interval[0], "high": e.interval[1]} for e in self.entries]
        pandas = extra("pandas", "pandas")
        return pandas.DataFrame(rows, index=pandas.Index(list(self), name="name"))

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write everything to .json, or the table to .csv."""
        from .estimate_files import save_estimates

        save_estimates(self, path)

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> Estimates:
        """Estimates saved as .json."""
        from .estimate_files import from_dict, read_json

        return from_dict(read_json(path))

    def plot(self, path: str | os.PathLike[str] | None = None) -> Any:
        """Draw every parameter with its 95 % interval beside the truth; with a path also write it. Returns the Figure."""
        return extension("plots", "estimates")({"": self}, path)


def assumed(plant: Plant) -> dict[str, Any]:
    """What an identifier took for known: the model, and the settings its regressor and its effort depend on."""
    from ..contract.definition import arguments

    names: list[str] = []
    for function in (plant.kind.functions.get("regressor"), plant.kind.functions.get("effort")):
        names += [] if function is None else arguments(function)
    settings = {
        n: plant.settings[n] for n in names if n in plant.settings and n not in plant.parameters and n not in plant.motion
    }
    return {"type": plant.kind.__name__, "settings": settings}
