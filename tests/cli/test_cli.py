"""The command line as a user and a script meet it: what is printed where, which files appear, which code it ends with."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest
from typer.testing import CliRunner

from blocksim import __version__
from blocksim.cli import console
from blocksim.cli.commands import app
from blocksim.records.record import Record

LOOP = """format: 1
name: Lag under feedback
simulate: {stop: 2, solver: rk4, step: 1e-2, seed: 5}
parameters: {T: 0.5}
blocks:
  ref:   {type: Step, time: 0.5}
  error: {type: Sum, signs: "+-", in: [ref, plant]}
  gain:  {type: Gain, k: 4, in: error}
  plant: {type: FirstOrderLag, T: "${T}", in: gain}
log: [ref, plant]
"""
#: x' = x^2 + 1 from 0 is tan(t): it leaves every bound at pi/2.
TANGENT = """format: 1
simulate: {stop: 3, every: 0.01}
blocks:
  x:     {type: Integrator, in: slope}
  slope: {type: Function, expression: u**2 + 1, in: x}
"""
BAD = """format: 1
blocks:
  a: {type: Gian}
  b: {type: Gain, kq: 3, in: nothing}
"""


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    """Every test runs in a folder of its own that holds three diagrams."""
    monkeypatch.chdir(tmp_path)
    for name, text in (("loop", LOOP), ("tangent", TANGENT), ("bad", BAD)):
        Path(f"{name}.yaml").write_text(text)
    return tmp_path


def blocksim(*arguments: str, code: int = 0):
    """Run a command in this process and check how it ended."""
    result = CliRunner().invoke(app, list(arguments), prog_name="blocksim")
    assert result.exit_code == code, f"{result.output}\n{result.exception!r}"
    return result


def process(*arguments: str, **more) -> subprocess.CompletedProcess:
    """Run a command as a script would."""
    return subprocess.run([sys.executable, "-m", "blocksim", *arguments], capture_output=True, text=True, timeout=120, **more)


class TestRun:
    def test_prints_a_table_and_how_it_was_run(self):
        out = blocksim("run", "loop.yaml").stdout
        lines = out.splitlines()
        assert lines[0].split() == ["signal", "unit", "min", "max", "final"]
        row = next(line.split() for line in lines if line.startswith("plant.y"))
        # gain 4 around 1/(T s + 1): 0.8 (1 - exp(-10 (t - 0.5)))
        assert float(row[-1]) == pytest.approx(0.8 * (1 - np.exp(-15)), rel=1e-5)
        assert "2 s simulated in" in out and "rk4, 200 steps" in out and "seed 5" in out
        assert "\x1b" not in out

    def test_options_replace_those_of_the_file(self):
        out = blocksim("run", "loop.yaml", "--solver", "heun", "--step", "1/50", "--stop", "1", "--seed", "9").stdout
        assert "1 s simulated in" in out and "heun, 50 steps" in out and "seed 9" in out

    def test_set_changes_blocks_and_parameters(self):
        changes = ("--set", "gain.k=9", "--set", "T=0.1", "--set", "ref.after=2")
        result = json.loads(blocksim("run", "loop.yaml", "--json", *changes).stdout)
        assert result["signals"]["plant.y"]["final"] == pytest.approx(1.8)
        assert result["parameters"] == {"gain.k": 9, "ref.after": 2}

    def test_set_reads_lists(self):
        result = json.loads(blocksim("run", "loop.yaml", "--json", "--set", "gain.k=[4, 9]").stdout)
        assert result["signals"]["plant.y[1]"]["final"] == pytest.approx(0.9)

    def test_json_is_one_object_and_nothing_else(self):
        result = process("run", "loop.yaml", "--json", "--plot")
        data = json.loads(result.stdout)
        assert result.stderr == "" and data["written"] == ["loop.png"] and Path("loop.png").exists()
        assert (data["solver"], data["seed"], data["end"], data["samples"], data["error"]) == ("rk4", 5, 2.0, 201, None)
        assert data["signals"]["ref.y"] == {"unit": "", "min": 0.0, "max": 1.0, "final": 1.0}

    def test_quiet_prints_nothing(self):
        result = process("run", "loop.yaml", "--quiet")
        assert (result.returncode, result.stdout, result.stderr) == (0, "", "")

    def test_debug_gives_the_same_numbers(self):
        usual = json.loads(blocksim("run", "loop.yaml", "--json").stdout)
        debug = json.loads(blocksim("run", "loop.yaml", "--json", "--debug").stdout)
        assert debug["signals"] == usual["signals"]

    def test_a_bundled_diagram_by_name_from_anywhere(self):
        assert "10 s simulated" in blocksim("run", "basics/pi_loop").stdout

    def test_plot_says_where_it_went(self):
        assert "wrote loop.png" in blocksim("run", "loop.yaml", "--plot").stdout
        assert Path("loop.png").read_bytes()[:4] == b"\x89PNG"

    def test_every_changes_the_log(self):
        data = json.loads(blocksim("run", "loop.yaml", "--json", "--every", "0.5").stdout)
        assert data["samples"] == 5

    def test_tolerances_reach_the_solver(self):
        def steps(rtol: str) -> int:
            data = json.loads(blocksim("run", "basics/oscillator", "--json", "--rtol", rtol, "--atol", rtol).stdout)
            return data["work"]["steps"]

        assert steps("1e-10") > 2 * steps("1e-4")


class TestOut:
    def test_holds_what_it_takes_to_run_again(self):
        blocksim("run", "basics/servo", "--out", "run", "--set", "kp=5", "--set", "limit.upper=2", "--plot")
        made = {p.name for p in Path("run").iterdir()}
        assert made == {"record.npz", "diagram.yaml", "run.json", "plot.png", "diagram.svg", "parts"}
        notes = json.loads(Path("run/run.json").read_text())
        assert notes["parameters"] == {"limit.upper": 2} and notes["seed"] == 0 and notes["version"] == __version__
        assert "<svg" in Path("run/diagram.svg").read_text()
        record = Record.load("run/record.npz")
        again = json.loads(blocksim("run", "run/diagram.yaml", "--json", "--set", "limit.upper=2").stdout)
        assert again["signals"]["motor.q"]["final"] == record["motor.q"][-1]

    def test_without_plot_there_are_no_pictures(self):
        blocksim("run", "loop.yaml", "--out", "deep/run")
        assert {p.name for p in Path("deep/run").iterdir()} == {"record.npz", "diagram.yaml", "run.json"}

    def test_a_folder_that_cannot_be_made_is_said_before_the_run(self):
        Path("taken").write_text("a file")
        assert "'taken' cannot be written" in blocksim("run", "loop.yaml", "--out", "taken", code=2).stderr


class TestFailure:
    def test_a_failing_run_keeps_its_record(self):
        result = blocksim("run", "tangent.yaml", "--out", "run", code=1)
        assert "at t = 1.57" in result.stderr and "'x'" in result.stderr and "x.y" in result.stdout
        record = Record.load("run/record.npz")
        assert record.t[-1] == pytest.approx(1.57)
        assert np.allclose(record["x"][:150], np.tan(record.t[:150]), rtol=1e-5)
        notes = json.loads(Path("run/run.json").read_text())
        assert notes["error"]["block"] == "x" and notes["error"]["time"] == pytest.approx(np.pi / 2)

    def test_in_json_the_error_stands_inside(self):
        result = process("run", "tangent.yaml", "--json")
        assert result.returncode == 1 and "Traceback" not in result.stderr
        assert json.loads(result.stdout)["error"]["block"] == "x"

    @pytest.mark.parametrize("command", ["run", "check", "draw", "show"])
    def test_every_problem_of_a_file_has_its_line(self, command):
        result = process(command, "bad.yaml")
        assert result.returncode == 2 and result.stdout == ""
        lines = result.stderr.splitlines()
        assert lines[0] == "bad.yaml:3: block 'a': there is no block type 'Gian'. Did you mean 'Gain'?"
        assert lines[1].startswith("bad.yaml:4: block 'b' has no parameter 'kq'.")
        assert lines[2].startswith("bad.yaml:4: block 'b': 'nothing' names no block.")
        assert len(lines) == 3 and "\x1b" not in result.stderr

    def test_an_unknown_name_gets_a_suggestion(self):
        assert "Did you mean 'basics/pi_loop'?" in blocksim("run", "basics/pi_lop", code=2).stderr

    @pytest.mark.parametrize(
        ("item", "words"),
        [
            ("gain.k", "--set gain.k: write BLOCK.PARAM=VALUE"),
            ("=3", "--set =3: write"),
            ("gain.k=", "--set gain.k=: write"),
            ("gain.k={a: 1}", "k: found {'a': 1}"),
            ("gain.k=[1", "--set gain.k=[1: this is not YAML"),
            ("gain.k=!!python/object:os.system 1", "tag"),
            ("gain.k=much", "'much'"),
            ("gane.k=1", "there is no block 'gane'."),
            ("gain.kk=1", "block 'gain' has no parameter 'kk'."),
            ("S=1", "the diagram has no parameter 'S'. It has: T."),
        ],
    )
    def test_a_bad_setting_is_said_in_words(self, item, words):
        assert words in blocksim("run", "loop.yaml", "--set", item, code=2).stderr

    def test_a_setting_that_is_given_twice_is_refused(self):
        told = blocksim("run", "loop.yaml", "--set", "gain.k=2", "--set", "gain.k=3", code=2).stderr
        assert told == "--set gain.k=3: gain.k is given twice, first as 2.\n"

    def test_bad_options_are_reported_together(self):
        words = blocksim("run", "loop.yaml", "--step", "soon", "--stop", "0", "--solver", "rk5", "--seed", "-1", code=2).stderr
        assert "--step: found 'soon'" in words and "--seed: found -1" in words and "Did you mean 'rk4'?" in words

    def test_typers_own_errors_are_bad_input_too(self):
        assert process("run", "loop.yaml", "--nonsense").returncode == 2
        assert process("nonsense").returncode == 2
        assert process("run").returncode == 2
        assert process("run", "loop.yaml", "--rtol", "tight").returncode == 2

    def test_a_subsystem_is_not_run_by_itself(self):
        assert "has inputs that nothing drives: tau" in blocksim("run", "basics/parts/motor", code=2).stderr

    def test_an_unexpected_error_keeps_its_traceback(self, monkeypatch):
        monkeypatch.setattr("blocksim.cli.results.run_diagram", lambda *_: 1 / 0)
        assert isinstance(blocksim("run", "loop.yaml", code=1).exception, ZeroDivisionError)

    @pytest.mark.skipif(os.name != "posix", reason="signals")
    def test_ctrl_c_ends_it_cleanly(self):
        command = [sys.executable, "-m", "blocksim", "run", "loop.yaml", "--debug", "--stop", "100000", "--out", "run"]
        # A shell that runs the tests in the background has children ignore Ctrl-C.
        heeds = {"preexec_fn": lambda: signal.signal(signal.SIGINT, signal.SIG_DFL)} if os.name == "posix" else {}
        run = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, **heeds)
        while not Path("run").exists() and run.poll() is None:  # the folder is made just before the run starts
            time.sleep(0.05)
        time.sleep(2)  # long enough on a busy machine: what is asked is that rows are kept
        run.send_signal(signal.SIGINT)
        out, err = run.communicate(timeout=30)
        assert run.returncode == 130 and "interrupted" in err and "Traceback" not in err
        assert "wrote run/record.npz" in out and len(Record.load("run/record.npz").t) > 1  # what was recorded until then


@pytest.mark.skipif(os.name != "posix", reason="needs a pseudo terminal")
class TestTerminal:
    def on_terminal(self, *arguments: str) -> str:
        """What a command writes to a terminal that is its stdout and stderr."""
        import pty

        ours, theirs = pty.openpty()
        environment = {k: v for k, v in os.environ.items() if k not in ("NO_COLOR", "TERM")} | {"TERM": "xterm", "COLUMNS": "100"}
        run = subprocess.Popen([sys.executable, "-m", "blocksim", *arguments], stdout=theirs, stderr=theirs, env=environment)
        os.close(theirs)
        text = b""
        while True:
            try:
                piece = os.read(ours, 4096)
            except OSError:
                break
            if not piece:
                break
            text += piece
        run.wait(timeout=60)
        os.close(ours)
        return text.decode()

    def test_problems_are_in_colour(self):
        text = self.on_terminal("check", "bad.yaml")
        assert "\x1b[" in text and "bad.yaml:3: " in text

    def test_a_long_run_shows_a_bar_with_the_time_left(self):
        text = self.on_terminal("run", "loop.yaml", "--debug", "--stop", "6000")
        assert "simulating" in text and "%" in text and "0:00:0" in text
        assert "6000 s simulated" in text

    def test_a_run_within_patience_shows_none(self, monkeypatch, capsys):
        monkeypatch.setattr("sys.stderr.isatty", lambda: True)
        monkeypatch.setattr(console, "PATIENCE", 60.0)
        with console.progress_bar() as progress:
            progress(0.5)
        assert capsys.readouterr().err == ""
