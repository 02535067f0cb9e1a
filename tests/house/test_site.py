"""The documentation site: it builds without a warning and without a network, and every link within it leads somewhere."""

from __future__ import annotations

import functools
import http.server
import subprocess
import sys
import threading
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit

import pytest

import blocksim as bs

pytest.importorskip("sphinx")
pytest.importorskip("pydata_sphinx_theme")

ROOT = Path(__file__).parents[2]
sys.path.insert(0, str(ROOT / "docs" / "site"))


class Page(HTMLParser):
    """The links, the resources and the places of a page."""

    def __init__(self, path: Path):
        super().__init__()
        self.links: list[str] = []
        self.resources: list[str] = []
        self.places: set[str] = set()
        self.feed(path.read_text(encoding="utf-8"))

    def handle_starttag(self, tag, attributes):
        values = dict(attributes)
        self.places |= {values[key] for key in ("id", "name") if values.get(key)}
        if tag == "a" and values.get("href"):
            self.links.append(values["href"])
        elif tag in ("script", "img", "source", "iframe") and values.get("src"):
            self.resources.append(values["src"])
        elif tag == "link" and values.get("href") and values.get("rel") in ("stylesheet", "preload", "icon", "shortcut icon"):
            self.resources.append(values["href"])


@pytest.fixture(scope="module")
def site(tmp_path_factory) -> Path:
    folder = tmp_path_factory.mktemp("site")
    result = subprocess.run(
        [sys.executable, str(ROOT / "docs" / "build.py"), str(folder)], capture_output=True, text=True, timeout=280
    )
    assert result.returncode == 0, result.stdout + result.stderr
    return folder / "html"


@pytest.fixture(scope="module")
def pages(site) -> dict[Path, Page]:
    return {path: Page(path) for path in site.rglob("*.html") if "_static" not in path.parts}


def test_every_link_within_the_site_leads_somewhere(site, pages):
    dead = []
    for path, page in pages.items():
        for link in [*page.links, *page.resources]:
            parts = urlsplit(link)
            if parts.scheme or parts.netloc:
                continue
            target = (path.parent / unquote(parts.path)).resolve() if parts.path else path
            if not target.exists():
                dead.append(f"{path.relative_to(site)}: {link}")
            elif parts.fragment and target in pages and unquote(parts.fragment) not in pages[target].places:
                dead.append(f"{path.relative_to(site)}: {link}: no such place")
    assert not dead, "\n".join(dead[:30])


def test_nothing_is_loaded_from_elsewhere(site, pages):
    outside = {r for page in pages.values() for r in page.resources if urlsplit(r).netloc}
    assert not outside
    assert not any("mathjax" in path.name.lower() for path in site.rglob("*.js"))


def test_there_is_a_page_for_each_block_and_each_public_name(site, pages):
    for name in (name for name, kind in bs.library().items() if kind.__module__.startswith("blocks.")):
        text = (site / "blocks" / f"{name}.html").read_text(encoding="utf-8")
        parts = (f"<h1>{name}", 'display="block"', "<h2>Ports", "<h2>Example", f"images/{name}.svg", "type</span>")
        assert [part for part in parts if part not in text] == [], name
    text = "".join(path.read_text(encoding="utf-8") for path in (site / "api").glob("*.html"))
    assert [name for name in bs.__all__ if not name.startswith("_") and f'id="blocksim.{name}"' not in text] == []


def test_mathematics_is_typeset_and_the_search_has_words(site):
    joint = (site / "blocks" / "GravityJoint.html").read_text(encoding="utf-8")
    assert '<math xmlns="http://www.w3.org/1998/Math/MathML" display="block">' in joint and "&#x003C4;" in joint
    assert "gravityjoint" in (site / "searchindex.js").read_text(encoding="utf-8").lower()


@pytest.fixture(scope="module")
def address(site):
    """Where the site is served, as a reader would have it."""

    class Quiet(http.server.SimpleHTTPRequestHandler):
        def log_message(self, *words):
            pass

    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), functools.partial(Quiet, directory=site)) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_port}"
        server.shutdown()


def press_until(page, key, expression, most=120):
    for _ in range(most):
        if page.evaluate(expression):
            return
        page.keyboard.press(key)
    pytest.fail(f"{most} times {key}, and never {expression}")


def test_lesson_two_of_the_site_is_read_and_answered_with_the_keyboard_alone(address, open_page):
    """From the front page: search, lesson, a wrong and a right guess, a wrong and a right choice."""
    page = open_page(address)
    page.keyboard.press("Control+k")
    page.until("document.activeElement.type === 'search'")
    page.keyboard.type("noise shrinks")
    page.keyboard.press("Enter")
    page.wait_for_url("**/search.html*")
    page.until("document.querySelector('#search-results li a')")
    press_until(page, "Tab", "document.activeElement.href && document.activeElement.href.includes('02-least-squares')")
    page.keyboard.press("Enter")
    page.wait_for_url("**/02-least-squares-and-noise.html*")
    replies = page.locator("[role=status]")
    press_until(page, "Tab", "document.activeElement.name === 'answer'")
    for typed, words in (("50", "It is less."), ("10", "Right. 1 / (1 + 3^2)")):
        page.keyboard.press("Control+a")
        page.keyboard.type(typed)
        page.keyboard.press("Enter")
        assert replies.nth(0).inner_text().startswith(words)
    press_until(page, "Tab", "document.activeElement.type === 'radio'")
    page.keyboard.press("Space")
    page.keyboard.press("Enter")
    assert replies.nth(1).inner_text().startswith("No: more rows")
    page.keyboard.press("ArrowDown")
    page.keyboard.press("ArrowDown")
    page.keyboard.press("Enter")
    assert replies.nth(1).inner_text().startswith("Right: a filter")
    assert not page.watch.outside(address) and not page.watch.complaints


@pytest.mark.parametrize(
    ("words", "page_found"),
    [("hysteresis", "blocks/Hysteresis.html"), ("GravityJoint", "blocks/GravityJoint.html"), ("coverage", "studies.html")],
)
def test_the_search_finds_the_page_that_is_meant(address, open_page, words, page_found):
    page = open_page(f"{address}/search.html?q={words}")
    # results come one after the other, long after the first
    page.until(f"[...document.querySelectorAll('#search-results li a')].some(link => link.href.includes('{page_found}'))")


def test_pages_fit_a_telephone(address, open_page):
    page = open_page(address, width=375, height=700)
    for name in (
        "index",
        "getting-started",
        "compare",
        "course/02-least-squares-and-noise",
        "blocks/SerialRobot",
        "gallery/index",
    ):
        page.goto(f"{address}/{name}.html")
        assert page.evaluate("document.documentElement.scrollWidth") <= 375, name


def test_every_block_has_an_equation_that_can_be_typeset():
    pytest.importorskip("latex2mathml")
    from block_pages import block_equation
    from latex2mathml.converter import convert

    for name, kind in bs.library().items():
        if kind.__module__.startswith("blocks."):
            latex, _ = block_equation(kind)
            assert latex, name
            assert "\\" not in convert(latex), f"{name}: a command that is not typeset in {latex}"


def test_the_example_of_a_recorded_source_runs_as_its_page_says(tmp_path):
    from block_pages import RECORDED, write_recorded_example

    record = bs.simulate(write_recorded_example(tmp_path))
    assert abs(record["measured.y"]).max() > 0 and "FromRecord" in RECORDED


@pytest.mark.parametrize(
    ("line", "latex", "rest"),
    [
        ("J qdd = tau - Fv qd: one joint.", r"J\,{\ddot{q}}\,=\,\tau \,-\,F_{v}\,{\dot{q}}", "One joint."),
        (
            "beta = (Z' W)^-1 Z' tau: W measured.",
            r"\beta \,=\,(Z^{\mathsf{T}}\,W)^{-1}\,Z^{\mathsf{T}}\,\tau ",
            "where W measured.",
        ),
        ("y = before until `time`, then after.", None, ""),
    ],
)
def test_equations_of_docstrings_become_formulas(line, latex, rest):
    from equations import formula

    assert formula(line) == (None if latex is None else (latex, rest))
