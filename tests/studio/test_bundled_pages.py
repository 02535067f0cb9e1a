"""Bundled diagrams in a real browser: each opens, is drawn, is edited and undone to the byte, and re-saves unchanged."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest
from conftest import running_studio

from blocksim.diagram.files import bundled_root

DIAGRAMS = sorted(
    path.relative_to(bundled_root()).as_posix() for path in bundled_root().rglob("*.yaml") if "studies" not in path.parts
)
SOME = ("basics/servo.yaml", "one_dof/methods.yaml", "two_mass/two_encoders.yaml", "arms/ur_like.yaml")
READY = "document.querySelector('[data-testid=edit-text]')?.value.includes('blocks:') && !studio.wire.pending.size"
OPENED = "document.getElementById('file-button').title === {!r} && studio.store.get('diagram').path === {!r} && " + READY


@pytest.fixture(scope="module")
def tree(tmp_path_factory) -> Path:
    return Path(shutil.copytree(bundled_root(), tmp_path_factory.mktemp("bundled") / "diagrams"))


@pytest.fixture(scope="module")
def tree_studio(tree):
    with running_studio(str(tree / SOME[0]), tree, "--allow-outside") as address:  # parts of another folder of the copy
        yield address


@pytest.fixture
def tree_page(tree_studio, open_page):
    page = open_page(f"{tree_studio}#edit")
    page.until(READY)
    return page


def through_the_browser(page, path: Path) -> None:
    """Open a file, look at its picture, type into it and undo, save it."""
    before = path.read_bytes()
    page.evaluate("name => studio.app.openFile(name)", str(path))
    page.until(OPENED.format(str(path), str(path)))
    assert page.get_by_test_id("edit-text").input_value() == before.decode()
    blocks = page.get_by_test_id("edit-board").locator("[data-block]").count()
    assert blocks >= page.evaluate("studio.store.get('diagram').blocks.length") > 0
    area = page.get_by_test_id("edit-text")
    area.fill(before.decode() + "# a note\n")
    page.until("document.querySelector('[data-testid=edit-file]').textContent === 'not saved' && !studio.wire.pending.size")
    save(page)
    assert path.read_bytes() == before + b"# a note\n"
    while page.get_by_test_id("edit-undo").is_enabled():
        page.get_by_test_id("edit-undo").click()
        page.until(READY)
    assert area.input_value() == before.decode()
    save(page)
    assert path.read_bytes() == before, path.name


def save(page) -> None:
    page.get_by_test_id("edit-save").click()
    page.until("document.querySelector('[data-testid=edit-file]').textContent === 'saved' && !studio.wire.pending.size")


def test_some_bundled_diagrams_open_draw_undo_and_save_to_the_byte(tree, tree_page):
    for name in SOME:
        through_the_browser(tree_page, tree / name)
    assert not tree_page.watch.complaints


@pytest.mark.slow
def test_all_bundled_diagrams_open_draw_undo_and_save_to_the_byte(tree, tree_page):
    assert len(DIAGRAMS) >= 60
    for name in DIAGRAMS:
        through_the_browser(tree_page, tree / name)
    assert not tree_page.watch.complaints


LONG = """format: 1
simulate: {stop: 1000, solver: rk4, step: 1e-3}
blocks:
  wave: {type: Sine, frequency: 0.37}
  lag:  {type: FirstOrderLag, T: 0.05, in: wave}
"""


def test_a_million_samples_are_drawn_from_a_few_thousand_numbers_at_any_zoom(tmp_path, open_page):
    (tmp_path / "long.yaml").write_text(LONG, encoding="utf-8")
    with running_studio("long.yaml", tmp_path) as address:
        page = open_page(address)
        page.until(
            "studio.idle() && document.querySelector('[data-testid=bench-time]')?.textContent.includes('1,000,001 samples')"
        )
        page.locator("[data-testid^=scope-]").first.focus()
        for _ in range(8):
            page.keyboard.press("+")
            page.until("studio.idle()")
            lengths = page.evaluate("studio.bench().scopes.series.flatMap((one) => one.parts.map((part) => part.length))")
            assert 10 < max(lengths) <= 4000
        low, high = page.evaluate("studio.bench().scopes.window")
        assert high - low < 1000 / 8
        assert not page.watch.complaints
