"""A pipeline on measured data: columns of a lab's file become signals of the diagram, and its record blocks run on them.

python examples/measured.py
"""

import numpy as np

import blocksim as bs

PIPELINE = """
format: 1
name: A joint under PID, identified by least squares
simulate: {stop: 6, solver: rk4, step: 1e-3, seed: 1}
blocks:
  ref:     {type: FourierTrajectory, base_frequency: 0.5, a: [0.8, 0, 0.4], b: [-0.4, 0.3, 0.1]}
  error:   {type: Sum, signs: "+-", in: [ref.q, encoder]}
  pid:     {type: PID, Ts: 1e-3, kp: 20, ki: 10, kd: 0.3, Tf: 5e-3, in: error}
  joint:   {type: GravityJoint, J: 0.02, Fv: 0.05, Fc: 0.1, Ms: 0.03, N: 1, in: pid}
  encoder: {type: Encoder, Ts: 1e-3, resolution: 1e-4, in: joint.q}
  motion:  {type: IRWSmoother, order: 3, bandwidth: 25, in: encoder}
  ls:      {type: LeastSquares, model: joint, method: ols, decimate: 10, skip: 0.2, drop_slow: 0.02,
            in: {q: motion.x, qd: motion.dx, qdd: motion.ddx, tau: pid}}
record:
  signals: {encoder: angle, pid: torque}
"""

# The diagram by itself simulates, and knows the truth.
own = bs.simulate(PIPELINE)
print(own.estimates["ls"])

# What a lab would write down: degrees, a clock of its own, and a few samples lost.
t, angle, torque = own.t, np.degrees(own["encoder"]), own["pid"]
kept = np.random.default_rng(1).random(len(t)) > 0.001
rows = np.column_stack([1e3 * t, angle, torque])[kept]
np.savetxt("lab.csv", rows, delimiter=",", header="clock,angle [deg],torque [N m]", comments="", fmt="%.10g")

# Trouble is named, with the ways out of it.
try:
    bs.identify(PIPELINE, "lab.csv", time={"column": "clock", "unit": "ms"})
except bs.BlocksimError as error:
    print(f"\n{error}\n")
found = bs.identify(PIPELINE, "lab.csv", time={"column": "clock", "unit": "ms"}, resample=1e-3)
print(*(f"note: {note}" for note in found.provenance["notes"]), sep="\n")
print(found.estimates["ls"])  # of a measurement nobody knows the truth
