"""Files written to do harm: each is refused with a named error, quickly, and nothing of it is executed."""

from __future__ import annotations

import contextlib
import os
import time
from importlib import import_module
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from blocksim.diagram.build import build
from blocksim.diagram.loader import load
from blocksim.errors import DiagramError

GOOD = """format: 1
name: A loop
simulate: {stop: 10, step: 1e-3, seed: 7}
parameters: {K: 2, T: "${K / 4}"}
blocks:
  ref:   {type: Step, time: 1}
  error: {type: Sum, signs: "+-", in: [ref, plant]}
  gain:  {type: Gain, k: "${K}", in: error}
  plant:
    type: FirstOrderLag
    T: "${T}"
    in: {u: gain.y}
log: [plant, {signal: error.y, every: 1/3}]
"""


def block(line: str, more: str = "") -> str:
    return f"format: 1\n{more}\nblocks:\n  one: {{type: Constant}}\n  {line}\n"


def gain(value: str, more: str = "") -> str:
    return block(f"g: {{type: Gain, k: {value}, in: one}}", more)


def bomb(width: int, depth: int) -> str:
    """A list of lists of lists ... by aliases: width ** depth values."""
    lines = ["format: 1", "parameters:", "  a0: &a0 [1, 2]"]
    lines += [f"  a{n}: &a{n} [{', '.join([f'*a{n - 1}'] * width)}]" for n in range(1, depth)]
    return "\n".join([*lines, "blocks: {one: {type: Constant}}", ""])


def reference_bomb(width: int, depth: int) -> str:
    """The same by references to parameters."""
    lines = ["format: 1", "parameters:", "  a0: [1, 2]"]
    lines += [f"  a{n}: [{', '.join([chr(34) + '${a' + str(n - 1) + '}' + chr(34)] * width)}]" for n in range(1, depth)]
    return "\n".join([*lines, "blocks: {one: {type: Constant, value: '${a" + str(depth - 1) + "}'}}", ""])


HOSTILE = {
    "python object tag": (gain("!!python/object/apply:os.system ['touch pwned']"), "tag .*python/object/apply:os.system"),
    "python name tag": (gain("!!python/name:os.system"), "is not read"),
    "python module tag": ("!!python/module:os\nformat: 1\n", "not YAML|is not read"),
    "unknown local tag": (gain("!include /etc/passwd"), "tag !include"),
    "aliases without end": (bomb(10, 12), "aliases repeat more than 100000 values"),
    "quadratic aliases": (
        "format: 1\nparameters:\n  a: &a [" + "1, " * 20000 + "]\n  b: [" + "*a, " * 2000 + "]\n",
        "aliases repeat more than",
    ),
    "references without end": (reference_bomb(10, 12), "repeat more than 100000 values"),
    "alias of itself": ("format: 1\nparameters: {a: &a [1, *a]}\nblocks: {one: {type: Constant}}\n", "stands inside the value"),
    "mapping of itself": ("&a\nformat: 1\nblocks: *a\n", "stands inside the value"),
    "deep flow list": (gain("[" * 30000), "nested deeper than 50"),
    "deep flow mapping": (gain("{a: " * 30000), "nested deeper than 50|not YAML"),
    "deep block list": (gain("\n" + "".join("  " * n + "-\n" for n in range(400))), "nested deeper|not YAML"),
    "deep by aliases": (
        "format: 1\nparameters:\n  a0: &a0 [1]\n" + "".join(f"  a{n}: &a{n} [*a{n - 1}]\n" for n in range(1, 400)),
        "50 levels through aliases",
    ),
    "float overflow": (gain("1e400"), "1e400 is too large"),
    "a million digits": (gain("9" * 1_000_000), "a number of 1000000 characters"),
    "a million digits after the point": (gain("0." + "1" * 1_000_000), "a number of 1000002 characters"),
    "a huge exponent as time": (block("h: {type: UnitDelay, Ts: '1e999999999', in: one}"), "Ts: found '1e999999999'"),
    "a huge exponent as stop": (gain("1", "simulate: {stop: '1e999999999'}"), "stop: found '1e999999999'"),
    "a huge power in an expression": (gain("'${9**9**9**9}'"), "has no value|too large|not a finite"),
    "a huge integer": (gain("1" + "0" * 90), None),
    "NUL": ("format: 1\nname: a\0b\n", "a NUL cannot stand"),
    "escape sequence": ("format: 1\nname: \x1b[2J\n", r"control character U\+001B"),
    "escaped NUL": (gain('"\\0"'), "holds a control character"),
    "half a character": ("format: 1\nname: \ud800\n", r"U\+D800"),
    "import in an expression": (gain("\"${__import__('os').system('touch pwned')}\""), "not allowed|unknown"),
    "attribute in an expression": (gain("'${(1).__class__}'"), "not allowed"),
    "lambda in an expression": (gain("'${(lambda: 0)()}'"), "not allowed"),
    "comprehension in an expression": (gain("'${[x for x in (1, 2)]}'"), "not allowed"),
    "deep expression": (gain("'${" + "(" * 400 + "1" + ")" * 400 + "}'"), "not an expression|nested deeper|at most"),
    "long expression": (gain("'${" + "1+" * 100000 + "1}'"), "at most 1000 characters"),
    "too many blocks": ("format: 1\nblocks:\n" + "".join(f"  b{n}: {{type: Constant}}\n" for n in range(20001)), "at most 20000"),
    "too many bytes": ("format: 1\n# " + "x" * (1 << 20) + "\n", "larger than 1048576 bytes"),
    "absolute path": (block("s: {type: /etc/passwd.yaml, in: one}"), "outside the folder"),
    "path upwards": (block("s: {type: ../../../../etc/passwd, in: one}"), "outside the folder"),
    "path upwards in the middle": (block("s: {type: ./a/../../b.yaml, in: one}"), "outside the folder"),
    "merge key": (gain("1", "parameters: {<<: {a: 1}}"), "merge key"),
    "directive of a newer YAML": ("%YAML 9.9\n---\nformat: 1\n", "not YAML"),
    "second document": (GOOD + "---\n" + GOOD, "second document"),
    "dunder as a setting": (block("g: {type: Gain, __class__: 1, self: 2, settings: 3, in: one}"), "no parameter '__class__'"),
    "dunder as a type": (block("g: {type: __class__, in: one}"), "no block type '__class__'"),
    "many open inputs": ("format: 1\nblocks:\n" + "".join(f"  b{n}: {{type: Gain}}\n" for n in range(20000)), "51 more problems"),
    "many links to nowhere": (
        "format: 1\nblocks:\n" + "".join(f"  b{n}: {{type: Gain, in: c{n}}}\n" for n in range(20000)),
        "and 51 more problems",
    ),
    "many double keys": ("a: 1\n" * 100000, "and many more problems"),
    "long texts in many messages": (
        "format: 1\nparameters: {s: "
        + "x" * 500000
        + "}\nblocks:\n  one: {type: Constant}\n"
        + "".join(f"  b{n}: {{type: Gain, k: '${{s}}', in: one}}\n" for n in range(150)),
        "100 more problems",
    ),
    "many mistakes": ("format: 1\nblocks:\n" + "".join(f"  b{n}: {{type: X{n}}}\n" for n in range(5000)), "many more problems"),
}


@pytest.mark.parametrize("name", HOSTILE)
def test_a_hostile_text_is_refused(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.chdir(tmp_path)
    text, words = HOSTILE[name]
    started = time.perf_counter()
    if words is None:
        build(load(text))
    else:
        with pytest.raises(DiagramError, match=words) as caught:
            build(load(text))
        assert len(str(caught.value)) < 200_000
    assert time.perf_counter() - started < 20
    assert os.listdir(tmp_path) == []


@pytest.mark.parametrize(
    ("data", "words"),
    [
        (b"format: 1\nname: caf\xe9\n", "d.yaml:2: byte 0xe9 is not UTF-8"),
        (b"\xff\xfef\x00o\x00", "d.yaml:1: the file is UTF-16"),
        (b"\xef\xbb\xbfformat: 1\n", "d.yaml:1: the file starts with a byte order mark"),
        (b"", "d.yaml:1: the file is empty"),
        (b"\x00" * 100, "a NUL"),
        (b"#" * (1 << 21), "larger than 1048576 bytes"),
        (b"\x89PNG\r\n\x1a\n", "not UTF-8"),
    ],
)
def test_hostile_bytes(data: bytes, words: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.chdir(tmp_path)
    Path("d.yaml").write_bytes(data)
    with pytest.raises(DiagramError, match=words):
        load("d.yaml")


def test_a_link_does_not_lead_outside(tmp_path: Path):
    (tmp_path / "secret.yaml").write_text("format: 1\nports: {out: {y: one}}\nblocks: {one: {type: Constant}}\n")
    inside = tmp_path / "mine"
    inside.mkdir()
    (inside / "part.yaml").symlink_to(tmp_path / "secret.yaml")
    (inside / "folder").symlink_to(tmp_path)
    for kind in ("./part.yaml", "./folder/secret.yaml"):
        (inside / "d.yaml").write_text(block(f"s: {{type: {kind}}}"))
        with pytest.raises(DiagramError, match="outside the folder"):
            build(load(inside / "d.yaml"))


def test_a_message_about_an_outside_file_does_not_tell_whether_it_exists(tmp_path: Path):
    (tmp_path / "secret.yaml").write_text("x")
    inside = tmp_path / "mine"
    inside.mkdir()
    said = []
    for name in ("secret", "gone"):
        (inside / "d.yaml").write_text(block(f"s: {{type: ../{name}.yaml}}"))
        with pytest.raises(DiagramError) as caught:
            build(load(inside / "d.yaml"))
        said.append(str(caught.value).replace(name, "X"))
    assert said[0] == said[1]


def test_a_part_that_is_no_regular_file_is_not_opened(tmp_path: Path):
    os.mkfifo(tmp_path / "pipe.yaml")  # opening it would wait for ever
    (tmp_path / "d.yaml").write_text(block("s: {type: ./pipe.yaml}"))
    with pytest.raises(DiagramError, match="is not a file"):
        build(load(tmp_path / "d.yaml"))
    with pytest.raises(DiagramError, match="no file"):
        load(tmp_path / "pipe.yaml")


def test_parts_that_multiply_are_stopped(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(import_module("blocksim.diagram.build"), "MAX_BLOCKS", 2000)
    leaf = "format: 1\nports: {}\nblocks: {a: {type: Constant}}\n"
    (tmp_path / "p0.yaml").write_text(leaf)
    for n in range(1, 12):
        uses = "".join(f"  b{m}: {{type: ./p{n - 1}.yaml}}\n" for m in range(10))
        (tmp_path / f"p{n}.yaml").write_text(f"format: 1\nports: {{}}\nblocks:\n{uses}")
    with pytest.raises(DiagramError, match="more than 2000 blocks"):
        build(load(tmp_path / "p11.yaml"))


def test_parts_that_nest_too_deeply_are_stopped(tmp_path: Path):
    (tmp_path / "p0.yaml").write_text("format: 1\nports: {}\nblocks: {a: {type: Constant}}\n")
    for n in range(1, 30):
        (tmp_path / f"p{n}.yaml").write_text(f"format: 1\nports: {{}}\nblocks: {{a: {{type: ./p{n - 1}.yaml}}}}\n")
    with pytest.raises(DiagramError, match="nested deeper than 20 levels"):
        build(load(tmp_path / "p29.yaml"))
    build(load(tmp_path / "p15.yaml"))


@pytest.mark.parametrize("name", ["a\0b", "x" * 5000, "", "\ud800", "a/" * 3000])
def test_names_no_file_can_have(name: str):
    with pytest.raises(DiagramError):
        load(name)


def only_diagram_errors(text: str) -> None:
    try:
        build(load(text + "\n"))
    except DiagramError as error:
        assert str(error).strip()


@settings(max_examples=300, deadline=None)
@given(st.binary(max_size=300))
def test_random_bytes_raise_nothing_else(data: bytes):
    from blocksim.diagram.yaml_lines import decode

    with contextlib.suppress(DiagramError):
        only_diagram_errors(decode(data, "f"))


@settings(max_examples=300, deadline=None)
@given(st.text(alphabet=st.sampled_from("{}[]:,-&*!|>'\"%@#?\n \t0123456789abe.$~<"), max_size=80))
def test_random_yaml_raises_nothing_else(text: str):
    only_diagram_errors(text)
    only_diagram_errors(f"format: 1\nblocks:\n  a: {{type: Constant}}\n  b: {text}\n")


EDITS = st.lists(
    st.tuples(
        st.sampled_from(["delete", "insert", "replace", "drop line", "double line", "swap"]),
        st.integers(0, len(GOOD)),
        st.integers(1, 8),
        st.text(st.one_of(st.sampled_from("{}[]:,-&*!'\"#\n ${}.0e9~"), st.characters()), max_size=4),
    ),
    min_size=1,
    max_size=6,
)


def mutated(text: str, edits: list[tuple[str, int, int, str]]) -> str:
    for act, at, length, new in edits:
        at = min(at, len(text))
        lines = text.split("\n")
        line = text.count("\n", 0, at)
        if act == "delete":
            text = text[:at] + text[at + length :]
        elif act == "insert":
            text = text[:at] + new + text[at:]
        elif act == "replace":
            text = text[:at] + new + text[at + length :]
        elif act == "drop line":
            text = "\n".join(lines[:line] + lines[line + 1 :])
        elif act == "double line":
            text = "\n".join([*lines[:line], lines[line], *lines[line:]])
        else:
            text = text[:at] + text[at : at + 2 * length][::-1] + text[at + 2 * length :]
    return text


@settings(max_examples=500, deadline=None)
@given(EDITS)
def test_a_good_file_with_random_edits_raises_nothing_else(edits):
    only_diagram_errors(mutated(GOOD, edits))


SCALARS = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(),
    st.floats(),
    st.text(max_size=5),
    st.sampled_from(["${K}", "${K/0}", "${}", "1/3", "1/0", "a.b", "plant", "1e999999999", "", "./x.yaml", "."]),
)
KEYS = st.sampled_from(["type", "in", "k", "T", "Ts", "flip", "signal", "every", "out", "stop", "x", "num", "den", "file"])
TREES = st.recursive(
    SCALARS, lambda inner: st.one_of(st.lists(inner, max_size=3), st.dictionaries(KEYS, inner, max_size=3)), max_leaves=6
)
PLACES = st.sampled_from(["format", "name", "simulate", "parameters", "blocks", "log", "ports", "block", "in", "setting"])


@settings(max_examples=400, deadline=None)
@given(
    place=PLACES,
    tree=TREES,
    kind=st.sampled_from(["Gain", "Sum", "FirstOrderLag", "TransferFunction", "Mux", "UnitDelay", "Function", "StateSpace"]),
    key=st.sampled_from(["k", "T", "Ts", "signs", "num", "den", "x", "expression", "A", "B"]),
)
def test_values_of_any_shape_anywhere_raise_nothing_else(place, tree, kind, key):
    from blocksim.diagram.writer import flow

    written = flow(tree)
    entries = {"format": "1", "parameters": "{K: 0}", "blocks": "{one: {type: Constant}, b: {type: " + kind + ", in: one}}"}
    if place == "block":
        entries["blocks"] = "{one: {type: Constant}, b: " + written + "}"
    elif place == "in":
        entries["blocks"] = "{one: {type: Constant}, b: {type: " + kind + ", in: " + written + "}}"
    elif place == "setting":
        entries["blocks"] = "{one: {type: Constant}, b: {type: " + kind + ", in: one, " + key + ": " + written + "}}"
    else:
        entries[place] = written
    only_diagram_errors("\n".join(f"{key}: {value}" for key, value in entries.items()))
