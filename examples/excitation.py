"""Three torques with the same peak, one robot: how much of each reaches the spring of its gear.

Run it: python examples/excitation.py
"""

import numpy as np

import blocksim as bs
from blocksim.running.signals import analyse

PEAK = 10.0  # N m, what the motor can give
SOURCES = {
    # the same band up to 25 Hz each; phases: optimised keeps a multisine near its peak most of the time
    "multisine": {"type": "Multisine", "f_min": 0.25, "f_max": 25, "lines": 100, "phases": "optimised"},
    "random phases": {"type": "Multisine", "f_min": 0.25, "f_max": 25, "lines": 100, "phases": "random", "seed": 1},
    "binary": {"type": "PRBS", "bits": 9, "clock": 0.02},
}


def shaken(settings: dict) -> bs.Record:
    """The two-mass robot of the thesis under one of the torques, for 12 s."""
    settings = dict(settings)
    diagram = bs.Diagram("shaken robot")
    diagram.add("u", settings.pop("type"), amplitude=PEAK, **settings)
    diagram.add("robot", "TwoMassRobot", inputs="u")
    return bs.simulate(diagram, stop=12, solver="rk4", step="1/500")


print(f"{'torque':14}  {'crest factor':>12}  {'rms [N m]':>9}  {'wind-up [mrad]':>14}  {'cubic / linear':>14}")
for name, settings in SOURCES.items():
    record = shaken(settings)
    torque = analyse(record, ["u.y"])[0]
    # the spring feels the angle between the gear and the arm; its cubic part, k3, can only be identified where it counts
    wind_up = 4.46e-3 * record["robot.phi_m"] - record["robot.phi_a"]
    cubic = 3.72e10 / 1.46e6 * np.mean(wind_up**4) / np.mean(wind_up**2)
    rms = 1e3 * np.sqrt(np.mean(wind_up**2))
    print(f"{name:14}  {torque.crest_factor:12.2f}  {torque.rms:9.2f}  {rms:14.2f}  {cubic:13.1%}")
