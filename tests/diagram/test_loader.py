"""Reading what is right: scalars, lines, parameters, subsystems, bundled names."""

from __future__ import annotations

import math
import os
import subprocess
import sys
from fractions import Fraction
from importlib import import_module
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from blocksim import extensions
from blocksim.contract.block import Block, inport, outport, param, static
from blocksim.contract.library import find, installed, library, members, register
from blocksim.contract.times import exact
from blocksim.diagram import files
from blocksim.diagram.build import build, open_diagram
from blocksim.diagram.diagram import Diagram, Ref, resolve, signals, walk
from blocksim.diagram.loader import bundled, find_diagram, load
from blocksim.diagram.parameters import simplest
from blocksim.diagram.spec import BlockSpec, Spec
from blocksim.diagram.yaml_lines import read_yaml, scalar
from blocksim.errors import BlockDefinitionError, DiagramError, Place

GOOD = """format: 1
name: Lag under feedback
simulate:
  stop: 10
  step: 1e-3
  seed: 7
parameters: {K: 2, T: "${K / 4}"}
blocks:
  ref:   {type: Step, time: 1}
  error: {type: Sum, signs: "+-", in: [ref, plant]}
  gain:  {type: Gain, k: "${K}", in: error}
  plant:
    type: FirstOrderLag
    T: "${T}"
    in: {u: gain.y}
    flip: true
log: [plant, {signal: error.y, every: 1/3}]
"""
LAG = """format: 1
ports: {in: {u: "${n}"}, out: {y: lag, twice: double}}
parameters: {T: null, k: 1.0, n: 1}
blocks:
  lag: {type: FirstOrderLag, T: "${T}", k: "${k}", in: u}
  double: {type: Gain, k: 2, in: lag}
"""


class LoaderReader(Block):
    """y = 0: names a file, for these tests."""

    file: str = static("", "file to read", kind=str)
    y = outport("nothing")

    @staticmethod
    def output():
        return 0.0


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("1e-3", 1e-3),
        ("1E3", 1000.0),
        (".5", 0.5),
        ("5.", 5.0),
        ("-1", -1),
        ("+2", 2),
        ("0x1F", 31),
        ("0o17", 15),
        ("010", 10),
        ("1_000", "1_000"),
        ("1:30", "1:30"),
        ("on", "on"),
        ("off", "off"),
        ("yes", "yes"),
        ("no", "no"),
        ("y", "y"),
        ("1e", "1e"),
        ("true", True),
        ("False", False),
        ("~", None),
        ("", None),
        ("null", None),
        (".inf", math.inf),
        ("-.inf", -math.inf),
        ("2020-01-01", "2020-01-01"),
        ("+-", "+-"),
        ("١", "١"),
        ("1e5\n", "1e5\n"),
    ],
)
def test_scalars_follow_yaml_1_2(text, value):
    assert scalar(text) == value
    assert type(scalar(text)) is type(value)


def test_keys_are_words_whatever_they_look_like():
    root, problems = read_yaml("on: 1\n1: 2\nnull: 3\ntrue: 4\n", "f")
    assert root.plain() == {"on": 1, "1": 2, "null": 3, "true": 4}
    assert not problems


def test_quoted_scalars_stay_texts():
    assert read_yaml("a: '1'\nb: \"true\"\nc: |\n  2\n", "f")[0].plain() == {"a": "1", "b": "true", "c": "2\n"}


def test_aliases_repeat_values():
    assert read_yaml("a: &x [1, {b: 2}]\nc: *x\n", "f")[0].plain() == {"a": [1, {"b": 2}], "c": [1, {"b": 2}]}


def test_every_value_knows_its_line():
    spec = load(GOOD)
    assert spec.blocks["plant"].place == Place("<text>", 12)
    assert {key: place.line for key, place in spec.blocks["plant"].places.items()} == {"type": 13, "T": 14, "in": 15, "flip": 16}
    assert spec.places["simulate.step"].line == 5
    assert spec.places["parameters.T"].line == 7
    assert [entry.place.line for entry in spec.log or [] if entry.place] == [17, 17]


def test_a_spec_holds_what_was_written():
    spec = load(GOOD)
    assert (spec.name, spec.simulate.stop, spec.simulate.step, spec.simulate.seed) == ("Lag under feedback", 10, 1e-3, 7)
    assert spec.parameters == {"K": 2, "T": "${K / 4}"}
    assert spec.blocks["error"].inputs == ["ref", "plant"]
    assert spec.blocks["plant"].flip is True
    assert spec.log is not None
    assert exact(spec.log[1].every) == Fraction(1, 3)
    assert spec.text == GOOD


def test_windows_line_ends(tmp_path: Path):
    path = tmp_path / "crlf.yaml"
    path.write_bytes(GOOD.replace("\n", "\r\n").encode())
    assert load(path) == load(GOOD)
    assert load(path).blocks["gain"].place == Place(str(path), 11)


def test_building_puts_parameters_in_place():
    diagram = build(load(GOOD))
    assert diagram.nodes["gain"].block.settings["k"] == 2
    assert diagram.nodes["plant"].block.settings["T"] == 0.5
    assert diagram.parameters == {"K": 2, "T": 0.5}
    assert resolve(diagram)["plant"] == {"u": [Ref("gain", "y")]}
    assert diagram.nodes["plant"].at("in") == Place("<text>", 15)


def test_overrides_reach_dependent_parameters():
    diagram = build(load(GOOD), parameters={"K": 8})
    assert diagram.nodes["plant"].block.settings["T"] == 2.0


def test_a_parameter_of_any_kind_is_used_as_a_whole():
    text = """format: 1
parameters: {signs: "+-", values: [1, 2], n: 3, stop: 2, seed: 4}
simulate: {stop: "${stop}", seed: "${seed + 1}"}
blocks:
  a: {type: Constant, value: "${values}"}
  s: {type: Sum, signs: "${signs}", in: [a, a]}
  t: {type: TransferFunction, num: [1], den: ["${n}", 1, "${n - 1}"], in: s}
log: [{signal: s, every: "${stop / 3}"}]
"""
    diagram = build(load(text))
    assert diagram.nodes["a"].block.settings["value"] == [1, 2]
    assert diagram.nodes["s"].block.settings["signs"] == "+-"
    assert diagram.nodes["t"].block.settings["den"] == [3, 1, 2]
    assert (diagram.simulate.stop, diagram.simulate.seed) == (2, 5)
    assert type(diagram.simulate.seed) is int
    assert diagram.log is not None
    assert exact(diagram.log[0].every) == Fraction(2, 3)


@pytest.mark.parametrize(
    ("seconds", "meant"),
    [
        (3 * 0.1, Fraction(3, 10)),
        (1 / 3, Fraction(1, 3)),
        (1e-3, Fraction(1, 1000)),
        (0.1 + 0.2, Fraction(3, 10)),
        (2 / 7, Fraction(2, 7)),
        (5.0, Fraction(5)),
        (1e-3 / 3, Fraction(1, 3000)),
        (0.0, Fraction(0)),
    ],
)
def test_times_from_arithmetic_are_the_ones_meant(seconds, meant):
    assert exact(simplest(seconds)) == meant


def test_subsystems_are_built_from_their_own_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.chdir(tmp_path)
    Path("parts").mkdir()
    Path("parts/lag.yaml").write_text(LAG)
    Path("parts/pair.yaml").write_text(
        """format: 1
ports: {in: [u], out: {y: second}}
parameters: {T: 1}
blocks:
  first: {type: lag.yaml, T: "${T}", in: u}
  second: {type: ./lag.yaml, T: "${2*T}", in: first.y}
""".replace("y: second", "y: second.y")
    )
    Path("d.yaml").write_text("""format: 1
parameters: {T: 0.5}
blocks:
  one: {type: Constant}
  pair: {type: ./parts/pair.yaml, T: "${T}", in: one}
  after: {type: Gain, in: pair}
log: [pair, pair.first, pair.second.lag.y]
""")
    diagram = build(load("d.yaml"))
    flat = {path: node for path, node in walk(diagram)}
    assert list(flat) == [
        "one",
        "pair",
        "pair.first",
        "pair.first.lag",
        "pair.first.double",
        "pair.second",
        "pair.second.lag",
        "pair.second.double",
        "after",
    ]
    assert flat["pair.first.lag"].block.settings["T"] == 0.5
    assert flat["pair.second.lag"].block.settings["T"] == 1.0
    assert flat["pair.first.lag"].place == Place(os.path.join("parts", "lag.yaml"), 5)
    assert resolve(diagram)["after"] == {"u": [Ref("pair", "y")]}


def test_log_entries_name_signals_blocks_and_parts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.chdir(tmp_path)
    Path("lag.yaml").write_text(LAG)
    diagram = build(load("format: 1\nblocks:\n  one: {type: Constant}\n  s: {type: ./lag.yaml, T: 1, in: one}\n"))
    complaints: list[str] = []

    def found(written: str) -> list[str]:
        return [str(ref) for ref in signals(diagram, written, complaints.append)]

    assert found("one") == ["one.y"]
    assert found("s") == ["s.y", "s.twice"]
    assert found("s.twice") == ["s.twice"]
    assert found("s.double") == ["s.double.y"]
    assert found("s.lag.y[0]") == ["s.lag.y[0]"]
    assert complaints == []
    assert found("s.lagg.y") == []
    assert complaints == ["'lagg.y' names no block. Blocks are: lag, double, u. Did you mean 'lag'?"]


def test_a_part_may_need_a_value(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.chdir(tmp_path)
    Path("lag.yaml").write_text(LAG)
    with pytest.raises(DiagramError, match=r"lag.yaml:3: parameter 'T': has no value of its own .*\(used by block 's'"):
        build(load("format: 1\nblocks:\n  one: {type: Constant}\n  s: {type: ./lag.yaml, in: one}\n"))


def test_files_of_a_block_become_absolute(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    register(LoaderReader)
    monkeypatch.chdir(tmp_path)
    Path("data").mkdir()
    Path("data/run.csv").write_text("t,y\n")
    Path("data/d.yaml").write_text("format: 1\nblocks:\n  r: {type: LoaderReader, file: run.csv}\n")
    diagram = build(load("data/d.yaml"))
    assert diagram.nodes["r"].block.settings["file"] == str(tmp_path / "data" / "run.csv")
    assert diagram.spec.blocks["r"].settings["file"] == "run.csv"


def test_outside_files_can_be_allowed(tmp_path: Path):
    (tmp_path / "lag.yaml").write_text(LAG)
    (tmp_path / "mine").mkdir()
    top = tmp_path / "mine" / "d.yaml"
    top.write_text("format: 1\nblocks:\n  one: {type: Constant}\n  s: {type: ../lag.yaml, T: 1, in: one}\n")
    with pytest.raises(DiagramError, match="--allow-outside"):
        build(load(top))
    assert "s" in build(load(top), allow_outside=True).nodes
    assert "s" in build(load(top, allow_outside=True)).nodes
    assert "s" in open_diagram(str(top), allow_outside=True).nodes


@pytest.fixture
def a_bundle(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    root = tmp_path / "bundle"
    (root / "one_dof").mkdir(parents=True)
    (root / "parts").mkdir()
    (root / "parts" / "lag.yaml").write_text(LAG)
    (root / "one_dof" / "pid.yaml").write_text(
        "format: 1\nblocks:\n  one: {type: Constant}\n  s: {type: ../parts/lag.yaml, T: 1, in: one}\n"
    )
    monkeypatch.setattr(files, "bundled_root", lambda: root)
    return root


def test_bundled_diagrams_go_by_name(a_bundle: Path):
    assert bundled() == ["one_dof/pid"]
    assert find_diagram("one_dof/pid") == find_diagram("one_dof/pid.yaml") == str(a_bundle / "one_dof" / "pid.yaml")
    assert load("one_dof/pid").path == str(a_bundle / "one_dof" / "pid.yaml")


def test_bundled_diagrams_share_their_parts(a_bundle: Path):
    assert "s" in open_diagram("one_dof/pid").nodes


def test_a_diagram_that_is_not_there(a_bundle: Path):
    with pytest.raises(DiagramError, match=r"no file 'one_dof/pdi' \(looked in .*\)\. Did you mean 'one_dof/pid'\?"):
        find_diagram("one_dof/pdi")
    with pytest.raises(DiagramError, match="is a folder"):
        find_diagram(a_bundle)
    with pytest.raises(DiagramError, match=r"no file '../parts'.*Bundled diagrams are: one_dof/pid\."):
        find_diagram("../parts")


def test_the_bundle_of_this_checkout():
    assert files.bundled_root().name == "diagrams"
    assert all(os.path.isfile(find_diagram(name)) for name in bundled())


def test_open_diagram_takes_anything_that_names_one():
    diagram = open_diagram(GOOD)
    assert open_diagram(diagram) is diagram
    assert list(open_diagram(load(GOOD)).nodes) == list(diagram.nodes)
    with pytest.raises(DiagramError, match="nothing"):
        open_diagram(diagram, {"nothing": 1})
    with pytest.raises(DiagramError, match=r"no parameters of its own; found K. Write block.parameter."):
        open_diagram(Diagram("made in Python"), {"K": 1})


def test_a_library_may_be_given():
    class OwnGain(Block):
        """y = k u, a library of one."""

        k: float = param(1.0, "gain")
        u = inport("input")
        y = outport("output")

        @staticmethod
        def output(u, k):
            return k * u

    text = "format: 1\nblocks:\n  a: {type: OwnGain, in: a}\n"
    assert isinstance(build(load(text), {"OwnGain": OwnGain}).nodes["a"].block, OwnGain)
    with pytest.raises(DiagramError, match="no block type 'OwnGain'"):
        build(load(text))


def test_the_library_is_found_through_its_entry_point():
    assert {"Gain", "Sum", "FirstOrderLag", "TransferFunction", "Mux"} <= set(library())
    assert find("Gain").__module__.startswith("blocks.")
    assert members(sys.modules[find("Gain").__module__])["Gain"] is find("Gain")


def entry(name: str, loaded: Any) -> Any:
    return SimpleNamespace(name=name, value=f"{name}.blocks", load=lambda: loaded)


@pytest.mark.parametrize(
    ("entries", "words"),
    [
        (
            [entry("ours", {"Gain": find("Gain")}), entry("theirs", {"Gain": find("Abs")})],
            r"two libraries have a block Gain: 'ours' \(blocks\S+.Gain\) and 'theirs' \(blocks\S+.Abs\)",
        ),
        (
            [SimpleNamespace(name="broken", value="no.such", load=lambda: import_module("no.such"))],
            r"the block library 'broken' \(no.such\) cannot be loaded: No module named 'no'",
        ),
    ],
)
def test_libraries_that_do_not_go_together(entries, words, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr("blocksim.contract.library.entries", lambda group: entries)
    with pytest.raises(DiagramError, match=words):
        installed.__wrapped__()


def test_the_same_library_listed_twice_is_one(monkeypatch: pytest.MonkeyPatch):
    twice = [entry("ours", {"Gain": find("Gain")})] * 2
    monkeypatch.setattr("importlib.metadata.entry_points", lambda group: twice)
    monkeypatch.setattr("blocksim.contract.library.entries", extensions.entries.__wrapped__)
    assert list(installed.__wrapped__()) == ["Gain"]


def test_a_spec_made_in_python_needs_no_lines():
    blocks = {"one": BlockSpec("one", "Constant"), "g": BlockSpec("g", "Gain", "one", {"k": "${K}"})}
    spec = Spec(blocks=blocks, parameters={"K": 4})
    assert build(spec).nodes["g"].block.settings["k"] == 4
    spec.blocks["g"].settings = {"q": 1}
    with pytest.raises(DiagramError, match=r"^block 'g' has no parameter 'q'. Gain takes: k.$"):
        build(spec)


def test_one_name_for_two_blocks_is_refused():
    class Gain(Block):
        """y = 0, in disguise."""

        y = outport("zero")

        @staticmethod
        def output():
            return 0.0

    with pytest.raises(BlockDefinitionError, match=r"two blocks are called Gain: blocks\..*Gain and .*locals.*Gain"):
        register(Gain)


def test_a_registered_block_can_be_defined_again(monkeypatch):
    monkeypatch.setattr(sys.modules["blocksim.contract.library"], "_registered", {})  # other tests do not know it

    def make(value: float) -> type[Block]:
        class Redefined(Block):
            """y = 1, then 2."""

            k: float = param(value, "value")
            y = outport("value")

            @staticmethod
            def output(k):
                return k

        return Redefined

    register(make(1.0))
    register(make(2.0))
    assert find("Redefined").declared["k"].default == 2.0
    with pytest.raises(BlockDefinitionError, match="is not a Block class"):
        register(dict)  # type: ignore[arg-type]


def test_numbered_inputs_are_put_in_order():
    text = "format: 1\nblocks:\n  a: {type: Constant}\n  b: {type: Constant}\n  s: {type: Sum, signs: '+-', in: {u2: a, u1: b}}\n"
    assert resolve(build(load(text)))["s"] == {"u": [Ref("b", "y"), Ref("a", "y")]}


def test_a_subsystem_can_be_added_from_python(tmp_path: Path):
    (tmp_path / "lag.yaml").write_text(LAG)
    diagram = Diagram("by hand")
    diagram.add("one", "Constant", value=2)
    diagram.add("s", str(tmp_path / "lag.yaml"), inputs="one", T=3)
    assert dict(walk(diagram))["s.lag"].block.settings["T"] == 3


def test_importing_the_loader_costs_no_heavy_library():
    code = (
        "import sys, blocksim.diagram.loader, blocksim.diagram.build; "
        "print([m for m in ('yaml', 'scipy', 'networkx', 'matplotlib', 'numba', 'pandas') if m in sys.modules])"
    )
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout.strip() == "[]"
