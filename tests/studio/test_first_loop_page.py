"""A PID loop of one's own, without identifier and robot: every pane has something to say of it, and no alarm."""

from __future__ import annotations

import numpy as np
import pytest
from conftest import running_studio

import blocksim as bs

LOOP = """format: 1
name: A loop of mine
simulate: {stop: 5, step: 1e-2, solver: rk4}
blocks:
  ref:   {type: Step, time: 0.5, after: 1}
  error: {type: Sum, signs: "+-", in: [ref, motor]}
  pid:   {type: PID, kp: 4, ki: 2, kd: 0.05, Tf: 0.05, in: error}
  motor: {type: TransferFunction, num: [2], den: [0.3, 1, 0], in: pid}
"""


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    place = tmp_path_factory.mktemp("loop")
    (place / "joint.yaml").write_text(LOOP, encoding="utf-8")
    return place


def test_the_bench_gives_its_room_to_the_scopes(address, open_page):
    page = open_page(address)
    page.until("studio.idle() && studio.store.get('diagram')?.runnable && studio.store.get('run')")
    scopes, results = (page.get_by_test_id(f"part-{name}").bounding_box() for name in ("plots", "results"))
    assert results["y"] >= scopes["y"] + scopes["height"] and results["height"] < 80
    assert "No block of this diagram estimates anything" in page.get_by_test_id("no-methods").inner_text()
    with page.expect_download() as download:
        page.get_by_test_id("scopes-picture").click()
    assert download.value.suggested_filename == "joint_scopes.svg"
    assert not page.watch.complaints


def test_a_statistic_is_collected_over_a_sweep_and_a_dot_opens_its_run(address, open_page, folder):
    page = open_page(f"{address}#study")
    page.get_by_test_id("study-word").get_by_text("Collect a statistic of a signal").wait_for()
    assert page.get_by_test_id("study-said").is_hidden() and page.get_by_test_id("study-run").is_disabled()
    page.get_by_test_id("sweep-pid.kp").click()
    page.get_by_test_id("study-statistic").select_option("rms")
    page.get_by_test_id("study-signal").select_option("error.y")
    page.get_by_test_id("study-collect").click()
    page.get_by_test_id("study-repeat").fill("1")
    page.get_by_test_id("study-repeat").press("Enter")
    page.until("document.querySelector('[data-testid=study-run]').textContent === 'Run 5'")
    page.get_by_test_id("study-run").click()
    page.until("document.querySelector('[data-testid=study-word]').textContent.includes('tables and report')")
    rows = page.get_by_test_id("study-scores").locator("tr").all_inner_texts()[1:]
    gains = [float(row.split("\t")[1]) for row in rows]
    means = [float(row.split("\t")[3]) for row in rows]
    records = [bs.simulate(folder / "joint.yaml", params={"pid.kp": gain}) for gain in gains]
    assert means == pytest.approx([np.sqrt(np.mean(record["error.y"] ** 2)) for record in records], rel=1e-3)
    page.get_by_test_id("plot-study").focus()
    page.keyboard.press("ArrowRight")
    page.keyboard.press("Enter")
    page.until("document.querySelector('[data-testid=status]').textContent.includes('of the study') && studio.idle()")
    assert page.evaluate("studio.store.get('changes')['pid.kp']") in gains  # dots lie in the order in which runs ended
    assert not page.watch.complaints


def test_no_robot_is_no_alarm_and_the_corner_of_the_step_is_there_to_drag(address, open_page):
    page = open_page(f"{address}#robot")
    page.locator(".pane.robot .hint").get_by_text("Nothing in this diagram is seen to move").wait_for()
    assert page.locator(".pane.robot .said").is_hidden()
    page.get_by_test_id("tab-excitation").click()
    page.get_by_test_id("excitation-word").get_by_text("Step, 2 points to drag").wait_for()
    page.until("document.querySelector('[data-testid=excitation-verdict]').textContent.includes('Choose below')")
    assert page.get_by_test_id("plot-ellipse").is_hidden() and page.get_by_test_id("sought-pid.kp").is_visible()
    page.get_by_test_id("plot-time-0").focus()
    for key in ("ArrowRight", "ArrowDown"):
        page.keyboard.press(key)
    page.until("!document.querySelector('[data-testid=excitation-undo]').disabled && !studio.wire.pending.size")
    assert not page.watch.complaints


def test_a_run_that_ends_early_leaves_no_empty_controls(open_page, tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))
    with running_studio("gautier2001/ekf_case1") as where:
        page = open_page(f"{where}#excitation")
        page.get_by_test_id("excitation-said").get_by_text("diverged").wait_for()
        assert page.get_by_test_id("excitation-improve").is_hidden() and page.get_by_test_id("excitation-sought").is_hidden()
        page.get_by_test_id("tab-bench").click()
        page.get_by_test_id("no-methods").get_by_text("Nothing was estimated of this run").wait_for()
        page.get_by_test_id("tab-robot").click()
        page.get_by_test_id("robot-readings").locator("tr").first.wait_for()
        assert page.locator(".pane.robot .said").is_hidden()


def test_long_lists_are_one_stop_of_the_tab_key_and_arrows_go_through_them(address, open_page):
    page = open_page(f"{address}#study")
    page.get_by_test_id("sweep-pid.kp").wait_for()
    page.get_by_test_id("study-search").focus()
    stops = []
    for _ in range(4):
        page.keyboard.press("Tab")
        stops.append(page.evaluate("document.activeElement.dataset.testid"))
    assert "study-repeat" in stops
    page.get_by_test_id("study-search").fill("pid.k")
    for key in ("ArrowDown", "ArrowDown", "ArrowRight", "Enter"):
        page.keyboard.press(key)
    page.get_by_test_id("held-pid.ki").wait_for()  # the second row, its second button
    assert page.evaluate("document.activeElement.dataset.testid") == "study-search"
    page.get_by_test_id("tab-edit").click()
    page.get_by_test_id("palette-Gain").wait_for()
    page.get_by_test_id("palette-search").focus()
    for _ in range(3):
        page.keyboard.press("Tab")
        if page.evaluate("document.activeElement.matches('[data-block]')"):
            break
    assert page.evaluate("document.activeElement.matches('[data-block]')")
