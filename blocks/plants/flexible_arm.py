"""The arm of a flexible axis by itself, driven by the angle of its motor."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from blocksim.contract.block import Block, fixed, inport, memory, outport, param, state, static
from blocksim.contract.decision import decided_class

from ..basic.linear import elements
from .friction import GAPLESS, contact_margin, contact_side, gear_torque, hysteresis_rate
from .geared_motor import arm_acceleration, next_side
from .unseen import unseen_in_gear

__all__ = ["FlexibleArm"]


class FlexibleArm(Block):
    """Ja phi_a'' = tau_s(r phi_m - phi_a): an arm behind a flexible gear, driven by what the motor does.

    The gear and the arm of TwoMassRobot without its motor: gear torque, hysteresis, backlash, gravity and load are the same.
    What drives it is the motor's angle and speed, [phi_m, w_m], as they were measured, so that neither the motor's friction nor
    its torque matters and nothing drifts: the spring ties the arm to the motor. By OutputError with `hold: cubic`, which makes
    the speed of the angle, the gear is found from two encoders alone. Without a torque in the data only ratios to the inertia
    show: Ja is known then, or a known load acts.
    """

    family = "robots"
    icon = "0,0.5 0.08,0.5 0.14,0.85 0.24,0.15 0.34,0.85 0.44,0.15 0.5,0.5 0.6,0.5; 0.6,0.2 1,0.2 1,0.8 0.6,0.8 0.6,0.2"
    colour = "plant"
    example = """
format: 1
simulate: {stop: 2.0, solver: dopri5, rtol: 1e-8, every: 0.005}
blocks:
  angle: {type: Sine, amplitude: 2.0, frequency: 4.0}
  speed: {type: Sine, amplitude: 50.2655, frequency: 4.0, phase: 1.570796}
  motor: {type: Mux, in: [angle, speed]}
  arm:   {type: FlexibleArm, in: motor}
"""

    Ja: float = param(1.13e3, "inertia of the arm", "kg m^2", above=0)
    k1: float = param(1.46e6, "stiffness of the gear", "N m/rad", min=0)
    k3: float = param(3.72e10, "cubic stiffness of the gear", "N m/rad^3", min=0)
    d: float = param(2.63e3, "damping of the gear", "N m s/rad", min=0)
    alpha: float = param(0.0, "hysteresis: 1/alpha is the wind-up over which it saturates", "1/rad", min=0)
    A: float = param(0.0, "hysteresis: stiffness it adds to small motion", "N m/rad", min=0)
    q: float = param(0.0, "whole width of the backlash", "rad", min=0)
    r: float = param(4.46e-3, "gear ratio, angle behind the gear per motor angle")
    zero: float = param(0.0, "torsion that the encoders show of an unloaded gear", "rad")
    Ms: float = param(0.0, "first moment of the arm about its axis, for gravity", "kg m")
    theta0: float = param(0.0, "angle of the arm above the horizontal at phi_a = 0", "rad")
    g: float = param(9.81, "gravitational acceleration", "m/s^2", min=0)
    backlash: str = static("elasto", "law of the contact around the gap", choices=("thesis", "elasto", "elasto2"))
    motor = inport("angle and speed of the motor", size=2)
    load = inport("torque that holds the arm back", "N m", optional=True)
    inertia = inport("what the pose adds to Ja", "kg m^2", optional=True)
    inertia_rate = inport("its derivative", "kg m^2/s", optional=True)
    loaded = fixed(False, "whether gravity, a load or the pose acts")
    phi_a: float = state(0.0, "angle of the arm", "rad", port=True)
    w_a: float = state(0.0, "speed of the arm", "rad/s", port=True)
    z: float = state(0.0, "torque of the hysteresis", "N m", port=True)
    side: float = memory(0.0, "gap: 1 or -1 where it is closed, 0 open")
    tau_s = outport("torque of the gear on the arm", "N m")
    torsion = outport("how far the gear is twisted, r phi_m - phi_a - zero", "rad")

    @staticmethod
    def output_torsion(motor, phi_a, r, zero):
        return r * motor[0] - phi_a - zero

    @staticmethod
    def output_tau_s(motor, phi_a, w_a, z, side, k1, k3, d, q, r, zero, backlash):
        phi, w = r * motor[0] - phi_a - zero, r * motor[1] - w_a
        return gear_torque(phi, w, side, k1, k3, d, q, backlash == "elasto", backlash == "elasto2") + z

    @staticmethod
    def derivative(
        motor, load, inertia, inertia_rate, phi_a, w_a, z, side,
        Ja, k1, k3, d, alpha, A, q, r, zero, Ms, theta0, g, backlash, loaded,
    ):  # fmt: skip
        phi, w = r * motor[0] - phi_a - zero, r * motor[1] - w_a
        tau_s = gear_torque(phi, w, side, k1, k3, d, q, backlash == "elasto", backlash == "elasto2") + z
        dw_a = arm_acceleration(tau_s, load, inertia, inertia_rate, phi_a, w_a, Ja, Ms, theta0, g, loaded)
        return w_a, dw_a, hysteresis_rate(z, w, alpha, A)

    @staticmethod
    def equations(
        motor, load, inertia, inertia_rate, phi_a, w_a, z, Ja, k1, k3, d, alpha, A, q, r, zero, Ms, theta0, g, backlash, loaded
    ):
        phi, w = r * motor[0] - phi_a - zero, r * motor[1] - w_a
        tau_s = gear_torque(phi, w, contact_side(phi, q), k1, k3, d, q, backlash == "elasto", backlash == "elasto2") + z
        dw_a = arm_acceleration(tau_s, load, inertia, inertia_rate, phi_a, w_a, Ja, Ms, theta0, g, loaded)
        return w_a, dw_a, hysteresis_rate(z, w, alpha, A)

    def unseen(self, names: Sequence[str], signals: Mapping[str, Any]) -> str:
        return unseen_in_gear(self.settings, names, signals["torsion"], signals["z"])

    def variant(self, inputs: int = 1) -> type[Block]:
        jumps = self.settings["backlash"] != "elasto" and any(q > GAPLESS for q in elements(self.settings["q"]))
        kind: Any = JumpingArm if jumps else FlexibleArm
        loads = inputs > 1 or any(elements(self.settings["Ms"]))
        return decided_class(kind, {"loaded": True}) if loads else kind


class JumpingArm(FlexibleArm):
    """An arm behind a gap whose torque jumps as it closes."""

    @staticmethod
    def guard_contact(motor, phi_a, side, q, r, zero):
        return contact_margin(r * motor[0] - phi_a - zero, side, q)

    @staticmethod
    def reset_contact(motor, phi_a, side, r, zero):
        return {"side": next_side(r * motor[0] - phi_a - zero, side)}
