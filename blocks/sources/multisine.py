"""Multisine: the sum of many sines, with phases that keep its peak low."""

from __future__ import annotations

from fractions import Fraction
from functools import lru_cache
from math import gcd, inf
from typing import Any

from blocksim.contract.block import Block, brief, outport, param, static, table
from blocksim.contract.portable import circular
from blocksim.contract.vocabulary import cos, sin, tau

__all__ = ["Multisine"]

#: Samples for each period of the highest line when the peak is looked for, and at least in a whole period of the signal.
OVERSAMPLING, FINEST = 32, 4096
#: A signal that repeats only after more periods of its highest line than this counts as one that never does.
HIGHEST_ORDER = 65536
#: The norms of the descent and the samples for each period of the highest line: a large p sees peaks between the samples.
DESCENT = ((4, 8), (8, 8), (16, 8), (32, 16), (64, 16), (128, 16), (256, 16), (512, 32))
#: Up to so many lines the descent is started from this many random phases beside Schroeder's.
FEW, FURTHER = 16, 4
#: Up to so many lines the descent keeps a matrix of second derivatives; beyond, it would cost more than it saves.
FEW_LINES = 64
#: Iterations of each norm, and samples a descent may look at: lines far apart, up to a high multiple, have long periods.
ITERATIONS, MOST_SAMPLES, HIGHEST_HARMONIC = 200, 3e7, 4096


class Multisine(Block):
    """y = amplitude * sum_k r cos(2 pi f_k t + phi_k), r such that the peak of |y| is `amplitude`: periodic broadband excitation.

    `lines` lines equally spaced from f_min to f_max, or `frequencies` as listed. odd_only keeps those that are odd multiples of
    the spacing, so that even nonlinear distortion shows up on the lines left out. phases: schroeder (-pi k (k - 1) / n, crest
    factor near 1.7), random, optimised (Schroeder's improved by minimising the L_p norm for growing p, Guillaume et al. 1991;
    near 1.4), or a list in rad. Where the frequencies have no common period, the peak is bounded by the sum of the lines.
    The descent to optimised phases ends a little elsewhere on another kind of processor (some 1e-3 rad); all else is alike to the
    last bit.

    `amplitudes` lists the amplitude of every line: y = amplitude * sum_k a_k cos(2 pi f_k t + phi_k), and the peak is what comes
    of it. A design of excitation finds such lists.
    """

    family = "sources"
    icon = (
        "0,0.771 0.0333,0.748 0.0667,0.641 0.1,0.581 0.133,0.615 0.167,0.678 0.2,0.684 0.233,0.63 0.267,0.606 0.3,0.695 "
        "0.333,0.866 0.367,0.981 0.4,0.912 0.433,0.664 0.467,0.382 0.5,0.229 0.533,0.252 0.567,0.359 0.6,0.419 "
        "0.633,0.385 0.667,0.322 0.7,0.316 0.733,0.37 0.767,0.394 0.8,0.305 0.833,0.134 0.867,0.0191 0.9,0.0881 "
        "0.933,0.336 0.967,0.618 1,0.771"
    )
    colour = "source"
    example = """
format: 1
simulate: {stop: 10.0, solver: rk4, step: 1e-3}
blocks:
  push: {type: Multisine, f_min: 0.1, f_max: 4.0, lines: 40, amplitude: 2.0, phases: schroeder}
"""

    amplitude: float = param(1.0, "peak of the signal", min=0)
    f_min: float = param(None, "lowest line", "Hz", above=0)
    f_max: float = param(None, "highest line", "Hz", above=0)
    lines: int = static(None, "number of lines from f_min to f_max", kind=int)
    frequencies: Any = static(None, "the lines themselves in Hz, instead of f_min, f_max and lines", kind=(list, tuple))
    phases: Any = static("schroeder", "schroeder, random, optimised or a list in rad", kind=(str, list, tuple))
    amplitudes: Any = static(None, "amplitude of every line; else equal ones, scaled to the peak", kind=(list, tuple))
    odd_only: bool = static(False, "only odd multiples of the spacing", kind=bool)
    seed: int = static(0, "chooses the random phases", kind=int)
    y = outport("the multisine")
    f = table("frequencies of the lines", "Hz")
    re = table("cosine of each phase over the peak")
    im = table("sine of each phase over the peak")

    @staticmethod
    def table_f(f_min, f_max, lines, frequencies, odd_only):
        return grid(f_min, f_max, lines, frequencies, odd_only)

    @staticmethod
    def table_re(f_min, f_max, lines, frequencies, odd_only, phases, seed, amplitudes):
        return coefficients(grid(f_min, f_max, lines, frequencies, odd_only), phases, seed, amplitudes)[0]

    @staticmethod
    def table_im(f_min, f_max, lines, frequencies, odd_only, phases, seed, amplitudes):
        return coefficients(grid(f_min, f_max, lines, frequencies, odd_only), phases, seed, amplitudes)[1]

    @staticmethod
    def output(t, amplitude, f, re, im):
        # Equally spaced lines are a polynomial in exp(i spacing t): Horner's rule needs four sines for any number of lines.
        n = len(f)
        spacing = tau * (f[n - 1] - f[0]) / (n - 1.0) * t if n > 1 else 0.0
        zr = cos(spacing)
        zi = sin(spacing)
        sr = 0.0
        si = 0.0
        for i in range(n):
            k = n - 1 - i
            turned = sr * zr - si * zi + re[k]
            si = sr * zi + si * zr + im[k]
            sr = turned
        return amplitude * (sr * cos(tau * f[0] * t) - si * sin(tau * f[0] * t))

    @staticmethod
    def check(f_min, f_max, lines, frequencies, phases, odd_only, amplitudes):
        problem = lines_problem(f_min, f_max, lines, frequencies, odd_only)
        if problem:
            return problem
        f = grid(f_min, f_max, lines, frequencies, odd_only)
        return phases_problem(phases, f) or amplitudes_problem(amplitudes, phases, f)

    def label(self) -> list[str]:
        settings = self.settings
        f = settings["frequencies"] or (settings["f_min"], settings["f_max"])
        size = (
            f"peak {brief(settings['amplitude'])}" if settings["amplitudes"] is None else f"{len(settings['amplitudes'])} lines"
        )
        return ["Multisine", f"{brief(min(f))} to {brief(max(f))} Hz, {size}"]

    def variant(self, inputs: int = 1) -> type[Block]:
        return Multisine if self.settings["frequencies"] is None else FreeMultisine


class FreeMultisine(Multisine):
    """y = amplitude * sum_k r cos(2 pi f_k t + phi_k) for any frequencies."""

    @staticmethod
    def output(t, amplitude, f, re, im):
        total = 0.0
        for k in range(len(f)):
            total = total + re[k] * cos(tau * f[k] * t) - im[k] * sin(tau * f[k] * t)
        return amplitude * total


def lines_problem(f_min: Any, f_max: Any, lines: Any, frequencies: Any, odd_only: bool) -> str | None:
    """What is wrong with the choice of lines."""
    if frequencies is not None:
        if any(v is not None for v in (f_min, f_max, lines)) or odd_only:
            return "give frequencies, or f_min, f_max, lines and odd_only, not both."
        good = len(frequencies) and all(type(f) in (int, float) and 0 < f < inf for f in frequencies)
        if not good or len(set(frequencies)) != len(frequencies):
            return f"frequencies: different numbers above 0 are wanted, found {list(frequencies)}."
        return None
    if any(v is None for v in (f_min, f_max, lines)):
        return "the lines must be given: f_min, f_max and lines, or frequencies."
    if not 1 <= lines <= 100_000:
        return f"lines: must be 1 to 100000, found {lines}."
    if f_max < f_min or (f_max == f_min and lines > 1) or (f_max > f_min and lines == 1):
        return f"{lines} line(s) from f_min = {f_min:g} to f_max = {f_max:g} Hz do not exist; raise f_max, or say lines: 1."
    if odd_only and lines > 1:
        spacing = (f_max - f_min) / (lines - 1)
        if abs(f_min / spacing - round(f_min / spacing)) > 1e-6:
            return (
                f"odd_only: f_min = {f_min:g} Hz must be a whole multiple of the spacing (f_max - f_min) / (lines - 1) = "
                f"{spacing:g} Hz."
            )
    return None


def phases_problem(phases: Any, f: Any) -> str | None:
    if isinstance(phases, str):
        if phases not in ("schroeder", "random", "optimised"):
            return f"phases: found '{phases}'; schroeder, random, optimised or a list in rad is wanted."
        if phases == "optimised" and harmonics(tuple(f)) is None:
            return "phases: optimised needs frequencies with a common period, and these have none (or a very long one)."
        return None
    if not all(type(phi) in (int, float) and abs(phi) < inf for phi in phases):
        return f"phases: numbers in rad are wanted, found {list(phases)}."
    return None if len(phases) == len(f) else f"phases: one for each of the {len(f)} lines is wanted, found {len(phases)}."


def amplitudes_problem(amplitudes: Any, phases: Any, f: Any) -> str | None:
    if amplitudes is None:
        return None
    if not all(type(a) in (int, float) and 0 <= a < inf for a in amplitudes):
        return f"amplitudes: numbers of at least 0 are wanted, found {list(amplitudes)}."
    if len(amplitudes) != len(f):
        return f"amplitudes: one for each of the {len(f)} lines is wanted, found {len(amplitudes)}."
    return "phases: optimised is for lines of equal amplitudes; list the phases." if phases == "optimised" else None


def grid(f_min: Any, f_max: Any, lines: Any, frequencies: Any, odd_only: bool) -> Any:
    """The frequencies of the lines."""
    import numpy as np

    if frequencies is not None:
        return np.asarray(frequencies, float)
    f = np.linspace(f_min, f_max, lines)
    if not odd_only or lines == 1:
        return f
    return f[np.round(f * (lines - 1) / (f_max - f_min)).astype(int) % 2 == 1]


def coefficients(f: Any, phases: Any, seed: int, amplitudes: Any) -> tuple[Any, Any]:
    if amplitudes is None:
        return scaled(tuple(f), phases if isinstance(phases, str) else tuple(phases), seed)
    import numpy as np

    phi, a = phases_of(len(f), phases, seed), np.asarray(amplitudes, float)
    cosines, sines = cosines_and_sines(phi)
    return a * cosines, a * sines


def cosines_and_sines(phi: Any) -> tuple[Any, Any]:
    """In plain arithmetic: the system's and numpy's differ in the last bit between processors."""
    import numpy as np

    return np.array([circular.cos(x) for x in phi.tolist()]), np.array([circular.sin(x) for x in phi.tolist()])


def phases_of(n: int, phases: Any, seed: int) -> Any:
    """Schroeder's, random ones, or those listed."""
    import numpy as np

    k = np.arange(1, n + 1)
    if phases == "random":
        return np.random.default_rng(seed).uniform(0.0, 2.0 * np.pi, n)
    return -np.pi * k * (k - 1) / n if isinstance(phases, str) else np.asarray(phases, float)


@lru_cache(maxsize=64)
def scaled(f: tuple[float, ...], phases: Any, seed: int) -> tuple[Any, Any]:
    """r cos(phi) and r sin(phi) of every line, r such that the peak is 1 to twelve digits, which every processor agrees on."""
    phi = phases_of(len(f), phases, seed)
    if phases == "optimised":
        phi = flattest(harmonics(f), phi)
    r = float(f"{1.0 / peak(harmonics(f), phi):.12g}")
    cosines, sines = cosines_and_sines(phi)
    return r * cosines, r * sines


def harmonics(f: tuple[float, ...]) -> Any:
    """The lines as whole multiples of their common frequency, or None where the period is endless or very long."""
    import numpy as np

    exact = [Fraction(v).limit_denominator(1_000_000) for v in f]
    scale = 1
    for v in exact:
        scale = scale * v.denominator // gcd(scale, v.denominator)
        if scale > 10**12:
            return None
    counts = [int(v * scale) for v in exact]
    base = gcd(*counts)
    orders = np.array([c // base for c in counts])
    apart = np.abs(orders * (base / scale) / np.asarray(f) - 1.0).max()
    return orders if orders.max() <= HIGHEST_ORDER and apart < 1e-9 else None


def waveform(lines: Any, phi: Any, oversampling: int) -> Any:
    """One period of sum cos(k x + phi_k)."""
    import numpy as np

    samples = 1 << int(oversampling * lines.max() - 1).bit_length()
    spectrum = np.zeros(samples // 2 + 1, complex)
    spectrum[lines] = 0.5 * samples * np.exp(1j * phi)
    return np.fft.irfft(spectrum, samples)


def peak(lines: Any, phi: Any) -> float:
    """The largest |sum cos(k x + phi_k)|; the number of lines where there is no period to search."""
    import numpy as np

    if lines is None:
        return float(len(phi))
    y = np.abs(waveform(lines, phi, max(OVERSAMPLING, FINEST // int(lines.max()))))
    before, after = np.roll(y, 1), np.roll(y, -1)
    top = np.flatnonzero((y >= before) & (y >= after))
    a, b, c = before[top], y[top], after[top]
    bend = np.maximum(2.0 * b - a - c, 1e-300)
    return float((b + (c - a) ** 2 / (8.0 * bend)).max())  # the parabola through three samples


def flattest(lines: Any, phi: Any) -> Any:
    """The best phases of a descent from `phi`, and for few lines, where it ends in a poor valley easily, from others too."""
    import numpy as np

    draws = np.random.default_rng(len(lines)).uniform(0.0, 2.0 * np.pi, (FURTHER, len(lines)))
    starts = [phi, *draws] if len(lines) <= FEW and lines.max() <= HIGHEST_HARMONIC else [phi]
    return min((flattened_phases(lines, start) for start in starts), key=lambda found: peak(lines, found))


def flattened_phases(lines: Any, phi: Any) -> Any:
    """Phases with a lower peak: descent of the L_p norm over one period for growing p (Guillaume et al. 1991)."""
    import numpy as np
    from scipy.optimize import minimize

    def norm(phi: Any, p: int, oversampling: int) -> tuple[float, Any]:
        y = waveform(lines, phi, oversampling)
        top = np.abs(y).max()
        share = np.abs(y / top) ** p
        weights = share / np.where(y == 0.0, 1.0, y)
        overlap = np.fft.rfft(weights)[lines] * np.exp(-1j * phi)
        return np.log(top) + np.log(share.mean()) / p, overlap.imag / share.sum()

    method = "BFGS" if len(lines) <= FEW_LINES else "CG"
    best = phi
    for p, oversampling in DESCENT:
        turns = min(ITERATIONS, int(MOST_SAMPLES / (len(DESCENT) * oversampling * lines.max())))
        phi = minimize(norm, phi, args=(p, oversampling), jac=True, method=method, options={"maxiter": turns, "gtol": 1e-7}).x
        if peak(lines, phi) < peak(lines, best):
            best = phi
    return best
