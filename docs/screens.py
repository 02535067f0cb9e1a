"""Take pictures of the studio's screens in a real Chromium: python docs/screens.py [NAME ...]

Each screen has a name (a picture docs/images/studio_NAME.png), a diagram, a pane, a size, light or dark, and what a hand does
before the picture is taken. A pane that is added adds its screens to the table.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from playwright.sync_api import sync_playwright

ROOT = Path(__file__).parents[1]
FLAGS = ["--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking"]
FLAGS += ["--disable-component-update", "--disable-sync"]
PATIENCE = 180  # seconds


def settle(page: Any) -> None:
    """Wait until nothing is on its way: runs, slow identifiers, the cloud, which begins a moment after the last run."""
    begin, still = time.monotonic(), 0
    while still < 8 and time.monotonic() - begin < PATIENCE:
        page.wait_for_timeout(250)
        still = still + 1 if page.evaluate("studio.idle()") else 0


def drag(page: Any) -> None:
    """Widen the smoother's band: the curves of before stay as a ghost, z of J turns red."""
    field = page.get_by_test_id("number-smooth.bandwidth")
    field.fill("30")
    field.press("Enter")


def choose_encoder(page: Any) -> None:
    page.get_by_test_id("block-encoder").click()
    page.get_by_test_id("defect-encoder.noise").click()


def scrub(page: Any) -> None:
    page.get_by_test_id("robot-readings").locator("tr").first.wait_for(timeout=1000 * PATIENCE)
    page.get_by_test_id("robot-scrub").evaluate("e => { e.value = 4200; e.dispatchEvent(new Event('input')); }")


@dataclass(frozen=True)
class Screen:
    """One picture."""

    name: str
    diagram: str = "one_dof/identify"
    pane: str = "bench"
    size: tuple[int, int] = (1440, 900)
    theme: str = "light"
    act: Callable[[Any], None] = lambda page: None


def other_seed(page: Any) -> None:
    """The first run compiles, the second sees how long each method takes; the third is what a hand feels."""
    page.get_by_test_id("next-seed").click()
    settle(page)
    page.get_by_test_id("next-seed").click()


SCREENS = (
    Screen("welcome", diagram=""),
    Screen("bench", act=drag),
    Screen("bench_dark", theme="dark", act=choose_encoder),
    Screen("bench_projector", size=(1920, 1080), act=other_seed),
    Screen("bench_narrow", size=(375, 800), act=other_seed),
    Screen("robot_gap", "thesis/backlash", "robot", act=scrub),
    Screen("robot_arm", "arms/ur_like", "robot", theme="dark", act=scrub),
)


def take(screen: Screen, browser: Any, folder: Path) -> Path:
    """One picture of one screen, from a studio of its own."""
    command = [sys.executable, "-m", "blocksim", "studio", screen.diagram, "--no-browser"]
    studio = subprocess.Popen(command, stdout=subprocess.PIPE, text=True, cwd=ROOT, env={**os.environ, "PYTHONUNBUFFERED": "1"})
    try:
        address = studio.stdout.readline().split()[-1]
        width, height = screen.size
        page = browser.new_page(viewport={"width": width, "height": height}, color_scheme=screen.theme)
        page.goto(f"{address}#{screen.pane}")
        settle(page)
        screen.act(page)
        settle(page)
        path = folder / f"studio_{screen.name}.png"
        page.screenshot(path=path, full_page=width < 600)
        page.close()
        return path
    finally:
        studio.terminate()
        studio.wait()


def main() -> None:
    names = sys.argv[1:]
    with sync_playwright() as driver:
        browser = driver.chromium.launch(executable_path=shutil.which("chromium"), args=FLAGS)
        for screen in SCREENS:
            if not names or screen.name in names:
                print(f"wrote {take(screen, browser, ROOT / 'docs' / 'images').relative_to(ROOT)}", flush=True)
        browser.close()


if __name__ == "__main__":
    main()
