"""Many runs from one compiled program: every combination of some gains, and many seeds, on all cores.

python examples/sweep.py
"""

import numpy as np

import blocksim as bs

LOOP = """
format: 1
name: A noisy sensor in a loop
simulate: {stop: 20, solver: rk4, step: 0.01}
blocks:
  ref:    {type: Step, time: 0}
  error:  {type: Sum, signs: "+-", in: [ref, sensor]}
  gain:   {type: Gain, k: 2, in: error}
  plant:  {type: TransferFunction, num: [1], den: [1, 1, 0], in: gain}
  noise:  {type: WhiteNoise, std: 0.1, Ts: 0.01}
  sensor: {type: Sum, in: [plant, noise]}
log: [plant]
"""

# A dict of lists runs every combination; each set runs with each seed. Results come in that order.
gains, seeds = [0.5, 1.0, 2.0, 4.0], range(20)
records = bs.simulate_many(LOOP, params={"gain.k": gains}, seeds=seeds)
table = np.array([r["plant"][1000:].std() for r in records]).reshape(len(gains), len(seeds))
for k, row in zip(gains, table, strict=True):
    print(f"k = {k}: the sensor's noise moves the plant by {row.mean():.4f} ± {row.std():.4f}")

# The noise of a seed is the same for every gain, so two gains are compared on equal terms:
print("seed by seed, k = 4 is worse than k = 1 in", int((table[3] > table[1]).sum()), "of", len(seeds), "runs")

# With `collect` only what it returns is kept, so thousands of runs fit in memory.
peaks = bs.simulate_many(
    LOOP, params=[{"gain.k": k, "noise.std": 0.0} for k in gains], collect=lambda record: float(record["plant"].max())
)
print("overshoot without noise:", ", ".join(f"{100 * (p - 1):.1f}%" for p in peaks))

# 1 / (s^2 + s + k) overshoots by exp(-pi z / sqrt(1 - z^2)), z = 1 / (2 sqrt(k))
damping = 1 / (2 * np.sqrt(np.array(gains)))
print("closed form:            ", ", ".join(f"{x:.1f}%" for x in 100 * np.exp(-np.pi * damping / np.sqrt(1 - damping**2))))
