"""The linear two-mass robot as a transfer function, and its parameters from a measured response (chapter 6 of the thesis)."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from blocksim.contract.plant import Plant
from blocksim.errors import RecordError
from blocksim.estimation.estimates import Estimate, Estimates

#: Powers of s from each measured quantity to the acceleration of the thesis' G(s).
DERIVATIVES = {"angle": 2, "speed": 1, "acceleration": 0}
UNITS = {"angle": "rad", "speed": "rad/s", "acceleration": "rad/s^2"}
#: What the linear robot has, with units.
FITTED = {"Jm": "kg m^2", "Ja": "kg m^2", "k1": "N m/rad", "Fv": "N m s/rad", "d": "N m s/rad"}
FEWEST = 8  # lines that a fit of five parameters needs at least
RELATED = 0.3  # share of the lines at which y must follow u
UNEXPLAINED = 0.5  # share of the power of a response that a fit of one period may leave
BEYOND = 3.0  # times the ends of the band: a mode further out was not seen
MISFIT = 10.0  # times the variance of the noise: the linear robot is not what was measured, and the noise no measure of weight


@dataclass(frozen=True)
class Robot:
    """The linear two-mass robot as a transfer function from torque to what is measured."""

    quantity: str
    Ts: float  # of the hold in front of it; 0: none
    r: float

    def response(self, w: np.ndarray, Jm: float, Ja: float, k1: float, Fv: float, d: float) -> np.ndarray:
        if self.Ts:
            return self.held(w, Jm, Ja, k1, Fv, d)
        s = 1j * w
        speed = 1 / (Jm * s + Fv + self.r**2 * Ja * s * (d * s + k1) / (Ja * s**2 + d * s + k1))
        return speed * s ** (1 - DERIVATIVES[self.quantity])

    def held(self, w: np.ndarray, Jm: float, Ja: float, k1: float, Fv: float, d: float) -> np.ndarray:
        """C (z - Ad)^-1 Bd + D: exact at the samples of an input that holds between them."""
        from scipy.linalg import expm

        r = self.r
        whole = np.zeros((5, 5))  # phi_m, w_m, phi_a, w_a, tau
        whole[0, 1] = whole[2, 3] = 1.0
        whole[1] = np.array([-r * r * k1, -Fv - r * r * d, r * k1, r * d, 1.0]) / Jm
        whole[3] = np.array([r * k1, r * d, -k1, -d, 0.0]) / Ja
        row = {"angle": np.eye(5)[0], "speed": np.eye(5)[1], "acceleration": whole[1]}[self.quantity]
        step = expm(whole * self.Ts)
        z = np.exp(1j * w * self.Ts)
        inner = np.linalg.solve(z[:, None, None] * np.eye(4) - step[:4, :4], step[:4, 4])
        return inner @ row[:4] + row[4]

    def modes(self, Jm: float, Ja: float, k1: float) -> tuple[float, float]:
        """Notch and resonance without damping."""
        return math.sqrt(k1 / Ja), math.sqrt(k1 * (1 / Ja + self.r**2 / Jm))


def gear_ratio(plant: Plant) -> float:
    missing = [n for n in (*FITTED, "r") if n not in plant.settings]
    if missing:
        raise RecordError(
            f"model: {plant.name} is no two-mass robot, having no {', '.join(missing)}; name a TwoMassRobot, or no model at all."
        )
    return float(plant.settings["r"])


def relations(A: np.ndarray, notch: float, r: float) -> dict[str, float]:
    """The readings of section 6.2: both ends of the band and the notch."""
    inertia = (1 / A).real
    Jm, total = float(1 / abs(A[-1])), float(inertia[0])
    Ja = (total - Jm) / r**2
    return {"Jm": Jm, "Ja": Ja, "k1": Ja * notch**2, "total": total}


def start_of_fit(w: np.ndarray, A: np.ndarray, notch: float, resonance: float, r: float) -> dict[str, float]:
    """Jm from the level of all lines, Re(1 / A) = Jm (1 + x / (1 - (w / notch)^2)), x = r^2 Ja / Jm from the two modes."""
    x = (resonance / notch) ** 2 - 1
    shape = 1 + x / (1 - (w / notch) ** 2)
    Jm = float(np.median(np.abs((1 / A).real / shape)))
    Ja = x * Jm / r**2
    return {"Jm": Jm, "Ja": Ja, "k1": Ja * notch**2, "Fv": 0.0, "d": 0.02 * Ja * notch}


@dataclass(frozen=True)
class ResponseFit:
    """Values by least squares, in the order of FITTED."""

    values: np.ndarray
    covariance: np.ndarray  # of residuals with variance 1
    misfit: float  # variance of the residuals
    reason: str
    converged: bool


def fitted(
    method: str, robot: Robot, w: np.ndarray, G: np.ndarray, std: np.ndarray, gain: np.ndarray, smeared: float, plant: Plant,
    details: dict[str, Any],
) -> Estimates:  # fmt: skip
    """Parameters of the robot with std, truth and the modes that follow from them.

    `std` is that of the complex response; where it is not known (one period), `gain` tells how it varies from line to line.
    """
    truths = truth_of(plant, robot)
    units = {**FITTED, "notch": "rad/s", "resonance": "rad/s"}
    notch, resonance = details["notch"], details["resonance"]
    details["assumed"] = {"type": plant.kind.__name__, "settings": {"r": robot.r}}

    def nothing(words: str) -> Estimates:
        empty = tuple(Estimate(n, math.nan, truth=truths.get(n, math.nan), unit=unit) for n, unit in units.items())
        reason = f"nothing was fitted: {words}."
        unsettled = {**details, "converged": False}
        return Estimates(method, empty, model=plant.path, warnings=(reason,), reason=reason, details=unsettled)

    if len(w) < FEWEST:
        return nothing(f"{len(w)} lines are too few")
    if words := unrelated(details["coherence"], details["independent"]):
        return nothing(words)
    if not np.isfinite(notch):
        return nothing("no notch with a resonance above it lies within the band")
    A = G * (1j * w) ** DERIVATIVES[robot.quantity]
    details["relations"] = relations(A, notch, robot.r)
    repeated = bool(np.isfinite(std).all())
    noise = (std if repeated else np.sqrt(gain)) / math.sqrt(2)  # of each of the two parts
    try:
        fit, warnings = best_fit(robot, w, G, noise, start_of_fit(w, A, notch, resonance, robot.r), repeated, smeared)
    except (np.linalg.LinAlgError, ValueError):  # of a Jacobian that is not finite
        return nothing("no linear robot comes near this response")
    if words := implausible(robot, w, G, noise, fit, repeated):
        return nothing(words)
    values = dict(zip(FITTED, map(float, fit.values), strict=True))
    values["notch"], values["resonance"] = robot.modes(*fit.values[:3])
    covariance = with_modes(fit.covariance, robot, fit.values[:3])
    spread = np.sqrt(np.diag(covariance))
    entries = tuple(
        Estimate(n, values[n], float(s), truths.get(n, math.nan), units[n]) for n, s in zip(values, spread, strict=True)
    )
    details.update(fit=robot.response(w, *fit.values), misfit=fit.misfit, r=robot.r, held=robot.Ts, converged=fit.converged)
    if truths:
        details["truth"] = robot.response(w, *(truths[n] for n in FITTED))
    warnings += negative_values(values, dict(zip(values, spread, strict=True))) + (() if fit.converged else (fit.reason,))
    return Estimates(method, entries, covariance, plant.path, warnings, fit.reason, details)


def unrelated(coherence: np.ndarray, frames: float) -> str:
    """In words, where y does not follow u at most lines; by chance n frames reach a coherence of 1 - 0.05^(1 / (n - 1))."""
    if not frames > 1.5:
        return ""  # one frame tells nothing of that
    chance = 1 - 0.05 ** (1 / (frames - 1))
    share = float(np.mean(coherence > chance))
    if share >= RELATED:
        return ""
    return (
        f"y follows u at {100 * share:.0f} % of {len(coherence)} lines only; elsewhere coherence is below {chance:.2g}, which "
        f"{frames:.3g} frames of unrelated signals reach by chance. Excite more, measure longer, or narrow f_min and f_max"
    )


def implausible(robot: Robot, w: np.ndarray, G: np.ndarray, noise: np.ndarray, fit: ResponseFit, repeated: bool) -> str:
    """In words, where a fit is no two-mass robot: it leaves most of the response, or has its modes far outside the band."""
    rest, whole = (np.sum(np.abs(part / noise) ** 2) for part in (robot.response(w, *fit.values) - G, G))
    if not repeated and rest > UNEXPLAINED * whole:
        return f"the linear robot leaves {100 * math.sqrt(rest / whole):.0f} % of the response unexplained"
    notch, resonance = robot.modes(*fit.values[:3])
    outside = [f"{name} at {at:.3g} rad/s" for name, at in (("notch", notch), ("resonance", resonance))
               if not w[0] / BEYOND <= at <= w[-1] * BEYOND]  # fmt: skip
    if outside:
        return f"the fit put {' and '.join(outside)}, far outside the band of {w[0]:.3g} to {w[-1]:.3g} rad/s"
    return ""


def negative_values(values: Mapping[str, float], spread: Mapping[str, float]) -> tuple[str, ...]:
    """Said where friction or damping came out negative by more than its uncertainty."""
    below = [n for n in ("Fv", "d") if values[n] < -2 * spread[n]]
    return tuple(f"unphysical: {n} = {values[n]:.3g}, and cannot be below 0; is there a delay between u and y?" for n in below)


def best_fit(
    robot: Robot, w: np.ndarray, G: np.ndarray, noise: np.ndarray, start: Mapping[str, float], repeated: bool, smeared: float
) -> tuple[ResponseFit, tuple[str, ...]]:
    """Weighted by the noise of each line; by relative errors where the linear robot misses the response by far more."""
    from scipy.optimize import least_squares

    scale = np.array([start["Jm"], start["Ja"], start["k1"], start["Jm"] * w[len(w) // 2], start["d"]])

    def values(x: np.ndarray) -> np.ndarray:
        return np.concatenate([np.exp(np.clip(x[:3], -50, 50)), x[3:]]) * scale  # inertias and stiffness stay positive

    def relative(x: np.ndarray) -> np.ndarray:
        ratio = robot.response(w, *values(x)) / G
        return np.concatenate([np.log(np.abs(ratio)), np.angle(ratio)])

    def weighted(x: np.ndarray) -> np.ndarray:
        error = (robot.response(w, *values(x)) - G) / noise
        return np.concatenate([error.real, error.imag])

    def judged(function: Callable[[np.ndarray], np.ndarray], solution: Any, words: str) -> ResponseFit:
        best = values(solution.x)
        slopes = central(function, solution.x) / np.concatenate([best[:3], scale[3:]])
        lengths = np.linalg.norm(slopes, axis=0)
        if not (np.isfinite(lengths) & (lengths > 0)).all():
            raise np.linalg.LinAlgError("a parameter that the response does not show")
        inverse = np.linalg.pinv((slopes / lengths).T @ (slopes / lengths)) / np.outer(lengths, lengths)
        misfit = float(np.sum(function(solution.x) ** 2)) / (2 * len(w) - len(FITTED))
        end = "converged" if solution.status > 0 else "did not converge within 200 evaluations"
        return ResponseFit(best, smeared * inverse, misfit, f"the fit {words} {end}.", solution.status > 0)

    first = least_squares(relative, [0.0, 0.0, 0.0, 0.0, 1.0], loss="soft_l1", f_scale=0.1, max_nfev=200)
    tight: dict[str, Any] = {"xtol": 1e-11, "ftol": 1e-11, "gtol": 1e-11, "x_scale": "jac", "max_nfev": 200}
    words = "weighted by noise" if repeated else "of one period, whose noise is taken from the misfit,"
    fit = judged(weighted, least_squares(weighted, first.x, **tight), words)
    if not repeated:
        return replace(fit, covariance=fit.covariance * fit.misfit), ()
    if fit.misfit <= 1 + 4 * math.sqrt(2 * smeared / (2 * len(w) - len(FITTED))):
        return fit, ()
    warning = (
        f"the linear robot misses the response by {math.sqrt(fit.misfit):.3g} times its noise (friction, cubic spring, leaks?): "
        "starting values, with standard deviations that take the misfit for noise."
    )
    if fit.misfit <= MISFIT:
        return replace(fit, covariance=fit.covariance * fit.misfit), (warning,)
    far = judged(relative, first, "of relative errors")
    return replace(far, covariance=far.covariance * far.misfit, misfit=fit.misfit), (warning,)


def truth_of(plant: Plant, robot: Robot) -> dict[str, float]:
    if not plant.path:
        return {}
    truths = {n: float(plant.settings[n]) for n in FITTED}
    return {**truths, **dict(zip(("notch", "resonance"), robot.modes(truths["Jm"], truths["Ja"], truths["k1"]), strict=True))}


def with_modes(covariance: np.ndarray, robot: Robot, values: np.ndarray) -> np.ndarray:
    """The covariance continued to notch and resonance: both are powers, so relative steps differentiate them well."""
    slopes = np.zeros((2, len(covariance)))
    for i in range(3):
        step = 1e-5 * values[i] * np.eye(3)[i]
        up, down = robot.modes(*(values + step)), robot.modes(*(values - step))
        slopes[:, i] = (np.array(up) - down) / (2 * step[i])
    whole = np.vstack([np.eye(len(covariance)), slopes])
    return whole @ covariance @ whole.T


def central(function: Callable[[np.ndarray], np.ndarray], x: np.ndarray) -> np.ndarray:
    steps = 1e-5 * np.maximum(np.abs(x), 0.1)
    return np.stack([(function(x + h) - function(x - h)) / (2 * s) for h, s in zip(np.diag(steps), steps, strict=True)], axis=1)


def mean_springs(k: Any, windups: Any, equal: bool = False) -> tuple[float, float]:
    """k1 and k3 of (6.8): the cubic spring nearest to the stiffness k[i] over the simulated wind-ups of each data set i.

    `windups` is a list of arrays, r phi_m - phi_a of a robot with the linear spring k[i]. Two data sets of unlike size are
    needed, as one alone is explained by k1 = k. The larger one outweighs the other by the square of its wind-up; `equal` gives
    both the same say. The answer is a start: a mean stiffness is not k1 + k3 phi^2 at every instant.
    """
    if len(k) != len(windups) or len(k) < 2:
        raise RecordError(
            f"mean_springs: a stiffness for each of at least 2 wind-ups is wanted, found {len(k)} and {len(windups)}."
        )
    says = [1 / np.linalg.norm(x) if equal else 1.0 for x in windups]
    rows = np.concatenate(
        [s * np.stack([x, np.asarray(x) ** 3], axis=-1) for s, x in zip(says, map(np.asarray, windups), strict=True)]
    )
    torque = np.concatenate([s * stiffness * np.asarray(x) for s, stiffness, x in zip(says, k, windups, strict=True)])
    size = np.abs(rows).max(axis=0)
    springs = np.linalg.lstsq(rows / size, torque, rcond=None)[0] / size
    return float(springs[0]), float(springs[1])
