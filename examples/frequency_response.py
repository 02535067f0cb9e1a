"""A flexible axis by its frequency response: notch, resonance and the parameters behind them; the trap of closed loops.

python examples/frequency_response.py
"""

import numpy as np

import blocksim as bs
from blocks.identifiers.frequency_response import plot_response

# A multisine that repeats every second. The axis settles for 10 s; the 10 periods after that differ by the noise alone.
AXIS = """
format: 1
name: A flexible axis under a multisine
simulate: {stop: 20, solver: rk4, step: 1e-3, every: 2e-3, seed: 1}
blocks:
  u:        {type: Multisine, f_min: 1, f_max: 60, lines: 60, amplitude: 10}
  robot:    {type: TwoMassRobot, Fv: 0.1, Fc: 0, k3: 0, in: u}
  noise:    {type: WhiteNoise, Ts: 2e-3, std: 0.5}
  y:        {type: Sum, in: [robot.w_m, noise]}
  response: {type: FrequencyResponse, period: 1, skip: [10, 0], model: robot, in: [u, y]}
"""
found = bs.simulate(AXIS).estimates["response"]
for name in ("Jm", "Ja", "k1", "notch", "resonance"):
    one = found[name]
    print(f"{name} = {one.value:.5g} +- {one.std:.2g} {one.unit}, in truth {one.truth:.5g}")
plot_response(found, "response.png")

# Friction and a cubic spring bend the response: the fit is a start, and says so.
bent = bs.simulate(AXIS, params={"robot.Fc": 0.644, "robot.k3": 3.72e10}).estimates["response"]
print(f"with friction and a cubic spring: k1 = {bent['k1'].value:.3g}; {bent.warnings[0].split(':')[0]}")

# In a loop, the noise of the sensor comes back as torque. Averages of products of y and u then lie between the robot and
# -1 / controller; products with the excitation do not.
LOOP = """
format: 1
name: A speed loop shaken by noise
simulate: {stop: 120, solver: rk4, step: 4e-3, every: 4e-3, seed: 1}
blocks:
  shake:    {type: FilteredNoise, amplitude: 15, cutoff: 15, order: 2, Ts: 4e-3}
  turned:   {type: Gain, k: -1, in: y}
  pi:       {type: PID, Ts: 4e-3, kp: 0.6, ki: 0, in: turned}
  u:        {type: Sum, in: [pi, shake]}
  robot:    {type: TwoMassRobot, Fc: 0, k3: 0, in: u}
  hold:     {type: ZeroOrderHold, Ts: 4e-3, in: robot.w_m}
  noise:    {type: WhiteNoise, Ts: 4e-3, std: 8}
  y:        {type: Sum, in: [hold, noise]}
  direct:   {type: FrequencyResponse, method: welch, segment: 8, skip: [8, 0], f_min: 0.5, f_max: 14, in: {u: u, y: y}}
  indirect: {type: FrequencyResponse, method: welch, segment: 8, skip: [8, 0], f_min: 0.5, f_max: 14, in: {u: u, y: y, r: shake}}
log: [u, y, shake]
"""
loop = bs.simulate(LOOP)
near = slice(*np.searchsorted(loop.estimates["direct"].details["w"], (33, 39)))
for name in ("direct", "indirect"):
    G = loop.estimates[name].details["response"][near].mean()
    print(f"{name}: around the notch, where the robot hardly moves, G = {G:.2f}")
