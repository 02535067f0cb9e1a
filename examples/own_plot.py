"""A plot of one's own: a function of a record that returns a figure; bs.plot chooses the signals and writes the file.

python examples/own_plot.py
"""

import numpy as np
from matplotlib.figure import Figure

import blocksim as bs


def spectrum(record):
    """The amplitude of every signal over frequency."""
    figure = Figure(figsize=(7, 4), layout="constrained")
    axes = figure.subplots()
    for name in record:
        t, y = record.time(name), record[name]
        amplitude = np.abs(np.fft.rfft(y - y.mean())) * 2 / len(t)
        axes.loglog(np.fft.rfftfreq(len(t), t[1] - t[0])[1:], amplitude[1:], label=f"{name} [{record.unit(name)}]")
    axes.set(xlabel="frequency [Hz]", ylabel="amplitude", ylim=(1e-6, 10))
    axes.legend()
    return figure


record = bs.simulate("""
format: 1
simulate: {stop: 20, solver: rk4, step: 1e-3}
blocks:
  wave:  {type: Sine, amplitude: 0.5, frequency: 2.0}
  joint: {type: GravityJoint, J: 0.02, Fv: 0.05, Fc: 0.1, Ms: 0, N: 1, in: wave}
""")

# The last ten seconds are 20 whole periods, so the sine is one line and leaks into no other.
steady = record.between(10, 19.9995)
figure = bs.plot(steady, ["wave", "joint.qd"], path="spectrum.png", kind=spectrum)

# Dry friction is odd: what it adds to the speed stands at odd multiples of 2 Hz.
f, speed = (line for line in figure.axes[0].lines[1].get_data())
for multiple in (1, 2, 3, 4, 5):
    print(f"{2 * multiple:3d} Hz: {speed[np.abs(f - 2 * multiple).argmin()]:.2e} rad/s")

# A package gives its plots a name, bs.plot(record, kind="spectrum"): docs/extending.md.
print("spectrum.png written")
