"""Several records in one fit: parameters shared, first states, offsets and noise each record's own."""

from __future__ import annotations

import numpy as np
import pytest
from typer.testing import CliRunner

import blocksim as bs
from blocksim.cli.commands import app

J, FV, MS = 0.02, 0.05, 0.03
PUSH = """
format: 1
simulate: {stop: 2.0, solver: rk4, step: 5e-3, every: 1e-2, seed: 1}
parameters: {std: 1e-3, bits: 6, q0: 0.0, qd0: 0.0, zero: 0.0}
blocks:
  push:  {type: PRBS, amplitude: 0.8, bits: "${bits}", clock: 0.1}
  joint: {type: GravityJoint, J: 0.02, Fv: 0.05, Fc: 0.1, Ms: 0.03, N: 1, beta: 1, q: "${q0}", qd: "${qd0}", in: push}
  seen:  {type: Channel, offset: "${zero}", Ts: 5e-3, in: joint.q}
  y:     {type: TorqueSensor, Ts: 1e-2, std: "${std}", in: seen}
  found: {type: OutputError, model: joint, parameters: {joint.J: 0.03, joint.Fv: 0.03, joint.Ms: 0.02}, output: joint.q, OPTIONS,
          in: {u: push, y: y}}
log: [push, y]
"""
LOOP = """
format: 1
simulate: {stop: 3.0, solver: rk4, step: 5e-3, every: 5e-3, seed: 1}
parameters: {q0: 0.0, base: 0.5}
blocks:
  ref:   {type: FourierTrajectory, base_frequency: "${base}", a: [0.8, 0, 0, 0.3], b: [-0.4, 0.3, 0, 0.2]}
  error: {type: Sum, signs: "+-", in: [ref.q, joint.q]}
  pd:    {type: PD, Ts: 5e-3, kp: 3, kd: 0.2, Tf: 1e-2, in: error}
  joint: {type: GravityJoint, J: 0.02, Fv: 0.05, Fc: 0.1, Ms: 0.03, N: 1, beta: 1, q: "${q0}", in: pd}
  y:     {type: TorqueSensor, Ts: 5e-3, std: 1e-3, in: joint.q}
  found: {type: CLOE, parameters: {joint.J: 0.03, joint.Fv: 0.03, joint.Ms: 0.02}, output: joint.q, initial: estimated, in: y}
log: [ref.q, y]
"""
TRUTH = np.array([J, FV, MS])
NAMES = ["J", "Fv", "Ms"]


def open_loop(options: str = "initial: estimated") -> str:
    return PUSH.replace("OPTIONS", options)


def measured(text: str, seed: int, **params: float) -> bs.Record:
    """A record as a lab keeps it: columns, no truth."""
    bare = text.partition("  found:")[0] + "log: " + text.rpartition("log: ")[2]
    record = bs.simulate(bare, seed=seed, params=params)
    return bs.Record.from_arrays(record.t, {name: record[name] for name in record})


def trials(seed: int) -> list[bs.Record]:
    """Two experiments with other motion, first state and noise."""
    text = open_loop()
    return [measured(text, seed, q0=0.4, qd0=-1.0), measured(text, seed + 1000, bits=5, q0=-0.7, qd0=2.0, std=3e-3)]


def test_parameters_are_shared_and_first_states_are_not():
    records = bs.identify_together(open_loop(), trials(1))
    found = records[0].estimates["found"]
    assert found is not None and list(found) == [*NAMES, "q@1", "qd@1", "q@2", "qd@2"]
    assert records[1].estimates["found"].vector() == pytest.approx(found.vector())
    truth = np.array([*TRUTH, 0.4, -1.0, -0.7, 2.0])
    assert np.abs((found.vector() - truth) / found.std_vector()).max() < 4
    assert found.details["sigma"] == pytest.approx([1e-3, 3e-3], rel=0.2)  # each record has its own noise
    assert {"found.predicted", "found.residual"} <= set(records[1]) and records[1]["found.residual"].std() < 4e-3
    assert set(found.as_params("joint")) == {"joint.J", "joint.Fv", "joint.Ms"}


def test_two_records_know_more_than_one():
    """Independent information adds up: the standard deviation of the whole is that of the inverse sum of variances."""
    pair = trials(3)
    alone = [bs.identify(open_loop("initial: estimated, errors: white"), one).estimates["found"] for one in pair]
    both = bs.identify(open_loop("initial: estimated, errors: white"), pair).estimates["found"]
    blocks = [np.linalg.inv(one.covariance)[:3, :3] for one in alone]
    rest = [np.linalg.inv(one.covariance) for one in alone]
    information = sum(m[:3, :3] - m[:3, 3:] @ np.linalg.solve(m[3:, 3:], m[3:, :3]) for m in rest)
    assert len(blocks) == 2
    np.testing.assert_allclose(both.std_vector(NAMES), np.sqrt(np.diag(np.linalg.inv(information))), rtol=0.05)


@pytest.mark.parametrize("text", [open_loop(), LOOP], ids=["open", "closed"])
def test_intervals_hold_over_seeds(text):
    z = []
    for seed in range(20 if text is not LOOP else 8):
        if text is LOOP:
            pair = [measured(LOOP, seed, q0=0.3), measured(LOOP, seed + 500, base=0.3, q0=-0.5)]
        else:
            pair = trials(seed)
        found = bs.identify(text, pair).estimates["found"]
        z.append((found.vector(NAMES) - TRUTH) / found.std_vector(NAMES))
    z = np.array(z)
    assert np.abs(z.mean(axis=0)).max() < 4 / np.sqrt(len(z)) and 0.6 < z.std() < 1.5
    assert np.mean(np.abs(z) < 2.1) > 0.85


def test_an_offset_may_be_each_records_own():
    text = open_loop("initial: estimated, own: [seen.offset]").replace("output: joint.q", "output: seen")
    text = text.replace("joint.Ms: 0.02}", "joint.Ms: 0.02, seen.offset: {start: 0.0}}")
    pair = [measured(text, 1, zero=0.02, bits=6), measured(text, 2, zero=-0.05, bits=7)]
    # the first position and the offset look alike where nothing but the weight tells them apart, which it does
    found = bs.identify(text, pair).estimates["found"]
    assert found["seen.offset@1"].value == pytest.approx(0.02, abs=4 * found["seen.offset@1"].std)
    assert found["seen.offset@2"].value == pytest.approx(-0.05, abs=4 * found["seen.offset@2"].std)


def test_the_first_state_of_the_record_is_taken_as_it_is():
    found = bs.identify(open_loop("initial: record"), trials(5)).estimates["found"]
    assert list(found) == NAMES and np.abs(found.vector() / TRUTH - 1).max() < 0.1


def test_others_are_pooled():
    loop = LOOP.partition("  found:")[0] + (
        "  motion: {type: BandPassDerivatives, cutoff: 15, factor: 1, in: y}\n"
        "  ls: {type: LeastSquares, model: joint, skip: 0.3, in: {q: motion.q, qd: motion.qd, qdd: motion.qdd, tau: pd}}\n"
        "  found: {type: CLOE, parameters: {joint.J: ls, joint.Fv: ls, joint.Ms: ls}, output: joint.q, initial: record, in: y}\n"
        "log: [ref.q, y, pd]\n"
    )
    bare = loop.partition("  motion:")[0] + "log: [ref.q, y, pd]\n"
    pair = []
    for seed, base in ((1, 0.5), (2, 0.3)):
        one = bs.simulate(bare, seed=seed, params={"base": base})
        pair.append(bs.Record.from_arrays(one.t, {n: one[n] for n in one}))
    estimates = bs.identify(loop, pair).estimates
    assert "by itself, and pooled" in estimates["ls"].reason and estimates["ls"].method.startswith("2 x")
    assert estimates["found"]["J"].value == pytest.approx(J, rel=0.05)


def test_the_command_and_the_file_name_several(tmp_path):
    for number, one in enumerate(trials(7)):
        one.save(tmp_path / f"{'ab'[number]}.csv")
    text = open_loop()
    (tmp_path / "d.yaml").write_text(text)
    (tmp_path / "named.yaml").write_text(text + "record: {file: [a.csv, b.csv]}\n")
    bs.save(bs.open_diagram(tmp_path / "named.yaml"), tmp_path / "again.yaml")
    assert bs.load(tmp_path / "again.yaml").record.file == ["a.csv", "b.csv"]
    first = ["identify", str(tmp_path / "d.yaml"), "-r", str(tmp_path / "a.csv"), "-r", str(tmp_path / "b.csv")]
    result = CliRunner().invoke(app, [*first, "--out", str(tmp_path / "out")])
    assert result.exit_code == 0, result.output
    assert "fitted together with b.csv" in result.output and "qd@2" in result.output
    assert (tmp_path / "out" / "record_2.npz").exists() and (tmp_path / "out" / "estimates.json").exists()
    again = CliRunner().invoke(app, ["identify", str(tmp_path / "named.yaml")])
    assert again.exit_code == 0 and "qd@2" in again.output, again.output


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ("own: [joint.q]", "own: joint.q is not among the parameters"),
        ("errors: drawn", "errors: drawn cuts or draws one record, and there are 2"),
        ("initial: rest", "initial"),
    ],
)
def test_mistakes_are_told(options, words):
    with pytest.raises(bs.BlocksimError, match=words):
        bs.identify(open_loop(options), trials(1))


def test_records_must_measure_the_same():
    pair = trials(1)
    with pytest.raises(bs.RecordError, match=r"do not hold the same signals: push\.y"):
        bs.identify(open_loop(), [pair[0], pair[1].select("y.tau_hat")])
    with pytest.raises(bs.RecordError, match="no records are named"):
        bs.identify_together(open_loop(), [])
    with pytest.raises(bs.DiagramError, match="record: file: found 3"):
        bs.load(open_loop() + "record: {file: 3}\n")
