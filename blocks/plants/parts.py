"""Parts of a drive train, wired by their signals: inertias move, what is between them passes a torque on.

A part between two inertias reads the angles and speeds of its sides a and b and gives the torque on b; on a the same torque
acts the other way. An open side b is a wall.
"""

# mypy: disable-error-code="override"
# A variant depends on other names than the block it stands in for, and its argument list says so.

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from blocksim.contract.block import Block, inport, memory, outport, param, required, state, static
from blocksim.contract.vocabulary import maximum

from ..basic.linear import elements
from .friction import GAPLESS, contact_margin, contact_side, gear_torque, hysteresis_rate
from .geared_motor import next_side
from .unseen import unseen_gap, unseen_hysteresis, unseen_spring

__all__ = ["ElastoBacklash", "Gear", "Hysteresis", "Inertia", "SpringDamper"]


class Inertia(Block):
    """J phi'' = tau - load: a body that turns, driven by tau and held back by load. As a mass it moves along a line."""

    family = "drives"
    icon = "0,0.5 0.3,0.5; 0.3,0.05 0.7,0.05 0.7,0.95 0.3,0.95 0.3,0.05; 0.7,0.5 1,0.5"
    colour = "plant"
    example = """
format: 1
simulate: {stop: 2.0, solver: dopri5, rtol: 1e-8}
blocks:
  push:   {type: Sine, frequency: 1.0}
  damper: {type: SpringDamper, k1: 40.0, d: 0.3, in: {phi_a: wheel.phi, w_a: wheel.w}}
  wheel:  {type: Inertia, J: 0.5, in: {tau: push, load: damper.tau}}
"""

    J: float = required("inertia", "kg m^2", above=0)
    tau = inport("torque that drives it", "N m")
    load = inport("torque that holds it back", "N m", optional=True)
    phi: float = state(0.0, "angle", "rad", port=True)
    w: float = state(0.0, "speed", "rad/s", port=True)
    dw = outport("acceleration", "rad/s^2")

    @staticmethod
    def output(tau, load, J):
        return (tau - load) / J

    @staticmethod
    def derivative(w, tau, load, J):
        return w, (tau - load) / J


class Gear(Block):
    """phi_b = r phi_a, w_b = r w_a, tau_a = r tau_b: a rigid gear without loss; tau_b is what is taken out at b."""

    family = "drives"
    icon = (
        "0.38,0.5 0.36,0.66 0.28,0.75 0.18,0.75 0.11,0.66 0.08,0.5 0.11,0.34 0.18,0.25 0.28,0.25 0.36,0.34 "
        "0.38,0.5; 0.95,0.5 0.93,0.71 0.85,0.88 0.74,0.97 0.61,0.97 0.5,0.88 0.42,0.71 0.39,0.5 0.42,0.29 "
        "0.5,0.12 0.61,0.03 0.74,0.03 0.85,0.12 0.93,0.29 0.95,0.5"
    )
    colour = "plant"
    example = """
format: 1
simulate: {stop: 2.0, solver: dopri5, rtol: 1e-8}
blocks:
  push:  {type: Sine, frequency: 1.0}
  motor: {type: Inertia, J: 0.01, in: {tau: push, load: gear.tau_a}}
  gear:  {type: Gear, r: 0.1, in: {phi_a: motor.phi, w_a: motor.w, tau_b: shaft.tau}}
  shaft: {type: SpringDamper, k1: 300.0, d: 2.0, in: {phi_a: gear.phi_b, w_a: gear.w_b, phi_b: arm.phi, w_b: arm.w}}
  arm:   {type: Inertia, J: 1.0, in: shaft.tau}
"""

    r: float = required("ratio: angle of side b per angle of side a")
    phi_a = inport("angle of the driving side", "rad")
    w_a = inport("speed of the driving side", "rad/s")
    tau_b = inport("torque taken out at side b", "N m")
    phi_b = outport("angle of the driven side", "rad")
    w_b = outport("speed of the driven side", "rad/s")
    tau_a = outport("what that takes at side a", "N m")

    @staticmethod
    def output_phi_b(phi_a, r):
        return r * phi_a

    @staticmethod
    def output_w_b(w_a, r):
        return r * w_a

    @staticmethod
    def output_tau_a(tau_b, r):
        return r * tau_b


class SpringDamper(Block):
    """tau = k1 phi + k3 phi^3 + d w, phi = phi_a - phi_b, w = w_a - w_b: a spring that may stiffen, beside a damper."""

    family = "drives"
    icon = "0,0.5 0.2,0.5 0.28,0.9 0.4,0.1 0.52,0.9 0.64,0.1 0.72,0.5 1,0.5"
    colour = "plant"
    example = """
format: 1
simulate: {stop: 2.0, solver: dopri5, rtol: 1e-8}
blocks:
  hand:   {type: Sine, frequency: 0.5}
  rubber: {type: SpringDamper, k1: 10.0, k3: 200.0, d: 0.5, in: {phi_a: hand, phi_b: wheel.phi, w_b: wheel.w}}
  wheel:  {type: Inertia, J: 0.2, in: rubber.tau}
"""

    k1: float = required("stiffness", "N m/rad", min=0)
    k3: float = param(0.0, "cubic stiffness", "N m/rad^3", min=0)
    d: float = param(0.0, "damping", "N m s/rad", min=0)
    phi_a = inport("angle of side a", "rad")
    w_a = inport("speed of side a", "rad/s", optional=True)
    phi_b = inport("angle of side b", "rad", optional=True)
    w_b = inport("speed of side b", "rad/s", optional=True)
    tau = outport("torque on side b", "N m")
    phi = outport("torsion, angle of a less that of b", "rad")

    @staticmethod
    def output_tau(phi_a, w_a, phi_b, w_b, k1, k3, d):
        return gear_torque(phi_a - phi_b, w_a - w_b, 0.0, k1, k3, d, 0.0, False, False)

    @staticmethod
    def output_phi(phi_a, phi_b):
        return phi_a - phi_b

    def unseen(self, names: Sequence[str], signals: Mapping[str, Any]) -> str:
        return unseen_spring(self.settings, names, signals["phi"])


class ElastoBacklash(SpringDamper):
    """tau = k1 x + k3 x^3 + d w beyond a gap of width q, 0 within: a spring and a damper with play, x from the gap's edge.

    `law: thesis` keeps spring and damper as they are, so the torque jumps at impact and may pull; `elasto2` never pulls but still
    jumps; `elasto` never pulls and lets the damper add at most what the spring gives, so it is continuous. The last two are
    Modelica's. Where the torque jumps, the instants of contact are located.
    """

    icon = "0,0.05 0.35,0.5 0.65,0.5 1,0.95"
    formula = (
        r"\tau = \begin{cases} k_{1} x + k_{3} x^{3} + d \, w & |\varphi| > \frac{q}{2} \\ 0 & \text{else} "
        r"\end{cases} \quad x = \varphi - \frac{q}{2} \operatorname{sign} \varphi, \; \varphi = \varphi_{a} - "
        r"\varphi_{b}"
    )
    example = """
format: 1
simulate: {stop: 2.0, solver: dopri5, rtol: 1e-8}
blocks:
  hand:  {type: Sine, frequency: 1.0}
  play:  {type: ElastoBacklash, k1: 50.0, d: 1.0, q: 0.4, law: elasto, in: {phi_a: hand, phi_b: wheel.phi, w_b: wheel.w}}
  wheel: {type: Inertia, J: 0.2, in: play.tau}
"""

    q: float = required("whole width of the gap", "rad", min=0)
    law: str = static("thesis", "what happens around the gap", choices=("thesis", "elasto", "elasto2"))
    gap = outport("way left until the gap closes, 0 where it is closed", "rad")
    contact = outport("1 or -1 where the gap is closed on that side, 0 open")

    @staticmethod
    def output_tau(phi_a, w_a, phi_b, w_b, k1, k3, d, q, law):
        phi = phi_a - phi_b
        return gear_torque(phi, w_a - w_b, contact_side(phi, q), k1, k3, d, q, law == "elasto", law == "elasto2")

    @staticmethod
    def output_gap(phi_a, phi_b, q):
        return maximum(0.5 * q - abs(phi_a - phi_b), 0.0)

    @staticmethod
    def output_contact(phi_a, phi_b, q):
        return contact_side(phi_a - phi_b, q)

    def unseen(self, names: Sequence[str], signals: Mapping[str, Any]) -> str:
        return unseen_gap(self.settings, names, signals["phi"]) or super().unseen(names, signals)

    def variant(self, inputs: int = 1) -> type[Block]:
        jumps = self.settings["law"] != "elasto" and any(q > GAPLESS for q in elements(self.settings["q"]))
        return JumpingBacklash if jumps else ElastoBacklash


class JumpingBacklash(ElastoBacklash):
    """A gap whose torque jumps as it closes: the side that is closed is kept in memory."""

    side: float = memory(0.0, "1 or -1 where the gap is closed, 0 open")

    @staticmethod
    def output_tau(phi_a, w_a, phi_b, w_b, side, k1, k3, d, q, law):
        return gear_torque(phi_a - phi_b, w_a - w_b, side, k1, k3, d, q, law == "elasto", law == "elasto2")

    @staticmethod
    def equations_tau(phi_a, w_a, phi_b, w_b, k1, k3, d, q, law):
        phi = phi_a - phi_b
        return gear_torque(phi, w_a - w_b, contact_side(phi, q), k1, k3, d, q, False, law == "elasto2")

    @staticmethod
    def output_contact(side):
        return side

    @staticmethod
    def equations_contact(phi_a, phi_b, q):
        return contact_side(phi_a - phi_b, q)

    @staticmethod
    def guard_contact(phi_a, phi_b, side, q):
        return contact_margin(phi_a - phi_b, side, q)

    @staticmethod
    def reset_contact(phi_a, phi_b, side):
        return {"side": next_side(phi_a - phi_b, side)}


class Hysteresis(Block):
    """z' = -alpha |w| z + A w, w = w_a - w_b: the hysteresis of a gear, a torque that saturates at A/alpha (thesis, 4.7)."""

    family = "drives"
    icon = "0.05,0 0.5,0.25 0.95,1 0.5,0.75 0.05,0"
    colour = "plant"
    example = """
format: 1
simulate: {stop: 2.0, solver: dopri5, rtol: 1e-8}
blocks:
  speed: {type: Sine, frequency: 1.0}
  bent:  {type: Hysteresis, alpha: 20.0, A: 5.0, in: speed}
"""

    alpha: float = required("1/alpha is the wind-up over which it saturates", "1/rad", min=0)
    A: float = required("stiffness it adds to small motion", "N m/rad", min=0)
    w_a = inport("speed of side a", "rad/s")
    w_b = inport("speed of side b", "rad/s", optional=True)
    z: float = state(0.0, "torque on side b", "N m", port=True)

    @staticmethod
    def derivative(z, w_a, w_b, alpha, A):
        return hysteresis_rate(z, w_a - w_b, alpha, A)

    def unseen(self, names: Sequence[str], signals: Mapping[str, Any]) -> str:
        return unseen_hysteresis(self.settings, names, signals["z"])
