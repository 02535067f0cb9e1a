"""bs.explore: the front end in one text, a widget that answers it, and both together in a real browser."""

from __future__ import annotations

import base64
from collections import Counter

import pytest

import blocksim as bs
from blocksim.studio.notebook.front import JOINED, joined_module, scoped_sheet, top_level_names

pytest.importorskip("anywidget", reason="the extra 'notebook' is not installed")
RANGES = {"gain": (0.25, 4), "smooth.bandwidth": (5, 60)}


def answering(widget) -> list:
    """Where a widget's answers go in place of a kernel's line."""
    answers: list = []
    widget.send = lambda content, buffers=None: answers.append((content, buffers or []))
    return answers


def test_modules_join_into_one_text_with_every_name_once():
    counts = Counter(name for module in JOINED for name in top_level_names(module))
    assert [name for name, count in counts.items() if count > 1] == []
    assert "import " not in joined_module().replace("important", "") and joined_module().count("export ") == 1
    assert ":root" not in scoped_sheet()


def test_values_are_readable_and_settable_and_estimates_are_those_of_simulate():
    explorer = bs.explore("one_dof/identify", **RANGES)
    assert explorer.values == {"gain": 1.0, "smooth.bandwidth": 10.0}
    explorer.values = {"gain": 2.0, "smooth.bandwidth": 20.0}
    record = bs.simulate("one_dof/identify", params=explorer.values)
    assert str(explorer.estimates["ls"]) == str(record.estimates["ls"])


def test_the_widget_answers_as_the_server_does():
    explorer = bs.explore("one_dof/identify", **RANGES)
    answers = answering(explorer)
    explorer.take({"id": 5, "kind": "bench.run", "changes": {"gain": 2.0}})
    header, buffers = answers[0]
    assert header["id"] == 5 and len(buffers) == len(header["arrays"])
    record = bs.simulate("one_dof/identify", params={"gain": 2.0})
    assert header["data"]["estimates"]["ls"]["rows"][0]["cells"]["value"] == record.estimates["ls"].entries[0].row()[1]
    explorer.take({"id": 6, "kind": "bench.run", "changes": {"gain": "much"}})
    assert "gain" in answers[1][0]["data"]["error"]["text"]


@pytest.mark.parametrize(
    ("ranges", "words"),
    [
        ({"gian": (1, 2)}, "has no parameter 'gian'. It has: Ts, gain. Did you mean 'gain'?"),
        ({"smoth.bandwidth": (1, 2)}, "there is no block 'smoth'"),
        ({"smooth.band": (1, 2)}, "block 'smooth' has no setting 'band'"),
        ({"gain": (2, 1)}, "A range goes from low to high"),
        ({"gain": 3}, "A range is wanted"),
    ],
)
def test_a_wrong_range_is_refused_in_words(ranges, words):
    with pytest.raises(bs.BlocksimError) as error:
        bs.explore("one_dof/identify", **ranges)
    assert words in str(error.value)


MODEL = """source => import(source).then(({ default: front }) => {
  const state = JSON.parse(document.getElementById("state").textContent), heard = {};
  window.model = {
    get: name => state[name], set: (name, value) => { state[name] = value; }, save_changes: () => window.saved(state.values),
    on: (name, listener) => { heard[name] = listener; }, off: () => {},
    send: content => window.asked(content).then(all => all.forEach(([header, buffers]) => heard["msg:custom"](header,
      buffers.map(text => new DataView(Uint8Array.from(atob(text), c => c.charCodeAt(0)).buffer))))),
    move: values => { state.values = values; heard["change:values"](); },
  };
  front.render({ model: window.model, el: document.getElementById("cell") });
})"""


def test_the_bench_in_a_cell_moves_values_both_ways(open_page):
    import json

    explorer = bs.explore("one_dof/identify", **RANGES)
    answers, saved = answering(explorer), []

    def asked(content):
        answers.clear()
        explorer.take(content)
        return [[header, [base64.b64encode(buffer).decode() for buffer in buffers]] for header, buffers in answers]

    page = open_page(
        "data:text/html,<link rel=icon href=data:,><div id=cell></div><script type=application/json id=state></script>"
    )
    page.expose_function("asked", asked)
    page.expose_function("saved", lambda values: saved.append(values))
    page.evaluate(
        "text => { document.getElementById('state').textContent = text }", json.dumps(explorer.get_state(["start", "values"]))
    )
    page.add_style_tag(content=scoped_sheet())
    source = "data:text/javascript;base64," + base64.b64encode(joined_module().encode()).decode()
    page.evaluate(MODEL, source)
    page.get_by_test_id("row-ls-J").wait_for()
    slider = page.get_by_test_id("slider-gain")
    slider.focus()
    page.keyboard.press("ArrowRight")
    page.until("document.querySelector('[data-testid=number-gain]').value !== '1'")
    page.wait_for_timeout(100)
    assert saved[-1]["gain"] > 1 and saved[-1]["smooth.bandwidth"] == 10
    page.evaluate("model.move({ gain: 0.5, 'smooth.bandwidth': 30 })")
    page.until("document.querySelector('[data-testid=number-gain]').value === '0.5'")
    expected = bs.simulate("one_dof/identify", params={"gain": 0.5, "smooth.bandwidth": 30}).estimates["ls"].entries[0].row()[1]
    page.until(f"document.querySelector('[data-testid=row-ls-J] td.value').textContent === '{expected}'")
    assert page.locator("svg.diagram").count() == 0 and not page.watch.complaints


def test_several_explorers_in_one_notebook_keep_their_labels_and_a_kernel_that_is_gone_is_said(open_page):
    """Two benches in one document, whose kernel answers the first requests and then nothing any more."""
    import json

    explorer = bs.explore("one_dof/pid", **{"pid.kp": (1, 20)})
    answers, alive = answering(explorer), [True]

    def asked(content):
        answers.clear()
        if alive[0]:
            explorer.take(content)
        return [[header, [base64.b64encode(buffer).decode() for buffer in buffers]] for header, buffers in answers]

    cell = "<div id=cell></div><div id=other></div>"
    page = open_page(f"data:text/html,<link rel=icon href=data:,>{cell}<script type=application/json id=state></script>")
    page.expose_function("asked", asked)
    page.expose_function("saved", lambda values: None)
    state = json.dumps(explorer.get_state(["start", "values"]))
    page.evaluate("text => { document.getElementById('state').textContent = text }", state)
    page.add_style_tag(content=scoped_sheet())
    source = "data:text/javascript;base64," + base64.b64encode(joined_module().encode()).decode()
    page.evaluate(MODEL, source)
    page.evaluate(MODEL.replace('getElementById("cell")', 'getElementById("other")'), source)
    page.until("[...document.querySelectorAll('[data-testid=bench-time]')].filter(e => e.textContent).length === 2")
    ids = page.evaluate("[...document.querySelectorAll('[id^=field-]')].map(e => e.id)")
    assert len(ids) == len(set(ids)) and len(ids) > 0
    alive[0] = False
    page.get_by_test_id("slider-pid.kp").first.focus()
    page.keyboard.press("ArrowRight")
    words = page.get_by_test_id("explore-busy").first
    words.get_by_text("or it has ended; then run this cell again").wait_for(timeout=20_000)
    assert not page.watch.complaints


def test_an_element_of_a_list_is_read_and_set_in_python():
    explorer = bs.explore("gautier2001/scara_pd", **{"pd.kp[0]": (100, 2000)})
    assert explorer.values == {"pd.kp[0]": 850.0}
    explorer.values = {"pd.kp[0]": 400.0}
    expected = bs.simulate("gautier2001/scara_pd", params={"pd.kp": [400.0, 25.0]})
    assert (explorer.record["robot.q"] == expected["robot.q"]).all()
