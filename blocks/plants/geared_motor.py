"""What robots of two and three masses share: a motor with friction, a gear with a nonlinear spring, hysteresis and backlash."""

from __future__ import annotations

from typing import Any

from blocksim.contract.block import Block, fixed, inport, memory, param, state, static
from blocksim.contract.decision import decided_class
from blocksim.contract.vocabulary import cos, sign, tanh
from blocksim.errors import RecordError

from ..basic.linear import elements
from .friction import GAPLESS, slip_direction, stribeck_level


class GearedMotor(Block):
    """Jm phi_m'' = tau - tau_f - r tau_s: a motor with friction that drives something through a flexible gear of ratio r.

    A robot adds what is behind the gear. It has four classes: smooth, with a gap that jumps, with a motor that sticks, with both.
    """

    abstract = True
    family = "robots"
    colour = "plant"

    Jm: float = param(1.21e-2, "inertia of the motor", "kg m^2", above=0)
    Fv: float = param(1.30e-2, "viscous friction at the motor", "N m s/rad", min=0)
    Fc: float = param(6.44e-1, "Coulomb friction at the motor", "N m", min=0)
    k1: float = param(1.46e6, "stiffness of the gear", "N m/rad", min=0)
    k3: float = param(3.72e10, "cubic stiffness of the gear", "N m/rad^3", min=0)
    d: float = param(2.63e3, "damping of the gear", "N m s/rad", min=0)
    alpha: float = param(0.0, "hysteresis: 1/alpha is the wind-up over which it saturates", "1/rad", min=0)
    A: float = param(0.0, "hysteresis: stiffness it adds to small motion", "N m/rad", min=0)
    q: float = param(0.0, "whole width of the backlash", "rad", min=0)
    r: float = param(4.46e-3, "gear ratio, angle behind the gear per motor angle")
    beta: float = param(1.0, "steepness of tanh(beta w_m)", "s/rad", above=0)
    Fs: float = param(0.0, "break-away friction of stribeck; below Fc it counts as Fc", "N m", min=0)
    vs: float = param(1.0, "motor speed at which most of the fall from Fs to Fc has happened", "rad/s", above=0)
    offset: float = param(0.0, "torque that is always lost at the motor, e.g. an offset of its amplifier", "N m")
    Ms: float = param(0.0, "first moment of the arm about its axis, for gravity", "kg m")
    theta0: float = param(0.0, "angle of the arm above the horizontal at phi_a = 0", "rad")
    g: float = param(9.81, "gravitational acceleration", "m/s^2", min=0)
    friction: str = static("tanh", "law of the dry friction", choices=("tanh", "sign", "stribeck"))
    backlash: str = static("thesis", "law of the contact around the gap", choices=("thesis", "elasto", "elasto2"))
    tau = inport("torque of the motor", "N m")
    load = inport("torque that holds the arm back; observers take it for 0", "N m", optional=True)
    loaded = fixed(False, "whether anything acts beside the motor's torque: an offset, gravity or a load")
    phi_m: float = state(0.0, "angle of the motor", "rad", port=True)
    w_m: float = state(0.0, "speed of the motor", "rad/s", port=True)
    mode: float = memory(0.0, "motor with dry friction: 1 slips forward, -1 slips backward, 0 sticks")
    side: float = memory(0.0, "gap: 1 or -1 where it is closed, 0 open")

    def pick(
        self, inputs: int, smooth: type[Block], jumping: type[Block], sticking: type[Block], both: type[Block]
    ) -> type[Block]:
        """The class that these settings and this many inputs need."""
        sticks = self.settings["friction"] != "tanh"
        jumps = self.settings["backlash"] != "elasto" and any(q > GAPLESS for q in elements(self.settings["q"]))
        kind = (smooth, jumping, sticking, both)[2 * sticks + jumps]
        loads = inputs > 1 or any(value for name in ("offset", "Ms") for value in elements(self.settings[name]))
        return decided_class(kind, {"loaded": True}) if loads else kind


class StickingMotor(GearedMotor):
    """A motor that stops where its speed passes zero."""

    abstract = True

    @staticmethod
    def guard_stop(w_m, mode):
        return mode * w_m if mode != 0.0 else 1.0


def drive_torque(tau, offset, loaded):
    """What is left of the motor's torque once its offset is lost."""
    return tau - offset if loaded else tau


def arm_torque(tau, load, phi_a, Ms, theta0, g, loaded):
    """What is left of a torque on the arm once the load and gravity have taken their share."""
    return tau - load - Ms * g * cos(phi_a + theta0) if loaded else tau


def arm_acceleration(tau, load, inertia, inertia_rate, phi_a, w_a, Ja, Ms, theta0, g, loaded):
    """d/dt ((Ja + inertia) w_a) = what is left of a torque on the arm, to whose inertia its pose may add."""
    if loaded:
        return (arm_torque(tau, load, phi_a, Ms, theta0, g, loaded) - inertia_rate * w_a) / (Ja + inertia)
    return tau / Ja


def refuse_gravity(Ms: float) -> None:
    """The rows of an inverse model have no place for gravity."""
    if Ms:
        raise RecordError(f"Ms = {Ms:g}: the regressor of a flexible axis knows no gravity; use OutputError, CLOE, RPEM or EKF.")


def dry_friction(w_m, direction, Fc, Fs, vs, beta, smooth, stribeck):
    """The dry part of tau_f, of a motor that slips in a direction; smooth takes tanh(beta w_m) for it."""
    level = stribeck_level(w_m, Fc, Fs, vs) if stribeck else Fc
    return level * (tanh(beta * w_m) if smooth else direction)


def stop_mode(load, Fc, Fs, vs, stribeck):
    """The mode of a motor that has come to rest under a load."""
    return slip_direction(load, stribeck_level(0.0, Fc, Fs, vs) if stribeck else Fc)


def slip_margin(load, w_m, Fc, Fs, vs, stribeck):
    """Positive while a motor that sticks holds its load; one that starts with a speed slips."""
    level = stribeck_level(0.0, Fc, Fs, vs) if stribeck else Fc
    return level - abs(load) if w_m == 0.0 else -1.0


def slip_mode(load, w_m):
    """The direction in which a motor begins to slip."""
    return sign(load) if w_m == 0.0 else sign(w_m)


def next_side(phi, side):
    """The side of the gap after it has closed, or opened."""
    return sign(phi) if side == 0.0 else 0.0


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


def model_rows(rows: Any, none: Any) -> Any:
    """The rows of an inverse dynamic model, each a list of columns, as one array; none is a column of zeros."""
    import numpy as np

    return np.stack([np.stack([column + none for column in row], axis=-1) for row in rows], axis=-2)
