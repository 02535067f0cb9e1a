"""Families: how a source may vary. Unknowns in, settings of its block out.

An unknown lies between 0 and 1 or, an angle or a coefficient, between -1 and 1; a family scales what it makes so that the peak or
the rms asked for is met exactly. It names the type of its block and never imports it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, ClassVar

from ...errors import DiagramError, listing

if TYPE_CHECKING:
    import numpy as np

    from ...contract.arrays import FloatArray


@dataclass
class Family:
    """A source of a diagram that a search may change: `unknowns` numbers between `low` and `high`."""

    block: str  # its path in the diagram
    words: Mapping[str, Any]
    duration: float
    keys: ClassVar[tuple[str, ...]] = ()
    type: ClassVar[str] = ""
    binary: ClassVar[bool] = False
    low: ClassVar[float] = -1.0
    unknowns: int = field(init=False, default=0)

    def __post_init__(self) -> None:
        strange = [key for key in self.words if key not in ("family", *self.keys)]
        if strange:
            raise DiagramError(f"vary: {self.block}: no key '{strange[0]}'. This family takes: {listing(self.keys)}.")
        self.prepare()

    def prepare(self) -> None:
        """Count the unknowns, and whatever is the same for all candidates."""

    def number(self, key: str, default: float | None = None) -> float:
        value = self.words.get(key, default)
        if isinstance(value, bool) or not isinstance(value, (int, float)):
            raise DiagramError(f"vary: {self.block}: {key}: a number is wanted, found {value!r}.")
        return float(value)

    def draw(self, random: np.random.Generator) -> FloatArray:
        """A candidate out of the blue."""
        return random.uniform(self.low, 1.0, self.unknowns)

    def settings(self, x: FloatArray) -> dict[str, Any]:
        """The settings of the block for these unknowns."""
        raise NotImplementedError


class SpectralLines(Family):
    """multisine: amplitudes and phases of every line, scaled to a peak or to an rms."""

    keys = ("f_min", "f_max", "lines", "frequencies", "peak", "rms", "phases")
    type = "Multisine"

    def prepare(self) -> None:
        import numpy as np

        if "frequencies" in self.words:
            self.lines: dict[str, Any] = {"frequencies": list(self.words["frequencies"])}
            self.f = np.asarray(self.words["frequencies"], float)
        else:
            ends = {key: self.number(key) for key in ("f_min", "f_max")}
            self.lines = {**ends, "lines": int(self.number("lines"))}
            self.f = np.linspace(ends["f_min"], ends["f_max"], self.lines["lines"])
        if ("peak" in self.words) == ("rms" in self.words):
            raise DiagramError(f"vary: {self.block}: give the peak of the signal, or its rms.")
        self.free_phases = self.words.get("phases", "free") == "free"
        self.unknowns = len(self.f) * (2 if self.free_phases else 1)
        t = np.arange(0.0, self.duration, 1.0 / (16.0 * self.f.max()))[:200_000]
        angles = 2.0 * np.pi * np.outer(self.f, t)
        self.cosines, self.sines = np.cos(angles), np.sin(angles)

    def draw(self, random: np.random.Generator) -> FloatArray:
        import numpy as np

        n = len(self.f)
        centre, width = random.uniform(0, n), random.uniform(0.05, 1.0) * n
        band = np.exp(-0.5 * np.square((np.arange(n) - centre) / width)) * random.uniform(0.3, 1.0, n)
        return np.concatenate([band, random.uniform(-1.0, 1.0, n)]) if self.free_phases else band

    def settings(self, x: FloatArray) -> dict[str, Any]:
        import numpy as np

        n = len(self.f)
        k = np.arange(1, n + 1)
        phi = np.pi * x[n:] if self.free_phases else -np.pi * k * (k - 1) / n
        a = np.abs(x[:n]) + 1e-9
        if "rms" in self.words:
            a = a * self.number("rms") / np.sqrt(0.5 * np.sum(np.square(a)))
        else:
            y = (a * np.cos(phi)) @ self.cosines - (a * np.sin(phi)) @ self.sines
            a = a * self.number("peak") / (1.002 * np.abs(y).max())  # a sixteenth of a period may miss so much of the top
        return {**self.lines, "amplitudes": a.tolist(), "phases": phi.tolist()}


class Steps(Family):
    """levels: a value for every tick of a clock, anywhere up to the peak."""

    keys = ("clock", "peak")
    type = "LevelSequence"

    def prepare(self) -> None:
        self.unknowns = max(2, round(self.duration / self.number("clock")))

    def draw(self, random: np.random.Generator) -> FloatArray:
        """Noise in a band, the band drawn too: a resonance is found by chance soon."""
        import numpy as np

        noise = np.fft.rfft(random.standard_normal(self.unknowns))
        line = np.arange(len(noise)) / len(noise)
        centre, width = random.uniform(0.0, 0.7), 10 ** random.uniform(-1.7, 0.0)
        shape = np.exp(-0.5 * np.square((line - centre) / width)) + random.uniform(0.0, 0.2)
        y = np.fft.irfft(noise * shape, self.unknowns)
        return np.clip(y / (1.5 * np.std(y)), -1.0, 1.0)

    def settings(self, x: FloatArray) -> dict[str, Any]:
        return {"values": x.tolist(), "amplitude": self.number("peak"), "clock": self.words["clock"]}


class Bits(Steps):
    """binary: plus or minus the peak at every tick of a clock; one as fast as the sampling leaves the switching times free."""

    binary = True

    def draw(self, random: np.random.Generator) -> FloatArray:
        import numpy as np

        y = super().draw(random)
        return np.where(y >= 0, 1.0, -1.0)

    def settings(self, x: FloatArray) -> dict[str, Any]:
        signs = "".join("+" if bit > 0 else "-" for bit in x.tolist())
        return {"signs": signs, "amplitude": self.number("peak"), "clock": self.words["clock"]}


class Register(Family):
    """prbs: where in its sequence a shift register starts."""

    keys = ("bits", "clock", "peak")
    type = "PRBS"
    low = 0.0
    unknowns = 1

    def prepare(self) -> None:
        self.unknowns = 1

    def settings(self, x: FloatArray) -> dict[str, Any]:
        length = 2 ** int(self.number("bits")) - 1
        index = float(min(int(x[0] * length), length - 1))
        return {"amplitude": self.number("peak"), "bits": int(self.number("bits")), "clock": self.words["clock"], "index": index}


class Sweep(Family):
    """chirp: where it starts and ends, and its phase."""

    keys = ("f_min", "f_max", "peak")
    type = "Chirp"
    low = 0.0

    def prepare(self) -> None:
        self.unknowns = 3

    def settings(self, x: FloatArray) -> dict[str, Any]:
        low, high = self.number("f_min"), self.number("f_max")
        ends = [float(low * (high / low) ** share) for share in x[:2]]
        return {
            "amplitude": self.number("peak"),
            "f_start": ends[0],
            "f_end": ends[1],
            "duration": self.duration,
            "phase": float(6.283185307179586 * x[2]),
        }


class Harmonics(Family):
    """fourier: coefficients of every joint, from rest at `start`, scaled so that the largest way from there is `peak`."""

    keys = ("base_frequency", "harmonics", "joints", "peak", "start")
    type = "FourierTrajectory"

    def prepare(self) -> None:
        import numpy as np

        self.joints, self.count = int(self.number("joints", 1)), int(self.number("harmonics"))
        self.unknowns = 2 * self.joints * self.count
        self.base = self.number("base_frequency", 1.0 / self.duration)
        k = np.arange(1, self.count + 1)
        angles = 2.0 * np.pi * self.base * np.outer(np.arange(0.0, 1.0 / self.base, 1.0 / (self.base * 32 * self.count)), k)
        self.sines, self.cosines, self.k = np.sin(angles), np.cos(angles), k

    def draw(self, random: np.random.Generator) -> FloatArray:
        import numpy as np

        falling = np.tile(1.0 / self.k ** random.uniform(0.0, 1.5), 2 * self.joints)
        return random.uniform(-1.0, 1.0, self.unknowns) * falling

    def settings(self, x: FloatArray) -> dict[str, Any]:
        import numpy as np

        a, b = x.reshape(2, self.joints, self.count)
        a = a - np.outer(a @ self.k / (self.k @ self.k), self.k)  # sum k a = 0: no speed at the start
        square = self.k**2
        b = b - np.outer(b @ square / (square @ square), square)  # sum k^2 b = 0: no acceleration there
        ways = a @ self.sines.T + b @ (self.cosines - 1.0).T
        peak, start = (np.broadcast_to(np.asarray(self.words.get(key, 0.0), float), (self.joints,)) for key in ("peak", "start"))
        factor = (peak / (1.002 * np.maximum(np.abs(ways).max(axis=1), 1e-12)))[:, None]
        a, b = factor * a, factor * b
        return {"base_frequency": self.base, "a": a.tolist(), "b": b.tolist(), "offset": (start - b.sum(axis=1)).tolist()}


class WayPoints(Family):
    """polynomial: way points at even times, from rest to rest, between `min` and `max` of every joint."""

    keys: ClassVar[tuple[str, ...]] = ("points", "joints", "min", "max", "start")
    type = "PolynomialTrajectory"
    low = 0.0

    def prepare(self) -> None:
        self.joints, self.count = int(self.number("joints", 1)), int(self.number("points"))
        self.unknowns = self.joints * self.count

    def places(self, x: FloatArray) -> FloatArray:
        """The way points, a row per joint, the start before and after them."""
        import numpy as np

        low, high, start = (
            np.broadcast_to(np.asarray(self.words.get(key, 0.0), float), (self.joints,))[:, None]
            for key in ("min", "max", "start")
        )
        inner = low + (high - low) * x.reshape(self.joints, self.count)
        return np.concatenate([start, inner, start], axis=1)

    def settings(self, x: FloatArray) -> dict[str, Any]:
        import numpy as np

        times = np.linspace(0.0, self.duration, self.count + 2)
        return {"times": times.tolist(), "points": self.places(x).tolist()}


class Trapezoids(WayPoints):
    """trapezoid: the same way points, as fast as speed and acceleration allow."""

    keys = (*WayPoints.keys, "speed", "acceleration", "pause")
    type = "TrapezoidTrajectory"

    def settings(self, x: FloatArray) -> dict[str, Any]:
        extra = {key: self.words[key] for key in ("speed", "acceleration", "pause") if key in self.words}
        return {"points": (self.places(x) + 1e-9).tolist(), **extra}


class AnyNumber(Family):
    """A number of any block: {pid.kp: {min: 1, max: 10}}; on a logarithmic scale where both have one sign and are far apart."""

    keys = ("min", "max")
    low = 0.0

    def prepare(self) -> None:
        self.unknowns = 1
        self.ends = self.number("min"), self.number("max")
        if not self.ends[0] < self.ends[1]:
            raise DiagramError(f"vary: {self.block}: min must be below max, found {self.ends[0]:g} and {self.ends[1]:g}.")

    def settings(self, x: FloatArray) -> dict[str, Any]:
        low, high = self.ends
        share = float(x[0])
        if low > 0 and high / low > 5.0:
            return {"": float(low * (high / low) ** share)}
        return {"": float(low + (high - low) * share)}


FAMILIES: dict[str, type[Family]] = {
    "multisine": SpectralLines,
    "levels": Steps,
    "binary": Bits,
    "prbs": Register,
    "chirp": Sweep,
    "fourier": Harmonics,
    "polynomial": WayPoints,
    "trapezoid": Trapezoids,
}


def family_of(name: str, words: Mapping[str, Any], duration: float) -> Family:
    """What one entry of `vary:` asks for."""
    kind = words.get("family")
    if kind is None:
        return AnyNumber(name, words, duration)
    if kind not in FAMILIES:
        raise DiagramError(f"vary: {name}: there is no family '{kind}'. Families are: {listing(FAMILIES)}.")
    return FAMILIES[kind](name, words, duration)


def unknowns_by_family(families: Sequence[Family], x: FloatArray) -> list[FloatArray]:
    """The unknowns of each family."""
    import numpy as np

    ends = np.cumsum([family.unknowns for family in families])
    return np.split(x, ends[:-1]) if families else []
