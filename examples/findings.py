"""What `blocksim check` knows before a run: wires, rates and readings that cannot be meant, each with a remedy.

Run it: python examples/findings.py. The page docs/warnings.md has a section for every name.
"""

import blocksim as bs

WRONG = """
format: 1
simulate: {stop: 1, solver: rk4, step: 1e-3, seed: 7}
blocks:
  ref:     {type: FourierTrajectory, base_frequency: 0.5, a: [0.8, 0, 0.4], b: [-0.4, 0.3, 0.1]}
  error:   {type: Sum, signs: "+-", in: [ref.q, encoder]}
  pid:     {type: PID, kp: 20, ki: 10, kd: 0.3, Tf: 5e-3, in: error}
  joint:   {type: GravityJoint, J: 0.02, Fv: 0.05, Fc: 0.1, Ms: 0.03, N: 1, in: pid}
  encoder: {type: Encoder, Ts: 1e-3, resolution: 1e-4, in: joint.q}
  motion:  {type: BandPassDerivatives, cutoff: 60, in: encoder}
  ls:      {type: LeastSquares, model: joint, in: {q: motion.qd, qd: motion.q, qdd: motion.qdd, tau: pid}}
"""

# Nothing runs here: the diagram is opened, and looked at.
found = bs.findings(WRONG)
for finding in found:
    print(f"{finding.name}: {finding.what}\n    {finding.remedy}")
assert {f.name for f in found} == {"continuous-controller", "different-grids", "unit-mismatch"}

# Three changes later nothing is left to say: a sample time, no decimation before the regression, and the right wires.
right = WRONG.replace("type: PID,", "type: PID, Ts: 1e-3,").replace("cutoff: 60,", "cutoff: 60, factor: 1,")
right = right.replace("q: motion.qd, qd: motion.q,", "q: motion.q, qd: motion.qd,").replace(
    "model: joint,", "model: joint, decimate: 10,"
)
assert not bs.findings(right)
print(bs.simulate(right).estimates["ls"])
