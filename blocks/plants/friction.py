"""Friction, hysteresis and backlash: force laws as blocks, and the laws themselves as plain functions that plants share.

A dry contact jumps at rest, so its mode is kept in memory: 1 slips forward, -1 slips backward, 0 sticks.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from blocksim.contract.block import Block, inport, memory, outport, param, required, state, static
from blocksim.contract.vocabulary import exp, maximum, minimum, power, sign, square, tanh

from .unseen import unseen_friction

__all__ = ["BoucWen", "Coulomb", "LuGre", "Stribeck"]

#: A gap up to this counts as none.
GAPLESS = 1e-10


def stribeck_level(w, Fc, Fs, vs):
    """Fc + (Fs - Fc) exp(-(w/vs)^2): how much a dry contact resists at this speed; Fs below Fc counts as Fc."""
    return Fc + maximum(Fs - Fc, 0.0) * exp(-square(w / vs))


def slip_direction(load, level):
    """The mode of a contact at rest: it sticks until the load exceeds what it holds."""
    if load > level:
        return 1.0
    return -1.0 if load < -level else 0.0


def hysteresis_rate(z, w, alpha, A):
    """z' = -alpha |w| z + A w: saturates at A/alpha, whatever the speed."""
    return A * w - alpha * abs(w) * z


def bristle_rate(z, w, sigma0, Fc, Fs, vs):
    """z' = w - sigma0 |w| / g(w) z: the bristles of the LuGre model."""
    return w - sigma0 * abs(w) * z / stribeck_level(w, Fc, Fs, vs)


def contact_side(phi, q):
    """1 or -1 where a gap of width q is closed on that side, 0 within it."""
    if phi >= 0.5 * q:
        return 1.0
    return -1.0 if phi <= -0.5 * q else 0.0


def contact_margin(phi, side, q):
    """Positive until the gap closes, or opens again on the side where it is closed."""
    if q <= GAPLESS:
        return 1.0
    return 0.5 * q - abs(phi) if side == 0.0 else side * phi - 0.5 * q


def gear_torque(phi, w, side, k1, k3, d, q, elasto, elasto2):
    """Torque of a cubic spring and a damper behind a gap of width q, for the relative angle phi and speed w.

    Beyond the gap, with x = phi -+ q/2, tau_c = k1 x + k3 x^3 and tau_d = d w, pushing taken as positive:
    thesis: tau_c + tau_d, which jumps at impact and may pull; elasto2: never less than 0; elasto: nor more than 2 tau_c,
    which makes it continuous. `side` is where the gap is closed, kept in memory for the two laws that jump.
    """
    if q <= GAPLESS:
        return k1 * phi + k3 * (phi * phi * phi) + d * w
    closed = contact_side(phi, q) if elasto else side
    if closed == 0.0:
        return 0.0
    x = phi - 0.5 * q * closed
    tau_c, tau_d = k1 * x + k3 * (x * x * x), d * w
    if not (elasto or elasto2):
        return tau_c + tau_d
    if closed * (tau_c + tau_d) <= 0.0:
        return 0.0
    if elasto:
        return tau_c + closed * minimum(closed * tau_c, closed * tau_d)
    return tau_c + tau_d


def motor_load(torque, phi, w, z, side, k1, k3, d, q, r, elasto, elasto2):
    """What a motor's dry friction has to hold: its torque less what the gear takes."""
    return torque - r * (gear_torque(phi, w, side, k1, k3, d, q, elasto, elasto2) + z)


class Coulomb(Block):
    """F = Fc sign(w) + Fv w: dry and viscous friction against the speed w; subtract it from what drives the body.

    `law: tanh` smooths the sign to tanh(beta w): easy to solve, but a body at rest creeps under the smallest load.
    `law: sign` is the true law. At rest it needs to know the load it holds against: connect everything else that acts on the
    body to `applied`. Then F = applied while the body sticks, until |applied| exceeds Fc, every change at its exact instant.
    Without `applied` F is a mere sign; in a loop that comes to rest its changes never end, and the run ends as chattering.
    """

    family = "friction"
    icon = "0,0.1 0.5,0.1 0.5,0.9 1,0.9; 0,0.5 1,0.5"
    example = """
format: 1
simulate: {stop: 4.0, solver: dopri5, rtol: 1e-8}
blocks:
  push:     {type: Sine, amplitude: 2.0, frequency: 0.5}
  friction: {type: Coulomb, Fc: 1.0, law: sign, in: {w: speed, applied: push}}
  net:      {type: Sum, signs: "+-", in: [push, friction]}
  speed:    {type: Integrator, in: net}
"""

    Fc: float = required("Coulomb friction", "N m", min=0)
    Fv: float = param(0.0, "viscous friction", "N m s/rad", min=0)
    beta: float = param(100.0, "steepness of tanh(beta w)", "s/rad", above=0)
    creep: float = param(1e-6, "a body that sticks yet moves faster than this slips after all (law sign)", "rad/s", above=0)
    law: str = static("tanh", "how the sign behaves at rest", choices=("tanh", "sign"))
    w = inport("speed", "rad/s")
    applied = inport("everything else that acts on the body (law sign)", "N m", optional=True)
    F = outport("friction, against a positive speed", "N m")

    @staticmethod
    def output(w, Fc, Fv, beta):
        return Fc * tanh(beta * w) + Fv * w

    def unseen(self, names: Sequence[str], signals: Mapping[str, Any]) -> str:
        return unseen_friction(self.settings, names, signals["w"], "law", ("the body", "rad/s"))

    def variant(self, inputs: int = 1) -> type[Block]:
        return Coulomb if self.settings["law"] == "tanh" else StickingCoulomb


class StickingCoulomb(Coulomb):
    """F = Fc mode + Fv w while it slips, F = applied while it sticks."""

    mode: float = memory(0.0, "1 slips forward, -1 slips backward, 0 sticks")

    @staticmethod
    def output(w, applied, mode, Fc, Fv):
        return applied if mode == 0.0 else mode * Fc + Fv * w

    @staticmethod
    def equations_F(w, Fc, Fv):
        return Fc * sign(w) + Fv * w

    @staticmethod
    def guard_stop(w, mode):
        return mode * w if mode != 0.0 else 1.0

    @staticmethod
    def reset_stop(applied, mode, Fc, has_applied):
        return {"mode": slip_direction(applied, Fc) if has_applied else -mode}

    @staticmethod
    def guard_slip(w, applied, mode, Fc, creep, has_applied):
        if mode != 0.0:
            return 1.0
        return minimum(Fc - abs(applied), creep - abs(w)) if has_applied else -abs(w)

    @staticmethod
    def reset_slip(w, applied, creep, has_applied):
        return {"mode": sign(w) if not has_applied or abs(w) > creep else sign(applied)}


class Stribeck(Coulomb):
    """F = (Fc + (Fs - Fc) exp(-(w/vs)^2)) sign(w) + Fv w: dry friction that falls from Fs to Fc once the body moves.

    The falling part makes a drive stick and slip. `law` and `applied` as in Coulomb; the body breaks away at Fs.
    """

    icon = "0,0.2 0.35,0.25 0.5,0 0.5,1 0.65,0.75 1,0.8; 0,0.5 1,0.5"
    example = """
format: 1
simulate: {stop: 20.0, solver: dopri5, rtol: 1e-8}
blocks:
  pull:     {type: Ramp, slope: 0.2}
  stretch:  {type: Sum, signs: "+-", in: [pull, place]}
  spring:   {type: Gain, k: 4.0, in: stretch}
  friction: {type: Stribeck, Fc: 1.0, Fs: 1.5, vs: 0.1, law: sign, in: {w: speed, applied: spring}}
  net:      {type: Sum, signs: "+-", in: [spring, friction]}
  speed:    {type: Integrator, in: net}
  place:    {type: Integrator, in: speed}
"""

    Fs: float = required("break-away friction; below Fc it counts as Fc", "N m", min=0)
    vs: float = required("speed at which most of the fall has happened", "rad/s", above=0)

    @staticmethod
    def output(w, Fc, Fs, vs, Fv, beta):
        return stribeck_level(w, Fc, Fs, vs) * tanh(beta * w) + Fv * w

    def variant(self, inputs: int = 1) -> type[Block]:
        return Stribeck if self.settings["law"] == "tanh" else StickingStribeck


class StickingStribeck(Stribeck, StickingCoulomb):
    """F = (Fc + (Fs - Fc) exp(-(w/vs)^2)) mode + Fv w while it slips, F = applied while it sticks."""

    @staticmethod
    def output(w, applied, mode, Fc, Fs, vs, Fv):
        return applied if mode == 0.0 else mode * stribeck_level(w, Fc, Fs, vs) + Fv * w

    @staticmethod
    def equations_F(w, Fc, Fs, vs, Fv):
        return stribeck_level(w, Fc, Fs, vs) * sign(w) + Fv * w

    @staticmethod
    def reset_stop(applied, mode, Fc, Fs, vs, has_applied):
        return {"mode": slip_direction(applied, stribeck_level(0.0, Fc, Fs, vs)) if has_applied else -mode}

    @staticmethod
    def guard_slip(w, applied, mode, Fc, Fs, vs, creep, has_applied):
        if mode != 0.0:
            return 1.0
        return minimum(stribeck_level(0.0, Fc, Fs, vs) - abs(applied), creep - abs(w)) if has_applied else -abs(w)


class LuGre(Block):
    """z' = w - sigma0 |w| / g(w) z, F = sigma0 z + sigma1 z' + sigma2 w, g(w) = Fc + (Fs - Fc) exp(-(w/vs)^2).

    Friction as the bending z of bristles (Canudas de Wit, Olsson, Astrom, Lischinsky 1995): it sticks like a spring sigma0,
    breaks away later the faster the load grows, lags behind changes of the speed. Smooth but stiff, above all with a large
    sigma0: rodas4 suits it. At a constant speed F = g(w) sign(w) + sigma2 w.
    """

    family = "friction"
    icon = "0,0.2 0.35,0.25 0.5,0 0.5,1 0.65,0.75 1,0.8; 0,0.5 1,0.5"
    example = """
format: 1
simulate: {stop: 5.0, solver: rodas4, rtol: 1e-6}
blocks:
  push:     {type: Sine, amplitude: 2.0, frequency: 0.5}
  friction: {type: LuGre, sigma0: 1e4, sigma1: 1e2, sigma2: 0.4, Fc: 1.0, Fs: 1.5, vs: 0.01, in: speed}
  net:      {type: Sum, signs: "+-", in: [push, friction.F]}
  speed:    {type: Integrator, in: net}
"""

    sigma0: float = required("stiffness of the bristles", "N m/rad", above=0)
    sigma1: float = param(0.0, "damping of the bristles", "N m s/rad", min=0)
    sigma2: float = param(0.0, "viscous friction", "N m s/rad", min=0)
    Fc: float = required("Coulomb friction", "N m", above=0)
    Fs: float = param(0.0, "break-away friction; below Fc it counts as Fc", "N m", min=0)
    vs: float = param(0.01, "speed at which most of the fall from Fs to Fc has happened", "rad/s", above=0)
    w = inport("speed", "rad/s")
    F = outport("friction, against a positive speed", "N m")
    z: float = state(0.0, "bending of the bristles", "rad", port=True)

    @staticmethod
    def output(z, w, sigma0, sigma1, sigma2, Fc, Fs, vs):
        return sigma0 * z + sigma1 * bristle_rate(z, w, sigma0, Fc, Fs, vs) + sigma2 * w

    @staticmethod
    def derivative(z, w, sigma0, Fc, Fs, vs):
        return bristle_rate(z, w, sigma0, Fc, Fs, vs)


class BoucWen(Block):
    """z' = A v - beta |v| |z|^(n-1) z - gamma v |z|^n, F = a k x + (1 - a) k z: hysteresis that a spring shows.

    x is the displacement and v its speed. z saturates at (A / (beta + gamma))^(1/n); the share a of the stiffness k is elastic,
    the rest yields. With n = 1, gamma = 0, beta = alpha it is the hysteresis of TwoMassRobot. beta above 0 and |gamma| up to
    beta make it dissipate; rate-independent, so only the path counts.
    """

    family = "friction"
    icon = "0.05,0 0.5,0.25 0.95,1 0.5,0.75 0.05,0"
    example = """
format: 1
simulate: {stop: 4.0, solver: dopri5, rtol: 1e-8}
blocks:
  move:   {type: FourierTrajectory, base_frequency: 0.5, a: [1.0]}
  spring: {type: BoucWen, k: 2.0, a: 0.1, beta: 2.0, gamma: 1.0, in: {x: move.q, v: move.qd}}
"""

    k: float = param(1.0, "stiffness for small motion, where A = 1", "N m/rad", min=0)
    a: float = param(0.0, "elastic share of the stiffness", min=0, max=1)
    A: float = param(1.0, "growth of z from rest", above=0)
    beta: float = required("yielding while |z| grows and while it falls", "rad^-n", min=0)
    gamma: float = param(0.0, "yielding while |z| grows, its opposite while it falls", "rad^-n")
    n: float = param(1.0, "sharpness of the yielding", min=1)
    x = inport("displacement", "rad")
    v = inport("speed", "rad/s")
    F = outport("restoring force or torque", "N m")
    z: float = state(0.0, "hysteretic displacement", "rad", port=True)

    @staticmethod
    def output(x, z, k, a):
        return a * k * x + (1.0 - a) * k * z

    @staticmethod
    def derivative(z, v, A, beta, gamma, n):
        size = power(abs(z), n - 1.0)
        return A * v - beta * abs(v) * size * z - gamma * v * size * abs(z)
