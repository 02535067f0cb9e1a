"""Estimates: what an identifier found, with its uncertainty, and the truth where the diagram knows it.

record.estimates["ls"]["J"].value       also .std .truth .error .relative_error .relative_std .interval .z
print(record.estimates["ls"])           a table
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np


@dataclass(frozen=True)
class Estimate:
    """One number with its standard deviation (nan where a method gives none) and the truth (nan where nobody knows it)."""

    name: str
    value: float
    std: float = float("nan")
    truth: float = float("nan")
    unit: str = ""
    quantile: float = 1.959963984540054  # of the interval: 95 % of a normal distribution, or of Student's

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
        return self.error / self.std if self.std > 0 else float("nan")

    @property
    def interval(self) -> tuple[float, float]:
        """The 95 % confidence interval."""
        return self.value - self.quantile * self.std, self.value + self.quantile * self.std


@dataclass(frozen=True)
class Estimates(Mapping[str, Estimate]):
    """All that one identifier found in one run."""

    method: str
    items_: tuple[Estimate, ...]
    covariance: np.ndarray | None = None
    model: str = ""  # path of the plant whose parameters these are; '' where they are paths themselves
    warnings: tuple[str, ...] = ()
    reason: str = ""  # why an iteration stopped, in words
    details: dict[str, Any] = field(default_factory=dict)  # numbers and arrays by name: cond, rank, residual autocorrelation ...

    def __getitem__(self, name: str) -> Estimate:
        for item in self.items_:
            if item.name == name:
                return item
        raise KeyError(name)

    def __iter__(self) -> Iterator[str]:
        return iter(item.name for item in self.items_)

    def __len__(self) -> int:
        return len(self.items_)

    @property
    def values_(self) -> np.ndarray:
        return np.array([item.value for item in self.items_])
