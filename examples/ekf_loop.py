"""A Kalman filter beside and inside a loop, and a smoother after it: speed and torque of the joint of Tout 2022, Fig. 3.

python examples/ekf_loop.py            # prints a table and writes ekf_loop.png
"""

from dataclasses import replace

import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt
import numpy as np

import blocksim as bs

# The controller acts on the encoder; the filter works beside it, and a smoother goes back over its estimates after the run.
diagram = replace(bs.open_diagram("tout2022/ekf_beside"), log=None)
diagram.add("smooth", "RTSSmoother", ekf="ekf", inputs={"x_hat": "ekf.x_hat", "P": "ekf.P", "u": "pid"})
inside = bs.open_diagram("tout2022/ekf_in_loop")  # the controller acts on the filter's estimates


def rms(estimate, record):
    """Error of a speed [rad/s], without the first tenth of a second in which the filter finds its start."""
    return np.sqrt(np.mean((estimate - record["joint.qd"])[record.t > 0.1] ** 2))


print("error of the speed in rad/s; factor: parameters in the filter over true ones")
for factor in (1.0, 0.7, 1.3):
    record = bs.simulate(diagram, params={"ekf.factor": factor})
    quantised = np.diff(record["encoder"], prepend=0.0) / 1e-3
    errors = [
        rms(s, record) for s in (quantised, np.gradient(record["encoder"], 1e-3), record["ekf.qd_hat"], record["smooth.qd_s"])
    ]
    words = ("backward difference", "central", "EKF", "RTS smoother")
    print(f"factor {factor}: " + ", ".join(f"{w} {e:.3f}" for w, e in zip(words, errors, strict=True)), end="")
    print(f"; mean nis {record['ekf.nis'].mean():.2f}")

beside, loop = bs.simulate(diagram), bs.simulate(inside)
rough = [np.std(np.diff(r["pid"])) * 1e3 for r in (beside, loop)]
print(f"torque from sample to sample: {rough[0]:.1f} mN m on the encoder, {rough[1]:.1f} mN m on the filter")

# Fig. 3: a stretch of the run, so that single counts of the encoder can be seen.
shown = (beside.t >= 1.05) & (beside.t <= 1.3)
t = beside.t[shown]
figure, (top, below) = plt.subplots(2, 1, figsize=(8, 5.5), sharex=True, layout="constrained")
quantised = np.diff(beside["encoder"], prepend=0.0) / 1e-3
top.plot(t, quantised[shown], color="tab:orange", lw=0.6, label="encoder, differentiated")
top.plot(t, beside["ekf.qd_hat"][shown], color="tab:blue", lw=1.2, label="EKF")
top.plot(t, beside["joint.qd"][shown], color="black", lw=1.0, ls="--", label="true")
top.set_ylabel("speed [rad/s]")
below.plot(t, beside["pid"][shown], color="tab:orange", lw=0.6, label="PID on the encoder")
below.plot(t, loop["pid"][shown], color="tab:blue", lw=1.2, label="PID on the EKF")
below.set(ylabel="torque [N m]", xlabel="time [s]")
for axes, corner in ((top, "upper left"), (below, "lower right")):
    axes.legend(loc=corner, fontsize=8)
    axes.grid(alpha=0.3)
figure.savefig("ekf_loop.png", dpi=110)
