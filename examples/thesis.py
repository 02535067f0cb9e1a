"""The Swedish thesis' recursion as it is printed, beside the same recursion set right, on one record with known truth.

python examples/thesis.py           friction, about half a minute
python examples/thesis.py all       all figures of docs/thesis.md
"""

import sys
from dataclasses import replace

import numpy as np

import blocksim as bs

# Right: the sensor's variance for R2, scaled parameters, no drift, a state that moves with them. From half the truth.
RIGHT = {"Ts": 2e-3, "model": "robot", "measures": "w_m", "factor": 0.5, "substeps": 2}
SLUMP = {"input": "u_slump", "slump": 1.0, "sine": 0.0, "peak": 0.0}
TUNED = {"unit": 0.0, "rpem.P0": 1.0, "rpem.R1": 0.0, "rpem.printed": "none"}
EXPERIMENTS = {
    "friction_slump": ("friction", ["Fv", "Fc"], {**SLUMP, "noise": 8e-4, "P0": [1e3, 1e3], "R1": [1e-3, 1e-3]}),  # Fig. 8.1
    "friction_sin": ("friction", ["Fv", "Fc"], {}),  # Fig. 8.4
    "stiffness_slump": ("stiffness", ["k1", "k3"], {**SLUMP, "noise": 8e-4}),  # Fig. 8.7
    "stiffness_10Nm": ("stiffness", ["k1", "k3"], {**TUNED, "rpem.scale": [2e6, 5e10]}),
    "hysteresis": ("hysteresis", ["alpha", "A"], {"input": "u_bin", "peak": 0.0, "binary": 1.0, "noise": 2.4e-3}),
}


def traces(name):
    """Estimates over time: printed (in the fourth: a right tuning, but a state that does not follow) and right."""
    bench, names, changes = EXPERIMENTS[name]
    outer = {name: value for name, value in changes.items() if "." not in name}
    diagram = bs.open_diagram(f"thesis/studies/bench_{bench}", outer)
    diagram.add("right", "RPEM", inputs={"y": "y", "u": "u.u"}, estimate=names, **RIGHT)
    record = bs.simulate(replace(diagram, log=None), params={n: v for n, v in changes.items() if n not in outer})
    bs.plot_traces(record, ["rpem", "right"], f"thesis_{name}.png")
    for block in ("rpem", "right"):
        for one in record.estimates[block].values():
            print(f"{name}, {block}: {one.name} is off by {100 * one.relative_error:.3g} %, {one.z:.1f} standard deviations")


def losses():
    """Figures 8.18 and 8.19 to 8.21: V over the backlash q for four noises, the thesis' rule being 7.9 rad/s."""
    from matplotlib.figure import Figure

    q = np.linspace(0.6e-3, 1.4e-3, 41)
    speeds = bs.simulate_many("thesis/backlash", params={"robot.q": list(q)}, collect=lambda r: r["robot.w_m"])
    readings = bs.simulate_many("thesis/backlash", seeds=range(1, 5), collect=lambda r: r["y.w_hat"])
    axes = (figure := Figure(figsize=(8, 3), layout="constrained")).add_subplot()
    for y in readings:
        V = np.array([np.mean((y - w) ** 2) for w in speeds])
        axes.plot(1e3 * q, V - V.min(), lw=1.1, label=f"least at {1e3 * q[np.argmin(V)]:.2f} mrad")
    axes.axvline(1.0, color="#444444", ls=":")
    axes.set(xlabel="q [mrad]", ylabel="V - least V [rad²/s²]", ylim=(0, 1.2))
    axes.legend(loc="upper center", framealpha=1, edgecolor="none", fontsize=8)
    figure.savefig("thesis_backlash.png", dpi=110)


for name in EXPERIMENTS if sys.argv[1:] else ["friction_sin"]:
    traces(name)
if sys.argv[1:]:
    losses()
