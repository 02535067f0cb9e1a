"""Sources: constants, steps, waves, recorded signals. A list of parameters makes a vector."""

# mypy: disable-error-code="override"
# A variant depends on other names than the block it stands in for, and its argument list says so.

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache
from typing import Any

from blocksim.contract.block import Block, memory, outport, param, required, static, table
from blocksim.contract.plant import Plant
from blocksim.contract.vocabulary import expm1, floor, log, maximum, minimum, sin, tau
from blocksim.errors import DiagramError

from .curves import bracket

__all__ = ["Chirp", "Constant", "FromRecord", "Pulse", "Ramp", "Sine", "Step"]


class Constant(Block):
    """y = value, a number or a list of them."""

    family = "sources"
    icon = "0,0.5 1,0.5; 0,0 0,1; 0,0 1,0"
    colour = "source"
    example = """
format: 1
simulate: {stop: 1.0, solver: rk4, step: 1e-2}
blocks:
  force: {type: Constant, value: [1.0, -2.0]}
  speed: {type: Integrator, in: force}
"""

    value: Any = param(1.0, "the value; a list makes a vector")
    y = outport("the value")

    @staticmethod
    def output(value):
        return value

    def label(self) -> list[str]:
        value = self.settings["value"]
        return [f"{value:.4g}"] if isinstance(value, (int, float)) else super().label()


class Step(Block):
    """y = before until `time`, then after; at `time` itself it is after. The instant is located by the solver."""

    family = "sources"
    icon = "0,0.1 0.45,0.1 0.45,0.9 1,0.9"
    formula = r"y = \begin{cases} \mathrm{before} & t < t_{0} \\ \mathrm{after} & t \ge t_{0} \end{cases}"
    colour = "source"
    example = """
format: 1
simulate: {stop: 2.0, solver: rk4, step: 1e-2}
blocks:
  jump: {type: Step, time: 0.5, before: 0.0, after: 1.0}
  lag:  {type: FirstOrderLag, T: 0.2, in: jump}
"""

    time: float = param(0.0, "when it steps", "s")
    before: float = param(0.0, "value before")
    after: float = param(1.0, "value after")
    y = outport("the step")
    on: float = memory(0.0, "1 once it has stepped")

    @staticmethod
    def output(on, before, after):
        return after if on > 0.5 else before

    @staticmethod
    def guard_on(t, on, time):
        return 1.0 if on > 0.5 else (time - t if t < time else -1.0)

    @staticmethod
    def reset_on():
        return {"on": 1.0}


class Ramp(Block):
    """y = slope * (t - start) after `start`, 0 before."""

    family = "sources"
    icon = "0,0.05 0.35,0.05 1,0.95"
    formula = r"y = \mathrm{slope} \cdot \max(t - t_{0}, 0)"
    colour = "source"
    example = """
format: 1
simulate: {stop: 1.0, solver: rk4, step: 1e-2}
blocks:
  rise: {type: Ramp, slope: 2.0, start: 0.5}
"""

    slope: float = param(1.0, "slope", "1/s")
    start: float = param(0.0, "when it begins", "s")
    y = outport("the ramp")

    @staticmethod
    def output(t, slope, start):
        return slope * maximum(t - start, 0.0)


class Sine(Block):
    """y = amplitude sin(2 pi frequency t + phase) + bias."""

    family = "sources"
    icon = (
        "0,0.5 0.0833,0.75 0.167,0.933 0.25,1 0.333,0.933 0.417,0.75 0.5,0.5 0.583,0.25 0.667,0.067 0.75,0 0.833,0.067 "
        "0.917,0.25 1,0.5"
    )
    colour = "source"
    example = """
format: 1
simulate: {stop: 1.0, solver: rk4, step: 1e-2}
blocks:
  wave: {type: Sine, amplitude: 2.0, frequency: 1.5, phase: 0.3, bias: 1.0}
"""

    amplitude: float = param(1.0, "amplitude")
    frequency: float = param(1.0, "frequency", "Hz", min=0)
    phase: float = param(0.0, "phase", "rad")
    bias: float = param(0.0, "mean value")
    y = outport("the wave")

    @staticmethod
    def output(t, amplitude, frequency, phase, bias):
        return amplitude * sin(tau * frequency * t + phase) + bias


class Chirp(Block):
    """y = amplitude sin(2 pi int f dt + phase), f from f_start at 0 to f_end at `duration`: a swept sine.

    linear: f = f_start + (f_end - f_start) t / duration; log: f = f_start (f_end / f_start)^(t / duration), the same time for
    every octave. Before and after the sweep the end frequencies go on, without a jump of the phase.
    """

    family = "sources"
    icon = (
        "0,0.5 0.0333,0.611 0.0667,0.731 0.1,0.847 0.133,0.942 0.167,0.995 0.2,0.986 0.233,0.899 0.267,0.732 0.3,0.506 "
        "0.333,0.265 0.367,0.0738 0.4,3.95e-05 0.433,0.089 0.467,0.333 0.5,0.655 0.533,0.921 0.567,0.995 0.6,0.814 "
        "0.633,0.451 0.667,0.106 0.7,0.00772 0.733,0.249 0.767,0.683 0.8,0.983 0.833,0.883 0.867,0.44 0.9,0.0449 "
        "0.933,0.0951 0.967,0.57 1,0.976"
    )
    formula = (
        r"y = A \sin\left(2\pi \int_{0}^{t} f\,d\tau + \varphi\right), \quad f(0) = f_{\mathrm{start}}, \; f(T) = "
        r"f_{\mathrm{end}}"
    )
    colour = "source"
    example = """
format: 1
simulate: {stop: 10.0, solver: rk4, step: 1e-3}
blocks:
  sweep: {type: Chirp, amplitude: 1.0, f_start: 0.1, f_end: 10.0, duration: 10.0, method: log}
"""

    amplitude: float = param(1.0, "amplitude")
    f_start: float = required("frequency at the start", "Hz", min=0)
    f_end: float = required("frequency at the end", "Hz", min=0)
    duration: float = required("length of the sweep", "s", above=0)
    phase: float = param(0.0, "phase at time 0", "rad")
    method: str = static("linear", "how the frequency moves", choices=("linear", "log"))
    y = outport("the swept sine")

    @staticmethod
    def output(t, amplitude, f_start, f_end, duration, phase, method):
        inside = minimum(maximum(t, 0.0), duration)
        outside = f_start * minimum(t, 0.0) + f_end * maximum(t - duration, 0.0)
        if method == "linear":
            swept = inside * (f_start + 0.5 * (f_end - f_start) * inside / duration)
        else:
            rate = log(f_end / f_start) / duration
            swept = f_start * expm1(rate * inside) / rate if rate != 0.0 else f_start * inside
        return amplitude * sin(tau * (swept + outside) + phase)

    @staticmethod
    def check(f_start, f_end, method):
        import numpy as np

        if method == "log" and min(np.min(f_start), np.min(f_end)) <= 0:
            return f"method log needs frequencies above 0, found f_start = {f_start} and f_end = {f_end}. linear may start at 0."
        return None


class Pulse(Block):
    """y = amplitude during the first `duty` share of every period from `delay` on, else 0: a train of pulses.

    Both edges of every pulse are located by the solver.
    """

    family = "sources"
    icon = "0,0.1 0.15,0.1 0.15,0.9 0.4,0.9 0.4,0.1 0.65,0.1 0.65,0.9 0.9,0.9 0.9,0.1 1,0.1"
    formula = r"y = \begin{cases} A & (t - \mathrm{delay}) \bmod T < \mathrm{duty} \cdot T \\ 0 & \text{else} \end{cases}"
    colour = "source"
    example = """
format: 1
simulate: {stop: 3.0, solver: dopri5, rtol: 1e-8}
blocks:
  beat: {type: Pulse, amplitude: 2.0, period: 1.0, duty: 0.25, delay: 0.5}
"""

    amplitude: float = param(1.0, "height of a pulse")
    period: float = param(1.0, "from pulse to pulse", "s", above=0)
    duty: float = param(0.5, "share of the period that the pulse lasts", min=0, max=1)
    delay: float = param(0.0, "start of the first pulse", "s")
    y = outport("the pulses")
    edges: float = memory(0.0, "edges passed so far; odd during a pulse")

    @staticmethod
    def output(edges, amplitude):
        return amplitude if edges - 2.0 * floor(0.5 * edges) > 0.5 else 0.0

    @staticmethod
    def guard_edge(t, edges, period, duty, delay):
        whole = floor(0.5 * edges)
        due = delay + period * whole + (duty * period if edges > 2.0 * whole else 0.0)
        return due - t if t < due else -1.0

    @staticmethod
    def reset_edge(t, edges, period, duty, delay):
        whole = floor((t - delay) / period)
        passed = 2.0 * whole + (1.0 if t - delay - period * whole < duty * period else 2.0)
        return {"edges": maximum(edges + 1.0, passed)}


class FromRecord(Block):
    """y(t) = a recorded signal: straight lines between its samples (linear), or each sample held until the next (zero).

    A column whose head tells its unit, 'q [deg]', is played in SI units, here in rad; one without a unit as it stands.
    Before the first and after the last sample the end values hold. With zero, every sample's instant is located: with many
    samples linear runs faster.
    """

    family = "sources"
    icon = "0,0 0,1; 0,0 1,0; 0.08,0.3 0.3,0.7 0.5,0.45 0.7,0.9 0.95,0.6"
    formula = r"y(t) = y_{k} + \frac{t - t_{k}}{t_{k+1} - t_{k}} \, (y_{k+1} - y_{k}), \quad t_{k} \le t < t_{k+1}"
    colour = "source"

    file: str = static(None, "npz, csv, mat or parquet file, relative to the diagram's folder", kind=str, required=True)
    signal: str = static(None, "name of the signal in the file", kind=str, required=True)
    hold: str = static("linear", "between samples", choices=("zero", "linear"))
    y = outport("the recorded signal", size="n")
    times = table("sample times", "s")
    values = table("samples, one row each", shape=(None, None))

    def port_units(self, plants: Mapping[str, Plant]) -> Mapping[str, str]:
        return {"y": recorded(self.settings["file"], self.settings["signal"])[2]}

    @staticmethod
    def size_n(file, signal):
        return recorded(file, signal)[1].shape[1]

    @staticmethod
    def table_times(file, signal):
        return recorded(file, signal)[0]

    @staticmethod
    def table_values(file, signal):
        return recorded(file, signal)[1]

    @staticmethod
    def output(t, times, values, n, out):
        i = bracket(t, times)
        share = minimum(maximum((t - times[i]) / (times[i + 1] - times[i]), 0.0), 1.0)
        for j in range(n):
            out[j] = values[i, j] + share * (values[i + 1, j] - values[i, j])

    def variant(self, inputs: int = 1) -> type[Block]:
        return HeldRecord if self.settings["hold"] == "zero" else FromRecord


class HeldRecord(FromRecord):
    """y(t) = the last recorded sample at or before t."""

    index: float = memory(0.0, "the sample that holds")

    @staticmethod
    def output(index, values, n, out):
        for j in range(n):
            out[j] = values[int(index), j]

    @staticmethod
    def guard_sample(t, index, times):
        following = int(index) + 1
        if following >= len(times):
            return 1.0
        return times[following] - t if t < times[following] else -1.0

    @staticmethod
    def reset_sample(t, index, times):
        reached = bracket(t, times) + (1 if t >= times[len(times) - 1] else 0)
        return {"index": maximum(index + 1.0, float(reached))}


def recorded(file: str, signal: str) -> tuple[Any, Any, str]:
    """Times, samples [samples, n] and unit of one signal of a file."""
    import os

    return samples_of(file, signal, os.stat(file).st_mtime_ns if os.path.exists(file) else 0)


@lru_cache(maxsize=16)
def samples_of(file: str, signal: str, changed: int) -> tuple[Any, Any, str]:
    import numpy as np

    from blocksim.records.conversion import base_unit, to_base
    from blocksim.records.record import Record

    record = Record.load(file)
    times, values = np.asarray(record.time(signal), float), np.asarray(record[signal], float)
    values = values.reshape(len(times), -1)
    if (factor := to_base(record.unit(signal))) != 1:
        values = values * factor
    if len(times) < 2:
        raise DiagramError(f"file: '{file}' has {len(times)} sample(s) of '{signal}'; at least 2 are wanted.")
    if not np.isfinite(values).all():
        first = times[~np.isfinite(values).all(axis=1)][0]
        raise DiagramError(f"file: '{signal}' in '{file}' is not a finite number at t = {first:g} s.")
    return times, values, base_unit(record.unit(signal))
