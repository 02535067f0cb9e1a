"""Two encoders of one axis compared: lag and zero by a motion whose torsion is known in closed form."""

from __future__ import annotations

import numpy as np
import pytest

import blocksim as bs
from blocksim.estimation.encoder_pair import speed_lag

R, LAG, ZERO = 0.01, 3e-3, 1e-3


def encoders(step: float, seed: int = 0, lag: float = LAG, zero: float = ZERO, gap: float = 0.0) -> tuple[np.ndarray, ...]:
    """An arm in slow and fast motion behind a spring, its weight and a gap twisting it; both read with noise."""
    random, t = np.random.default_rng(seed), np.arange(0, 20, step)
    waves = [(0.8, 0.1), (0.3, 0.35), (0.02, 2.3), (0.004, 5.1), (0.001, 11.0)]

    def arm(t):
        return sum(a * np.sin(2 * np.pi * f * t + k) for k, (a, f) in enumerate(waves))

    pull = -sum(a * (2 * np.pi * f) ** 2 * np.sin(2 * np.pi * f * t + k) for k, (a, f) in enumerate(waves))
    torque = 1000 * pull + 900 * np.cos(arm(t))
    motor = (arm(t) + torque / 1.5e6 + gap / 2 * np.tanh(torque / 100)) / R
    return t, motor + 4e-4 * random.standard_normal(len(t)), arm(t - lag) + zero + 6e-6 * random.standard_normal(len(t))


@pytest.mark.parametrize("step", [1e-3, 4e-3])
@pytest.mark.parametrize("gap", [0.0, 2e-4])
def test_lag_and_zero_are_told_within_two_percent(step, gap):
    pair = bs.compare_encoders(*encoders(step, gap=gap), R)
    assert pair.lag == pytest.approx(LAG, rel=0.02) and pair.zero == pytest.approx(ZERO, rel=0.02)


def test_the_standard_deviations_hold():
    pairs = [bs.compare_encoders(*encoders(4e-3, seed), R) for seed in range(12)]
    for value, truth in (("lag", LAG), ("zero", ZERO)):
        z = [(getattr(p, value) - truth) / getattr(p, f"{value}_std") for p in pairs]
        assert np.mean(np.abs(z) < 3) >= 0.75, value


def test_the_words_say_what_to_write():
    text = str(bs.compare_encoders(*encoders(1e-3), R, names=("motor", "arm")))
    assert "arm is 3 ms late behind motor" in text and "delay: 0.00" in text
    assert "the zero of arm is +1 mrad from that of motor" in text and "offset: -0.00" in text
    ahead = bs.compare_encoders(*encoders(1e-3, lag=-2e-3, zero=0.0), R, names=("motor", "arm"))
    assert "ahead of motor" in str(ahead) and not ahead.shifted
    assert "nothing is off" in str(bs.compare_encoders(*encoders(1e-3, lag=0.0, zero=0.0), R))


def test_degrees_are_no_radians():
    """Weight follows the cosine of the angle: in degrees the same zero comes out, in degrees."""
    t, motor, arm = encoders(4e-3)
    plain = bs.compare_encoders(t, motor, arm, R)
    turned = bs.compare_encoders(t, np.degrees(motor), np.degrees(arm), R, unit="deg")
    assert turned.zero == pytest.approx(np.degrees(plain.zero), rel=1e-6) and turned.lag == pytest.approx(plain.lag, rel=1e-6)
    assert turned.twist == pytest.approx(np.degrees(plain.twist), rel=1e-6) and "deg" in str(turned)


def test_a_wrong_ratio_is_said():
    assert "and the ratio was said to be 0.02" in str(bs.compare_encoders(*encoders(4e-3), 0.02))


def test_encoders_in_other_units_are_one_axis():
    """Turns of the motor and thousandths of a radian of the arm: the ratio is one of angles."""
    t, motor, arm = encoders(4e-3)
    pair = bs.compare_encoders(t, motor / (2 * np.pi), 1e3 * arm, R, unit="mrad", first_unit="rev")
    assert pair.lag == pytest.approx(LAG, rel=0.02) and pair.zero == pytest.approx(1e3 * ZERO, rel=0.02)


def test_rows_that_are_missing_shift_nothing():
    t, motor, arm = encoders(4e-3)
    keep = np.ones(len(t), bool)
    keep[900:912] = keep[2500:2503] = False
    gone = np.where(keep, motor, np.nan)
    for pair in (bs.compare_encoders(t[keep], motor[keep], arm[keep], R), bs.compare_encoders(t, gone, arm, R)):
        assert pair.lag == pytest.approx(LAG, rel=0.02) and pair.zero == pytest.approx(ZERO, rel=0.03)


@pytest.mark.parametrize(
    ("motor_scale", "arm_scale", "words"),
    [(1, -1, "counts the other way; map it with scale: -1"), (1, 180 / np.pi, "the second in degrees"), (8192, 1, "counts")],
)
def test_an_axis_that_moves_unlike_its_ratio_has_no_lag(motor_scale, arm_scale, words):
    t, motor, arm = encoders(4e-3)
    pair = bs.compare_encoders(t, motor_scale * motor, arm_scale * arm, R)
    assert pair.unlike and words in str(pair) and "lag" not in str(pair) and len(pair.remarks()) == 1


def test_a_speed_is_late_behind_its_angle():
    t, _, arm = encoders(2e-3, lag=0.0)
    late = np.gradient(encoders(2e-3, lag=4.6e-3)[2], t)
    lag, std, share = speed_lag(t, arm, late + 3e-3)
    assert lag == pytest.approx(4.6e-3, abs=max(4 * std, 1e-4)) and share == pytest.approx(1, abs=0.01)


def test_what_cannot_be_compared_is_refused():
    t, motor, arm = encoders(4e-3)
    with pytest.raises(bs.RecordError, match="600 rows or more"):
        bs.compare_encoders(t[:100], motor[:100], arm[:100])
    with pytest.raises(bs.RecordError, match="does not move"):
        bs.compare_encoders(t, 0 * motor, arm, 1.0)
    with pytest.raises(bs.RecordError, match="miss more than a tenth"):
        bs.compare_encoders(t, np.where(t > 3, np.nan, motor), arm, R)
