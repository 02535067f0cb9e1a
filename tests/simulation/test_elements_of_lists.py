"""Elements of lists and matrices are named where settings are: 'pd.kp[0]', 'plant.A[1,0]', 'gains[1]' of the file."""

from __future__ import annotations

import subprocess
import sys

import numpy as np
import pytest

import blocksim as bs
from blocksim.simulation.overrides import Overrides

GAINS = """format: 1
simulate: {stop: 1, solver: rk4, step: 1e-2}
parameters: {gains: [3.0, 4.0], k: 2.0}
blocks:
  u: {type: Constant, value: [1.0, 2.0]}
  g: {type: Gain, k: "${gains}", in: u}
  h: {type: Gain, k: ["${k}", 25.0], in: u}
"""


def last(**params) -> tuple[list[float], list[float]]:
    record = bs.simulate(GAINS, params=params)
    return record["g.y"][-1].tolist(), record["h.y"][-1].tolist()


def test_an_element_is_put_into_its_list_beside_whole_lists_and_parameters():
    assert last() == ([3, 8], [2, 50])
    assert last(**{"h.k[1]": 6.0}) == ([3, 8], [2, 12])
    assert last(**{"h.k": [1.0, 1.0], "h.k[0]": 7.0}) == ([3, 8], [7, 2])
    assert last(k=5.0, **{"h.k[1]": 6.0}) == ([3, 8], [5, 12])  # the parameter moves one element, the change another
    assert last(k=5.0, **{"h.k[0]": 6.0}) == ([3, 8], [6, 50])
    assert last(**{"gains[1]": 9.0}) == ([3, 18], [2, 50])
    assert last(gains=[7.0, 8.0], **{"gains[1]": 9.0}) == ([7, 18], [2, 50])


def test_a_diagram_is_changed_in_the_same_way():
    changed = Overrides({"gains": [7, 8], "gains[1]": 9, "k": 5, "h.k[1]": 6}).diagram(bs.load(GAINS))
    assert changed.nodes["g"].block.settings["k"] == [7, 9] and changed.nodes["h"].block.settings["k"] == [5, 6]


def test_a_matrix_gives_the_bits_of_the_whole_matrix():
    text = """format: 1
simulate: {stop: 2, solver: rk4, step: 1e-2}
blocks:
  u: {type: Sine, frequency: 1}
  p: {type: StateSpace, A: [[0, 1], [-2.0, -0.5]], B: [[0], [1]], C: [[1, 0]], D: [[0]], in: u}
"""
    one = bs.simulate(text, params={"p.A[1,0]": -3.0})
    whole = bs.simulate(text, params={"p.A": [[0, 1], [-3.0, -0.5]]})
    assert np.array_equal(one["p.y"], whole["p.y"]) and not np.array_equal(one["p.y"], bs.simulate(text)["p.y"])
    rows = bs.simulate_many(text, params={"p.A[1,0]": [-2.0, -3.0]})
    assert np.array_equal(rows[1]["p.y"], whole["p.y"])


def test_a_run_in_progress_takes_one_element():
    run = bs.start(GAINS)
    run.step(0.1)
    run.set("h.k[1]", 100.0)
    run.step(0.1)
    assert run.get("h.y").tolist() == [2, 200]


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"h.k[2]": 1.0}, r"'h\.k\[2\]': h\.k = \['?.*25\.0\] has no such element"),
        ({"h.k[0,1]": 1.0}, "has no such element"),
        ({"h.q[0]": 1.0}, "block 'h' has no parameter 'q'. Gain takes: k"),
        ({"nope.k[0]": 1.0}, "there is no block 'nope'"),
        ({"k[0]": 1.0}, r"'k\[0\]': k = 2\.0 has no such element"),
        ({"h.k[0]": "x"}, "found 'x'. A number is wanted"),
    ],
)
def test_what_is_no_element_is_refused_in_words(change, words):
    with pytest.raises(bs.DiagramError, match=words):
        bs.simulate(GAINS, params=change)


def test_the_commands_and_a_study_take_elements(tmp_path):
    (tmp_path / "gains.yaml").write_text(GAINS, encoding="utf-8")
    study = 'format: 1\nstudy: gains\ndiagram: gains.yaml\nsweep: {"h.k[1]": [1.0, 6.0]}\nrepeat: 1\n'
    study += "collect: [{signal: h.y, statistic: max}]\n"
    (tmp_path / "study.yaml").write_text(study, encoding="utf-8")

    def command(*words: str) -> str:
        run = subprocess.run(
            [sys.executable, "-m", "blocksim", *words], cwd=tmp_path, capture_output=True, text=True, check=False
        )
        assert run.returncode == 0, run.stdout + run.stderr
        return run.stdout

    assert "18" in command("run", "gains.yaml", "--set", "gains[1]=9", "--set", "h.k[1]=6")
    command("study", "study.yaml", "--out", "out", "--jobs", "1")
    signals = (tmp_path / "out" / "signals.csv").read_text(encoding="utf-8")
    assert "h.k[1]" in signals.splitlines()[0]
