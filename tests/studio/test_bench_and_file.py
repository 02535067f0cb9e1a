"""The bench beside the file: edits here and outside reach the sliders, what is refused stays out, a broken file says why."""

from __future__ import annotations

import numpy as np
import pytest

import blocksim as bs

#: Short runs, so that tests are.
JOINT = """format: 1
name: A joint, pushed
simulate: {stop: 2, solver: rk4, step: 5e-3, seed: 1}
blocks:
  push:   {type: Multisine, f_min: 0.5, f_max: 4, lines: 8, amplitude: 0.5}
  joint:  {type: GravityJoint, J: 0.02, Fv: 0.08, Fc: 0.02, Ms: 0.3, N: 1, beta: 5, in: push}
  sense:  {type: TorqueSensor, Ts: 5e-3, std: 1e-3, in: joint.q}
  motion: {type: BandPassDerivatives, cutoff: 20, factor: 1, in: sense}
  ls:     {type: LeastSquares, model: joint, skip: 0.1, in: {tau: push, q: motion.q, qd: motion.qd, qdd: motion.qdd}}
"""
SETTLED = "studio.idle() && document.querySelector('[data-testid=row-ls-J] td.value')?.textContent"


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    place = tmp_path_factory.mktemp("bench")
    (place / "joint.yaml").write_text(JOINT, encoding="utf-8")
    return place


@pytest.fixture(autouse=True)
def fresh_file(folder):
    (folder / "joint.yaml").write_text(JOINT, encoding="utf-8")


def shown(page) -> list[float]:
    return page.evaluate("studio.store.get('estimates').ls.rows.map((row) => row.value)")


def simulated(text: str, **options) -> list[float]:
    return [entry.value for entry in bs.simulate(text, **options).estimates["ls"].entries]


def pin(page, block: str, setting: str) -> None:
    if page.get_by_test_id(f"slider-{block}.{setting}").count():
        return
    page.get_by_test_id(f"block-{block}").click()
    page.get_by_test_id(f"pin-{block}.{setting}").click()
    page.get_by_test_id("tab-pins").click()


def give(page, path: str, value: str) -> None:
    field = page.get_by_test_id(f"number-{path}")
    field.fill(value)
    field.press("Enter")


@pytest.fixture
def page(address, open_page, fresh_file):
    page = open_page(address)
    page.until(SETTLED)
    return page


def test_a_file_saved_in_another_editor_is_seen_on_the_bench(page, folder):
    """Nobody has opened the Edit pane."""
    pin(page, "joint", "J")
    give(page, "motion.cutoff", "15")
    page.until(SETTLED)
    text = JOINT.replace("J: 0.02", "J: 0.025")
    (folder / "joint.yaml").write_text(text, encoding="utf-8")
    page.until("document.querySelector('[data-testid=\"number-joint.J\"]').value === '0.025' && " + SETTLED)
    assert "changed outside" in page.get_by_test_id("status").inner_text()
    assert page.get_by_test_id("number-motion.cutoff").input_value() == "15"  # what a hand set stays
    assert shown(page) == simulated(text, params={"motion.cutoff": 15})
    (folder / "joint.yaml").write_text(text.replace("Fv: 0.08", "Fv: -1"), encoding="utf-8")
    page.until("document.querySelector('[data-testid=status]').textContent.includes('The last good one stays')")
    assert "Fv: must be at least 0" in page.get_by_test_id("status").inner_text()
    assert not page.watch.complaints


def test_sliders_take_the_values_of_an_edited_text_and_those_without_a_setting_go(page):
    pin(page, "joint", "J")
    pin(page, "sense", "std")
    give(page, "sense.std", "0.002")
    page.until(SETTLED)
    page.get_by_test_id("tab-edit").click()
    area = page.get_by_test_id("edit-text")
    page.until("document.querySelector('[data-testid=edit-text]').value.includes('blocks:')")
    text = JOINT.replace("J: 0.02,", "J: 0.03,").replace("sense", "feel")
    area.fill(text)
    page.until("(studio.store.get('diagram').blocks || []).some((block) => block.name === 'feel')")
    page.get_by_test_id("tab-bench").click()
    page.until("document.querySelector('[data-testid=\"number-joint.J\"]').value === '0.03' && " + SETTLED)
    assert page.get_by_test_id("slider-sense.std").count() == 0
    assert page.evaluate("studio.store.get('changes')") == {}
    page.until("document.querySelector('[data-testid=status]').textContent.includes('sense.std: no longer in the file')")
    assert shown(page) == simulated(text)
    assert not page.watch.complaints


def test_a_refused_value_stays_out_of_the_next_run(page):
    pin(page, "joint", "J")
    give(page, "motion.cutoff", "-3")
    page.get_by_test_id("refusal-motion.cutoff").wait_for(state="visible")
    assert page.evaluate("studio.store.get('changes')") == {}
    give(page, "joint.J", "0.03")
    page.get_by_test_id("refusal-motion.cutoff").wait_for(state="hidden")
    page.until(SETTLED)
    assert page.get_by_test_id("refusal-joint.J").is_hidden()
    assert page.get_by_test_id("number-motion.cutoff").input_value() == "20"
    assert shown(page) == simulated(JOINT, params={"joint.J": 0.03})
    seed = page.get_by_test_id("seed")
    seed.fill("many")
    seed.press("Enter")
    assert "A seed is a whole number" in page.get_by_test_id("bench-said").inner_text()
    page.get_by_test_id("restore-sliders").click()
    page.until(SETTLED)
    assert page.get_by_test_id("number-joint.J").input_value() == "0.02" and shown(page) == simulated(JOINT)


def test_the_robot_moves_as_the_run_on_the_bench_did(page):
    """With the seed and without the defect that were chosen there."""
    page.get_by_test_id("defect-sense.noise").click()
    seed = page.get_by_test_id("seed")
    seed.fill("11")
    seed.press("Enter")
    page.until(SETTLED)
    expected = simulated(JOINT, params={"sense.std": 0}, seed=11)
    assert shown(page) == expected
    page.get_by_test_id("tab-robot").click()
    page.get_by_test_id("reading-joint.q").wait_for()
    page.get_by_test_id("robot-scrub").evaluate("e => { e.value = 5000; e.dispatchEvent(new Event('input')); }")
    page.until("studio.idle() && document.querySelector('#pane-robot output[data-value=\"joint.q\"]')?.textContent")
    page.get_by_test_id("tab-bench").click()
    page.locator("#pane-bench canvas[data-testid^=scope-]").first.focus()
    page.keyboard.press("ArrowRight")
    page.until("studio.idle() && document.querySelector('#pane-bench output[data-value=\"sense.tau_hat\"]')?.textContent")
    record, t = bs.simulate(JOINT, params={"sense.std": 0}, seed=11), page.evaluate("studio.bench().scopes.t")
    truth = record["sense.tau_hat"][np.searchsorted(record.t, t + 1e-9, "right") - 1]
    assert abs(float(page.locator("#pane-bench output[data-value='sense.tau_hat']").inner_text()) - truth) <= 1e-4 * abs(truth)
    assert shown(page) == expected and page.get_by_test_id("seed").input_value() == "11"


def test_a_file_with_mistakes_says_them_on_the_bench_and_leads_to_edit(page, folder):
    (folder / "wrong.yaml").write_text(JOINT.replace("Fv: 0.08", "Fv: -1"), encoding="utf-8")
    page.evaluate("studio.app.openFile('wrong.yaml')")
    page.get_by_test_id("bench-mend").wait_for()
    words = page.get_by_test_id("bench-said").inner_text()
    assert "does not run yet" in words and "line 6: block 'joint': Fv: must be at least 0, found -1." in words
    assert "wrong" in page.get_by_test_id("part-drawing").get_by_test_id("block-joint").get_attribute("class")
    page.get_by_test_id("tab-robot").click()
    assert "does not run" in page.get_by_test_id("pane-robot").inner_text()
    page.get_by_test_id("tab-bench").click()
    page.get_by_test_id("bench-mend").click()
    page.until("document.querySelector('[data-testid=edit-problems]').textContent.includes('Fv: must be at least 0')")
    area = page.get_by_test_id("edit-text")
    area.fill(JOINT)
    page.until("studio.store.get('diagram').runnable")
    page.get_by_test_id("tab-bench").click()
    page.until(SETTLED)
    assert page.get_by_test_id("bench-said").is_hidden() and shown(page) == simulated(JOINT)
    assert not page.watch.complaints


def test_what_was_put_together_in_study_and_excitation_outlives_an_edit_and_a_lost_line(page):
    page.get_by_test_id("tab-study").click()
    page.get_by_test_id("sweep-motion.cutoff").click()
    page.get_by_test_id("count-motion.cutoff").fill("3")
    page.get_by_test_id("tab-excitation").click()
    page.until("document.querySelectorAll('[data-testid=excitation-table] tr').length > 3 && !studio.wire.pending.size")
    page.get_by_test_id("plot-spectrum").focus()
    for key in ("ArrowRight", "ArrowDown"):
        page.keyboard.press(key)
    page.until("!studio.wire.pending.size && document.querySelector('[data-testid=excitation-undo]:not(:disabled)')")
    numbers = page.get_by_test_id("excitation-numbers").inner_text()
    page.get_by_test_id("tab-edit").click()
    page.until("document.querySelector('[data-testid=edit-text]').value.includes('blocks:')")
    page.get_by_test_id("edit-text").fill(JOINT + "# a note\n")
    page.until("studio.store.get('diagram').text.includes('# a note')")
    page.evaluate("studio.wire.cut()")
    page.until("document.body.dataset.line === 'lost'")
    page.until("document.body.dataset.line === 'open' && !studio.wire.pending.size")
    page.get_by_test_id("tab-study").click()
    page.until("document.querySelector('[data-testid=study-run]').textContent === 'Run 60'")  # three points, twenty seeds
    page.get_by_test_id("tab-excitation").click()
    page.until("!studio.wire.pending.size")
    assert page.get_by_test_id("excitation-numbers").inner_text() == numbers
    assert not page.get_by_test_id("excitation-undo").is_disabled()
    assert not page.watch.complaints


def test_a_draft_is_told_wherever_the_file_is_opened(page, address, open_page):
    page.get_by_test_id("tab-edit").click()
    page.until("document.querySelector('[data-testid=edit-text]').value.includes('blocks:')")
    page.get_by_test_id("edit-text").fill(JOINT + "# unsaved\n")
    page.until("document.querySelector('[data-testid=edit-file]').textContent === 'not saved' && !studio.wire.pending.size")
    page.close()
    again = open_page(address)
    again.until("document.querySelector('[data-testid=status]').textContent.includes('was not saved; the Edit pane has it')")
    again.get_by_test_id("tab-edit").click()
    again.get_by_test_id("draft-drop").click()
    again.until("document.querySelector('[data-testid=edit-said]').textContent.includes('the draft is gone')")


#: Two sources of one unit, one a million times smaller, and one of two elements.
SIGNALS = """format: 1
name: Large, small, and two together
simulate: {stop: 1, solver: rk4, step: 1e-3}
blocks:
  large: {type: Sine, frequency: 3}
  small: {type: Gain, k: 1e-6, in: large}
  pair:  {type: FourierTrajectory, base_frequency: 1, a: [[1.0, 0.5], [0.2, 0.1]], b: [[0, 0], [0, 0]]}
"""
ENVELOPE = """url => import(url).then(({ bandPath }) => {
  const path = [], pen = { beginPath() {}, closePath() {}, lineTo: (x, y) => path.push([x, y]) };
  bandPath(pen, [1, 5, NaN, 2], [2, 6, NaN, 3], (k) => k, (v) => v, 0);
  return path;
})"""


def test_a_small_signal_has_a_scope_of_its_own_and_each_element_of_a_source_can_be_dragged(page, folder, address):
    (folder / "signals.yaml").write_text(SIGNALS, encoding="utf-8")
    page.evaluate("studio.app.openFile('signals.yaml')")
    page.until("studio.store.get('diagram').name === 'signals.yaml' && studio.bench().scopes.series.length && studio.idle()")
    groups = page.evaluate("studio.bench().scopes.plots.map((plot) => plot.names)")
    assert ["small.y"] in groups and not any("small.y" in names and "large.y" in names for names in groups)
    assert "No block of this diagram estimates" in page.get_by_test_id("no-methods").inner_text()
    page.get_by_test_id("tab-excitation").click()
    page.get_by_test_id("excitation-source").select_option("pair")
    page.get_by_test_id("excitation-element").select_option("1")
    page.until("!studio.wire.pending.size && document.querySelector('[data-testid=plot-spectrum]').plot.grips.length === 2")
    assert page.evaluate("document.querySelector('[data-testid=plot-spectrum]').plot.grips.map((grip) => grip.y)") == [0.2, 0.1]
    path = page.evaluate(ENVELOPE, f"{address}bands.js")  # columns at their least and greatest, each reaching the one before
    assert path == [[0, 2], [1, 6], [3, 5], [3, 2], [1, 2], [0, 1]]
    assert not page.watch.complaints


def test_every_pane_is_in_reach_on_a_narrow_screen_and_every_axis_has_two_numbers(address, open_page):
    page = open_page(address, 375, 740)
    page.until(SETTLED)
    for name in ("bench", "edit", "excitation", "study", "robot", "data"):
        box = page.get_by_test_id(f"tab-{name}").bounding_box()
        assert box["x"] >= 0 and box["x"] + box["width"] <= 375, name
    ticks = """url => import(url).then(({ axisTicks }) => [[-1.1, 1.4, 2.5], [-0.5, 0.72, 1], [3, 17, 2], [0, 1e-7, 1]]
      .map(([low, high, count]) => axisTicks(low, high, count).map((tick) => tick.value)))"""
    for values in page.evaluate(ticks, f"{address}dom.js"):
        assert len(values) >= 2
