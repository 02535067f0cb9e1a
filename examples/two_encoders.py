"""From a CSV to a model you can trust: one flexible axis with an encoder at the motor and a late one at the arm.

python examples/two_encoders.py
"""

from pathlib import Path

import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt

import blocksim as bs

AXIS, RATE = "two_mass/two_encoders", {"Ts": 4e-3}
COLUMNS = {"ref.q": "ref", "shake": "shake", "load": "load", "torque": "torque", "motor": "motor", "arm": "arm"}

# Two records as a laboratory would write them. Here they are simulated, so that the answer is known.
bare = bs.load(AXIS).text.partition("  twist:")[0] + "log: [ref.q, shake, load, torque, motor, arm]\n"
other = {"ref.points": [0, -200, 150, -250, 100, -60, 120, 0]}  # the second record has another motion
for seed, name, more in ((1, "first.csv", {}), (2, "second.csv", other)):
    made = bs.simulate(bare, params={**RATE, **more}, seed=seed)
    arrays = {column: made[signal] for signal, column in COLUMNS.items()}
    units = {"motor": "rad", "arm": "rad", "torque": "N m", "load": "N m", "ref": "rad", "shake": "N m"}
    bs.Record.from_arrays(made.t, arrays, units=units).save(name)

# 1. Look. Two encoders of one axis are compared before anything is fitted.
first = bs.Record.load("first.csv")
pair = bs.compare_encoders(first.t, first["motor"], first["arm"], 1 / 224.3, load=first["load"], names=("motor", "arm"))
print(pair)

# 2. Identify: the gear from both encoders, then the whole loop. Lag and zero are parameters like others.
found = bs.identify(AXIS, "first.csv", columns=COLUMNS, params=RATE)
print(found.estimates["whole"])
found.estimates["whole"].save("whole.json")

# 3. Judge by a record that was not used.
held = bs.validate(AXIS, "second.csv", "whole.json", columns=COLUMNS, params=RATE, initial="diagram")
print(held)
held.plot("two_encoders_held.png")

# What the two encoders say of the gear, before and after lag and zero are taken away.
figure, axes = plt.subplots(figsize=(8, 3), layout="constrained")
twist = 1e3 * (first["motor"] / 224.3 - first["arm"])
put_right = bs.Record.from_arrays(first.t, a=first["arm"] - pair.zero).resample(first.t[:-1] + pair.lag, method="cubic")
axes.plot(first.t, twist, color="0.7", label="as recorded")
axes.plot(first.t[:-1], 1e3 * (first["motor"][:-1] / 224.3 - put_right["a"]), linewidth=0.8, label="lag and zero taken away")
axes.set(xlabel="time [s]", ylabel="twist of the gear [mrad]", xlim=(2, 8))
axes.legend()
figure.savefig("two_encoders_twist.png", dpi=120)
print("wrote", ", ".join(str(p) for p in sorted(Path().glob("two_encoders_*.png"))))
