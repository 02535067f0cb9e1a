"""The blocks of (b), written for it: the same equations as in c/servo.c, without the options that the library's have."""

from __future__ import annotations

from blocksim.contract.block import Block, SampledBlock, inport, memory, outport, param, state
from blocksim.contract.vocabulary import cos, floor, tanh


class Joint(Block):
    """J q'' = tau - Fv q' - Fc tanh(100 q') - G cos(q / 15): one degree of freedom with friction and gravity."""

    inverse_parameters = ("J", "Fv", "Fc", "G")

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


class SpeedPID(SampledBlock):
    """u = kp e + ki sum(e) Ts - kd qd."""

    kp: float = param(20.0, "proportional gain")
    ki: float = param(10.0, "integral gain")
    kd: float = param(0.3, "derivative gain")
    e = inport("error")
    qd = inport("speed", "rad/s")
    u = outport("torque", "N m")
    integral: float = memory(0.0, "integral part")

    @staticmethod
    def step(e, qd, integral, kp, ki, kd, Ts):
        now = integral + ki * Ts * e
        return kp * e + now - kd * qd, now


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
