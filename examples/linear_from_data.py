"""A linear model from data: ARX, OE and a subspace fit of one record, poles with intervals, and on to python-control.

python examples/linear_from_data.py
"""

import blocksim as bs

LOOP = """
format: 1
name: A spring and a damper, pushed and seen through noise
simulate: {stop: 60, solver: rk4, step: 0.01, every: 0.05, seed: 1}
blocks:
  push:  {type: PRBS, amplitude: 1.0, bits: 9, clock: 0.1}
  plant: {type: TransferFunction, num: [9], den: [1, 0.9, 9], in: push}    # 3 rad/s = 0.477 Hz, damped by 0.15
  y:     {type: NoisySensor, Ts: 0.05, std: 0.05, in: plant}
  arx:   {type: ARX, na: 2, nb: 2, in: {u: push, y: y}}
  oe:    {type: OE, na: 2, nb: 2, in: {u: push, y: y}}
  n4sid: {type: Subspace, order: 2, in: {u: push, y: y}}
  cva:   {type: Subspace, order: 2, method: cva, in: {u: push, y: y}}
  # coefficients of a TransferFunction, a DiscreteTransferFunction or a StateSpace are parameters like others
  found: {type: OutputError, model: plant, output: plant, in: {u: push, y: y},
          parameters: {"plant.num[0]": 7, "plant.den[1]": 0.6, "plant.den[2]": 8}}
log: [push, y]
"""

record = bs.simulate(LOOP)
print("truth: 0.4775 Hz, damped by 0.15")
for name in ("arx", "oe", "n4sid", "cva"):
    pole = record.estimates[name].details["poles"][0]
    frequency, damping = (f"{pole[key]:.4f} +- {1.96 * pole[key + '_std']:.4f}" for key in ("frequency", "damping"))
    print(f"{name:6} {frequency} Hz, damping {damping}")  # noise of the reading biases ARX: it says so, the others stay

for warning in record.estimates["arx"].warnings:
    print(f"arx: {warning}")
print(record.estimates["found"])

# What was found is a LinearModel: poles, zeros, a Bode plot, a StateSpace of python-control with .to_control().
model = bs.linear_model(record.estimates["oe"])
print(model.poles())
