"""Pages that die, lines that break, two tabs, other sites, narrow screens: nothing is lost, and it is said in words."""

from __future__ import annotations

import http.server
import json
import os
import threading
import time
from pathlib import Path

import pytest
from conftest import start_studio
from test_study_pane import LOOP

import blocksim as bs

READY = "studio.idle() && document.querySelector('[data-testid=row-ls-J] td.value')?.textContent"


def test_a_page_killed_in_a_run_leaves_the_studio_at_work(studio, open_page):
    page = open_page(studio)
    page.until(READY)
    slider = page.get_by_test_id("slider-smooth.bandwidth")
    slider.focus()
    for _ in range(5):
        page.keyboard.press("ArrowRight")
    page.close()  # answers are on their way
    again = open_page(studio)
    again.until(READY)
    assert not again.watch.complaints


def test_a_broken_line_is_said_and_comes_back_with_sliders_where_they_were(studio, open_page):
    page = open_page(studio)
    page.until(READY)
    field = page.get_by_test_id("number-smooth.bandwidth")
    field.fill("25")
    field.press("Enter")
    page.until(READY)
    before = page.get_by_test_id("row-ls-J").inner_text()
    page.evaluate("studio.wire.cut()")
    page.until("document.body.dataset.line === 'lost'")
    assert "Connection lost" in page.get_by_test_id("status").inner_text()
    page.until("document.body.dataset.line === 'open' && " + READY)
    assert page.get_by_test_id("status").inner_text() == ""
    assert page.evaluate("studio.store.get('changes')") == {"smooth.bandwidth": 25}
    assert page.get_by_test_id("row-ls-J").inner_text() == before


def test_two_tabs_do_not_disturb_each_other(studio, open_page):
    one, two = open_page(studio), open_page(studio)
    one.until(READY)
    two.until(READY)
    calm = two.get_by_test_id("row-ls-J").inner_text()
    field = one.get_by_test_id("number-smooth.bandwidth")
    field.fill("40")
    field.press("Enter")
    one.until(READY)
    assert one.get_by_test_id("row-ls-J").inner_text() != calm
    assert two.get_by_test_id("row-ls-J").inner_text() == calm
    assert two.evaluate("studio.store.get('changes')") == {}


@pytest.fixture
def other_site():
    """A page of somebody else, on this machine but at another port, that knows the address and tries."""

    class Page(http.server.BaseHTTPRequestHandler):
        def do_GET(self):
            self.send_response(200)
            self.send_header("Content-Type", "text/html")
            self.end_headers()
            self.wfile.write(b"<!doctype html><title>other</title><link rel=icon href=data:,>")

        def log_message(self, *_):
            pass

    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Page)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield f"http://127.0.0.1:{server.server_port}/"
    server.shutdown()


def test_another_sites_page_cannot_connect(studio, open_page, other_site):
    page = open_page(other_site)
    socket = studio.replace("http", "ws") + "socket"
    outcome = page.evaluate(
        """url => new Promise(done => {
          const line = new WebSocket(url); line.onopen = () => done('open'); line.onerror = () => done('refused');
        })""",
        socket,
    )
    assert outcome == "refused"
    assert page.evaluate("url => fetch(url + 'main.js').then(() => 'read', () => 'refused')", studio) == "refused"


@pytest.mark.parametrize(("width", "height"), [(375, 740), (1440, 900), (1920, 1080)])
def test_nothing_covers_anything(studio, open_page, width, height):
    page = open_page(studio, width, height)
    page.until(READY)
    for name in ("bench", "robot"):
        page.get_by_test_id(f"tab-{name}").click()
        page.wait_for_timeout(300)
        assert page.evaluate("document.documentElement.scrollWidth") <= width
        boxes = page.evaluate(
            "name => [...document.querySelectorAll(`#pane-${name} > .part`)].map(e => e.getBoundingClientRect())"
            ".map(b => [b.left, b.top, b.right, b.bottom])",
            name,
        )
        assert len(boxes) >= 2
        for i, a in enumerate(boxes):
            for b in boxes[:i]:
                assert a[0] >= b[2] - 1 or b[0] >= a[2] - 1 or a[1] >= b[3] - 1 or b[1] >= a[3] - 1, (name, a, b)


@pytest.mark.parametrize("width", [375, 1440])
def test_a_table_of_long_names_units_and_numbers_stays_in_its_panel(studio, open_page, width):
    page = open_page(studio, width, 800)
    page.until(READY)
    cells = {
        "th.name span": "resonance",
        "th.name small": "N m s/rad",
        ".value": "3.72867e+06",
        ".error": "+1014.50",
        ".z": "+32.5",
    }
    for selector, text in cells.items():
        page.locator(f"[data-testid=row-ls-J] {selector}").first.evaluate("(cell, text) => { cell.textContent = text; }", text)
    table = "document.querySelector('[data-testid=method-ls] table')"
    assert page.evaluate(f"{table}.scrollWidth <= {table}.parentElement.clientWidth")


def test_a_diagram_with_mistakes_is_opened_and_says_them(tmp_path, open_page, studio):
    path = tmp_path / "wrong.yaml"
    path.write_text("format: 1\nblocks:\n  a: {type: Gian, in: b}\n  b: {type: Constant}\n")
    page = open_page(studio)
    page.until(READY)
    page.evaluate("name => studio.app.openFile(name)", str(path))
    page.until("(studio.store.get('problems') || []).length")
    problems = page.evaluate("studio.store.get('problems')")
    assert "Did you mean 'Gain'" in problems[0]["what"] and problems[0]["line"] == 3


def processes_on(folder: Path) -> list[str]:
    """The commands of this machine that work in a folder of results."""
    commands = []
    for entry in Path("/proc").glob("[0-9]*/cmdline"):
        try:
            commands.append(entry.read_bytes().replace(b"\0", b" ").decode(errors="replace"))
        except OSError:
            continue
    return [command for command in commands if f"--out {folder}" in command]


def soon(condition) -> bool:
    begin = time.monotonic()
    while not condition() and time.monotonic() - begin < 90:
        time.sleep(0.1)
    return condition()


@pytest.mark.skipif(not Path("/proc/self/cmdline").exists(), reason="processes are looked up in /proc")
@pytest.mark.parametrize("end", ["page", "studio"])
def test_a_study_ends_with_its_page_and_with_the_studio_and_what_it_ran_is_kept(tmp_path, open_page, monkeypatch, end):
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    (tmp_path / "loop.yaml").write_text(LOOP, encoding="utf-8")
    folder = f"kept_{os.getpid()}_{end}"
    process, address = start_studio("loop.yaml", tmp_path)
    try:
        page = open_page(f"{address}#study")
        page.get_by_test_id("sweep-motion.cutoff").click()
        page.get_by_test_id("study-file").fill(f"{folder}.yaml")
        page.get_by_test_id("study-repeat").fill("800")
        page.get_by_test_id("study-repeat").press("Enter")
        page.until("document.querySelector('[data-testid=study-run]').textContent === 'Run 4000'")
        page.get_by_test_id("study-run").click()
        results = tmp_path / folder / "results.jsonl"
        assert soon(lambda: results.is_file() and results.read_bytes().count(b"\n") > 5)
        assert processes_on(folder)
        if end == "page":
            page.close()
        else:
            process.terminate()
        assert soon(lambda: not processes_on(folder))
        lines = results.read_bytes().count(b"\n")
        assert 5 < lines < 4001
        if end == "page":  # another page goes on from what is kept
            again = open_page(f"{address}#study")
            again.until("studio.idle() && document.querySelector('[data-testid=study-run]').textContent.startsWith('Run ')")
            again.get_by_test_id("sweep-motion.cutoff").click()
            again.get_by_test_id("study-file").fill(f"{folder}.yaml")
            again.get_by_test_id("study-repeat").fill("800")
            again.get_by_test_id("study-repeat").press("Enter")
            again.until("document.querySelector('[data-testid=study-run]').textContent === 'Run 4000'")
            again.get_by_test_id("study-resume").click()
            assert soon(lambda: results.read_bytes().count(b"\n") > lines)
            again.get_by_test_id("study-cancel").click()
            again.until("document.querySelector('[data-testid=study-word]').textContent.includes('Resume goes on')")
            assert not again.watch.complaints
    finally:
        process.terminate()
        process.wait(20)


def test_two_tabs_that_edit_one_file_lose_neither_text(tmp_path, open_page, monkeypatch):
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    path = tmp_path / "loop.yaml"
    path.write_text(LOOP, encoding="utf-8")
    process, address = start_studio("loop.yaml", tmp_path)
    try:
        one, two = open_page(f"{address}#edit"), open_page(f"{address}#edit")
        for page, words in ((one, ("J: 0.02", "J: 0.03")), (two, ("Fv: 0.08", "Fv: 0.09"))):
            page.until("document.querySelector('[data-testid=edit-text]')?.value.includes('blocks:') && studio.idle()")
            area = page.get_by_test_id("edit-text")
            area.fill(area.input_value().replace(*words))
            page.until("document.querySelector('[data-testid=edit-file]').textContent === 'not saved' && studio.idle()")
        one.get_by_test_id("edit-save").click()
        one.until("document.querySelector('[data-testid=edit-file]').textContent === 'saved'")
        two.get_by_test_id("outside-take").wait_for()
        text = two.get_by_test_id("edit-text").input_value()
        assert "Fv: 0.09" in text and "J: 0.02" in text  # its own, as it was typed
        assert "J: 0.03" in path.read_text(encoding="utf-8") and "Fv: 0.09" not in path.read_text(encoding="utf-8")
        assert "Both texts are kept" in two.get_by_test_id("edit-ask").inner_text()
    finally:
        process.terminate()
        process.wait(20)


def test_over_a_slow_line_only_the_newest_step_is_sent_and_the_last_one_stands(studio, open_page):
    """Every answer takes 0.4 s on its way: forty steps are few requests, and the table is that of the last step."""
    page = open_page("about:blank")
    asked: list[str] = []

    def connect(route):
        server = route.connect_to_server()

        def ask(message):
            asked.append(json.loads(message)["kind"])
            server.send(message)

        def answer(message):
            page.wait_for_timeout(400)
            route.send(message)

        route.on_message(ask)
        server.on_message(answer)

    page.route_web_socket("**/socket", connect)
    page.goto(studio)
    page.until(READY)
    asked.clear()
    page.get_by_test_id("slider-smooth.bandwidth").focus()
    for _ in range(40):
        page.keyboard.press("ArrowRight")
    page.until("!studio.wire.pending.size && studio.idle()")
    assert 2 <= asked.count("bench.run") < 20
    changes = page.evaluate("studio.store.get('changes')")
    expected = bs.simulate("one_dof/identify", params=changes).estimates["ls"].entries[0].row()[1]
    assert page.get_by_test_id("row-ls-J").locator("td.value").inner_text() == expected
