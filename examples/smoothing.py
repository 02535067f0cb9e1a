"""How well a speed can be known from an encoder: a filter, a smoother of the same bandwidth, and one that chooses for itself.

python examples/smoothing.py
"""

from pathlib import Path

import numpy as np

import blocksim as bs
from blocksim.diagram.build import open_diagram

diagram = open_diagram(str(Path(__file__).with_name("smoothing.yaml")))
record = bs.simulate(diagram)
inside = (record.t > 0.2) & (record.t < 3.8)  # at the ends every method sees one side only


def error(signal, truth="joint.qd"):
    """Root mean square of the difference, away from the ends."""
    return np.sqrt(np.mean((record[signal] - record[truth])[inside] ** 2))


counts = np.gradient(record["encoder"], record.t)
print(f"differences of the counts:  {np.std((counts - record['joint.qd'])[inside]):.4f} rad/s")
print(f"Butterworth at 20 Hz:       {error('speed'):.4f} rad/s")
print(f"random walk at 20 Hz:       {error('walk.dx'):.4f} rad/s, it says {np.median(record['walk.std_dx']):.4f}")
print(f"random walk by likelihood:  {error('likely.dx'):.4f} rad/s, it says {np.median(record['likely.std_dx']):.4f}")
print(f"acceleration by likelihood: {error('likely.ddx', 'joint.qdd'):.3f} rad/s^2 of {np.ptp(record['joint.qdd']):.1f}")

# A block keeps what it found: the ratio of variances, its bandwidth, and the noise of the encoder.
found = diagram.nodes["likely"].block.result
print(f"it chose {found['bandwidth'][0]:.1f} Hz; noise {found['sigma_e'][0]:.2e} rad", end="")
count = 2 * np.pi / 2000
print(f", in truth {np.hypot(0.5 * count, count / np.sqrt(12)):.2e} rad (jitter and rounding)")
