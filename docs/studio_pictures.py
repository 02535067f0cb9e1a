"""Pictures of the studio for docs/studio.md, taken in a real Chromium: python docs/studio_pictures.py [PANE ...]

Every pane at 1440 x 900, light, into docs/images/studio_PANE.png; with --all FOLDER also dark and at 375 px, into that
folder, to be looked at. Wants the extra 'studio', playwright, and a Chromium on this machine.
"""

from __future__ import annotations

import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

HERE = Path(__file__).parent
IMAGES = HERE / "images"
FLAGS = [
    "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking",
    "--disable-component-update", "--disable-sync",
]  # fmt: skip
PATIENCE = 120.0
CALM = "!studio.wire.pending.size"


def wait(page: Any, expression: str) -> None:
    """Until an expression holds in the page."""
    begin = time.monotonic()
    while not page.evaluate(f"Boolean({expression})"):
        if time.monotonic() - begin > PATIENCE:
            raise SystemExit(f"waited in vain for {expression}")
        page.wait_for_timeout(50)


def edit(page: Any, folder: Path) -> None:
    wait(page, "document.querySelector('[data-testid=edit-text]')?.value.includes('blocks:')")
    page.get_by_test_id("edit-board").get_by_test_id("block-pid").click()
    page.get_by_test_id("palette-search").fill("gain")
    page.get_by_test_id("palette-Gain").dblclick()
    page.get_by_test_id("edit-board").get_by_test_id("block-gain").wait_for()
    page.get_by_test_id("palette-Gain").click()


def excitation(page: Any, folder: Path) -> None:
    wait(page, "document.querySelector('[data-testid=excitation-verdict]')?.textContent.length > 5")
    page.get_by_test_id("plot-spectrum").focus()
    for key in ("ArrowRight", "ArrowRight", "Shift+ArrowDown", "Shift+ArrowDown"):
        page.keyboard.press(key)
    wait(page, CALM)


def study(page: Any, folder: Path) -> None:
    page.get_by_test_id("sweep-smooth.bandwidth").click()
    page.get_by_test_id("study-repeat").fill("8")
    page.get_by_test_id("study-repeat").press("Enter")
    wait(page, "document.querySelector('[data-testid=study-run]').textContent === 'Run 40'")
    page.get_by_test_id("study-run").click()
    wait(page, "document.querySelector('[data-testid=study-word]').textContent.includes('tables and report')")


def data(page: Any, folder: Path) -> None:
    page.get_by_test_id("data-file").set_input_files([str(folder / "first.csv"), str(folder / "second.csv")])
    wait(page, "document.querySelector('[data-testid=data-words]').textContent.includes('rows')")
    page.get_by_test_id("data-identify").click()
    page.get_by_test_id("data-ls").wait_for()
    page.get_by_test_id("data-validate").click()
    wait(page, "document.querySelector('[data-testid=data-fits] canvas')")


#: What is done in a pane before its picture is taken.
SCENES: dict[str, Callable[[Any, Path], None]] = {"edit": edit, "excitation": excitation, "study": study, "data": data}


def workplace(folder: Path) -> None:
    """A folder with a diagram of its own and two measured records of it."""
    import blocksim as bs

    (folder / "identify.yaml").write_text(
        (HERE.parent / "diagrams/one_dof/identify.yaml").read_text(encoding="utf-8"), encoding="utf-8"
    )
    for seed, name in enumerate(("first.csv", "second.csv"), 3):
        bs.simulate("one_dof/identify", seed=seed).select("ref.q", "encoder.q_hat", "pid.u").save(folder / name)


def take(browser: Any, address: str, pane: str, folder: Path, path: Path, width: int, scheme: str) -> None:
    context = browser.new_context(viewport={"width": width, "height": 900 if width > 500 else 812}, color_scheme=scheme)
    page = context.new_page()
    page.set_default_timeout(1000 * PATIENCE)
    page.goto(f"{address}#{pane}")
    SCENES[pane](page, folder)
    wait(page, CALM)
    page.wait_for_timeout(600)
    page.screenshot(path=path, full_page=width < 500)
    context.close()
    print(f"wrote {path}")


def main(words: list[str]) -> None:
    from playwright.sync_api import sync_playwright

    further = Path(words[words.index("--all") + 1]) if "--all" in words else None
    names = [word for word in words if word in SCENES] or list(SCENES)
    for name in names:
        with tempfile.TemporaryDirectory() as place, sync_playwright() as driver:
            folder = Path(place)
            workplace(folder)
            command = [sys.executable, "-m", "blocksim", "studio", "identify.yaml", "--no-browser"]
            process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True, cwd=folder)
            try:
                assert process.stdout is not None
                address = process.stdout.readline().split()[-1]
                browser = driver.chromium.launch(executable_path=shutil.which("chromium"), args=FLAGS)
                take(browser, address, name, folder, IMAGES / f"studio_{name}.png", 1440, "light")
                if further is not None:
                    further.mkdir(parents=True, exist_ok=True)
                    shutil.rmtree(folder / "identify_study", ignore_errors=True)
                    take(browser, address, name, folder, further / f"{name}_dark.png", 1440, "dark")
                    shutil.rmtree(folder / "identify_study", ignore_errors=True)
                    take(browser, address, name, folder, further / f"{name}_375.png", 375, "light")
                browser.close()
            finally:
                process.terminate()
                process.wait(10)


if __name__ == "__main__":
    main(sys.argv[1:])
