"""The Edit pane in a real browser: edits by mouse, undo to the byte, files changed outside, a lost line, drafts, exports."""

from __future__ import annotations

import subprocess

import pytest

#: A joint under control, with names, comments and columns of its own.
JOINT_FILE = """format: 1
name: One-DOF joint, identified in closed loop in two ways
description: |
  A robot joint follows a trajectory under a 1 kHz PID that sees it through a coarse, slightly noisy encoder. Its four parameters
  are found from what a real robot would record, the encoder and the torque: by least squares on the smoothed motion, and by
  DIDIM, which needs the torque alone and simulates the rest. Both are compared with the truth, which only the simulation knows.
simulate: {stop: 10, solver: rk4, step: 1e-3, seed: 7}
parameters: {Ts: 1e-3}
blocks:
  ref:     {type: FourierTrajectory, base_frequency: 0.1, a: [1.0, 0.4, 0, 0.3], b: [0.3, -0.2, 0, 0.2]}
  error:   {type: Sum, signs: "+-", in: [ref.q, encoder]}
  pid:     {type: PID, Ts: "${Ts}", kp: 20, ki: 10, kd: 0.3, Tf: 5e-3, in: error}
  joint:   {type: GravityJoint, J: 0.02, Fv: 0.05, Fc: 0.1, Ms: 0.0306, N: 1, q: 0.3, in: pid}
  encoder: {type: Encoder, Ts: "${Ts}", resolution: 3.1416e-3, noise_std: 0.3, in: joint.q}
  smooth:  {type: IRWSmoother, order: 3, bandwidth: 10, in: encoder}
  ls:      {type: LeastSquares, model: joint, skip: 0.5, decimate: 20,
            in: {q: smooth.x, qd: smooth.dx, qdd: smooth.ddx, tau: pid}}
  didim:   {type: DIDIM, model: joint, initial: diagram, skip: 0.5, decimate: 20, in: pid}
log: [ref.q, joint.q, encoder, pid, joint.qd, smooth.dx]
"""
READY = "document.querySelector('[data-testid=edit-text]')?.value.includes('blocks:') && !studio.wire.pending.size"


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A folder under git with a diagram in it."""
    place = tmp_path_factory.mktemp("edit")
    (place / "joint.yaml").write_text(JOINT_FILE, encoding="utf-8")
    for command in (["init", "-q"], ["add", "-A"], ["-c", "user.name=a", "-c", "user.email=a@b", "commit", "-qm", "begin"]):
        subprocess.run(["git", *command], cwd=place, check=True)
    return place


@pytest.fixture
def edit_page(address, open_page, folder):
    subprocess.run(["git", "checkout", "-q", "joint.yaml"], cwd=folder, check=True)
    page = open_page(f"{address}#edit", accept_downloads=True)
    page.until(READY)
    return page


def text_of(page) -> str:
    return page.get_by_test_id("edit-text").input_value()


def word_diff(folder) -> list[str]:
    """The words that git says changed."""
    command = ["git", "diff", "-U0", "--word-diff=porcelain", "--word-diff-regex=[^[:space:]{},]+"]
    lines = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=True).stdout.splitlines()
    return [line for line in lines if line[:1] in "+-" and not line.startswith(("+++", "---"))]


def test_edit_by_mouse_save_and_git_shows_only_the_changed_words(edit_page, folder):
    page = edit_page
    before = text_of(page)
    board = page.get_by_test_id("edit-board")
    board.get_by_test_id("block-pid").click()
    field = page.get_by_test_id("set-pid.kp")
    field.fill("25")
    field.press("Enter")
    page.until("document.querySelector('[data-testid=edit-text]').value.includes('kp: 25')")
    page.get_by_test_id("palette-search").fill("gain")
    page.get_by_test_id("palette-Gain").dblclick()
    board.get_by_test_id("block-gain").wait_for()
    assert "input 'u' (input) is not connected" in page.get_by_test_id("edit-problems").inner_text()
    board.hover()
    page.get_by_test_id("port-out-pid.u").drag_to(page.get_by_test_id("port-in-gain.u"), force=True)
    page.until("document.querySelector('[data-testid=edit-text]').value.includes('{type: Gain, in: pid}')")
    name = page.get_by_test_id("block-name")
    name.fill("brake")
    name.press("Enter")
    board.get_by_test_id("block-brake").wait_for()
    page.keyboard.press("Control+s")
    page.until("document.querySelector('[data-testid=edit-file]').textContent === 'saved'")
    assert word_diff(folder) == ["-20", "+25", "+brake:   {type: Gain, in: pid"]
    while page.get_by_test_id("edit-undo").is_enabled():
        page.get_by_test_id("edit-undo").click()
        page.until(READY)
    assert text_of(page) == before
    page.get_by_test_id("edit-save").click()
    page.until("document.querySelector('[data-testid=edit-file]').textContent === 'saved'")
    assert not word_diff(folder)
    assert not page.watch.complaints


def test_a_deleted_block_says_what_read_it(edit_page):
    edit_page.get_by_test_id("edit-board").get_by_test_id("block-smooth").click()
    edit_page.get_by_test_id("block-delete").click()
    edit_page.until("document.querySelector('[data-testid=edit-said]').textContent.includes('ls no longer reads it')")
    assert "not connected" in edit_page.get_by_test_id("edit-problems").inner_text()
    assert edit_page.get_by_test_id("edit-board").locator(".block.wrong").count() == 1
    edit_page.get_by_test_id("edit-undo").click()
    edit_page.get_by_test_id("edit-board").get_by_test_id("block-smooth").wait_for()


def test_a_wrong_value_is_refused_at_its_field(edit_page):
    edit_page.get_by_test_id("edit-board").get_by_test_id("block-joint").click()
    field = edit_page.get_by_test_id("set-joint.J")
    field.fill("-1")
    field.press("Enter")
    words = edit_page.get_by_test_id("refusal-set-joint.J")
    words.wait_for(state="visible")
    assert words.inner_text() == "block 'joint': J: must be above 0, found -1."
    assert "J: 0.02" in text_of(edit_page)


def test_settings_at_their_defaults_are_folded_with_unit_and_meaning_and_written_when_set(edit_page):
    edit_page.get_by_test_id("edit-board").get_by_test_id("block-joint").click()
    edit_page.until("document.querySelector('[data-testid=edit-block]').textContent.includes('kg m²')")
    edit_page.get_by_test_id("edit-board").get_by_test_id("block-encoder").click()
    edit_page.get_by_test_id("more-settings").locator("summary").click()
    field = edit_page.get_by_test_id("set-encoder.offset")
    assert field.get_attribute("placeholder") == "0.0" and field.input_value() == ""
    field.fill("0.1")
    field.press("Enter")
    edit_page.until("document.querySelector('[data-testid=edit-text]').value.includes('noise_std: 0.3, offset: 0.1')")
    field.fill("")
    field.press("Enter")
    edit_page.until("!document.querySelector('[data-testid=edit-text]').value.includes('offset')")
    assert not edit_page.watch.complaints


def test_typing_marks_the_line_and_the_block(edit_page):
    area = edit_page.get_by_test_id("edit-text")
    area.fill(text_of(edit_page).replace("J: 0.02", "J: -2"))
    edit_page.until("document.querySelector('.gutter .wrong')?.textContent === '13'")
    assert "wrong" in edit_page.get_by_test_id("edit-board").get_by_test_id("block-joint").get_attribute("class")
    assert "13: block 'joint': J: must be above 0" in edit_page.get_by_test_id("edit-problems").inner_text()


def test_edited_outside_while_edited_inside_nothing_is_lost(edit_page, folder):
    page, path = edit_page, folder / "joint.yaml"
    original = path.read_text(encoding="utf-8")
    path.write_text(original.replace("kp: 20", "kp: 21"), encoding="utf-8")
    page.until("document.querySelector('[data-testid=edit-text]').value.includes('kp: 21')")
    page.get_by_test_id("edit-board").get_by_test_id("block-pid").click()
    field = page.get_by_test_id("set-pid.ki")
    field.fill("11")
    field.press("Enter")
    page.until("document.querySelector('[data-testid=edit-text]').value.includes('ki: 11')")
    path.write_text(original.replace("kp: 20", "kp: 2222"), encoding="utf-8")
    page.get_by_test_id("outside-take").wait_for()
    assert "Both texts are kept" in page.get_by_test_id("edit-ask").inner_text()
    assert "ki: 11" in text_of(page) and "kp: 2222" in path.read_text(encoding="utf-8")
    page.get_by_test_id("outside-take").click()
    page.until("document.querySelector('[data-testid=edit-text]').value.includes('kp: 2222')")
    page.get_by_test_id("edit-undo").click()
    page.until("document.querySelector('[data-testid=edit-text]').value.includes('ki: 11')")


def test_a_lost_line_and_a_closed_tab_lose_no_text(edit_page, address, open_page):
    page = edit_page
    page.get_by_test_id("edit-text").fill(text_of(page).replace("ki: 10", "ki: 17"))
    page.until("document.querySelector('[data-testid=edit-file]').textContent === 'not saved' && !studio.wire.pending.size")
    page.evaluate("studio.wire.cut()")
    page.until("document.querySelector('[data-testid=edit-said]').textContent.includes('The line was lost and is back')")
    assert "ki: 17" in text_of(page)
    page.close()
    again = open_page(f"{address}#edit")
    again.get_by_test_id("draft-take").click()
    again.until("document.querySelector('[data-testid=edit-text]').value.includes('ki: 17')")


@pytest.mark.parametrize(("what", "begin"), [("svg", b"<svg"), ("png", b"\x89PNG"), ("yaml", b"format: 1"), ("record", b"t")])
def test_exports(edit_page, tmp_path, what, begin):
    if what == "record":
        edit_page.get_by_test_id("tab-bench").click()
        edit_page.until("document.querySelector('[data-testid=bench-time]')?.textContent.includes('samples')")
        edit_page.get_by_test_id("tab-edit").click()
    with edit_page.expect_download() as download:
        edit_page.get_by_test_id(f"export-{what}").click()
    download.value.save_as(tmp_path / "file")
    assert begin in (tmp_path / "file").read_bytes()[:200]


def test_values_of_sliders_are_written_into_the_text_and_taken_back(edit_page, folder):
    page = edit_page
    before = text_of(page)
    page.get_by_test_id("tab-bench").click()
    page.until("studio.idle() && document.querySelector('[data-testid=row-ls-J] td.value')?.textContent")
    assert page.get_by_test_id("keep-sliders").is_hidden()
    field = page.get_by_test_id("number-smooth.bandwidth")
    field.fill("25")
    field.press("Enter")
    page.until("studio.idle()")
    shown = page.get_by_test_id("row-ls-J").inner_text()
    page.get_by_test_id("keep-sliders").click()
    page.until("document.querySelector('[data-testid=status]').textContent.includes('smooth.bandwidth in the text now')")
    page.until("studio.idle() && !Object.keys(studio.store.get('changes')).length")
    assert field.input_value() == "25" and page.get_by_test_id("row-ls-J").inner_text() == shown
    assert page.get_by_test_id("keep-sliders").is_hidden()
    page.get_by_test_id("tab-edit").click()
    page.until("document.querySelector('[data-testid=edit-text]').value.includes('bandwidth: 25')")
    page.keyboard.press("Control+s")
    page.until("document.querySelector('[data-testid=edit-file]').textContent === 'saved'")
    assert word_diff(folder) == ["-10", "+25"]
    page.get_by_test_id("edit-undo").click()
    page.until("document.querySelector('[data-testid=edit-text]').value.includes('bandwidth: 10')")
    assert text_of(page) == before
    assert not page.watch.complaints


def test_what_another_pane_keeps_stands_beside_what_is_typed_here(edit_page):
    page = edit_page
    page.get_by_test_id("edit-text").fill(text_of(page).replace("ki: 10", "ki: 12"))
    page.until("document.querySelector('[data-testid=edit-file]').textContent === 'not saved' && !studio.wire.pending.size")
    page.get_by_test_id("tab-bench").click()
    page.until("studio.idle() && document.querySelector('[data-testid=row-ls-J] td.value')?.textContent")
    field = page.get_by_test_id("number-smooth.bandwidth")
    field.fill("15")
    field.press("Enter")
    page.until("studio.idle()")
    page.get_by_test_id("keep-sliders").click()
    page.until("studio.idle() && !Object.keys(studio.store.get('changes')).length")
    page.get_by_test_id("tab-edit").click()
    page.until("document.querySelector('[data-testid=edit-text]').value.includes('bandwidth: 15')")
    assert "ki: 12" in text_of(page)
