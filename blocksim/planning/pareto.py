"""The front of what accuracy costs: the same design for several peaks or durations, each starting from scratch."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from ..errors import DiagramError
from .design.design import DesignResult, design
from .design.file import load_design
from .design.searching.search import SearchProgress
from .design.spec import DesignSpec


@dataclass(frozen=True)
class Front:
    """What was asked for, and the criterion each time."""

    over: str
    criterion: str
    values: tuple[float, ...]
    criteria: tuple[float, ...]
    results: tuple[DesignResult, ...]

    def __str__(self) -> str:
        rows = [f"{self.over:>12} {self.criterion:>12}"]
        rows += [f"{value:12.4g} {criterion:12.4g}" for value, criterion in zip(self.values, self.criteria, strict=True)]
        return "\n".join(rows)


def pareto(
    source: str | os.PathLike[str] | Mapping[str, Any] | DesignSpec,
    over: str,
    values: Sequence[float],
    *,
    out: str | os.PathLike[str] | None = None,
    progress: Callable[[SearchProgress], None] | None = None,
) -> Front:
    """One design for each value of `over`: 'peak' of the varied sources and their limits, or 'duration' of the run.

    With `out` each of them is written to a folder of its own in there, as peak-30.
    """
    spec = source if isinstance(source, DesignSpec) else load_design(source)
    if over not in ("peak", "duration"):
        raise DiagramError(f"over: found '{over}'. A front goes over peak or duration.")
    if over == "peak" and not any("peak" in words for words in spec.vary.values()):
        raise DiagramError("over: no source of `vary` has a peak to go over.")
    results = []
    for value in values:
        folder = None if out is None else Path(out) / f"{over}-{value:g}"
        results.append(design(with_value(spec, over, float(value)), out=folder, progress=progress))
    return Front(over, spec.criterion, tuple(map(float, values)), tuple(r.criterion for r in results), tuple(results))


def with_value(spec: DesignSpec, over: str, value: float) -> DesignSpec:
    """The design with another peak, or another end of the run."""
    if over == "duration":
        return replace(spec, simulate={**spec.simulate, "stop": value})
    vary = {name: {**words, **({"peak": value} if "peak" in words else {})} for name, words in spec.vary.items()}
    limits = {
        name: {**kinds, **({"peak": value} if name in vary and "peak" in kinds else {})} for name, kinds in spec.limits.items()
    }
    return replace(spec, vary=vary, limits=limits)
