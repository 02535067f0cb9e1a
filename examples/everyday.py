"""Everyday blocks: decisions at their exact instants, a wrapped angle, filters, a held value.

python examples/everyday.py
"""

import math

import blocksim as bs

TEXT = """
format: 1
simulate: {stop: 6, solver: dopri5, rtol: 1e-9, every: 1e-3}
blocks:
  ref:     {type: RepeatingSequence, times: [0, 2, 3], values: [0, 20, 0]}      # speed up for 2 s, slow down for 1 s
  angle:   {type: Integrator, in: ref}
  turn:    {type: Wrap, center: 3.141592653589793, in: angle}                   # 0 to 2 pi
  mark:    {type: Compare, operator: "<", value: 3.141592653589793, in: turn}   # rises once per turn, as an index pulse does
  turns:   {type: Counter, in: mark}
  latch:   {type: SampleAndHold, in: {u: ref, trigger: mark}}                   # speed at the last index pulse
  fast:    {type: Compare, operator: ">", value: 10, in: ref}
  early:   {type: Compare, operator: "<", value: 10, in: turns}
  alarm:   {type: Logic, operator: and, in: [fast, early]}
  encoder: {type: Encoder, counts_per_turn: 4000, Ts: 1e-3, in: angle}
  speed:   {type: SpeedFromEncoder, method: observer, bandwidth: 20, Ts: 1e-3, in: encoder}
  smooth:  {type: LowPass, cutoff: 5, order: 2, Ts: 1e-3, in: speed}
"""

record = bs.simulate(TEXT)

# The angle is 5 t^2 up to 2 s: turn n is over at sqrt(2 pi n / 5), and the speed there is 10 times that.
first = math.sqrt(2 * math.pi / 5)
print(f"{record['turns'][-1]:.0f} turns, of {60 / math.tau:.2f} made: the angle is 30 rad after each 3 s")
print(f"at the first index pulse: {record['latch'][record['turns'] == 1][0]:.9f} rad/s, closed form {10 * first:.9f}")

# alarm: faster than 10 rad/s before the tenth turn is over, in steps of the record.
print(f"alarm during {record['alarm'].mean() * 6:.2f} s")
worst = abs(record["smooth"] - record["ref"])[1000:2000].max()
print(f"speed from counts, smoothed: at most {worst:.2f} rad/s behind a ramp of 10 rad/s^2")
