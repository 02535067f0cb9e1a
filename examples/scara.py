"""A two-joint robot: computed torque, what a wrong model costs, and its parameters from its own motion.

python examples/scara.py
"""

import numpy as np

import blocksim as bs

robot = bs.Diagram("SCARA under computed torque")
# A list per joint makes a signal of two elements; scalar blocks fed with it simply work on both.
robot.add("ref", "FourierTrajectory", base_frequency=0.25, a=[[0.5, 0.2, 0.1], [0.8, -0.3, 0.2]], b=[[0.1, 0, 0], [0, 0.2, 0]])
robot.add(
    "control",
    "ComputedTorque",
    Ts=1e-3,
    inputs={"q_ref": "ref.q", "qd_ref": "ref.qd", "qdd_ref": "ref.qdd", "q": "scara.q", "qd": "scara.qd"},
)
robot.add("scara", "ScaraRobot", inputs="control")
options = {"stop": 8, "solver": "rk4", "step": 1e-3}

# The controller's parameters are its own: give it wrong ones to see what they cost.
for name, value in (("as the robot's", None), ("ZZ2", 0.08), ("Fs1", 0.0)):
    record = bs.simulate(robot, params={} if value is None else {f"control.{name}": value}, **options)
    late = record.t > 4
    worst = np.abs(record["ref.q"] - record["scara.q"])[late].max(axis=0)
    print(f"model {name + ('' if value is None else f' = {value}'):15} worst error {worst[0]:.1e} and {worst[1]:.1e} rad")

# Every plant gives the rows of its inverse dynamic model, linear in the parameters it names: least squares in two lines.
record = bs.simulate(robot, **options)
kind = bs.library()["ScaraRobot"]
rows = kind.regressor(record["scara.q"], record["scara.qd"], record["scara.qdd"], "tanh", 100.0)
found = np.linalg.lstsq(rows.reshape(-1, 8), record["control"].ravel(), rcond=None)[0]
for name, value in zip(kind.inverse_parameters, found, strict=True):
    print(f"{name:5} {value:8.4f}   true {kind.declared[name].default:6.3f}")
