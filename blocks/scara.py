"""A planar robot with two rotary joints, its inverse dynamic model, and the controller built on that model."""

from __future__ import annotations

from typing import Any

from blocksim.block import Block, inport, memory, outport, param, period, state, static
from blocksim.vocabulary import cos, sign, sin, tanh

from .friction import slip_direction
from .joints import dry_column

__all__ = ["ComputedTorque", "ScaraRobot"]


def lever(q2, LMX2, LMY2):
    """h = LMX2 C2 - LMY2 S2: M11 = ZZR1 + ZZ2 + 2 h, M12 = ZZ2 + h, M22 = ZZ2, and det M = ZZR1 ZZ2 - h^2."""
    return LMX2 * cos(q2) - LMY2 * sin(q2)


def drive(tau, q, qd, Fv1, LMX2, LMY2, Fv2):
    """The torques less centrifugal, Coriolis and viscous ones: what is left for dry friction and for acceleration."""
    c = LMX2 * sin(q[1]) + LMY2 * cos(q[1])
    return tau[0] - Fv1 * qd[0] + c * qd[1] * (qd[1] + 2.0 * qd[0]), tau[1] - Fv2 * qd[1] - c * qd[0] * qd[0]


def solve(b1, b2, q2, ZZR1, ZZ2, LMX2, LMY2):
    """M(q)^-1 b, written out."""
    h = lever(q2, LMX2, LMY2)
    det = ZZR1 * ZZ2 - h * h
    return (ZZ2 * b1 - (ZZ2 + h) * b2) / det, ((ZZR1 + ZZ2 + 2.0 * h) * b2 - (ZZ2 + h) * b1) / det


def accelerate(b1, b2, mode1, mode2, q2, ZZR1, Fs1, ZZ2, LMX2, LMY2, Fs2):
    """The accelerations in these modes of the two contacts: a joint that sticks has none."""
    h = lever(q2, LMX2, LMY2)
    if mode1 != 0.0 and mode2 != 0.0:
        return solve(b1 - Fs1 * mode1, b2 - Fs2 * mode2, q2, ZZR1, ZZ2, LMX2, LMY2)
    if mode1 != 0.0:
        return (b1 - Fs1 * mode1) / (ZZR1 + ZZ2 + 2.0 * h), 0.0
    return 0.0, (b2 - Fs2 * mode2) / ZZ2 if mode2 != 0.0 else 0.0


def holding(b1, b2, mode1, mode2, q2, ZZR1, Fs1, ZZ2, LMX2, LMY2, Fs2):
    """What dry friction has to hold at either joint while that one sticks and the other is in its mode."""
    h = lever(q2, LMX2, LMY2)
    first = b1 - (ZZ2 + h) * ((b2 - Fs2 * mode2) / ZZ2 if mode2 != 0.0 else 0.0)
    second = b2 - (ZZ2 + h) * ((b1 - Fs1 * mode1) / (ZZR1 + ZZ2 + 2.0 * h) if mode1 != 0.0 else 0.0)
    return first, second


def contact_modes(b1, b2, qd1, qd2, q2, ZZR1, Fs1, ZZ2, LMX2, LMY2, Fs2):
    """The modes of both contacts: the sign of a joint's speed, and for joints at rest the only ones that friction allows.

    With both at rest they are those of the acceleration that minimises a' M a / 2 - b' a + Fs1 |a1| + Fs2 |a2|, which is convex.
    """
    rest = holding(b1, b2, sign(qd1), sign(qd2), q2, ZZR1, Fs1, ZZ2, LMX2, LMY2, Fs2)
    if qd1 != 0.0:
        return sign(qd1), sign(qd2) if qd2 != 0.0 else slip_direction(rest[1], Fs2)
    if qd2 != 0.0:
        return slip_direction(rest[0], Fs1), sign(qd2)
    one, two = slip_direction(b1, Fs1), slip_direction(b2, Fs2)
    if one == 0.0 and two == 0.0:
        return 0.0, 0.0
    dragged = holding(b1, b2, one, two, q2, ZZR1, Fs1, ZZ2, LMX2, LMY2, Fs2)
    if one != 0.0 and slip_direction(dragged[1], Fs2) == 0.0:
        return one, 0.0
    if two != 0.0 and slip_direction(dragged[0], Fs1) == 0.0:
        return 0.0, two
    first, second, best = one, two, -1e300
    for k in range(4):
        s1, s2 = 1.0 - 2.0 * (k % 2), 1.0 - 2.0 * (k // 2)
        a = solve(b1 - Fs1 * s1, b2 - Fs2 * s2, q2, ZZR1, ZZ2, LMX2, LMY2)
        least = min(s1 * a[0], s2 * a[1])
        if least > best:
            first, second, best = s1, s2, least
    return first, second


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

    @staticmethod
    def output(q, qd, tau, ZZR1, Fv1, Fs1, ZZ2, LMX2, LMY2, Fv2, Fs2, beta):
        b1, b2 = drive(tau, q, qd, Fv1, LMX2, LMY2, Fv2)
        a1, a2 = solve(b1 - Fs1 * tanh(beta * qd[0]), b2 - Fs2 * tanh(beta * qd[1]), q[1], ZZR1, ZZ2, LMX2, LMY2)
        return a1, a2

    @staticmethod
    def derivative(q, qd, tau, ZZR1, Fv1, Fs1, ZZ2, LMX2, LMY2, Fv2, Fs2, beta):
        b1, b2 = drive(tau, q, qd, Fv1, LMX2, LMY2, Fv2)
        a1, a2 = solve(b1 - Fs1 * tanh(beta * qd[0]), b2 - Fs2 * tanh(beta * qd[1]), q[1], ZZR1, ZZ2, LMX2, LMY2)
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
        b1, b2 = drive(tau, q, qd, Fv1, LMX2, LMY2, Fv2)
        a1, a2 = accelerate(b1, b2, mode1, mode2, q[1], ZZR1, Fs1, ZZ2, LMX2, LMY2, Fs2)
        return a1, a2

    @staticmethod
    def derivative(q, qd, tau, mode1, mode2, ZZR1, Fv1, Fs1, ZZ2, LMX2, LMY2, Fv2, Fs2):
        b1, b2 = drive(tau, q, qd, Fv1, LMX2, LMY2, Fv2)
        a1, a2 = accelerate(b1, b2, mode1, mode2, q[1], ZZR1, Fs1, ZZ2, LMX2, LMY2, Fs2)
        return qd[0], qd[1], a1, a2
