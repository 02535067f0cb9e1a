"""Studies go in lanes: rows that differ in numbers only are made together, with the results they have one by one."""

from __future__ import annotations

import json

import pytest

import blocksim as bs
from blocksim.running import simulate
from blocksim.simulation.many import lanes
from blocksim.studies.workers import batch

LOOP = """format: 1
simulate: {stop: 0.3, solver: rk4, step: 1e-3, math: portable}
blocks:
  rough: {type: WhiteNoise, Ts: 1e-3, std: 0.4}
  growth: {type: Function, expression: u1**3 + 0.1 * u2, in: [ball, rough]}
  ball:  {type: Integrator, x: 0.1, in: growth}
log: [ball]
"""
STUDY = {
    "format": 1,
    "study": "awkward",
    "diagram": LOOP,
    "sweep": {"ball.x": [0.1, -0.5, 3.0, 1e300, 0.9], "rough.std": [0.1, 2.0]},
    "repeat": 3,
    "seed": 4,
    "collect": [{"signal": "ball", "statistic": "final"}],
}


def lines_of(folder):
    lines = [json.loads(line) for line in (folder / "results.jsonl").read_text().splitlines()]
    return sorted((line for line in lines if "run" in line), key=lambda line: line["run"])


@pytest.fixture
def groups(monkeypatch):
    """How many runs went together, each time."""
    sizes, run_together = [], lanes.run_together
    monkeypatch.setattr(lanes, "WORTH", 1)

    def counted(experiment, changes, *others):
        sizes.append(len(changes))
        return run_together(experiment, changes, *others)

    monkeypatch.setattr(simulate, "run_together", counted)
    return sizes


def test_rows_of_numbers_go_together_and_give_what_they_give_alone(groups, tmp_path, monkeypatch):
    bs.run_study(STUDY, jobs=1, progress=False, report=False, out=tmp_path / "together")
    assert sum(groups) > 20 > len(groups)
    count = len(groups)
    monkeypatch.setattr(simulate, "batches", lambda experiments, jobs: [[n] for n in range(len(experiments))])
    bs.run_study(STUDY, jobs=1, progress=False, report=False, out=tmp_path / "alone")
    assert len(groups) == count
    together, alone = lines_of(tmp_path / "together"), lines_of(tmp_path / "alone")
    assert together == alone and len(together) == 30
    assert sum("failure" in line for line in together) == 12


def test_rows_that_shape_the_program_and_what_is_judged_by_row_stay_apart():
    job = batch.Job("shapes", (("loop.yaml", {"loop.yaml": LOOP}),), "nowhere")
    pieces = [
        batch.BatchPiece(0, {"ball.x": 0.1}, ((0, 1),)),
        batch.BatchPiece(0, {"rough.std": 0.2}, ((1, 2),)),
        batch.BatchPiece(0, {"rough.Ts": 2e-3}, ((2, 3),)),
        batch.BatchPiece(0, {"ball.none": 1.0}, ((3, 4),)),
        batch.BatchPiece(0, {"ball.x": 0.2}, ((4, 5), (5, 6))),
    ]
    groups = list(batch.pieces_of_one_program(job, pieces))
    assert [len(group) for group in groups] == [2, 1, 1, 1]
    lines = [json.loads(line) for _, line in batch.run_batch(job, pieces)]
    assert [line["run"] for line in lines] == list(range(6))
    assert ["failure" in line for line in lines] == [False, False, False, True, False, False]
