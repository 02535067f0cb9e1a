"""A diagram from a file: run it, look at the result, change a number, run it again.

python examples/first_diagram.py
"""

from pathlib import Path

import blocksim as bs

file = Path(__file__).with_name("first.yaml")

# One call reads the file, checks it, compiles it and runs it. The result is a Record: time and named signals.
record = bs.simulate(file)
print(record)

# Signals are numpy arrays. A block with one output is named without it: tank is short for tank.y.
level = record["tank"]
print(f"the level ends at {level[-1]:.4f} m, its peak is {level.max():.4f} m")

# Any setting can be changed for a run without touching the file, and nothing is compiled again.
for T in (2.0, 5.0, 10.0):
    slow = bs.simulate(file, params={"tank.T": T})
    print(f"T = {T:4} s: peak {slow['tank'].max():.4f} m")

# An adaptive solver takes its own steps; the log stays on the grid that is asked for.
exact = bs.simulate(file, solver="dopri5", rtol=1e-10, every=0.01)
print(f"rk4 and dopri5 differ by {abs(exact['tank'] - level).max():.1e} m at most")

# The picture of the loop and a plot of what it did.
bs.draw(bs.open_diagram(file), "level.svg")
bs.plot(record, [["wanted", "tank"], "valve"], "level.png")
print("wrote level.svg and level.png")

# A mistake is found before anything runs, and named with its line.
try:
    bs.simulate(file.read_text().replace("T: 5", "T: -5").replace("signs", "sign"))
except bs.DiagramError as error:
    print(error)
