"""Identify a joint in closed loop by least squares, and see what each step of the recipe is worth.

python examples/least_squares.py
"""

from pathlib import Path

import numpy as np

import blocksim as bs

diagram = bs.open_diagram(str(Path(__file__).with_name("least_squares.yaml")))
record = bs.simulate(diagram)
found = record.estimates["ls"]

# A table: value, standard deviation, truth, error in percent and in standard deviations; then warnings in words.
print(found)
print(f"all four at once: {found.nees:.1f} where 4 is expected\n")
found.plot("estimates.png")
found.save("estimates.json")


def bias(**params):
    """Mean error of each parameter over 20 runs, in percent, with settings changed by path."""
    changed = {name.replace("__", "."): [value] for name, value in params.items()}
    runs = bs.simulate_many(diagram, params=changed or None, seeds=range(20), collect=lambda record: record.estimates["ls"])
    means = np.mean([[100 * e.relative_error for e in one.values()] for one in runs], axis=0)
    return ", ".join(f"{name} {mean:+.1f}" for name, mean in zip(found, means, strict=True))


# Standard deviations tell of noise in the torque. What filters and noise in the motion do is bias, which they do not tell.
print(f"mean errors in %, as it stands: {bias()}")
print(f"a filter of 10 Hz distorts:     {bias(motion__cutoff=10.0)}")
print(f"one of 400 Hz lets noise in:    {bias(motion__cutoff=400.0)}")
print(f"the ends left in:               {bias(ls__skip=0.0)}")

# The estimates can be put in place of the truth, to simulate what the model says.
model = bs.simulate(diagram, params=found.as_params())
print(f"the model's position differs by {abs(model['joint.q'] - record['joint.q']).max():.1e} rad")
