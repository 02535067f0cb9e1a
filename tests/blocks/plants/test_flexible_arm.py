"""The arm of a flexible axis by itself, and an inertia that the pose changes."""

from __future__ import annotations

import numpy as np
import pytest

import blocksim as bs

AXIS = """
format: 1
simulate: {{stop: 3, solver: rk4, step: 1e-3}}
blocks:
  u:     {{type: Chirp, amplitude: 10.0, f_start: 0.2, f_end: 15.0, duration: 3.0}}
  load:  {{type: Sine, amplitude: 300, frequency: 0.7}}
  robot: {{type: TwoMassRobot, {gear}, in: {{tau: u, load: load}}}}
  motor: {{type: Mux, in: [robot.phi_m, robot.w_m]}}
  arm:   {{type: FlexibleArm, {gear}, in: {{motor: motor, load: load}}}}
"""


@pytest.mark.parametrize("gear", ["Ms: 40", "q: 3e-4, backlash: elasto, alpha: 1e3, A: 5e5", "q: 3e-4, backlash: thesis"])
def test_the_arm_of_the_robot_and_the_arm_alone_move_alike(gear):
    """The same equations in another block, coupled at every stage of the solver: rounding is all that may differ."""
    record = bs.simulate(AXIS.format(gear=gear))
    for name in ("phi_a", "w_a", "tau_s", "torsion"):
        whole, alone = record[f"robot.{name}"], record[f"arm.{name}"]
        assert np.abs(whole - alone).max() <= 1e-7 * np.abs(whole).max(), name


def test_a_zero_of_the_encoders_is_a_torsion_that_is_not_there():
    text = AXIS.format(gear="k3: 0").replace("FlexibleArm, k3: 0", "FlexibleArm, k3: 0, zero: 1e-3, phi_a: -1e-3")
    record = bs.simulate(text)
    assert np.abs(record["arm.phi_a"] + 1e-3 - record["robot.phi_a"]).max() < 1e-9


def test_momentum_is_kept_while_the_pose_changes():
    """Without torque (Ja + inertia) w_a stays, whatever the inertia does."""
    record = bs.simulate("""
format: 1
simulate: {stop: 2, solver: rk4, step: 1e-3}
blocks:
  none:  {type: Constant, value: 0}
  more:  {type: Sine, amplitude: 400, frequency: 1.0, bias: 500}
  rate:  {type: Sine, amplitude: 2513.2741228718346, frequency: 1.0, phase: 1.5707963267948966}
  robot: {type: TwoMassRobot, k1: 0, k3: 0, d: 0, Fc: 0, Fv: 0, Ja: 1000, w_a: 0.2,
          in: {tau: none, inertia: more, inertia_rate: rate}}
""")
    momentum = (1000 + record["more"]) * record["robot.w_a"]
    assert momentum == pytest.approx(1500 * 0.2, rel=1e-9)
