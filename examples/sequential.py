"""A torque is designed for a guess, applied, the spring fitted, the next torque designed for what was found, until it is enough.

Run it: python examples/sequential.py
"""

import blocksim as bs

# a mass on a spring under a force; only this program knows that its stiffness is 40 and its damping 0.6
TRUTH = """
format: 1
simulate: {stop: 10, solver: rk4, step: 0.02, every: 0.04}
blocks:
  u:      {type: Sine, frequency: 1.0}
  spring: {type: Gain, k: -40.0, in: x}
  damper: {type: Gain, k: -0.6, in: v}
  a:      {type: Sum, in: [u, spring, damper]}
  v:      {type: Integrator, in: a}
  x:      {type: Integrator, in: v}
"""
DESIGN = {
    "design": "A force for the spring",
    "diagram": TRUTH,
    "parameters": ["spring.k", "damper.k"],
    "outputs": {"x": 0.02},  # noise of the position [m]
    "vary": {"u": {"family": "multisine", "f_min": 0.2, "f_max": 2.0, "lines": 10, "peak": 2.0}},
    "search": {"simulations": 300, "candidates": 16},
}
guess = {"spring.k": -33.0, "damper.k": -1.0}

# one command on simulated truth: at most a minute of experiments, both to half a per cent and five per cent
campaign = bs.sequential(DESIGN, guess=guess, accuracy={"spring.k": 0.005, "damper.k": 0.05}, budget=60, seed=1)
print(campaign)

# the same by hand, as in the laboratory: the force for the next experiment, then what was measured with it
campaign = bs.Campaign(DESIGN, guess)
result = campaign.design()
record = bs.simulate(result.diagram, seed=1)  # bs.Record.load("measured.csv") in the laboratory
campaign.learn(result, record)
print({name: f"{value:.4g}" for name, value in campaign.values.items()}, "without any noise")
