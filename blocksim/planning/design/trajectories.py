"""Families of trajectories for joints: Fourier series from rest, and way points joined by polynomials or trapezoids of speed."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, ClassVar

from .family import Family

if TYPE_CHECKING:
    import numpy as np

    from ...contract.arrays import FloatArray


#: The share of `peak` that a joint moves at least.
LEAST_WAY = 0.05


def first_place(settings: Mapping[str, Any], joints: int) -> list[float] | None:
    """Where a trajectory with these settings begins; None for another block, or another number of joints."""
    import numpy as np

    if settings.get("points") is not None:
        place = np.atleast_2d(np.asarray(settings["points"], float))[:, 0]
    elif settings.get("b") is not None:
        place = np.atleast_2d(np.asarray(settings["b"], float)).sum(axis=1) + np.asarray(settings.get("offset", 0.0), float)
    else:
        return None
    return [float(value) for value in place] if len(place) == joints else None


class Harmonics(Family):
    """fourier: coefficients of every joint, from rest at `start`; its largest way from there, a share of `peak`, varies too."""

    keys = ("base_frequency", "harmonics", "joints", "peak", "start")
    type = "FourierTrajectory"

    def prepare(self) -> None:
        import numpy as np

        self.joints, self.count = int(self.number("joints", 1)), int(self.number("harmonics"))
        self.unknowns = 2 * self.joints * self.count + self.joints
        k = np.arange(1, self.count + 1)
        angles = 2.0 * np.pi * np.outer(np.arange(32 * self.count) / (32 * self.count), k)  # one period
        self.sines, self.cosines, self.k = np.sin(angles), np.cos(angles), k

    def draw(self, random: np.random.Generator) -> FloatArray:
        import numpy as np

        falling = np.tile(1.0 / self.k ** random.uniform(0.0, 1.5), 2 * self.joints)
        coefficients = random.uniform(-1.0, 1.0, len(falling)) * falling
        return np.concatenate([coefficients, random.uniform(0.0, 1.0, self.joints) ** random.uniform(0.0, 3.0)])

    def settings(self, x: FloatArray, duration: float) -> dict[str, Any]:
        import numpy as np

        a, b = x[: -self.joints].reshape(2, self.joints, self.count)
        a = a - np.outer(a @ self.k / (self.k @ self.k), self.k)  # sum k a = 0: no speed at the start
        square = self.k**2
        b = b - np.outer(b @ square / (square @ square), square)  # sum k^2 b = 0: no acceleration there
        ways = a @ self.sines.T + b @ (self.cosines - 1.0).T
        peak, start = (np.broadcast_to(np.asarray(self.words.get(key, 0.0), float), (self.joints,)) for key in ("peak", "start"))
        share = LEAST_WAY + (1.0 - LEAST_WAY) * np.abs(x[-self.joints :])
        factor = (share * peak / (1.002 * np.maximum(np.abs(ways).max(axis=1), 1e-12)))[:, None]
        a, b = factor * a, factor * b
        base = self.number("base_frequency", 1.0 / duration)
        return {"base_frequency": base, "a": a.tolist(), "b": b.tolist(), "offset": (start - b.sum(axis=1)).tolist()}

    def unknowns_of(self, settings: Mapping[str, Any]) -> FloatArray | None:
        import numpy as np

        a, b = (np.atleast_2d(np.asarray(settings.get(key, ()), float)) for key in ("a", "b"))
        if a.shape != (self.joints, self.count) or b.shape != a.shape:
            return None
        ways = np.abs(a @ self.sines.T + b @ (self.cosines - 1.0).T).max(axis=1)
        peak = np.broadcast_to(np.asarray(self.words.get("peak", 0.0), float), (self.joints,))
        size = max(float(np.abs(a).max()), float(np.abs(b).max()), 1e-12)
        shares = (1.002 * ways / peak - LEAST_WAY) / (1.0 - LEAST_WAY)
        x = np.concatenate([(a / size).reshape(-1), (b / size).reshape(-1), np.clip(shares, 0.0, 1.0)])
        again = self.settings(x, self.duration)
        same = all(np.allclose(again[key], settings.get(key, 0.0), atol=1e-6) for key in ("a", "b", "base_frequency", "offset"))
        return x if same else None


class WayPoints(Family):
    """polynomial: way points at even times, from rest to rest, between `min` and `max` of every joint."""

    keys: ClassVar[tuple[str, ...]] = ("points", "joints", "min", "max", "start")
    type = "PolynomialTrajectory"
    low = 0.0

    def prepare(self) -> None:
        self.joints, self.count = int(self.number("joints", 1)), int(self.number("points"))
        self.unknowns = self.joints * self.count

    def draw(self, random: np.random.Generator) -> FloatArray:
        """Way points anywhere, drawn together towards the start by some share: far ones are often too fast."""
        import numpy as np

        low, high, start = (
            np.broadcast_to(np.asarray(self.words.get(k, 0.0), float), (self.joints,)) for k in ("min", "max", "start")
        )
        home = np.clip((start - low) / (high - low), 0.0, 1.0)[:, None]
        x = random.uniform(0.0, 1.0, (self.joints, self.count))
        drawn: FloatArray = (home + random.uniform(0.2, 1.0) * (x - home)).reshape(-1)
        return drawn

    def places(self, x: FloatArray) -> FloatArray:
        """The way points, a row per joint, the start before and after them."""
        import numpy as np

        low, high, start = (
            np.broadcast_to(np.asarray(self.words.get(key, 0.0), float), (self.joints,))[:, None]
            for key in ("min", "max", "start")
        )
        inner = low + (high - low) * x.reshape(self.joints, self.count)
        return np.concatenate([start, inner, start], axis=1)

    def settings(self, x: FloatArray, duration: float) -> dict[str, Any]:
        import numpy as np

        times = np.linspace(0.0, duration, self.count + 2)
        return {"times": times.tolist(), "points": self.places(x).tolist()}

    def unknowns_of(self, settings: Mapping[str, Any]) -> FloatArray | None:
        import numpy as np

        rows = np.atleast_2d(np.asarray(settings.get("points", ()), float))
        if rows.shape != (self.joints, self.count + 2):
            return None
        low, high = (
            np.broadcast_to(np.asarray(self.words.get(key, 0.0), float), (self.joints,))[:, None] for key in ("min", "max")
        )
        share = np.clip((rows[:, 1:-1] - low) / (high - low), 0.0, 1.0).reshape(-1)
        again = self.settings(share, self.duration)
        same = all(np.allclose(again[key], settings[key], atol=1e-6) for key in ("times", "points") if key in again)
        return share if same else None


class Trapezoids(WayPoints):
    """trapezoid: the same way points, as fast as speed and acceleration allow."""

    keys = (*WayPoints.keys, "speed", "acceleration", "pause")
    type = "TrapezoidTrajectory"

    def settings(self, x: FloatArray, duration: float) -> dict[str, Any]:
        extra = {key: self.words[key] for key in ("speed", "acceleration", "pause") if key in self.words}
        return {"points": (self.places(x) + 1e-9).tolist(), **extra}
