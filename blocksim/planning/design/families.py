"""Families of torques and forces: lines, steps, bits, switching times, registers, sweeps; and any number, and the duration."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from ...errors import DiagramError, listing
from ...simulation.elements import run_settings
from ...simulation.overrides import Overrides
from .family import Family
from .trajectories import Harmonics, Trapezoids, WayPoints, first_place

if TYPE_CHECKING:
    import numpy as np

    from ...contract.arrays import FloatArray, MaskArray
    from ...simulation.experiment import Experiment


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

    def settings(self, x: FloatArray, duration: float) -> dict[str, Any]:
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
        return self.band_noise(random, self.unknowns)

    def band_noise(self, random: np.random.Generator, count: int) -> FloatArray:
        """Noise in a band, the band drawn too: a resonance is found by chance soon."""
        import numpy as np

        noise = np.fft.rfft(random.standard_normal(count))
        line = np.arange(len(noise)) / len(noise)
        centre, width = random.uniform(0.0, 0.7), 10 ** random.uniform(-1.7, 0.0)
        shape = np.exp(-0.5 * np.square((line - centre) / width)) + random.uniform(0.0, 0.2)
        y = np.fft.irfft(noise * shape, count)
        return np.clip(y / (1.5 * np.std(y)), -1.0, 1.0)

    def settings(self, x: FloatArray, duration: float) -> dict[str, Any]:
        return {"values": x.tolist(), "amplitude": self.number("peak"), "clock": self.words["clock"]}


class Bits(Steps):
    """binary: plus or minus the peak at every tick of a clock; with `clock: [shortest, longest]` the clock is drawn as well.

    A drawn clock is a whole number of ticks of the shortest one, in which each bit is then written.
    """

    binary = True

    def prepare(self) -> None:
        clock = self.words.get("clock")
        pair = clock if isinstance(clock, list) else [self.number("clock")] * 2
        if len(pair) != 2 or not pair[0] <= pair[1]:
            raise DiagramError(f"vary: {self.block}: clock: a time, or [shortest, longest], is wanted, found {clock!r}.")
        self.clock, self.longest = float(pair[0]), int(pair[1] / pair[0] + 1e-9)
        self.count = max(2, round(self.duration / self.clock))
        self.unknowns = self.count + (self.longest > 1)

    def bits(self) -> MaskArray:
        import numpy as np

        return np.arange(self.unknowns) < self.count

    def draw(self, random: np.random.Generator) -> FloatArray:
        import numpy as np

        y = self.band_noise(random, self.count)
        clock = random.uniform(-1.0, 1.0, self.unknowns - self.count)
        return np.concatenate([np.where(y >= 0, 1.0, -1.0), clock])

    def settings(self, x: FloatArray, duration: float) -> dict[str, Any]:
        ticks = 1 if self.longest == 1 else min(1 + int(0.5 * (x[-1] + 1.0) * self.longest), self.longest)
        signs = "".join("+" if bit > 0 else "-" for bit in x[: self.count].tolist())
        whole = "".join(sign * ticks for sign in signs)[: self.count]
        clock = self.words["clock"] if self.longest == 1 and not isinstance(self.words["clock"], list) else self.clock
        return {"signs": whole, "amplitude": self.number("peak"), "clock": clock}


class Switches(Family):
    """switching: plus or minus the peak, with so many switches at times that are free, none sooner than `least` after another."""

    keys = ("switches", "peak", "least")
    type = "RepeatingSequence"
    low = 0.0

    def prepare(self) -> None:
        self.count = int(self.number("switches"))
        self.least = self.number("least", 0.2 * self.duration / (self.count + 1))
        self.unknowns = self.count + 1  # stretches between them, to scale
        if self.count < 1 or not 0 < self.least * self.unknowns < self.duration:
            raise DiagramError(
                f"vary: {self.block}: {self.count} switches at least {self.least:g} s apart do not fit into {self.duration:g} s."
            )

    def settings(self, x: FloatArray, duration: float) -> dict[str, Any]:
        import numpy as np

        share = np.abs(x) + 1e-6
        stretches = self.least + max(duration - self.least * self.unknowns, 0.0) * share / share.sum()
        times = np.concatenate([[0.0], np.cumsum(stretches[:-1]), [max(duration, stretches.sum()) + self.least]])
        signs = self.number("peak") * (1.0 - 2.0 * (np.arange(len(times)) % 2))
        return {"times": times.tolist(), "values": signs.tolist(), "hold": "zero"}


class Register(Family):
    """prbs: where in its sequence a shift register starts."""

    keys = ("bits", "clock", "peak")
    type = "PRBS"
    low = 0.0
    unknowns = 1

    def prepare(self) -> None:
        self.unknowns = 1

    def settings(self, x: FloatArray, duration: float) -> dict[str, Any]:
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

    def settings(self, x: FloatArray, duration: float) -> dict[str, Any]:
        low, high = self.number("f_min"), self.number("f_max")
        ends = [float(low * (high / low) ** share) for share in x[:2]]
        return {
            "amplitude": self.number("peak"),
            "f_start": ends[0],
            "f_end": ends[1],
            "duration": duration,
            "phase": float(6.283185307179586 * x[2]),
        }


class AnyNumber(Family):
    """A number of any block: {pid.kp: {min: 1, max: 10}}; on a logarithmic scale where both have one sign and are far apart."""

    keys = ("min", "max")
    low = 0.0

    def prepare(self) -> None:
        self.unknowns = 1
        self.ends = self.number("min"), self.number("max")
        if not self.ends[0] < self.ends[1]:
            raise DiagramError(f"vary: {self.block}: min must be below max, found {self.ends[0]:g} and {self.ends[1]:g}.")

    def settings(self, x: FloatArray, duration: float) -> dict[str, Any]:
        low, high = self.ends
        share = float(x[0])
        if low * high > 0 and not 0.2 <= high / low <= 5.0:
            return {"": float(low * (high / low) ** share)}
        return {"": float(low + (high - low) * share)}


#: The name in `vary:` that stands for the duration of the run.
DURATION = "duration"


class RunLength(AnyNumber):
    """duration: how long the run lasts; trajectories and sweeps are stretched to it, of other sources the rest is left out."""

    def prepare(self) -> None:
        super().prepare()
        if not self.ends[0] > 0:
            raise DiagramError(f"vary: {self.block}: min must be above 0, found {self.ends[0]:g}.")

    def settings(self, x: FloatArray, duration: float) -> dict[str, Any]:
        return {"": duration}

    def seconds(self, x: FloatArray) -> float:
        return float(self.ends[0] + (self.ends[1] - self.ends[0]) * x[0])

    def unknown_of(self, seconds: float) -> float:
        return min(max((seconds - self.ends[0]) / (self.ends[1] - self.ends[0]), 0.0), 1.0)


FAMILIES: dict[str, type[Family]] = {
    "multisine": SpectralLines,
    "levels": Steps,
    "binary": Bits,
    "switching": Switches,
    "prbs": Register,
    "chirp": Sweep,
    "fourier": Harmonics,
    "polynomial": WayPoints,
    "trapezoid": Trapezoids,
}


def family_of(name: str, words: Mapping[str, Any], duration: float, before: Mapping[str, Any] | None = None) -> Family:
    """What one entry of `vary:` asks for; a trajectory starts where that of the settings `before` did, unless it is said."""
    kind = words.get("family")
    if kind is None:
        return (RunLength if name == DURATION else AnyNumber)(name, words, duration)
    if kind not in FAMILIES:
        raise DiagramError(f"vary: {name}: there is no family '{kind}'. Families are: {listing(FAMILIES)}.")
    joints = words.get("joints", 1)
    if "start" in FAMILIES[kind].keys and "start" not in words and (place := first_place(before or {}, joints)):
        words = {**words, "start": place if joints > 1 else place[0]}
    return FAMILIES[kind](name, words, duration)


def refuse_shaping(ready: Experiment, families: Sequence[Family]) -> None:
    """A number may vary where any value of it leaves the program as it is: no sample time, no size."""
    for family in families:
        if not isinstance(family, AnyNumber) or isinstance(family, RunLength):
            continue
        ends = [Overrides(run_settings(ready.schedule, {family.block: end})) for end in family.ends]
        if any(end.shaping(ready.schedule, ready) for end in ends):
            raise DiagramError(
                f"vary: {family.block}: another value makes another program, so that a search cannot go over it. Make one "
                "design for each value, and compare."
            )
