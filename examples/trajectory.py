"""A trajectory for a SCARA that shakes all its parameters: by the condition number of W diag(beta), and by D.

Run it: python examples/trajectory.py [simulations]
"""

import sys
from pathlib import Path

import blocksim as bs

simulations = sys.argv[1] if len(sys.argv) > 1 else "300"

# scara_trajectory.yaml: nine way points of two joints, within the positions, speeds and torques of the bundled trajectory
text = (Path(__file__).parent / "scara_trajectory.yaml").read_text(encoding="utf-8")
text = text.replace("simulations: 2500", f"simulations: {simulations}")
for criterion in ("condition_scaled", "D"):
    result = bs.design(text.replace("criterion: condition_scaled", f"criterion: {criterion}"))
    print(result)

# the way points, as the line of a diagram
print(result.yaml)
