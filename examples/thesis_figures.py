"""Figures 8.10, 8.16 and 8.19 to 8.23 of the Swedish thesis: an error that tells nothing, a locked arm, a search over the gap.

python examples/thesis_figures.py           20 s of each
python examples/thesis_figures.py all       8.23 with its 1000 s, half a minute
"""

import sys

import numpy as np
from matplotlib.figure import Figure

import blocksim as bs

MULTISINE = {"peak": 0, "white": 0.424, "noise": 9.5e-4}  # (8.19)


def prediction_error(axis):
    """Fig. 8.10: it falls to the noise while k1 arrives; k3 is a third off then, and nothing is left that would tell."""
    record = bs.simulate(bs.open_diagram("thesis/studies/bench_stiffness", MULTISINE))
    error, std = record["rpem.error"].ravel(), MULTISINE["noise"]
    axis.plot(record.t, error, lw=0.4, color="#1f6fb4")
    axis.axhspan(-2 * std, 2 * std, color="0.85", zorder=0, label="95 % of the noise")
    axis.set(xlabel="time [s]", ylabel="prediction error [rad/s]", title="8.10", ylim=(-0.012, 0.012))
    axis.legend(loc="upper right", fontsize=8)
    ends = ", ".join(f"{e.name} {100 * e.relative_error:+.2g} %" for e in record.estimates["rpem"].values())
    print(f"8.10: over the last 10 s the error is {np.std(error[-5000:]) / std:.3f} of the noise; {ends}")


def locked(axis):
    """Fig. 8.16: torque of the gear over its wind-up, with its two parts, arm locked."""
    record = bs.simulate("thesis/arm_locked")
    late, turn = record.t > 2, 1e3 * record["robot.torsion"]
    for name, label in (("tau_s", "gear"), ("z", "of it hysteresis")):
        axis.plot(turn[late], 1e-3 * record[f"robot.{name}"][late], lw=1, label=label)
    axis.set(xlabel="wind-up of the gear [mrad]", ylabel="torque [kN m]", title="8.16")
    axis.legend(loc="upper left", fontsize=8)
    found = record.estimates["cloe"].values()
    print("8.16:", ", ".join(f"{e.name} {100 * e.relative_error:+.2g} %, z {e.z:+.1f}" for e in found))


def searches(upper, axis, runs):
    """Figs. 8.19 to 8.21 and 8.23: V and q over the iterations of the printed search, for some noises and lengths."""
    for stop, seed in runs:
        found = bs.simulate("thesis/backlash_search", params={"method": "gradient"}, seed=seed, stop=stop).estimates["hybrid"]
        upper.plot(found.details["loss"], ".-", lw=1)
        axis.plot(1e3 * found.details["history"][:, 0], ".-", lw=1, label=f"{stop} s, seed {seed}")
        print(f"8.19-8.23: {stop} s: q = {1e3 * found['q'].value:.4f} mrad ± {1e3 * found['q'].std:.4f}")
    axis.axhline(1, color="black", ls=":", lw=1)
    axis.set(xlabel="iteration", ylabel="q [mrad]")
    upper.set(ylabel="V [rad²/s²]", title="8.19 to 8.23")
    axis.legend(loc="lower right", fontsize=8)


axes = (figure := Figure(figsize=(11, 4), layout="constrained")).subplot_mosaic([["8.10", "8.16", "V"], ["8.10", "8.16", "q"]])
axes["V"].sharex(axes["q"])
prediction_error(axes["8.10"])
locked(axes["8.16"])
searches(axes["V"], axes["q"], [(20, 1), (20, 2), (20, 3), (1000, 1)] if sys.argv[1:] else [(20, 1)])
figure.savefig("thesis_figures.png", dpi=110)
