"""Columns that are late or have another zero: known, estimated from the other encoder, and told before anything is fitted."""

from __future__ import annotations

import numpy as np
import pytest

import blocksim as bs

AXIS = """
format: 1
simulate: {stop: 1, solver: rk4, step: 1e-3}
blocks:
  u:     {type: Chirp, amplitude: 10.0, f_start: 0.2, f_end: 15.0, duration: 3.0}
  robot: {type: TwoMassRobot, r: 0.01, in: u}
  motor: {type: Encoder, Ts: 4e-3, resolution: 1e-6, in: robot.phi_m}
  arm:   {type: Encoder, Ts: 4e-3, resolution: 1e-6, in: robot.phi_a}
  gain:  {type: ZeroPhaseFilter, cutoff: 50, in: arm}
record: {signals: {motor: qm, arm: ARM}}
"""


def record_of(lag: float = 3e-3, zero: float = 1e-3) -> bs.Record:
    t = np.arange(0, 20, 4e-3)
    waves = [(0.8, 0.1), (0.3, 0.35), (0.02, 2.3), (0.004, 5.1)]

    def arm(t):
        return sum(a * np.sin(2 * np.pi * f * t + k) for k, (a, f) in enumerate(waves))

    pull = -sum(a * (2 * np.pi * f) ** 2 * np.sin(2 * np.pi * f * t + k) for k, (a, f) in enumerate(waves))
    random = np.random.default_rng(1)
    motor = (arm(t) + 1000 * pull / 1.5e6) / 0.01 + 1e-4 * random.standard_normal(len(t))
    return bs.Record.from_arrays(t, {"qm": motor, "qa": arm(t - lag) + zero + 1e-6 * random.standard_normal(len(t))})


def identified(arm: str, record: bs.Record | None = None) -> bs.Record:
    return bs.identify(AXIS.replace("ARM", arm), record or record_of())


def test_lag_and_zero_are_told_before_anything_is_fitted():
    notes = " ".join(identified("qa").provenance["notes"])
    assert "arm.q_hat is 3 ms late behind motor.q_hat" in notes and "the zero of arm.q_hat is +1 mrad" in notes


def test_a_known_delay_and_offset_are_taken_away():
    record = identified("{column: qa, delay: 3e-3, offset: -1e-3}")
    whole = record_of(0.0, 0.0)
    assert len(record.t) == 4999  # the last row would lie beyond the record
    assert np.abs(record["arm"] - whole["qa"][:-1])[5:].max() < 2e-5
    assert not any("encoders:" in note for note in record.provenance["notes"])
    assert any("moved by its delay of 0.003 s" in note for note in record.provenance["notes"])


def test_a_delay_of_whole_samples_moves_rows_as_they_are():
    record = identified("{column: qa, delay: 8e-3}")
    assert (record["arm"] == record_of()["qa"][2:]).all() and (record["motor"] == record_of()["qm"][:-2]).all()


def test_an_estimated_channel_is_put_right_and_says_so():
    record = identified("{column: qa, delay: estimated, offset: estimated}")
    notes = " ".join(record.provenance["notes"])
    assert "delay 0.003 s estimated from 'motor.q_hat'" in notes and "'arm.q_hat': offset -0.0" in notes
    assert np.abs(record["arm"] - record_of(0.0, 0.0)["qa"][: len(record.t)])[5:].max() < 6e-5


def test_what_cannot_be_estimated_is_refused():
    with pytest.raises(bs.RecordError, match=r"motor.q_hat: a delay or an offset can be estimated for the encoder of an arm"):
        bs.identify(AXIS.replace("motor: qm", "motor: {column: qm, delay: estimated}").replace("ARM", "qa"), record_of())
    with pytest.raises(bs.DiagramError, match=r"delay: found 'soon'. A number is wanted. Or 'estimated'"):
        identified("{column: qa, delay: soon}")
    with pytest.raises(bs.RecordError, match=r"leaves nothing of"):
        identified("{column: qa, delay: 30}")


def test_a_load_behind_a_hold_is_seen():
    """A load that a generator held from sample to sample is one all the same for the comparison of encoders."""
    from blocksim.diagram.build import open_diagram
    from blocksim.running.channels import axis_readings
    from blocksim.schedule.flatten import flatten

    text = bs.load("two_mass/two_encoders").text.partition("  twist:")[0]
    text = text.replace("load: load}}", "load: step}}").replace(
        "  robot:", "  step: {type: ZeroOrderHold, Ts: 1e-3, in: load}\n  robot:"
    )
    (axis,) = axis_readings(flatten(open_diagram(text)), ["motor.q_hat", "arm.q_hat", "load.y"])
    assert axis.load == "load.y" and axis.motor == "motor.q_hat" and axis.arm == "arm.q_hat"
