"""A PID on a quantised encoder: how well it follows, what the integral is for, what the derivative costs.

python examples/pid_loop.py
"""

from pathlib import Path

import numpy as np

import blocksim as bs

file = Path(__file__).with_name("pid_loop.yaml")


def said(record):
    """Root mean square of the true error, and of the torque's change from sample to sample, once the start is over."""
    late = record.t > 2
    error = (record["ref.q"] - record["joint.q"])[late]
    return f"error {np.sqrt(np.mean(error**2)):.4f} rad, torque jumps by {np.std(np.diff(record['pid'][late])):.4f} N m"


print("as it stands:        ", said(bs.simulate(file)))

# Numbers change without compiling again. Without its integral the PID leaves gravity to the error.
print("without the integral:", said(bs.simulate(file, params={"pid.ki": 0.0})))

# An unfiltered derivative makes torque of every count the encoder jumps.
print("without the filter:  ", said(bs.simulate(file, params={"pid.Tf": 0.0})))

# Ten times the counts: the noise is in counts, so it shrinks with them.
print("a finer encoder:     ", said(bs.simulate(file, params={"encoder.counts_per_turn": 20000})))

# The derivative can use a measured speed instead of the counts: qd_hat stands for -de/dt, here the speed less the wanted one.
text = file.read_text(encoding="utf-8").replace("limit: 0.6, in: error", "limit: 0.6, in: {e: error, qd_hat: slip}")
text = text.replace("blocks:\n", 'blocks:\n  slip: {type: Sum, signs: "+-", in: [joint.qd, ref.qd]}\n')
print("with the true speed: ", said(bs.simulate(text)))
