"""How far off is least squares, and why? A hundred runs with known truth, and a budget of the bias.

    python examples/study.py

The same as a file: blocksim study bias.yaml --out bias.
"""

import blocksim as bs

LOOP = """
format: 1
name: One joint in closed loop, identified by least squares
simulate: {stop: 4.0, solver: rk4, step: 1e-3}
blocks:
  ref:     {type: FourierTrajectory, base_frequency: 0.25, a: [1.0, 0.4], b: [0.3, -0.2]}
  error:   {type: Sum, signs: "+-", in: [ref.q, encoder]}
  pid:     {type: PID, Ts: 1e-3, kp: 20, ki: 10, kd: 0.3, Tf: 5e-3, in: error}
  joint:   {type: GravityJoint, J: 0.02, Fv: 0.05, Fc: 0.1, Ms: 0.0306, N: 1, q: 0.1, in: pid}
  shake:   {type: WhiteNoise, std: 1e-3, Ts: 1e-3}
  seen:    {type: Sum, in: [joint.q, shake]}
  encoder: {type: Encoder, Ts: 1e-3, resolution: 3.1416e-3, in: seen}
  motion:  {type: BandPassDerivatives, cutoff: 20, factor: 1, in: encoder}
  ls:      {type: LeastSquares, model: joint, skip: 0.2, decimate: 10,
            in: {q: motion.q, qd: motion.qd, qdd: motion.qdd, tau: pid}}
"""

# Run k has the same noise at every resolution, so the two rows of a parameter differ by the encoder alone.
study = {
    "study": "Least squares against encoder resolution",
    "diagram": LOOP,
    "repeat": 50,
    "seed": 1,
    "sweep": {"encoder.resolution": [1e-4, 3.1416e-3]},
    "collect": ["ls"],
}
result = bs.run_study(study)
print(result)

# Which defect is to blame? Each is switched off in turn, on the same seeds.
off = {"quantisation": {"encoder.resolution": 1e-9}, "noise": {"shake.std": 0}}
blamed = bs.run_study({**study, "repeat": 20, "sweep": {"motion.cutoff": [5, 20]}, "ablate": off})
print()
print(blamed)
