"""The bench in a notebook: sliders for the loop's gain and the smoother's band, their values and estimates in Python.

In a notebook the last line of a cell shows it: `explorer`. Here the sliders are moved from Python instead:
python examples/explore.py
"""

import blocksim as bs

explorer = bs.explore("one_dof/identify", gain=(0.25, 4), **{"smooth.bandwidth": (5, 60)})
print(explorer.values)  # as the file has them

explorer.values = {"gain": 1.0, "smooth.bandwidth": 40.0}  # as a hand would
print(explorer.estimates["ls"])  # too wide a band: the interval of J misses the truth, and z says so
