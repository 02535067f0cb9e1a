"""The search for the lag of an effort: a lag is away at once; what goes by small steps, as noise around a loop does, is none."""

import numpy as np
import pytest

from blocks.identifiers.effort_lag import put_right, sought_effort_lag

STEP = 1e-3
TIMES = STEP * np.arange(4000)


def left_by(share, lag, std=1e-5):
    """What is left of a lag by the phase of a sine at 1 Hz, of which one regression sees only this share."""

    def left(effort):
        inner = slice(500, -500)
        wave = np.exp(-2j * np.pi * TIMES[inner]) @ effort[inner]
        return share * -np.angle(wave) / (2 * np.pi), std

    return sought_effort_lag(left, np.cos(2 * np.pi * (TIMES - lag)), STEP)


@pytest.mark.parametrize("lag", [3.2e-3, -2.5e-3])
def test_a_lag_is_found(lag):
    assert left_by(1.0, lag) == pytest.approx(lag, abs=2e-6)


def test_what_goes_by_small_steps_is_none():
    assert left_by(0.6, 3.2e-3, std=3e-4) is None  # six such steps would come within a tenth of it


def test_put_right_takes_a_lag_away():
    late = np.cos(2 * np.pi * (TIMES - 3e-3))
    assert put_right(late, 3.0)[500:-500] == pytest.approx(np.cos(2 * np.pi * TIMES)[500:-500], abs=1e-9)
    assert put_right(late, 0.0) is late
