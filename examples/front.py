"""What accuracy costs: the same design for several peak torques, and the picture of its front.

Run it: python examples/front.py [simulations] [picture.png]
"""

import sys

import blocksim as bs
from blocksim.planning.figures import plot_front

simulations = int(sys.argv[1]) if len(sys.argv) > 1 else 150
DESIGN = {
    "design": "A torque for the whole gear",
    "diagram": "thesis/hysteresis",
    "simulate": {"stop": 10, "step": 2e-3},
    "parameters": ["robot.Fv", "robot.Fc", "robot.k1", "robot.k3", "robot.alpha", "robot.A"],
    "outputs": {"robot.w_m": 0.05},
    "vary": {"u": {"family": "binary", "clock": 0.04, "peak": 30}},
    "limits": {"u": {"peak": 30}},  # the front goes over both
    "criterion": "worst",
    "search": {"simulations": simulations, "candidates": 32, "seconds": 600, "seed": 1},
}

# five designs: what the worst of six parameters gets for 5 to 80 N m
front = bs.pareto(DESIGN, "peak", [5, 10, 20, 40, 80])
print(front)
if len(sys.argv) > 2:
    plot_front(front, sys.argv[2])
