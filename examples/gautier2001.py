"""Gautier and Poignet (2001) with known truth: what filtering does to least squares, and a joint EKF on the same robot. Figures.

    python examples/gautier2001.py
"""

import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt
import numpy as np

import blocksim as bs

record = bs.simulate("gautier2001/wls")
for name in ("unfiltered", "forward", "full", "essential"):
    found = record.estimates[name]
    white = found.details["std_white"]  # equation (10)
    print(f"{name:10}", *(f"{n} {e.value:.3g} ({100 * s / abs(e.value):.2g} %)" for (n, e), s in zip(found.items(), white, strict=True)))

# The acceleration each of the three makes of one encoder, beside the truth, and the regressor's fit of the torque of joint 1.
t, part = record.t, slice(300, 520)
figure, axes = plt.subplots(3, 1, figsize=(8, 6.4), sharex=True, constrained_layout=True)
ways = {"unfiltered": ("accel1", "#b9c3cc"), "forward only": ("accel2", "#d9601a"), "forward and backward": ("motion.qdd", "#1f6fb4")}
for joint in (0, 1):
    for label, (signal, color) in ways.items():
        axes[joint].plot(t[part], record[signal][part, joint], color=color, lw=1, label=label)
    axes[joint].plot(t[part], record["robot.qdd"][part, joint], "k--", lw=1, label="truth")
    axes[joint].set(ylabel=f"acceleration {joint + 1} [rad/s²]", ylim=[(-11, 11), (-14, 14)][joint])
axes[0].legend(ncols=4, fontsize=8, loc="upper center")
axes[2].plot(t[part], record["pd"][part, 0], color="#b9c3cc", lw=1, label="torque of motor 1")
for name, color in (("unfiltered", "#d9601a"), ("full", "#1f6fb4")):
    axes[2].plot(t[part], record[f"{name}.tau_model"][part, 0], color=color, lw=1, label=f"model, {name}")
axes[2].set(xlabel="time [s]", ylabel="torque [N m]")
axes[2].legend(ncols=3, fontsize=8, loc="upper center")
figure.savefig("gautier_filters.png", dpi=110)

# Figs. 5 to 28: speeds of cases 2 and 3 of the EKF, and its parameters on their way, with recursive least squares beside them.
cases = {name: bs.simulate(f"gautier2001/{name}") for name in ("ekf_case2", "ekf_case3")}
figure, axes = plt.subplots(2, 2, figsize=(8, 4.6), sharex=True, constrained_layout=True)
for row, (name, run) in zip(axes, cases.items(), strict=True):
    for joint, axis in enumerate(row):
        axis.plot(run.t, run["ekf.x_hat"][:, 2 + joint], color="#d9601a", lw=1, label="EKF")
        axis.plot(run.t, run["robot.qd"][:, joint], "k--", lw=0.8, label="truth")
        axis.set(title=f"{name[4:]}, joint {joint + 1}", ylabel="speed [rad/s]", ylim=(-3, 3))
    row[0].set_xlim(0, 8)
for axis in axes[1]:
    axis.set_xlabel("time [s]")
axes[0, 0].legend(fontsize=8, loc="upper left")
figure.savefig("gautier_speeds.png", dpi=110)
