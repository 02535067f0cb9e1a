"""Identify a joint from its torque alone: least squares of a coarse encoder, instrumental variables, and DIDIM.

python examples/didim.py
"""

import numpy as np

import blocksim as bs

LOOP = """
format: 1
simulate: {stop: 4, solver: rk4, step: 1e-3, seed: 3}
blocks:
  ref:     {type: FourierTrajectory, base_frequency: 0.25, a: [0.8, 0, 0, 0.3, -0.4], b: [-0.4, 0.3, 0, 0.2, -0.1]}
  error:   {type: Sum, signs: "+-", in: [ref.q, encoder]}
  pid:     {type: PID, Ts: 1e-3, kp: 100, ki: 100, kd: 2, Tf: 2e-3, in: error}
  joint:   {type: GravityJoint, J: 0.02, Fv: 0.05, Fc: 0.1, Ms: 0.03, N: 1, in: pid}
  encoder: {type: Encoder, Ts: 1e-3, resolution: 1e-3, in: joint.q}
  # The measured motion: a wide filter, then central differences.
  motion:  {type: BandPassDerivatives, cutoff: 60, factor: 1, in: encoder}
  ls:      {type: LeastSquares, model: joint, decimate: 10, in: {tau: pid, q: motion.q, qd: motion.qd, qdd: motion.qdd}}
  # The same rows, with the motion of the simulated loop as instruments.
  iv:      {type: InstrumentalVariable, model: joint, decimate: 10, edges: 5,
            in: {tau: pid, q: motion.q, qd: motion.qd, qdd: motion.qdd}}
  # The motion of the simulated loop instead of the measured one: torque is all that is read.
  didim:   {type: DIDIM, model: joint, start: 0.5, cutoff: 40, decimate: 10, edges: 5, in: pid}
log: [joint.q, pid]
"""

record = bs.simulate(LOOP)
for name in ("ls", "iv", "didim"):
    print(record.estimates[name], "\n")

# How the iteration went: from half the values to the truth, a few simulations.
print(np.array_str(record.estimates["didim"].details["history"], precision=4, suppress_small=True))
print(record.estimates["didim"].details["simulations"], "simulations")
