"""A loop as a linear model: its poles, its margin, its Bode plot; a joint linearised where it rests.

python examples/linearize.py
"""

import numpy as np

import blocksim as bs
from blocksim.linear.linearize import bode

# 10 + 3/s around 0.5/(2s + 1): from the reference to the output, loop closed. The poles solve 2 s^2 + 6 s + 1.5 = 0.
model = bs.linearize("basics/pi_loop.yaml", inputs="ref", outputs="plant")
print(model)
print("by hand:", np.roots([2, 6, 1.5])[::-1].round(5))

# A cut opens the loop: what comes back to the controller's output is minus the loop gain. Its phase margin, at |L| = 1:
w = np.geomspace(0.01, 100, 20_001)
loop = -bs.linearize("basics/pi_loop.yaml", "pi", "pi", cut=True).frequency_response(w)[0, 0]
crossing = np.argmin(np.abs(np.abs(loop) - 1))
margin = 180 + np.degrees(np.angle(loop[crossing]))
print(f"the loop crosses 1 at {w[crossing]:.2f} rad/s with a phase margin of {margin:.0f} deg")

# Two masses and a spring behind a gear, from motor torque to motor speed: a notch where the arm swings against the locked
# motor, sqrt(k/Ja), and a resonance where both swing, sqrt(k (Jm + r^2 Ja)/(Jm Ja)).
Jm, Ja, k, d, r = 1.21e-2, 1.13e3, 1.46e6, 2.63e3, 4.46e-3
robot = bs.Diagram("Two masses")
robot.add("u", "Constant", value=0.0)
robot.add(
    "robot",
    "StateSpace",
    inputs="u",
    B=[[0], [1 / Jm], [0]],
    C=[[0, 1, 0]],  # states: twist, motor speed, arm speed
    A=[[0, r, -1], [-r * k / Jm, -r * r * d / Jm, r * d / Jm], [k / Ja, r * d / Ja, -d / Ja]],
)
two_mass = bs.linearize(robot, "u", "robot")
bode(two_mass, "bode.png", w=np.geomspace(3, 300, 2000))
print("zeros at", np.abs(two_mass.zeros()).round(2), "rad/s, poles at", np.abs(two_mass.poles()).round(2), "rad/s")

# A joint under gravity, 0.5 q'' = u - 0.2 q' - 3 sin q. Which torque holds it at 0.7 rad, and how does it swing there?
joint = """
format: 1
simulate: {stop: 10}
blocks:
  u:      {type: Constant, value: 0}
  torque: {type: Function, expression: "(u1 - 0.2 * u2 - 3 * sin(u3)) / 0.5", in: [u, speed, angle]}
  speed:  {type: Integrator, in: torque}
  angle:  {type: Integrator, in: speed}
"""
point = bs.operating_point(joint, inputs={"u": None}, fixed={"angle": 0.7})
print(point)
tilted = bs.linearize(joint, "u", "angle", at=point)
print("poles", tilted.poles().round(4), "by hand", np.roots([0.5, 0.2, 3 * np.cos(0.7)])[::-1].round(4))

# A sampled servo: over one period of its clock, the encoder's steps passed by. Stable: every pole is inside the unit circle.
servo = bs.linearize("basics/servo.yaml", "ref", "motor.q", dt=True, through="encoder")
print(f"servo at {1 / servo.dt:g} Hz: poles of size", np.abs(servo.poles()).round(3))
