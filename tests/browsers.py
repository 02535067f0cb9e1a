"""A real browser for tests, one for all of them; without it they are skipped, in words."""

from __future__ import annotations

import shutil
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import pytest

FLAGS = ["--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking"]
FLAGS += ["--disable-component-update", "--disable-sync"]
PATIENCE = 60_000  # ms: the first run of a diagram compiles, on a busy machine


@pytest.fixture(scope="session")
def browser() -> Iterator[Any]:
    playwright = pytest.importorskip("playwright.sync_api", reason="playwright is not installed")
    path = next((p for name in ("chromium", "chromium-browser", "google-chrome") if (p := shutil.which(name))), None)
    if path is None:
        pytest.skip("there is no Chromium on this machine")
    with playwright.sync_playwright() as driver:
        chromium = driver.chromium.launch(executable_path=path, args=FLAGS)
        yield chromium
        chromium.close()


def until(page: Any, expression: str) -> None:
    """Wait until an expression holds in the page, whose own rules forbid to wait in it."""
    begin = time.monotonic()
    while not page.evaluate(f"Boolean({expression})"):
        assert time.monotonic() - begin < PATIENCE / 1000, (
            f"waited in vain for {expression}; it complains: {page.watch.complaints}"
        )
        page.wait_for_timeout(30)


@dataclass
class Watch:
    """What a page asked for and complained of."""

    requests: list[str] = field(default_factory=list)
    complaints: list[str] = field(default_factory=list)

    def outside(self, address: str) -> list[str]:
        own = address.split("/")[2]
        return [url for url in self.requests if url.split("/")[2] != own and not url.startswith(("data:", "blob:"))]


@pytest.fixture
def open_page(browser: Any) -> Iterator[Any]:
    """A function that opens an address in a window of its own; its page watches requests and complaints as `page.watch`,
    and waits by `page.until(expression)`.
    """
    contexts = []

    def opened(address: str, width: int = 1440, height: int = 900, **options: Any) -> Any:
        context = browser.new_context(viewport={"width": width, "height": height}, **options)
        contexts.append(context)
        page = context.new_page()
        page.set_default_timeout(PATIENCE)
        page.watch = Watch()
        page.on("request", lambda request: page.watch.requests.append(request.url))
        page.on("websocket", lambda socket: page.watch.requests.append(socket.url))
        page.on("console", lambda message: message.type == "error" and page.watch.complaints.append(message.text))
        page.on("pageerror", lambda error: page.watch.complaints.append(str(error)))
        page.until = lambda expression: until(page, expression)
        page.goto(address)
        return page

    yield opened
    for context in contexts:
        context.close()
