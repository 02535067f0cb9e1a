"""A torque designed for six parameters of a flexible robot at once, against a good multisine of the same peak.

Run it: python examples/design.py
"""

from pathlib import Path

import blocksim as bs

# design.yaml: what is sought, what is read, what may vary, within which limits, and for how long to search
result = bs.design(Path(__file__).parent / "design.yaml")
print(result)

# the designed source, as the line of a diagram; result.write("folder") also writes the diagram with it in place
print(result.yaml[:100] + " ...")

# the same design seen by seconds: when was the cubic spring learnt?
edges, shares = result.predicted.by_time(bins=5)
print("k3 by fifths:", " ".join(f"{share:.0%}" for share in shares["robot.k3"]))
