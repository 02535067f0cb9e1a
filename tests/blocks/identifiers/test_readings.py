"""CLOE whose twin takes the readings of the sensor from the record: the loop is open, and its noise white again."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.optimize import least_squares
from scipy.signal import cont2discrete, dlsim

import blocksim as bs

LOOP = """
format: 1
simulate: {stop: 4, solver: rk4, step: 1e-3, every: 2e-3, seed: 8}
blocks:
  ref:    {type: Sine, amplitude: 0.6, frequency: 0.7}
  error:  {type: Sum, signs: "+-", in: [ref, seen]}
  pd:     {type: PD, Ts: 2e-3, kp: 30, kd: 1.5, Tf: 5e-3, in: error}
  joint:  {type: GravityJoint, J: 0.05, Fv: 0.4, Fc: 0.0, Ms: 0.0, N: 1, in: pd}
  seen:   {type: TorqueSensor, std: 1e-3, Ts: 2e-3, in: joint.q}
  closed: {type: CLOE, parameters: {joint.J: 0.04, joint.Fv: 0.3}, output: joint.q, in: seen}
  open:   {type: CLOE, parameters: {joint.J: closed, joint.Fv: closed}, output: joint.q, readings: [seen], in: seen}
log: [seen, pd, ref]
"""


def angle(theta, u):
    """q of J q'' + Fv q' = u, u held for a sample, by scipy."""
    J, Fv = theta
    model = [np.array(m) for m in ([[0, 1], [0, -Fv / J]], [[0], [1 / J]], [[1.0, 0]], [[0.0]])]
    return dlsim(cont2discrete(model, 2e-3), u)[1][:, 0]


def test_an_open_loop_is_the_output_error_that_scipy_finds():
    """Its minimum, its white residuals, and s^2 (J'J)^-1, the Cramer-Rao bound of any method that knows the readings."""
    record = bs.simulate(LOOP, params={"open.errors": "white"})
    found, u, y = record.estimates["open"], record["pd"], record["seen"]
    other = least_squares(lambda x: angle(x, u) - y, [0.04, 0.3], x_scale=[0.05, 0.4], xtol=1e-12, ftol=1e-12)
    sigma = np.sqrt(2 * other.cost / (len(y) - 2))
    bound = sigma * np.sqrt(np.diag(np.linalg.inv(other.jac.T @ other.jac)))
    for entry, value, std in zip(found.values(), other.x, bound, strict=True):
        assert abs(entry.value - value) < 0.02 * std and entry.std == pytest.approx(std, rel=0.01), entry.name
        assert abs(entry.z) < 4
    assert sigma == pytest.approx(1e-3, rel=0.06)
    assert not any("coloured" in text for text in found.warnings)


@pytest.mark.parametrize(
    ("readings", "words"),
    [
        ("joint", "readings: 'joint' is no output of a block. Name one as elsewhere: encoder, joint.q."),
        ("nobody", "readings: 'nobody' is no output of a block."),
        ("error", "readings: error is not recorded at the instants of y. Log it with the same interval."),
    ],
)
def test_what_is_no_reading_is_told(readings, words):
    with pytest.raises(bs.BlocksimError) as caught:
        bs.simulate(LOOP.replace("readings: [seen]", f"readings: [{readings}]"))
    assert words in str(caught.value)
