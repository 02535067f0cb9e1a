"""Gautier and Poignet (2001), Table 1, with known truth: what filtering does to weighted least squares. Fig. 4.

python examples/gautier2001.py
"""

import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt

import blocksim as bs

# All pipelines see the same run. In brackets the relative standard deviation of equation (10), which shows no bias.
record = bs.simulate("gautier2001/wls")
for name in ("unfiltered", "forward", "full", "essential"):
    found = record.estimates[name]
    print(name)
    for (parameter, one), std in zip(found.items(), found.details["std_white"], strict=True):
        print(f"  {parameter:5} {one.value:8.4f} ({100 * std / abs(one.value):6.1f} %)   truth {one.truth:g}")

# The acceleration that each makes of one encoder, beside the truth, and what its regressor makes of the torque of joint 1.
t, part = record.t, slice(300, 520)
figure, axes = plt.subplots(3, 1, figsize=(8, 6.4), sharex=True, constrained_layout=True)
ways = {
    "unfiltered": ("accel1", "#b9c3cc"),
    "forward only": ("accel2", "#d9601a"),
    "forward and backward": ("motion.qdd", "#1f6fb4"),
}
for joint, limit in ((0, 9), (1, 6)):
    for label, (signal, color) in ways.items():
        axes[joint].plot(t[part], record[signal][part, joint], color=color, lw=1, label=label)
    axes[joint].plot(t[part], record["ref.qdd"][part, joint], "k--", lw=1, label="reference")
    axes[joint].set(ylabel=f"acceleration {joint + 1} [rad/s²]", ylim=(-limit, limit))
axes[0].legend(ncols=4, fontsize=8, loc="upper center")
axes[2].plot(t[part], record["pd"][part, 0], color="#b9c3cc", lw=1, label="torque of motor 1")
for name, color in (("unfiltered", "#d9601a"), ("full", "#1f6fb4")):
    axes[2].plot(t[part], record[f"{name}.tau_model"][part, 0], color=color, lw=1, label=f"model, {name}")
axes[2].set(xlabel="time [s]", ylabel="torque [N m]", ylim=(-16, 17))
axes[2].legend(ncols=3, fontsize=8, loc="upper center")
figure.savefig("gautier_filters.png", dpi=110)

# Fig. 4: the torques of both motors, as the controller recorded them.
figure, axes = plt.subplots(2, 1, figsize=(8, 3.6), sharex=True, constrained_layout=True)
for joint, axis in enumerate(axes):
    axis.plot(t, record["pd"][:, joint], color="#1f6fb4", lw=0.8)
    axis.set(ylabel=f"torque {joint + 1} [N m]")
axes[1].set(xlabel="time [s]", xlim=(0, 16))
figure.savefig("gautier_torques.png", dpi=110)
