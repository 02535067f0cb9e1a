"""The bench in a real browser: it runs, answers a slider, says what `simulate` says, and talks to nobody else."""

from __future__ import annotations

import blocksim as bs

SETTLED = "!studio.wire.pending.size && document.querySelector('[data-testid=row-didim-J] td.value')?.textContent"


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
