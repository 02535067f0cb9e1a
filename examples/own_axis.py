"""From somebody's file to a model: a flexible axis with gravity, a current that is logged early, an arm's encoder that is late.

python examples/own_axis.py          (makes own_first.csv and own_second.csv; docs/from-csv.md tells the story)
"""

import math
from pathlib import Path

import numpy as np

import blocksim as bs

TRUTH = {"Jm": 0.0121, "Ja": 1130, "Fv": 0.013, "Fc": 0.644, "k1": 1.46e6, "k3": 3.7e10, "d": 2630, "Ms": 90, "offset": -0.4}
R, DEAD, LATE, ZERO = 1 / 224.3, 2, 3, 1e-3  # ratio; ms until a command acts; ms until the arm's angle is logged; rad


def slopes(x: np.ndarray, tau: float) -> np.ndarray:
    """Motor and arm: angles, then speeds."""
    phi, w = R * x[0] - x[1], R * x[2] - x[3]
    gear = TRUTH["k1"] * phi + TRUTH["k3"] * phi**3 + TRUTH["d"] * w
    friction = TRUTH["Fv"] * x[2] + TRUTH["Fc"] * math.tanh(2 * x[2])
    pull = tau - TRUTH["offset"] - friction - R * gear, gear - TRUTH["Ms"] * 9.81 * math.cos(x[1])
    return np.array([x[2], x[3], pull[0] / TRUTH["Jm"], pull[1] / TRUTH["Ja"]])


def recorded(name: str, points: list[float], seed: int) -> None:
    """Twenty seconds under a controller that nobody will tell us, logged at 250 Hz by a German logger. No line of blocksim."""
    t, random = np.arange(20_000) * 1e-3, np.random.default_rng(seed)
    ref = np.interp(t, np.linspace(0, 20, len(points)), points)
    ref = np.convolve(np.pad(ref, 500, mode="edge"), np.hanning(1001) / np.hanning(1001).sum(), "valid")[: len(t)]
    shake = 2 * np.sin(2 * np.pi * np.arange(1, 20, 0.35) * t[:, None] + random.uniform(0, 6.28, 55)).sum(axis=1)
    x, u, total, states = np.array([0.0, -6e-4, 0.0, 0.0]), [0.0] * DEAD, 0.0, np.empty((len(t), 4))
    for k in range(len(t)):
        states[k] = x
        error = 8 * (ref[k] - x[0]) - x[2]
        total += 1.4e-3 * error
        u.append(min(max(0.35 * error + total + shake[k], -25), 25))  # the drive saturates
        for _ in range(2):  # the midpoint rule, two steps to a millisecond
            x = x + 5e-4 * slopes(x + 2.5e-4 * slopes(x, u[k]), u[k])
    arm = np.concatenate([np.full(LATE, states[0, 1]), states[:-LATE, 1]]) + ZERO
    columns = [np.degrees(states[:, 0]), np.degrees(arm), np.array(u[DEAD:]) / 1.9]
    noise, sizes = random.standard_normal((3, len(t)))[:, ::4], (360 / 16384, 360 / 1048576, 0.02)  # sizes of steps and noise
    rows = [1e3 * t[::4], *(s * np.round(c[::4] / s + n) for c, s, n in zip(columns, sizes, noise, strict=True))]
    table = "\n".join(";".join(f"{v:.7g}" for v in row) for row in np.stack(rows, axis=1)).replace(".", ",")
    Path(name).write_text(f"Zeit [ms];Motor [deg];Arm [deg];Strom [A]\n{table}\n")


if __name__ == "__main__":
    recorded("own_first.csv", [0, 270, -60, 200, -280, 60, -150, 0], 1)
    recorded("own_second.csv", [0, -200, 150, -250, 100, -60, 120, 0], 2)
    axis = bs.load(Path(__file__).with_name("own_axis.yaml"))
    first = bs.identify(axis, "own_first.csv").estimates["ls"]
    print(first)  # it says how early the current was logged
    columns = {"torque": {"column": "Strom", "scale": 1.9, "unit": "N m", "delay": first.details["effort_lag"]["lag"]}}
    found = bs.identify(axis, "own_first.csv", columns=columns).estimates["ls"]
    print(found, *(f"{n}: {100 * (found[n].value / TRUTH[n] - 1):+.1f} %" for n in found), sep="\n")
    for mode in ("inverse", "predict"):
        held = bs.validate(axis, "own_second.csv", found, columns=columns, mode=mode)
        print(held)
        held.plot(f"own_axis_{mode}.png")
