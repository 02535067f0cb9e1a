"""Which parameters of a robot can be identified: the base parameters of a table, and what each is made of.

python examples/base_parameters.py
"""

import numpy as np

import blocksim as bs
from blocksim.contract.plant import Plant

diagram = bs.build(bs.load("brunot2017/tx40"))
arm = diagram.nodes["robot"].block.nodes["arm"].block
grouping = type(arm).grouping()
print(grouping)  # 61 base parameters of 87 standard ones, each with its formula

# What identifiers estimate is these, and the truth they are scored against is made of the standard ones.
plant = Plant(type(arm), arm.settings, "robot.arm")
print({name: round(value, 3) for name, value in list(plant.truth.items())[:5]})

# The same torque comes from the base parameters and from the standard ones, whatever the motion.
q, qd, qdd = np.random.default_rng(0).normal(size=(3, 200, 6))
base = plant.regressor({"q": q, "qd": qd, "qdd": qdd}) @ np.array(list(plant.values.values()))
rows = type(arm).regressor(q, qd, qdd, arm.settings["friction"], arm.settings["beta"])
standard = rows @ np.array([arm.settings[name] for name in plant.standard])
assert np.allclose(base, standard)
