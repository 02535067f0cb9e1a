"""A serial robot from its table of modified Denavit-Hartenberg parameters: simulated, driven, changed by name.

python examples/serial_robot.py
"""

import math

import blocksim as bs

ROBOT = """
format: 1
simulate: {stop: 2.0, solver: rk4, step: 1e-3}
blocks:
  ref:   {type: PolynomialTrajectory, times: [0, 1, 2], points: [[0, 1, 0], [0, -0.6, 0.2], [0, 0.1, 0.2]]}
  error: {type: Sum, signs: "+-", in: [ref.q, robot.q]}
  pd:    {type: PD, kp: [900, 900, 4000], kd: [60, 60, 200], in: {e: error, qd_hat: robot.qd}}
  robot:
    type: SerialRobot
    joints:            # base, shoulder, and a prismatic forearm; angles in rad, lengths in m
      - {ZZ: 0.05, Ia: 0.1, Fv: 0.5, Fc: 1.0}
      - {alpha: "${-pi / 2}", XX: 0.06, YY: 0.06, ZZ: 0.06, M: 4.0, MX: 0.3, Ia: 0.1, Fv: 0.5, Fc: 1.0}
      - {alpha: "${pi / 2}", d: 0.4, joint: prismatic, XX: 0.02, YY: 0.02, ZZ: 0.01, M: 2.0, MZ: 0.1, Fv: 8.0, Fc: 4.0}
    in: pd
"""

record = bs.simulate(ROBOT)
print("positions at the end:", [f"{v:.3f}" for v in record["robot.q"][-1]])

# Every number is a parameter with the number of its joint: a heavier forearm, without another compilation.
heavy = bs.simulate(ROBOT, params={"robot.M3": 5.0, "robot.MZ3": 0.25})
print("prismatic joint, light and heavy:", f"{record['robot.q'][-1, 2]:.4f} {heavy['robot.q'][-1, 2]:.4f}")
assert heavy["robot.q"][-1, 2] < record["robot.q"][-1, 2]  # it hangs lower

# In a motor's own terms: gears, torques of motors, and a payload.
robot = bs.build(bs.load(ROBOT)).nodes["robot"].block
geared = type(robot)(
    **{**robot.settings, "input": "motor", "payload": {"M": 1.0, "MZ": 0.05}}, N1=100, N2=100, N3=2 * math.pi / 5e-3
)
print(geared.settings["N3"], geared.settings["ML"])
