"""Identifiers and observers against the plant they name: two joints in one file, and lines that were copied and not changed."""

import pytest
from loop_file import LOOP

import blocksim as bs

TWO = (
    LOOP
    + """
  error2:   {type: Sum, signs: "+-", in: [ref.q, encoder2]}
  pid2:     {type: PID, Ts: 1e-3, kp: 20, ki: 10, kd: 0.3, Tf: 5e-3, in: error2}
  joint2:   {type: GravityJoint, J: 0.04, Fv: 0.05, Fc: 0.1, Ms: 0.03, N: 1, in: pid2}
  encoder2: {type: Encoder, Ts: 1e-3, resolution: 1e-4, noise_std: 0.3, in: joint2.q}
  motion2:  {type: BandPassDerivatives, cutoff: 60, factor: 1, in: encoder2}
  more:     BLOCK
"""
)
REGRESSION = "{type: LeastSquares, model: joint2, decimate: 10, in: {q: motion2.q, qd: motion2.qd, qdd: motion2.qdd, tau: pid2}}"
SEARCH = "{type: OutputError, model: joint2, parameters: [joint2.J], output: joint2.q, in: {u: pid2, y: encoder2}}"
LOOPED = "{type: CLOE, parameters: [joint2.J], output: [pid2, joint2.q], in: [pid2, encoder2]}"
FILTER = "{type: EKF, model: joint2, Ts: 1e-3, R: 1e-6, in: {u: pid2, y: encoder2}}"
MISTAKES = [
    (REGRESSION, "model: joint2", "model: joint", "other-plant", "'q' of block 'more' (LeastSquares) is motion2.q, which comes "
     "from 'joint2', and its model is 'joint'"),
    (REGRESSION, "qd: motion2.qd", "qd: motion.qd", "other-plant", "'qd' of block 'more' (LeastSquares) is motion.qd, which "
     "comes from 'joint', and its model is 'joint2'"),
    (REGRESSION, "tau: pid2", "tau: pid", "other-effort", "'tau' of block 'more' (LeastSquares) is 'pid.u', which has no part in "
     "what drives 'joint2'"),
    (SEARCH, "y: encoder2", "y: encoder", "other-plant", "is encoder.q_hat, which comes from 'joint', and its model is 'joint2'"),
    (SEARCH, "u: pid2", "u: pid", "other-effort", "'u' of block 'more' (OutputError) is 'pid.u', which has no part"),
    (LOOPED, "encoder2]", "encoder]", "other-plant", "q_hat', which comes from 'joint', and is compared with 'joint2.q'"),
    (SEARCH, "[joint2.J]", "[joint.J]", "idle-parameter", "seeks joint.J: no part of joint2.q depends on that"),
    (SEARCH, "[joint2.J]", "[joint2.J, encoder2.noise_std]", "idle-parameter", "seeks encoder2.noise_std: no part"),
    (LOOPED, "[joint2.J]", "[joint2.J, joint.J]", "idle-parameter", "seeks joint.J: no part of pid2, joint2.q depends on that"),
    (FILTER, "y: encoder2", "y: encoder", "other-plant", "'y' of block 'more' (EKF) is encoder.q_hat, which comes from 'joint'"),
    (FILTER, "u: pid2", "u: pid", "other-effort", "'u' of block 'more' (EKF) is 'pid.u', which has no part"),
]  # fmt: skip


@pytest.mark.parametrize("block", [REGRESSION, SEARCH, LOOPED, FILTER], ids=["LeastSquares", "OutputError", "CLOE", "EKF"])
def test_a_line_that_was_copied_and_not_changed_throughout_is_told(block):
    assert bs.findings(TWO.replace("BLOCK", block)) == ()
    for own, old, new, name, words in MISTAKES:
        if own is block:
            told = bs.findings(TWO.replace("BLOCK", block.replace(old, new)))
            assert name in {f.name for f in told} and any(words in f.what for f in told), told


#: The way of the effort to the joint, what the identifier reads, and whether that is what the joint gets.
WAYS = [
    ("{type: Saturation, lower: -0.5, upper: 0.5, in: pid}", "pid", False),
    ("{type: Saturation, lower: -0.5, upper: 0.5, in: pid}", "way", True),
    ("{type: Gain, k: 2, in: pid}", "pid", False),
    ("{type: Gain, k: 1, in: pid}", "pid", True),
    ("{type: DeadZone, in: pid}", "felt", False),
    ("{type: Sum, in: [pid, push]}", "pid", True),  # a disturbance that nobody measures
    ("{type: FirstOrderLag, T: 1e-3, in: pid}", "pid", True),  # the drive's own lag, which is not known either
]


@pytest.mark.parametrize("way, read, same", WAYS)
def test_an_effort_that_is_changed_before_it_reaches_the_plant_is_told(way, read, same):
    more = f"  way: {way}\n  push: {{type: Sine, frequency: 3}}\n  felt: {{type: TorqueSensor, Ts: 1e-3, std: 1e-3, in: pid}}\n"
    text = LOOP.replace("N: 1, in: pid}", "N: 1, in: way}").replace("tau: pid}", f"tau: {read}}}") + more
    told = [f for f in bs.findings(text) if f.name == "changed-effort"]
    assert len(told) == (not same) and all("what 'joint' is driven by" in f.what for f in told)


def test_a_model_that_stands_beside_its_plant_is_meant():
    beside = "  rigid: {type: GravityJoint, J: 0.03, Fv: 0.05, Fc: 0.1, Ms: 0.03, N: 1, in: pid}\n"
    assert bs.findings(LOOP.replace("model: joint", "model: rigid") + beside) == ()
    assert [f.name for f in bs.findings(LOOP.replace("model: joint", "model: rigid") + beside.replace("in: pid", "in: ref.q"))]


def test_an_effort_that_was_recorded_is_of_no_plant_of_the_file(tmp_path):
    (tmp_path / "lab.csv").write_text("t,torque [N m]\n0,0\n1,1\n2,0\n", encoding="utf-8")
    text = LOOP.replace("tau: pid}", "tau: lab}") + "  lab: {type: FromRecord, file: lab.csv, signal: torque}\n"
    (tmp_path / "file.yaml").write_text(text, encoding="utf-8")
    assert bs.findings(tmp_path / "file.yaml") == ()
