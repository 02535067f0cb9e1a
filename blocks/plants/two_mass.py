"""A robot axis as two masses: a motor with friction, a gear with a nonlinear spring, hysteresis and backlash, an arm."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

from blocksim.contract.block import Block, inport, outport, param, state
from blocksim.contract.vocabulary import sign

from .friction import contact_margin, contact_side, gear_torque, hysteresis_rate, motor_load
from .geared_motor import (
    GearedMotor,
    StickingMotor,
    arm_acceleration,
    drive_torque,
    dry_friction,
    friction_column,
    gear_columns,
    model_rows,
    next_side,
    slip_margin,
    slip_mode,
    stop_mode,
)
from .unseen import unseen_friction, unseen_in_gear

__all__ = ["TwoMassRobot"]


class TwoMassRobot(GearedMotor):
    """Jm phi_m'' = tau - tau_f - r tau_s, Ja phi_a'' = tau_s: a motor drives an arm through a flexible gear of ratio r.

    With phi = r phi_m - phi_a and w = phi', equations (4.1)-(4.8) of the thesis:

        tau_s = k1 phi + k3 phi^3 + d w + z         the torque on the arm, all that the gear passes on
        z'    = -alpha |w| z + A w                  hysteresis, z = x5 of (4.7)
        tau_f = Fv w_m + Fc tanh(beta w_m)          friction at the motor; `friction` names other laws

    Defaults are Table 7.1, but alpha, A and q, which are 0: every effect is off where its parameter is 0.

    `friction: sign` is true dry friction. The motor sticks, its acceleration exactly 0, while |tau - r tau_s| is at most Fc;
    `friction: stribeck` breaks away at Fs and falls to Fc as exp(-(w_m/vs)^2). Slipping and sticking are modes in memory, and
    the instants at which they change are located.

    `backlash` says what happens around a gap of width q, phi being measured from its edge outside and tau_s = z within:
    `thesis` (4.3) keeps spring and damper as they are, so the torque jumps at impact and may pull; `elasto2` never pulls but
    still jumps; `elasto` never pulls and lets the damper add at most what the spring gives, so it is continuous.

    `offset` is a torque lost at the motor, `load` one that holds the arm back, and Ms gives the arm a weight: Ms g cos(phi_a +
    theta0). `inertia` is what the pose of other axes adds to Ja, e.g. from a LookupTable of their angle, and `inertia_rate` its
    derivative, which acts as a damper: (Ja + inertia) phi_a'' = tau_s - inertia_rate w_a - ... Where nothing of it is said, the
    equations are those above, and nothing is computed for it.

    Its inverse dynamic model, one row for the motor and one for the arm, is linear in `inverse_parameters`, where Ms is not 0
    in Ms and offset too, and where offset is not 0 in offset: see `regressor`.
    """

    icon = (
        "0,0.15 0.3,0.15 0.3,0.85 0,0.85 0,0.15; 0.3,0.5 0.38,0.5 0.43,0.8 0.5,0.2 0.57,0.8 0.62,0.5 0.7,0.5; 0.7,0.15 "
        "1,0.15 1,0.85 0.7,0.85 0.7,0.15"
    )
    example = """
format: 1
simulate: {stop: 5.0, solver: dopri5, rtol: 1e-8, every: 0.005}
blocks:
  torque: {type: Chirp, amplitude: 10.0, f_start: 0.2, f_end: 15.0, duration: 5.0}
  robot:  {type: TwoMassRobot, alpha: 1e3, A: 1e7, q: 1e-3, friction: sign, in: torque}
"""
    inverse_parameters = ("Jm", "Ja", "Fv", "Fc", "k1", "k3", "d", "A")
    weight_parameters = ("Ms", "offset")  # of its inverse model too, where the arm has a weight; the offset also by itself
    open_signals: ClassVar = {"z": "A"}  # of its inverse model, that may be left open where their parameter is 0

    Ja: float = param(1.13e3, "inertia of the arm", "kg m^2", above=0)
    inertia = inport("what the pose adds to Ja; observers take it for 0", "kg m^2", optional=True)
    inertia_rate = inport("its derivative", "kg m^2/s", optional=True)
    phi_a: float = state(0.0, "angle of the arm", "rad", port=True)
    w_a: float = state(0.0, "speed of the arm", "rad/s", port=True)
    tau_s = outport("torque of the gear on the arm", "N m")
    torsion = outport("how far the gear is twisted, r phi_m - phi_a", "rad")
    z: float = state(0.0, "torque of the hysteresis", "N m", port=True)

    def figure(self) -> dict[str, Any]:
        shafts = {"names": ("motor", "arm"), "scales": (self.settings["r"], 1.0)}
        return {"kind": "masses", "signals": ("phi_m", "phi_a", "tau_s", "torsion"), "gap": self.settings["q"], **shafts}

    @staticmethod
    def output_torsion(phi_m, phi_a, r):
        return r * phi_m - phi_a

    @staticmethod
    def output_tau_s(phi_m, w_m, phi_a, w_a, z, side, k1, k3, d, q, r, backlash):
        phi, w = r * phi_m - phi_a, r * w_m - w_a
        return gear_torque(phi, w, side, k1, k3, d, q, backlash == "elasto", backlash == "elasto2") + z

    @staticmethod
    def derivative(
        phi_m, w_m, phi_a, w_a, z, mode, side, tau, load, inertia, inertia_rate,
        Jm, Ja, Fv, Fc, k1, k3, d, alpha, A, q, r, beta, Fs, vs, offset, Ms, theta0, g, friction, backlash, loaded,
    ):  # fmt: skip
        w = r * w_m - w_a
        tau_s = gear_torque(r * phi_m - phi_a, w, side, k1, k3, d, q, backlash == "elasto", backlash == "elasto2") + z
        dry = dry_friction(w_m, mode, Fc, Fs, vs, beta, friction == "tanh", friction == "stribeck")
        sticks = friction != "tanh" and mode == 0.0
        dw_m = 0.0 if sticks else (drive_torque(tau, offset, loaded) - r * tau_s - dry - Fv * w_m) / Jm
        dw_a = arm_acceleration(tau_s, load, inertia, inertia_rate, phi_a, w_a, Ja, Ms, theta0, g, loaded)
        return w_m, dw_m, w_a, dw_a, hysteresis_rate(z, w, alpha, A)

    @staticmethod
    def equations(
        phi_m, w_m, phi_a, w_a, z, tau, load, inertia, inertia_rate,
        Jm, Ja, Fv, Fc, k1, k3, d, alpha, A, q, r, beta, Fs, vs, offset, Ms, theta0, g, friction, backlash, loaded,
    ):  # fmt: skip
        phi, w = r * phi_m - phi_a, r * w_m - w_a
        tau_s = gear_torque(phi, w, contact_side(phi, q), k1, k3, d, q, backlash == "elasto", backlash == "elasto2") + z
        dry = dry_friction(w_m, sign(w_m), Fc, Fs, vs, beta, friction == "tanh", friction == "stribeck")
        dw_m = (drive_torque(tau, offset, loaded) - r * tau_s - dry - Fv * w_m) / Jm
        dw_a = arm_acceleration(tau_s, load, inertia, inertia_rate, phi_a, w_a, Ja, Ms, theta0, g, loaded)
        return w_m, dw_m, w_a, dw_a, hysteresis_rate(z, w, alpha, A)

    def variant(self, inputs: int = 1) -> type[Block]:
        return self.pick(inputs, TwoMassRobot, JumpingTwoMass, StickingTwoMass, StickingJumpingTwoMass)

    def unseen(self, names: Sequence[str], signals: Mapping[str, Any]) -> str:
        windup = self.settings["r"] * signals["phi_m"] - signals["phi_a"]
        return unseen_in_gear(self.settings, names, windup, signals["z"]) or unseen_friction(self.settings, names, signals["w_m"])

    @staticmethod
    def regressor(
        phi_m, w_m, dw_m, phi_a, w_a, dw_a, z, r, beta, q, A, Fc, Fs, vs, k1, k3, d, Ms, offset, theta0, g, friction, backlash
    ):
        """Rows of the motor and of the arm: regressor @ (Jm, Ja, Fv, Fc, k1, k3, d, A) = (tau, 0), shape (..., 2, 8).

        An arm with a weight, Ms not 0, has two more columns: g cos(phi_a + theta0) for Ms, and one for the motor's offset. An
        offset that is not 0 has its column without a weight too.

        Both are torques at the motor (the arm's equation times r), so that they weigh alike in least squares. dw_m and dw_a
        are the accelerations; signals may be arrays over time. z is the hysteresis that a robot of this A has: it is
        proportional to A. With stribeck the ratio Fs/Fc stays; elasto and elasto2 need k1, k3, d to tell the phases of the
        contact apart. While the motor sticks dry friction is what holds it, and the motor's row is not valid.
        """
        import numpy as np

        dry = friction_column(w_m, Fc, Fs, vs, beta, friction)
        phi, w = r * np.asarray(phi_m) - phi_a, r * np.asarray(w_m) - w_a
        spring, cubic, damper = gear_columns(phi, w, k1, k3, d, q, backlash)
        bent = np.asarray(z) / A if A > 0 else np.zeros_like(phi)
        none = np.zeros(np.broadcast(phi, dw_m, dw_a).shape)
        motor = [dw_m, none, w_m, dry, r * spring, r * cubic, r * damper, r * bent]
        arm = [none, r * dw_a, none, none, -r * spring, -r * cubic, -r * damper, -r * bent]
        if Ms:
            motor += [none]
            arm += [r * g * np.cos(np.asarray(phi_a) + theta0)]
        if Ms or offset:
            motor += [none + 1.0]
            arm += [none]
        return model_rows((motor, arm), none)

    #: For regressions, the motor's row is replaced by the sum of both: no gear is in it, and what it says of Ja holds whatever
    #: phi is. The others come from the encoder of the arm, which may be late or have another zero.
    balance = ((1.0, 1.0), (0.0, 1.0))
    late_signals = ("phi_a", "w_a", "dw_a")

    @staticmethod
    def effort(tau, offset):
        """The left-hand sides of the two rows: the motor's torque, and none at the arm."""
        import numpy as np

        return np.stack([tau - offset, np.zeros_like(tau)], axis=-1)


class StickingTwoMass(StickingMotor, TwoMassRobot):
    """Two masses, the motor sticking while the gear and the torque cannot overcome its dry friction."""

    @staticmethod
    def reset_stop(phi_m, phi_a, w_a, z, side, tau, Fc, k1, k3, d, q, r, Fs, vs, friction, backlash, offset, loaded):
        elasto, elasto2 = backlash == "elasto", backlash == "elasto2"
        load = motor_load(drive_torque(tau, offset, loaded), r * phi_m - phi_a, -w_a, z, side, k1, k3, d, q, r, elasto, elasto2)
        return {"w_m": 0.0, "mode": stop_mode(load, Fc, Fs, vs, friction == "stribeck")}

    @staticmethod
    def guard_slip(phi_m, w_m, phi_a, w_a, z, mode, side, tau, Fc, k1, k3, d, q, r, Fs, vs, friction, backlash, offset, loaded):
        if mode != 0.0:
            return 1.0
        elasto, elasto2 = backlash == "elasto", backlash == "elasto2"
        load = motor_load(drive_torque(tau, offset, loaded), r * phi_m - phi_a, -w_a, z, side, k1, k3, d, q, r, elasto, elasto2)
        return slip_margin(load, w_m, Fc, Fs, vs, friction == "stribeck")

    @staticmethod
    def reset_slip(phi_m, w_m, phi_a, w_a, z, side, tau, k1, k3, d, q, r, backlash, offset, loaded):
        elasto, elasto2 = backlash == "elasto", backlash == "elasto2"
        load = motor_load(drive_torque(tau, offset, loaded), r * phi_m - phi_a, -w_a, z, side, k1, k3, d, q, r, elasto, elasto2)
        return {"mode": slip_mode(load, w_m)}


class JumpingTwoMass(TwoMassRobot):
    """Two masses with a gap whose torque jumps as it closes."""

    @staticmethod
    def guard_contact(phi_m, phi_a, side, q, r):
        return contact_margin(r * phi_m - phi_a, side, q)

    @staticmethod
    def reset_contact(phi_m, phi_a, side, r):
        return {"side": next_side(r * phi_m - phi_a, side)}


class StickingJumpingTwoMass(StickingTwoMass, JumpingTwoMass):
    """Two masses with both: a motor that sticks and a gap whose torque jumps."""
