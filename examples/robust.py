"""The truth is not known before the experiment: a torque designed for the middle of a prior, and one for its worst draw.

Run it: python examples/robust.py [simulations] [seed]
"""

import sys

import numpy as np

import blocksim as bs
from blocksim.planning.design.bench import Bench
from blocksim.planning.design.file import load_design

simulations = int(sys.argv[1]) if len(sys.argv) > 1 else 4000
seed = int(sys.argv[2]) if len(sys.argv) > 2 else 1
DESIGN = {
    "design": "A torque for a robot that is known to 30 %",
    "diagram": "thesis/hysteresis",
    "simulate": {"stop": 10, "step": 2e-3},
    "parameters": ["robot.Fv", "robot.Fc", "robot.k1", "robot.k3", "robot.alpha", "robot.A"],
    "outputs": {"robot.w_m": 0.05},
    "vary": {"u": {"family": "binary", "clock": 0.04, "peak": 30}},
    "limits": {"u": {"peak": 30}},
    "criterion": "worst",
    "search": {"simulations": simulations, "candidates": 32, "seconds": 3600, "seed": seed, "jobs": 1},
}

# one design for the middle of the prior, and one for the worst of fifty robots drawn from it, with as many simulations
middle = bs.design(DESIGN)
robust = bs.design({**DESIGN, "prior": {"spread": 0.3, "take": "worst", "seed": seed}})

# both at four times fifty truths that neither has seen: what the worst parameter gets in each of them
unseen = [Bench(load_design({**DESIGN, "prior": {"spread": 0.3, "samples": 50, "seed": 99 + k}})) for k in range(4)]
print("worst relative standard deviation [%], four sets of 50 draws of +-30 %")
print(f"{'designed for':>14} {'simulations':>12} {'at the middle':>14} {'median draw':>12}   worst draw of each set")
for name, result in (("the middle", middle), ("the prior", robust)):
    stds = []  # [set][draw]
    for bench in unseen:
        ready, numbers = bench.experiment_of(result.x)
        stds.append([100 * bench.judge(ready, {**numbers, **sample})[0] for sample in bench.samples])
    here = 100 * max(result.predicted.relative_std.values())
    worst = " ".join(f"{max(of_set):.3f}" for of_set in stds)
    print(f"{name:>14} {result.simulations:12d} {here:14.3f} {np.median(stds):12.3f}   {worst}")

# the draw that is hardest for the last one, with a design of its own: more cannot be had there
hardest = unseen[0].samples[int(np.argmax(stds[0]))]
own = bs.design({**DESIGN, "params": hardest})
print(f"designed for the hardest draw of the first set alone, which gets {100 * own.criterion:.3f}")
