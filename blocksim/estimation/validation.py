"""Validation: how well fixed values repeat a record that was not used to find them, signal by signal."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from html import escape
from typing import Any

import numpy as np

from ..errors import RecordError, listing
from ..extensions import extension
from ..notation import unit_label

#: Lags up to which residuals are looked at.
RESIDUAL_LAGS = 20
TABLE_HEAD = ("signal", "rms error", "unit", "error %", "fit %", "there: rms", "there: fit %", "lags outside", "with input")


@dataclass(frozen=True)
class SignalFit:
    """One measured signal beside what the model makes of it."""

    name: str
    unit: str
    t: np.ndarray
    measured: np.ndarray
    model: np.ndarray
    #: Largest correlation of the residual with a signal that drove the experiment, and which.
    correlation: float = math.nan
    input: str = ""
    #: Which samples count, of each element; None: all do.
    counted: np.ndarray | None = None

    @property
    def residual(self) -> np.ndarray:
        return np.asarray(self.measured - self.model)

    def elements(self) -> list[tuple[np.ndarray, np.ndarray]]:
        """Of each element of the signal: measured and residual at the samples that count."""
        measured, rest = (v.reshape(len(self.t), -1) for v in (self.measured, self.residual))
        counted = np.ones(measured.shape, dtype=bool) if self.counted is None else self.counted.reshape(measured.shape)
        return [(measured[rows, k], rest[rows, k]) for k, rows in enumerate(counted.T)]

    @property
    def rms(self) -> float:
        return float(np.sqrt(np.mean(np.concatenate([rest for _, rest in self.elements()]) ** 2)))

    @property
    def relative_error(self) -> float:
        """|y - y_s| / |y|, as the literature of robot identification has it."""
        return share_of_size(*(np.concatenate(parts) for parts in zip(*self.elements(), strict=True)))

    @property
    def relative_errors(self) -> list[float]:
        """The same of each element by itself: a small joint does not hide behind a large one."""
        return [share_of_size(measured, rest) for measured, rest in self.elements()]

    @property
    def fit(self) -> float:
        """1 - |y - y_s| / |y - mean y|: 1 is perfect, 0 is no better than the mean, below 0 is worse."""
        parts = [(y - y.mean() if len(y) else y, rest) for y, rest in self.elements()]
        spread, error = (float(np.linalg.norm(np.concatenate(column))) for column in zip(*parts, strict=True))
        return 1.0 - error / spread if spread else -math.inf

    @property
    def lags_outside(self) -> float:
        """The share of the first lags at which the residual is correlated with itself beyond chance; 0.05 for white noise."""
        return float(np.mean([share_outside(rest) for _, rest in self.elements() if len(rest)]))

    def row(self, there: SignalFit | None = None) -> list[str]:
        """Its line of the table; `there` is the same signal of the record that the values were found on."""
        driven = "" if math.isnan(self.correlation) else f"{self.correlation:+.2f} ({self.input})"
        numbers = (f"{100 * self.relative_error:.3g}", f"{100 * self.fit:.2f}")
        first = ("", "") if there is None else (f"{there.rms:.3g}", f"{100 * there.fit:.2f}")
        return [self.name, f"{self.rms:.3g}", unit_label(self.unit), *numbers, *first, f"{100 * self.lags_outside:.0f} %", driven]


@dataclass(frozen=True)
class Validation(Mapping[str, SignalFit]):
    """Every measured signal that the model makes too, by name. `mode` says how it made them."""

    mode: str
    entries: tuple[SignalFit, ...]
    source: str = ""  # the record
    settings: dict[str, float] = field(default_factory=dict)  # the settings that were fixed, by path
    notes: tuple[str, ...] = ()
    there: Validation | None = None  # the same values on the record they were found on

    def __getitem__(self, name: str) -> SignalFit:
        for entry in self.entries:
            if name in (entry.name, entry.name.rpartition(".")[0]):
                return entry
        raise KeyError(name)

    def __iter__(self) -> Iterator[str]:
        return iter(entry.name for entry in self.entries)

    def __len__(self) -> int:
        return len(self.entries)

    def title(self) -> str:
        how = {"loop": "loop simulated", "predict": "short predictions", "inverse": "inverse model evaluated"}[self.mode]
        words = f"{how} on {self.source}" if self.source else how
        return words if self.there is None else f"{words}; there: on the record that the values come from"

    def rows(self) -> tuple[list[str], list[list[str]]]:
        """The table as text: the columns that say something, and a row per signal."""
        first: Mapping[str, SignalFit] = self.there or {}
        rows = [entry.row(first.get(entry.name)) for entry in self.entries]
        columns = [i for i in range(len(TABLE_HEAD)) if any(row[i] for row in rows)]
        return [TABLE_HEAD[i] for i in columns], [[row[i] for i in columns] for row in rows]

    def __str__(self) -> str:
        head, rows = self.rows()
        widths = [max(map(len, column)) for column in zip(head, *rows, strict=True)]
        texts = [
            "  ".join(
                c.ljust(w) if name in ("signal", "unit") else c.rjust(w) for name, c, w in zip(head, row, widths, strict=True)
            )
            for row in [head, *rows]
        ]
        return "\n".join([self.title(), *(text.rstrip() for text in texts), *self.notes])

    def _repr_html_(self) -> str:
        head, rows = self.rows()
        cells = "".join("<tr>" + "".join(f"<td>{escape(c)}</td>" for c in row) + "</tr>" for row in rows)
        notes = "".join(f"<p>{escape(text)}</p>" for text in self.notes)
        return f"<p>{escape(self.title())}</p><table><tr>{''.join(f'<th>{h}</th>' for h in head)}</tr>{cells}</table>{notes}"

    def to_dict(self) -> dict[str, Any]:
        """Plain values that JSON can carry, without the signals."""
        scores = {
            e.name: {
                "unit": e.unit,
                "rms": e.rms,
                "relative_error": e.relative_error,
                "relative_errors": e.relative_errors,
                "fit": e.fit,
                "lags_outside": e.lags_outside,
                "correlation": None if math.isnan(e.correlation) else e.correlation,
                "input": e.input,
            }
            for e in self.entries
        }
        whole = {
            "mode": self.mode,
            "source": self.source,
            "settings": self.settings,
            "signals": scores,
            "notes": list(self.notes),
        }
        return whole if self.there is None else {**whole, "there": self.there.to_dict()}

    def plot(self, path: Any = None, name: str = "") -> Any:
        """Draw every signal, measured and by the model, and the residual below; with a path also write it. Returns the Figure.

        `name` stands above it: that of the model, where several are judged.
        """
        return extension("plots", "validation")(self, path, *([name] if name else []))


def fit_of(
    name: str,
    unit: str,
    t: np.ndarray,
    measured: np.ndarray,
    model: np.ndarray,
    inputs: Mapping[str, np.ndarray],
    counted: np.ndarray | None = None,
) -> SignalFit:
    """A signal judged by the samples that count: the input its residual follows most is named."""
    entry = SignalFit(name, unit, t, measured, model, counted=counted)
    rows = np.ones((len(t), len(entry.elements())), dtype=bool) if counted is None else counted.reshape(len(t), -1)
    best, which = math.nan, ""
    for source, values in inputs.items():
        for column in np.asarray(values, dtype=float).reshape(len(t), -1).T:
            for (_, rest), own in zip(entry.elements(), rows.T, strict=True):
                r = correlation_of(rest, column[own])
                if math.isfinite(r) and (math.isnan(best) or abs(r) > abs(best)):
                    best, which = r, source
    return replace(entry, correlation=best, input=which)


def share_of_size(measured: np.ndarray, rest: np.ndarray) -> float:
    """|rest| / |measured|."""
    size = float(np.linalg.norm(measured))
    return float(np.linalg.norm(rest)) / size if size else math.inf


def correlation_of(a: np.ndarray, b: np.ndarray) -> float:
    """The correlation coefficient of two signals at the same instants."""
    if not len(a):
        return math.nan
    a, b = a - a.mean(), b - b.mean()
    size = float(np.linalg.norm(a) * np.linalg.norm(b))
    return float(a @ b) / size if size else math.nan


def share_outside(values: np.ndarray) -> float:
    """The share of the first lags whose autocorrelation lies outside the 95 % band of white noise."""
    rest = values - values.mean()
    lags, power = min(RESIDUAL_LAGS, len(rest) - 1), float(rest @ rest)
    if lags < 1 or not power:
        return 0.0
    r = np.array([float(rest[k:] @ rest[:-k]) for k in range(1, lags + 1)]) / power
    return float(np.mean(np.abs(r) > 1.959963984540054 / math.sqrt(len(rest))))


def compared(validations: Mapping[str, Validation], parameters: Mapping[str, int] | None = None) -> str:
    """Several models on the same held-back record, the best fit of each signal marked: which one is worth its parameters.

    The criterion is that of Akaike on the held-back residuals, n ln(rms^2) + 2 k, with k the number of fixed values.
    """
    signals = [set(v) for v in validations.values()]
    common = sorted(set.intersection(*signals)) if signals else []
    if not common:
        raise RecordError(f"the models {listing(validations)} have no signal in common.")
    counts = parameters or {name: len(v.settings) for name, v in validations.items()}
    lines = []
    for signal in common:
        scores = {n: criterion(v[signal], counts.get(n, 0)) for n, v in validations.items()}
        best = min(scores, key=lambda n: scores[n])
        lines.append(signal)
        for name, v in validations.items():
            mark = "*" if name == best else " "
            lines.append(f" {mark} {name}: fit {100 * v[signal].fit:.2f} %, criterion {scores[name] - scores[best]:+.1f}")
    return "\n".join(lines)


def criterion(entry: SignalFit, parameters: int) -> float:
    n = entry.residual.size
    return n * math.log(max(entry.rms**2, 1e-300)) + 2 * parameters
