"""Grouping: base parameters as combinations of a plant's standard ones, which motion cannot tell apart one by one."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass


@dataclass(frozen=True)
class Grouping:
    """base = matrix @ standard. Each base parameter is a kept standard one and its share of others."""

    names: tuple[str, ...]
    standard: tuple[str, ...]
    kept: tuple[str, ...]
    matrix: tuple[tuple[float, ...], ...]

    def values(self, settings: Mapping[str, float]) -> tuple[float, ...]:
        """The base parameters of a plant with these standard ones."""
        own = [float(settings[name]) for name in self.standard]
        return tuple(sum(k * v for k, v in zip(row, own, strict=True) if k) for row in self.matrix)

    def settings(self, base: Sequence[float]) -> dict[str, float]:
        """Standard parameters that move as these base ones say: the kept ones have their values, the others are 0."""
        return {**dict.fromkeys(self.standard, 0.0), **dict(zip(self.kept, map(float, base), strict=True))}

    def formulas(self) -> dict[str, str]:
        """What each base parameter is made of: {'ZZ1R': 'ZZ1 + Ia1 + YY2 + 0.05185 M3'}."""
        return {name: self.formula(row, own) for name, row, own in zip(self.names, self.matrix, self.kept, strict=True)}

    def formula(self, row: Sequence[float], own: str) -> str:
        text = own
        for name, share in zip(self.standard, row, strict=True):
            if share and name != own:
                size = f"{abs(share):.9g}"
                text += (" - " if share < 0 else " + ") + (name if size == "1" else f"{size} {name}")
        return text

    def __str__(self) -> str:
        width = max(map(len, self.names), default=0)
        head = f"{len(self.names)} base parameters of {len(self.standard)} standard ones"
        hidden = [n for k, n in enumerate(self.standard) if not any(row[k] for row in self.matrix)]
        lines = [f"  {name.ljust(width)} = {formula}" for name, formula in self.formulas().items() if name != formula]
        alone = [name for name, formula in self.formulas().items() if name == formula]
        tail = [f"  alone: {', '.join(alone)}"] if alone else []
        tail += [f"  without effect: {', '.join(hidden)}"] if hidden else []
        return "\n".join([head, *lines, *tail])
