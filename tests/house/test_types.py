"""The typed front door: what a type checker and an editor see of `import blocksim as bs`, read as a user's script would."""

from __future__ import annotations

import ast
import re
import subprocess
import sys
import zipfile
from dataclasses import fields
from pathlib import Path

import pytest

import blocksim
from blocksim.diagram.spec import SeededOptions, SimulateSpec

ROOT = Path(__file__).parents[2]
STUB = ast.parse((ROOT / "blocksim" / "__init__.pyi").read_text(encoding="utf-8"))
ARRAY = "ndarray[tuple[Any, ...], dtype[float64]]"
#: Expressions of a user's script, and their types.
TYPES = {
    'bs.load("pid.yaml")': "Spec",
    'bs.open_diagram("pid.yaml")': "Diagram",
    'bs.build(bs.load("pid.yaml"))': "Diagram",
    "bs.flatten(bs.Diagram())": "Schedule",
    'bs.simulate("pid.yaml", stop="1/3", params={"joint.J": 0.02}, seed=3)': "Record",
    "record.t": ARRAY,
    'record["q"]': ARRAY,
    "record[10:20]": "Record",
    'record.select("q").resample(every=0.01)': "Record",
    'bs.Record.load("run.csv", every=0.1)': "Record",
    'record.estimates["ls"]': "Estimates",
    'record.estimates["ls"]["J"].value': "float",
    'record.estimates["ls"]["J"].interval': "tuple[float, float]",
    'bs.simulate_many("pid.yaml", seeds=range(3))': "list[Record]",
    'bs.simulate_many("pid.yaml", collect=len)': "list[int]",
    'bs.simulate_many("pid.yaml", collect=len, on_error="keep")': "list[int | BlocksimError]",
    'bs.start("pid.yaml", stop=1)': "Simulation",
    "bs.Diagram().start(seed=2)": "Simulation",
    'bs.start("pid.yaml").record()': "Record",
    "bs.rerun(record, seed=4)": "Record",
    'bs.identify("axis.yaml", "lab.csv")': "Record",
    "bs.process(bs.Diagram(), record)": "Record",
    'bs.linearize("open.yaml", "u", ["robot.w_m"])': "LinearModel",
    "A": ARRAY,
    "model.poles()": "ndarray[tuple[Any, ...], dtype[complex128]]",
    'bs.operating_point("open.yaml", inputs={"u": None}).states': "dict[str, float]",
    'bs.run_study("bias.yaml", jobs=2)': "StudyResult",
    'bs.run_study("bias.yaml").failures': "list[dict[str, Any]]",
    "bs.plot(record)": "Figure",
    "bs.library()": "Mapping[str, type[Block]]",
    "Lag(T=2.0).k": "float",
}
HEAD = """
import blocksim as bs

class Lag(bs.Block):
    k: float = bs.param(1.0, "static gain", min=0)
    T: float = bs.required("time constant", "s", above=0)
    law: str = bs.static("linear", "law", choices=("linear", "cubic"))
    Ts: float = bs.period(0.1, "sample time")
    u = bs.inport("input")
    y = bs.outport("lagged input")
    x: float = bs.state(0.0, "lagged value")

    @staticmethod
    def derivative(x: float, u: float, k: float, T: float) -> float:
        return (k * u - x) / T

    @staticmethod
    @bs.rising
    def guard_up(x: float) -> float:
        return x

record = bs.simulate("pid.yaml")
model = bs.linearize("open.yaml", "u", "robot.w_m")
A, B, C, D = model
"""
#: Mistakes a checker must find, and a word of what it says.
MISTAKES = {
    "bs.simulate(3.0)": 'incompatible type "float"',
    'bs.simulate("pid.yaml", stop=[1])': 'incompatible type "list[int]"',
    'bs.simulate("pid.yaml", stpo=1)': 'Unexpected keyword argument "stpo"',
    'bs.simulate_many("pid.yaml", seeds="x")': 'incompatible type "str"',
    'bs.start("pid.yaml", sovler="rk4")': 'Unexpected keyword argument "sovler"',
    'bs.linearize("pid.yaml", "u", "y", dt=[0.1])': 'incompatible type "list[float]"',
    'bs.run_study("bias.yaml", jobs="two")': 'incompatible type "str"',
    'bs.param(1.0, "gain", abov=0)': 'Unexpected keyword argument "abov"',
    'bs.register("Lag")': 'incompatible type "str"',
    "record[3.5]": "No overload variant",
    'record.estimates["ls"]["J"].valu': 'has no attribute "valu"',
    "bs.simulat": 'has no attribute "simulat"',
}


@pytest.fixture(scope="module")
def checked(tmp_path_factory) -> list[str]:
    """What mypy --strict says of a script of a user, line by line: the revealed types first, then the mistakes."""
    folder = tmp_path_factory.mktemp("script")
    lines = [*(f"reveal_type({text})" for text in TYPES), *MISTAKES]
    (folder / "script.py").write_text(HEAD + "\n".join(lines) + "\n")
    command = [sys.executable, "-m", "mypy", "--strict", "--config-file=", "--ignore-missing-imports", "--hide-error-context"]
    result = subprocess.run([*command, "script.py"], cwd=folder, capture_output=True, text=True)
    said: list[str] = [""] * (HEAD.count("\n") + len(lines) + 1)
    for line in result.stdout.splitlines():
        if match := re.match(r"script\.py:(\d+): (?:note|error): (.*)", line):
            said[int(match[1])] += match[2] + "\n"
    assert any(said), result.stdout + result.stderr
    return said[1:]


def short(revealed: str) -> str:
    """A revealed type without its modules."""
    match = re.match(r'Revealed type is "(.*)"', revealed)
    return re.sub(r"\b(?:\w+\.)+(\w+)", r"\1", match[1]) if match else revealed


def test_a_block_of_a_user_checks(checked):
    assert not any(checked[: HEAD.count("\n")]), checked[: HEAD.count("\n")]


def test_types_of_the_front_door(checked):
    said = checked[HEAD.count("\n") :]
    assert {text: short(line) for text, line in zip(TYPES, said, strict=False)} == TYPES


@pytest.mark.parametrize("text", MISTAKES)
def test_a_mistake_is_found_before_the_run(checked, text):
    said = checked[HEAD.count("\n") + len(TYPES) + list(MISTAKES).index(text)]
    assert MISTAKES[text] in said, said


def test_the_stub_has_the_names_of_the_table():
    names = {
        alias.name: node.module
        for node in STUB.body
        if isinstance(node, ast.ImportFrom)
        for alias in node.names
        if alias.asname == alias.name  # what a checker takes as public
    }
    assert names == blocksim.PUBLIC
    assert ["__version__", *blocksim.PUBLIC] == blocksim.__all__


def test_options_are_the_keys_of_simulate():
    assert SeededOptions.__optional_keys__ == {field.name for field in fields(SimulateSpec)}


def test_the_wheel_tells_checkers_that_it_is_typed(tmp_path):
    from hatchling.builders.wheel import WheelBuilder

    wheel = next(WheelBuilder(str(ROOT)).build(directory=str(tmp_path), versions=["standard"]))
    assert {"blocksim/__init__.pyi", "blocksim/py.typed", "blocks/py.typed"} <= set(zipfile.ZipFile(wheel).namelist())
