"""Fig. 6.1 of the Swedish thesis: starting values from the frequency response, and what bends it.

python examples/thesis_response.py
"""

import numpy as np
from matplotlib.figure import Figure

import blocksim as bs
from blocksim.studies.file import load_study

# The diagram of the study. A linear robot has one response whatever the torque: a notch at 36 rad/s, a resonance at 61.
AXIS = load_study("thesis/studies/starting_values").diagram
LINEAR = {"robot.Fc": 0.0, "robot.k3": 0.0, "noise": 0.0}

axes = (figure := Figure(figsize=(8, 3.4), layout="constrained")).add_subplot()
for label, params in {"linear robot": LINEAR, "1 N m": {"peak": 1}, "3 N m": {"peak": 3}, "30 N m": {"peak": 30}}.items():
    found = bs.simulate(AXIS, params=params).estimates["response"]
    style = {"color": "black", "lw": 2, "alpha": 0.6} if params is LINEAR else {"marker": "o", "ms": 3, "lw": 0.9}
    axes.loglog(found.details["w"], np.abs(found.details["response"]), label=label, **style)
    # Friction flattens the resonance under a small torque, the cubic spring moves it under a large one.
    if "k1" in found and np.isfinite(found["k1"].value):
        words = ", ".join(f"{n} {100 * found[n].relative_error:+.1f} %" for n in ("Jm", "Ja", "k1"))
        print(f"{label}: notch {found['notch'].value:.1f}, resonance {found['resonance'].value:.1f} rad/s; {words}")
    else:
        print(f"{label}: {found.reason}")
for w in (35.9, 60.8):
    axes.axvline(w, color="0.7", ls=":", lw=1)
axes.set(xlabel="frequency [rad/s]", ylabel="|w_m / u| [rad/s per N m]")
axes.set_yticks([0.2, 0.5, 1, 2, 5], ["0.2", "0.5", "1", "2", "5"])
axes.minorticks_off()
axes.legend(fontsize=8)
figure.savefig("thesis_response.png", dpi=110)
