"""Fit a flexible axis by simulating it: the thesis' algorithm 3 on what it could not find, and on its backlash.

python examples/rpem_hybrid.py
"""

import blocksim as bs

# The cubic stiffness that the thesis called not identifiable. All else is as in the robot's block; the input was continuous.
diagram = bs.open_diagram("thesis/multisine_high")
search = {"model": "robot", "signal": "w_m", "hold": "cubic"}
diagram.add("newton", "RPEMHybrid", inputs=["u", "y.w_hat"], start={"k1": 2e6, "k3": 5e10}, **search)
# The algorithm as it is printed: one step length for both parameters, halved until the loss falls.
diagram.add("printed", "RPEMHybrid", method="gradient", inputs=["u", "y.w_hat"], start={"k1": 2e6, "k3": 5e10}, **search)
record = bs.simulate(diagram, stop=5, step=2e-3)
for name in ("newton", "printed"):
    found = record.estimates[name]
    for one in found.values():
        print(f"{name}: {one.name} = {one.value:.5g} +- {one.std:.1g}, in truth {one.truth:.5g}")
    print(f"  {found.details['simulations']} simulations; {found.reason}")

# Backlash has no gradient on paper, but simulations on both sides of a value have one. Start at half of the truth, as in 6.4.
diagram = bs.open_diagram("thesis/backlash")
diagram.add("hybrid", "RPEMHybrid", inputs=["u", "y.w_hat"], start={"q": 0.5e-3}, **search)
found = bs.simulate(diagram, step=2e-3).estimates["hybrid"]
path = ", ".join(f"{1e3 * q:.3f}" for q in found.details["history"][:, 0])
print(f"backlash in mrad: {path}; std {1e3 * found['q'].std:.3f}")
