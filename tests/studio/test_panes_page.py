"""Excitation, Study and Data in a real browser: by mouse and keyboard, with the words and numbers that Python has."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy.io import savemat

import blocksim as bs

#: Short runs, so that tests are.
JOINT = """format: 1
name: A joint, shaken
simulate: {stop: 2, solver: rk4, step: 5e-3, seed: 1}
blocks:
  push:   {type: Multisine, f_min: 0.5, f_max: 4, lines: 8, amplitude: 0.5}
  joint:  {type: GravityJoint, J: 0.02, Fv: 0.08, Fc: 0.02, Ms: 0.3, N: 1, beta: 5, in: push}
  sense:  {type: TorqueSensor, Ts: 5e-3, std: 1e-4, in: joint.q}
  motion: {type: BandPassDerivatives, cutoff: 20, factor: 1, in: sense}
  ls:     {type: LeastSquares, model: joint, skip: 0.1, in: {tau: push, q: motion.q, qd: motion.qd, qdd: motion.qdd}}
"""


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    place = tmp_path_factory.mktemp("panes")
    (place / "joint.yaml").write_text(JOINT, encoding="utf-8")
    bs.simulate(JOINT, seed=5).select("push.y", "sense.tau_hat").save(place / "lab.csv")
    return place


def peak_text(page) -> str:
    return page.get_by_test_id("excitation-numbers").inner_text()


def test_a_line_is_dragged_over_its_limit_and_back(address, open_page):
    page = open_page(f"{address}#excitation", accept_downloads=True)
    page.until("document.querySelectorAll('[data-testid=excitation-table] tr').length > 3 && !studio.wire.pending.size")
    before, table = peak_text(page), page.get_by_test_id("excitation-table").inner_text()
    plot = page.get_by_test_id("plot-spectrum")
    box = plot.bounding_box()
    grip = page.evaluate(
        """(() => {
          const plot = document.querySelector("[data-testid=plot-spectrum]").plot, frame = plot.frame(), one = plot.grips[2];
          return [frame.x(one.x), frame.y(one.y)];
        })()"""
    )
    page.mouse.move(box["x"] + grip[0], box["y"] + grip[1])
    page.mouse.down()
    page.mouse.move(box["x"] + grip[0], box["y"] - 250, steps=6)
    page.mouse.up()
    page.until("!document.querySelector('[data-testid=excitation-said]').hidden && !studio.wire.pending.size")
    assert "Over its limit: push.y peak" in page.get_by_test_id("excitation-said").inner_text()
    assert peak_text(page) != before and page.get_by_test_id("excitation-table").inner_text() != table
    page.get_by_test_id("excitation-csv").click()
    page.until("document.querySelector('[data-testid=excitation-said]').textContent.includes('is not exported')")
    page.get_by_test_id("excitation-undo").click()
    page.until("document.querySelector('[data-testid=excitation-said]').hidden && !studio.wire.pending.size")
    assert peak_text(page) == before
    with page.expect_download() as download:
        page.get_by_test_id("excitation-csv").click()
    assert download.value.suggested_filename == "push.csv"
    assert not page.watch.complaints and not page.watch.outside(address)


def test_improve_is_stopped_and_undone(address, open_page):
    page = open_page(f"{address}#excitation")
    page.until("document.querySelectorAll('[data-testid=excitation-table] tr').length > 3 && !studio.wire.pending.size")
    before, table = peak_text(page), page.get_by_test_id("excitation-table").inner_text()
    page.get_by_test_id("excitation-seconds").fill("600")
    page.get_by_test_id("excitation-improve").click()
    page.until("document.querySelector('td.searching')?.textContent.includes('%')")
    page.get_by_test_id("excitation-stop").click()
    page.until("!document.querySelector('[data-testid=excitation-improve]').disabled && !studio.wire.pending.size")
    assert "interrupted" in page.get_by_test_id("excitation-word").inner_text()
    assert page.get_by_test_id("excitation-stop").is_hidden()
    assert "Undo gives the earlier one back" in page.get_by_test_id("excitation-word").inner_text()
    assert peak_text(page) != before
    page.get_by_test_id("excitation-undo").click()
    page.until(f"document.querySelector('[data-testid=excitation-numbers]').innerText === {before!r}")
    head = " ".join(table.split("\n")[1].split()[:4])
    page.until(
        f"document.querySelector('[data-testid=\"foretold-joint.J\"]').innerText.replace(/\\s+/g, ' ').startsWith({head!r})"
    )
    assert not page.watch.complaints


def test_a_study_is_dropped_together_run_and_one_dot_opened_on_the_bench(address, open_page, folder):
    page = open_page(f"{address}#study")
    page.get_by_test_id("study-chip-motion.cutoff").drag_to(page.get_by_test_id("study-zone-sweep"))
    page.get_by_test_id("count-motion.cutoff").fill("2")
    page.get_by_test_id("study-repeat").fill("2")
    page.get_by_test_id("study-repeat").press("Enter")
    page.until("document.querySelector('[data-testid=study-run]').textContent === 'Run 4'")
    page.get_by_test_id("study-run").click()
    page.until("document.querySelector('[data-testid=study-word]').textContent.includes('tables and report are in')")
    assert (folder / "joint_study" / "scores.csv").is_file()
    page.get_by_test_id("plot-study").focus()
    page.keyboard.press("ArrowRight")
    page.keyboard.press("Enter")
    page.until(
        "studio.store.get('estimates')?.ls && document.querySelector('[data-testid=status]').textContent.includes('of the study')"
    )
    words = page.get_by_test_id("status").inner_text()
    seed = int(words.split("seed ")[1])
    page.until(f"document.querySelector('[data-testid=seed]')?.value === '{seed}' && !studio.wire.pending.size")
    changes = page.evaluate("studio.store.get('changes')")
    record = bs.simulate(JOINT, params=changes, seed=seed)
    shown = page.evaluate("studio.store.get('estimates').ls.rows.map((row) => row.value)")
    assert shown == [entry.value for entry in record.estimates["ls"].entries]
    assert not page.watch.complaints


def test_a_dropped_file_is_mapped_and_identified(address, open_page, folder):
    page = open_page(f"{address}#data")
    page.get_by_test_id("data-file").set_input_files([str(folder / "lab.csv")])
    page.until("document.querySelector('[data-testid=data-words]').textContent.includes('evenly sampled')")
    page.get_by_test_id("data-identify").click()
    page.get_by_test_id("data-ls").wait_for()
    estimates = bs.identify(JOINT, folder / "lab.csv").estimates["ls"]
    for entry in estimates.entries:
        text = page.get_by_test_id(f"data-row-ls-{entry.name}").locator("td").nth(1).inner_text()
        assert float(text) == pytest.approx(entry.value, rel=1e-4)
    assert not page.watch.complaints and not page.watch.outside(address)


def test_a_mat_file_with_a_late_column_and_one_with_a_gap_and_validation_on_a_second(address, open_page, folder):
    """Files as MATLAB writes them: degrees, own names; the lag is told, the gap is told, the fit is that of `validate`."""
    first, second = (bs.simulate(JOINT, seed=seed) for seed in (5, 6))
    late = np.interp(first.t - 0.0125, first.t, first["sense.tau_hat"])
    for name, record in (("first.mat", first), ("second.mat", second)):
        angle = np.degrees(record["sense.tau_hat"])
        savemat(folder / name, {"time": record.t, "angle": angle, "torque": record["push.y"], "late": np.degrees(late)})
    kept = np.r_[0:100, 160 : len(first.t)]
    savemat(folder / "gap.mat", {"time": first.t[kept], "angle": first["joint.q"][kept]})
    page = open_page(f"{address}#data")
    page.get_by_test_id("data-file").set_input_files([str(folder / name) for name in ("first.mat", "gap.mat", "second.mat")])
    page.get_by_test_id("data-time").fill("time")
    page.get_by_test_id("data-time").press("Enter")
    page.until("document.querySelector('[data-testid=data-words]').textContent.includes('evenly sampled')")
    page.get_by_test_id("lag-one").select_option("angle")
    page.get_by_test_id("lag-other").select_option("late")
    page.get_by_test_id("lag-go").click()
    page.until("document.querySelector('[data-testid=lag-words]').textContent.includes('late comes 12')")
    page.get_by_test_id("data-which").select_option("gap.mat")
    page.until("document.querySelector('[data-testid=data-words]').textContent.includes('gap of 0.305 s at 0.495 s')")
    page.get_by_test_id("data-which").select_option("first.mat")
    page.get_by_test_id("map-angle").wait_for()
    page.until("document.querySelector('[data-testid=data-words]').textContent.includes('evenly sampled')")
    page.get_by_test_id("map-angle").select_option("sense.tau_hat")
    page.get_by_test_id("scale-angle").fill(repr(math.pi / 180))
    page.get_by_test_id("map-torque").select_option("push.y")
    page.get_by_test_id("map-torque").focus()
    page.get_by_test_id("data-identify").click()
    page.get_by_test_id("data-ls").wait_for()
    for entry in first.estimates["ls"].entries:
        text = page.get_by_test_id(f"data-row-ls-{entry.name}").locator("td").nth(1).inner_text()
        assert float(text) == pytest.approx(entry.value, rel=1e-3)
    page.get_by_test_id("data-second").select_option("second.mat")
    page.get_by_test_id("data-validate").click()
    page.until("document.querySelector('[data-testid=data-fits] canvas')")
    assert page.get_by_test_id("data-said").is_hidden()
    assert not page.watch.complaints and not page.watch.outside(address)


def test_a_button_takes_a_column_as_the_time_and_what_is_wrong_stands_beside_identify(address, open_page, folder):
    record = bs.simulate(JOINT, seed=5)
    rows = np.column_stack([1e3 * record.t, record["sense.tau_hat"], record["push.y"]])
    np.savetxt(folder / "own.csv", rows, delimiter=";", header="Zeit [ms];angle [rad];torque [N m]", comments="", fmt="%.9g")
    page = open_page(f"{address}#data")
    page.get_by_test_id("data-file").set_input_files([str(folder / "own.csv")])
    page.get_by_test_id("time-is-Zeit").click()
    page.until("document.querySelector('[data-testid=data-words]').textContent.includes('evenly sampled')")
    page.get_by_test_id("data-identify").click()
    page.get_by_test_id("data-wrong").get_by_text("no column is a signal of the diagram").wait_for()
    assert page.get_by_test_id("data-said").is_hidden()
    page.get_by_test_id("map-angle").select_option("sense.tau_hat")
    page.get_by_test_id("map-torque").select_option("push.y")
    page.get_by_test_id("data-identify").click()
    page.get_by_test_id("data-ls").wait_for()
    assert page.get_by_test_id("data-wrong").is_hidden() and not page.watch.complaints
