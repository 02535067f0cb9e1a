"""A record is time plus named signals with units: cut it, put it on another grid, keep it in a file.

python examples/records.py
"""

import tempfile
from pathlib import Path

import numpy as np

from blocksim.records.record import Grid, Record, Signal

# What a simulation returns: a joint logged at 1 kHz and an encoder read at 50 Hz, each on its own grid.
t = np.arange(2001) / 1000
slow = np.arange(101) / 50
joint = Grid(t, {"joint.q": Signal(np.sin(np.pi * t), "rad", "joint angle")})
counts = np.round(np.sin(np.pi * slow) / 0.01) * 0.01
# `hold`: between two readings the encoder keeps its value. `measured`: a real sensor could deliver it.
encoder = Grid(slow, {"encoder.q_hat": Signal(counts, "rad", "quantised angle", measured=True, hold=True)})
record = Record([joint, encoder])
print(record)

# A block with one output may be named without it; each signal knows its own time.
print("readings:", len(record["encoder"]), "every", record.time("encoder")[1], "s, in", record.unit("encoder"))

# Cut by time (both ends included) or by samples of the main grid.
swing = record.between(0.5, 1.5)
print("from", swing.t[0], "to", swing.t[-1], "s:", len(swing.t), "samples")
print("the first hundred samples end at", record[:100].t[-1], "s")

# One grid for all: lines between the samples of the joint, the held value of the encoder.
# An interval is exact: "1/3" is a third of a second, 1e-3 a thousandth.
table = record.resample(every="1/200")
error = table["encoder"] - table["joint.q"]
print(f"{len(table.t)} common samples, the encoder is off by at most {np.abs(error).max():.3f} rad")

with tempfile.TemporaryDirectory() as folder:
    # npz and mat keep every grid; csv and parquet are one table, so they take an interval.
    record.save(Path(folder) / "run.npz")
    record.save(Path(folder) / "run.csv", every=0.02)
    back = Record.load(Path(folder) / "run.npz")
    print("as it was:", np.array_equal(back["joint.q"], record["joint.q"]) and back.signal("encoder").hold)

    # A measurement from elsewhere needs a time called t or time; units may stand in the header.
    (Path(folder) / "lab.csv").write_text("time,q [rad],tau [N m]\n0,0.00,1.5\n0.1,0.02,1.4\n0.2,0.05,1.4\n")
    print(Record.load(Path(folder) / "lab.csv"))

# Arrays already in Python become a record in one line.
print(Record.from_arrays(t, q=np.cos(t), units={"q": "rad"}))
