"""Figs. 5 and 6 of Tout 2022: what five methods find, over the confidence in the filter's model and what is put into it.

python examples/tout_sweep.py [fig5 fig6]    # a coarse sweep of its own, or folders that blocksim study wrote
"""

import csv
import sys
from pathlib import Path

import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt

import blocksim as bs

if len(sys.argv) == 3:
    folders = sys.argv[1:]
else:  # few points, so that it takes seconds
    sweep = {"factor": [0.7, 1.3], "sigma_w2": [1e-2, 1, 1e4], "ekf.R": [8.2247e-7]}
    both = {name: {"diagram": f"tout2022/methods_{name}"} for name in ("beside", "in_loop")}
    folders = [bs.run_study({"study": "Coarse", "methods": both, "sweep": sweep}, out="coarse").folder] * 2
fig5, fig6 = (list(csv.DictReader((Path(f) / "estimates.csv").read_text(encoding="utf-8").splitlines())) for f in folders)


def curve(axis, lines, **style):
    """Estimates as multiples of the truth over sigma_w2, as in the paper; a run that diverged is not there and leaves a gap."""
    lines = [line for line in lines if not line["reason"].startswith(("diverged", "stopped", "not converged"))]
    found = {float(line["sigma_w2"]): float(line["value"] or "nan") / float(line["truth"]) for line in lines}
    xs = sorted({float(line["sigma_w2"]) for line in fig6})
    axis.semilogx(xs, [found.get(x, float("nan")) for x in xs], ms=3, lw=1.2, **style)


# Fig. 5: one parameter, Method 3, a curve for each R. They are copies of one another, shifted.
figure, axis = plt.subplots(figsize=(8, 3.4), layout="constrained")
own = [line for line in fig5 if line["parameter"] == "Ms" and line["method"].endswith("method3")]
for R in sorted({line["ekf.R"] for line in own}, key=float):
    curve(axis, [line for line in own if line["ekf.R"] == R], marker="o", label=f"R = {float(R) / 8.2247e-7:g} R0")
axis.set(xlabel="sigma_w2", ylabel="Ms found / true", title="Method 3")
figure.legend(loc="outside right center", fontsize=8)
figure.savefig("tout_fig5.png", dpi=110)

# Fig. 6: a row for each parameter; methods with a filter beside those without (grey).
figure, axes = plt.subplots(4, 3, figsize=(9, 9), sharex=True, layout="constrained")
columns = (("method3", "method1"), ("method4", "method1"), ("method5", "method2"))
factors = sorted({line["factor"] for line in fig6}, key=float)
for row, name in zip(axes, ("J", "Fv", "Fc", "Ms"), strict=True):
    for axis, (method, plain) in zip(row, columns, strict=True):
        for number, factor in enumerate(factors):
            own = [line for line in fig6 if line["parameter"] == name and line["factor"] == factor]
            axis.axhline(float(factor), color=f"C{number}", lw=0.6, ls="--")
            curve(axis, [line for line in own if line["method"].endswith(method)], color=f"C{number}", marker="o", label=factor)
        curve(axis, [line for line in own if line["method"].endswith(plain)], color="0.5", label="no filter")
        axis.axhline(1, color="black", lw=1)
        axis.set(ylim=(0.89, 1.11) if method == "method5" else (-0.6, 2.6), title=f"{name}, {method}")
    row[0].set_ylabel(f"{name} found / true")
figure.supxlabel("sigma_w2")
figure.legend(*axes[0, 0].get_legend_handles_labels(), loc="outside upper center", ncols=6, title="beta_EKF / beta", fontsize=8)
figure.savefig("tout_fig6.png", dpi=110)
print(f"{len(fig5)} and {len(fig6)} estimates drawn in tout_fig5.png and tout_fig6.png")
