"""A channel that is late and has another zero: by closed form, at any share of a sample, and sought by an identifier."""

from __future__ import annotations

import numpy as np
import pytest

import blocksim as bs

LATE = """
format: 1
simulate: {{stop: 2.0, solver: rk4, step: 1e-3, every: 4e-3}}
blocks:
  angle: {{type: Sine, amplitude: 0.5, frequency: 1.0}}
  late:  {{type: {block}, in: angle}}
"""


@pytest.mark.parametrize("delay", [0.0, 0.3e-3, 1e-3, 3.3e-3, 0.01])
def test_a_sine_comes_late_and_shifted(delay):
    record = bs.simulate(LATE.format(block=f"Channel, delay: {delay}, offset: 0.2, longest: 0.01, Ts: 1e-3"))
    late = record.t > delay
    there = 0.2 + 0.5 * np.sin(2 * np.pi * (record.t - delay))
    # a straight line between points h apart misses a sine by at most w^2 h^2 / 8 of its amplitude
    assert np.abs(record["late"] - there)[late].max() <= 1.01 * 0.5 * (2 * np.pi * 1e-3) ** 2 / 8 + 1e-12


def test_a_delay_that_may_be_sought_is_the_delay_that_may_not():
    fixed, sought = (
        bs.simulate(LATE.format(block=f"TransportDelay, delay: 3.3e-3, Ts: 1e-3{more}"))["late"]
        for more in ("", ", longest: 0.02")
    )
    assert (fixed == sought).all()


def test_room_is_checked():
    for block in ("Channel, delay: 0.03, Ts: 1e-3", "TransportDelay, delay: 0.03, longest: 0.02, Ts: 1e-3"):
        with pytest.raises(bs.DiagramError, match=r"longest: must be at least the delay, 0.03 s"):
            bs.simulate(LATE.format(block=block))


def test_lag_and_zero_are_found():
    text = LATE.format(block="Channel, delay: 3.3e-3, offset: 0.2, longest: 0.01, Ts: 1e-3").replace(
        "every: 4e-3", "every: 4e-3, seed: 1"
    )
    text += """  read:  {type: NoisySensor, Ts: 4e-3, std: 1e-3, in: late}
  found: {type: CLOE, output: late, parameters: {late.delay: 1e-3, late.offset: 0.1}, in: read}
"""
    found = bs.simulate(text).estimates["found"]
    # sensitivities of the closed form, 0.5 w cos and 1, over 501 samples of noise 1e-3
    assert found["late.offset"].std == pytest.approx(1e-3 / np.sqrt(501), rel=0.5)
    assert found["late.delay"].std == pytest.approx(1e-3 / (0.5 * 2 * np.pi) / np.sqrt(501 / 2), rel=0.5)
    assert abs(found["late.delay"].z) < 4 and abs(found["late.offset"].z) < 4


def test_the_search_stays_where_there_is_room():
    text = LATE.format(block="Channel, delay: 3.3e-3, longest: 0.01, Ts: 1e-3")
    text += "  found: {type: CLOE, output: angle, parameters: {late.delay: {start: 1e-3, max: 0.02}}, in: late}\n"
    with pytest.raises(bs.DiagramError, match=r"late.delay has no influence"):
        bs.simulate(text)
    text = text.replace("start: 1e-3, max: 0.02", "start: 0.015").replace("output: angle", "output: late")
    with pytest.raises(bs.DiagramError, match=r"not between 0 and 0.01"):
        bs.simulate(text)
