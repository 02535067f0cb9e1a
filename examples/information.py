"""What three torques can teach about a flexible robot, before any of them is applied.

Run it: python examples/information.py
"""

import blocksim as bs

PARAMETERS = ["robot.Fv", "robot.Fc", "robot.k1", "robot.k3", "robot.alpha", "robot.A"]
PEAK, NOISE = 30.0, 0.05  # N m, rad/s
SOURCES = {
    "a slow sine": "{type: Sine, amplitude: 30, frequency: 0.2}",
    "a multisine": "{type: Multisine, f_min: 3, f_max: 25, lines: 111, amplitude: 30, phases: optimised}",
    "random steps": "{type: RandomBinary, amplitude: 30, clock: 0.04}",
}
ROBOT = """
format: 1
simulate: {{stop: 20, solver: rk4, step: 2e-3, every: 2e-3, seed: 1}}
blocks:
  u:     {source}
  robot: {{type: TwoMassRobot, alpha: 1e3, A: 1e7, in: u}}
"""

# the same peak and the same noise for all: a rule like "1 % of the speed" would reward a torque that moves nothing
for name, source in SOURCES.items():
    info = bs.information(ROBOT.format(source=source), PARAMETERS, "robot.w_m", noise_std=NOISE)
    worst = max(info.relative_std, key=info.relative_std.get)
    print(f"{name}: the worst is {worst}, {100 * info.relative_std[worst]:.2g} %")
    print("  " + info.verdict.replace("\n", "\n  "))

# when was it learnt, and where in frequency
edges, shares = info.by_time(bins=4)
print("\nk3 by quarters of the last run:", " ".join(f"{share:.0%}" for share in shares["robot.k3"]))
f, shares = info.by_frequency()
low = shares["robot.k3"][f < 15].sum()
print(f"k3 below 15 Hz: {low:.0%}")
