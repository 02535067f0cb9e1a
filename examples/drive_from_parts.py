"""A drive wired from parts: the same motion as TwoMassRobot, and identified as one plant by the names of its parts.

python examples/drive_from_parts.py
"""

import numpy as np

import blocksim as bs
from blocks.plants.two_mass import TwoMassRobot


def moving(drive):
    """A drive under a sine of 3 Hz."""
    diagram = bs.Diagram("a drive")
    diagram.add("tau", "Sine", amplitude=8.0, frequency=3.0)
    diagram.add("drive", drive, inputs="tau")
    return bs.simulate(diagram, stop=2, solver="dopri5", rtol=1e-11, atol=1e-14, every=5e-3)


# One block with everything in it, and a bundled subsystem of motor, friction, gear, shaft with play, arm.
# Impacts multiply what the solver leaves, so it is told to leave little.
robot = moving(TwoMassRobot(q=2e-3, friction="sign", backlash="elasto"))
laws = {"q": 2e-3, "friction": "sign", "law": "elasto"}
parts = moving(bs.build(bs.load("parts/two_mass_drive"), parameters=laws))
for ours, theirs in (("drive.motor.w", "drive.w_m"), ("drive.arm.w", "drive.w_a"), ("drive.torque", "drive.tau_s")):
    apart = np.abs(parts[ours] - robot[theirs]).max() / np.abs(robot[theirs]).max()
    print(f"{ours:14} and {theirs:12} differ by {apart:.1e} of the largest value")

# Parts say more than the whole: where the gap stands, and which side of it is closed.
print(f"the gap is open {np.mean(parts['drive.shaft.contact'] == 0):.0%} of the time")

# The subsystem is the model of estimators. Its states and parameters have the names of the parts; the truth is known.
record = bs.simulate("two_mass/from_parts")
print(record.estimates["oe"])
print(record.estimates["rpem"])
