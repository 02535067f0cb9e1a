"""A robot axis as three masses: a motor with friction, a gearbox behind a nonlinear gear, an arm on a spring of its own."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

from blocksim.contract.block import Block, outport, param, state
from blocksim.contract.vocabulary import sign

from .friction import contact_margin, contact_side, gear_torque, hysteresis_rate, motor_load
from .geared_motor import (
    GearedMotor,
    StickingMotor,
    arm_torque,
    drive_torque,
    dry_friction,
    friction_column,
    gear_columns,
    model_rows,
    next_side,
    refuse_gravity,
    slip_margin,
    slip_mode,
    stop_mode,
)
from .unseen import unseen_friction, unseen_in_gear

__all__ = ["ThreeMassRobot"]


class ThreeMassRobot(GearedMotor):
    """Jm phi_m'' = tau - tau_f - r tau_s, Jg phi_g'' = tau_s - tau_a, Ja phi_a'' = tau_a: motor, gearbox and flexible arm.

    The gear is that of TwoMassRobot, and so are its laws of friction and backlash. With phi = r phi_m - phi_g and w = phi':

        tau_s = k1 phi + k3 phi^3 + d w + z         the gear, on the gearbox
        z'    = -alpha |w| z + A w                  its hysteresis
        tau_f = Fv w_m + Fc tanh(beta w_m)          friction at the motor; `friction` names other laws
        tau_a = k2 (phi_g - phi_a) + d2 (w_g - w_a) the arm bends

    It has two resonances. As k2 grows it becomes the TwoMassRobot with the arm's inertia Jg + Ja. Defaults are those of
    TwoMassRobot with a tenth of the arm's inertia at the gearbox; k2 and d2 are illustrations, not measured on a robot.

    `offset` is a torque lost at the motor, `load` one that holds the arm back, and Ms gives the arm a weight: Ms g cos(phi_a +
    theta0). Where nothing of it is said, the equations are those above, and nothing is computed for it.

    Its inverse dynamic model, one row for each mass, is linear in `inverse_parameters`: see `regressor`.
    """

    icon = (
        "0,0.2 0.2,0.2 0.2,0.8 0,0.8 0,0.2; 0.2,0.5 0.26,0.75 0.33,0.25 0.4,0.5; 0.4,0.2 0.6,0.2 0.6,0.8 0.4,0.8 "
        "0.4,0.2; 0.6,0.5 0.66,0.75 0.73,0.25 0.8,0.5; 0.8,0.2 1,0.2 1,0.8 0.8,0.8 0.8,0.2"
    )
    example = """
format: 1
simulate: {stop: 5.0, solver: dopri5, rtol: 1e-8, every: 0.005}
blocks:
  torque: {type: Chirp, amplitude: 10.0, f_start: 0.2, f_end: 60.0, duration: 5.0}
  robot:  {type: ThreeMassRobot, q: 1e-3, backlash: elasto, in: torque}
"""
    inverse_parameters = ("Jm", "Jg", "Ja", "Fv", "Fc", "k1", "k3", "d", "k2", "d2", "A")
    open_signals: ClassVar = {"z": "A"}  # of its inverse model, that may be left open where their parameter is 0

    Jg: float = param(1.13e2, "inertia of the gearbox, at the arm's side", "kg m^2", above=0)
    Ja: float = param(1.017e3, "inertia of the arm", "kg m^2", above=0)
    k2: float = param(6.0e6, "stiffness of the arm", "N m/rad", min=0)
    d2: float = param(2.0e3, "damping of the arm", "N m s/rad", min=0)
    phi_g: float = state(0.0, "angle of the gearbox, at the arm's side", "rad", port=True)
    w_g: float = state(0.0, "speed of the gearbox, at the arm's side", "rad/s", port=True)
    phi_a: float = state(0.0, "angle of the arm", "rad", port=True)
    w_a: float = state(0.0, "speed of the arm", "rad/s", port=True)
    tau_s = outport("torque of the gear on the gearbox", "N m")
    tau_a = outport("torque of the gearbox on the arm", "N m")
    torsion = outport("how far the gear is twisted, r phi_m - phi_g", "rad")
    z: float = state(0.0, "torque of the hysteresis", "N m", port=True)

    def figure(self) -> dict[str, Any]:
        shafts = {"names": ("motor", "gearbox", "arm"), "scales": (self.settings["r"], 1.0, 1.0), "gap": self.settings["q"]}
        return {"kind": "masses", "signals": ("phi_m", "phi_g", "phi_a", "tau_s", "tau_a", "torsion"), **shafts}

    def unseen(self, names: Sequence[str], signals: Mapping[str, Any]) -> str:
        windup = self.settings["r"] * signals["phi_m"] - signals["phi_g"]
        return unseen_in_gear(self.settings, names, windup, signals["z"]) or unseen_friction(self.settings, names, signals["w_m"])

    @staticmethod
    def output_tau_s(phi_m, w_m, phi_g, w_g, z, side, k1, k3, d, q, r, backlash):
        phi, w = r * phi_m - phi_g, r * w_m - w_g
        return gear_torque(phi, w, side, k1, k3, d, q, backlash == "elasto", backlash == "elasto2") + z

    @staticmethod
    def output_tau_a(phi_g, w_g, phi_a, w_a, k2, d2):
        return k2 * (phi_g - phi_a) + d2 * (w_g - w_a)

    @staticmethod
    def output_torsion(phi_m, phi_g, r):
        return r * phi_m - phi_g

    @staticmethod
    def derivative(
        phi_m, w_m, phi_g, w_g, phi_a, w_a, z, mode, side, tau, load,
        Jm, Jg, Ja, Fv, Fc, k1, k3, d, k2, d2, alpha, A, q, r, beta, Fs, vs,
        offset, Ms, theta0, g, friction, backlash, loaded,
    ):  # fmt: skip
        w = r * w_m - w_g
        tau_s = gear_torque(r * phi_m - phi_g, w, side, k1, k3, d, q, backlash == "elasto", backlash == "elasto2") + z
        tau_a = k2 * (phi_g - phi_a) + d2 * (w_g - w_a)
        dry = dry_friction(w_m, mode, Fc, Fs, vs, beta, friction == "tanh", friction == "stribeck")
        sticks = friction != "tanh" and mode == 0.0
        dw_m = 0.0 if sticks else (drive_torque(tau, offset, loaded) - r * tau_s - dry - Fv * w_m) / Jm
        dw_a = arm_torque(tau_a, load, phi_a, Ms, theta0, g, loaded) / Ja
        return w_m, dw_m, w_g, (tau_s - tau_a) / Jg, w_a, dw_a, hysteresis_rate(z, w, alpha, A)

    @staticmethod
    def equations(
        phi_m, w_m, phi_g, w_g, phi_a, w_a, z, tau, load,
        Jm, Jg, Ja, Fv, Fc, k1, k3, d, k2, d2, alpha, A, q, r, beta, Fs, vs,
        offset, Ms, theta0, g, friction, backlash, loaded,
    ):  # fmt: skip
        phi, w = r * phi_m - phi_g, r * w_m - w_g
        tau_s = gear_torque(phi, w, contact_side(phi, q), k1, k3, d, q, backlash == "elasto", backlash == "elasto2") + z
        tau_a = k2 * (phi_g - phi_a) + d2 * (w_g - w_a)
        dry = dry_friction(w_m, sign(w_m), Fc, Fs, vs, beta, friction == "tanh", friction == "stribeck")
        dw_m = (drive_torque(tau, offset, loaded) - r * tau_s - dry - Fv * w_m) / Jm
        dw_a = arm_torque(tau_a, load, phi_a, Ms, theta0, g, loaded) / Ja
        return w_m, dw_m, w_g, (tau_s - tau_a) / Jg, w_a, dw_a, hysteresis_rate(z, w, alpha, A)

    def variant(self, inputs: int = 1) -> type[Block]:
        return self.pick(inputs, ThreeMassRobot, JumpingThreeMass, StickingThreeMass, StickingJumpingThreeMass)

    @staticmethod
    def regressor(
        phi_m, w_m, dw_m, phi_g, w_g, dw_g, phi_a, w_a, dw_a, z, r, beta, q, A, Fc, Fs, vs, k1, k3, d, Ms, friction, backlash
    ):
        """Rows of motor, gearbox and arm: regressor @ (Jm, Jg, Ja, Fv, Fc, k1, k3, d, k2, d2, A) = (tau, 0, 0).

        Torques at the motor, shape (..., 3, 11); what its arguments are, see the regressor of TwoMassRobot.
        """
        import numpy as np

        refuse_gravity(Ms)
        dry = friction_column(w_m, Fc, Fs, vs, beta, friction)
        phi, w = r * np.asarray(phi_m) - phi_g, r * np.asarray(w_m) - w_g
        spring, cubic, damper = gear_columns(phi, w, k1, k3, d, q, backlash)
        bend, speed = np.asarray(phi_g) - phi_a, np.asarray(w_g) - w_a
        bent = np.asarray(z) / A if A > 0 else np.zeros_like(phi)
        none = np.zeros(np.broadcast(phi, dw_m, dw_g, dw_a).shape)
        motor = [dw_m, none, none, w_m, dry, r * spring, r * cubic, r * damper, none, none, r * bent]
        gearbox = [none, dw_g, none, none, none, -spring, -cubic, -damper, bend, speed, -bent]
        arm = [none, none, dw_a, none, none, none, none, none, -bend, -speed, none]
        rows = motor, [r * column for column in gearbox], [r * column for column in arm]
        return model_rows(rows, none)

    @staticmethod
    def effort(tau, offset):
        """The left-hand sides of the three rows: the motor's torque, and none at gearbox and arm."""
        import numpy as np

        return np.stack([tau - offset, np.zeros_like(tau), np.zeros_like(tau)], axis=-1)


class StickingThreeMass(StickingMotor, ThreeMassRobot):
    """Three masses, the motor sticking while the gear and the torque cannot overcome its dry friction."""

    @staticmethod
    def reset_stop(phi_m, phi_g, w_g, z, side, tau, Fc, k1, k3, d, q, r, Fs, vs, friction, backlash, offset, loaded):
        elasto, elasto2 = backlash == "elasto", backlash == "elasto2"
        load = motor_load(drive_torque(tau, offset, loaded), r * phi_m - phi_g, -w_g, z, side, k1, k3, d, q, r, elasto, elasto2)
        return {"w_m": 0.0, "mode": stop_mode(load, Fc, Fs, vs, friction == "stribeck")}

    @staticmethod
    def guard_slip(phi_m, w_m, phi_g, w_g, z, mode, side, tau, Fc, k1, k3, d, q, r, Fs, vs, friction, backlash, offset, loaded):
        if mode != 0.0:
            return 1.0
        elasto, elasto2 = backlash == "elasto", backlash == "elasto2"
        load = motor_load(drive_torque(tau, offset, loaded), r * phi_m - phi_g, -w_g, z, side, k1, k3, d, q, r, elasto, elasto2)
        return slip_margin(load, w_m, Fc, Fs, vs, friction == "stribeck")

    @staticmethod
    def reset_slip(phi_m, w_m, phi_g, w_g, z, side, tau, k1, k3, d, q, r, backlash, offset, loaded):
        elasto, elasto2 = backlash == "elasto", backlash == "elasto2"
        load = motor_load(drive_torque(tau, offset, loaded), r * phi_m - phi_g, -w_g, z, side, k1, k3, d, q, r, elasto, elasto2)
        return {"mode": slip_mode(load, w_m)}


class JumpingThreeMass(ThreeMassRobot):
    """Three masses with a gap whose torque jumps as it closes."""

    @staticmethod
    def guard_contact(phi_m, phi_g, side, q, r):
        return contact_margin(r * phi_m - phi_g, side, q)

    @staticmethod
    def reset_contact(phi_m, phi_g, side, r):
        return {"side": next_side(r * phi_m - phi_g, side)}


class StickingJumpingThreeMass(StickingThreeMass, JumpingThreeMass):
    """Three masses with both: a motor that sticks and a gap whose torque jumps."""
