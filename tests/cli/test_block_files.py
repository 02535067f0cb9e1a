"""Blocks of one's own from a file that is named on the command line, lists and mappings with --set, one run of a study."""

from __future__ import annotations

import re

import pytest
from typer.testing import CliRunner

from blocksim.cli.commands import app
from blocksim.contract import library

BLOCK = """
from blocksim import Block, inport, outport, param

class Doubler(Block):
    "y = k u: twice as much."
    k: float = param(2.0, "factor")
    u = inport("in")
    y = outport("out")

    @staticmethod
    def output(u, k):
        return k * u
"""
DIAGRAM = """
format: 1
simulate: {stop: 1, solver: rk4, step: 0.01}
blocks:
  a: {type: Constant, value: 1}
  b: {type: Doubler, in: a}
"""
NOISY = """
format: 1
simulate: {stop: 2, solver: rk4, step: 1e-3}
blocks:
  u:     {type: Sine, amplitude: 2, frequency: 2}
  joint: {type: GravityJoint, J: 0.02, Fv: 0.05, Fc: 0.1, Ms: 0.03, N: 1, in: u}
  tau:   {type: TorqueSensor, Ts: 1e-3, std: 0.05, in: u}
  ls:    {type: LeastSquares, model: joint, in: {q: joint.q, qd: joint.qd, qdd: joint.qdd, tau: tau}}
"""


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(library, "_registered", {})
    (tmp_path / "own.yaml").write_text(DIAGRAM)
    (tmp_path / "my_blocks.py").write_text(BLOCK)
    return tmp_path


def call(*arguments: str):
    return CliRunner().invoke(app, list(arguments))


def test_a_diagram_uses_blocks_of_a_named_file_only():
    refused = call("run", "own.yaml")
    assert refused.exit_code == 2 and "there is no block type 'Doubler'" in refused.output
    assert "Blocks of your own are read from a Python file that you name: --blocks my_blocks.py" in refused.output
    done = call("run", "own.yaml", "--blocks", "my_blocks.py", "--set", "b.k=3")
    assert done.exit_code == 0 and re.search(r"b\.y +3 +3 +3", done.output)
    assert call("check", "own.yaml", "--blocks", "my_blocks.py").exit_code == 0


@pytest.mark.parametrize(
    ("name", "text", "words"),
    [
        ("none.py", None, "there is no such file"),
        ("words.txt", "x", "its name ending in .py"),
        ("empty.py", "x = 1\n", "it defines no block"),
        ("broken.py", "x = 1\ny = nothing\n", "broken.py:2: NameError: name 'nothing' is not defined"),
        ("syntax.py", "x = (\n", "syntax.py:1: SyntaxError"),
        ("bad.py", BLOCK.replace("return k * u", "return k * v"), "--blocks bad.py: "),
    ],
)
def test_a_file_of_blocks_that_cannot_be_used_is_told(folder, name, text, words):
    if text is not None:
        (folder / name).write_text(text)
    result = call("run", "own.yaml", "--blocks", name)
    assert result.exit_code == 2 and words in result.output and "Traceback" not in result.output


def test_set_takes_lists_and_mappings():
    done = call("show", "one_dof/identify", "--set", "didim.start={J: 0.5, Fv: 0.04}", "--set", "ref.a=[1, 0.5, 0, 0.2]")
    assert done.exit_code == 0 and "start=J, Fv" in done.output and "a=[1, 0.5, 0, 0.2]" in done.output
    wrong = call("run", "one_dof/identify", "--set", "joint.J={a: 1}")
    assert wrong.exit_code == 2 and "J: " in wrong.output and "Traceback" not in wrong.output


def test_one_run_of_a_study_is_repeated(folder):
    (folder / "noisy.yaml").write_text(NOISY)
    (folder / "study.yaml").write_text("format: 1\nstudy: s\ndiagram: noisy.yaml\nrepeat: 3\nsweep: {joint.Fv: [0.05, 0.1]}\n")
    done = call("study", "study.yaml", "--jobs", "1", "--out", "all")
    assert done.exit_code == 0, done.output
    assert "\nVerdict\nls: largest bias" in done.output and "biases" in done.output
    rows = (folder / "all" / "estimates.csv").read_text().splitlines()
    head = rows[0].split(",")
    lines = [dict(zip(head, row.split(","), strict=False)) for row in rows[1:]]
    line = next(one for one in lines if (one["joint.Fv"], one["repeat"], one["parameter"]) == ("0.1", "1", "Fv"))
    one = call("study", "study.yaml", "--only", "4")
    assert one.exit_code == 0 and f"run 4, seed {line['seed']}: joint.Fv = 0.1" in one.output
    assert f"{float(line['value']):.6g}" in one.output
    wrong = call("study", "study.yaml", "--only", "6")
    assert wrong.exit_code == 2 and "--only 6: the study has the runs 0 to 5" in wrong.output


def test_times_say_what_they_hold(folder):
    (folder / "noisy.yaml").write_text(NOISY)
    assert re.search(
        r"2 s simulated in \d+\.\d\d s: rk4, 2000 steps, seed 0(; \w+ in \d+\.\d\d s)*", call("run", "noisy.yaml").output
    )
