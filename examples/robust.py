"""The truth is not known before the experiment: a torque designed for the middle of a prior, and one for its worst draw.

Run it: python examples/robust.py [candidates]
"""

import sys

import numpy as np

import blocksim as bs
from blocksim.planning.design.bench import Bench
from blocksim.planning.design.file import load_design

candidates = int(sys.argv[1]) if len(sys.argv) > 1 else 40
SOUGHT = ["robot.Fv", "robot.Fc", "robot.k1", "robot.k3", "robot.alpha", "robot.A"]
SAMPLES, DRAWS = 6, 50
DESIGN = {
    "design": "A torque for a robot that is known to 30 %",
    "diagram": "thesis/hysteresis",
    "simulate": {"stop": 10, "step": 2e-3},
    "parameters": SOUGHT,
    "outputs": {"robot.w_m": 0.05},
    "vary": {"u": {"family": "binary", "clock": 0.04, "peak": 30}},
    "limits": {"u": {"peak": 30}},
    "criterion": "worst",
}


def search(samples):
    """The same number of candidates: each takes a run, and one more for each parameter, at every sample of the prior."""
    return {"simulations": candidates * (1 + len(SOUGHT)) * samples, "candidates": 32, "seconds": 600, "seed": 1}


# one design for the middle of the prior, and one for the worst of six robots drawn from it
middle = bs.design({**DESIGN, "search": search(1)})
prior = {"spread": 0.3, "samples": SAMPLES, "take": "worst", "seed": 1}
robust = bs.design({**DESIGN, "prior": prior, "search": search(SAMPLES)})

# both at truths that neither has seen: what the worst parameter gets in each of them
draws = Bench(load_design({**DESIGN, "prior": {"spread": 0.3, "samples": DRAWS, "seed": 99}}))
print(f"worst relative standard deviation [%], {DRAWS} draws of +-30 %")
print(f"{'designed for':>12} {'at the middle':>14} {'median draw':>12} {'worst draw':>11}")
for name, result in (("the middle", middle), ("the prior", robust)):
    ready, numbers = draws.experiment_of(result.x)
    stds = [100 * draws.judge(ready, {**numbers, **sample})[0] for sample in draws.samples]
    here = 100 * max(result.predicted.relative_std.values())
    print(f"{name:>12} {here:14.3f} {np.median(stds):12.3f} {max(stds):11.3f}")
