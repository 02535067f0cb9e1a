"""compare_structures(): which model of one record is worth its parameters.

    choice = bs.compare_structures(record.estimates)        # of identifiers that explain the same signals by different models
    choice.best, choice["stribeck"].aic, print(choice)

-2 ln L = sum n ln(s^2) over the signals that were compared, s^2 the mean square of what is left. Akaike's criterion adds 2 for
each parameter, Schwarz's (BIC) ln n. A parameter that is not needed lowers -2 ln L by more than 2 in 16 % of records, and in 8 %
where it can only be on one side of a bound, such as a gap: so often the criterion takes the larger model in vain.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from ..errors import RecordError, listing
from ..estimation.estimates import Estimates

INFORMATION_CRITERIA = ("aic", "aicc", "bic")


@dataclass(frozen=True)
class Structure:
    """One model: how many parameters it has, how many rows it explains, and what it leaves of them."""

    name: str
    parameters: tuple[str, ...]
    rows: int
    deviance: float  # -2 ln L, but for what is the same for all models
    coloured: bool = False

    @property
    def aic(self) -> float:
        return self.deviance + 2 * len(self.parameters)

    @property
    def aicc(self) -> float:
        """Akaike's criterion for few rows."""
        k = len(self.parameters)
        return self.aic + 2 * k * (k + 1) / max(self.rows - k - 1, 1)

    @property
    def bic(self) -> float:
        return self.deviance + math.log(self.rows) * len(self.parameters)


@dataclass(frozen=True)
class StructureChoice(Mapping[str, Structure]):
    """Models of the same rows, by name; `best` is the one whose criterion is smallest."""

    structures: tuple[Structure, ...]
    criterion: str = "aic"

    def __getitem__(self, name: str) -> Structure:
        for one in self.structures:
            if one.name == name:
                return one
        raise KeyError(name)

    def __iter__(self) -> Iterator[str]:
        return iter(s.name for s in self.structures)

    def __len__(self) -> int:
        return len(self.structures)

    @property
    def best(self) -> str:
        return min(self.structures, key=lambda s: float(getattr(s, self.criterion))).name

    def chance(self, small: str, large: str) -> float:
        """The chance of so much gain where the additional parameters of `large` are not needed (likelihood ratio, chi-square)."""
        from scipy.special import chdtrc

        more = len(self[large].parameters) - len(self[small].parameters)
        if more < 1:
            raise RecordError(f"'{large}' has no more parameters than '{small}'; name the smaller model first.")
        return float(chdtrc(more, max(self[small].deviance - self[large].deviance, 0.0)))

    def rows(self) -> list[list[str]]:
        """The table as text: parameters, and how much worse than the best each is."""
        least = {c: min(float(getattr(s, c)) for s in self.structures) for c in ("aic", "bic")}
        return [
            ["*" if s.name == self.best else "", s.name, str(len(s.parameters)), f"{s.aic - least['aic']:+.1f}",
             f"{s.bic - least['bic']:+.1f}"]
            for s in self.structures
        ]  # fmt: skip

    def __str__(self) -> str:
        table = [["", "model", "parameters", "AIC", "BIC"], *self.rows()]
        widths = [max(map(len, column)) for column in zip(*table, strict=True)]
        lines = [
            "  ".join(c.ljust(w) if k < 2 else c.rjust(w) for k, (c, w) in enumerate(zip(row, widths, strict=True))).rstrip()
            for row in table
        ]
        slow = [s.name for s in self.structures if s.coloured]
        note = f"residuals of {listing(slow)} are coloured: the criteria count rows as independent, and favour the larger model."
        return "\n".join([*lines, *([note] if slow else [])])


def compare_structures(estimates: Mapping[str, Estimates], criterion: str = "aic") -> StructureChoice:
    """Models of one record by what they leave of it: of OutputError, CLOE, LeastSquares, ARX and OE, which say what that is.

    All must explain the same rows of the same signals. `criterion` is aic, aicc or bic.
    """
    if criterion not in INFORMATION_CRITERIA:
        raise RecordError(f"criterion: found '{criterion}'. There are: {listing(INFORMATION_CRITERIA)}.")
    if len(estimates) < 2:
        raise RecordError(f"at least two models are wanted, found {listing(estimates) or 'none'}.")
    structures = tuple(structure_of(name, one) for name, one in estimates.items())
    rows = {s.name: s.rows for s in structures}
    if len(set(rows.values())) > 1:
        counts = ", ".join(f"{name} {count}" for name, count in rows.items())
        raise RecordError(
            f"models of different rows cannot be compared: {counts}. Give them the same signals, skip and decimation."
        )
    return StructureChoice(structures, criterion)


def structure_of(name: str, estimates: Estimates) -> Structure:
    details: Mapping[str, Any] = estimates.details
    sizes = details.get("sigma", details.get("sigma_by_joint"))
    if sizes is None or "rows" not in details or not estimates.converged:
        raise RecordError(f"'{name}' ({estimates.method}) does not say what it leaves of how many rows, or found nothing.")
    left = np.atleast_1d(np.asarray(sizes, dtype=float))
    counts = np.asarray(details.get("counts", np.full(len(left), details["rows"] / len(left))), dtype=float)
    deviance = float(np.sum(counts * np.log(np.maximum(left, 1e-300) ** 2)))
    coloured = any("coloured" in text for text in (*estimates.warnings, *estimates.remarks))
    return Structure(name, tuple(estimates), int(details["rows"]), deviance, coloured)
