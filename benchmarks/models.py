"""The blocks of the benchmark's diagrams, written for it: the same equations as in c/, one line each."""

from __future__ import annotations

from blocksim.block import Block, SampledBlock, inport, memory, outport, param, state
from blocksim.vocabulary import cos, floor, tanh


class Joint(Block):
    """J q'' = tau - Fv q' - Fc tanh(100 q') - G cos(q / 15): one degree of freedom with friction and gravity."""

    J: float = param(0.02, "inertia", "kg m^2", above=0)
    Fv: float = param(0.05, "viscous friction", "N m s/rad")
    Fc: float = param(0.1, "dry friction", "N m")
    G: float = param(0.3, "gravity torque", "N m")
    tau = inport("torque", "N m")
    position = outport("position", "rad")
    speed = outport("speed", "rad/s")
    q: float = state(0.0, "position", "rad")
    qd: float = state(0.0, "speed", "rad/s")

    @staticmethod
    def output_position(q):
        return q

    @staticmethod
    def output_speed(qd):
        return qd

    @staticmethod
    def derivative(q, qd, tau, J, Fv, Fc, G):
        return qd, (tau - Fv * qd - Fc * tanh(100.0 * qd) - G * cos(q / 15.0)) / J


class Encoder(SampledBlock):
    """y = resolution * round(q / resolution)."""

    resolution: float = param(0.0031416, "one count", "rad", above=0)
    q = inport("position", "rad")
    y = outport("counted position", "rad")

    @staticmethod
    def output(q, resolution):
        return resolution * floor(q / resolution + 0.5)


class PID(SampledBlock):
    """u = kp e + ki sum(e) Ts + kd (e - e_before) / Ts."""

    kp: float = param(20.0, "proportional gain")
    ki: float = param(10.0, "integral gain")
    kd: float = param(0.3, "derivative gain")
    e = inport("error")
    u = outport("torque", "N m")
    integral: float = memory(0.0, "integral part")
    last: float = memory(0.0, "error one sample ago")

    @staticmethod
    def step(e, integral, last, kp, ki, kd, Ts):
        now = integral + ki * Ts * e
        return kp * e + now + kd * (e - last) / Ts, now, e


class TwoMass(Block):
    """Motor and arm over a damper and a spring k1 w + k3 w^3, seen through the gear ratio r, dry friction smoothed by tanh."""

    Jm: float = param(1.21e-2, "motor inertia", "kg m^2", above=0)
    Ja: float = param(1.13e3, "arm inertia", "kg m^2", above=0)
    Fv: float = param(1.30e-2, "viscous friction", "N m s/rad")
    Fc: float = param(6.44e-1, "dry friction", "N m")
    beta: float = param(1.0, "steepness of the dry friction", "s/rad")
    k1: float = param(1.46e6, "spring, linear part", "N m/rad")
    k3: float = param(3.72e10, "spring, cubic part", "N m/rad^3")
    d: float = param(2.63e3, "damping", "N m s/rad")
    r: float = param(4.46e-3, "gear ratio")
    u = inport("motor torque", "N m")
    x = outport("motor position and speed, arm position and speed", size=4)
    qm: float = state(0.0, "motor position", "rad")
    wm: float = state(0.0, "motor speed", "rad/s")
    qa: float = state(0.0, "arm position", "rad")
    wa: float = state(0.0, "arm speed", "rad/s")

    @staticmethod
    def output(qm, wm, qa, wa):
        return qm, wm, qa, wa

    @staticmethod
    def derivative(qm, wm, qa, wa, u, Jm, Ja, Fv, Fc, beta, k1, k3, d, r):
        twist = r * qm - qa
        rate = r * wm - wa
        arm = d * rate + k1 * twist + k3 * twist * twist * twist
        return wm, (u - Fv * wm - Fc * tanh(beta * wm) - r * arm) / Jm, wa, arm / Ja
