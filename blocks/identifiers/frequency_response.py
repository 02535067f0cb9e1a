"""The response of a plant from records of its input and output, and what it says of a two-mass robot."""

from __future__ import annotations

import math
import os
from collections.abc import Mapping
from typing import Any

import numpy as np

from blocksim.contract.block import RecordBlock, inport, model, outport, param, static
from blocksim.contract.plant import Plant
from blocksim.errors import RecordError
from blocksim.estimation.estimates import Estimate, Estimates

from ..smoothing.filters import enough, sample_time
from .regression.ends import skip_problem, skip_text
from .response_frames import Frames, Response, averaged
from .two_mass_response import DERIVATIVES, FEWEST, FITTED, UNITS, Robot, fitted, gear_ratio, unrelated

__all__ = ["FrequencyResponse"]

GAIN_ROUNDING = 1e-7  # of a gain: what solvers leave where there is no noise


class FrequencyResponse(RecordBlock):
    """G(jw) = Y(jw) / U(jw): the empirical transfer function, and the starting values of chapter 6 of the thesis.

    `method: periodic` takes whole periods of an excitation of lines (a Multisine) and leaves out the time `skip` in which
    the plant settles: no leakage, exact without noise. The last whole periods of what is left count. `method: welch` averages
    windowed segments (H1) for noise and sweeps; it leaks where a segment is shorter than the ringing of a resonance.

    In closed loop noise returns in u, and H1 lies between G and -1 / controller. Connect the excitation to `r`: then
    G = S_yr / S_ur, which the noise does not bias. Averages over periods need no r, as the loop averages with them.

    With `model`, a two-mass robot, Jm, Ja, k1, Fv and d of

        1 / G = Jm s + Fv + r^2 Ja s (d s + k) / (Ja s^2 + d s + k)          from torque to speed

    are fitted by least squares, weighted by the noise of each line; with d = 0 this is (6.7). The start of the fit comes from
    notch sqrt(k / Ja) and resonance sqrt(k (1 / Ja + r^2 / Jm)) and the level of the whole curve. `details["relations"]` has
    the three readings of section 6.2: Jm = 1 / gain at the top of the band, Jm + r^2 Ja = torque / acceleration at its bottom,
    k = Ja notch^2. r is taken from the model. Coulomb friction ends in Fv, the cubic spring in k1, as means over the motion; a
    warning says when the linear robot does not explain the response. Without a model notch and resonance are read off, by
    parabolas in w^2.

    `details` holds w (rad/s), frequency (Hz), response (complex), gain, phase (rad), std (of the complex response), coherence,
    and where there is a model fit and truth; `plot(estimates, "bode.png")` of this module shows them.
    """

    family = "identification"
    icon = "0,0.45 0.4,0.5 0.52,0.95 0.62,0.5 1,0.05"
    example = """
format: 1
simulate: {stop: 4, solver: rk4, step: 1e-3, every: 2e-3, seed: 1}
blocks:
  u:        {type: Multisine, f_min: 2, f_max: 60, lines: 30, amplitude: 10}
  robot:    {type: TwoMassRobot, Fv: 0.1, Fc: 0, k3: 0, d: 4e3, in: u}
  noise:    {type: WhiteNoise, Ts: 2e-3, std: 0.1}
  speed:    {type: Sum, in: [robot.w_m, noise]}
  response: {type: FrequencyResponse, period: 0.5, skip: [1, 0], model: robot, in: [u, speed]}
"""

    method: str = static("periodic", "whole periods, or windowed segments", choices=("periodic", "welch"))
    period: float = param(0.0, "of the excitation; 0: all that is left is one period", "s", min=0)
    skip: float = param(0.0, "time left out at either end, or [at the start, at the end]", "s", min=0, shape=(None,))
    segment: float = param(0.0, "length of a segment of welch; 0: an eighth of the record", "s", min=0)
    overlap: float = param(0.5, "share of a segment that the next one repeats", min=0, below=1)
    window: str = static("hann", "window of a segment, by its name in scipy.signal", kind=str)
    f_min: float = param(0.0, "lowest frequency used", "Hz", min=0)
    f_max: float = param(0.0, "highest frequency used; 0: all", "Hz", min=0)
    threshold: float = param(0.01, "periodic: lines count as excited from this share of the strongest", min=0, max=1)
    quantity: str = static("speed", "what y is, of the motor", choices=tuple(DERIVATIVES))
    hold: str = static("none", "zero: u is held between samples, and the fitted model too", choices=("none", "zero"))
    model: str = model("two-mass robot to fit, a block or a type; none: the response alone", required=False)
    u = inport("input of the plant, the torque of the motor", "N m")
    y = inport("measured output, see quantity")
    r = inport("excitation that the noise does not know, for data from a closed loop", optional=True)
    y_hat = outport("what the response makes of u, without its mean")

    def port_units(self, plants: Mapping[str, Plant]) -> Mapping[str, str]:
        return {"y": UNITS[self.settings["quantity"]]}

    def fits(self, path: str, schedule: Any) -> None:
        plants = schedule.unit(path).plants
        if "model" in plants:
            gear_ratio(plants["model"])

    def process(self, t, u, y, model, r=None):
        Ts = sample_time(t)
        for signal in (u, y) if r is None else (u, y, r):
            enough(signal, 16, "a frequency response")
        frames = self.frames(t, Ts)
        response = self.inside(averaged(frames, u, y, r, self.method == "periodic"), frames, Ts)
        return response.predicted(u, frames), self.estimates(response, frames, model, Ts)

    def frames(self, t: np.ndarray, Ts: float) -> Frames:
        return self.periods(t, Ts) if self.method == "periodic" else self.segments(t, Ts)

    def used_times(self, t: np.ndarray) -> np.ndarray:
        frames = self.frames(t, sample_time(t))
        return t[int(frames.starts[0]) : int(frames.starts[-1]) + frames.length]

    def ends(self, t: np.ndarray, Ts: float) -> tuple[int, int]:
        """The first sample that counts, and the one after the last."""
        first, last = (round(float(np.atleast_1d(self.skip)[k]) / Ts) for k in (0, -1))
        return first, len(t) - last

    def periods(self, t: np.ndarray, Ts: float) -> Frames:
        first, stop = self.ends(t, Ts)
        left = stop - first
        length = round(self.period / Ts) or left
        if abs(self.period / Ts - round(self.period / Ts)) > 1e-6 * length:
            raise RecordError(
                f"period: {self.period:g} s is no whole number of samples of {Ts:g} s; resample the record, or say method: welch."
            )
        if left < max(length, 16):
            raise RecordError(
                f"skip: {skip_text(self.skip)} s leaves {max(left, 0) * Ts:g} s: no whole period of {length * Ts:g} s."
            )
        count = left // length
        starts = stop - length * np.arange(count, 0, -1)
        return Frames(length, starts, np.ones(length), count, 1.0)

    def segments(self, t: np.ndarray, Ts: float) -> Frames:
        from scipy.signal import get_window

        first, stop = self.ends(t, Ts)
        left = stop - first
        length = round(self.segment / Ts) or left // 8
        if not 16 <= length <= left:
            raise RecordError(f"segment: {length} samples are wanted from {left}; 16 to all of them are possible.")
        try:
            window = get_window(self.window, length)
        except ValueError:
            raise RecordError(f"window: scipy.signal knows no window '{self.window}'; hann and blackman are two.") from None
        hop = max(1, round(length * (1 - self.overlap)))
        starts = np.arange(first, stop - length + 1, hop)
        # Neighbouring frames share samples and neighbouring lines share a window: both count for less than their number.
        power = window**2
        shared = [float(window[m * hop :] @ window[: length - m * hop]) / power.sum() for m in range(1, -(-length // hop))]
        repeated = sum((1 - m / len(starts)) * c**2 for m, c in enumerate(shared, 1) if m < len(starts))
        smeared = length * float(power @ power) / power.sum() ** 2
        return Frames(length, starts, window, len(starts) / (1 + 2 * repeated), smeared)

    def inside(self, response: Response, frames: Frames, Ts: float) -> Response:
        """The lines within the band that were excited."""
        top = self.f_max or 0.5 / Ts
        f = np.arange(len(response.G)) / (frames.length * Ts)
        lowest = 1 if self.method == "periodic" else 2  # a window spreads what is left of the mean to its neighbours
        used = (np.arange(len(f)) >= lowest) & (f >= self.f_min * (1 - 1e-9)) & (f <= top * (1 + 1e-9)) & (f < 0.5 / Ts)
        share = self.threshold if self.method == "periodic" else 1e-9
        used &= response.drive > share * response.drive[lowest:].max()
        if not used.any():
            raise RecordError(f"nothing is excited from {self.f_min:g} to {top:g} Hz; see f_min, f_max and threshold.")
        lines = np.flatnonzero(used)
        return response.chosen(lines, 2 * np.pi * f[lines])

    def estimates(self, response: Response, frames: Frames, plant: Plant | None, Ts: float) -> Estimates:
        var = np.maximum(response.noise(self.method == "periodic"), (GAIN_ROUNDING * np.abs(response.G)) ** 2)
        notch, resonance = modes_of(response.w, response.G, var, DERIVATIVES[self.quantity])
        details: dict[str, Any] = {
            "w": response.w, "frequency": response.w / (2 * np.pi), "response": response.G, "gain": np.abs(response.G),
            "phase": np.unwrap(np.angle(response.G)), "std": np.sqrt(var), "coherence": response.coherence,
            "frames": len(frames.starts), "independent": frames.independent, "quantity": self.quantity,
            "notch": notch[0], "resonance": resonance[0],
        }  # fmt: skip
        if plant is None:
            read = (Estimate("notch", *notch, unit="rad/s"), Estimate("resonance", *resonance, unit="rad/s"))
            reason = "" if np.isfinite(notch[0]) else "no notch with a resonance above it lies within the band."
            words = unrelated(response.coherence, frames.independent)
            words = words or ("" if len(frames.starts) > 1 else "of one period nobody can tell how far y follows u, or the noise")
            details |= {"converged": False} if unrelated(response.coherence, frames.independent) else {}
            return Estimates(self.method, read, reason=reason, warnings=(words,) if words else (), details=details)
        robot = Robot(self.quantity, Ts if self.hold == "zero" else 0.0, gear_ratio(plant))
        return fitted(self.method, robot, response.w, response.G, details["std"], response.gain, frames.smeared, plant, details)

    @staticmethod
    def check(f_min, f_max, skip):
        if text := skip_problem(skip, None, 1):
            return text
        return f"f_max is {f_max:g} Hz and must be above f_min, {f_min:g} Hz." if 0 < f_max <= f_min else None


def modes_of(w: np.ndarray, G: np.ndarray, var: np.ndarray, powers: int) -> tuple[tuple[float, float], tuple[float, float]]:
    """Notch and resonance of a response that is so many powers of s below the acceleration.

    Both are read off the acceleration. Friction flattens its resonance, for it rises towards 1 / Jm above; what is left of it
    shows in the speed, which falls there.
    """
    modes = read_off(w, G * w**powers, var * w ** (2 * powers))
    return modes if np.isfinite(modes[0][0]) else read_off(w, G * w ** (powers - 1), var * w ** (2 * powers - 2))


def read_off(w: np.ndarray, A: np.ndarray, var: np.ndarray) -> tuple[tuple[float, float], tuple[float, float]]:
    """Resonance and the notch below it, each with its standard deviation; nan where the band has none.

    Around a notch |A|^2 is nearly a parabola in w^2, around a resonance 1 / |A|^2 is: three lines give the vertex.
    """
    from scipy.signal import find_peaks

    none = (math.nan, math.nan), (math.nan, math.nan)
    level = np.log(np.abs(A))
    if len(w) < FEWEST:
        return none
    peaks, of_peaks = find_peaks(level, prominence=math.log(1.2))
    valleys, of_valleys = find_peaks(-level, prominence=math.log(1.2))
    if not len(peaks) or not (valleys < peaks.max()).any():
        return none
    top = peaks[np.argmax(of_peaks["prominences"])]
    below = valleys < top
    if not below.any():
        return none
    bottom = valleys[below][np.argmax(of_valleys["prominences"][below])]
    return vertex(w, np.abs(A) ** 2, var, bottom, 1.0), vertex(w, np.abs(A) ** 2, var, top, -1.0)


def vertex(w: np.ndarray, power: np.ndarray, var: np.ndarray, at: int, exponent: float) -> tuple[float, float]:
    """Where power^exponent is smallest, by the parabola in w^2 through three lines; std from that of |A|, sqrt(var / 2)."""
    x, three = w[at - 1 : at + 2] ** 2, slice(at - 1, at + 2)

    def lowest(values: np.ndarray) -> float:
        a, b, _ = np.polyfit(x - x[1], values / values.max(), 2)
        return math.sqrt(max(x[1] - b / (2 * a), 0.0))

    values, spread = power[three] ** exponent, 2 * np.sqrt(power[three] * var[three] / 2)  # of the power
    moved = []
    for i in range(3):
        step = 1e-4 * power[three][i] * np.eye(3)[i]
        moved.append((lowest((power[three] + step) ** exponent) - lowest((power[three] - step) ** exponent)) / (2 * step[i]))
    return lowest(values), float(np.sqrt(np.sum((np.array(moved) * spread) ** 2)))


def plot_response(estimates: Estimates, path: str | os.PathLike[str] | None = None) -> Any:
    """Magnitude, phase and coherence over frequency with the fit, the truth and both modes; returns the matplotlib Figure."""
    from matplotlib import ticker
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    from blocksim.pictures.palette import COLOURS
    from blocksim.pictures.plots import suffix, write_figure

    kind = suffix(path) if path is not None else ""
    d = estimates.details
    if "response" not in d:
        raise RecordError("plot: these estimates hold no frequency response; those of a FrequencyResponse do.")
    per = {"angle": "rad/(N m)", "speed": "rad/s/(N m)", "acceleration": "rad/s²/(N m)"}[d["quantity"]]
    figure = Figure(figsize=(8.0, 6.4), layout="constrained")
    FigureCanvasAgg(figure)
    size, phase, alike = figure.subplots(3, 1, sharex=True, height_ratios=(3, 2, 1))
    w = d["w"]
    for name, colour, width, alpha in (("truth", COLOURS[2], 4.0, 0.4), ("fit", COLOURS[1], 1.2, 1.0)):
        if name in d:
            robot = Robot(d["quantity"], d["held"], d["r"])
            fine = np.geomspace(w[0], w[-1], 2000)
            curve = robot.response(fine, *(getattr(estimates[n], "truth" if name == "truth" else "value") for n in FITTED))
            size.plot(fine, np.abs(curve), color=colour, linewidth=width, alpha=alpha, label=name)
            phase.plot(fine, np.degrees(np.unwrap(np.angle(curve))), color=colour, linewidth=width, alpha=alpha)
    size.errorbar(w, d["gain"], np.nan_to_num(d["std"]) / math.sqrt(2), fmt=".", color=COLOURS[0], markersize=4, linewidth=0.8,
                  label="measured")  # fmt: skip
    turns = 360 * np.round((np.median(d["phase"]) - np.median(np.unwrap(np.angle(d.get("fit", d["response"]))))) / (2 * np.pi))
    phase.plot(w, np.degrees(d["phase"]) - turns, ".", color=COLOURS[0], markersize=4)
    alike.plot(w, d["coherence"], ".", color=COLOURS[0], markersize=4)
    modes = [
        (name, estimates[name].value)
        for name in ("notch", "resonance")
        if name in estimates and math.isfinite(estimates[name].value)
    ]
    for name, at in modes:
        for axis in (size, phase, alike):
            axis.axvline(at, color="#858585", linewidth=0.8, linestyle="--")
        left = name == "notch"  # the lower of the two
        size.annotate(f"{name} {at:.4g} rad/s", (at, 1.01), xycoords=("data", "axes fraction"), fontsize=8, color="#606060",
                      xytext=(4 if left else -4, 0), textcoords="offset points", ha="right" if left else "left")  # fmt: skip
    size.set_xscale("log")
    size.set_yscale("log")
    for axis, text in ((size, f"gain [{per}]"), (phase, "phase [deg]"), (alike, "coherence [1]")):
        axis.set_ylabel(text, fontsize=9)
        axis.grid(True, which="both", linewidth=0.4, color="#dddddd")
        axis.tick_params(labelsize=8)
    phase.yaxis.set_major_locator(ticker.MultipleLocator(45))
    alike.xaxis.set_major_locator(ticker.LogLocator(subs=(1.0, 2.0, 5.0)))
    alike.xaxis.set_major_formatter(ticker.FormatStrFormatter("%g"))
    alike.xaxis.set_minor_formatter(ticker.NullFormatter())
    alike.set_ylim(-0.05, 1.05)
    alike.set_xlabel("frequency [rad/s]", fontsize=9)
    size.legend(fontsize=8, frameon=False, loc="lower left")
    if path is not None:
        write_figure(figure, str(path), kind)
    return figure
