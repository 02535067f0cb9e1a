"""Identify a joint in closed loop by least squares, and see what each step of the recipe is worth.

python examples/least_squares.py
"""

from pathlib import Path

import blocksim as bs

diagram = bs.open_diagram(str(Path(__file__).with_name("least_squares.yaml")))
record = bs.simulate(diagram)
found = record.estimates["ls"]

# A table: value, standard deviation, truth, error in percent and in standard deviations; then warnings in words.
print(found)
print(f"all four at once: {found.nees:.1f} where 4 is expected\n")
found.plot("estimates.png")
found.save("estimates.json")


def worst(**params):
    """The largest error of a parameter in percent, with settings changed by path."""
    changed = {name.replace("__", "."): value for name, value in params.items()}
    one = bs.simulate(diagram, params=changed).estimates["ls"]
    name, estimate = max(one.items(), key=lambda item: abs(item[1].relative_error))
    return f"{name} {100 * estimate.relative_error:+.1f} %"


print(f"as it stands:          {worst()}")
print(f"a filter too wide:     {worst(motion__cutoff=400.0)}")
print(f"a filter too narrow:   {worst(motion__cutoff=4.0)}")
print(f"ends left in:          {worst(ls__skip=0.0)}")

# The estimates can be put in place of the truth, to simulate what the model says.
model = bs.simulate(diagram, params=found.as_params())
print(f"the model's position differs by {abs(model['joint.q'] - record['joint.q']).max():.1e} rad")
