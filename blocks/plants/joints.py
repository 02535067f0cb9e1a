"""Single joints: a motor with friction against gravity, and one that drives a carriage along a rail."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from blocksim.contract.block import Block, inport, memory, outport, param, state, static
from blocksim.contract.vocabulary import cos, sign, tanh

from .friction import slip_direction
from .unseen import unseen_friction

__all__ = ["AsymmetricPositioner", "ElectroMechanicalPositioner", "GravityJoint"]


def gravity_load(torque, q, Ms, N, theta0, g):
    """What is left of the torque once gravity has taken its share."""
    return torque - Ms * g * cos(q / N + theta0)


def stiction_margin(mode, qd, load, Fc):
    """Positive until a dry contact that slips comes to rest, or one that rests breaks away."""
    if mode != 0.0:
        return mode * qd
    return Fc - abs(load) if qd == 0.0 else -abs(qd)  # a joint that starts with a speed slips


def stiction_mode(mode, qd, load, Fc):
    """The mode once the margin is used up: 1 slips forward, -1 slips backward, 0 sticks."""
    return sign(qd) if mode == 0.0 and qd != 0.0 else slip_direction(load, Fc)


def dry_column(qd: Any, friction: str, beta: float) -> Any:
    """What multiplies the Coulomb friction in an inverse dynamic model."""
    import numpy as np

    return np.sign(qd) if friction == "sign" else np.tanh(beta * np.asarray(qd))


def cosine(angle: Any) -> Any:
    """cos(x) = (1 - tan(x/2)^2) / (1 + tan(x/2)^2): numpy has its cosines from libm, one by one, and makes tangents by eights."""
    import numpy as np

    squares = np.tan(0.5 * angle)
    squares *= squares
    return (1.0 - squares) / (1.0 + squares)


class GravityJoint(Block):
    """J qdd = tau - Fv qd - Fc sign(qd) - Ms g cos(q/N + theta0): one joint with friction under gravity (Tout 2022, eq. 15).

    All on the motor's side: q turns N times as far as the handle, whose first moment divided by N is Ms, and theta0 is the
    handle's angle above the horizontal at q = 0. The paper prints no values; the defaults are plausible ones for its 120 W
    motor with a cable drive of ratio 15 and a handle.

    `friction: tanh` smooths the sign to tanh(beta qd): a joint at rest creeps, and steps must stay below about 2 J / (Fc beta).
    `friction: sign` is the true law. The joint sticks, qd and qdd exactly 0, while |tau - Ms g cos(q/N + theta0)| is at most
    Fc; the instants of stopping and breaking away are located. `offset` is a torque lost at the motor: where it is not
    0, a parameter of the inverse model too.
    """

    family = "robots"
    icon = "0.15,1 0.35,1; 0.25,1 0.75,0.2; 0.68,0.3 0.82,0.3 0.82,0.02 0.68,0.02 0.68,0.3"
    colour = "plant"
    example = """
format: 1
simulate: {stop: 4.0, solver: dopri5, rtol: 1e-8}
blocks:
  torque: {type: Sine, amplitude: 0.025, frequency: 0.5, bias: 0.13}
  joint:  {type: GravityJoint, friction: sign, in: torque}
"""
    inverse_parameters = ("J", "Fv", "Fc", "Ms")
    weight_parameters = ("offset",)  # of its inverse model too, where it is not 0

    J: float = param(1.9e-4, "inertia of motor and handle", "kg m^2", above=0)
    Fv: float = param(2e-4, "viscous friction", "N m s/rad", min=0)
    Fc: float = param(0.02, "Coulomb friction", "N m", min=0)
    Ms: float = param(0.0133, "first moment of the handle, seen by the motor", "kg m")
    N: float = param(15.0, "reduction ratio, motor angle per handle angle", above=0)
    theta0: float = param(0.0, "angle of the handle above the horizontal at q = 0", "rad")
    g: float = param(9.81, "gravitational acceleration", "m/s^2", min=0)
    offset: float = param(0.0, "torque that is always lost, e.g. an offset of the amplifier", "N m")
    beta: float = param(10.0, "steepness of tanh(beta qd)", "s/rad", above=0)
    friction: str = static("tanh", "law of the dry friction", choices=("tanh", "sign"))
    tau = inport("torque of the motor", "N m")
    q: float = state(0.0, "angle of the motor", "rad", port=True)
    qd: float = state(0.0, "speed of the motor", "rad/s", port=True)
    qdd = outport("acceleration of the motor", "rad/s^2")

    def figure(self) -> dict[str, Any]:
        return {"kind": "link", "signals": ("q",), "scale": 1.0 / self.settings["N"], "offset": self.settings["theta0"]}

    def unseen(self, names: Sequence[str], signals: Mapping[str, Any]) -> str:
        return unseen_friction(self.settings, names, signals["qd"])

    @staticmethod
    def output(q, qd, tau, J, Fv, Fc, Ms, N, theta0, g, offset, beta):
        return (gravity_load(tau - offset, q, Ms, N, theta0, g) - Fv * qd - Fc * tanh(beta * qd)) / J

    @staticmethod
    def derivative(q, qd, tau, J, Fv, Fc, Ms, N, theta0, g, offset, beta):
        return qd, (gravity_load(tau - offset, q, Ms, N, theta0, g) - Fv * qd - Fc * tanh(beta * qd)) / J

    def variant(self, inputs: int = 1) -> type[Block]:
        return GravityJoint if self.settings["friction"] == "tanh" else StickingGravityJoint

    @staticmethod
    def regressor(q, qd, qdd, N, theta0, g, friction, beta, offset=0.0):
        """Rows of the inverse dynamic model: regressor @ (J, Fv, Fc, Ms) = tau, shape (samples, 4).

        An offset that is not 0 has a column of its own, of ones. While the joint sticks, dry friction is whatever holds it, and
        the rows are not valid.
        """
        import numpy as np

        columns = [qdd, qd, dry_column(qd, friction, beta), g * cosine(np.asarray(q) / N + theta0)]
        return np.stack([*columns, np.ones_like(columns[-1])] if offset else columns).T

    @staticmethod
    def effort(tau, offset):
        """What the rows times the parameters give: the torque less its offset."""
        return tau - offset


class StickingGravityJoint(GravityJoint):
    """J qdd = tau - Fv qd - Fc mode - Ms g cos(q/N + theta0) while it slips, qdd = 0 while it sticks."""

    mode: float = memory(0.0, "1 slips forward, -1 slips backward, 0 sticks")

    @staticmethod
    def output(q, qd, tau, mode, J, Fv, Fc, Ms, N, theta0, g, offset):
        return (gravity_load(tau - offset, q, Ms, N, theta0, g) - Fv * qd - Fc * mode) / J if mode != 0.0 else 0.0

    @staticmethod
    def derivative(q, qd, tau, mode, J, Fv, Fc, Ms, N, theta0, g, offset):
        return qd, (gravity_load(tau - offset, q, Ms, N, theta0, g) - Fv * qd - Fc * mode) / J if mode != 0.0 else 0.0

    @staticmethod
    def equations(q, qd, tau, J, Fv, Fc, Ms, N, theta0, g, offset):
        return qd, (gravity_load(tau - offset, q, Ms, N, theta0, g) - Fv * qd - Fc * sign(qd)) / J

    @staticmethod
    def guard_contact(q, qd, tau, mode, Fc, Ms, N, theta0, g, offset):
        return stiction_margin(mode, qd, gravity_load(tau - offset, q, Ms, N, theta0, g), Fc)

    @staticmethod
    def reset_contact(q, qd, tau, mode, Fc, Ms, N, theta0, g, offset):
        load = gravity_load(tau - offset, q, Ms, N, theta0, g)
        return {"qd": qd if mode == 0.0 else 0.0, "mode": stiction_mode(mode, qd, load, Fc)}


class ElectroMechanicalPositioner(Block):
    """M qdd = gtau v - Fv qd - Fc sign(qd) - offset: a carriage on a ball screw, a robot's prismatic joint (EMPS).

    Janot, Gautier, Brunot, "Data Set and Reference Models of EMPS" (2019); the defaults are the values published there. v is
    the input of the current loop, gtau v the force it makes, offset what is left of gravity, misalignment and the amplifier.

    `friction: tanh` smooths the sign to tanh(beta qd); `friction: sign` is the true law. The carriage sticks, qd and qdd
    exactly 0, while |gtau v - offset| is at most Fc; the instants of stopping and breaking away are located.
    """

    family = "robots"
    icon = "0,0 1,0; 0.3,0.1 0.75,0.1 0.75,0.75 0.3,0.75 0.3,0.1; 0,0.42 0.3,0.42"
    colour = "plant"
    example = """
format: 1
simulate: {stop: 4.0, solver: rk4, step: 1e-3}
blocks:
  ref:  {type: TrapezoidTrajectory, points: [0.0, 0.2, 0.0], speed: 0.2, acceleration: 1.0}
  loop: {type: CascadePPI, kp: 160.18, kv: 243.45, Ts: 1e-3, in: {q_ref: ref.q, q: emps.q, qd: emps.qd}}
  emps: {type: ElectroMechanicalPositioner, friction: sign, in: loop}
"""
    inverse_parameters: tuple[str, ...] = ("M", "Fv", "Fc", "offset")
    gained_unit = "N"  # of gtau v, the effort of its inverse model

    M: float = param(95.1089, "inertia of the carriage and, through the screw, of the motor", "kg", above=0)
    Fv: float = param(203.5034, "viscous friction", "N s/m", min=0)
    Fc: float = param(20.3935, "Coulomb friction", "N", min=0)
    offset: float = param(-3.1648, "constant force against the motion", "N")
    gtau: float = param(35.15065188, "gain of the drive chain", "N/V")
    beta: float = param(1000.0, "steepness of tanh(beta qd)", "s/m", above=0)
    friction: str = static("tanh", "law of the dry friction", choices=("tanh", "sign"))
    v = inport("input of the current loop", "V")
    q: float = state(0.0, "position", "m", port=True)
    qd: float = state(0.0, "speed", "m/s", port=True)
    qdd = outport("acceleration", "m/s^2")

    def figure(self) -> dict[str, Any]:
        return {"kind": "slide", "signals": ("q",)}

    def unseen(self, names: Sequence[str], signals: Mapping[str, Any]) -> str:
        return unseen_friction(self.settings, names, signals["qd"], words=("the carriage", "m/s"))

    @staticmethod
    def output(qd, v, M, Fv, Fc, offset, gtau, beta):
        return (gtau * v - offset - Fv * qd - Fc * tanh(beta * qd)) / M

    @staticmethod
    def derivative(qd, v, M, Fv, Fc, offset, gtau, beta):
        return qd, (gtau * v - offset - Fv * qd - Fc * tanh(beta * qd)) / M

    def label(self) -> list[str]:
        return ["EMPS", *super().label()[1:]]

    def variant(self, inputs: int = 1) -> type[Block]:
        return ElectroMechanicalPositioner if self.settings["friction"] == "tanh" else StickingPositioner

    @staticmethod
    def regressor(q, qd, qdd, friction, beta):
        """Rows of the inverse dynamic model: regressor @ (M, Fv, Fc, offset) = gtau v, the force in N, shape (samples, 4).

        While the carriage sticks, dry friction is whatever holds it, and the rows are not valid.
        """
        import numpy as np

        return np.stack([qdd, qd, dry_column(qd, friction, beta), np.ones(np.shape(qd))]).T

    @staticmethod
    def effort(v, gtau):
        """The force the drive makes."""
        return gtau * v


class StickingPositioner(ElectroMechanicalPositioner):
    """M qdd = gtau v - Fv qd - Fc mode - offset while it slips, qdd = 0 while it sticks."""

    mode: float = memory(0.0, "1 slips forward, -1 slips backward, 0 sticks")

    @staticmethod
    def output(qd, v, mode, M, Fv, Fc, offset, gtau):
        return (gtau * v - offset - Fv * qd - Fc * mode) / M if mode != 0.0 else 0.0

    @staticmethod
    def derivative(qd, v, mode, M, Fv, Fc, offset, gtau):
        return qd, (gtau * v - offset - Fv * qd - Fc * mode) / M if mode != 0.0 else 0.0

    @staticmethod
    def equations(qd, v, M, Fv, Fc, offset, gtau):
        return qd, (gtau * v - offset - Fv * qd - Fc * sign(qd)) / M

    @staticmethod
    def guard_contact(qd, v, mode, Fc, offset, gtau):
        return stiction_margin(mode, qd, gtau * v - offset, Fc)

    @staticmethod
    def reset_contact(qd, v, mode, Fc, offset, gtau):
        return {"qd": qd if mode == 0.0 else 0.0, "mode": stiction_mode(mode, qd, gtau * v - offset, Fc)}


class AsymmetricPositioner(ElectroMechanicalPositioner):
    """M qdd = gtau v - Fv qd - Fa |qd| - Fc sign(qd) - offset: an EMPS whose viscous friction depends on the direction.

    The viscous friction is Fv + Fa forward and Fv - Fa backward. Dry friction that depends on the direction needs nothing new:
    Fc + offset forward and Fc - offset backward. The defaults are least-squares estimates from the published record, with the
    rows of `emps/least_squares`.
    """

    icon = "0,0 1,0; 0.3,0.1 0.75,0.1 0.75,0.75 0.3,0.75 0.3,0.1; 0,0.42 0.3,0.42"
    example = """
format: 1
simulate: {stop: 4.0, solver: rk4, step: 1e-3}
blocks:
  ref:  {type: TrapezoidTrajectory, points: [0.0, 0.2, 0.0], speed: 0.2, acceleration: 1.0}
  loop: {type: CascadePPI, kp: 160.18, kv: 243.45, Ts: 1e-3, in: {q_ref: ref.q, q: emps.q, qd: emps.qd}}
  emps: {type: AsymmetricPositioner, friction: sign, in: loop}
"""
    inverse_parameters = ("M", "Fv", "Fc", "offset", "Fa")

    M: float = param(95.154, "inertia of the carriage and, through the screw, of the motor", "kg", above=0)
    Fv: float = param(203.565, "viscous friction, mean of both directions", "N s/m", min=0)
    Fc: float = param(20.386, "Coulomb friction, mean of both directions", "N", min=0)
    offset: float = param(-0.242, "constant force against the motion", "N")
    Fa: float = param(-36.859, "half of what viscous friction is larger by in forward motion", "N s/m")

    @staticmethod
    def output(qd, v, M, Fv, Fa, Fc, offset, gtau, beta):
        return (gtau * v - offset - Fv * qd - Fa * abs(qd) - Fc * tanh(beta * qd)) / M

    @staticmethod
    def derivative(qd, v, M, Fv, Fa, Fc, offset, gtau, beta):
        return qd, (gtau * v - offset - Fv * qd - Fa * abs(qd) - Fc * tanh(beta * qd)) / M

    def variant(self, inputs: int = 1) -> type[Block]:
        return AsymmetricPositioner if self.settings["friction"] == "tanh" else StickingAsymmetricPositioner

    @staticmethod
    def check(Fv, Fa):
        return None if abs(Fa) <= Fv else f"Fa: at most Fv = {Fv:g} either way is wanted, else friction would push; found {Fa:g}."

    @staticmethod
    def regressor(q, qd, qdd, friction, beta):
        """Rows of the inverse dynamic model: regressor @ (M, Fv, Fc, offset, Fa) = gtau v, the force in N, shape (samples, 5)."""
        import numpy as np

        return np.stack([qdd, qd, dry_column(qd, friction, beta), np.ones(np.shape(qd)), np.abs(qd)]).T


class StickingAsymmetricPositioner(AsymmetricPositioner, StickingPositioner):
    """M qdd = gtau v - Fv qd - Fa |qd| - Fc mode - offset while it slips, qdd = 0 while it sticks."""

    @staticmethod
    def output(qd, v, mode, M, Fv, Fa, Fc, offset, gtau):
        return (gtau * v - offset - Fv * qd - Fa * abs(qd) - Fc * mode) / M if mode != 0.0 else 0.0

    @staticmethod
    def derivative(qd, v, mode, M, Fv, Fa, Fc, offset, gtau):
        return qd, (gtau * v - offset - Fv * qd - Fa * abs(qd) - Fc * mode) / M if mode != 0.0 else 0.0

    @staticmethod
    def equations(qd, v, M, Fv, Fa, Fc, offset, gtau):
        return qd, (gtau * v - offset - Fv * qd - Fa * abs(qd) - Fc * sign(qd)) / M
