"""Limits on the signals of an experiment, judged on its simulation: how much of each is used."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from ...errors import DiagramError

if TYPE_CHECKING:
    from ...contract.arrays import FloatArray

#: A limit counts as kept up to this share beyond it, which is rounding.
ROUNDED_LIMIT = 1e-9


@dataclass(frozen=True)
class Margin:
    """One limit of one signal: what it is, what was reached."""

    signal: str
    kind: str
    limit: float
    value: float

    @property
    def excess(self) -> float:
        """How far it is broken, as a share of the limit; negative: what is left."""
        if self.kind in ("min", "max"):
            over = self.limit - self.value if self.kind == "min" else self.value - self.limit
            return over / (abs(self.limit) or 1.0)
        return self.value / self.limit - 1.0

    @property
    def broken(self) -> bool:
        return not self.excess <= ROUNDED_LIMIT

    def __str__(self) -> str:
        share = 100 * abs(self.excess)
        percent = f"{share:.0f}" if share >= 10 else f"{share:.2g}"  # 120 %, not 1.2e+02 %
        left = f"broken by {percent} %" if self.broken else f"{percent if self.excess < 0 else 0} % left"
        return f"{self.signal} {self.kind} {self.value:.4g} of {self.limit:.4g}, {left}"


def tightened(limits: Mapping[str, Mapping[str, Any]], margins: Iterable[Margin], spare: float) -> dict[str, dict[str, Any]]:
    """Limits of which those that are broken are lowered by their excess and a little more, as a share."""
    result = {name: dict(kinds) for name, kinds in limits.items()}
    for margin in margins:
        if margin.broken:
            bound, step = result[margin.signal][margin.kind], margin.excess + spare
            result[margin.signal][margin.kind] = nearer(margin.kind, bound, step)
    return result


def nearer(kind: str, bound: Any, share: float) -> Any:
    """A bound that is reached sooner by so much of it; of `end` the tolerance, of a list every element's."""
    if kind == "end":
        return [bound[0], bound[1] * (1.0 - share)]
    if isinstance(bound, list):
        return [nearer(kind, one, share) for one in bound]
    if kind in ("min", "max"):
        return bound + (share if kind == "min" else -share) * (abs(bound) or 1.0)
    return bound * (1.0 - share)


def measured(kind: str, x: FloatArray, interval: float, target: float) -> float:
    """What a signal, one column, has of a limit."""
    import numpy as np

    size = np.abs(x)
    if kind == "peak":
        return float(size.max())
    if kind in ("min", "max"):
        return float(x.min() if kind == "min" else x.max())
    if kind == "rate":
        return float(np.abs(np.diff(x)).max() / interval)
    if kind in ("rms", "power"):
        square = float(np.mean(np.square(x[:-1] if len(x) > 1 else x)))
        return math.sqrt(square) if kind == "rms" else square
    if kind == "energy":
        return float(np.sum(np.square(x[:-1])) * interval)
    if kind == "travel":
        return float(np.ptp(x))
    if kind == "crest":
        rms = math.sqrt(float(np.mean(np.square(x))))
        return float(size.max()) / rms if rms > 0 else math.inf
    return float(abs(x[-1] - target))


def margins_of(limits: Mapping[str, Mapping[str, Any]], signals: Mapping[str, FloatArray], interval: float) -> Iterator[Margin]:
    """Every limit; of several elements the worst, each with its own limit where a list gives them."""
    for name, kinds in limits.items():
        columns = signals[name].reshape(len(signals[name]), -1)
        for kind, bound in kinds.items():
            end = kind == "end"  # [value, tolerance]
            bounds = [bound[1]] if end else bound if isinstance(bound, list) else [bound]
            if len(bounds) not in (1, columns.shape[1]):
                raise DiagramError(f"limits: {name}: {kind}: {len(bounds)} numbers for {columns.shape[1]} elements.")
            target = float(bound[0]) if end else 0.0
            own = [
                Margin(name, kind, float(bounds[k % len(bounds)]), measured(kind, columns[:, k], interval, target))
                for k in range(columns.shape[1])
            ]
            yield max(own, key=lambda margin: margin.excess)
