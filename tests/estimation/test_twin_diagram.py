"""Recorded sources between their samples: a spline where they are smooth, straight lines where they are not."""

from __future__ import annotations

import numpy as np
import pytest

import blocksim as bs
from blocksim.estimation.twin_diagram import FINER, is_smooth, played_source, spline_points

T = np.arange(500) * 4e-3


@pytest.mark.parametrize(
    ("values", "smooth"),
    [
        (np.sin(20 * T) + 0.3 * np.cos(57 * T), True),
        (np.stack([np.sin(20 * T), T**2], axis=1), True),
        (np.abs(np.sin(3 * T)), False),  # corners
        (np.sign(np.sin(20 * T)), False),  # steps
        (np.random.default_rng(1).standard_normal(500), False),
        (np.sin(20 * T) + 1e-3 * np.random.default_rng(2).standard_normal(500), False),
        (np.where(T == T[250], np.nan, np.sin(20 * T)), False),
        (np.sin(T[:10]), False),  # too few to tell
    ],
)
def test_what_is_smooth_goes_along_a_spline(values, smooth):
    assert is_smooth(values) == smooth
    one = played_source("load.y", values)
    assert one.finer == (FINER if smooth else 1)
    np.testing.assert_allclose(one.values[:: one.finer], values, atol=1e-12)


def test_the_spline_goes_where_the_signal_went():
    curve, rows = spline_points(np.sin(20 * T))
    np.testing.assert_allclose(curve(rows)[40:-40], np.sin(20 * 4e-3 * rows)[40:-40], atol=2e-6)


SLOW_LOG = """
format: 1
simulate: {stop: 10, solver: rk4, step: 1e-3, every: 2e-2, seed: 1}
blocks:
  push:  {type: Multisine, f_min: 0.3, f_max: 6, lines: 20, amplitude: 1.0, phases: schroeder}
  joint: {type: GravityJoint, J: 0.02, Fv: 0.05, Fc: 0.1, Ms: 0.03, N: 1, beta: 1, in: push}
  y:     {type: ZeroOrderHold, Ts: 2e-2, in: joint.q}
  found: {type: CLOE, output: joint.q, in: y, initial: diagram, errors: white,
          parameters: {joint.J: 0.03, joint.Fv: 0.04, joint.Ms: 0.02}}
log: [push, y]
"""


def test_a_slow_log_of_a_smooth_source_biases_nothing():
    """Straight lines between the samples made Fv 0.25 % too small, without any noise."""
    made = bs.simulate(SLOW_LOG.partition("  found:")[0] + "log: [push, y]\n")
    found = bs.identify(SLOW_LOG, bs.Record.from_arrays(made.t, {n: made[n] for n in made})).estimates["found"]
    assert found.converged
    assert found.vector() == pytest.approx([0.02, 0.05, 0.03], rel=2e-4)
