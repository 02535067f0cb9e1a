"""A source that acted and is not in the record is asked for; an identification that found nothing is no success."""

from __future__ import annotations

import numpy as np
import pytest
from typer.testing import CliRunner

import blocksim as bs
from blocksim.cli.commands import app

LOOP = """
format: 1
simulate: {stop: 4, solver: rk4, step: 1e-3, every: 2e-3, seed: 2}
blocks:
  ref:   {type: Sine, amplitude: 1.0, frequency: 0.5}
  error: {type: Sum, signs: "+-", in: [ref, joint.q]}
  pid:   {type: PD, Ts: 1e-3, kp: 20, kd: 0.5, Tf: 5e-3, in: error}
  pulse: {type: Pulse, amplitude: 2.0, period: 1.0}
  drive: {type: Sum, in: [pid, pulse]}
  joint: {type: GravityJoint, J: 0.02, Fv: 0.05, Fc: 0.1, Ms: 0.03, N: 1, in: drive}
  q_hat: {type: NoisySensor, Ts: 2e-3, std: 1e-4, in: joint.q}
  cloe:  {type: CLOE, parameters: {joint.J: 0.015, joint.Fv: 0.04}, output: joint.q, LIMIT in: q_hat}
log: [ref, pulse, q_hat]
"""


@pytest.fixture(scope="module")
def lab() -> bs.Record:
    record = bs.simulate(LOOP.replace("LIMIT", ""))
    return bs.Record.from_arrays(record.t, {n: record[n] for n in ("ref.y", "pulse.y", "q_hat.y_hat")})


def without_pulse(record: bs.Record) -> bs.Record:
    return bs.Record.from_arrays(record.t, {n: record[n] for n in record if n != "pulse.y"})


def test_a_forgotten_source_is_asked_for(lab):
    with pytest.raises(
        bs.DiagramError, match=r"does not hold pulse, which the simulated loop needs.*--map pulse=COLUMN.*--assume pulse"
    ):
        bs.identify(LOOP.replace("LIMIT", ""), without_pulse(lab))


def test_one_that_acted_as_drawn_is_said_to(lab):
    whole = bs.identify(LOOP.replace("LIMIT", ""), lab).estimates["cloe"]
    said = bs.identify(LOOP.replace("LIMIT", ""), without_pulse(lab), assume=["pulse"]).estimates["cloe"]
    assert abs(said["J"].value / 0.02 - 1) < 0.01 and said["J"].value == pytest.approx(whole["J"].value, rel=0.03)
    assert any("does not hold pulse" in text for text in said.warnings)
    with pytest.raises(bs.DiagramError, match=r"assume: found 3. A list of sources is wanted, or all."):
        bs.identify(LOOP.replace("LIMIT", ""), lab, assume=3)


def test_an_identification_that_found_nothing_is_exit_1(lab, tmp_path):
    lab.save(tmp_path / "lab.npz")
    for limit, code in (("", 0), ("max_iterations: 1,", 1)):
        (tmp_path / "loop.yaml").write_text(LOOP.replace("LIMIT", limit))
        result = CliRunner().invoke(
            app, ["identify", str(tmp_path / "loop.yaml"), "--record", str(tmp_path / "lab.npz"), "--out", str(tmp_path / "o")]
        )
        assert result.exit_code == code, result.output
    assert "no estimates of cloe" in result.output and (tmp_path / "o" / "estimates.json").exists()


def test_bridged_gaps_are_in_the_notes_and_advice_has_the_records_own_interval(lab):
    t = lab.t
    rows = np.r_[0:500, 650 : len(t)]
    holey = bs.Record.from_arrays(t[rows], {n: lab[n][rows] for n in lab})
    notes = " ".join(bs.identify(LOOP.replace("LIMIT", ""), holey, resample=2e-3).provenance["notes"])
    assert "1 gap, about 150 rows, bridged (linear); the longest is 0.302 s after 0.998 s" in notes
    shaken = bs.Record.from_arrays(t + 4e-4 * np.sin(np.arange(len(t))), {n: lab[n] for n in lab})
    with pytest.raises(bs.RecordError, match=r"resample: \{every: 0.002, rows: even\} \(--resample '\{every: 0.002"):
        bs.identify(LOOP.replace("LIMIT", ""), shaken)
