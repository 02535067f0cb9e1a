"""Least squares on a noisy loop: its bias told, and taken away. No standard deviation shows what noise in the regressor does.

python examples/bias_told.py
"""

import blocksim as bs

LOOP = """
format: 1
simulate: {stop: 6, solver: rk4, step: 1e-3, every: 2e-3, seed: 7}
blocks:
  ref:     {type: FourierTrajectory, base_frequency: 0.5, a: [0.6, 0, -0.2], b: [0.3, -0.2, -0.1]}
  error:   {type: Sum, signs: "+-", in: [ref.q, encoder]}
  pid:     {type: PID, Ts: 2e-3, kp: 20, ki: 10, kd: 0.3, Tf: 5e-3, in: error}
  joint:   {type: GravityJoint, J: 0.02, Fv: 0.05, Fc: 0.1, Ms: 0.03, N: 1, in: pid}
  encoder: {type: Encoder, Ts: 2e-3, resolution: 1e-3, noise_std: 0.5, in: joint.q}
  torque:  {type: MovingAverage, window: 2, Ts: 2e-3, in: pid}
  smooth:  {type: IRWSmoother, order: 3, bandwidth: 20, in: encoder}    # too wide: noise comes through
  ls:      {type: LeastSquares, model: joint, skip: 0.3, drop_slow: 0.03, bias: told,
            in: {q: smooth.x, qd: smooth.dx, qdd: smooth.ddx, tau: torque}}
log: [ref.q, encoder, pid, torque]
"""

# What noise in the regressor does to each parameter, told beside the estimate.
told = bs.simulate(LOOP).estimates["ls"]
print(told)
print()
print("taken away:")
right = bs.simulate(LOOP, params={"ls.bias": "corrected"}).estimates["ls"]
print(right)
print(f"\nz of J: {told['J'].z:.1f}, and {right['J'].z:.1f} without its bias")
