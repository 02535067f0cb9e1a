"""What a sum of squares can see: k3, hysteresis and backlash of the Swedish thesis, Figs. 8.11, 8.15, 8.17, 8.18 and 8.22.

python examples/thesis_losses.py           hysteresis
python examples/thesis_losses.py all       all three panels, with 1000 s of backlash
"""

import sys

import numpy as np
from matplotlib.figure import Figure

import blocksim as bs

SHARES = [0.5, 0.8, 0.9, 0.95, 0.98, 1.02, 1.05, 1.1, 1.2, 1.5]
# Settings of the torques: low-pass noise of the thesis, and (8.26), which crosses the gap slowly.
SLUMP = {"slump": 1, "sine": 0, "peak": 0}
GAP = {"robot.backlash": "thesis", "sine": 100, "u.sine.frequency": 0.4, "noise": 7.9}
HYSTERESIS = {name: (name, {**SLUMP, "noise": 6.8e-4}) for name in ("alpha", "A")}
LONG = {**GAP, "stop": 1000}
BACKLASH = {"low-pass noise": ("q", {**GAP, **SLUMP, "noise": 8e-4}), "100 N m, 20 s": ("q", GAP), "1000 s": ("q", LONG)}


def speeds(bench, name, shares, stop=20, **params):
    """The motor's speed with one parameter of the robot at shares of its truth, in standard deviations of the sensor."""
    diagram = bs.open_diagram(f"thesis/studies/bench_{bench}", {n: v for n, v in params.items() if "." not in n})
    del diagram.nodes["rpem"]  # the recursion is not needed here
    diagram.log = [entry for entry in diagram.log if entry.signal == "robot.w_m"]
    truth = {**diagram.nodes["robot"].block.settings, "q": 1e-3}[name]
    table = [{**{n: v for n, v in params.items() if "." in n}, f"robot.{name}": share * truth} for share in shares]
    found = bs.simulate_many(diagram, params=table, stop=stop, collect=lambda r: r["robot.w_m"])
    return np.array(found) / diagram.nodes["y"].block.settings["std"]


def loss(axis, bench, curves):
    """How much the sum of squares grows beside the truth; below 4, two standard deviations, it is luck."""
    for label, (name, params) in curves.items():
        found = speeds(bench, name, [1.0, *SHARES], **params)
        growth = ((found[1:] - found[0]) ** 2).sum(axis=1)
        axis.semilogy(SHARES, growth, ".-", lw=1, label=label)
        print(f"{label}: the sum of squares grows by {growth[4]:.3g} noise variances at 0.98 of the truth")
    axis.axhline(4, color="0.5", ls=":")
    axis.set(xlabel="share of the truth", ylabel="growth [noise variances]", ylim=(1e-3, 1e12))


def gradient(axis):
    """The gradient of k3, Fig. 8.11, for the thesis' multisine and for one that reaches the resonance."""
    for label, params in {"1 N m": {"peak": 0, "white": 0.424, "noise": 9.5e-4}, "10 N m": {}}.items():
        above, below = speeds("stiffness", "k3", [1.001, 0.999], **params)
        axis.semilogy(2e-3 * np.arange(len(above)), np.abs(above - below) / 2e-3 + 1e-9, lw=0.5, label=f"k3, {label}")
    axis.set(xlabel="time [s]", ylabel="|gradient| [noise std per 100 %]", ylim=(1e-6, 1e4))


wanted = [(gradient,), (loss, "hysteresis", HYSTERESIS), (loss, "friction", BACKLASH)][
    slice(None) if sys.argv[1:] else slice(1, 2)
]
figure = Figure(figsize=(3.6 * len(wanted), 3.2), layout="constrained")
for axis, (draw, *given) in zip(figure.subplots(1, len(wanted), squeeze=False)[0], wanted, strict=True):
    draw(axis, *given)
    axis.legend(loc="upper right", fontsize=8)
figure.savefig("thesis_losses.png", dpi=110)
