"""Records that hold what no axis does: lost counts, a counter that begins again, single wild rows, an effort at its limit."""

import numpy as np
import pytest

import blocksim as bs
from blocksim.records.foreign.oddities import oddities

T = np.arange(0, 6.0005, 1e-3)
RNG = np.random.default_rng(2)
Q = 0.6 * np.sin(2 * np.pi * 0.7 * T) + 0.2 * np.sin(2 * np.pi * 1.9 * T) + 1e-5 * RNG.standard_normal(len(T))
EFFORT = 0.4 * np.sin(2 * np.pi * 0.7 * T + 1) + 0.1 * np.sign(np.cos(2 * np.pi * 0.7 * T)) + 1e-3 * RNG.standard_normal(len(T))
LOST, SPIKES = Q + 0.5 * (T >= 3.0), EFFORT.copy()
SPIKES[500::1000] += 50


@pytest.mark.parametrize(
    "values, unit, words",
    [
        (LOST, "rad", "jumps at t = 3 s by 0.50"),
        ((Q + 0.2) % 0.5, "rad", "times by about 0.49"),
        (SPIKES, "N m", "6 single rows stand out, the farthest at t = "),
        (np.where(np.arange(len(T)) == 4000, 9.0, Q), "rad", "a single row stands out, the farthest at t = 4 s (9 between"),
    ],
)
def test_what_no_axis_does_is_told_with_its_time(values, unit, words):
    (text,) = oddities(T, values, unit)
    assert words in text


@pytest.mark.parametrize(
    "values, unit",
    [
        (Q, "rad"),
        (EFFORT, "N m"),  # dry friction jumps
        (np.round(Q / 0.05) * 0.05, "rad"),  # a coarse encoder
        (np.sign(np.sin(7 * T)), "rad"),  # steps of a reference
        (np.where(T > 1, Q, Q[1000]), "rad"),  # at rest at first
        (RNG.standard_normal(len(T)), "rad/s"),
        (RNG.standard_t(4, len(T)), "N m"),  # heavy tails
        (LOST, "N m"),  # an effort may be switched on
        (np.clip(50 * Q, -1, 1), "rad"),
        (np.zeros(len(T)), "rad"),
    ],
)
def test_what_axes_do_is_not(values, unit):
    assert list(oddities(T, values, unit)) == []


JOINT = """
format: 1
simulate: {stop: 6, solver: rk4, step: 1e-3}
blocks:
  drive:   {type: Sine, amplitude: 1.0, frequency: 1.0}
  joint:   {type: GravityJoint, in: drive}
  encoder: {type: Encoder, Ts: 1e-3, resolution: 1e-6, in: joint.q}
  motion:  {type: BandPassDerivatives, cutoff: 40, factor: 1, in: encoder}
  ls:      {type: LeastSquares, model: joint, decimate: 10, in: {q: motion.q, qd: motion.qd, qdd: motion.qdd, tau: drive}}
"""


@pytest.mark.parametrize(
    "q, effort, words",
    [
        (Q, EFFORT, ""),
        (LOST, EFFORT, "'encoder.q_hat' jumps at t = 3 s"),
        (Q, SPIKES, "'drive.y' 6 single rows"),
        (Q, np.clip(EFFORT, -0.1, 0.1), "'drive.y' is at its largest value 0.1 in "),
    ],
)
def test_identification_notes_it(q, effort, words):
    record = bs.identify(JOINT, bs.Record.from_arrays(T, {"encoder.q_hat": q, "drive.y": effort}))
    odd = [note for note in record.provenance["notes"] if "'encoder.q_hat'" in note or "'drive.y'" in note]
    assert len(odd) == bool(words) and all(words in note for note in odd)
