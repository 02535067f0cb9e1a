"""What identifiers of linear models share: coefficients by name, poles with their standard deviations."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from blocksim.contract.plant import Plant
from blocksim.errors import RecordError
from blocksim.estimation.twin import interval_of

REAL_POLE = 1e-9  # of a pole's size: an imaginary part below is none


@dataclass(frozen=True)
class Orders:
    """y[k] = -a1 y[k-1] - ... - a_na y[k-na] + b0 u[k-delay] + ... : how many of each, and the delay in samples."""

    na: int
    nb: int
    delay: int

    @property
    def degree(self) -> int:
        """Of numerator and denominator in z."""
        return max(self.na, self.delay + self.nb - 1)

    def fraction(self, a: np.ndarray, b: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Numerator and denominator in powers of z, highest first, both of the same length."""
        num, den = np.zeros(self.degree + 1), np.zeros(self.degree + 1)
        num[self.delay : self.delay + self.nb], den[0], den[1 : self.na + 1] = b, 1.0, a
        return num, den

    def names(self, plant: Plant | None) -> list[str]:
        """The coefficients as elements of num and den of a DiscreteTransferFunction: of the plant's, where one is named."""
        lead = 0
        if plant is not None:
            num, den = (list(plant.settings[name]) for name in ("num", "den"))
            if len(den) != self.degree + 1 or den[0] != 1:
                raise RecordError(
                    f"model: {plant.name} has den: {den}; this model has degree {self.degree}, and its first coefficient is 1. "
                    f"A denominator of {self.degree + 1} coefficients that begins with 1 is wanted, zeros at its end included."
                )
            lead = self.degree + 1 - len(num)
            if self.delay < lead:
                raise RecordError(
                    f"model: {plant.name} has num: {num}, whose first coefficient acts after {lead} samples; delay: {self.delay} "
                    f"is less. Say delay: {lead}, or give num zeros at its beginning."
                )
        return [f"den[{k}]" for k in range(1, self.na + 1)] + [f"num[{self.delay - lead + k}]" for k in range(self.nb)]


def scalar_pair(t: np.ndarray, u: Any, y: Any) -> tuple[np.ndarray, np.ndarray, float]:
    """Input and output as single series, and the exact interval of their samples."""
    inputs, outputs = (np.asarray(values, dtype=float).reshape(len(t), -1) for values in (u, y))
    if inputs.shape[1] != 1 or outputs.shape[1] != 1:
        raise RecordError(
            f"u has {inputs.shape[1]} elements and y has {outputs.shape[1]}; one each is wanted. Subspace takes several."
        )
    return inputs[:, 0], outputs[:, 0], float(interval_of(t))


def delayed(values: np.ndarray, samples: int) -> np.ndarray:
    """values[k - samples], 0 before the first."""
    return values if samples == 0 else np.r_[np.zeros(samples), values[:-samples]]


def sorted_poles(A: np.ndarray) -> np.ndarray:
    """Eigenvalues, the slowest first; of a pair the one with a positive imaginary part first."""
    poles = np.linalg.eigvals(A).astype(complex)
    return poles[np.lexsort((-poles.imag, -np.round(np.abs(poles), 12)))]


def companion(den: np.ndarray) -> np.ndarray:
    A = np.zeros((len(den) - 1, len(den) - 1))
    A[0], A[1:, :-1] = -den[1:], np.eye(len(den) - 2)
    return A


def pole_slopes(den: np.ndarray, poles: np.ndarray, na: int) -> np.ndarray:
    """d pole / d a_k = -p^(n-k) / den'(p), a row for each pole."""
    derivative = np.polyval(np.polyder(den), poles)
    n = len(den) - 1
    return np.asarray([[-(p ** (n - k)) / d for k in range(1, na + 1)] for p, d in zip(poles, derivative, strict=True)])


def pole_table(poles: np.ndarray, spread: np.ndarray, dt: float) -> list[dict[str, float]]:
    """Every pole but the lower of a pair: real and imaginary part in z with standard deviations, frequency and damping.

    `spread` are covariances of (real, imaginary), one for each pole.
    """
    table = []
    for p, P in zip(poles, spread, strict=True):
        if p.imag < -REAL_POLE * abs(p):
            continue
        s = np.log(p) / dt if abs(p) > 0 else complex(-np.inf)
        w, slope = abs(s), 1 / (p * dt) if abs(p) > 0 else complex(np.nan)
        # d s = slope d p; of s = x + jy: d w = (x dx + y dy) / w, and damping = -x / w
        D = np.array([[slope.real, -slope.imag], [slope.imag, slope.real]])
        Q = D @ P @ D.T
        x, y = s.real, s.imag
        gradients = np.array([[x / w, y / w], [-(y**2) / w**3, x * y / w**3]]) if 0 < w < np.inf else np.full((2, 2), np.nan)
        wide = gradients @ Q @ gradients.T
        table.append(
            {
                "real": float(p.real), "imag": float(p.imag),
                "real_std": float(np.sqrt(P[0, 0])), "imag_std": float(np.sqrt(P[1, 1])),
                "frequency": float(w / (2 * np.pi)), "frequency_std": float(np.sqrt(wide[0, 0]) / (2 * np.pi)),
                "damping": float(-x / w) if w else 1.0, "damping_std": float(np.sqrt(wide[1, 1])),
            }
        )  # fmt: skip
    return table


def poles_of_fraction(den: np.ndarray, covariance: np.ndarray, dt: float) -> list[dict[str, float]]:
    """Poles of a transfer function whose coefficients a1, a2 ... have this covariance."""
    na = len(covariance)
    poles = sorted_poles(companion(den[: na + 1]))
    slopes = pole_slopes(den[: na + 1], poles, na)
    parts = np.stack([slopes.real, slopes.imag], axis=1)
    return pole_table(poles, np.einsum("pik,kl,pjl->pij", parts, covariance, parts), dt)


def pole_words(table: Sequence[dict[str, float]]) -> str:
    """The poles in a line, for the reason of the estimates."""
    texts = []
    for pole in table:
        if abs(pole["imag"]) > REAL_POLE:
            texts.append(f"{pole['frequency']:.4g} +- {1.96 * pole['frequency_std']:.2g} Hz damped by {pole['damping']:.3g}")
        else:
            texts.append(f"z = {pole['real']:.5g} +- {1.96 * pole['real_std']:.2g}")
    return "poles: " + ", ".join(texts)


def orders_problem(na: int, nb: int, delay: int) -> str | None:
    for name, value, least in (("na", na, 1), ("nb", nb, 1), ("delay", delay, 0)):
        if value < least:
            return f"{name}: a whole number of at least {least} is wanted, found {value}."
    return None
