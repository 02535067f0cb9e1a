"""Edits of a diagram's text: only the words meant change, the meaning is the one intended, and undo gives the bytes back."""

from __future__ import annotations

import copy
import difflib
import functools
import re

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from blocksim.diagram.build import build
from blocksim.diagram.diagram import resolve
from blocksim.diagram.editing.edit import edit, meaning_of
from blocksim.diagram.editing.history import History
from blocksim.diagram.editing.names import delete_block, rename_block
from blocksim.diagram.editing.operations import insert_block, remove_setting, set_log, set_parameter, set_setting, set_simulate
from blocksim.diagram.editing.sketch import input_ports, sketch
from blocksim.diagram.editing.wires import connect_input, disconnect_input
from blocksim.diagram.files import bundled, bundled_root
from blocksim.diagram.loader import parse_spec
from blocksim.errors import DiagramError

NAMES = [name for name in bundled() if (bundled_root() / f"{name}.yaml").is_file()]
STYLES = """# a loop in the styles YAML has
format: 1
name: 'Mixed ''styles'''   # a title
simulate:
  stop: 10     # seconds
  solver: rk4
  step: 1e-3

parameters: {K: 2, Ts: 1e-3,  # two of them
             T: "${K / 4}"}

blocks:
  # the wish
  ref:
    type: Step     # a jump
    time: 1.50
  error: {type: Sum, signs: "+-", in: [ref,
          plant]}
  gain:
    type: Gain

    k: "${K}"   # not the block K
    in:
    - error
  K: {type: Gain, k: 1, in: {u: gain}, }
  plant:
    type: FirstOrderLag
    T: "${T}"
    in: K
log:
- plant
- {signal: error, every: 0.1}   # slow
- K
"""


@functools.cache
def text_of(name: str) -> str:
    return STYLES if not name else (bundled_root() / f"{name}.yaml").read_bytes().decode()


@functools.cache
def ports_of(name: str) -> dict:
    diagram, _ = sketch(text_of(name), str(bundled_root() / f"{name}.yaml") if name else "")
    return input_ports(diagram)


def words(text: str) -> list[str]:
    return re.findall(r"\S+|\n", text)


def changed_words(old: str, new: str) -> tuple[list[str], list[str]]:
    """The words that went and those that came, as `git diff --word-diff` shows them."""
    before, after = words(old), words(new)
    went, came = [], []
    for kind, i, j, k, m in difflib.SequenceMatcher(None, before, after, autojunk=False).get_opcodes():
        if kind != "equal":
            went += before[i:j]
            came += after[k:m]
    return went, came


NUMBERS = st.one_of(st.integers(-999, 999), st.floats(-1e6, 1e6, allow_nan=False), st.sampled_from([1e-9, 2.5e-3, 1e22]))
VALUES = st.one_of(
    NUMBERS,
    st.lists(NUMBERS, min_size=1, max_size=8),
    st.sampled_from(
        ["tanh(100 * u)", "${Ts}", "yes", "1e-3", "a: b", "it's", 'say "so"', "#x", True, False, "ünïcode 😀", "- x", ""]
    ),
    st.dictionaries(st.sampled_from(["J", "Fv", "k1"]), NUMBERS, min_size=1, max_size=3),
)


@st.composite
def edits(draw, name):
    """An operation with its arguments, and the same edit on the parsed mapping, written down here again."""
    meaning = meaning_of(text_of(name))
    block = draw(st.sampled_from(sorted(meaning["blocks"])))
    keys = [key for key in meaning["blocks"][block] if key not in ("type", "in", "flip")]
    act = draw(st.sampled_from(["set", "add", "remove", "simulate", "parameter", "insert", "log"]))
    value = draw(VALUES)
    wish = copy.deepcopy(meaning)
    entry = wish["blocks"][block]
    if act in ("set", "remove") and keys:
        key = draw(st.sampled_from(keys))
        if act == "remove":
            del entry[key]
            return (remove_setting, block, key), wish
        entry[key] = value
        return (set_setting, block, key, value), wish
    if act == "add":
        entry["brand_new"] = value
        return (set_setting, block, "brand_new", value), wish
    if act == "simulate":
        wish.setdefault("simulate", {})["stop"] = value
        return (set_simulate, "stop", value), wish
    if act == "parameter":
        wish["parameters"] = {**(wish.get("parameters") or {}), "novel": value}
        return (set_parameter, "novel", value), wish
    if act == "log":
        wish["log"] = [*(wish.get("log") or []), "brand.new"]
        return (set_log, "brand.new", True), wish
    wish["blocks"]["novel"] = {"type": "Gain", "k": value}
    return (insert_block, "Gain", "novel", {"k": value}), wish


def same_data(one, other) -> bool:
    return repr_of(one) == repr_of(other)


def repr_of(value) -> str:
    """Without the order of keys; whole numbers and floats of one value are one."""
    if isinstance(value, dict):
        return "{" + ", ".join(sorted(f"{k!r}: {repr_of(v)}" for k, v in value.items())) + "}"
    if isinstance(value, list):
        return "[" + ", ".join(map(repr_of, value)) + "]"
    return repr(float(value)) if isinstance(value, (int, float)) and not isinstance(value, bool) else repr(value)


@pytest.mark.parametrize("ending", ["\n", "\r\n"], ids=["lf", "crlf"])
@settings(max_examples=120)
@given(data=st.data())
def test_random_edits_mean_what_they_say_and_undo_gives_the_bytes_back(ending, data):
    name = data.draw(st.sampled_from(["", "", *NAMES]))
    operation, wish = data.draw(edits(name))
    text = text_of(name).replace("\n", ending)
    result = edit(text, *operation)
    assert same_data(meaning_of(result.text), wish)
    assert "\r\n" not in ending or not re.search(r"(?<!\r)\n", result.text)
    assert comments(result.text) >= comments(text) - (
        {"# not the block K", "# a jump"} if operation[0] is remove_setting else set()
    )
    history = History(text)
    history.take(result)
    assert history.text == result.text
    history.undo()
    assert history.text == text
    history.redo()
    assert history.text == result.text


def comments(text: str) -> set[str]:
    return {line[line.index(" #") + 1 :].strip() for line in text.splitlines() if " #" in line}


@settings(max_examples=25)
@given(data=st.data())
def test_many_edits_in_a_row_and_back_to_the_start(data):
    name = data.draw(st.sampled_from(["", *NAMES]))
    history = History(text_of(name))
    for step in range(6):
        blocks = sorted(meaning_of(history.text)["blocks"])
        block = data.draw(st.sampled_from(blocks))
        act = data.draw(st.sampled_from(["set", "rename", "insert", "delete", "type"]))
        try:
            if act == "set":
                history.take(edit(history.text, set_setting, block, "k", data.draw(VALUES)))
            elif act == "rename":
                history.take(edit(history.text, rename_block, block, f"novel_name_{step}"))
            elif act == "insert":
                history.take(edit(history.text, insert_block, data.draw(st.sampled_from(["Gain", "PID", "Encoder", "DIDIM"]))))
            elif act == "delete":
                history.take(edit(history.text, delete_block, block, ports_of(name)))
            else:
                history.type(history.text + "# a word")
        except DiagramError as error:
            assert "last block" in str(error)
    while history.undo():
        pass
    assert history.text == text_of(name)


@pytest.mark.parametrize("name", NAMES)
def test_a_renamed_block_is_followed_by_every_wire_model_start_and_log(name):
    path = str(bundled_root() / f"{name}.yaml")
    text = text_of(name)
    before = build(parse_spec(text, path))
    links = resolve(before)
    for old in few(before.nodes):
        result = edit(text, rename_block, old, "some_other_name")
        after = build(parse_spec(result.text, path))
        again = {
            ("some_other_name" if block == old else block): {
                port: [str(r).replace(f"{old}.", "some_other_name.", 1) if r.block == old else str(r) for r in refs]
                for port, refs in ports.items()
            }
            for block, ports in links.items()
        }
        assert {b: {p: list(map(str, refs)) for p, refs in ports.items()} for b, ports in resolve(after).items()} == again
        went, came = changed_words(text, result.text)
        assert all(re.search(rf"\b{old}\b", word) for word in went if word != "\n"), went
        assert all("some_other_name" in word for word in came if word != "\n"), came
        assert re.findall(r"\$\{[^}]*\}", result.text) == re.findall(r"\$\{[^}]*\}", text)


@pytest.mark.parametrize("name", NAMES)
def test_wires_go_and_come_back(name):
    """Every wire of a bundled diagram taken away and put back means the same diagram."""
    path = str(bundled_root() / f"{name}.yaml")
    text, ports = text_of(name), ports_of(name)
    links = resolve(build(parse_spec(text, path)))
    for block, by_port in few(links.items(), 5):
        for port, refs in by_port.items():
            if len(refs) != 1 or ports[block][port]:
                continue
            apart = edit(text, disconnect_input, block, port, ports[block])
            diagram, problems = sketch(apart.text, path)
            assert diagram is not None
            assert not problems or any("not connected" in p.what or f"'{block}'" in p.what for p in problems)
            joined = edit(apart.text, connect_input, block, port, str(refs[0]), ports[block])
            assert resolve(build(parse_spec(joined.text, path))) == links


def few(items, most=4):
    """Some of them, spread over all."""
    items = list(items)
    return items[:: max(1, len(items) // most)]


def line_diff(old: str, new: str) -> list[str]:
    lines = difflib.unified_diff(old.splitlines(), new.splitlines(), n=0, lineterm="")
    return [line for line in lines if line[0] in "+-" and not line.startswith(("+++", "---"))]


CASES = {
    "number": ((set_setting, "gain", "k", 3), ['-    k: "${K}"   # not the block K', "+    k: 3   # not the block K"]),
    "the same kind of number": ((set_simulate, "step", 0.0005), ["-  step: 1e-3", "+  step: 5e-4"]),
    "a key of its own line": ((set_setting, "plant", "x", 0.2), ["+    x: 0.2"]),
    "a key in braces": ((set_setting, "error", "flip", True), ["-          plant]}", "+          plant], flip: true}"]),
    "a line less": ((remove_setting, "ref", "time"), ["-    time: 1.50"]),
    "a block among lines": ((insert_block, "Gain", "more", {"k": 2}), ["+  more:", "+    type: Gain", "+    k: 2"]),
    "a comma that was too many": (
        (set_setting, "K", "k", 2),
        ["-  K: {type: Gain, k: 1, in: {u: gain}, }", "+  K: {type: Gain, k: 2, in: {u: gain}, }"],
    ),
    "a parameter after a comment": (
        (set_parameter, "K", 5),
        ["-parameters: {K: 2, Ts: 1e-3,  # two of them", "+parameters: {K: 5, Ts: 1e-3,  # two of them"],
    ),
    "a log entry less": ((set_log, "error", False), ["-- {signal: error, every: 0.1}   # slow"]),
    "a log entry more": ((set_log, "gain", True), ["+- gain"]),
    "a name": (
        (rename_block, "K", "amplifier"),
        ["-  K: {type: Gain, k: 1, in: {u: gain}, }", "+  amplifier: {type: Gain, k: 1, in: {u: gain}, }",
         "-    in: K", "+    in: amplifier", "-- K", "+- amplifier"],
    ),
}  # fmt: skip


@pytest.mark.parametrize("case", CASES)
def test_only_the_words_that_are_meant_change(case):
    operation, expected = CASES[case]
    assert line_diff(STYLES, edit(STYLES, *operation).text) == expected


def test_wires_keep_the_form_they_are_written_in():
    text = (
        "format: 1\nblocks:\n  a: {type: Constant}\n  s: {type: Sum, in: a}\n"
        "  e: {type: Sum, signs: '+-', in: [a, s]}\n  p: {type: Switch, in: {u1: a}}\n"
    )
    ports = {"u": True}
    assert "s: {type: Sum, in: [a, e]}" in edit(text, connect_input, "s", "u", "e", ports).text
    assert "s: {type: Sum}" in edit(text, disconnect_input, "s", "u", ports).text
    assert "e: {type: Sum, signs: '+-+', in: [a, s, p]}" in edit(text, connect_input, "e", "u", "p", ports).text
    assert "e: {type: Sum, signs: '-', in: [s]}" in edit(text, disconnect_input, "e", "u", ports, "a").text
    three = {"u1": False, "c": False, "u2": False}
    assert "p: {type: Switch, in: {u1: a, u2: s}}" in edit(text, connect_input, "p", "u2", "s", three).text
    assert "a: {type: Constant, in: {c: s}}" in edit(text, connect_input, "a", "c", "s", three).text
    row = edit(text, connect_input, "s", "c", "e", three).text
    assert "s: {type: Sum, in: [a, e]}" in row
    assert "s: {type: Sum, in: {c: e}}" in edit(row, disconnect_input, "s", "u1", three).text


def test_a_deleted_block_is_disconnected_everywhere_and_said():
    result = edit(text_of("one_dof/identify"), delete_block, "joint", ports_of("one_dof/identify"))
    assert "joint." not in result.text
    assert any("encoder no longer reads it" in text for text in result.news)
    assert any("ls: model: joint names it still" in text for text in result.news)


def test_scopes_follow_a_renamed_block_and_forget_a_deleted_one():
    text = STYLES + "scopes: [[plant, ref.y], gain - plant,  # two axes\n         [gain]]\n"
    assert (
        "scopes: [[plant, ref.y], amplifier - plant,  # two axes\n         [amplifier]]\n"
        in edit(text, rename_block, "gain", "amplifier").text
    )
    gone = edit(text, delete_block, "gain", {"K": {"u": False}})
    assert meaning_of(gone.text)["scopes"] == [["plant", "ref.y"]]


@pytest.mark.parametrize(
    ("operation", "sentence"),
    [
        ((set_setting, "gian", "k", 1), "there is no block 'gian'. Blocks are: ref, error, gain, K, plant. Did you mean 'gain'?"),
        ((rename_block, "gain", "plant"), "there is a block or an input 'plant' already. Choose another name."),
        ((rename_block, "gain", "2nd"), "'2nd' cannot name a block"),
        ((set_simulate, "stopp", 1), "simulate has no key 'stopp'. It takes: stop, start"),
        ((connect_input, "gain", "w", "ref", {"u": False}), "block 'gain' has no input 'w'. It has: u."),
        ((insert_block, "Gian"), "Did you mean 'Gain'?"),
        ((set_log, "plant", True), "'plant' is logged already."),
        ((remove_setting, "gain", "x"), "block 'gain' has no setting 'x' in the file. It has: k, in."),
    ],
)
def test_what_cannot_be_done_is_refused_in_words(operation, sentence):
    with pytest.raises(DiagramError, match=re.escape(sentence)):
        edit(STYLES, *operation)


def test_an_edit_that_would_change_more_than_meant_is_refused():
    text = "format: 1\nblocks:\n  a: {type: Constant, value: &v 2}\n  b: {type: Gain, k: *v, in: a}\n"
    with pytest.raises(DiagramError, match="nothing is changed"):
        edit(text, set_setting, "a", "value", 3)
    assert "k: 5" in edit(text, set_setting, "b", "k", 5).text


def test_typing_is_one_step_while_it_stays_on_its_line():
    history = History("k: 1\n")
    for text in ("k: 12\n", "k: 123\n", "k: 1234\n"):
        history.type(text)
    assert len(history.past) == 1
    assert history.undo() == "typed" and history.text == "k: 1\n"
    assert history.redo() and history.text == "k: 1234\n"
