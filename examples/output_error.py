"""Fit a simulation to a measurement: any number of any block, here friction, inertia and the start of a joint.

python examples/output_error.py
"""

import blocksim as bs

PUSHED = """
format: 1
simulate: {stop: 3, solver: rk4, step: 5e-3, every: 1e-2, seed: 2}
blocks:
  push:   {type: PRBS, amplitude: 0.8, bits: 6, clock: 0.1}
  joint:  {type: GravityJoint, J: 0.02, Fv: 0.05, Fc: 0.1, Ms: 0.03, N: 1, q: 0.2, in: push}
  sensor: {type: TorqueSensor, Ts: 1e-2, std: 5e-3, in: joint.q}   # white noise, for which the method is the best there is
  # The recorded input drives the plant again; starts and bounds are given where they are known.
  found:  {type: OutputError, model: joint, output: joint.q, in: {u: push, y: sensor},
           parameters: {joint.J: {start: 0.05, min: 0.001, max: 0.2}, joint.Fv: 0.1, joint.Fc: 0.05, joint.q: 0.0}}
log: [joint.q]
"""

found = bs.simulate(PUSHED).estimates["found"]
print(found)
print(f"{found.details['simulations']} simulations, noise {found.details['sigma'][0]:.2e} rad (in truth 5e-3)\n")

# What cannot be told apart is said in words: only the product of the moment and gravity shows.
asked = PUSHED.replace("joint.Fc: 0.05, joint.q: 0.0", "joint.Ms: 0.02, joint.g: 9.0")
for text in bs.simulate(asked).estimates["found"].warnings:
    print(text)
