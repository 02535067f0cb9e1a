"""Readings: the outputs that are read, and the noise on each of them as it is asked for.

noise_std=0.05                                 white, the same on every output
noise_std={"robot.w_m": "y.std"}               a setting of the diagram
noise_std={"q": {"std": 1e-4, "resolution": 1e-3, "spectrum": {"frequency": [...], "density": [...]}}}
noise_std=None, or {"q": "own"} of all         the diagram's own: noise blocks, sensors and quantisation, through the loop
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from ...contract.definition import arguments
from ...diagram.diagram import Diagram, signals
from ...errors import DiagramError, listing
from ...simulation.noise import draw_noise
from ...simulation.overrides import Overrides
from ...simulation.simulation import run_experiment
from ..sensitivities import side_by_side
from .colour import Colour, independent, of_samples, of_spectrum

if TYPE_CHECKING:
    from ...contract.arrays import FloatArray
    from ...records.record import Record
    from ...simulation.experiment import Experiment

#: Runs from which the diagram's own noise is learnt.
NOISE_RUNS = 24
#: Readings that scatter by less than this share of the variance of their sensor lie between two of its steps.
STILL_SHARE = 0.5
#: What sensors call their noise before rounding.
NOISE_SETTINGS = ("std", "noise_std")
#: What recorded inputs drive is at most so far from the run, as a share of it, or in standard deviations of its sensor.
OTHER_WAY, LOUD = 0.05, 3.0
#: The word for the noise that the diagram has itself.
OWN_NOISE = "own"
NOISE_KEYS = ("std", "resolution", "spectrum")
#: Noise on the outputs as a caller writes it.
NoiseWords = float | str | Mapping[str, Any] | None


@dataclass(frozen=True)
class NoisyOutput:
    """An output that is read: white noise, quantisation, and a coloured part by its one-sided spectral density."""

    signal: str
    std: float = 0.0
    resolution: float = 0.0
    spectrum: tuple[tuple[float, ...], tuple[float, ...]] = ((), ())

    def covariances(self, interval: float) -> FloatArray:
        """Autocovariances, one per lag; rounding to steps of d adds d^2 / 12."""
        import numpy as np

        total = np.zeros(1)
        if self.spectrum[0]:
            total = of_spectrum(*self.spectrum, interval, f"the noise of '{self.signal}': spectrum")
        total[0] += self.std**2 + self.resolution**2 / 12.0
        return total


def whole_name(diagram: Diagram, name: str, what: str = "outputs") -> str:
    """'y' -> 'y.w_hat': one signal of a running block; an error says what there is."""
    texts: list[str] = []
    refs = signals(diagram, name, texts.append)
    if texts or len(refs) != 1:
        raise DiagramError(f"{what}: " + (texts[0] if texts else f"'{name}' has several outputs; say which: {listing(refs)}."))
    if refs[0].element is not None:
        raise DiagramError(f"{what}: '{name}' is one element of '{refs[0].block}.{refs[0].port}'; name the whole signal.")
    return f"{refs[0].block}.{refs[0].port}"


def noisy_outputs(
    ready: Experiment, changes: Mapping[str, Any], outputs: Sequence[str], noise: NoiseWords
) -> list[NoisyOutput] | None:
    """The outputs with their noise; None where it is the diagram's own."""
    if (
        noise is None
        or noise == OWN_NOISE
        or (isinstance(noise, Mapping) and noise and set(map(str, noise.values())) == {OWN_NOISE})
    ):
        return None
    diagram = ready.schedule.diagram
    if isinstance(noise, Mapping) and not set(noise) <= set(NOISE_KEYS):
        strange = [name for name in noise if name not in outputs]
        if strange:
            raise DiagramError(f"noise_std: '{strange[0]}' is none of the outputs: {listing(outputs)}.")
        missing = [name for name in outputs if name not in noise]
        if missing:
            raise DiagramError(f"noise_std: nothing is said of '{missing[0]}'. Give the standard deviation of every output.")
        words = [noise[name] for name in outputs]
    else:
        words = [noise] * len(outputs)
    return [reading_of(ready, changes, whole_name(diagram, name), own) for name, own in zip(outputs, words, strict=True)]


def reading_of(ready: Experiment, changes: Mapping[str, Any], signal: str, words: Any) -> NoisyOutput:
    """One output: a number, a setting, or a mapping of std, resolution and spectrum."""
    entries = words if isinstance(words, Mapping) else {"std": words}
    if not set(entries) <= set(NOISE_KEYS):
        raise DiagramError(f"the noise of '{signal}': found {listing(entries)}; allowed are {listing(NOISE_KEYS)}.")
    numbers = {key: setting_value(ready, changes, entries[key]) for key in ("std", "resolution") if key in entries}
    for key, value in numbers.items():
        if not (math.isfinite(value) and value >= 0):
            raise DiagramError(f"the noise of '{signal}': {key} must be a number of at least 0, found {value:g}.")
    spectrum = entries.get("spectrum")
    if spectrum is not None and not (isinstance(spectrum, Mapping) and set(spectrum) == {"frequency", "density"}):
        raise DiagramError(
            f"the noise of '{signal}': spectrum: {{frequency: [Hz ...], density: [unit^2/Hz ...]}} is wanted, found {spectrum!r}."
        )
    pair = ((), ()) if spectrum is None else (tuple(spectrum["frequency"]), tuple(spectrum["density"]))
    reading = NoisyOutput(signal, numbers.get("std", 0.0), numbers.get("resolution", 0.0), pair)
    if not (reading.std or reading.resolution or spectrum):
        raise DiagramError(
            f"the noise of '{signal}' is 0: without noise everything that moves it is known exactly. Say how much."
        )
    return reading


def setting_value(ready: Experiment, changes: Mapping[str, Any], value: Any) -> float:
    """A number, or that of a setting: 'y.std'."""
    if isinstance(value, str):
        value = Overrides(changes).value(ready.schedule, value)
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        raise DiagramError(f"a standard deviation is a number or a setting that is one, found {value!r}.")
    return float(value)


def noise_colour(readings: Sequence[NoisyOutput], sizes: Mapping[str, int], interval: float) -> Colour:
    """The noise of all readings together, each by itself; an output of several elements has it on every one."""
    return independent([r.covariances(interval) for r in readings for _ in range(sizes[r.signal])])


def own_noise(
    ready: Experiment,
    changes: Mapping[str, Any],
    names: Sequence[str],
    ideal: FloatArray,
    lone: FloatArray | None,
    count: int = NOISE_RUNS,
    rows: slice = slice(None),
) -> Colour:
    """The noise of the diagram itself: how far its outputs are from those of ideal sensors, in several runs, loop included.

    Sensors and disturbances draw anew in each run, random excitation does not. Where recorded inputs are known as they were,
    `lone` is the one run that they belong to. `rows` are those that are read: lags count from reading to reading.
    """
    import numpy as np

    runs = [lone] if lone is not None else noisy_runs(ready, changes, names, count)
    colour = of_samples([(run - ideal)[rows] for run in runs])
    labels = [name for name in names for _ in range(len(colour.stds) // len(names))]
    steps = coarse_steps(ready, changes, names, colour)
    colour = colour.rounded([steps.get(name, 0.0) for name in labels]) if steps else colour
    quiet = [name for name, std in zip(labels, colour.stds, strict=False) if not std > 0]
    if quiet or not np.isfinite(colour.stds).all():
        raise DiagramError(
            f"the diagram has no noise on '{(quiet or names)[0]}'. Say how much with noise_std, or read an output that a sensor "
            "with noise makes."
        )
    return colour


def coarse_steps(ready: Experiment, changes: Mapping[str, Any], names: Sequence[str], colour: Colour) -> dict[str, float]:
    """By output, the step of its sensor, where readings scatter far less than the sensor says of itself.

    A signal that stays between two steps is read without any scatter, and without any news.
    """
    import numpy as np

    steps = {}
    for name, stds in zip(names, colour.stds.reshape(len(names), -1), strict=True):
        variance = sensor_variance(ready, changes, name)
        if STILL_SHARE * variance > np.square(stds).max():
            steps[name] = math.sqrt(12.0 * variance)
    return steps


def sensor_variance(ready: Experiment, changes: Mapping[str, Any], name: str, without: Sequence[str] = ()) -> float:
    """The variance that the sensor of an output says of itself, `without` these settings; 0 of what is no sensor."""
    import numpy as np

    unit = ready.schedule.by_path.get(name.rpartition(".")[0])
    function = None if unit is None else unit.kind.functions.get("variance")
    if unit is None or function is None:
        return 0.0
    settings = {**Overrides(changes).block(unit).settings, **dict.fromkeys(without, 0.0)}
    return float(np.max(function(*(settings[key] for key in arguments(function)))))


def rounding_steps(ready: Experiment, changes: Mapping[str, Any], names: Sequence[str]) -> dict[str, float]:
    """The step that each output is rounded to by its own sensor: what is left of its variance without noise is d^2 / 12."""
    return {name: math.sqrt(12.0 * sensor_variance(ready, changes, name, NOISE_SETTINGS)) for name in names}


def refuse_other_way(
    ready: Experiment,
    changes: Mapping[str, Any],
    record: Record,
    alone: Mapping[str, FloatArray],
    inputs: Sequence[str],
    names: Sequence[str],
) -> None:
    """What recorded inputs drive, `alone`, goes where the run went, noise aside; else they acted otherwise than they say."""
    import numpy as np

    for name in names:
        size, away = (float(np.sqrt(np.mean(np.square(x)))) for x in (record[name], record[name] - alone[name]))
        if not away <= max(OTHER_WAY * size, LOUD * math.sqrt(sensor_variance(ready, changes, name))):
            interval = float(record.time(name)[1] - record.time(name)[0])
            raise DiagramError(
                f"inputs: driven by {listing(inputs)} as recorded every {interval:g} s, '{name}' is {away:.2g} away from what it "
                f"was in the run, where it is {size:.2g}. Either they change between two rows: record them at every tick of what "
                f"makes them (simulate: {{every: ...}}; every: {interval:g} keeps the readings as they are). Or what they drive "
                "runs away from small differences: without inputs the loop is simulated as a whole."
            )


def noisy_runs(ready: Experiment, changes: Mapping[str, Any], names: Sequence[str], count: int) -> list[FloatArray]:
    """The outputs in several runs that differ in the draws of those blocks that an ideal world silences."""
    faulty = {unit.path for unit in ready.schedule.units if unit.block.ideal() is not unit.block}
    first, results = draw_noise(ready), []
    for k in range(count):
        values, other = first.values.copy(), draw_noise(ready, first.seed + k)
        for (owner, _, _), start, count in zip(ready.slots.streams, first.starts, ready.draws, strict=True):
            if owner.path in faulty:
                values[start : start + count] = other.values[start : start + count]
        record = run_experiment(ready, changes, replace(first, values=values))
        results.append(side_by_side({name: record[name] for name in names}, names))
    return results
