"""The Edit pane's documents without a browser: bundled diagrams re-save to the byte, files changed outside, drafts, refusals."""

from __future__ import annotations

import shutil

import pytest

from blocksim.diagram.files import bundled_root
from blocksim.errors import BlocksimError, DiagramError
from blocksim.studio.edit.requests import document_of, edit_by_hand, open_document, undo_edit
from blocksim.studio.edit.saving import adopt, poll_file, save_file
from blocksim.studio.session import Session

DIAGRAMS = sorted(
    path.relative_to(bundled_root()).as_posix() for path in bundled_root().rglob("*.yaml") if "studies" not in path.parts
)
LOOP = """format: 1
simulate: {stop: 1, step: 1e-2, solver: rk4}
blocks:
  ref:  {type: Step}      # the wish
  gain: {type: Gain, k: 2, in: ref}
"""


@pytest.fixture(autouse=True)
def drafts(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))


def opened(path) -> Session:
    return Session(name=str(path), path=str(path), text=path.read_bytes().decode())


@pytest.fixture
def loop(tmp_path):
    path = tmp_path / "loop.yaml"
    path.write_text(LOOP, encoding="utf-8")
    return path


def test_there_are_sixty():
    assert len(DIAGRAMS) >= 60


@pytest.fixture(scope="module")
def tree(tmp_path_factory):
    return shutil.copytree(bundled_root(), tmp_path_factory.mktemp("tree") / "diagrams")


@pytest.mark.parametrize("name", DIAGRAMS)
def test_a_bundled_diagram_opens_draws_and_saves_to_the_byte(name, tree):
    path = tree / name
    before = path.read_bytes()
    session = opened(path)
    session.allow_outside = True  # parts of another folder of the copy
    view = open_document(session, {}).data
    assert view["svg"].count('class="block"') >= len(view["blocks"]) > 0 and not view["problems"]
    save_file(session, {})
    assert path.read_bytes() == before


def test_save_as_elsewhere_finds_its_parts(tree, tmp_path):
    session = opened(tree / "basics" / "servo.yaml")
    save_file(session, {"path": str(tmp_path / "mine")})
    text = (tmp_path / "mine.yaml").read_text(encoding="utf-8")
    old = (tree / "basics" / "servo.yaml").read_text(encoding="utf-8")
    assert [a for a, b in zip(old.splitlines(), text.splitlines(), strict=True) if a != b] == [
        line for line in old.splitlines() if "./parts/motor.yaml" in line
    ]
    session.allow_outside = True
    assert not open_document(session, {}).data["problems"]


def test_a_file_changed_outside_is_read_again_and_with_edits_here_nothing_is_lost(loop):
    session = opened(loop)
    open_document(session, {})
    loop.write_text(LOOP.replace("k: 2", "k: 3"), encoding="utf-8")
    assert poll_file(session, {}).data["what"] == "reloaded"
    assert "k: 3" in document_of(session).text
    edit_by_hand(session, {"act": "set", "block": "gain", "key": "k", "text": "4"})
    loop.write_text(LOOP.replace("k: 2", "k: 500"), encoding="utf-8")
    answer = poll_file(session, {}).data
    assert answer["what"] == "conflict" and "nothing is lost" in answer["words"] and "k: 4" in answer["text"]
    with pytest.raises(BlocksimError, match=r"was changed outside since it was read here\. Nothing is written\."):
        save_file(session, {})
    assert "k: 500" in loop.read_text(encoding="utf-8")
    save_file(session, {"force": True})
    assert "k: 4" in loop.read_text(encoding="utf-8")


def test_a_draft_outlives_its_tab_and_goes_with_saving(loop):
    session = opened(loop)
    edit_by_hand(session, {"act": "set", "block": "gain", "key": "k", "text": "7"})
    again = opened(loop)
    drafts = open_document(again, {}).data["drafts"]
    assert len(drafts) == 1
    save_file(session, {})
    assert not open_document(opened(loop), {}).data["drafts"]


def test_a_wrong_value_is_refused_in_the_words_of_the_loader_and_nothing_changes(loop):
    session = opened(loop)
    with pytest.raises(DiagramError) as refusal:
        edit_by_hand(session, {"act": "set", "block": "gain", "key": "k", "text": "big"})
    assert str(refusal.value).endswith("block 'gain': k: found 'big'. A number is wanted: gain.")
    assert document_of(session).text == LOOP


def test_bundled_diagrams_are_not_written_to():
    session = Session(name="one_dof/pid", path=str(bundled_root() / "one_dof/pid.yaml"), text="format: 1\n")
    with pytest.raises(BlocksimError, match=r"comes with blocksim and is not written to\. Save it under a name of yours"):
        save_file(session, {})


def test_an_unfinished_diagram_is_drawn_and_its_mistake_is_at_its_line(loop):
    session = opened(loop)
    view = edit_by_hand(session, {"act": "insert", "type": "PID"}).data
    assert [(p["block"], p["line"]) for p in view["problems"]] == [("pid", 6)]
    assert 'data-block="pid"' in view["svg"]
    with pytest.raises(DiagramError, match="is not connected"):
        adopt(session, {})
    assert undo_edit(session, {}).data["text"] == LOOP


def test_a_text_that_is_no_yaml_keeps_the_words_of_the_parser(loop):
    session = opened(loop)
    document_of(session).history.type(LOOP.replace("in: ref}", "in: ref"))
    view = open_document(session, {}).data
    assert view["problems"][0]["line"] == 6 and "this is not YAML" in view["problems"][0]["what"] and not view["svg"]
