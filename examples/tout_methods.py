"""Five methods on one run of the joint of Tout 2022, the torque each explains, and the iteration the paper leaves to the future.

python examples/tout_methods.py            # prints two tables and writes tout_torque.png (Fig. 8)
"""

from dataclasses import replace

import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt
import numpy as np

import blocksim as bs


def percent(found):
    return " ".join(f"{n} {100 * e.relative_error:7.1f} %" for n, e in found.items())


# The controller on the encoder (Methods 1 to 3) and on the filter (4, 5); the filter believes parameters that are 30 % too small.
records = [bs.simulate(f"tout2022/methods_{loop}", params={"factor": 0.7}) for loop in ("beside", "in_loop")]
print("errors with parameters 30 % too small in the filter, sigma_w2 = 0.09; torque left")
found = {name: (record, e) for record in records for name, e in sorted(record.estimates.items())}
for name, (record, estimates) in found.items():
    left = np.linalg.norm(record[f"{name}.residual"]) / np.linalg.norm(record["pid"])
    print(f"{name}: {percent(estimates)}   {100 * left:5.1f} %")

# Fig. 8: a stretch around a reversal.
figure, axes = plt.subplots(5, 1, figsize=(8, 8.5), sharex=True, sharey=True, layout="constrained")
for axis, (name, (record, _)) in zip(axes, found.items(), strict=True):
    seen = (record.t > 2.2) & (record.t < 3.2)
    axis.plot(record.t[seen], record["pid"][seen], color="0.65", lw=0.6, label="measured")
    axis.plot(
        record.t[seen], (record["pid"] - record[f"{name}.residual"])[seen], color="tab:blue", lw=1, label=f"{name}, reconstructed"
    )
    axis.set(ylabel="torque [N m]", ylim=(-0.07, 0.12))
    axis.legend(loc="upper right", fontsize=8, ncols=2)
axes[-1].set_xlabel("time [s]")
figure.savefig("tout_torque.png", dpi=110)

# Future work of the paper: put what was found back into the filter. Least squares on the filter, and on a smoother over it.
diagram = replace(bs.open_diagram("tout2022/methods_beside"), log=None)
del diagram.nodes["method1"], diagram.nodes["method2"]
diagram.add("smooth", "RTSSmoother", ekf="ekf", inputs={"x_hat": "ekf.x_hat", "P": "ekf.P", "u": "pid"})
diagram.add("change6", "CentralDifference", inputs="smooth.qd_s")
diagram.add(
    "smoothed", "LeastSquares", model="joint", inputs={"q": "smooth.q_s", "qd": "smooth.qd_s", "qdd": "change6", "tau": "pid"}
)
truth = {"J": 5e-4, "Fv": 5e-3, "Fc": 0.02, "Ms": 0.002}
shrinking, steady = [1, 1, 0.1, 0.1, 0.01, 0.01], [0.01] * 12
for method, schedule in (("method3", shrinking), ("method3", steady), ("smoothed", steady)):
    believed = {name: 0.7 * value for name, value in truth.items()}
    for sigma_w2 in schedule:
        estimates = bs.simulate(diagram, params={"ekf.parameters": believed, "ekf.sigma_w2": sigma_w2}).estimates[method]
        believed = {n: max(e.value, 0.1 * believed[n]) for n, e in estimates.items()}  # a filter needs an inertia above 0
    print(f"{method}, sigma_w2 from {schedule[0]} to {schedule[-1]} in {len(schedule)} runs: {percent(estimates)}")
