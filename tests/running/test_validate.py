"""Estimates judged by a record that was not used to find them."""

from __future__ import annotations

import json
import os

import numpy as np
import pytest
from typer.testing import CliRunner

import blocksim as bs
from blocksim.cli.commands import app
from blocksim.estimation.validation import SignalFit, compared, fit_of, share_outside

LOOP = """
format: 1
simulate: {stop: 6, solver: rk4, step: 1e-3, seed: 2}
blocks:
  ref:     {type: Sine, amplitude: 1.0, frequency: 0.5}
  error:   {type: Sum, signs: "+-", in: [ref, encoder]}
  pid:     {type: PD, Ts: 1e-3, kp: 20, kd: 0.5, Tf: 5e-3, in: error}
  joint:   {type: GravityJoint, J: 0.02, Fv: 0.05, Fc: 0.1, Ms: 0.03, N: 1, q: 0.1, in: pid}
  encoder: {type: Encoder, Ts: 1e-3, resolution: 1e-4, in: joint.q}
  motion:  {type: BandPassDerivatives, cutoff: 30, factor: 1, in: encoder}
  ls:      {type: LeastSquares, model: joint, skip: 0.5, in: {q: motion.q, qd: motion.qd, qdd: motion.qdd, tau: pid}}
log: [ref, encoder, pid]
"""
TRUTH = {"joint.J": 0.02, "joint.Fv": 0.05, "joint.Fc": 0.1, "joint.Ms": 0.03}


@pytest.fixture(scope="module")
def measured() -> bs.Record:
    """A record of the loop as somebody would measure it: the reference, the encoder, the torque."""
    record = bs.simulate(LOOP, seed=9)
    arrays = {name: record[name] for name in ("ref.y", "encoder.q_hat", "pid.u")}
    return bs.Record.from_arrays(record.t, arrays, units={"ref.y": "rad", "encoder.q_hat": "rad", "pid.u": "N m"})


def test_scores_are_what_their_formulas_say():
    t = np.arange(4.0)
    entry = SignalFit("y", "m", t, np.array([1.0, 2.0, 3.0, 4.0]), np.array([1.0, 2.0, 3.0, 3.0]))
    assert entry.rms == 0.5 and entry.relative_error == pytest.approx(1 / np.sqrt(30))
    assert entry.fit == pytest.approx(1 - 1 / np.sqrt(5))


def test_white_residuals_stay_inside_and_slow_ones_do_not():
    draws = np.random.default_rng(1).standard_normal((200, 2000))
    assert 0.03 < np.mean([share_outside(row) for row in draws]) < 0.07
    assert share_outside(np.cumsum(draws[0])) == 1.0


def test_the_input_that_a_residual_follows_is_named():
    t = np.linspace(0, 1, 500)
    u, v = np.sin(40 * t), np.cos(17 * t)
    entry = fit_of("y", "", t, 2 * u, 1.5 * u, {"v": v, "u": u})
    assert entry.input == "u" and entry.correlation == pytest.approx(1.0)


def test_true_values_leave_quantisation_and_wrong_ones_more(measured):
    true = bs.validate(LOOP, measured, TRUTH, initial="diagram")
    assert set(true) == {"encoder.q_hat", "pid.u"} and true.mode == "loop"
    assert true["encoder"].rms < 3e-4  # a few counts: rounding goes around the loop
    heavy = bs.validate(LOOP, measured, {**TRUTH, "joint.J": 0.03}, initial="diagram")
    assert heavy["encoder"].rms > 5 * true["encoder"].rms and heavy["pid"].fit < true["pid"].fit
    assert "* true" in compared({"true": true, "heavy": heavy})


def test_the_first_state_comes_from_the_record(measured):
    late = measured.between(t0=2.0)
    here, there = (bs.validate(LOOP, late, TRUTH, initial=state)["encoder"] for state in ("record", "diagram"))
    assert abs(here.residual[0]) < 1e-3 < abs(there.residual[0]) and here.rms < there.rms / 5
    settled = bs.validate(LOOP, late, TRUTH, initial="diagram", skip=2.0)["encoder"]
    assert settled.rms < there.rms / 5 and settled.t[0] == 4.0


def test_the_inverse_model_is_evaluated_on_the_filtered_motion(measured):
    true, wrong = (bs.validate(LOOP, measured, {**TRUTH, "joint.Ms": ms}, mode="inverse") for ms in (0.03, 0.06))
    assert list(true) == ["ls.tau"] and true["ls.tau"].fit > wrong["ls.tau"].fit + 0.05


def test_a_record_is_split_and_the_values_are_told(measured):
    held = bs.validate(LOOP, measured, split=0.6, mode="inverse")
    assert held.settings["joint.Fc"] == pytest.approx(0.1, rel=0.1)
    assert held["ls.tau"].t[0] > 3.5


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"mode": "open"}, "no mode 'open'. Modes are: loop, predict, inverse"),
        ({"initial": "rest"}, "found 'rest'"),
        ({"split": 1.5}, "share of the record between 0 and 1"),
        ({"split": 0.5, "estimates": TRUTH}, "either split or estimates"),
        ({"skip": 100.0}, "leave nothing of a record"),
        ({"estimates": {"joint.K": 1.0}}, "no parameter 'K'"),
    ],
)
def test_mistakes_are_told(measured, options, words):
    with pytest.raises(bs.BlocksimError, match=words):
        bs.validate(LOOP, measured, **options)


def test_only_a_reference_leaves_nothing_to_compare(measured):
    with pytest.raises(bs.BlocksimError, match="nothing can be compared"):
        bs.validate(LOOP, measured.select("ref.y"), TRUTH)


def test_the_command_compares_files_and_draws(tmp_path, measured):
    (tmp_path / "loop.yaml").write_text(LOOP)
    measured.save(tmp_path / "second.npz")
    estimates = bs.identify(LOOP, measured).estimates["ls"]
    estimates.save(tmp_path / "first.json")
    data = estimates.to_dict()
    data["parameters"]["J"]["value"] *= 3
    (tmp_path / "worse.json").write_text(json.dumps(data))
    command = ["validate", str(tmp_path / "loop.yaml"), "-r", str(tmp_path / "second.npz"), "-o", str(tmp_path / "v.png")]
    for name in ("first.json", "worse.json"):
        command += ["--with-estimates", str(tmp_path / name)]
    result = CliRunner().invoke(app, command)
    assert result.exit_code == 0, result.output
    assert "loop simulated on second.npz" in result.output and "fit %" in result.output
    best = [line for line in result.output.splitlines() if line.startswith(" * ")]
    assert len(best) == 2 and all("first.json" in line for line in best)
    assert (tmp_path / "v.png").stat().st_size > 10_000 and (tmp_path / "v_2.png").exists()


@pytest.mark.skipif(not os.environ.get("BLOCKSIM_DATA"), reason="BLOCKSIM_DATA names no folder with the EMPS record")
def test_the_published_values_repeat_the_published_record():
    """An independent script found 0.0011 % of the position and 4.6 % of the force."""
    published = {"carriage.M": 95.1089, "carriage.Fv": 203.5034, "carriage.Fc": 20.3935, "carriage.offset": -3.1648}
    held = bs.validate("emps/least_squares", estimates=published)
    assert 100 * held["encoder"].relative_error == pytest.approx(0.0011, abs=5e-5)
    assert 100 * held["loop"].relative_error == pytest.approx(4.6, abs=0.05)


def test_a_beginning_that_has_to_settle_is_told(measured):
    late = measured.between(t0=2.0)
    (note,) = [text for text in bs.validate(LOOP, late, TRUTH, initial="diagram").notes if "nobody measured" in text]
    skip = float(note.partition("--skip ")[2].split()[0])
    assert 0 < skip < 2 and note.startswith("note: the first ")
    settled = bs.validate(LOOP, late, TRUTH, initial="diagram", skip=skip)
    assert settled["encoder"].rms < 1e-3 and not any("nobody measured" in text for text in settled.notes)
    assert not any("nobody measured" in text for text in bs.validate(LOOP, measured, TRUTH, initial="diagram").notes)
