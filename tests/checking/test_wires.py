"""Units on wires: signals of the wrong kind for an identifier, an observer, a switch; columns of files with their units."""

import re
from pathlib import Path

import pytest
from loop_file import LOOP, blocksim

import blocksim as bs

#: Blocks beside the loop, what is changed in each, and the words.
BESIDE = {
    "output": ("{type: OutputError, model: joint, parameters: {joint.J: 0.01}, output: joint.q, in: {u: pid, y: encoder}}", [
        ("y: encoder", "y: motion.qd", "'y' of block 'more' (OutputError) is for rad, and 'motion.qd' is in rad/s"),
        ("u: pid", "u: encoder", "'u' of block 'more' (OutputError) is for N m, and 'encoder.q_hat' is in rad")]),
    "closed loop": ("{type: CLOE, parameters: {joint.J: 0.01}, output: [pid, joint.q], in: [pid, encoder]}", [
        ("[pid, encoder]", "[encoder, pid]", "'pid.u' goes into input 'tau' of block 'joint' (GravityJoint), which is for N m, "
         "and into input 'y' of block 'more' (CLOE), which is for rad")]),
    "hybrid": ("{type: RPEMHybrid, model: joint, signal: q, start: {J: 0.01}, in: {u: pid, y: encoder}}", [
        ("y: encoder", "y: motion.qd", "'y' of block 'more' (RPEMHybrid) is for rad, and 'motion.qd' is in rad/s")]),
    "didim": ("{type: DIDIM, model: joint, in: pid}", [
        ("in: pid", "in: encoder", "'tau' of block 'more' (DIDIM) is for N m, and 'encoder.q_hat' is in rad")]),
    "filter": ("{type: EKF, model: joint, Ts: 1e-3, R: 1e-6, in: {u: pid, y: encoder}}", [
        ("y: encoder", "y: joint.qd", "'y' of block 'more' (EKF) is for rad, and 'joint.qd' is in rad/s"),
        ("u: pid", "u: encoder", "'u' of block 'more' (EKF) is for N m, and 'encoder.q_hat' is in rad")]),
    "response": ("{type: FrequencyResponse, quantity: angle, in: [pid, encoder]}", [
        ("quantity: angle", "quantity: speed", "'y' of block 'more' (FrequencyResponse) is for rad/s, and 'encoder.q_hat'")]),
    "switch": ("{type: Switch, in: [joint.q, ref.qd, joint.q]}", [
        ("joint.q]", "joint.qd]", "'below' of block 'more' (Switch) is for rad, and 'joint.qd' is in rad/s")]),
    "compare": ("{type: Compare, in: [joint.q, encoder]}", [
        ("encoder]", "joint.qd]", "'v' of block 'more' (Compare) is for rad, and 'joint.qd' is in rad/s")]),
}  # fmt: skip


@pytest.mark.parametrize("name", BESIDE)
def test_signals_of_the_wrong_kind_for_an_identifier_or_an_observer_are_told(name):
    block, mistakes = BESIDE[name]
    assert bs.findings(f"{LOOP}  more: {block}\n") == ()
    for old, new, words in mistakes:
        assert old in block
        told = bs.findings(f"{LOOP}  more: {block.replace(old, new)}\n")
        assert {f.name for f in told} == {"unit-mismatch"} and any(words in f.what for f in told), told


@pytest.mark.parametrize("unit, words", [("N m", ""), ("mNm", ""), ("A", "is in A"), ("deg", "is in rad")])
def test_the_unit_of_a_column_goes_along_the_wire(tmp_path, unit, words):
    (tmp_path / "push.csv").write_text(f"t,push [{unit}]\n0,1\n1,2\n2,0\n", encoding="utf-8")
    source = "  push: {type: FromRecord, file: push.csv, signal: push}\n  joint: {type: GravityJoint, in: push}\n"
    (tmp_path / "file.yaml").write_text(f"format: 1\nsimulate: {{stop: 1}}\nblocks:\n{source}", encoding="utf-8")
    told = bs.findings(tmp_path / "file.yaml")
    assert [f.name for f in told] == ["unit-mismatch"] * bool(words) and all(words in f.what for f in told)


def test_a_band_above_half_the_sampling_rate_is_told():
    block = "  more: {type: FrequencyResponse, quantity: angle, f_max: 400, in: [pid, encoder]}\n"
    assert not bs.findings(LOOP + block)
    told = bs.findings(LOOP + block.replace("400", "600"))
    assert [f.name for f in told] == ["above-nyquist"] and "f_max: 600 Hz" in told[0].what


def test_what_cannot_be_estimated_is_refused_before_the_run():
    for old, new, words in [
        ("decimate: 10", "known: {J: 1, Fv: 1, Fc: 1, Ms: 1}", "block 'ls': no parameter is left to estimate."),
        ("encoder: {", "rh: {type: RPEMHybrid, model: joint, signal: q, start: {}, in: [pid, encoder]}\n  encoder: {",
         "start: at least one parameter is wanted"),
        ("encoder: {", "rh: {type: RPEMHybrid, model: joint, signal: w, start: {J: 1}, in: [pid, encoder]}\n  encoder: {",
         "signal: 'joint' (GravityJoint) has no output 'w'. It has: q, qd, qdd."),
    ]:  # fmt: skip
        with pytest.raises(bs.DiagramError, match=re.escape(words)):
            bs.findings(LOOP.replace(old, new))


def test_truth_that_an_identifier_reads_is_told_before_the_run(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    Path("loop.yaml").write_text(LOOP.replace("qd: motion.qd", "qd: joint.qd"), encoding="utf-8")
    assert "rows; truth that no sensor delivers: joint.qd" in blocksim("check", "loop.yaml").stdout


@pytest.mark.parametrize("stop, every, words", [
    (2, 0.01, ""), (1, 0.01, ""), (10, 0.01, "lasts from 0 to 2 s, and the run from 0 to 10 s: before and after"),
    (2, 10.0, "1 of its 201 samples lie in that"),
])  # fmt: skip
def test_a_record_that_does_not_last_as_long_as_the_run_is_told(tmp_path, stop, every, words):
    rows = "".join(f"{k * every},{k % 7}\n" for k in range(201))
    (tmp_path / "push.csv").write_text("t,push\n" + rows, encoding="utf-8")
    source = "  push: {type: FromRecord, file: push.csv, signal: push}\n"
    text = f"format: 1\nsimulate: {{stop: {stop}, step: 0.01, solver: rk4}}\nblocks:\n{source}"
    (tmp_path / "file.yaml").write_text(text, encoding="utf-8")
    told = bs.findings(tmp_path / "file.yaml")
    assert [f.name for f in told] == ["short-record"] * bool(words)
    assert all(words in f.what for f in told)
