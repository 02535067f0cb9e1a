"""A robot with a flexible joint: computed torque of the rigid model, and whether what is estimated is a physical robot.

python examples/flexible_robot.py
"""

import blocksim as bs

ROBOT = """
format: 1
simulate: {stop: 6.0, solver: rk4, step: 5e-4, seed: 1}
blocks:
  ref:   {type: FourierTrajectory, base_frequency: 0.1667, a: [[0.5, -0.2, 0.3], [0.3, 0.4, -0.2]], 
          b: [[0.2, 0.3, -0.2], [0.4, -0.2, 0.2]]}
  model: {type: ComputedTorque, model: robot, kp: [400, 400], kd: [40, 40], Ts: 5e-4,
          in: {q_ref: ref.q, qd_ref: ref.qd, qdd_ref: ref.qdd, q: encoder, qd: robot.qmd}}
  robot:
    type: SerialRobot
    joints:            # a spring of 8000 N m/rad between motor 2 and its link
      - {ZZ: 0.4, Ia: 0.3, Fv: 1.0, Fc: 0.5}
      - {alpha: "${-pi / 2}", XX: 0.01, YY: 0.12, ZZ: 0.12, M: 3.0, MX: 0.5, Ia: 0.2, Fv: 0.6, Fc: 0.4, K: 8000, D: 10}
    in: model
  encoder: {type: Encoder, Ts: 5e-4, resolution: [2e-5, 1e-5], noise_std: 1, in: robot.qm}    # on the motors
  sensor:  {type: TorqueSensor, Ts: 5e-4, std: 0.5, in: model}
  smooth:  {type: IRWSmoother, order: 3, bandwidth: 12, in: encoder}
  torque:  {type: MovingAverage, window: 2, Ts: 5e-4, in: sensor}
  ls:      {type: LeastSquares, model: robot, decimate: 20, skip: 0.3, drop_slow: 0.02,
            in: {q: smooth.x, qd: smooth.dx, qdd: smooth.ddx, tau: torque}}
"""

record = bs.simulate(ROBOT)
print("the gear twists by up to", f"{1e3 * abs(record['robot.torsion']).max():.2f} mrad")
print(record.estimates["ls"])
print("physical:", record.estimates["ls"].details["physical"])  # None without the extra `feasible`

# The same question, asked of any estimates: here two numbers that no robot has.
robot = bs.build(bs.load(ROBOT)).nodes["robot"].block
spoilt = record.estimates["ls"]
if spoilt.details["physical"] is not None:
    from dataclasses import replace

    entries = tuple(replace(e, value=-0.2) if e.name == "Fv1" else e for e in spoilt.entries)
    print(robot.feasibility(replace(spoilt, entries=entries)))
