"""Several records in one fit: parameters are shared, each record has its own first state, offset and noise.

python examples/several_records.py
"""

import blocksim as bs

AXIS = """
format: 1
name: A joint pushed by hand, twice
simulate: {stop: 2.0, solver: rk4, step: 5e-3, every: 1e-2, seed: 1}
parameters: {std: 1e-3, bits: 6, q0: 0.0, qd0: 0.0, zero: 0.0}
blocks:
  push:  {type: PRBS, amplitude: 0.8, bits: "${bits}", clock: 0.1}
  joint: {type: GravityJoint, J: 0.02, Fv: 0.05, Fc: 0.1, Ms: 0.03, N: 1, beta: 1, q: "${q0}", qd: "${qd0}", in: push}
  seen:  {type: Channel, offset: "${zero}", Ts: 5e-3, in: joint.q}
  y:     {type: NoisySensor, Ts: 1e-2, std: "${std}", in: seen}
  # initial: estimated seeks the first position and speed of each record; own: an offset of the encoder for each
  found: {type: OutputError, model: joint, output: seen, initial: estimated, own: [seen.offset], in: {u: push, y: y},
          parameters: {joint.J: 0.03, joint.Fv: 0.03, joint.Ms: 0.02, seen.offset: {start: 0.0}}}
log: [push, y]
"""

# What a lab would keep of two experiments: another motion, another start, another zero of the encoder, another noise.
monday = bs.simulate(AXIS, seed=1, params={"q0": 0.4, "qd0": -1.0, "zero": 0.02})
tuesday = bs.simulate(AXIS, seed=2, params={"bits": 7, "q0": -0.7, "qd0": 2.0, "zero": -0.05, "std": 3e-3})
records = [one.select("push.y", "y.y_hat") for one in (monday, tuesday)]

# One fit of both. The same by files: blocksim identify axis.yaml -r monday.csv -r tuesday.csv
both = bs.identify_together(AXIS, records)
print(both[0].estimates["found"])

# Neither alone knows as much: the standard deviation of the inertia from one record, from the other, from both.
alone = [bs.identify(AXIS, one).estimates["found"] for one in records]
spreads = ", ".join(f"{one['joint.J'].std:.2g}" for one in [*alone, both[0].estimates["found"]])
print(f"standard deviation of J: {spreads} kg m^2")
