"""A block of one's own: declare names, write equations, use it by name in a file.

python examples/own_block.py
"""

import math

import blocksim as bs
from blocksim import Block, inport, outport, param, required, state
from blocksim.contract.vocabulary import sin


class Pendulum(Block):
    """m l^2 q'' = tau - m g l sin(q) - d q': a pendulum driven at its pivot."""

    m: float = param(1.0, "mass of the bob", "kg", above=0)
    l: float = required("length", "m", above=0)  # noqa: E741
    d: float = param(0.0, "damping", "N m s/rad", min=0)
    g: float = param(9.81, "gravity", "m/s^2")
    tau = inport("torque", "N m", optional=True)
    q = outport("angle", "rad")
    w = outport("speed", "rad/s")
    angle: float = state(0.0, "angle", "rad")
    speed: float = state(0.0, "speed", "rad/s")

    # The arguments say what an output depends on: states only, so there is no direct feedthrough.
    @staticmethod
    def output(angle, speed):
        return angle, speed

    # One derivative for each state, in the order they are declared.
    @staticmethod
    def derivative(angle, speed, tau, m, l, d, g):  # noqa: E741
        return speed, (tau - m * g * l * sin(angle) - d * speed) / (m * l * l)


bs.register(Pendulum)

# Testing a block is calling a function.
print("hanging down:", Pendulum.derivative(0.0, 0.0, 0.0, 1.0, 1.0, 0.0, 9.81))

record = bs.simulate("""
format: 1
simulate: {stop: 20, solver: dopri5, rtol: 1e-10, every: 0.01}
blocks:
  swing: {type: Pendulum, l: 1.0, angle: 0.1}
""")
q, t = record["swing.q"], record.t
rising = ((q[:-1] < 0) & (q[1:] >= 0)).nonzero()[0]
crossings = t[rising] - q[rising] * 0.01 / (q[rising + 1] - q[rising])
period = (crossings[-1] - crossings[0]) / (len(crossings) - 1)
print(f"period {period:.4f} s; by hand 2 pi sqrt(l/g) (1 + q0^2/16) = {2 * math.pi / math.sqrt(9.81) * (1 + 0.01 / 16):.4f} s")
