"""The bench in a real browser: it runs, answers a slider, says what `simulate` says, and talks to nobody else."""

from __future__ import annotations

import blocksim as bs

SETTLED = "studio.idle() && document.querySelector('[data-testid=row-didim-J] td.value')?.textContent"


def cells(page, method: str) -> dict[str, list[str]]:
    """Value, error and z of every parameter as the page shows them."""
    names = list(bs.open_diagram("one_dof/identify").nodes["joint"].block.settings)
    rows = {}
    for name in names:
        row = page.get_by_test_id(f"row-{method}-{name}")
        if row.count():
            rows[name] = [text.replace("−", "-") for text in row.locator("td").all_inner_texts()[:3]]
    return rows


def printed(estimates) -> dict[str, list[str]]:
    """The same as `print` has it."""
    return {row[0]: [row[1], row[5], row[6]] for row in (entry.row() for entry in estimates.entries)}


def test_a_slider_answers_and_the_table_is_that_of_simulate(studio, open_page):
    page = open_page(studio)
    page.until(SETTLED)
    assert cells(page, "ls") == printed(bs.simulate("one_dof/identify").estimates["ls"])
    slider = page.get_by_test_id("slider-smooth.bandwidth")
    slider.focus()
    for _ in range(30):
        page.keyboard.press("ArrowRight")
    page.until(SETTLED)
    value = float(page.get_by_test_id("number-smooth.bandwidth").input_value())
    assert value > 30
    changed = page.evaluate("studio.store.get('changes')")
    record = bs.simulate("one_dof/identify", params=changed)
    assert cells(page, "ls") == printed(record.estimates["ls"])
    assert cells(page, "didim") == printed(record.estimates["didim"])
    assert "alarm" in page.get_by_test_id("row-ls-J").get_attribute("class")  # too wide a band, and z says so
    assert not page.watch.outside(studio) and not page.watch.complaints


def test_a_wrong_value_is_refused_at_its_field_in_the_words_of_the_loader(studio, open_page):
    page = open_page(studio)
    page.until(SETTLED)
    field = page.get_by_test_id("number-smooth.bandwidth")
    field.fill("-3")
    field.press("Enter")
    words = page.get_by_test_id("refusal-smooth.bandwidth")
    words.wait_for(state="visible")
    try:
        bs.simulate("one_dof/identify", params={"smooth.bandwidth": -3})
    except bs.DiagramError as error:
        assert words.inner_text() == str(error)
    field.fill("12")
    field.press("Enter")
    words.wait_for(state="hidden")


def test_a_run_that_diverges_shows_no_estimates_of_another_and_another_file_nothing_of_this_one(studio, open_page):
    page = open_page(studio)
    page.until(SETTLED)
    field = page.get_by_test_id("number-pid.kp")
    field.fill("20000")
    field.press("Enter")
    page.until("document.querySelector('[data-testid=bench-said]').textContent.startsWith('diverged')")
    page.until(SETTLED)
    assert [row[0] for row in cells(page, "ls").values()] == ["–"] * 4 and page.evaluate("studio.store.get('estimates')") == {}
    field.fill("20")
    field.press("Enter")
    page.until("document.querySelector('[data-testid=bench-said]').hidden")
    page.until(SETTLED)
    assert cells(page, "didim") == printed(bs.simulate("one_dof/identify").estimates["didim"])
    page.evaluate("void studio.app.openFile('one_dof/pid')")  # while nothing of it has run, nothing of another is shown
    page.until("document.querySelector('[data-testid=file-button]').textContent === 'one_dof/pid'")
    assert page.locator(".method:visible").count() == 0 and not page.locator(".pair-plot").is_visible()
    page.until("studio.idle()")
    assert not page.watch.complaints


def test_eighty_steps_of_a_slider_answer_and_the_last_one_wins(studio, open_page):
    page = open_page(studio)
    page.until(SETTLED)
    page.evaluate("window.paints = 0; document.addEventListener('painted', () => window.paints++)")
    box = page.get_by_test_id("slider-smooth.bandwidth").bounding_box()
    y = box["y"] + box["height"] / 2
    page.mouse.move(box["x"] + 0.3 * box["width"], y)
    page.mouse.down()
    for step in range(80):
        page.mouse.move(box["x"] + box["width"] * (0.3 + 0.4 * step / 80), y)
    page.mouse.up()
    page.until(SETTLED)
    assert page.evaluate("window.paints") > 1
    record = bs.simulate("one_dof/identify", params=page.evaluate("studio.store.get('changes')"))
    assert cells(page, "ls") == printed(record.estimates["ls"])
    assert page.evaluate("document.querySelectorAll('.scope').length") == 3
    assert not page.watch.outside(studio) and not page.watch.complaints


def test_a_block_shows_its_settings_and_any_number_can_be_pinned(studio, open_page):
    page = open_page(studio)
    page.until(SETTLED)
    page.get_by_test_id("block-joint").focus()
    page.keyboard.press("Enter")
    fields = page.get_by_test_id("block-fields")
    fields.get_by_text("GravityJoint").wait_for()
    text = fields.inner_text()
    assert "viscous friction" in text and "at least 0" in text and "N m s/rad" in text
    page.until("document.activeElement.dataset.testid?.startsWith('field-joint.')")  # the keyboard goes on with the fields
    page.get_by_test_id("pin-joint.Fv").focus()
    page.keyboard.press("Enter")
    page.keyboard.press("Escape")
    assert page.evaluate("document.activeElement.dataset.block") == "joint"  # and comes back
    page.get_by_test_id("tab-pins").click()
    assert page.get_by_test_id("slider-joint.Fv").count() == 1
    page.get_by_test_id("block-encoder").click()
    field = page.get_by_test_id("field-encoder.noise_std")
    field.fill("-1")
    field.press("Enter")
    words = page.get_by_test_id("field-refusal-encoder.noise_std")
    words.wait_for(state="visible")
    assert "at least 0" in words.inner_text()


def test_a_defect_is_switched_off_on_the_diagram(studio, open_page):
    page = open_page(studio)
    page.until(SETTLED)
    page.get_by_test_id("light-encoder").click()
    page.until(SETTLED)
    assert page.get_by_test_id("defect-encoder.noise").get_attribute("aria-checked") == "false"
    page.get_by_test_id("defect-encoder.quantisation").click()
    page.get_by_test_id("defect-encoder.loop").click()  # both on again: only the noise is off
    page.until(SETTLED)
    record = bs.simulate("one_dof/identify", params={"encoder.noise_std": 0})
    assert cells(page, "ls") == printed(record.estimates["ls"])


def test_zoom_asks_for_finer_curves_and_the_cursor_reads_the_record(studio, open_page):
    page = open_page(studio)
    page.until(SETTLED)
    scope = page.get_by_test_id("scope-rad")
    scope.focus()
    for _ in range(3):
        page.keyboard.press("+")
    page.until(SETTLED)
    page.keyboard.press("ArrowRight")
    page.until("document.querySelector('output[data-value=\"joint.q\"]').textContent")
    t = page.evaluate("studio.bench().scopes.t")
    record = bs.simulate("one_dof/identify")
    place = record.t.searchsorted(t + 1e-9, "right") - 1
    value = float(page.locator('output[data-value="joint.q"]').inner_text())
    assert abs(value - record["joint.q"][place]) < 1e-4 * abs(value)
    page.keyboard.press("0")
    page.until(SETTLED)
    assert page.evaluate("studio.bench().scopes.window") is None


def test_the_cloud_comes_when_hands_are_off(studio, open_page):
    page = open_page(studio)
    page.until(SETTLED)
    page.until("document.querySelector('[data-testid=cloud-words]').textContent.includes('ls')")
    page.until("Object.values(studio.bench().pair.clouds)[0].count >= 16")
    assert "× the claimed" in page.get_by_test_id("cloud-words").inner_text()


def test_the_robot_shows_the_record_at_the_time_scrubbed_to(studio, open_page):
    page = open_page(studio)
    page.until(SETTLED)
    page.get_by_test_id("tab-robot").click()
    page.get_by_test_id("reading-joint.q").wait_for()
    page.get_by_test_id("robot-scrub").evaluate("e => { e.value = 4321; e.dispatchEvent(new Event('input')); }")
    page.until("document.querySelector('[data-testid=robot-time]').textContent === '4.321 s' && !studio.wire.pending.size")
    record = bs.simulate("one_dof/identify")
    truth = record["joint.q"][record.t.searchsorted(4.321 + 1e-9, "right") - 1]
    assert abs(float(page.get_by_test_id("reading-joint.q").inner_text()) - truth) <= 1e-5 * abs(truth)
    page.get_by_test_id("robot-play").click()
    page.until("Number.parseFloat(document.querySelector('[data-testid=robot-time]').textContent) > 4.6")
    page.get_by_test_id("robot-play").click()
    assert not page.watch.complaints
