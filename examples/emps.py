"""The EMPS from its published record: least squares, DIDIM, instruments, and what a better friction law does. Three figures.

BLOCKSIM_DATA=folder python examples/emps.py     # emps/DATA_EMPS.mat in that folder; without it, the simulated loop
"""

import os
from pathlib import Path

import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt
import numpy as np

import blocksim as bs

measured = (Path(os.environ.get("BLOCKSIM_DATA", "")) / "emps" / "DATA_EMPS.mat").exists()
print("the published record" if measured else "no record in BLOCKSIM_DATA: the simulated loop")
run = bs.identify if measured else bs.simulate  # the same pipelines
records = {name: run(f"emps/{name}") for name in ("least_squares", "asymmetric", "didim", "instrumental")}
for record in records.values():
    for name, found in record.estimates.items():
        print(f"{name:8}", *(f"{n} {e.value:.4f}" for n, e in found.items()), f"{found.details['relative_error']:.2f} %")
LAWS = {"one_law": ("one law for both directions", "#1f6fb4"), "ls": ("friction by direction", "#d9601a")}
rows = records["asymmetric"]  # either law, on the same rows
t, qd, qdd, force = rows.t, rows["motion.qd"], rows["motion.qdd"], 35.15065188 * rows["force"]

# The force over time, and what each friction law leaves of it: a mean over 50 ms shows what is no noise.
figure, axes = plt.subplots(2, 1, figsize=(8, 4.6), sharex=True, constrained_layout=True)
axes[0].plot(t, force, color="0.4", lw=0.7)
axes[0].set(ylabel="measured force [N]", xlim=(0.1, 8), title="Force, and what the models leave of it", ylim=(-170, 170))
for name, (label, color) in LAWS.items():
    axes[1].plot(t, np.convolve(rows[f"{name}.residual"], np.full(50, 0.02), "same"), color=color, lw=1, label=label)
axes[1].set(xlabel="time [s]", ylabel="residual, mean of 50 ms [N]", ylim=(-7, 11))
axes[1].legend(loc="upper right", ncols=2)
figure.savefig("emps_force.png", dpi=110)

# Friction as it is, both directions folded onto one another: the force less inertia where the speed is steady.
figure, axis = plt.subplots(figsize=(8, 3.8), constrained_layout=True)
friction, speed = force - rows.estimates["ls"]["M"].value * qdd, np.linspace(0, 0.13, 50)
for side, word, marker, grey in ((1, "forward", "o", "0.45"), (-1, "backward", "x", "0.7")):
    steady = (side * qd > 0.02) & (np.abs(qdd) < 0.1) & (np.arange(len(t)) % 20 == 0)
    axis.plot(np.abs(qd[steady]), side * friction[steady], marker, ms=3, color=grey, label=f"measured, {word}")
    for name, (label, color) in LAWS.items():
        p = {n: e.value for n, e in rows.estimates[name].items()}
        law = (p["Fv"] + side * p.get("Fa", 0)) * speed + p["Fc"] + side * p["offset"]
        axis.plot(speed, law, color=color, ls="-" if side > 0 else "--", label=f"{label}, {word}")
axis.set(xlabel="|speed| [m/s]", ylabel="|force - M qdd| [N]", ylim=(0, 60), title="Friction in both directions")
axis.legend(fontsize=8, loc="lower right", ncols=2)
figure.savefig("emps_friction.png", dpi=110)

# Structure against filters: every choice of decimation, with either law, on the published rows and on those of the pipeline.
(figure, axis), factors = plt.subplots(figsize=(8, 3.6), constrained_layout=True), (2, 5, 10, 20, 50, 100)
for settings, style, which in (({"window": 1, "slow": 0, "end": 0}, "o-", "published rows"), ({}, "s--", "chosen rows")):
    many = [run("emps/asymmetric", params={**settings, "factor": n}).estimates for n in factors]
    for name, (label, color) in LAWS.items():
        axis.semilogx(factors, [e[name].details["relative_error"] for e in many], style, color=color, label=f"{label}, {which}")
axis.set(xlabel="decimation factor", ylabel="error of the force [%]", ylim=(0, 5), xticks=factors, xticklabels=factors)
axis.legend(fontsize=8, ncols=2, loc="lower left")
figure.savefig("emps_structure.png", dpi=110)
