"""Toy identifiers with bias, spread and covariance known in closed form; a module of its own, for workers to import."""

from __future__ import annotations

import math
import time

import numpy as np

import blocksim as bs
from blocksim.contract.block import RecordBlock, inport, param
from blocksim.errors import RecordError
from blocksim.estimation.estimates import Estimate, Estimates


class MeanOf(RecordBlock):
    """theta = mean(y): the level of a noisy signal; its standard deviation is std / sqrt(n), stretched by `claim`."""

    family = "test"
    truth: float = param(1.0, "what the level is known to be")
    claim: float = param(1.0, "claimed standard deviation over the true one", above=0)
    limit: float = param(1e9, "level above which it gives up, as an iteration may diverge")
    refuse: float = param(1e9, "level above which it fails")
    tire: float = param(1e9, "level above which it stops at a limit, with numbers that are no answer")
    wait: float = param(0.0, "time it takes, as a real method would", "s", min=0)
    y = inport("signal")

    def process(self, t, y):
        time.sleep(self.wait)
        level, std = float(np.mean(y)), self.claim * float(np.std(y, ddof=1)) / math.sqrt(len(y))
        if level > self.refuse:
            raise RecordError("the level is too high to work with.")
        reason = "diverged after 7 iterations" if level > self.limit else ""
        value = math.nan if reason else level
        bound = {"level": 0.5 / math.sqrt(len(y))}
        tired = {"converged": False} if level > self.tire else {}
        if tired:
            value, reason = 1e6 * level, "stopped after 7 iterations without an end"
        item = Estimate("level", value, std, self.truth, "V")
        return Estimates(
            "mean",
            (item,),
            np.array([[std**2]]),
            reason=reason,
            details={"crb_std": bound, "samples": len(y), "above": level > self.truth, **tired},
        )


class LineOf(RecordBlock):
    """y = slope u + offset by least squares, with covariance; the slope it should find is `slope`, the offset `offset`."""

    family = "test"
    slope: float = param(2.0, "true slope")
    offset: float = param(0.0, "true offset")
    u = inport("regressor")
    y = inport("signal")

    def process(self, t, u, y):
        W = np.column_stack([u, np.ones_like(u)])
        theta, squares, *_ = np.linalg.lstsq(W, y, rcond=None)
        variance = float(squares[0]) / (len(y) - 2) if len(squares) else 0.0
        P = np.linalg.inv(W.T @ W) * variance
        found = zip(("slope", "offset"), theta, np.sqrt(np.diag(P)), (self.slope, self.offset), strict=True)
        return Estimates("line", tuple(Estimate(n, float(v), float(s), true) for n, v, s, true in found), P)


class SlopeOf(RecordBlock):
    """theta = sum(z y) / sum(z u): instrumental variable; least squares where the instrument z is u itself."""

    family = "test"
    theta: float = param(2.0, "true slope")
    u = inport("regressor")
    y = inport("signal")
    z = inport("instrument")

    def process(self, t, u, y, z):
        value = float((z @ y) / (z @ u))
        std = float(np.std(y - value * u) * math.sqrt(z @ z) / abs(z @ u))
        return Estimates("slope", (Estimate("theta", value, std, self.theta),), np.array([[std**2]]))


bs.register(MeanOf, LineOf, SlopeOf)

#: n = 100 samples of level + std w; the estimate is normal with standard deviation std / 10.
LEVEL = """
format: 1
name: A level in noise
simulate: {stop: 0.99, solver: euler, step: 0.01}
parameters: {scale: 1.0}
blocks:
  level: {type: Constant, value: 1.0}
  noise: {type: WhiteNoise, std: 0.5, Ts: 0.01}
  y:     {type: Sum, in: [level, noise]}
  same:  {type: Gain, k: "${scale}", in: y}
  mean:  {type: MeanOf, in: same}
log: [y]
"""
#: y = g2 (g1 (2 u) + b1) + b2 + noise: two defective sensors in series, gains and offsets that should be 1 and 0.
LINE = """
format: 1
name: A line seen through two sensors
simulate: {stop: 0.99, solver: euler, step: 0.01}
blocks:
  u:     {type: Sine, amplitude: 1.0, frequency: 1.0}
  line:  {type: Gain, k: 2.0, in: u}
  one:   {type: TorqueSensor, gain: 1.1, offset: 0.3, std: 0.0, Ts: 0.01, in: line}
  two:   {type: TorqueSensor, gain: 0.9, offset: -0.1, std: 0.05, Ts: 0.01, in: one}
  fit:   {type: LineOf, in: {u: u, y: two}}
log: [u, two]
"""
#: y = theta u + v, u = r - k y: least squares errs by -k s_v^2 (1 + k theta) / (s_r^2 + k^2 s_v^2), the instrument r not.
LOOP = """
format: 1
name: A static plant in a loop
simulate: {stop: 19.99, solver: euler, step: 0.01, algebraic_loops: solve}
blocks:
  r:     {type: WhiteNoise, std: 1.0, Ts: 0.01}
  v:     {type: WhiteNoise, std: 0.5, Ts: 0.01}
  gain:  {type: Gain, k: 0.5, in: y}
  u:     {type: Sum, signs: "+-", in: [r, gain]}
  plant: {type: Gain, k: 2.0, in: u}
  y:     {type: Sum, in: [plant, v]}
  ls:    {type: SlopeOf, in: {u: u, y: y, z: u}}
  iv:    {type: SlopeOf, in: {u: u, y: y, z: r}}
log: [r]
"""
