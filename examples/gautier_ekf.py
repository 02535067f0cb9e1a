"""Figs. 5 to 28 of Gautier and Poignet (2001), with known truth: what the joint EKF makes of motion and parameters over time.

python examples/gautier_ekf.py
"""

import numpy as np
from matplotlib.figure import Figure

import blocksim as bs

# Case 2 starts from rough values, case 3 from those of least squares with six of them locked. Noise of one count.
runs = {case: bs.simulate(f"gautier2001/ekf_{case}", params={"encoder.noise_std": 1}) for case in ("case2", "case3")}

# Figs. 13 to 28: the eight parameters, with recursive least squares of the same data beside them.
figure = Figure(figsize=(9, 4.4), layout="constrained")
for number, (axis, name) in enumerate(zip(figure.subplots(2, 4, sharex=True).flat, runs["case2"].estimates["ekf"], strict=True)):
    found = runs["case2"].estimates["ekf"][name]
    truth = found.truth
    for case, color in (("case2", "#d9601a"), ("case3", "#1f6fb4")):
        axis.plot(runs[case].t, runs[case]["ekf.theta"][:, number], color=color, lw=1, label=f"EKF, {case}")
    axis.plot(runs["case2"].t, runs["case2"]["rls.theta"][:, number], color="#2a8f5b", lw=1, label="least squares")
    axis.axhline(truth, color="black", ls=":", lw=1, label="truth")
    reach = max(abs(truth), 0.05)
    axis.set(title=f"{name} [{found.unit}]", ylim=(truth - 2 * reach, truth + 2 * reach))
figure.legend(*axis.get_legend_handles_labels(), loc="outside upper center", ncols=4, fontsize=8)
figure.supxlabel("time [s]", fontsize=9)
figure.savefig("gautier_ekf.png", dpi=110)

# Figs. 5 to 12: position and speed of both joints by the filter, less encoder and true speed. Good, while the parameters are not.
figure = Figure(figsize=(9, 4.4), layout="constrained")
for joint, row in enumerate(figure.subplots(2, 2, sharex=True)):
    for axis, number, measured, label in zip(
        row,
        (joint, joint + 2),
        ("encoder", "robot.qd"),
        (f"position {joint + 1} [rad]", f"speed {joint + 1} [rad/s]"),
        strict=True,
    ):
        for (case, run), color in zip(runs.items(), ("#d9601a", "#1f6fb4"), strict=True):
            error = run["ekf.x_hat"][:, number] - run[measured][:, joint]
            axis.plot(run.t, error, color=color, lw=0.8, label=case)
            print(f"{case}: {label} is off by {np.sqrt(np.mean(error[200:] ** 2)):.2g} on average after 2 s")
        axis.set(ylabel=f"error of {label}")
axis.legend(fontsize=8)
figure.supxlabel("time [s]", fontsize=9)
figure.savefig("gautier_motion.png", dpi=110)
