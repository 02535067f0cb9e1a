"""The Study pane's studies are ordinary ones: the same scores as `blocksim study`, cancelled at once, resumed, any run again."""

from __future__ import annotations

import subprocess
import sys
import threading
import time

import pytest

import blocksim as bs
from blocksim.errors import BlocksimError
from blocksim.studio.session import Session
from blocksim.studio.study.requests import cancel_study, offer, one_run, plan_study, run_in_pane

LOOP = """format: 1
simulate: {stop: 1, solver: rk4, step: 5e-3, seed: 1}
blocks:
  push:  {type: Multisine, f_min: 0.5, f_max: 4, lines: 8, amplitude: 0.5}
  joint: {type: GravityJoint, J: 0.02, Fv: 0.08, Fc: 0.02, Ms: 0.3, N: 1, beta: 5, in: push}
  sense: {type: TorqueSensor, Ts: 5e-3, std: 1e-4, in: joint.q}
  motion: {type: BandPassDerivatives, cutoff: 20, factor: 1, in: sense}
  ls:    {type: LeastSquares, model: joint, skip: 0.1, in: {tau: push, q: motion.q, qd: motion.qd, qdd: motion.qdd}}
"""


@pytest.fixture
def session(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    (tmp_path / "loop.yaml").write_text(LOOP, encoding="utf-8")
    result = Session(name="loop.yaml")
    result.open("loop.yaml")
    return result


def request(**more):
    sweep = {"motion.cutoff": {"low": 10, "high": 40, "count": 2, "log": True}}
    return {
        "title": "Two bands",
        "file": "loop_study.yaml",
        "sweep": sweep,
        "repeat": 3,
        "seed": 7,
        "collect": ["ls"],
        "jobs": 1,
    } | more


def test_a_study_from_sliders_gives_the_scores_of_the_command(session, tmp_path):
    fields = {field["path"] for field in offer(session, {}).data["fields"]}
    assert {"motion.cutoff", "joint.J", "sense.std"} <= fields
    plan = plan_study(session, request()).data
    assert plan["runs"] == 6 and "sweep: {motion.cutoff: [10.0, 40.0]}" in plan["text"] and "diagram: loop.yaml" in plan["text"]
    news = [answer.data for answer in run_in_pane(session, request())]
    assert news[-1]["complete"], news[-1]["words"]
    dots = [dot for answer in news for dot in answer["dots"]]
    assert {dot[0] for dot in dots} == set(range(6))
    command = [sys.executable, "-m", "blocksim", "study", "loop_study.yaml", "--out", "by_command", "--jobs", "1"]
    subprocess.run(command, check=True, capture_output=True)
    assert (tmp_path / "by_command/scores.csv").read_bytes() == (tmp_path / "loop_study/scores.csv").read_bytes()
    for run, _, _, name, value, *_ in dots[-3:]:
        again = one_run(session, {"run": run}).data
        record = bs.simulate("loop.yaml", params=again["changes"], seed=again["seed"])
        assert record.estimates["ls"][name].value == value


def test_a_cancelled_study_ends_and_goes_on_later(session, tmp_path):
    many = request(repeat=4000, file="many.yaml")
    news = []

    def work():
        news.extend(answer.data for answer in run_in_pane(session, many))

    thread = threading.Thread(target=work)
    thread.start()
    results = tmp_path / "many" / "results.jsonl"
    begin = time.monotonic()
    while not (results.is_file() and results.read_bytes().count(b"\n") > 5) and time.monotonic() - begin < 120:
        time.sleep(0.05)
    cancel_study(session, {})  # how soon it ends benchmarks/studio.py measures
    thread.join(60)
    assert not thread.is_alive() and "Resume goes on" in news[-1]["words"] and 0 < news[-1]["done"] < 8000
    with pytest.raises(BlocksimError, match="holds the results of a study already"):
        list(run_in_pane(session, many))
    done = news[-1]["done"]
    goes_on = run_in_pane(session, {**many, "resume": True})
    assert next(goes_on).data["total"] == 8000
    assert next(goes_on).data["done"] >= done
    cancel_study(session, {})
    goes_on.close()


def test_a_wrong_study_is_said_as_the_command_says_it(session, tmp_path):
    with pytest.raises(bs.DiagramError, match="cutof"):
        plan_study(session, request(sweep={"motion.cutof": {"low": 1, "high": 2, "count": 2}}))
    (tmp_path / "loop_study.yaml").write_text("mine\n", encoding="utf-8")
    with pytest.raises(BlocksimError, match=r"there is a file 'loop_study\.yaml' already that says something else"):
        next(run_in_pane(session, request()))


def test_a_statistic_of_a_signal_is_collected_where_nothing_estimates(tmp_path, monkeypatch):
    """The final value of a first-order lag with gain k is k: the dots say so, and `blocksim study` writes the same file."""
    monkeypatch.chdir(tmp_path)
    text = "format: 1\nsimulate: {stop: 50, solver: rk4, step: 1e-2}\nblocks:\n  one: {type: Constant, value: 1}\n"
    (tmp_path / "lag.yaml").write_text(text + "  lag: {type: FirstOrderLag, k: 2, T: 1, in: one}\n", encoding="utf-8")
    session = Session(name="lag.yaml")
    session.open("lag.yaml")
    offered = offer(session, {}).data
    assert offered["methods"] == [] and "lag.y" in offered["signals"] and "final" in offered["statistics"]
    sweep = {"lag.k": {"low": 1, "high": 3, "count": 3, "log": False}}
    asked = request(sweep=sweep, repeat=1, file="gains.yaml", collect=[{"signal": "lag.y", "statistic": "final"}])
    news = [answer.data for answer in run_in_pane(session, asked)]
    assert news[-1]["complete"], news[-1]["words"]
    dots = sorted(dot for answer in news for dot in answer["dots"])
    assert [dot[3] for dot in dots] == ["final(lag.y)"] * 3
    assert [dot[4] for dot in dots] == pytest.approx([1.0, 2.0, 3.0], rel=1e-9)
    command = [sys.executable, "-m", "blocksim", "study", "gains.yaml", "--out", "by_command", "--jobs", "1"]
    subprocess.run(command, check=True, capture_output=True)
    assert (tmp_path / "by_command/signal_scores.csv").read_bytes() == (tmp_path / "gains/signal_scores.csv").read_bytes()
