"""Where an estimate starts, and whether it left: python examples/starts.py

A start at the truth proves nothing, so it must be asked for by name. Values may come from another block by its name.
"""

import blocksim as bs

ROBOT = """
format: 1
simulate: {stop: 10.0, solver: rk4, step: 2e-3, every: 2e-3, seed: 1}
parameters: {amplitude: 1.0}
blocks:
  sine:   {type: Sine, amplitude: "${amplitude}", frequency: 0.2}
  torque: {type: ZeroOrderHold, Ts: 2e-3, in: sine}
  robot:  {type: TwoMassRobot, in: torque}
  speed:  {type: TorqueSensor, std: 0.3, Ts: 2e-3, in: robot.w_m}
  rpem:   {type: RPEM, Ts: 2e-3, model: robot, measures: w_m, estimate: [Fv, Fc], START, in: {y: speed, u: torque}}
"""

# Nothing said: refused, with what to do.
try:
    bs.simulate(ROBOT.replace("START, ", ""))
except bs.DiagramError as refused:
    print(refused, "\n")

# From half the truth, and what a filter without any torque says: 'not learnt'.
half = ROBOT.replace("START", "factor: 0.5")
print(bs.simulate(half).estimates["rpem"], "\n")
print(bs.simulate(half, params={"amplitude": 0.0}).estimates["rpem"], "\n")

# From what another block found: the hybrid search begins where the recursion ended.
hybrid = "  hybrid: {type: RPEMHybrid, model: robot, signal: w_m, start: {Fv: rpem, Fc: rpem}, in: [torque, speed]}\n"
print(bs.simulate(half + hybrid).estimates["hybrid"], "\n")

# At the truth, because that is what is asked: what does noise do from there on?
print(bs.simulate(ROBOT.replace("START", "start: truth, P0: 1e-4")).estimates["rpem"])
