"""A planar robot with two rotary joints, its inverse dynamic model, and the controller built on that model."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from blocksim.contract.block import Block, inport, memory, model, outport, param, period, state, static
from blocksim.contract.times import exact
from blocksim.contract.vocabulary import cos, sign, sin, tanh

from ..basic.linear import elements
from .friction import slip_direction
from .joints import dry_column, stiction_margin
from .unseen import unseen_at_joints

if TYPE_CHECKING:
    from blocksim.contract.plant import Plant

__all__ = ["ComputedTorque", "ScaraRobot"]


def scara_lever(q2, LMX2, LMY2):
    """h = LMX2 C2 - LMY2 S2: M11 = ZZR1 + ZZ2 + 2 h, M12 = ZZ2 + h, M22 = ZZ2, and det M = ZZR1 ZZ2 - h^2."""
    return LMX2 * cos(q2) - LMY2 * sin(q2)


def scara_drive(torque, q, qd, Fv1, LMX2, LMY2, Fv2):
    """The torques less centrifugal, Coriolis and viscous ones: what is left for dry friction and for acceleration."""
    c = LMX2 * sin(q[1]) + LMY2 * cos(q[1])
    return torque[0] - Fv1 * qd[0] + c * qd[1] * (qd[1] + 2.0 * qd[0]), torque[1] - Fv2 * qd[1] - c * qd[0] * qd[0]


def scara_solve(b1, b2, q2, ZZR1, ZZ2, LMX2, LMY2):
    """M(q)^-1 b, written out."""
    h = scara_lever(q2, LMX2, LMY2)
    det = ZZR1 * ZZ2 - h * h
    return (ZZ2 * b1 - (ZZ2 + h) * b2) / det, ((ZZR1 + ZZ2 + 2.0 * h) * b2 - (ZZ2 + h) * b1) / det


def scara_accelerate(b1, b2, mode1, mode2, q2, ZZR1, Fs1, ZZ2, LMX2, LMY2, Fs2):
    """The accelerations in these modes of the two contacts: a joint that sticks has none."""
    h = scara_lever(q2, LMX2, LMY2)
    if mode1 != 0.0 and mode2 != 0.0:
        return scara_solve(b1 - Fs1 * mode1, b2 - Fs2 * mode2, q2, ZZR1, ZZ2, LMX2, LMY2)
    if mode1 != 0.0:
        return (b1 - Fs1 * mode1) / (ZZR1 + ZZ2 + 2.0 * h), 0.0
    return 0.0, (b2 - Fs2 * mode2) / ZZ2 if mode2 != 0.0 else 0.0


def scara_holding(b1, b2, mode1, mode2, q2, ZZR1, Fs1, ZZ2, LMX2, LMY2, Fs2):
    """What dry friction has to hold at either joint while that one sticks and the other is in its mode."""
    h = scara_lever(q2, LMX2, LMY2)
    first = b1 - (ZZ2 + h) * ((b2 - Fs2 * mode2) / ZZ2 if mode2 != 0.0 else 0.0)
    second = b2 - (ZZ2 + h) * ((b1 - Fs1 * mode1) / (ZZR1 + ZZ2 + 2.0 * h) if mode1 != 0.0 else 0.0)
    return first, second


def scara_modes(b1, b2, qd1, qd2, q2, ZZR1, Fs1, ZZ2, LMX2, LMY2, Fs2):
    """The modes of both contacts: the sign of a joint's speed, and for joints at rest the only ones that friction allows.

    With both at rest they are those of the acceleration that minimises a' M a / 2 - b' a + Fs1 |a1| + Fs2 |a2|, which is convex.
    """
    rest = scara_holding(b1, b2, sign(qd1), sign(qd2), q2, ZZR1, Fs1, ZZ2, LMX2, LMY2, Fs2)
    if qd1 != 0.0:
        return sign(qd1), sign(qd2) if qd2 != 0.0 else slip_direction(rest[1], Fs2)
    if qd2 != 0.0:
        return slip_direction(rest[0], Fs1), sign(qd2)
    one, two = slip_direction(b1, Fs1), slip_direction(b2, Fs2)
    if one == 0.0 and two == 0.0:
        return 0.0, 0.0
    dragged = scara_holding(b1, b2, one, two, q2, ZZR1, Fs1, ZZ2, LMX2, LMY2, Fs2)
    if one != 0.0 and slip_direction(dragged[1], Fs2) == 0.0:
        return one, 0.0
    if two != 0.0 and slip_direction(dragged[0], Fs1) == 0.0:
        return 0.0, two
    first, second, best = one, two, -1e300
    for k in range(4):
        s1, s2 = 1.0 - 2.0 * (k % 2), 1.0 - 2.0 * (k // 2)
        a = scara_solve(b1 - Fs1 * s1, b2 - Fs2 * s2, q2, ZZR1, ZZ2, LMX2, LMY2)
        least = min(s1 * a[0], s2 * a[1])
        if least > best:
            first, second, best = s1, s2, least
    return first, second


def two_links(q: Any) -> Any:
    """Base, elbow and tip of two links in the plane, for angles with a row per instant: the first 1 long, the second 0.8."""
    import numpy as np

    first, both = q[:, 0], q[:, 0] + q[:, 1]
    elbow = np.stack([np.cos(first), np.sin(first), 0 * first], axis=1)
    tip = elbow + 0.8 * np.stack([np.cos(both), np.sin(both), 0 * both], axis=1)
    return np.stack([0 * elbow, elbow, tip], axis=1)


class ScaraRobot(Block):
    """M(q) qdd = tau - N(q, qd) - Fv qd - Fs sign(qd): two rotary joints in a horizontal plane (Gautier 2001, section 4).

    With C2 = cos q2, S2 = sin q2, h = LMX2 C2 - LMY2 S2 and c = LMX2 S2 + LMY2 C2:

        M = [[ZZR1 + ZZ2 + 2 h, ZZ2 + h], [ZZ2 + h, ZZ2]],   N = [-c qd2 (qd2 + 2 qd1), c qd1^2]

    L, the length of the first link, appears only within ZZR1 = ZZ1 + M2 L^2 and in LMX2, LMY2, the first moments of link 2
    times L; the paper prints no L and none is needed. The defaults are the a priori values of its Table 1. It is driven
    directly, without gears and without gravity.

    `friction: tanh` smooths the sign to tanh(beta qd); `friction: sign` is the true law. Each joint sticks on its own, its
    speed and acceleration exactly 0, while what it has to hold, the pull of the other joint included, is at most Fs1 or Fs2.
    """

    family = "robots"
    icon = "0.1,0 0.4,0; 0.25,0 0.25,0.35 0.6,0.95 1,0.75"
    colour = "plant"
    example = """
format: 1
simulate: {stop: 4.0, solver: dopri5, rtol: 1e-8}
blocks:
  ref:   {type: PolynomialTrajectory, times: [0.0, 1.0, 3.0], points: [[0.0, 1.0, 0.0], [0.0, -2.0, 0.0]]}
  error: {type: Sum, signs: "+-", in: [ref.q, robot.q]}
  pd:    {type: PD, kp: [400.0, 40.0], kd: [80.0, 4.0], in: {e: error, qd_hat: robot.qd}}
  robot: {type: ScaraRobot, friction: sign, in: pd}
"""
    inverse_parameters = ("ZZR1", "Fv1", "Fs1", "ZZ2", "LMX2", "LMY2", "Fv2", "Fs2")

    ZZR1: float = param(3.42, "inertia of link 1 with the mass of link 2 at its end, ZZ1 + M2 L^2", "kg m^2", above=0)
    Fv1: float = param(0.07, "viscous friction of joint 1", "N m s/rad", min=0)
    Fs1: float = param(0.58, "Coulomb friction of joint 1", "N m", min=0)
    ZZ2: float = param(0.064, "inertia of link 2 about its joint", "kg m^2", above=0)
    LMX2: float = param(0.131, "first moment of link 2 along it, times L", "kg m^2")
    LMY2: float = param(0.0, "first moment of link 2 across it, times L", "kg m^2")
    Fv2: float = param(0.015, "viscous friction of joint 2", "N m s/rad", min=0)
    Fs2: float = param(0.156, "Coulomb friction of joint 2", "N m", min=0)
    beta: float = param(100.0, "steepness of tanh(beta qd)", "s/rad", above=0)
    friction: str = static("tanh", "law of the dry friction", choices=("tanh", "sign"))
    tau = inport("torques of the motors", "N m", size=2)
    q: Any = state(0.0, "joint angles", "rad", size=2, port=True)
    qd: Any = state(0.0, "joint speeds", "rad/s", size=2, port=True)
    qdd = outport("joint accelerations", "rad/s^2", size=2)

    def figure(self) -> dict[str, Any]:
        return {"kind": "chain", "signals": ("q",), "points": two_links, "note": "lengths are not to scale: the model has none"}

    def unseen(self, names: Sequence[str], signals: Mapping[str, Any]) -> str:
        return unseen_at_joints(self.settings, names, signals["qd"])

    @staticmethod
    def output(q, qd, tau, ZZR1, Fv1, Fs1, ZZ2, LMX2, LMY2, Fv2, Fs2, beta):
        b1, b2 = scara_drive(tau, q, qd, Fv1, LMX2, LMY2, Fv2)
        a1, a2 = scara_solve(b1 - Fs1 * tanh(beta * qd[0]), b2 - Fs2 * tanh(beta * qd[1]), q[1], ZZR1, ZZ2, LMX2, LMY2)
        return a1, a2

    @staticmethod
    def derivative(q, qd, tau, ZZR1, Fv1, Fs1, ZZ2, LMX2, LMY2, Fv2, Fs2, beta):
        b1, b2 = scara_drive(tau, q, qd, Fv1, LMX2, LMY2, Fv2)
        a1, a2 = scara_solve(b1 - Fs1 * tanh(beta * qd[0]), b2 - Fs2 * tanh(beta * qd[1]), q[1], ZZR1, ZZ2, LMX2, LMY2)
        return qd[0], qd[1], a1, a2

    @staticmethod
    def check(ZZR1, ZZ2, LMX2, LMY2):
        return inertia_problem(ZZR1, ZZ2, LMX2, LMY2)

    def variant(self, inputs: int = 1) -> type[Block]:
        return ScaraRobot if self.settings["friction"] == "tanh" else StickingScara

    @staticmethod
    def regressor(q, qd, qdd, friction, beta):
        """Rows of the inverse dynamic model as printed: regressor @ (ZZR1, ..., Fs2) = tau, shape (samples, 2, 8).

        q, qd, qdd have a column per joint. While a joint sticks, dry friction is whatever holds it: its row is not valid.
        """
        import numpy as np

        C2, S2 = np.cos(np.asarray(q)[..., 1]), np.sin(np.asarray(q)[..., 1])
        (v1, v2), (a1, a2) = np.moveaxis(np.asarray(qd), -1, 0), np.moveaxis(np.asarray(qdd), -1, 0)
        s1, s2 = np.moveaxis(dry_column(qd, friction, beta), -1, 0)
        none, both, twice, spin = 0.0 * a1, a1 + a2, 2.0 * a1 + a2, v2 * (2.0 * v1 + v2)
        first = [a1, v1, s1, both, twice * C2 - spin * S2, -twice * S2 - spin * C2, none, none]
        second = [none, none, none, both, a1 * C2 + v1**2 * S2, v1**2 * C2 - a1 * S2, v2, s2]
        return np.stack([np.stack(row, axis=-1) for row in (first, second)], axis=-2)


class StickingScara(ScaraRobot):
    """M(q) qdd = tau - N(q, qd) - Fv qd - Fs mode, qdd = 0 of every joint that sticks."""

    mode1: float = memory(0.0, "joint 1: 1 slips forward, -1 slips backward, 0 sticks")
    mode2: float = memory(0.0, "joint 2: 1 slips forward, -1 slips backward, 0 sticks")

    @staticmethod
    def output(q, qd, tau, mode1, mode2, ZZR1, Fv1, Fs1, ZZ2, LMX2, LMY2, Fv2, Fs2):
        b1, b2 = scara_drive(tau, q, qd, Fv1, LMX2, LMY2, Fv2)
        a1, a2 = scara_accelerate(b1, b2, mode1, mode2, q[1], ZZR1, Fs1, ZZ2, LMX2, LMY2, Fs2)
        return a1, a2

    @staticmethod
    def derivative(q, qd, tau, mode1, mode2, ZZR1, Fv1, Fs1, ZZ2, LMX2, LMY2, Fv2, Fs2):
        b1, b2 = scara_drive(tau, q, qd, Fv1, LMX2, LMY2, Fv2)
        a1, a2 = scara_accelerate(b1, b2, mode1, mode2, q[1], ZZR1, Fs1, ZZ2, LMX2, LMY2, Fs2)
        return qd[0], qd[1], a1, a2

    @staticmethod
    def equations(q, qd, tau, ZZR1, Fv1, Fs1, ZZ2, LMX2, LMY2, Fv2, Fs2):
        b1, b2 = scara_drive(tau, q, qd, Fv1, LMX2, LMY2, Fv2)
        a1, a2 = scara_solve(b1 - Fs1 * sign(qd[0]), b2 - Fs2 * sign(qd[1]), q[1], ZZR1, ZZ2, LMX2, LMY2)
        return qd[0], qd[1], a1, a2

    @staticmethod
    def guard_contact1(q, qd, tau, mode1, mode2, ZZR1, Fv1, Fs1, ZZ2, LMX2, LMY2, Fv2, Fs2):
        b1, b2 = scara_drive(tau, q, qd, Fv1, LMX2, LMY2, Fv2)
        hold = scara_holding(b1, b2, mode1, mode2, q[1], ZZR1, Fs1, ZZ2, LMX2, LMY2, Fs2)
        return stiction_margin(mode1, qd[0], hold[0], Fs1)

    @staticmethod
    def reset_contact1(q, qd, tau, mode1, ZZR1, Fv1, Fs1, ZZ2, LMX2, LMY2, Fv2, Fs2):
        speed = qd[0] if mode1 == 0.0 else 0.0
        b1, b2 = scara_drive(tau, q, (speed, qd[1]), Fv1, LMX2, LMY2, Fv2)
        first, second = scara_modes(b1, b2, speed, qd[1], q[1], ZZR1, Fs1, ZZ2, LMX2, LMY2, Fs2)
        return {"qd": (speed, qd[1]), "mode1": first, "mode2": second}

    @staticmethod
    def guard_contact2(q, qd, tau, mode1, mode2, ZZR1, Fv1, Fs1, ZZ2, LMX2, LMY2, Fv2, Fs2):
        b1, b2 = scara_drive(tau, q, qd, Fv1, LMX2, LMY2, Fv2)
        hold = scara_holding(b1, b2, mode1, mode2, q[1], ZZR1, Fs1, ZZ2, LMX2, LMY2, Fs2)
        return stiction_margin(mode2, qd[1], hold[1], Fs2)

    @staticmethod
    def reset_contact2(q, qd, tau, mode2, ZZR1, Fv1, Fs1, ZZ2, LMX2, LMY2, Fv2, Fs2):
        speed = qd[1] if mode2 == 0.0 else 0.0
        b1, b2 = scara_drive(tau, q, (qd[0], speed), Fv1, LMX2, LMY2, Fv2)
        first, second = scara_modes(b1, b2, qd[0], speed, q[1], ZZR1, Fs1, ZZ2, LMX2, LMY2, Fs2)
        return {"qd": (qd[0], speed), "mode1": first, "mode2": second}


def inertia_problem(ZZR1: float, ZZ2: float, LMX2: float, LMY2: float) -> str | None:
    """What is wrong with the inertias of two links."""
    square = LMX2 * LMX2 + LMY2 * LMY2  # of numbers of any size
    if ZZR1 * ZZ2 > square:
        return None
    return (
        f"ZZR1 ZZ2 must be above LMX2^2 + LMY2^2, or the inertia matrix is not positive in some posture; found ZZR1 ZZ2 = "
        f"{ZZR1 * ZZ2:g} and LMX2^2 + LMY2^2 = {square:g}."
    )


class ComputedTorque(Block):
    """tau = M(q) (qdd_ref + kd (qd_ref - qd) + kp (q_ref - q)) + N(q, qd) + Fv qd + Fs tanh(beta qd): the SCARA made linear.

    With the robot's own parameters the error of each joint obeys e'' + kd e' + kp e = 0, whatever the other joint does: kp is in
    1/s^2 and kd in 1/s; kd = 2 sqrt(kp) damps critically. `form: feedforward` computes the inverse model at the reference
    instead and adds kp (q_ref - q) + kd (qd_ref - qd), in N m/rad and N m s/rad: no measured speed in the model, so less noise,
    but gains that depend on the posture. The parameters are those of ScaraRobot; give others to see what a wrong model costs.

    `model` names a SerialRobot instead: then it is the inverse model of all its joints, with the robot's own numbers but for
    those in `parameters`, and kp and kd have a number per joint.
    """

    family = "control"
    icon = "0,0 0.2,0; 0.1,0 0.1,0.4 0.3,0.95 0.55,0.8; 0.6,0.35 0.95,0.35; 0.85,0.6 0.95,0.35 0.85,0.1"
    example = """
format: 1
simulate: {stop: 4.0, solver: rk4, step: 1e-3}
blocks:
  ref:    {type: FourierTrajectory, base_frequency: 0.25, a: [[0.5, 0.2], [0.8, -0.3]]}
  torque: {type: ComputedTorque, Ts: 1e-3, in: {q_ref: ref.q, qd_ref: ref.qd, qdd_ref: ref.qdd, q: robot.q, qd: robot.qd}}
  robot:  {type: ScaraRobot, in: torque}
"""

    model: str = model("a SerialRobot that is made linear instead, with as many joints as it has", required=False)
    parameters: Any = static(None, "numbers of that robot as they are believed to be, {M3: 2.0}", kind=dict)
    kp: Any = param([400.0, 400.0], "gain on the position of each joint", "1/s^2 or N m/rad", shape=(None,))
    kd: Any = param([40.0, 40.0], "gain on the speed of each joint", "1/s or N m s/rad", shape=(None,))
    ZZR1: float = param(3.42, "inertia of link 1 with the mass of link 2 at its end", "kg m^2", above=0)
    Fv1: float = param(0.07, "viscous friction of joint 1", "N m s/rad")
    Fs1: float = param(0.58, "Coulomb friction of joint 1", "N m")
    ZZ2: float = param(0.064, "inertia of link 2 about its joint", "kg m^2", above=0)
    LMX2: float = param(0.131, "first moment of link 2 along it, times L", "kg m^2")
    LMY2: float = param(0.0, "first moment of link 2 across it, times L", "kg m^2")
    Fv2: float = param(0.015, "viscous friction of joint 2", "N m s/rad")
    Fs2: float = param(0.156, "Coulomb friction of joint 2", "N m")
    beta: float = param(100.0, "steepness of tanh(beta qd)", "s/rad", above=0)
    form: str = static("computed", "inverse model at the measured or at the wanted motion", choices=("computed", "feedforward"))
    Ts = period(0, "sample time; 0 acts continuously", optional=True)
    q_ref = inport("wanted angles", "rad", size=2)
    qd_ref = inport("wanted speeds", "rad/s", size=2)
    qdd_ref = inport("wanted accelerations", "rad/s^2", size=2)
    q = inport("measured angles", "rad", size=2)
    qd = inport("measured speeds", "rad/s", size=2)
    tau = outport("torques", "N m", size=2)

    @staticmethod
    def output(q_ref, qd_ref, qdd_ref, q, qd, kp, kd, ZZR1, Fv1, Fs1, ZZ2, LMX2, LMY2, Fv2, Fs2, beta, form):
        pd1 = kp[0] * (q_ref[0] - q[0]) + kd[0] * (qd_ref[0] - qd[0])
        pd2 = kp[1] * (q_ref[1] - q[1]) + kd[1] * (qd_ref[1] - qd[1])
        place, v1, v2 = (q_ref[1], qd_ref[0], qd_ref[1]) if form == "feedforward" else (q[1], qd[0], qd[1])
        a1, a2 = (qdd_ref[0], qdd_ref[1]) if form == "feedforward" else (qdd_ref[0] + pd1, qdd_ref[1] + pd2)
        h, c = scara_lever(place, LMX2, LMY2), LMX2 * sin(place) + LMY2 * cos(place)
        tau1 = (ZZR1 + ZZ2 + 2.0 * h) * a1 + (ZZ2 + h) * a2 - c * v2 * (v2 + 2.0 * v1) + Fv1 * v1 + Fs1 * tanh(beta * v1)
        tau2 = (ZZ2 + h) * a1 + ZZ2 * a2 + c * v1 * v1 + Fv2 * v2 + Fs2 * tanh(beta * v2)
        return (tau1 + pd1, tau2 + pd2) if form == "feedforward" else (tau1, tau2)

    @staticmethod
    def check(model, kp, kd):
        short = [name for name, value in (("kp", kp), ("kd", kd)) if model is None and len(elements(value)) != 2]
        return f"{short[0]}: two numbers are wanted, one for each joint of the SCARA." if short else None

    def modelled(self, plants: Mapping[str, Plant]) -> type[Block]:
        if "model" not in plants:
            return type(self)
        from .inverse_dynamics import robot_torque

        return robot_torque(plants["model"], self.settings)

    def variant(self, inputs: int = 1) -> type[Block]:
        if self.bound is not None and self.settings["model"] is not None:
            return self.bound
        return SampledComputedTorque if exact(self.settings["Ts"]) else ComputedTorque


class SampledComputedTorque(ComputedTorque):
    """The same law at the sample hits, its torque held between them."""

    sampled = True
