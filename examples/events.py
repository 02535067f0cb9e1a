"""Events: a guard is a margin, and its reset happens at the instant the margin falls below zero.

python examples/events.py
"""

import math

import blocksim as bs
from blocksim import Block, memory, outport, param, state


class Ball(Block):
    """h'' = -g above the floor; at the floor v becomes -e v: a bouncing ball."""

    g: float = param(9.81, "gravity", "m/s^2", above=0)
    e: float = param(0.8, "share of the speed that a bounce leaves", min=0, max=1)
    h: float = state(1.0, "height", "m")
    v: float = state(0.0, "speed", "m/s")
    last: float = memory(0.0, "time of the last bounce", "s")
    count: float = memory(0.0, "bounces so far")
    height = outport("height", "m")
    bounced = outport("time of the last bounce", "s")
    bounces = outport("bounces so far")

    @staticmethod
    def output(h, last, count):
        return h, last, count

    @staticmethod
    def derivative(v, g):
        return v, -g

    # The margin to the floor. The solver finds the instant at which it vanishes to the last bit, between its steps.
    @staticmethod
    def guard_floor(h):
        return h

    # What jumps there. States and memories that are not named stay.
    @staticmethod
    def reset_floor(t, v, e, count):
        return {"h": 0.0, "v": -e * v, "last": t, "count": count + 1.0}


ball = bs.Diagram("Bouncing ball")
ball.add("ball", Ball())
record = bs.simulate(ball, stop=3, solver="dopri5", every=0.01)

first = math.sqrt(2 / 9.81)
for n in range(1, int(record["ball.bounces"][-1]) + 1):
    found = record["ball.bounced"][record["ball.bounces"] == n][0]
    exact = first + 2 * first * sum(0.8**k for k in range(1, n))
    print(f"bounce {n}: {found:.12f} s, closed form {exact:.12f} s")

# Left alone the bounces come ever closer and never end. That is found out and named, and the record up to there is kept.
try:
    bs.simulate(ball, stop=10)
except bs.SimulationError as error:
    print(error)
    print(f"the bounces pile up at {first * (1 + 2 * 0.8 / 0.2):.3f} s; the record ends at {error.record.t[-1]:.2f} s")
