"""Stick-slip: a body on a moving belt, held by a spring, friction as a block among others.

python examples/stick_slip.py
"""

import math

import numpy as np

import blocksim as bs

# Dry friction has to know what it holds against while the body sticks: `applied` is everything else that acts on the body.
# `slip` is the speed against the belt; the body starts at rest on it.
BELT = """
format: 1
name: A body on a belt
simulate: {stop: 20, solver: dopri5, every: 0.001}
blocks:
  belt:     {type: Constant, value: 0.2}
  slip:     {type: Sum, signs: "+-", in: [speed, belt]}
  spring:   {type: Gain, k: -4.0, in: place}
  friction: {type: Stribeck, Fc: 1.0, Fs: 1.5, vs: 1e-6, law: sign, in: {w: slip, applied: spring}}
  net:      {type: Sum, signs: "+-", in: [spring, friction]}
  speed:    {type: Integrator, x: 0.2, in: net}
  place:    {type: Integrator, in: speed}
"""
record = bs.simulate(BELT)
t, place, slip = record.t, record["place"], record["slip"]

# While it sticks the body moves exactly with the belt: nothing flickers around zero, and a phase costs two events.
sticks = abs(slip) < 1e-12
print(f"sticks {100 * sticks.mean():.1f} % of the time; {record.provenance['work']['events']} events in 20 s")

# With vs next to nothing the friction is Fs at rest and Fc in motion. Then a cycle is a straight line up to Fs/k, and a
# sinusoid around Fc/k until the body is as fast as the belt again.
k, V, Fc, Fs = 4.0, 0.2, 1.0, 1.5
w = math.sqrt(k)
period = 2 * (Fs - Fc) / (k * V) + 2 / w * (math.pi - math.atan((Fs - Fc) * w / (k * V)))
rises = np.nonzero((place[:-1] < Fc / k) & (place[1:] >= Fc / k))[0]
found = (t[rises[-1]] - t[rises[1]]) / (len(rises) - 2)
print(f"period: {found:.2f} s, closed form {period:.2f} s")

# LuGre bends bristles instead of switching modes: smooth, but stiff, so it takes a solver for stiff systems.
bent = BELT.replace(
    "Stribeck, Fc: 1.0, Fs: 1.5, vs: 1e-6, law: sign, in: {w: slip, applied: spring}",
    "LuGre, sigma0: 1e4, sigma1: 50.0, Fc: 1.0, Fs: 1.5, vs: 1e-3, in: slip",
)
bent = bent.replace("in: [spring, friction]", "in: [spring, friction.F]").replace("dopri5", "rodas4")
place = bs.simulate(bent)["place"]
rises = np.nonzero((place[:-1] < Fc / k) & (place[1:] >= Fc / k))[0]
print(f"period with bristles: {(t[rises[-1]] - t[rises[1]]) / (len(rises) - 2):.2f} s")
