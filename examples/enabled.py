"""A subsystem that a signal switches: an integral action that works only while the drive is not at its limit.

python examples/enabled.py
"""

import blocksim as bs

# What is switched is a subsystem: a file with ports, or text, or a Diagram made in Python.
MEMORY = """
format: 1
ports: {in: [error], out: {u: sum.y}}
blocks:
  sum: {type: DiscreteIntegrator, Ts: 1e-2, k: 4, in: error}
"""

LOOP = """
format: 1
simulate: {stop: 12, solver: rk4, step: 1e-3, every: 1e-2}
blocks:
  ref:   {type: Step, time: 0.5, after: 1}
  error: {type: Sum, signs: "+-", in: [ref, plant]}
  p:     {type: Gain, k: 3, in: error}
  whole: {type: Sum, in: [p, memory]}
  limit: {type: Saturation, lower: -1.2, upper: 1.2, in: whole}
  over:  {type: Sum, signs: "+-", in: [whole, limit]}
  last:  {type: UnitDelay, Ts: 1e-2, in: over}
  free:  {type: Compare, operator: "==", value: 0, in: last}
  plant: {type: FirstOrderLag, T: 1.5, in: limit}
  memory: {type: Constant, value: 0}                 # what loop() puts its subsystem in place of
"""


def loop(enable):
    """The loop with its integral action in place, switched by `enable`."""
    diagram = bs.build(bs.load(LOOP))
    del diagram.nodes["memory"]
    diagram.add("memory", bs.build(bs.load(MEMORY)), "error", enable=enable)
    return diagram


# In a file: memory: {type: ./memory.yaml, in: error, enable: free}
always = bs.simulate(loop(None))
gated = bs.simulate(loop("free"))
reset = bs.simulate(loop({"signal": "free", "states": "reset", "outputs": 0}))
for name, record in {"always on": always, "held at the limit": gated, "reset after it": reset}.items():
    print(f"{name:18} overshoot {100 * (record['plant'].max() - 1):5.1f} %, error at the end {1 - record['plant'][-1]:+.4f}")
assert gated["plant"].max() < always["plant"].max() - 0.05  # an integral that grows while nothing answers overshoots
