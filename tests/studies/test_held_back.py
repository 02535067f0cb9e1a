"""A study judges the estimates of every run by a second experiment that no identifier has seen."""

from __future__ import annotations

import pytest

import blocksim as bs

STUDY = """
format: 1
study: Which friction repeats another motion
diagram: |
  format: 1
  simulate: {stop: 3, solver: rk4, step: 1e-3}
  blocks:
    ref:     {type: Sine, amplitude: 1.0, frequency: 0.5}
    error:   {type: Sum, signs: "+-", in: [ref, encoder]}
    pid:     {type: PD, Ts: 1e-3, kp: 20, kd: 0.5, Tf: 5e-3, in: error}
    joint:   {type: GravityJoint, J: 0.02, Fv: 0.05, Fc: 0.1, Ms: 0.03, N: 1, in: pid}
    encoder: {type: Encoder, Ts: 1e-3, resolution: 1e-5, in: joint.q}
    motion:  {type: BandPassDerivatives, cutoff: 30, factor: 1, in: encoder}
    ls:      {type: LeastSquares, model: joint, skip: 0.5, in: {q: motion.q, qd: motion.qd, qdd: motion.qdd, tau: pid}}
    smooth:  {type: LeastSquares, model: joint, skip: 0.5, parameters: [J, Fv, Ms], known: {Fc: 0},
              in: {q: motion.q, qd: motion.qd, qdd: motion.qdd, tau: pid}}
  log: [encoder, pid]
repeat: 2
sweep: {joint.Fc: [0.1, 0.0]}
collect: [ls, smooth, ENTRIES]
"""


def study(entries: str) -> bs.StudyResult:
    return bs.run_study(STUDY.replace("ENTRIES", entries), jobs=1, progress=False, report=False)


def test_the_second_experiment_tells_the_models_apart_where_they_differ():
    entries = [f"{{validate: {name}, params: {{ref.amplitude: 0.4}}, score: rms}}" for name in ("ls", "smooth")]
    table = study(", ".join(entries)).signal_scores
    means = {(row.point, row.signal): row.mean for row in table.itertuples()}
    errors = {(point, name): means[point, f"rms(encoder.q_hat) of {name}, held back"]
              for point in (0, 1) for name in ("ls", "smooth")}  # fmt: skip
    assert errors[0, "smooth"] > 10 * errors[0, "ls"]  # dry friction is there, and one model has none
    assert errors[1, "smooth"] < 3 * errors[1, "ls"]  # it is not
    # a perfect model would leave the steps of the encoder, and what the filters bias
    assert errors[0, "ls"] < 2e-3


def test_the_inverse_model_is_scored_for_its_own_identifier():
    signals = set(study("{validate: ls, mode: inverse, score: relative_error}").signal_scores["signal"])
    assert signals == {"relative_error(ls.tau) of ls, held back"}


@pytest.mark.parametrize(
    "entry, words",
    [
        ("{validate: lss}", "no diagram has an identifier 'lss'"),
        ("{validate: ''}", "names whose estimates are judged"),
        ("{validate: ls, mode: open}", "mode: found 'open'. There are: loop, inverse"),
        ("{validate: ls, score: r2}", "score: found 'r2'. There are: fit, relative_error, rms"),
        ("{validate: ls, setting: 1}", "setting"),
    ],
)
def test_mistakes_are_told(entry, words):
    with pytest.raises(bs.DiagramError, match=words):
        study(entry)
