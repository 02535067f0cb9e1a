"""The page on the architecture tells the truth: its functions are where it says, `blocksim run` calls them in its order."""

from __future__ import annotations

import importlib
import inspect
import re
import runpy
import sys
from pathlib import Path

import pytest
from test_layers import ROAD
from typer.testing import CliRunner

from blocksim.cli.commands import app

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs" / "architecture.md").read_text(encoding="utf-8")
HOUSE = runpy.run_path(str(ROOT / "docs" / "rooms.py"))
ARROWS = HOUSE["arrows"]()
LOOP = """
format: 1
name: A joint and what least squares finds of it
simulate: {stop: 2, solver: rk4, step: 1e-3, seed: 3}
blocks:
  ref:    {type: Sine, frequency: 1.0}
  torque: {type: WhiteNoise, Ts: 1e-2, std: 0.1}
  sum:    {type: Sum, in: [ref, torque]}
  joint:  {type: GravityJoint, J: 0.02, Fv: 0.05, Fc: 0.0, Ms: 0.0, in: sum}
  ls:     {type: LeastSquares, model: joint, in: {q: joint.q, qd: joint.qd, qdd: joint.qdd, tau: sum}}
"""


def function_of(name: str, file: str):
    module = importlib.import_module(file.removesuffix(".py").replace("/", "."))
    return vars(module)[name]


def test_there_are_the_nine_arrows():
    words = ["load", "build", "flatten", "generate", "compile", "draw", "simulate", "process", "score"]
    assert [arrow for arrow, _, _ in ARROWS] == words


@pytest.mark.parametrize(("arrow", "name", "file"), ARROWS, ids=[arrow for arrow, *_ in ARROWS])
def test_an_arrow_is_a_function_of_its_file_that_gives_its_type(arrow, name, file):
    function = function_of(name, file)
    assert Path(inspect.getsourcefile(function)).relative_to(ROOT).as_posix() == file
    assert function.__doc__
    given = re.search(rf"^\| {arrow} \|.*\| `(\w+)`[^|]*\|$", PAGE, re.MULTILINE)[1]
    assert given in str(inspect.signature(function).return_annotation)


def followed(*arguments: str) -> list[str]:
    """The arrows in the order in which a command calls them."""
    codes = {inspect.unwrap(function_of(name, file)).__code__: arrow for arrow, name, file in ARROWS}
    calls: list[str] = []

    def look(frame, event, argument):
        if event == "call" and frame.f_code in codes:
            calls.append(codes[frame.f_code])

    sys.setprofile(look)
    try:
        result = CliRunner().invoke(app, [*arguments])
    finally:
        sys.setprofile(None)
    assert result.exit_code == 0, result.output
    return calls


def test_a_run_takes_the_road(tmp_path):
    (tmp_path / "loop.yaml").write_text(LOOP)
    assert followed("run", str(tmp_path / "loop.yaml"), "-q") == [arrow for arrow, *_ in ARROWS]


@pytest.mark.parametrize("setting", ["joint.J=0.03", "torque.Ts=2e-2", "joint.friction=sign"])
def test_a_changed_setting_generates_one_program(tmp_path, setting):
    (tmp_path / "loop.yaml").write_text(LOOP)
    calls = followed("run", str(tmp_path / "loop.yaml"), "-q", "--set", setting)
    assert calls.count("load") == calls.count("build") == calls.count("generate") == calls.count("compile") == 1
    assert list(dict.fromkeys(calls)) == [arrow for arrow, *_ in ARROWS]


def test_the_program_of_the_page_gives_the_bits_of_simulate(tmp_path):
    import blocksim as bs

    code = next(text for text in re.findall(r"```python\n(.*?)```", PAGE, re.DOTALL) if "draw_noise" in text)
    (tmp_path / "page.py").write_text(code)
    record = runpy.run_path(str(tmp_path / "page.py"))["record"]
    whole = bs.simulate("one_dof/identify", seed=3)
    assert list(record) == list(whole) and all((record[name] == whole[name]).all() for name in whole)
    assert str(record.estimates["ls"]) == str(whole.estimates["ls"])


def test_the_rooms_of_the_page_are_those_of_the_house_in_order():
    rooms = [room.name for room in HOUSE["rooms"]() if room.parent.name == "blocksim"]
    assert rooms == [name for name in ROAD if (ROOT / "blocksim" / name).is_dir()]
    library = {room.name for room in HOUSE["rooms"]() if room.parent.name == "blocks"}
    assert library == {path.parent.name for path in (ROOT / "blocks").glob("*/__init__.py")}


def test_rooms_import_what_the_page_says_they_may():
    rooms = HOUSE["rooms"]()
    names, edges = [room.name for room in rooms], HOUSE["edges"](rooms)
    engine = {room.name for room in rooms if room.parent.name == "blocksim"}
    for name, allowed in re.findall(r"^\| \*\*(\w+)\*\* \|[^|]*\| ([^|]*) \|$", PAGE, re.MULTILINE):
        may = set()
        for word in allowed.split(", "):
            last = word.removeprefix("up to ")
            may |= set() if word == "nothing" else engine if word in ("all", "the engine") else {last}
            may |= set(names[: names.index(last)]) if word.startswith("up to ") else set()
        used = {names[target] for importer, target in edges if names[importer] == name}
        assert used <= may, f"{name} imports from {sorted(used - may)}"


def test_the_picture_of_the_rooms_is_up_to_date():
    drawn = HOUSE["PICTURE"].read_text(encoding="utf-8")
    assert drawn == HOUSE["picture"](), "python docs/rooms.py draws it again; look at it"
    assert all(target < importer for importer, target in HOUSE["edges"](HOUSE["rooms"]()))
