"""The first minute: a studio without a file, what was open lately, help in a sentence, words while something takes long."""

from __future__ import annotations

import pytest
from conftest import running_studio

READY = "studio.idle() && studio.store.get('diagram')?.runnable"
LOOP = """format: 1
name: "A loop of mine"   # a title
simulate: {stop: 3}
blocks:
  ref:   {type: Step}
  error: {type: Sum, signs: "+-", in: [ref, plant]}
  plant: {type: FirstOrderLag, k: 2, T: 0.5, in: error}
"""


@pytest.fixture
def home(tmp_path, monkeypatch):
    """A folder of one's own, with a diagram, a study of it, and a state folder that nobody used yet."""
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    work = tmp_path / "work"
    work.mkdir()
    (work / "mine.yaml").write_text(LOOP, encoding="utf-8")
    (work / "study.yaml").write_text("format: 1\nstudy: S\ndiagram: mine.yaml\nrepeat: 2\n", encoding="utf-8")
    return work


def test_without_a_file_the_list_is_the_welcome_and_what_was_opened_is_there_again(home, open_page):
    with running_studio("", home) as address:
        page = open_page(address)
        page.get_by_test_id("welcome").wait_for()
        entries = page.locator("#files .item").all_inner_texts()
        assert any("mine.yaml" in text and "A loop of mine" in text for text in entries)
        assert not any("study.yaml" in text for text in entries)  # no diagram
        page.get_by_test_id("file-search").fill("loop of")
        page.get_by_test_id("file-search").press("Enter")
        page.until(f"{READY} && studio.store.get('diagram').name === 'mine.yaml'")
        page.reload()
        page.until(f"{READY} && studio.store.get('diagram').name === 'mine.yaml'")
        assert page.get_by_test_id("welcome").count() == 0
        page.get_by_test_id("file-button").click()
        first = page.locator("#files h3, #files .item")
        assert first.nth(0).inner_text() == "Lately open" and first.nth(1).inner_text().startswith("…/work/mine.yaml")
        page.keyboard.press("ArrowDown")
        assert page.evaluate("document.activeElement.dataset.name") == str(home / "mine.yaml")
        assert not page.watch.complaints


def test_a_file_that_is_gone_when_the_page_is_read_again_leaves_a_studio_that_works(home, open_page):
    (home / "other.yaml").write_text(LOOP, encoding="utf-8")
    with running_studio("mine.yaml", home) as address:
        page = open_page(address)
        page.until(READY)
        page.evaluate("studio.app.openFile('other.yaml')")
        page.until(f"{READY} && studio.store.get('diagram').name === 'other.yaml'")
        (home / "other.yaml").unlink()
        page.reload()
        page.until(f"{READY} && studio.store.get('diagram').name === 'mine.yaml'")
        assert "other.yaml" in page.get_by_test_id("status").inner_text()


def test_every_pane_is_told_in_a_sentence(studio, open_page):
    page = open_page(studio)
    page.until(READY)
    page.get_by_test_id("help").click()
    rows = page.locator("#keys .of-panes tr").all_inner_texts()
    assert [row.split("\t")[0] for row in rows] == ["Bench", "Edit", "Excitation", "Study", "Robot", "Data"]
    assert all(row.rstrip().endswith(".") for row in rows)
    page.keyboard.press("Escape")
    assert page.get_by_test_id("keys").is_hidden()


def test_what_takes_longer_than_a_second_is_said_with_its_seconds(studio, open_page):
    page = open_page(studio)
    page.until(READY)
    assert page.get_by_test_id("busy").is_hidden()
    page.evaluate("studio.wire.pending.set(-1, { kind: 'bench.run', since: performance.now() - 5000 })")
    page.get_by_test_id("busy").wait_for()
    assert page.get_by_test_id("busy").inner_text().startswith("running … 5 s")
    page.evaluate("studio.wire.pending.delete(-1)")
    page.get_by_test_id("busy").wait_for(state="hidden")
