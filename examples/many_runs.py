"""Many runs of one loop, eight at a time: python examples/many_runs.py

A program without events or error control takes the same steps in every run, so runs go side by side in the lanes of the
processor's vectors. `math: portable` has the elementary functions in the lanes as well, with the same bits on every machine.
"""

import time

import numpy as np

import blocksim as bs

LOOP = """
format: 1
simulate: {stop: 2.0, solver: rk4, step: 1e-3, math: MATH}
blocks:
  ref:     {type: Sine, amplitude: 1.0, frequency: 0.8}
  error:   {type: Sum, signs: "+-", in: [ref, encoder]}
  pid:     {type: PID, Ts: 1e-3, kp: 20, ki: 10, kd: 0.3, Tf: 1e-3, in: error}
  joint:   {type: GravityJoint, J: 0.02, Fv: 0.05, Fc: 0.1, Ms: 0.03, in: pid}
  encoder: {type: Encoder, Ts: 1e-3, resolution: 1e-4, in: joint.q}
log: [pid, joint.q, ref]
"""
# Six hundred joints, each with an inertia and a friction of its own.
TABLE = [{"joint.J": 0.01 + 0.0001 * (i % 200), "joint.Fc": 0.05 + 0.05 * (i // 200)} for i in range(600)]


def worst(record):
    """What is kept of a run: its largest tracking error. The log itself is dropped, so memory does not grow with the runs."""
    return float(np.abs(record["ref"] - record["joint.q"]).max())


for math in ("libm", "portable"):
    ready = bs.experiment(LOOP.replace("MATH", math))
    bs.simulate_many(ready, params=TABLE, collect=worst)  # the first call compiles
    begun = time.perf_counter()
    errors = bs.simulate_many(ready, params=TABLE, collect=worst)
    taken = time.perf_counter() - begun
    # A lane has the bits of its run alone.
    assert errors[7] == worst(bs.simulate(ready, params=TABLE[7]))
    print(f"math: {math:8}  worst tracking error {max(errors):.4f} rad, {1e3 * taken / len(TABLE):.2f} ms a run")
