"""A record cut into frames, periods of the excitation or overlapping windows, and the response that they show together.

One formula serves every method,

    G = sum_p Y_p W_p / sum_p U_p W_p,   e_p = Y_p - G U_p,   var G = var(e) sum |W_p|^2 / |sum U_p W_p|^2,

with W_p = 1 for periods (synchronous averages), conj(U_p) for noise (H1), conj(R_p) where a third signal is given.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

__all__ = ["Frames", "Response", "averaged"]

NEIGHBOURS = 5  # lines to either side whose noise is pooled: a variance of few periods is a poor weight


@dataclass(frozen=True)
class Frames:
    """Pieces of a record that are transformed one by one."""

    length: int
    starts: np.ndarray
    window: np.ndarray
    independent: float  # frames that would tell as much if they did not overlap
    smeared: float  # by how much the lines tell less than if they were independent

    def spectra(self, signal: np.ndarray) -> np.ndarray:
        """A row of Fourier coefficients for each frame, its mean taken off."""
        rows = np.lib.stride_tricks.sliding_window_view(np.asarray(signal, dtype=float), self.length)[self.starts]
        return np.fft.rfft((rows - rows.mean(axis=1, keepdims=True)) * self.window) / self.window.sum()


@dataclass(frozen=True)
class Response:
    """A transfer function on lines w, with what is needed to know its noise."""

    G: np.ndarray
    drive: np.ndarray  # mean size of what excites
    rest: np.ndarray  # variance of e_p; nan with one frame
    gain: np.ndarray  # var G = gain * var(e)
    coherence: np.ndarray
    U: np.ndarray  # averaged over frames
    w: np.ndarray
    lines: np.ndarray

    def chosen(self, lines: np.ndarray, w: np.ndarray) -> Response:
        G, drive, rest, gain, coherence, U = (
            array[lines] for array in (self.G, self.drive, self.rest, self.gain, self.coherence, self.U)
        )
        return Response(G, drive, rest, gain, coherence, U, w, lines)

    def noise(self, pooled: bool) -> np.ndarray:
        """The variance of G. Of few periods it is pooled over neighbouring lines, as noise has a smooth spectrum."""
        if not pooled or len(self.G) < 2 * NEIGHBOURS + 1:
            return self.gain * self.rest
        ones = np.ones(2 * NEIGHBOURS + 1)
        return self.gain * np.convolve(self.rest, ones, "same") / np.convolve(np.ones(len(self.G)), ones, "same")

    def predicted(self, u: np.ndarray, frames: Frames) -> np.ndarray:
        """G applied to u: line by line for periods, by interpolation over all frequencies for segments."""
        if np.all(frames.window == 1):
            spectrum = np.zeros(frames.length // 2 + 1, complex)
            spectrum[self.lines] = self.G * self.U
            period = np.fft.irfft(spectrum, frames.length) * frames.length
            return period[(np.arange(len(u)) - frames.starts[0]) % frames.length]
        place = np.fft.rfftfreq(len(u)) * frames.length
        G = np.interp(place, self.lines, self.G.real, 0, 0) + 1j * np.interp(place, self.lines, self.G.imag, 0, 0)
        return np.fft.irfft(G * np.fft.rfft(u - np.mean(u)), len(u))


def averaged(frames: Frames, u: np.ndarray, y: np.ndarray, r: np.ndarray | None, periodic: bool) -> Response:
    """The response on all lines of the frames."""
    U, Y = frames.spectra(u), frames.spectra(y)
    R = U if r is None else frames.spectra(r)
    W = np.conj(R) if r is not None or not periodic else np.ones_like(U)
    with np.errstate(divide="ignore", invalid="ignore"):
        through = (U * W).sum(axis=0)
        G = (Y * W).sum(axis=0) / through
        rest = (np.abs(Y - G * U) ** 2).sum(axis=0) / max(len(U) - 1, 1)
        gain = (np.abs(W) ** 2).sum(axis=0) / np.abs(through) ** 2 * len(U) / frames.independent
        alike = np.abs((Y * np.conj(R)).sum(axis=0)) ** 2 / ((np.abs(Y) ** 2).sum(axis=0) * (np.abs(R) ** 2).sum(axis=0))
    if len(U) < 2:
        rest, alike = np.full(rest.shape, np.nan), np.full(rest.shape, np.nan)
    drive = np.abs(R.mean(axis=0)) if periodic and r is None else np.sqrt((np.abs(R) ** 2).mean(axis=0))
    return Response(G, drive, rest, gain, alike, U.mean(axis=0), np.arange(len(G)), np.arange(len(G)))
