"""What the thesis could not identify: the verdict on its torque, a torque designed for it, and estimates from many seeds.

Run it: python examples/unidentified.py [seeds] [simulations] [picture.png]
"""

import sys
from pathlib import Path

import numpy as np

import blocksim as bs
from blocksim.planning.design.bench import Bench
from blocksim.planning.figures import plot_ellipses
from blocksim.planning.sequential import monte_carlo

seeds, simulations = (int(sys.argv[k]) if len(sys.argv) > k else default for k, default in ((1, 4), (2, 400)))
SOUGHT = ["robot.Fv", "robot.Fc", "robot.k1", "robot.k3", "robot.alpha", "robot.A"]
NOISE = 0.05  # rad/s on the motor's speed, the same for both

# the thesis drove the robot with low-pass noise of 0.1 N m: less than its dry friction
before = bs.information("thesis/u_slump", SOUGHT, "robot.w_m", noise_std=NOISE, params={"robot.alpha": 1e3, "robot.A": 1e7})
print("u_slump:", before.verdict, sep="\n")

# 30 N m, which its motor can give, put where they teach most
text = (Path(__file__).parent / "design.yaml").read_text(encoding="utf-8")
result = bs.design(text.replace("simulations: 2500", f"simulations: {simulations}"))
print(f"\n{result}")

# every seed is one experiment with noise of its own, and one fit of all six
bench = Bench(result.spec, "2e-3")
estimates = monte_carlo(bench, result.x, range(seeds))
spread = estimates.std(axis=0, ddof=1) / np.abs(list(bench.values.values()))
print(f"\n{'parameter':12} {'predicted %':>12} {f'{seeds} seeds %':>12}")
for name, found in zip(SOUGHT, spread, strict=True):
    print(f"{name:12} {100 * result.predicted.relative_std[name]:12.3g} {100 * found:12.3g}")
if len(sys.argv) > 3:
    plot_ellipses(result.predicted, estimates, sys.argv[3])
