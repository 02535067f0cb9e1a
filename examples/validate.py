"""Is the model any good? Values found on one record are judged by another one that was not used to find them.

python examples/validate.py
"""

import blocksim as bs

LOOP = """
format: 1
name: A joint under PD, identified by least squares
simulate: {stop: 6, solver: rk4, step: 1e-3, seed: 2}
blocks:
  ref:     {type: FourierTrajectory, base_frequency: 0.5, a: [0.8, 0, 0.4], b: [-0.4, 0.3, 0.1]}
  error:   {type: Sum, signs: "+-", in: [ref.q, encoder]}
  pid:     {type: PD, Ts: 1e-3, kp: 20, kd: 0.5, Tf: 5e-3, in: error}
  joint:   {type: GravityJoint, J: 0.02, Fv: 0.05, Fc: 0.1, Ms: 0.03, N: 1, in: pid}
  encoder: {type: Encoder, Ts: 1e-3, resolution: 1e-4, in: joint.q}
  motion:  {type: BandPassDerivatives, cutoff: 30, factor: 1, in: encoder}
  ls:      {type: LeastSquares, model: joint, skip: 0.5, in: {q: motion.q, qd: motion.qd, qdd: motion.qdd, tau: pid}}
log: [ref.q, encoder, pid]
"""

# Two experiments as a lab would keep them: what was asked, what the encoder said, the torque. The second has another trajectory.
first = bs.simulate(LOOP, seed=1)
second = bs.simulate(LOOP, seed=2, params={"ref.a": [0.5, 0.5, 0.0], "ref.b": [0.2, -0.3, 0.3]})
estimates = bs.identify(LOOP, first.select("encoder.q_hat", "pid.u")).estimates["ls"]

# The loop with these values beside the second record: fit, what is left, and whether it follows what was asked.
held = bs.validate(LOOP, second.select("ref.q", "encoder.q_hat", "pid.u"), estimates, skip=0.5)
print(held)

# A wrong inertia is seen at once, and the torque tells more than the position, which the controller holds.
wrong = bs.validate(LOOP, second.select("ref.q", "encoder.q_hat", "pid.u"), {**held.settings, "joint.J": 0.04}, skip=0.5)
print(f"torque fit: {held['pid'].fit:.3f}, with twice the inertia: {wrong['pid'].fit:.3f}")
held.plot("validation.png")
