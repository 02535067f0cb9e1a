"""The commands beside `run`: check, draw, show, blocks, schema, demo, and what an installed wheel brings along."""

from __future__ import annotations

import json
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest
from typer.testing import CliRunner

from blocksim import __version__
from blocksim.cli.commands import app

ROOT = Path(__file__).parents[2]
LOOP = """format: 1
simulate: {stop: 2, solver: rk4, step: 1e-2}
blocks:
  ref:   {type: Step, time: 0.5}
  error: {type: Sum, signs: "+-", in: [ref, plant]}
  gain:  {type: Gain, k: 4, in: error}
  plant: {type: FirstOrderLag, T: 0.5, in: gain}
"""


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    Path("loop.yaml").write_text(LOOP)
    return tmp_path


def blocksim(*arguments: str, code: int = 0):
    """Run a command in this process and check how it ended."""
    result = CliRunner().invoke(app, list(arguments), prog_name="blocksim")
    assert result.exit_code == code, f"{result.output}\n{result.exception!r}"
    return result


def test_check_says_what_it_found():
    assert blocksim("check", "loop.yaml").stdout == "loop.yaml: ok, 4 blocks, 1 continuous state, 0 sample rates\n"
    assert "ok, a subsystem of 5 blocks" in blocksim("check", "basics/parts/motor").stdout


def test_check_finds_what_only_the_schedule_knows():
    Path("ring.yaml").write_text("format: 1\nblocks:\n  a: {type: Gain, in: b}\n  b: {type: Gain, in: a}\n")
    assert "ring.yaml:3: algebraic loop: a.y -> b.u" in blocksim("check", "ring.yaml", code=2).stderr


def test_check_does_not_ask_for_a_stop_time():
    Path("open.yaml").write_text("format: 1\nblocks:\n  a: {type: Constant}\n")
    assert "no stop time" in blocksim("check", "open.yaml").stdout


@pytest.mark.parametrize(("name", "start"), [("x.svg", b"<svg"), ("x.png", b"\x89PNG"), ("x.pdf", b"%PDF")])
def test_draw(name, start):
    assert blocksim("draw", "loop.yaml", "-o", name).stdout == f"wrote {name}\n"
    assert start in Path(name).read_bytes()[:200]


def test_draw_takes_its_name_from_the_file():
    blocksim("draw", "basics/servo")
    assert Path("servo.svg").exists()


def test_draw_says_where_it_cannot_write():
    assert "no/folder.svg" in blocksim("draw", "loop.yaml", "-o", "no/folder.svg", code=2).stderr
    assert ".svg, .png, .pdf" in blocksim("draw", "loop.yaml", "-o", "x.jpg", code=2).stderr


def test_show_program_is_python():
    text = blocksim("show", "loop.yaml", "--program").stdout
    compile(text, "program", "exec")
    assert "def advance(" in text


def test_show_program_says_what_its_numbers_are():
    # Read as its user would: a line of the program, and what its p[..] and x[..] are, with units.
    text = blocksim("show", "one_dof/pid", "--program").stdout
    compile(text, "program", "exec")
    meaning = {line.split()[1]: line.split()[2:] for line in text.splitlines() if line.startswith("#     ")}
    slope = next(line for line in text.splitlines() if line.strip().startswith("dx[1] ="))
    inertia = slope.rpartition("/ ")[2]
    assert meaning[inertia][:3] == ["joint.J", "kg", "m^2"]
    assert meaning["x[1]"][:2] == ["joint.qd", "rad/s"]
    assert meaning["m[4]"][0] == "encoder.q_hat"
    assert meaning["noise[o[12]]"][0] == "encoder.w"
    assert meaning["clock[0]"] == ["tick", "the", "tick", "reached"]
    assert " ".join(meaning["f[0]"]) == "h step wanted next [s]"
    assert "every 1/1000 s" in text


def test_the_legend_is_no_part_of_the_program():
    # Blocks may be called what they like: equal programs are compiled once.
    from blocksim.diagram.build import open_diagram
    from blocksim.simulation.prepare import experiment

    assert "# p: parameters" in blocksim("show", "one_dof/pid", "--program").stdout
    assert "# p: parameters" not in experiment(open_diagram("one_dof/pid")).program.code.text


def test_show_schedule_is_in_feedthrough_order():
    text = blocksim("show", "loop.yaml", "--schedule").stdout
    assert text.index("plant.output") < text.index("error.output") < text.index("gain.output")


def test_show_diagram_lists_blocks_inside_subsystems():
    text = blocksim("show", "basics/servo", "--set", "motor.dry.k=0.25").stdout
    assert "motor.speed" in text and "[ref, encoder]" in text
    assert next(line for line in text.splitlines() if line.startswith("motor.dry")).endswith("k=0.25")


def test_blocks_by_family():
    text = blocksim("blocks").stdout
    assert "continuous\n" in text and "FirstOrderLag" in text and "T y' + y = k u" in text


def test_one_block():
    text = blocksim("blocks", "FirstOrderLag").stdout
    row = next(line for line in text.splitlines() if line.startswith("T   "))
    assert "above 0" in row and "time constant" in row and "type: FirstOrderLag" in text


def test_an_unknown_block():
    assert "Did you mean 'Relay'?" in blocksim("blocks", "Reley", code=2).stderr


def test_schema():
    printed = blocksim("schema").stdout
    blocksim("schema", "-o", "s.json")
    assert json.loads(printed) == json.loads(Path("s.json").read_text())
    assert "FirstOrderLag" in json.loads(printed)["$defs"]


def test_demo_runs_and_its_copy_runs_again():
    text = blocksim("demo").stdout
    assert "10 s simulated" in text and "blocksim run blocksim-demo/diagram.yaml --plot" in text
    assert max(len(line) for line in text[text.index("Look at") :].splitlines()) <= 80
    made = {p.name for p in Path("blocksim-demo").iterdir()}
    assert {"diagram.yaml", "diagram.svg", "plot.png", "record.npz"} <= made
    blocksim("run", "blocksim-demo/diagram.yaml", "--quiet")
    blocksim("demo")  # again, over what is there


def test_version():
    assert blocksim("--version").stdout == f"blocksim {__version__}\n"


def test_help_names_every_command():
    text = blocksim("--help").stdout
    assert all(f"  {name} " in text for name in ("run", "check", "draw", "show", "blocks", "schema", "demo"))
    for words in (text, blocksim("course", "--help").stdout):
        assert "..." not in words.partition("Commands:")[2] and max(map(len, words.splitlines())) <= 80  # nothing is cut


def test_files_outside_the_folder_need_leave(folder):
    (folder / "inner").mkdir()
    (folder / "part.yaml").write_text("format: 1\nports: {in: [u], out: {y: g}}\nblocks:\n  g: {type: Gain, k: 3, in: u}\n")
    (folder / "inner/main.yaml").write_text(
        "format: 1\nsimulate: {stop: 1}\nblocks:\n  one: {type: Constant}\n  part: {type: ../part.yaml, in: one}\n"
    )
    assert "inner/main.yaml:5:" in blocksim("run", "inner/main.yaml", code=2).stderr
    data = json.loads(blocksim("run", "inner/main.yaml", "--json", "--allow-outside", "--out", "copy").stdout)
    assert data["signals"]["part.g.y"]["final"] == 3.0
    blocksim("run", "copy/diagram.yaml")  # the copy holds its parts and needs no leave


@pytest.mark.slow
def test_the_wheel_carries_the_bundled_diagrams(folder):
    command = [sys.executable, "-m", "pip", "wheel", str(ROOT), "--no-deps", "--no-build-isolation", "-w", str(folder)]
    made = subprocess.run(command, capture_output=True, text=True)
    assert made.returncode == 0, made.stderr
    names = zipfile.ZipFile(next(folder.glob("*.whl"))).namelist()
    assert "blocksim/diagrams/basics/pi_loop.yaml" in names and "blocksim/diagrams/basics/parts/motor.yaml" in names
    assert "blocks/__init__.py" in names and "blocksim/cli.py" in names
