"""A robot axis as two masses: a motor with friction, a gear with a nonlinear spring, hysteresis and backlash, an arm."""

from __future__ import annotations

from typing import Any

from blocksim.contract.block import Block, inport, memory, outport, param, state, static
from blocksim.contract.vocabulary import sign, tanh

from ..basic.linear import elements
from .friction import (
    GAPLESS,
    contact_margin,
    contact_side,
    gear_torque,
    hysteresis_rate,
    motor_load,
    slip_direction,
    stribeck_level,
)

__all__ = ["TwoMassRobot"]


class TwoMassRobot(Block):
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

    Its inverse dynamic model, one row for the motor and one for the arm, is linear in `inverse_parameters`: see `regressor`.
    """

    family = "robots"
    colour = "plant"
    example = """
format: 1
simulate: {stop: 5.0, solver: dopri5, rtol: 1e-8, every: 0.005}
blocks:
  torque: {type: Chirp, amplitude: 10.0, f_start: 0.2, f_end: 15.0, duration: 5.0}
  robot:  {type: TwoMassRobot, alpha: 1e3, A: 1e7, q: 1e-3, friction: sign, in: torque}
"""
    inverse_parameters = ("Jm", "Ja", "Fv", "Fc", "k1", "k3", "d", "A")

    Jm: float = param(1.21e-2, "inertia of the motor", "kg m^2", above=0)
    Ja: float = param(1.13e3, "inertia of the arm", "kg m^2", above=0)
    Fv: float = param(1.30e-2, "viscous friction at the motor", "N m s/rad", min=0)
    Fc: float = param(6.44e-1, "Coulomb friction at the motor", "N m", min=0)
    k1: float = param(1.46e6, "stiffness of the gear", "N m/rad", min=0)
    k3: float = param(3.72e10, "cubic stiffness of the gear", "N m/rad^3", min=0)
    d: float = param(2.63e3, "damping of the gear", "N m s/rad", min=0)
    alpha: float = param(0.0, "hysteresis: 1/alpha is the wind-up over which it saturates", "1/rad", min=0)
    A: float = param(0.0, "hysteresis: stiffness it adds to small motion", "N m/rad", min=0)
    q: float = param(0.0, "whole width of the backlash", "rad", min=0)
    r: float = param(4.46e-3, "gear ratio, arm angle per motor angle")
    beta: float = param(1.0, "steepness of tanh(beta w_m)", "s/rad", above=0)
    Fs: float = param(0.0, "break-away friction of stribeck; below Fc it counts as Fc", "N m", min=0)
    vs: float = param(1.0, "motor speed at which most of the fall from Fs to Fc has happened", "rad/s", above=0)
    friction: str = static("tanh", "law of the dry friction", choices=("tanh", "sign", "stribeck"))
    backlash: str = static("thesis", "law of the contact around the gap", choices=("thesis", "elasto", "elasto2"))
    tau = inport("torque of the motor", "N m")
    phi_m: float = state(0.0, "angle of the motor", "rad", port=True)
    w_m: float = state(0.0, "speed of the motor", "rad/s", port=True)
    phi_a: float = state(0.0, "angle of the arm", "rad", port=True)
    w_a: float = state(0.0, "speed of the arm", "rad/s", port=True)
    tau_s = outport("torque of the gear on the arm", "N m")
    z: float = state(0.0, "torque of the hysteresis", "N m", port=True)
    mode: float = memory(0.0, "motor with dry friction: 1 slips forward, -1 slips backward, 0 sticks")
    side: float = memory(0.0, "gap: 1 or -1 where it is closed, 0 open")

    @staticmethod
    def output(phi_m, w_m, phi_a, w_a, z, side, k1, k3, d, q, r, backlash):
        phi, w = r * phi_m - phi_a, r * w_m - w_a
        return gear_torque(phi, w, side, k1, k3, d, q, backlash == "elasto", backlash == "elasto2") + z

    @staticmethod
    def derivative(
        phi_m, w_m, phi_a, w_a, z, mode, side, tau, Jm, Ja, Fv, Fc, k1, k3, d, alpha, A, q, r, beta, Fs, vs, friction, backlash
    ):
        w = r * w_m - w_a
        tau_s = gear_torque(r * phi_m - phi_a, w, side, k1, k3, d, q, backlash == "elasto", backlash == "elasto2") + z
        level = stribeck_level(w_m, Fc, Fs, vs) if friction == "stribeck" else Fc
        dry = level * (tanh(beta * w_m) if friction == "tanh" else mode)
        sticks = friction != "tanh" and mode == 0.0
        dw_m = 0.0 if sticks else (tau - r * tau_s - dry - Fv * w_m) / Jm
        return w_m, dw_m, w_a, tau_s / Ja, hysteresis_rate(z, w, alpha, A)

    @staticmethod
    def equations(
        phi_m, w_m, phi_a, w_a, z, tau, Jm, Ja, Fv, Fc, k1, k3, d, alpha, A, q, r, beta, Fs, vs, friction, backlash
    ):  # fmt: skip
        phi, w = r * phi_m - phi_a, r * w_m - w_a
        tau_s = gear_torque(phi, w, contact_side(phi, q), k1, k3, d, q, backlash == "elasto", backlash == "elasto2") + z
        level = stribeck_level(w_m, Fc, Fs, vs) if friction == "stribeck" else Fc
        dry = level * (tanh(beta * w_m) if friction == "tanh" else sign(w_m))
        return w_m, (tau - r * tau_s - dry - Fv * w_m) / Jm, w_a, tau_s / Ja, hysteresis_rate(z, w, alpha, A)

    def variant(self, inputs: int = 1) -> type[Block]:
        sticks = self.settings["friction"] != "tanh"
        jumps = self.settings["backlash"] != "elasto" and any(q > GAPLESS for q in elements(self.settings["q"]))
        kinds = (TwoMassRobot, JumpingTwoMass, StickingTwoMass, StickingJumpingTwoMass)
        return kinds[2 * sticks + jumps]

    @staticmethod
    def regressor(phi_m, w_m, dw_m, phi_a, w_a, dw_a, z, r, beta, q, A, Fc, Fs, vs, k1, k3, d, friction, backlash):
        """Rows of the motor and of the arm: regressor @ (Jm, Ja, Fv, Fc, k1, k3, d, A) = (tau, 0), shape (..., 2, 8).

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
        return np.stack([np.stack([column + none for column in row], axis=-1) for row in (motor, arm)], axis=-2)

    @staticmethod
    def effort(tau):
        """The left-hand sides of the two rows: the motor's torque, and none at the arm."""
        import numpy as np

        return np.stack([tau, np.zeros_like(tau)], axis=-1)


class StickingTwoMass(TwoMassRobot):
    """Two masses, the motor sticking while the gear and the torque cannot overcome its dry friction."""

    @staticmethod
    def guard_stop(w_m, mode):
        return mode * w_m if mode != 0.0 else 1.0

    @staticmethod
    def reset_stop(phi_m, phi_a, w_a, z, side, tau, Fc, k1, k3, d, q, r, Fs, vs, friction, backlash):
        elasto, elasto2 = backlash == "elasto", backlash == "elasto2"
        load = motor_load(tau, r * phi_m - phi_a, -w_a, z, side, k1, k3, d, q, r, elasto, elasto2)
        level = stribeck_level(0.0, Fc, Fs, vs) if friction == "stribeck" else Fc
        return {"w_m": 0.0, "mode": slip_direction(load, level)}

    @staticmethod
    def guard_slip(phi_m, w_m, phi_a, w_a, z, mode, side, tau, Fc, k1, k3, d, q, r, Fs, vs, friction, backlash):
        if mode != 0.0:
            return 1.0
        elasto, elasto2 = backlash == "elasto", backlash == "elasto2"
        load = motor_load(tau, r * phi_m - phi_a, -w_a, z, side, k1, k3, d, q, r, elasto, elasto2)
        level = stribeck_level(0.0, Fc, Fs, vs) if friction == "stribeck" else Fc
        return level - abs(load) if w_m == 0.0 else -1.0  # a motor that starts with a speed slips

    @staticmethod
    def reset_slip(phi_m, w_m, phi_a, w_a, z, side, tau, k1, k3, d, q, r, backlash):
        elasto, elasto2 = backlash == "elasto", backlash == "elasto2"
        load = motor_load(tau, r * phi_m - phi_a, -w_a, z, side, k1, k3, d, q, r, elasto, elasto2)
        return {"mode": sign(load) if w_m == 0.0 else sign(w_m)}


class JumpingTwoMass(TwoMassRobot):
    """Two masses with a gap whose torque jumps as it closes."""

    @staticmethod
    def guard_contact(phi_m, phi_a, side, q, r):
        return contact_margin(r * phi_m - phi_a, side, q)

    @staticmethod
    def reset_contact(phi_m, phi_a, side, r):
        return {"side": sign(r * phi_m - phi_a) if side == 0.0 else 0.0}


class StickingJumpingTwoMass(StickingTwoMass, JumpingTwoMass):
    """Two masses with both: a motor that sticks and a gap whose torque jumps."""


def friction_column(w: Any, Fc: float, Fs: float, vs: float, beta: float, friction: str) -> Any:
    """What multiplies Fc in the inverse dynamic model."""
    import numpy as np

    if friction == "tanh":
        return np.tanh(beta * np.asarray(w))
    rise = max(Fs / Fc - 1.0, 0.0) if friction == "stribeck" and Fc > 0 else 0.0
    return np.sign(w) * (1.0 + rise * np.exp(-((np.asarray(w) / vs) ** 2)))


def gear_columns(phi: Any, w: Any, k1: float, k3: float, d: float, q: float, backlash: str) -> tuple[Any, Any, Any]:
    """What multiplies k1, k3 and d in the torque of spring and damper."""
    import numpy as np

    if q <= GAPLESS:
        return phi, phi**3, w
    side = np.where(phi >= 0.5 * q, 1.0, np.where(phi <= -0.5 * q, -1.0, 0.0))
    x = np.where(side == 0.0, 0.0, phi - 0.5 * q * side)
    springs, dampers = np.abs(side), np.abs(side)
    if backlash != "thesis":
        push, damp = side * (k1 * x + k3 * x**3), side * d * w
        springs = dampers = np.where(push + damp > 0.0, springs, 0.0)
        if backlash == "elasto":
            springs, dampers = np.where(damp > push, 2.0, 1.0) * springs, np.where(damp > push, 0.0, dampers)
    return springs * x, springs * x**3, dampers * w
