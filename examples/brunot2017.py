"""Brunot et al. (2017) with known truth: three pre-filters, good and poor knowledge of the bandwidth. Two figures.

python examples/brunot2017.py
"""

import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt
import numpy as np

import blocksim as bs
from blocks.smoothing.filters import decimate

METHODS = {"classical": "#1f6fb4", "irwsm1": "#d9601a", "irwsm2": "#2a8f5b"}
# Table 2. The random walks have NVR 1e-5 in both cases: half the amplitude at 45 and at 117 Hz.
PRIORS = {
    "good": {"f": 50, "share1": 0.895, "share2": 2.336},
    "poor": {"f": 200, "share1": 0.2237, "share2": 0.584, "factor": 20},
}
runs = {prior: bs.simulate("brunot2017/three_filters", params=params) for prior, params in PRIORS.items()}
for prior, run in runs.items():
    print(prior, *(f"{name} {run.estimates[name].details['relative_error']:.1f} %" for name in METHODS))

# Figs. 2 and 3: autocorrelation of the residuals, after the parallel filter.
figure, axes = plt.subplots(2, 3, figsize=(8, 4), sharex=True, sharey=True, constrained_layout=True)
for row, (prior, run) in zip(axes, runs.items(), strict=True):
    for axis, (name, color) in zip(row, METHODS.items(), strict=True):
        moves = np.abs(decimate(run["motion.qd"], PRIORS[prior].get("factor", 200), "matlab")) > 0.15
        e = np.where(moves, decimate(run[f"{name}.residual"], PRIORS[prior].get("factor", 200), "matlab"), 0)
        axis.bar(range(31), [e[k:] @ e[: len(e) - k] / (e @ e) for k in range(31)], color=color)
        axis.axhspan(*np.array([-1.96, 1.96]) / np.sqrt(moves.sum()), color="0.85", zorder=0)
        axis.set_title(f"{prior}, {name}", fontsize=9)
    row[0].set_ylabel("autocorrelation")
figure.supxlabel("lag [rows]", fontsize=10)
figure.savefig("brunot_residuals.png", dpi=110)

# Fig. 4: torque with poor knowledge, each model's and its error.
figure, axes = plt.subplots(3, 1, figsize=(8, 5.6), sharex=True, sharey=True, constrained_layout=True)
for axis, (name, color) in zip(axes, METHODS.items(), strict=True):
    t, tau, error = (decimate(runs["poor"][s], 20, "matlab") for s in ("t", "torque", f"{name}.residual"))
    axis.plot(t, tau, color="0.75", lw=2, label="torque")
    axis.plot(t, tau - error, color=color, lw=0.8, label="model")
    axis.plot(t, error, "k", lw=0.5, label="error")
    axis.set(ylabel="torque [N m]", title=name, xlim=(0, 5))
axes[0].legend(ncols=3, fontsize=8, loc="upper right")
axes[2].set_xlabel("time [s]")
figure.savefig("brunot_torque.png", dpi=110)
