"""Tables of many repetitions are written from one result at a time, and say what they say of a few."""

import pytest

import blocksim as bs
from blocksim.studies import method_results

STUDY = {
    "format": 1,
    "study": "line",
    "diagram": """
format: 1
simulate: {stop: 0.5, solver: rk4, step: 1e-2, seed: 1}
blocks:
  u:      {type: Sine, frequency: 3}
  joint:  {type: GravityJoint, in: u}
  torque: {type: TorqueSensor, Ts: 1e-2, std: 0.1, in: u}
  ls:     {type: LeastSquares, model: joint, in: {tau: torque, q: joint.q, qd: joint.qd, qdd: joint.qdd}}
""",
    "repeat": 12,
    "seed": 1,
    "collect": ["ls"],
}


def test_results_that_are_read_again_make_the_same_tables(tmp_path, monkeypatch):
    bs.run_study(STUDY, jobs=1, out=tmp_path / "held", progress=False, report=False)
    monkeypatch.setattr(method_results, "HELD_RUNS", 5)
    bs.run_study(STUDY, jobs=1, out=tmp_path / "read", progress=False, report=False)
    names = sorted(path.name for path in (tmp_path / "held").glob("*.csv"))
    assert "estimates.csv" in names and "scores.csv" in names
    for name in names:
        assert (tmp_path / "held" / name).read_bytes() == (tmp_path / "read" / name).read_bytes()


@pytest.mark.parametrize("held", [5, 100])
def test_few_results_are_held_and_many_are_not(tmp_path, monkeypatch, held):
    monkeypatch.setattr(method_results, "HELD_RUNS", held)
    holding = []
    passed = method_results.RunsOfRow.passed
    monkeypatch.setattr(method_results.RunsOfRow, "passed", lambda runs: holding.append(1) or passed(runs))
    bs.run_study(STUDY, jobs=1, out=tmp_path / "study", progress=False, report=False)
    assert (len(holding) == 1) == (held == 100)
