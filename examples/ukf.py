"""Sigma points where derivatives may lie, a gap, hysteresis, a joint that sticks, by EKF and UKF: python examples/ukf.py"""

import numpy as np

import blocksim as bs

# A motor drives an arm through a gear with a gap; only the motor's speed is read, and its torque is disturbed.
GAP = """
format: 1
simulate: {stop: 8, solver: rk4, step: 5e-4, every: 1e-2, seed: 1}
blocks:
  sine:   {type: Sine, amplitude: 1.5, frequency: 0.5}
  drive:  {type: ZeroOrderHold, Ts: 1e-2, in: sine}
  rattle: {type: WhiteNoise, std: 0.5, Ts: 1e-2}
  torque: {type: Sum, signs: "++", in: [drive, rattle]}
  robot:  {type: TwoMassRobot, q: 2e-3, backlash: elasto, in: torque}
  speed:  {type: TorqueSensor, std: 1.0, Ts: 1e-2, in: robot.w_m}
  ekf:    {type: EKF, Ts: 1e-2, model: robot, measures: w_m, Q: [0, 0.171, 0, 0, 0], P0: [1e-4, 0.1, 1e-6, 1e-6, 0],
           discretisation: rk4, substeps: 20, sigma_w2: 0, in: {y: speed, u: drive}}
  ukf:    {type: UKF, Ts: 1e-2, model: robot, measures: w_m, Q: [0, 0.171, 0, 0, 0], P0: [1e-4, 0.1, 1e-6, 1e-6, 0],
           discretisation: rk4, substeps: 20, sigma_w2: 0, in: {y: speed, u: drive}}
"""
# The same gear, without its gap: its torque lags behind the wind-up.
LAG = GAP.replace("q: 2e-3, backlash: elasto", "alpha: 1e3, A: 1e7")
# A joint with dry friction that stops and starts, read by an encoder.
STICK = """
format: 1
simulate: {stop: 8, solver: rk4, step: 1e-3, every: 1e-2, seed: 1}
blocks:
  sine:    {type: Sine, amplitude: 0.03, frequency: 0.25}
  drive:   {type: ZeroOrderHold, Ts: 1e-2, in: sine}
  rattle:  {type: WhiteNoise, std: 0.01, Ts: 1e-2}
  torque:  {type: Sum, signs: "++", in: [drive, rattle]}
  joint:   {type: GravityJoint, friction: sign, Ms: 0, in: torque}
  encoder: {type: Encoder, Ts: 1e-2, counts_per_turn: 2000, noise_std: 1, in: joint.q}
  ekf:     {type: EKF, Ts: 1e-2, model: joint, Q: [0, 0.277], sigma_w2: 0, discretisation: rk4, substeps: 20,
            in: {y: encoder, u: drive}}
  ukf:     {type: UKF, Ts: 1e-2, model: joint, Q: [0, 0.277], sigma_w2: 0, discretisation: rk4, substeps: 20,
            in: {y: encoder, u: drive}}
"""


def judged(records, name, truth):
    """Mean NIS, median NEES over that of an honest filter, and rms errors, over all records."""
    errors, nees, n = [], [], len(truth)
    for record in records:
        x, P = record[f"{name}.x_hat"][50:], record[f"{name}.P"][50:]
        errors.append(np.column_stack([record[state] for state in truth])[50:] - x[:, :n])
        inverse = np.linalg.pinv(P.reshape(-1, x.shape[1], x.shape[1])[:, :n, :n], hermitian=True)
        nees.append(np.einsum("ki,kij,kj->k", errors[-1], inverse, errors[-1]))
    nis, honest = np.mean([record[f"{name}.nis"][50:] for record in records]), {2: 1.386, 4: 3.357}[n]  # chi squared's median
    rms = np.sqrt(np.mean(np.concatenate(errors) ** 2, axis=0))
    return f"{name}: nis {nis:.2f}, nees {np.median(nees) / honest:.2f}, rms errors {np.round(rms, 5).tolist()}"


GEAR = ["robot.phi_m", "robot.w_m", "robot.phi_a", "robot.w_a"]
for label, text, truth in (("gap", GAP, GEAR), ("hysteresis", LAG, GEAR), ("dry friction", STICK, ["joint.q", "joint.qd"])):
    records = [bs.simulate(text, seed=seed) for seed in range(1, 6)]
    print(f"{label}: {', '.join(truth)}\n  {judged(records, 'ekf', truth)}\n  {judged(records, 'ukf', truth)}")
