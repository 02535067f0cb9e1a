"""The six joints of a TX40: one simulated run with known truth, identified behind three pre-filters.

python examples/tx40.py
"""

import numpy as np

import blocksim as bs

# One run of the whole robot under joint control, its truth known; rows slower than 2 % of the top speed do not count.
record = bs.simulate("brunot2017/tx40", params={"slow": 0.02})
for method in ("classical", "irwsm1", "irwsm2"):
    estimates = record.estimates[method]
    z = np.array([e.z for e in estimates.values()])
    print(
        f"{method}: {len(estimates)} parameters, relative error {estimates.details['relative_error']:.2f} %, "
        f"condition {estimates.details['condition']:.0f}, z within 2 for {100 * np.mean(np.abs(z) < 2):.0f} %"
    )
for name in ("ZZ1R", "Fv1", "Fc1", "ZZ2R", "MX2R", "Ia3", "Fvm6"):
    entry = record.estimates["irwsm1"][name]
    print(f"{name:5s} {entry.value:8.3f} +- {entry.std:.3f}, in truth {entry.truth:.3f}")

# On the measured record of the robot, in the folder that BLOCKSIM_DATA names: bs.identify("brunot2017/tx40")
