"""Noise in the measured motion biases least squares and not instrumental variables: thirty runs of each.

python examples/instruments.py
"""

import numpy as np

import blocksim as bs

# White noise on the acceleration, as a poor differentiator leaves it.
LOOP = """
format: 1
simulate: {stop: 4, solver: rk4, step: 2e-3, every: 4e-3}
blocks:
  ref:    {type: FourierTrajectory, base_frequency: 0.25, a: [0.8, 0, 0, 0.3, -0.4], b: [-0.4, 0.3, 0, 0.2, -0.1]}
  error:  {type: Sum, signs: "+-", in: [ref.q, joint.q]}
  pid:    {type: PID, Ts: 2e-3, kp: 100, ki: 100, kd: 2, Tf: 4e-3, in: error}
  joint:  {type: GravityJoint, J: 0.02, Fv: 0.05, Fc: 0.1, Ms: 0.03, N: 1, beta: 1, in: pid}
  torque: {type: TorqueSensor, Ts: 4e-3, std: 0.02, in: pid}
  qdd:    {type: TorqueSensor, Ts: 4e-3, std: 4.0, in: joint.qdd}
  ls:     {type: LeastSquares, model: joint, in: {tau: torque, q: joint.q, qd: joint.qd, qdd: qdd}}
  iv:     {type: InstrumentalVariable, model: joint, in: {tau: torque, q: joint.q, qd: joint.qd, qdd: qdd}}
"""

runs = bs.simulate_many(LOOP, seeds=range(30), collect=lambda record: record.estimates)
for name in ("ls", "iv"):
    J = np.array([found[name]["J"].value for found in runs])
    said = np.mean([found[name]["J"].std for found in runs])
    # The standard deviation says nothing of a bias: least squares is sure of a wrong number.
    print(f"{name}: J = {J.mean():.5f} on average (truth 0.02), scatter {J.std():.5f}, said {said:.5f}")
