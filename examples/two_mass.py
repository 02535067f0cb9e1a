"""A flexible robot axis: two masses, a nonlinear spring, friction that sticks, hysteresis and backlash, each on its own.

python examples/two_mass.py
"""

import inspect

import numpy as np

import blocksim as bs

AXIS = """
format: 1
simulate: {stop: 4, solver: rk4, step: 0.001}
blocks:
  torque: {type: Chirp, amplitude: 20.0, f_start: 0.25, f_end: 12.0, duration: 4.0}
  robot:  {type: TwoMassRobot, in: torque}
"""

# Every effect is off where its parameter is 0. What each one changes in the motor's speed:
plain = bs.simulate(AXIS)["robot.w_m"]
EFFECTS = {
    "hysteresis": {"robot.alpha": 1e3, "robot.A": 1e7},
    "backlash, as in the thesis": {"robot.q": 1e-3},
    "backlash that never pulls": {"robot.q": 1e-3, "robot.backlash": "elasto"},
    "dry friction that sticks": {"robot.friction": "sign"},
    "the arm's weight and an offset": {"robot.Ms": 5.0, "robot.offset": 0.3},
    "no friction": {"robot.Fv": 0.0, "robot.Fc": 0.0},
}
for name, change in EFFECTS.items():
    changed = bs.simulate(AXIS, params=change)["robot.w_m"]
    print(f"{name}: the speed changes by {100 * np.std(changed - plain) / np.std(plain):.1f} %")

# A weak torque: the true law stands still for good, the smooth one creeps.
WEAK = AXIS.replace("Chirp, amplitude: 20.0, f_start: 0.25, f_end: 12.0, duration: 4.0", "Constant, value: 0.6")
for law in ("sign", "tanh"):
    record = bs.simulate(WEAK, params={"robot.friction": law})
    print(f"0.6 N m against 0.644 N m of {law} friction turns the motor by {record['robot.phi_m'][-1]:.3f} rad")

# Around rest the axis is linear: a notch where the arm swings alone, a resonance where both masses swing against each other.
w = np.linspace(20, 80, 6001)
model = bs.linearize(AXIS, inputs="torque", outputs="robot.w_m", params={"robot.d": 0.0, "robot.Fc": 0.0})
size = abs(np.squeeze(model.frequency_response(w))) * w
print(f"notch {w[size.argmin()]:.1f} rad/s, sqrt(k1/Ja) = {np.sqrt(1.46e6 / 1.13e3):.1f}")
both = np.sqrt(1.46e6 * (1 / 1.13e3 + 4.46e-3**2 / 1.21e-2))
print(f"resonance {w[size.argmax()]:.1f} rad/s, sqrt(k1 (1/Ja + r^2/Jm)) = {both:.1f}")

# The inverse dynamic model is linear in the parameters it names: the rows of the motor and of the arm times them are (tau, 0).
# Least squares on the true signals, accelerations by differences; z is 0 and A has nothing to multiply, so it is left out.
record = bs.simulate(AXIS)
robot = bs.library()["TwoMassRobot"]
signals = {name: record[f"robot.{name}"] for name in ("phi_m", "w_m", "phi_a", "w_a", "z")}
signals |= {f"d{name}": np.gradient(signals[name], record.t) for name in ("w_m", "w_a")}
known = {**robot().settings, **signals}
rows = robot.regressor(**{name: known[name] for name in inspect.signature(robot.regressor).parameters})[..., :7]
torque = np.stack([record["torque"], np.zeros(len(record.t))], axis=-1)
scale = abs(rows).max(axis=(0, 1))
estimate = np.linalg.lstsq((rows / scale).reshape(-1, 7), torque.ravel(), rcond=None)[0] / scale
for name, value in zip(robot.inverse_parameters, estimate, strict=False):
    print(f"{name} = {value:.4g}, true {known[name]:.4g}")
