"""Models compared: by what they leave of one record, by a held-back one, by every record held back once."""

from __future__ import annotations

import math
import os

import numpy as np
import pytest
from typer.testing import CliRunner

import blocksim as bs
from blocksim.cli.commands import app
from blocksim.running.judging import folds_table

LOOP = """
format: 1
simulate: {stop: 6, solver: rk4, step: 1e-3, seed: 2}
parameters: {base: 0.5}
blocks:
  ref:     {type: FourierTrajectory, base_frequency: "${base}", a: [0.8, 0, 0.4], b: [-0.4, 0.3, 0.1]}
  error:   {type: Sum, signs: "+-", in: [ref.q, encoder]}
  pid:     {type: PD, Ts: 1e-3, kp: 20, kd: 0.5, Tf: 5e-3, in: error}
  joint:   {type: GravityJoint, J: 0.02, Fv: 0.05, Fc: 0.1, Ms: 0.03, N: 1, in: pid}
  encoder: {type: Encoder, Ts: 1e-3, resolution: 1e-4, in: joint.q}
  motion:  {type: BandPassDerivatives, cutoff: 30, factor: 1, in: encoder}
  ls:      {type: LeastSquares, model: joint, skip: 0.5, in: {q: motion.q, qd: motion.qd, qdd: motion.qdd, tau: pid}}
  smooth:  {type: LeastSquares, model: joint, known: {Fc: 0}, skip: 0.5,
            in: {q: motion.q, qd: motion.qd, qdd: motion.qdd, tau: pid}}
log: [ref.q, encoder, pid]
"""


def measured(seed: int, base: float) -> bs.Record:
    bare = LOOP.partition("  motion:")[0] + "log: [ref.q, encoder, pid]\n"
    record = bs.simulate(bare, seed=seed, params={"base": base})
    return bs.Record.from_arrays(record.t, {name: record[name] for name in record})


@pytest.fixture(scope="module")
def records() -> list[bs.Record]:
    return [measured(1, 0.5), measured(2, 0.4), measured(3, 0.33)]


def of(sigma: float, names: str, rows: int = 100) -> bs.Estimates:
    entries = tuple(bs.Estimate(name, 1.0) for name in names)
    return bs.Estimates("made up", entries, details={"sigma": [sigma], "rows": rows})


def test_criteria_are_what_their_formulas_say():
    choice = bs.compare_structures({"small": of(1.0, "ab"), "large": of(0.9, "abc")})
    deviance = 100 * math.log(0.81)
    assert choice["large"].aic == pytest.approx(deviance + 6) and choice["large"].bic == pytest.approx(
        deviance + 3 * math.log(100)
    )
    assert choice["large"].aicc == pytest.approx(deviance + 6 + 24 / 96) and choice["small"].deviance == 0.0
    assert choice.best == "large" and "*  large" in str(choice)
    assert choice.chance("small", "large") == pytest.approx(math.erfc(math.sqrt(-deviance / 2)))  # chi-square of one


@pytest.mark.parametrize(
    ("estimates", "criterion", "words"),
    [
        ({"a": of(1, "a"), "b": of(1, "b", 50)}, "aic", "different rows cannot be compared: a 100, b 50"),
        ({"a": of(1, "a")}, "aic", "at least two models"),
        ({"a": of(1, "a"), "b": of(1, "b")}, "dic", "criterion: found 'dic'"),
        ({"a": of(1, "a"), "b": bs.Estimates("x", ())}, "aic", "does not say what it leaves"),
    ],
)
def test_what_cannot_be_compared_is_told(estimates, criterion, words):
    with pytest.raises(bs.RecordError, match=words):
        bs.compare_structures(estimates, criterion)


def test_models_of_one_diagram_are_judged_by_a_second_record(records):
    found = bs.identify(LOOP, records[0]).estimates
    judgement = bs.judge_structures(LOOP, records[1], found, mode="inverse", first=records[0])
    assert judgement.best == "ls" and judgement.choice.best == "ls" and "on the record they were found on" in str(judgement)
    dry, smooth = judgement.validations["ls"], judgement.validations["smooth"]
    assert smooth.settings["joint.Fc"] == 0.0  # what was held stays held
    assert smooth["ls.tau"].rms > 1.3 * dry["ls.tau"].rms
    # beside: the scores of the record that the values come from
    assert dry.there["ls.tau"].rms == pytest.approx(bs.validate(LOOP, records[0], found["ls"], mode="inverse")["ls.tau"].rms)
    assert "there: fit %" in str(dry) and dry.to_dict()["there"]["signals"]["ls.tau"]["rms"] > 0


def test_every_record_is_held_back_once(records):
    folds = bs.cross_validate(LOOP, records, block="ls", initial="diagram", skip=0.5)
    assert list(folds) == ["record 1", "record 2", "record 3"]
    values = [held.settings["joint.J"] for held in folds.values()]
    assert len(set(values)) == 3 and np.allclose(values, 0.02, rtol=0.05)  # each time others find them
    assert all(held["encoder"].fit > 0.97 for held in folds.values()) and "mean" in folds_table(folds)
    with pytest.raises(bs.RecordError, match="at least two records"):
        bs.cross_validate(LOOP, records[:1])


def test_a_record_is_cut_into_parts_and_each_is_held_back_once(records):
    """The values of a fold are those that pool the other pieces, cut by hand, and its fit is that of the piece."""
    whole = records[0]
    folds = bs.cross_validate(LOOP, whole, block="ls", mode="inverse", parts=3)
    assert list(folds) == ["record 1, 0 to 2 s", "record 1, 2.001 to 4 s", "record 1, 4.001 to 6 s"]
    pieces = [whole.between(0, 2), whole.between(2.001, 4), whole.between(4.001, 6)]
    assert sum(len(piece.t) for piece in pieces) == len(whole.t)
    found = bs.identify_together(LOOP, [pieces[0], pieces[2]])[0].estimates["ls"]
    held = list(folds.values())[1]
    assert held.settings["joint.J"] == found["J"].value
    assert held["ls.tau"].fit == bs.validate(LOOP, pieces[1], found, mode="inverse")["ls.tau"].fit
    with pytest.raises(bs.RecordError, match="At least 2 are wanted"):
        bs.cross_validate(LOOP, whole, block="ls", parts=1)


def test_the_command_judges_all_models_and_folds(tmp_path, records):
    (tmp_path / "loop.yaml").write_text(LOOP)
    for number, one in enumerate(records):
        one.save(tmp_path / f"{number}.npz")
    run = CliRunner().invoke
    first = run(app, ["identify", str(tmp_path / "loop.yaml"), "-r", str(tmp_path / "0.npz"), "--out", str(tmp_path / "first")])
    assert first.exit_code == 0, first.output
    judge = ["validate", str(tmp_path / "loop.yaml"), "-r", str(tmp_path / "1.npz"), "--mode", "inverse"]
    second = run(app, [*judge, "--with-estimates", str(tmp_path / "first" / "estimates.json")])
    assert second.exit_code == 0, second.output
    assert "smallest error on the held-back record: ls" in second.output and "there: fit %" in second.output
    names = [argument for number in range(3) for argument in ("-r", str(tmp_path / f"{number}.npz"))]
    folds = run(app, ["validate", str(tmp_path / "loop.yaml"), *names, "--folds", "--estimates-of", "ls", "--mode", "inverse"])
    assert folds.exit_code == 0 and "fit % of what was held back" in folds.output, folds.output
    parts = run(
        app, ["validate", str(tmp_path / "loop.yaml"), *names[:2], "--parts", "3", "--estimates-of", "ls", "--mode", "inverse"]
    )
    assert parts.exit_code == 0 and "0.npz, 2.001 to 4 s" in parts.output, parts.output
    several = run(app, ["validate", str(tmp_path / "loop.yaml"), *names])
    assert several.exit_code != 0 and "--folds" in several.output


@pytest.mark.skipif(not os.environ.get("BLOCKSIM_DATA"), reason="BLOCKSIM_DATA names no folder with the EMPS record")
def test_two_commands_compare_friction_laws_on_the_published_record():
    """Half of the record finds, the other half judges: friction by direction is worth its parameter (docs/emps.md)."""
    run = CliRunner().invoke
    first = run(app, ["identify", "emps/asymmetric"])
    assert first.exit_code == 0 and "error of the effort 2.12 %" in first.output and "error of the effort 3.35 %" in first.output
    held = run(app, ["validate", "emps/asymmetric", "--split", "0.5", "--mode", "inverse"])
    assert held.exit_code == 0 and "smallest error on the held-back record: ls" in held.output, held.output
    assert "*  ls" in held.output


LAGS = """
format: 1
simulate: {stop: 4, solver: rk4, step: 1e-3, every: 2e-3, seed: 1}
blocks:
  push:    {type: Multisine, f_min: 0.5, f_max: 8, lines: 20, amplitude: 0.6, phases: schroeder}
  joint:   {type: GravityJoint, J: 0.02, Fv: 0.05, Fc: 0.1, Ms: 0.03, N: 1, beta: 1, in: push}
  slow:    {type: Channel, delay: 6e-3, Ts: 1e-3, in: joint.qd}
  speed:   {type: NoisySensor, Ts: 2e-3, std: 0.01, in: slow}
  drive:   {type: Channel, delay: 4e-3, Ts: 1e-3, in: push}
  current: {type: NoisySensor, Ts: 2e-3, std: 0.01, in: drive}
  found:   {type: CLOE, output: [slow, drive], in: [speed, current],
            parameters: {joint.J: 0.03, joint.Fv: 0.04, slow.delay: 3e-3, drive.delay: 2e-3}}
log: [push, speed, current]
"""


def test_lags_of_speeds_and_currents_are_sought():
    found = bs.simulate(LAGS).estimates["found"]
    for name, truth in (("slow.delay", 6e-3), ("drive.delay", 4e-3), ("joint.J", 0.02)):
        assert abs(found[name].value - truth) < 4 * found[name].std and found[name].std < 0.05 * truth


def test_columns_by_number_with_units(tmp_path):
    record = measured(1, 0.5)
    table = np.stack([1e3 * record.t, np.degrees(record["encoder.q_hat"]), record["pid.u"]], axis=1)
    np.savetxt(tmp_path / "bare.csv", table, delimiter=",")
    (tmp_path / "loop.yaml").write_text(LOOP)
    command = ["identify", str(tmp_path / "loop.yaml"), "-r", str(tmp_path / "bare.csv"), "--time", "1 [ms]"]
    result = CliRunner().invoke(app, [*command, "--map", "encoder=2 [deg]", "--map", "pid=3 [N m]", "--out", str(tmp_path / "o")])
    assert result.exit_code == 0, result.output
    back = bs.Record.load(tmp_path / "o" / "record.npz")
    np.testing.assert_allclose(back["encoder.q_hat"], record["encoder.q_hat"], atol=1e-9)
