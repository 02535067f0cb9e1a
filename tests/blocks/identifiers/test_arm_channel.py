"""Least squares of a flexible axis whose arm has an encoder of its own, late and with another zero."""

from __future__ import annotations

import pytest

import blocksim as bs

AXIS = """
format: 1
simulate: {{stop: 20, solver: rk4, step: 1e-3, every: 2e-3, seed: 1}}
blocks:
  u:     {{type: Multisine, f_min: 0.5, f_max: 20, lines: 60, amplitude: 25, phases: optimised}}
  robot: {{type: TwoMassRobot, beta: 1, k3: 0, in: u}}
  late:  {{type: Channel, delay: {lag}, offset: {zero}, Ts: 1e-3, in: robot.phi_a}}
  motor: {{type: Encoder, Ts: 2e-3, resolution: 1e-4, in: robot.phi_m}}
  arm:   {{type: Encoder, Ts: 2e-3, resolution: 1e-6, in: late}}
  m:     {{type: BandPassDerivatives, cutoff: 60, factor: 1, in: motor}}
  a:     {{type: BandPassDerivatives, cutoff: 60, factor: 1, in: arm}}
  tau:   {{type: ZeroPhaseFilter, cutoff: 60, in: u}}
  none:  {{type: Gain, k: 0, in: arm}}
  ls:    {{type: LeastSquares, model: robot, skip: 0.5, parameters: [Jm, Ja, Fv, Fc, k1, d], known: {{A: 0, k3: 0}},
           channels: {channels}, in: {{phi_m: m.q, w_m: m.qd, dw_m: m.qdd, phi_a: a.q, w_a: a.qd, dw_a: a.qdd, z: none,
           tau: tau}}}}
"""


def fitted(lag: float, zero: float, channels: str) -> bs.Estimates:
    return bs.simulate(AXIS.format(lag=lag, zero=zero, channels=channels)).estimates["ls"]


@pytest.mark.parametrize("lag, zero", [(0.0, 1e-3), (3e-3, 0.0), (3e-3, 1e-3)])
def test_lag_and_zero_are_taken_out(lag, zero):
    found = fitted(lag, zero, "estimated")
    for name, most in (("Jm", 0.02), ("Ja", 0.02), ("k1", 0.005), ("d", 0.01)):
        assert abs(found[name].relative_error) < most, name
    arm = found.details["arm_encoder"]
    assert arm["lag"] == pytest.approx(lag, abs=2e-5) and arm["zero"] == pytest.approx(zero, abs=2e-6)


def test_the_cause_is_named():
    told = " ".join(fitted(3e-3, 1e-3, "told").warnings)
    assert "the zero of the arm's encoder is +1 mrad off" in told and "offset: -0.001" in told
    assert "the arm's encoder is 2.99 ms late" in told and "delay: 0.00299" in told
    assert not any("encoder" in text for text in fitted(0.0, 0.0, "told").warnings)


def test_a_zero_alone_no_longer_makes_everything_collapse():
    """The sum of both rows has no gear in it: inertia and friction stay, and k1 is off by less than a tenth, not by a third."""
    found = fitted(0.0, 1e-3, "off")
    assert abs(found["Ja"].relative_error) < 0.02 and abs(found["k1"].relative_error) < 0.1


def test_hysteresis_may_be_left_open_where_there_is_none():
    text = AXIS.format(lag=0.0, zero=0.0, channels="off")
    bare = text.replace("z: none,", "").replace("A: 0, k3: 0", "k3: 0")
    closed, left = (bs.simulate(one).estimates["ls"] for one in (text, bare))
    assert left.vector() == pytest.approx(closed.vector(), rel=1e-12) and not any("never changes" in w for w in left.warnings)
    with pytest.raises(bs.DiagramError, match=r"'A' of 'robot'.*is not 0, so that 'z' is needed: connect it, or set A: 0"):
        bs.simulate(bare.replace("k3: 0, in: u", "k3: 0, alpha: 1e3, A: 1e5, in: u"))
    with pytest.raises(bs.DiagramError, match="A cannot be found while its signal is left open"):
        bs.simulate(bare.replace("k1, d]", "k1, d, A]"))


def test_an_offset_is_found_without_a_weight():
    text = AXIS.format(lag=0.0, zero=0.0, channels="off").replace("k3: 0, in: u", "k3: 0, offset: 0.7, in: u")
    found = bs.simulate(text.replace("k1, d]", "k1, d, offset]")).estimates["ls"]
    assert found["offset"].value == pytest.approx(0.7, abs=0.02) and abs(found["Ja"].relative_error) < 0.02
